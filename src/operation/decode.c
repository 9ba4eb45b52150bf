#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operation/layout.h"
#include "util/mem.h"
#include "util/wire.h"

#define DB_FOLLOWS 0x80
/* Size of a block of room, unless a list needs more. */
#define BLOCK_BYTES ((size_t)4096)

/* ---- room ---- */

struct operation_room_block {
	struct operation_room_block *next;
	size_t used;
	size_t size; /* of `bytes` */
	max_align_t bytes[];
};

static void *take_room(struct operation_room *room, size_t count, size_t size)
{
	struct operation_room_block *block = room->blocks;
	size_t bytes = count * size;
	void *taken;

	/* No overflow: `count` is at most the number of bytes that are left. */
	bytes += -bytes % sizeof(max_align_t);
	if (block == NULL || bytes > block->size - block->used) {
		size_t wanted = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;

		block = mem_alloc(sizeof *block + wanted);
		*block = (struct operation_room_block){ .next = room->blocks, .size = wanted };
		room->blocks = block;
	}
	taken = (char *)block->bytes + block->used;
	block->used += bytes;
	return taken;
}

static void free_blocks(struct operation_room_block *block)
{
	while (block != NULL) {
		struct operation_room_block *next = block->next;

		free(block);
		block = next;
	}
}

/* Keep one block for the next operation, unless the block is large. */
static void empty_room(struct operation_room *room)
{
	struct operation_room_block *block = room->blocks;

	if (block == NULL)
		return;
	free_blocks(block->next);
	block->next = NULL;
	block->used = 0;
	if (block->size > BLOCK_BYTES)
		operation_room_done(room);
}

void operation_room_done(struct operation_room *room)
{
	free_blocks(room->blocks);
	room->blocks = NULL;
}

/* ---- values ---- */

struct cursor {
	const unsigned char *at;
	size_t left;
	struct operation_room *room;
};

static bool take_varint(struct cursor *c, uint64_t max, uint64_t *ret_value)
{
	size_t used = wire_get_varint(c->at, c->left, ret_value);

	c->at += used;
	c->left -= used;
	return used != 0 && *ret_value <= max;
}

static bool take_byte(struct cursor *c, unsigned *ret_byte)
{
	if (c->left == 0)
		return false;
	*ret_byte = *c->at++;
	c->left--;
	return true;
}

static bool take_double(struct cursor *c, double *ret_number)
{
	double number;

	if (c->left < 8)
		return false;
	number = wire_get_double(c->at);
	c->at += 8;
	c->left -= 8;
	*ret_number = number;
	return isfinite(number);
}

static bool take_text(struct cursor *c, struct qless_str *ret_text)
{
	uint64_t len;

	if (!take_varint(c, SIZE_MAX, &len) || len > c->left)
		return false;
	*ret_text = str_make((const char *)c->at, (size_t)len);
	c->at += len;
	c->left -= (size_t)len;
	return true;
}

static bool take_number(struct cursor *c, double *ret_number)
{
	uint64_t value;

	if (!take_varint(c, UINT64_MAX, &value))
		return false;
	if ((value & 1) != 0)
		return value == 1 && take_double(c, ret_number);
	*ret_number = (double)wire_unzigzag(value >> 1);
	return true;
}

static bool take_ref(struct cursor *c, const struct qless_str **ret_ref)
{
	struct qless_str *text = take_room(c->room, 1, sizeof *text);

	*ret_ref = text;
	return take_text(c, text);
}

/* Each item takes at least one byte. So a damaged count fails here, before memory is allocated. */
static bool take_count(struct cursor *c, size_t step, size_t *ret_count)
{
	uint64_t count;

	if (!take_varint(c, c->left / step, &count))
		return false;
	*ret_count = (size_t)count * step;
	return true;
}

static bool take_texts(struct cursor *c, size_t step, const struct qless_str **ret_items,
		       size_t *ret_count)
{
	struct qless_str *items;
	size_t count;

	if (!take_count(c, step, &count))
		return false;
	items = take_room(c->room, count, sizeof *items);
	for (size_t i = 0; i < count; i++) {
		if (!take_text(c, &items[i]))
			return false;
	}
	*ret_items = items;
	*ret_count = count;
	return true;
}

static bool take_terms(struct cursor *c, const struct qless_terms **ret_terms);

static bool take_change(struct cursor *c, struct qless_recur_change *change)
{
	uint64_t field;

	*change = (struct qless_recur_change){ 0 };
	if (!take_varint(c, QLESS_RECUR_RAW, &field))
		return false;
	change->field = (unsigned)field;
	if (change->field == QLESS_RECUR_LIMITS)
		return take_texts(c, 1, &change->limits, &change->limit_count);
	if (change->field == QLESS_RECUR_TERMS)
		return take_terms(c, &change->terms);
	return change_is_number(change) ? take_number(c, &change->number)
					: take_text(c, &change->text);
}

