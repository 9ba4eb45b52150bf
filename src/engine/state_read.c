/*
 * Loading snapshots: bytes, and the numbers, times, texts and names in them.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/state_load.h"
#include "util/mem.h"
#include "util/wire.h"

bool state_read_fail(struct state_loader *l, const char *what)
{
	if (!l->failed)
		engine_fail_text(l->q, QLESS_OP_LOAD, QLESS_WHY_SNAPSHOT, NULL, str_from(what));
	l->failed = true;
	l->left = 0;
	return false;
}

/* Make `size` bytes available in one run. Only bytes across the end of a piece are copied. Returns
 * false if there are not enough. */
static bool refill(struct state_loader *l, size_t size)
{
	if (l->failed)
		return false;
	if (l->in_joined) {
		buf_consume(&l->joined, l->joined.len - l->left);
	} else {
		buf_clear(&l->joined);
		if (l->left > 0)
			buf_append(&l->joined, l->at, l->left);
	}
	while (l->joined.len < size) {
		size_t more = size - l->joined.len;

		if (l->piece.len == 0)
			l->piece = l->read(l->arg);
		if (l->piece.len == 0)
			return state_read_fail(l, "it ends too early");
		if (l->joined.len == 0 && l->piece.len >= size) {
			l->at = (const unsigned char *)l->piece.ptr;
			l->left = l->piece.len;
			l->piece.len = 0;
			l->in_joined = false;
			return true;
		}
		if (more > l->piece.len)
			more = l->piece.len;
		buf_append(&l->joined, l->piece.ptr, more);
		l->piece.ptr += more;
		l->piece.len -= more;
	}
	l->in_joined = true;
	l->at = (const unsigned char *)buf_data(&l->joined);
	l->left = l->joined.len;
	return true;
}

bool state_read_is_at_end(struct state_loader *l)
{
	return l->left == 0 && l->piece.len == 0 && l->read(l->arg).len == 0;
}

static inline bool have(struct state_loader *l, size_t size)
{
	return l->left >= size || refill(l, size);
}

static inline void used(struct state_loader *l, size_t size)
{
	assert(size <= l->left);
	l->at += size;
	l->left -= size;
}

unsigned state_read_byte(struct state_loader *l)
{
	unsigned value;

	if (!have(l, 1))
		return 0;
	value = l->at[0];
	used(l, 1);
	return value;
}

uint64_t state_read_varint(struct state_loader *l)
{
	uint64_t value = 0;
	size_t size;

	if (!have(l, 1))
		return 0;
	size = wire_get_varint(l->at, l->left, &value);
	for (size_t want = l->left + 1; size == 0 && want <= WIRE_VARINT_MAX; want = l->left + 1) {
		if (!have(l, want))
			return 0;
		size = wire_get_varint(l->at, l->left, &value);
	}
	if (size == 0) {
		state_read_fail(l, "a number is too large");
		return 0;
	}
	used(l, size);
	return value;
}

double state_read_double(struct state_loader *l)
{
	double value;

	if (!have(l, sizeof(value)))
		return 0;
	value = wire_get_double(l->at);
	used(l, sizeof(value));
	return value;
}

double state_read_any_number(struct state_loader *l)
{
	uint64_t code = state_read_varint(l);

	return code == 0 && !l->failed ? state_read_double(l) : (double)wire_unzigzag(code - 1);
}

double state_read_number(struct state_loader *l)
{
	double value = state_read_any_number(l);

	if (!isfinite(value))
		state_read_fail(l, "a number is not finite");
	return value;
}

double state_read_score(struct state_loader *l)
{
	uint64_t code = state_read_varint(l);
	int64_t delta = wire_unzigzag(code - 1);
	double value;

	if (code == 0 && !l->failed) {
		value = state_read_double(l);
		if (isnan(value))
			state_read_fail(l, "a time is not a number");
		return value;
	}
	if (__builtin_add_overflow(l->last_us, delta, &l->last_us))
		state_read_fail(l, "a time is out of range");
	return (double)l->last_us / 1e6;
}

double state_read_time(struct state_loader *l)
{
	double value = state_read_score(l);

	if (!isfinite(value))
		state_read_fail(l, "a time is not finite");
	return value;
}

struct qless_str state_read_text(struct state_loader *l, size_t max)
{
	uint64_t len = state_read_varint(l);
	struct qless_str text;

	if (len > max) {
		state_read_fail(l, "a text is too long");
		return STR("");
	}
	if (!have(l, (size_t)len))
		return STR("");
	text = str_make((const char *)l->at, (size_t)len);
	used(l, (size_t)len);
	return text;
}

struct qless_str state_read_kept_text(struct state_loader *l, size_t max)
{
	buf_clear(&l->text);
	buf_append_str(&l->text, state_read_text(l, max));
	return buf_str(&l->text);
}

static struct intern_table *table_of(struct qless *q, enum state_kind kind)
{
	switch (kind) {
	case STATE_QUEUE:
		return &q->queue_names;
	case STATE_WORKER:
		return &q->worker_names;
	case STATE_GROUP:
		return &q->group_names;
	case STATE_TAG:
		return &q->tag_names;
	case STATE_LIMIT:
		return &q->limit_names;
	case STATE_NAME:
	case STATE_KINDS:
		break;
	}
	return &q->names;
}

struct intern *state_read_name(struct state_loader *l, enum state_kind kind)
{
	struct state_names *list = &l->names[kind];
	uint64_t id = state_read_varint(l);
	struct qless_str text;

	if (l->failed)
		return NULL;
	if (id < list->count)
		return list->items[id];
	if (id > list->count) {
		state_read_fail(l, "a name is missing");
		return NULL;
	}
	text = state_read_text(l, STATE_NAME_BYTES_MAX);
	if (l->failed)
		return NULL;
	list->items = mem_grow(list->items, &list->cap, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = intern_get(table_of(l->q, kind), text);
	return list->items[id];
}

void state_read_done(struct state_loader *l)
{
	for (int kind = 0; kind < STATE_KINDS; kind++) {
		struct state_names *list = &l->names[kind];

		for (size_t i = 0; i < list->count; i++)
			intern_unref(table_of(l->q, (enum state_kind)kind), list->items[i]);
		free(list->items);
	}
	buf_done(&l->joined);
	buf_done(&l->text);
}
