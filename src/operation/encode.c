#include <assert.h>
#include <math.h>

#include "engine/terms.h"
#include "engine/unique.h"
#include "operation/layout.h"
#include "util/wire.h"

/* Integers below this bound are written as varints. A double holds each of them exactly. */
#define WHOLE_MAX  4503599627370496.0 /* 2^52 */
#define DB_FOLLOWS 0x80

/* Bytes that wire_put_bytes() may write after a short text. */
#define SPARE_BYTES 8

static char *put_varint(struct buf *out, char *to, uint64_t value)
{
	to = buf_room(out, to, WIRE_VARINT_MAX);
	return to + wire_put_varint((unsigned char *)to, value);
}

/* Inline, because most fields are texts. */
static inline __attribute__((always_inline)) char *put_text(struct buf *out, char *to,
							    struct qless_str text)
{
	to = buf_room(out, to, WIRE_VARINT_MAX + text.len + SPARE_BYTES);
	to += wire_put_varint((unsigned char *)to, text.len);
	wire_put_bytes((unsigned char *)to, (const unsigned char *)text.ptr, text.len);
	return to + text.len;
}

/* Not inline: what is rare must not keep the compiler from inlining what is common. */
static __attribute__((noinline)) char *put_rare_text(struct buf *out, char *to,
						     struct qless_str text)
{
	return put_text(out, to, text);
}

static bool is_whole(double number)
{
	return fabs(number) < WHOLE_MAX && number == (double)(int64_t)number &&
	       !(number == 0 && signbit(number));
}

static inline bool is_plain_zero(double number)
{
	return number == 0 && !signbit(number);
}

static char *put_number(struct buf *out, char *to, double number)
{
	if (is_plain_zero(number)) {
		to = buf_room(out, to, 1);
		*to = 0;
		return to + 1;
	}
	if (is_whole(number))
		return put_varint(out, to, wire_zigzag((int64_t)number) << 1);
	to = buf_room(out, to, 1 + 8);
	*to = 1;
	wire_put_double((unsigned char *)to + 1, number);
	return to + 1 + 8;
}

static char *put_texts(struct buf *out, char *to, struct operation_names texts, size_t step)
{
	assert(texts.count % step == 0);
	to = put_varint(out, to, texts.count / step);
	for (size_t i = 0; i < texts.count; i++)
		to = put_text(out, to, texts.items[i]);
	return to;
}

static char *put_terms(struct buf *out, char *to, const struct qless_terms *terms);

static char *put_changes(struct buf *out, char *to, const struct qless_recur_change *changes,
			 size_t count)
{
	to = put_varint(out, to, count);
	for (size_t i = 0; i < count; i++) {
		to = put_varint(out, to, changes[i].field);
		if (change_is_number(&changes[i]))
			to = put_number(out, to, changes[i].number);
		else if (changes[i].field == QLESS_RECUR_LIMITS)
			to = put_texts(out, to, change_limits(&changes[i]), 1);
		else if (changes[i].field == QLESS_RECUR_TERMS)
			to = put_terms(out, to, changes[i].terms);
		else
			to = put_rare_text(out, to, changes[i].text);
	}
	return to;
}

static char *put_repairs(struct buf *out, char *to, const struct qless_repair *repairs,
			 size_t count)
{
	to = put_varint(out, to, count);
	for (size_t i = 0; i < count; i++) {
		to = put_varint(out, to, repairs[i].kind);
		to = put_varint(out, to, repairs[i].what);
		to = put_rare_text(out, to, repairs[i].name);
		to = put_rare_text(out, to, repairs[i].member);
		to = put_rare_text(out, to, repairs[i].other);
		if (repair_has_score(&repairs[i])) {
			to = buf_room(out, to, 8);
			wire_put_double((unsigned char *)to, repairs[i].score);
			to += 8;
		}
		if (repairs[i].kind == QLESS_REPAIR_COUNT) {
			to = put_varint(out, to, repairs[i].from);
			to = put_varint(out, to, repairs[i].to);
		}
	}
	return to;
}

static char *put_schedule(struct buf *out, char *to, const struct qless_schedule *schedule)
{
	to = put_text(out, to, schedule->cron);
	to = put_text(out, to, schedule->zone);
	to = put_text(out, to, schedule->rule);
	to = put_varint(out, to, schedule->missed);
	return put_varint(out, to, schedule->overlap);
}

static char *put_term(struct buf *out, char *to, const struct qless_terms *terms,
		      const struct term *term)
{
	const void *value = term_at(terms, term);
	double span;

	switch (term->type) {
	case FIELD_NUMBER:
		return put_number(out, to, *(const double *)value);
	case FIELD_SPAN:
		span = *(const double *)value;
		return put_number(out, to, isinf(span) ? SPAN_INFINITE : span);
	case FIELD_TEXT:
		return put_text(out, to, *(const struct qless_str *)value);
	case FIELD_CHOICE:
		assert(*(const unsigned *)value <= term->max);
		to = buf_room(out, to, 1);
		*to = (char)*(const unsigned *)value;
		return to + 1;
	default:
		return to;
	}
}