static bool take_changes(struct cursor *c, const struct qless_recur_change **ret_changes,
			 size_t *ret_count)
{
	struct qless_recur_change *changes;
	size_t count;

	if (!take_count(c, 1, &count))
		return false;
	changes = take_room(c->room, count, sizeof *changes);
	for (size_t i = 0; i < count; i++) {
		if (!take_change(c, &changes[i]))
			return false;
	}
	*ret_changes = changes;
	*ret_count = count;
	return true;
}

/* A score may be infinite, other than a number of a client. */
static bool take_score(struct cursor *c, double *ret_score)
{
	if (c->left < 8)
		return false;
	*ret_score = wire_get_double(c->at);
	c->at += 8;
	c->left -= 8;
	return !isnan(*ret_score);
}

static bool take_repair(struct cursor *c, struct qless_repair *repair)
{
	uint64_t kind, what;

	*repair = (struct qless_repair){ 0 };
	if (!take_varint(c, QLESS_REPAIR_RETAINED, &kind) || kind == 0 ||
	    !take_varint(c, UINT32_MAX, &what) || !take_text(c, &repair->name) ||
	    !take_text(c, &repair->member) || !take_text(c, &repair->other))
		return false;
	repair->kind = (unsigned)kind;
	repair->what = (unsigned)what;
	if (repair_has_score(repair))
		return take_score(c, &repair->score);
	return repair->kind != QLESS_REPAIR_COUNT || (take_varint(c, UINT64_MAX, &repair->from) &&
						      take_varint(c, UINT64_MAX, &repair->to));
}

/* Bytes of a repair at least. So a damaged count fails before memory is allocated. */
#define REPAIR_BYTES_MIN 5

static bool take_repairs(struct cursor *c, const struct qless_repair **ret_repairs,
			 size_t *ret_count)
{
	struct qless_repair *repairs;
	uint64_t count;

	if (!take_varint(c, c->left / REPAIR_BYTES_MIN, &count))
		return false;
	repairs = take_room(c->room, (size_t)count, sizeof *repairs);
	for (size_t i = 0; i < count; i++) {
		if (!take_repair(c, &repairs[i]))
			return false;
	}
	*ret_repairs = repairs;
	*ret_count = (size_t)count;
	return true;
}

static bool take_schedule(struct cursor *c, const struct qless_schedule **ret_schedule)
{
	struct qless_schedule *schedule = take_room(c->room, 1, sizeof *schedule);
	uint64_t missed, overlap;

	if (!take_text(c, &schedule->cron) || !take_text(c, &schedule->zone) ||
	    !take_text(c, &schedule->rule) || !take_varint(c, QLESS_MISSED_ALL, &missed) ||
	    !take_varint(c, QLESS_OVERLAP_SKIP, &overlap))
		return false;
	schedule->missed = (unsigned)missed;
	schedule->overlap = (unsigned)overlap;
	*ret_schedule = schedule;
	return true;
}

static bool take_span(struct cursor *c, double *ret_span)
{
	if (!take_number(c, ret_span))
		return false;
	if (*ret_span == SPAN_INFINITE)
		*ret_span = INFINITY;
	return true;
}

static bool take_term(struct cursor *c, const struct term *term, struct qless_terms *terms)
{
	void *value = (char *)terms + term->offset;
	uint64_t choice;

	switch (term->type) {
	case FIELD_NUMBER:
		return take_number(c, value);
	case FIELD_SPAN:
		return take_span(c, value);
	case FIELD_TEXT:
		return take_text(c, value);
	case FIELD_CHOICE:
		if (!take_varint(c, term->max, &choice))
			return false;
		*(unsigned *)value = (unsigned)choice;
		return true;
	default:
		return true;
	}
}

static bool take_terms(struct cursor *c, const struct qless_terms **ret_terms)
{
	struct qless_terms *terms = take_room(c->room, 1, sizeof *terms);
	unsigned bits = 0, known = 0, byte;

	for (unsigned shift = 0; shift < TERM_BITS; shift += 8) {
		if (!take_byte(c, &byte))
			return false;
		bits |= byte << shift;
	}
	memset(terms, 0, sizeof *terms);
	for (const struct term *term = terms_layout; term->name != NULL; term++) {
		known |= 1u << term->bit;
		if ((bits & 1u << term->bit) == 0)
			continue;
		*(bool *)((char *)terms + term->test) = true;
		if (!take_term(c, term, terms))
			return false;
	}
	*ret_terms = terms;
	return (bits & ~known) == 0;
}

