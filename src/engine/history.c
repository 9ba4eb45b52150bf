/*
 * A job's history: a run of bytes, oldest entry first.
 *
 *	kind			1 byte; HISTORY_ODD_TIME if the time is not a small whole number
 *	when			zigzag varint, or 8 bytes of a double
 *	put			queue name
 *	popped			worker name
 *	failed			group name, worker name
 *	exhausted		group name
 *	log			varint length and bytes of the message, then of the item; the length
 *				is stored plus one, and 0 means no item
 *
 * A name is the pointer of an interned string and counts as a reference to it. If the number of
 * entries is limited, the first entry stays and the ones after it make room.
 */
#include "engine/history.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_int.h"
#include "engine/queue.h"
#include "util/mem.h"
#include "util/wire.h"

#define HISTORY_ODD_TIME   0x80
#define HISTORY_MAX_BYTES  (2 * HISTORY_LOG_BYTES_MAX)
#define HISTORY_RESERVE	   4096
#define HISTORY_LIFE_BYTES 48
#define ENTRY_HEAD_MAX	   (1 + WIRE_VARINT_MAX)
#define USUAL_TIME_BYTES   5
#define SMALL_TIME_MAX	   4e18

static unsigned char *bytes(const struct history *h)
{
	return (unsigned char *)(uintptr_t)history_bytes(h);
}

static struct intern *get_name(const unsigned char **p)
{
	struct intern *name;

	memcpy(&name, *p, sizeof(name));
	*p += sizeof(name);
	return name;
}

static double get_time(const unsigned char **p, unsigned char kind)
{
	double when;

	if (kind & HISTORY_ODD_TIME) {
		memcpy(&when, *p, sizeof(when));
		*p += sizeof(when);
		return when;
	}
	return (double)wire_unzigzag(wire_take_varint(p));
}

static struct qless_str get_text(const unsigned char **p)
{
	uint64_t len = wire_take_varint(p);
	const char *text = (const char *)*p;

	if (len == 0)
		return str_make(NULL, 0);
	*p += len - 1;
	return str_make(text, (size_t)len - 1);
}

/* Read the entry at `p`; `names` gets its references. Returns the address of the next entry. */
static const unsigned char *read_entry(const unsigned char *p, struct qless_event *event,
				       struct intern *names[2])
{
	unsigned char kind = *p++;

	memset(event, 0, sizeof(*event));
	names[0] = names[1] = NULL;
	event->kind = kind & (unsigned char)~HISTORY_ODD_TIME;
	event->when = get_time(&p, kind);
	switch (event->kind) {
	case QLESS_EVENT_PUT:
		event->what = STR("put");
		names[0] = get_name(&p);
		event->queue = intern_str(names[0]);
		break;
	case QLESS_EVENT_POPPED:
		event->what = STR("popped");
		names[0] = get_name(&p);
		event->worker = intern_str(names[0]);
		break;
	case QLESS_EVENT_DONE:
		event->what = STR("done");
		break;
	case QLESS_EVENT_TIMED_OUT:
		event->what = STR("timed-out");
		break;
	case QLESS_EVENT_FAILED:
	case QLESS_EVENT_EXHAUSTED:
		event->what = STR("failed");
		names[0] = get_name(&p);
		event->group = intern_str(names[0]);
		if (event->kind == QLESS_EVENT_EXHAUSTED)
			break;
		names[1] = get_name(&p);
		event->worker = intern_str(names[1]);
		break;
	case QLESS_EVENT_LOG:
		event->what = get_text(&p);
		event->item = get_text(&p);
		break;
	}
	return p;
}

static inline const unsigned char *skip_time(const unsigned char *p, unsigned char kind)
{
	if (kind & HISTORY_ODD_TIME)
		return p + sizeof(double);
	while (*p++ & 0x80)
		continue;
	return p;
}

/* Read no more than the kind and the references of the entry at `p`. Returns the address of the
 * next entry. */
static inline const unsigned char *read_names(const unsigned char *p, enum qless_event_kind *kind,
					      struct intern *names[2])
{
	unsigned char first = *p++;

	*kind = first & (unsigned char)~HISTORY_ODD_TIME;
	names[0] = names[1] = NULL;
	p = skip_time(p, first);
	switch (*kind) {
	case QLESS_EVENT_FAILED:
		names[0] = get_name(&p);
		names[1] = get_name(&p);
		break;
	case QLESS_EVENT_PUT:
	case QLESS_EVENT_POPPED:
	case QLESS_EVENT_EXHAUSTED:
		names[0] = get_name(&p);
		break;
	case QLESS_EVENT_LOG:
		get_text(&p);
		get_text(&p);
		break;
	case QLESS_EVENT_DONE:
	case QLESS_EVENT_TIMED_OUT:
		break;
	}
	return p;
}

