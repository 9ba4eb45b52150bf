/*
 * The fields of each kind of operation, as a table. Encoding, decoding and describing walk it. For
 * this folder only. layout.c begins with the format.
 */
#ifndef OPERATION_LAYOUT_H
#define OPERATION_LAYOUT_H

#include <string.h>

#include "operation/operation.h"

enum field_type {
	FIELD_TEXT,	/* struct qless_str */
	FIELD_TEXT_REF, /* const struct qless_str * */
	FIELD_TEXTS,	/* const struct qless_str *, and a count */
	FIELD_NUMBER,	/* double */
	FIELD_COUNT,	/* int64_t */
	FIELD_ADVANCE,	/* enum qless_advance_kind */
	FIELD_CHANGES,	/* const struct qless_recur_change *, and a count */
	FIELD_REPAIRS,	/* const struct qless_repair *, and a count */
	FIELD_SCHEDULE, /* const struct qless_schedule * */
	FIELD_TERMS,	/* const struct qless_terms * */
	FIELD_CHOICE,	/* enum, for terms only */
	FIELD_SPAN,	/* double, seconds or INFINITY, for terms only */
	FIELD_FLAG,	/* bool; nothing but the bit that says so */
};

/* When a field is present. Fields that are not always present have a bit. */
enum field_presence {
	PRESENT_ALWAYS,
	PRESENT_IF_TRUE,   /* if the bool at `test` is true */
	PRESENT_IF_COUNT,  /* if the count at `test` is not 0 */
	PRESENT_IF_REF,	   /* if the pointer at `test` is not NULL */
	PRESENT_IF_NUMBER, /* unless the double at `test` is 0, without a sign */
	PRESENT_IF_NEW,	   /* unless the job keeps its data */
	PRESENT_IF_NEW_REF /* unless the job keeps its data, or the pointer at `test` is NULL */
};

struct field {
	const char *name;
	unsigned char type;
	unsigned char presence;
	unsigned char step;	/* FIELD_TEXTS: the count is a multiple of this */
	unsigned short offset;	/* in struct operation */
	unsigned short counted; /* offset of the count of a list */
	unsigned short test;	/* offset of the member that decides if the field is present */
};

#define FIELDS_MAX 14

struct layout {
	const char *name;
	bool has_time;
	struct field fields[FIELDS_MAX]; /* up to the first without a name */
};

/* A value of struct qless_terms. Several values may share a bit: they are given together. */
struct term {
	const char *name;
	unsigned char type; /* FIELD_NUMBER, _SPAN, _TEXT, _FLAG or _CHOICE */
	unsigned char bit;  /* its number in the bitmap */
	unsigned char max;  /* FIELD_CHOICE: the largest value, and the word for each */
	struct qless_str (*words)(unsigned value);
	unsigned short offset;
	unsigned short test; /* offset of the bool that says whether the term is given */
};

/* The number that stands for an infinite span. */
#define SPAN_INFINITE (-1.0)

/* Bits of the bitmap of terms, which is a multiple of bytes. */
#define TERM_BITS	16
#define TERM_UNIQUE_BIT 6

/* The values by their bits, up to the first without a name. */
extern const struct term terms_layout[];

static inline bool term_is_given(const struct qless_terms *terms, const struct term *term)
{
	return *(const bool *)((const char *)terms + term->test);
}

static inline const void *term_at(const struct qless_terms *terms, const struct term *term)
{
	return (const char *)terms + term->offset;
}

/* The layout of a kind; NULL if there is no such kind. */
const struct layout *layout_find(unsigned kind);

/* Whether a change of a recurring job is a number or a text. */
static inline bool change_is_number(const struct qless_recur_change *change)
{
	return change->field <= QLESS_RECUR_BACKLOG || change->field == QLESS_RECUR_MISSED ||
	       change->field == QLESS_RECUR_OVERLAP || change->field == QLESS_RECUR_RAW;
}

static inline struct operation_names change_limits(const struct qless_recur_change *change)
{
	return (struct operation_names){ change->limits, change->limit_count };
}

/* Whether a repair has a score. */
static inline bool repair_has_score(const struct qless_repair *repair)
{
	return repair->kind == QLESS_REPAIR_ENTER_TABLE || repair->kind == QLESS_REPAIR_EVICT;
}

/* The address of a field, for writing and for reading. */
#define FIELD_AT(type, op, offset)	 ((type *)((char *)(op) + (offset)))
#define CONST_FIELD_AT(type, op, offset) ((type const *)((const char *)(op) + (offset)))

static inline struct qless_str field_text(const struct operation *op, const struct field *field)
{
	return *CONST_FIELD_AT(struct qless_str, op, field->offset);
}

static inline const struct qless_str *field_ref(const struct operation *op,
						const struct field *field)
{
	return *CONST_FIELD_AT(const struct qless_str *, op, field->offset);
}

static inline struct operation_names field_texts(const struct operation *op,
						 const struct field *field)
{
	return (struct operation_names){
		*CONST_FIELD_AT(const struct qless_str *, op, field->offset),
		*CONST_FIELD_AT(size_t, op, field->counted),
	};
}

static inline const struct qless_schedule *field_schedule(const struct operation *op,
							  const struct field *field)
{
	return *CONST_FIELD_AT(const struct qless_schedule *, op, field->offset);
}

static inline const struct qless_terms *field_terms(const struct operation *op,
						    const struct field *field)
{
	return *CONST_FIELD_AT(const struct qless_terms *, op, field->offset);
}

static inline double field_number(const struct operation *op, const struct field *field)
{
	return *CONST_FIELD_AT(double, op, field->offset);
}

static inline int64_t field_count(const struct operation *op, const struct field *field)
{
	return *CONST_FIELD_AT(int64_t, op, field->offset);
}

static inline enum qless_advance_kind field_advance(const struct operation *op,
						    const struct field *field)
{
	return *CONST_FIELD_AT(enum qless_advance_kind, op, field->offset);
}

static inline const struct qless_recur_change *field_changes(const struct operation *op,
							     const struct field *field,
							     size_t *ret_count)
{
	*ret_count = *CONST_FIELD_AT(size_t, op, field->counted);
	return *CONST_FIELD_AT(const struct qless_recur_change *, op, field->offset);
}

static inline const struct qless_repair *field_repairs(const struct operation *op,
						       const struct field *field, size_t *ret_count)
{
	*ret_count = *CONST_FIELD_AT(size_t, op, field->counted);
	return *CONST_FIELD_AT(const struct qless_repair *, op, field->offset);
}

/* Returns whether an operation has a field. */
static inline bool field_is_present(const struct operation *op, const struct field *field)
{
	uint64_t bits;

	switch ((enum field_presence)field->presence) {
	case PRESENT_ALWAYS:
		break;
	case PRESENT_IF_TRUE:
		return *CONST_FIELD_AT(bool, op, field->test);
	case PRESENT_IF_COUNT:
		return *CONST_FIELD_AT(size_t, op, field->test) != 0;
	case PRESENT_IF_REF:
		return *CONST_FIELD_AT(void *, op, field->test) != NULL;
	case PRESENT_IF_NUMBER:
		memcpy(&bits, CONST_FIELD_AT(double, op, field->test), sizeof bits);
		return bits != 0;
	case PRESENT_IF_NEW:
		return !op->keeps_data;
	case PRESENT_IF_NEW_REF:
		return !op->keeps_data && *CONST_FIELD_AT(void *, op, field->test) != NULL;
	}
	return true;
}

#endif