static bool take_field(struct cursor *c, const struct field *field, struct operation *op)
{
	uint64_t value;

	switch ((enum field_type)field->type) {
	case FIELD_TEXT:
		return take_text(c, FIELD_AT(struct qless_str, op, field->offset));
	case FIELD_TEXT_REF:
		return take_ref(c, FIELD_AT(const struct qless_str *, op, field->offset));
	case FIELD_TEXTS:
		return take_texts(c, field->step,
				  FIELD_AT(const struct qless_str *, op, field->offset),
				  FIELD_AT(size_t, op, field->counted));
	case FIELD_NUMBER:
		return take_number(c, FIELD_AT(double, op, field->offset));
	case FIELD_COUNT:
		if (!take_varint(c, UINT64_MAX, &value))
			return false;
		*FIELD_AT(int64_t, op, field->offset) = wire_unzigzag(value);
		return true;
	case FIELD_ADVANCE:
		if (!take_varint(c, QLESS_ADVANCE_WORKERS, &value))
			return false;
		*FIELD_AT(enum qless_advance_kind, op, field->offset) =
			(enum qless_advance_kind)value;
		return true;
	case FIELD_CHANGES:
		return take_changes(c,
				    FIELD_AT(const struct qless_recur_change *, op, field->offset),
				    FIELD_AT(size_t, op, field->counted));
	case FIELD_REPAIRS:
		return take_repairs(c, FIELD_AT(const struct qless_repair *, op, field->offset),
				    FIELD_AT(size_t, op, field->counted));
	case FIELD_SCHEDULE:
		return take_schedule(c, FIELD_AT(const struct qless_schedule *, op, field->offset));
	case FIELD_TERMS:
		return take_terms(c, FIELD_AT(const struct qless_terms *, op, field->offset));
	case FIELD_CHOICE:
	case FIELD_SPAN:
		return false;
	case FIELD_FLAG:
		return true;
	}
	return false;
}

/* ---- operations ---- */

static bool take_db(struct cursor *c, struct operation *op)
{
	uint64_t db;

	if (!take_varint(c, UINT32_MAX, &db))
		return false;
	op->db = (unsigned)db;
	return true;
}

/* Returns the name of the first field that cannot be read, or NULL. */
static const char *take_fields(struct cursor *c, const struct layout *layout, struct operation *op)
{
	unsigned bits = 0;

	if (!take_byte(c, &bits))
		return "byte of bits";
	if (layout->has_time && !take_double(c, &op->now))
		return "time";
	for (const struct field *field = layout->fields; field->name != NULL; field++) {
		bool is_there = true;

		if (field->presence != PRESENT_ALWAYS) {
			is_there = (bits & 1) != 0;
			bits >>= 1;
		}
		if (field->presence == PRESENT_IF_TRUE)
			*FIELD_AT(bool, op, field->test) = is_there;
		/* The data comes from the job or from the record, not from both. */
		if ((field->presence == PRESENT_IF_NEW && is_there == op->keeps_data) ||
		    (field->presence == PRESENT_IF_NEW_REF && is_there && op->keeps_data))
			return field->name;
		if (is_there && !take_field(c, field, op))
			return field->name;
	}
	return bits == 0 ? NULL : "byte of bits";
}

/* Whether a PUT_MANY has a unique key for each job, or none. */
static bool has_matching_keys(const struct operation *op)
{
	return op->put_many.keys.count == 0 ||
	       op->put_many.keys.count == op->put_many.jobs.count / 3;
}

int operation_decode(struct qless_str *bytes, struct operation_room *room, struct operation *ret_op,
		     struct buf *ret_error)
{
	struct cursor c = { (const unsigned char *)bytes->ptr, bytes->len, room };
	const struct layout *layout;
	const char *wrong = NULL;
	unsigned kind;

	empty_room(room);
	memset(ret_op, 0, sizeof *ret_op);
	if (!take_byte(&c, &kind)) {
		buf_append_str(ret_error, STR("there is no operation"));
		return -1;
	}
	layout = layout_find(kind & ~(unsigned)DB_FOLLOWS);
	if (layout == NULL) {
		buf_printf(ret_error, "an operation of kind %u is unknown to this program",
			   kind & ~(unsigned)DB_FOLLOWS);
		return -1;
	}
	ret_op->kind = (enum operation_kind)(kind & ~(unsigned)DB_FOLLOWS);
	if ((kind & DB_FOLLOWS) != 0 && !take_db(&c, ret_op))
		wrong = "database";
	if (wrong == NULL)
		wrong = take_fields(&c, layout, ret_op);
	if (wrong == NULL && ret_op->kind == OPERATION_PUT_MANY && !has_matching_keys(ret_op))
		wrong = "unique-keys";
	if (wrong != NULL) {
		buf_printf(ret_error, "an operation %s cannot be read: its %s is damaged",
			   layout->name, wrong);
		return -1;
	}
	*bytes = str_make((const char *)c.at, c.left);
	return 0;
}