bool history_next(const struct history *h, size_t *cursor, struct qless_event *ret_event)
{
	const unsigned char *start = bytes(h);
	struct intern *names[2];

	if (*cursor >= h->len)
		return false;
	*cursor = (size_t)(read_entry(start + *cursor, ret_event, names) - start);
	assert(*cursor <= h->len);
	return true;
}

void history_each_name(const struct history *h, void (*visit)(void *arg, const struct intern *name),
		       void *arg)
{
	const unsigned char *p = bytes(h);
	const unsigned char *end = p + h->len;
	enum qless_event_kind kind;
	struct intern *names[2];
	int i;

	while (p < end) {
		p = read_names(p, &kind, names);
		for (i = 0; i < 2; i++) {
			if (names[i] != NULL)
				visit(arg, names[i]);
		}
	}
}

static void unref_names(struct qless *q, enum qless_event_kind kind, struct intern *names[2])
{
	if (names[0] == NULL)
		return;
	switch (kind) {
	case QLESS_EVENT_PUT:
		intern_unref(&q->queue_names, names[0]);
		break;
	case QLESS_EVENT_POPPED:
		intern_unref(&q->worker_names, names[0]);
		break;
	default:
		intern_unref(&q->group_names, names[0]);
		if (names[1] != NULL)
			intern_unref(&q->worker_names, names[1]);
		break;
	}
}

/* Drop `count` entries after the first one. */
static __attribute__((noinline)) void drop_entries(struct qless *q, struct history *h,
						   uint64_t count)
{
	unsigned char *start = bytes(h);
	const unsigned char *from;
	const unsigned char *p;
	enum qless_event_kind kind;
	struct intern *names[2];
	size_t gap;
	uint64_t i;

	/* The first entry always stays. */
	assert(count < h->count);
	from = p = read_names(start, &kind, names);
	for (i = 0; i < count; i++) {
		p = read_names(p, &kind, names);
		unref_names(q, kind, names);
	}
	gap = (size_t)(p - from);
	memmove(start + (from - start), p, h->len - (size_t)(p - start));
	assert(gap < h->len);
	h->len -= (uint32_t)gap;
	h->count -= (uint32_t)count;
}

/* The number of entries after the first that make room for one more under the option
 * max-job-history: of n entries, the first and the last n - 2 stay. As in the reference, 2 never
 * drops any, and 1 drops one each time. */
static uint32_t count_excess(const struct qless *q, const struct history *h)
{
	double max = q->settings.max_job_history;
	uint32_t rest;

	/* Drop the older half, whatever the option says. */
	if (h->len > HISTORY_MAX_BYTES - HISTORY_RESERVE)
		return (h->count - 1) / 2;
	if (max <= 0 || max == 2 || h->count < 2)
		return 0;
	rest = h->count - 1;
	if (max == 1)
		return 1;
	return max - 2 < (double)rest ? rest - (uint32_t)(max - 2) : 0;
}

static void trim(struct qless *q, struct history *h)
{
	uint32_t excess = count_excess(q, h);

	if (excess > 0)
		drop_entries(q, h, excess);
}

static unsigned char *reserve(struct history *h, size_t extra)
{
	size_t need = h->len + extra;
	size_t cap = h->cap;
	unsigned char *mem;

	assert(need <= HISTORY_MAX_BYTES);
	if (need <= (cap == 0 ? HISTORY_INLINE_BYTES : cap))
		return bytes(h) + h->len;
	/* Room for a put, a pop and a completion, the history of most jobs. */
	cap = need <= HISTORY_LIFE_BYTES ? HISTORY_LIFE_BYTES : need + need / 2;
	if (h->cap == 0) {
		mem = mem_alloc(cap);
		memcpy(mem, h->room, h->len);
	} else {
		mem = mem_realloc(bytes(h), cap);
	}
	memcpy(h->room, &mem, sizeof(mem));
	h->cap = (uint32_t)cap;
	return mem + h->len;
}

/* Returns whether a varint of USUAL_TIME_BYTES holds the time: from 1974 to 2514. */
static inline bool is_usual_time(uint64_t time)
{
	return time >> 7 * (USUAL_TIME_BYTES - 1) != 0 && time >> 7 * USUAL_TIME_BYTES == 0;
}

/* Write the header of an entry with a small whole time. Nearly all times have a varint of
 * USUAL_TIME_BYTES, and are written without a loop. */
static inline void put_head(unsigned char *to, enum qless_event_kind kind, uint64_t time)
{
	uint64_t groups;

	to[0] = (unsigned char)kind;
	if (!is_usual_time(time)) {
		wire_put_varint(to + 1, time);
		return;
	}
	groups = (time & 0x7f) | (time & 0x3f80) << 1 | (time & 0x1fc000) << 2 |
		 (time & 0xfe00000) << 3;
	wire_put_u32(to + 1, (uint32_t)groups | 0x80808080);
	to[USUAL_TIME_BYTES] = (unsigned char)(time >> 28);
}