/* Writes what put_other_terms() would of a unique key and nothing else. */
static __attribute__((noinline)) char *put_unique(struct buf *out, char *to,
						  const struct qless_unique *unique)
{
	to = buf_room(out, to, TERM_BITS / 8);
	*to++ = (char)(1u << TERM_UNIQUE_BIT);
	*to++ = (char)(1u << TERM_UNIQUE_BIT >> 8);
	to = put_text(out, to, unique->key);
	to = buf_room(out, to, 1);
	*to++ = (char)unique->until;
	return put_number(out, to, unique->seconds);
}

/* Whether a key is of class and data, and needs no number. */
static inline bool is_plain_args(const struct qless_unique *unique)
{
	return unique_is_args_key(unique->key) && unique->until != QLESS_UNTIL_SECONDS &&
	       is_plain_zero(unique->seconds);
}

/* Writes what put_unique() would of such a key. */
static inline char *put_args(struct buf *out, char *to, const struct qless_unique *unique)
{
	static_assert(QLESS_ARGS_KEY_BYTES < 0x80, "a varint of one byte");
	to = buf_room(out, to, TERM_BITS / 8 + 1 + QLESS_ARGS_KEY_BYTES + 2);
	*to++ = (char)(1u << TERM_UNIQUE_BIT);
	*to++ = (char)(1u << TERM_UNIQUE_BIT >> 8);
	*to++ = QLESS_ARGS_KEY_BYTES;
	memcpy(to, unique->key.ptr, QLESS_ARGS_KEY_BYTES);
	to += QLESS_ARGS_KEY_BYTES;
	*to++ = (char)unique->until;
	*to++ = 0;
	return to;
}

static __attribute__((noinline)) char *put_other_terms(struct buf *out, char *to,
						       const struct qless_terms *terms)
{
	unsigned bits = 0;
	char *bits_to;
	size_t bits_at;

	to = buf_room(out, to, TERM_BITS / 8);
	bits_at = (size_t)(to - buf_data(out));
	to += TERM_BITS / 8;
	for (const struct term *term = terms_layout; term->name != NULL; term++) {
		if (!term_is_given(terms, term))
			continue;
		bits |= 1u << term->bit;
		to = put_term(out, to, terms, term);
	}
	bits_to = buf_data(out) + bits_at;
	for (unsigned shift = 0; shift < TERM_BITS; shift += 8)
		*bits_to++ = (char)(bits >> shift);
	return to;
}

static inline char *put_terms(struct buf *out, char *to, const struct qless_terms *terms)
{
	if (!terms_are_key(terms) || terms->unique.replace)
		return put_other_terms(out, to, terms);
	if (is_plain_args(&terms->unique))
		return put_args(out, to, &terms->unique);
	return put_unique(out, to, &terms->unique);
}

static char *put_field(struct buf *out, char *to, const struct operation *op,
		       const struct field *field)
{
	const struct qless_recur_change *changes;
	const struct qless_repair *repairs;
	size_t count;

	switch ((enum field_type)field->type) {
	case FIELD_TEXT:
		return put_text(out, to, field_text(op, field));
	case FIELD_TEXT_REF:
		return put_text(out, to, *field_ref(op, field));
	case FIELD_TEXTS:
		return put_texts(out, to, field_texts(op, field), field->step);
	case FIELD_NUMBER:
		return put_number(out, to, field_number(op, field));
	case FIELD_COUNT:
		return put_varint(out, to, wire_zigzag(field_count(op, field)));
	case FIELD_ADVANCE:
		return put_varint(out, to, field_advance(op, field));
	case FIELD_CHANGES:
		changes = field_changes(op, field, &count);
		return put_changes(out, to, changes, count);
	case FIELD_REPAIRS:
		repairs = field_repairs(op, field, &count);
		return put_repairs(out, to, repairs, count);
	case FIELD_SCHEDULE:
		return put_schedule(out, to, field_schedule(op, field));
	case FIELD_TERMS:
		return put_terms(out, to, field_terms(op, field));
	case FIELD_CHOICE:
	case FIELD_SPAN:
	case FIELD_FLAG:
		break;
	}
	return to;
}

void operation_encode(const struct operation *op, struct buf *out)
{
	const struct layout *layout = layout_find(op->kind);
	const struct field *field;
	char *to = buf_room(out, buf_open(out), 1 + WIRE_VARINT_MAX + 1 + 8);
	size_t bits_at;
	unsigned bits = 0, bit = 1;

	assert(layout != NULL);
	*to++ = (char)(op->kind | (op->db != 0 ? DB_FOLLOWS : 0));
	if (op->db != 0)
		to += wire_put_varint((unsigned char *)to, op->db);
	bits_at = (size_t)(to - buf_data(out));
	to++;
	if (layout->has_time) {
		wire_put_double((unsigned char *)to, op->now);
		to += 8;
	}
	for (field = layout->fields; field->name != NULL; field++) {
		if (field->presence != PRESENT_ALWAYS) {
			bool is_there = field_is_present(op, field);

			bits |= is_there ? bit : 0;
			bit <<= 1;
			if (!is_there)
				continue;
		}
		to = put_field(out, to, op, field);
	}
	buf_data(out)[bits_at] = (char)bits;
	buf_close(out, to);
}