double history_first_time(const struct history *h)
{
	const unsigned char *p = bytes(h);
	unsigned char kind;

	if (h->len == 0)
		return NAN;
	kind = *p++;
	return get_time(&p, kind);
}

/* Begin an entry that takes up to `extra` bytes after its header. Returns the address of these
 * bytes. */
static unsigned char *begin_entry(struct qless *q, struct history *h, double now,
				  enum qless_event_kind kind, size_t extra)
{
	double when = floor(now);
	uint64_t time = 0;
	size_t len = 1 + sizeof(when);
	unsigned char *out;
	/* Negative zero is odd too, because it reads as "-0". */
	bool is_odd = !(fabs(when) < SMALL_TIME_MAX) || (when == 0 && signbit(when));

	trim(q, h);
	if (!is_odd) {
		time = wire_zigzag((int64_t)when);
		len = 1 + (is_usual_time(time) ? USUAL_TIME_BYTES : wire_varint_size(time));
	}
	out = reserve(h, len + extra);
	if (is_odd) {
		out[0] = (unsigned char)kind | HISTORY_ODD_TIME;
		memcpy(out + 1, &when, sizeof(when));
	} else {
		put_head(out, kind, time);
	}
	assert(h->count < UINT32_MAX);
	h->len += (uint32_t)len;
	h->count++;
	return out + len;
}

static void add_name(struct history *h, struct intern *name)
{
	intern_ref(name);
	assert(h->len + sizeof(name) <= (h->cap == 0 ? HISTORY_INLINE_BYTES : h->cap));
	memcpy(bytes(h) + h->len, &name, sizeof(name));
	h->len += (uint32_t)sizeof(name);
}

void history_append_put(struct qless *q, struct history *h, double now, struct queue *queue)
{
	begin_entry(q, h, now, QLESS_EVENT_PUT, sizeof(queue->name));
	add_name(h, queue->name);
}

void history_append_popped(struct qless *q, struct history *h, double now, struct intern *worker)
{
	begin_entry(q, h, now, QLESS_EVENT_POPPED, sizeof(worker));
	add_name(h, worker);
}

void history_append_plain(struct qless *q, struct history *h, double now,
			  enum qless_event_kind kind)
{
	begin_entry(q, h, now, kind, 0);
}

void history_append_failed(struct qless *q, struct history *h, double now, struct intern *group,
			   struct intern *worker)
{
	begin_entry(q, h, now, worker != NULL ? QLESS_EVENT_FAILED : QLESS_EVENT_EXHAUSTED,
		    2 * sizeof(group));
	add_name(h, group);
	if (worker != NULL)
		add_name(h, worker);
}

static void add_text(struct history *h, struct qless_str text)
{
	unsigned char *out = bytes(h) + h->len;
	size_t len = wire_put_varint(out, (uint64_t)text.len + 1);

	if (text.len > 0)
		memcpy(out + len, text.ptr, text.len);
	h->len += (uint32_t)(len + text.len);
}

static size_t log_size(struct qless_str what, const struct qless_str *item)
{
	return 2 * WIRE_VARINT_MAX + what.len + (item != NULL ? item->len : 0);
}

void history_append_log(struct qless *q, struct history *h, double now, struct qless_str what,
			const struct qless_str *item)
{
	begin_entry(q, h, now, QLESS_EVENT_LOG, log_size(what, item));
	add_text(h, what);
	if (item != NULL) {
		add_text(h, *item);
	} else {
		bytes(h)[h->len] = 0;
		h->len++;
	}
}

size_t history_len_with(const struct qless *q, const struct history *h, struct qless_str what,
			const struct qless_str *item)
{
	uint32_t excess = count_excess(q, h);
	size_t len = h->len + ENTRY_HEAD_MAX + log_size(what, item);
	enum qless_event_kind kind;
	struct intern *names[2];
	const unsigned char *first, *p;

	if (excess == 0)
		return len;
	first = p = read_names(bytes(h), &kind, names);
	for (uint32_t i = 0; i < excess; i++)
		p = read_names(p, &kind, names);
	return len - (size_t)(p - first);
}

bool history_has_room(const struct history *h, struct qless_str what, const struct qless_str *item)
{
	/* All other entries are small, and are still taken when a log entry is refused. */
	return h->len + log_size(what, item) + ENTRY_HEAD_MAX <= HISTORY_LOG_BYTES_MAX;
}

void history_discard(struct history *h)
{
	if (h->cap != 0)
		free(bytes(h));
	memset(h, 0, sizeof(*h));
}

void history_done(struct qless *q, struct history *h)
{
	const unsigned char *p = bytes(h);
	const unsigned char *end = p + h->len;
	enum qless_event_kind kind;
	struct intern *names[2];

	while (p < end) {
		p = read_names(p, &kind, names);
		unref_names(q, kind, names);
	}
	history_discard(h);
}
