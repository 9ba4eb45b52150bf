/*
 * What is written of each kind of operation, as a table: encoding, decoding and describing walk it.
 * For this folder alone. layout.c opens with the format.
 */
#ifndef OPERATION_LAYOUT_H
#define OPERATION_LAYOUT_H

#include "operation/operation.h"

enum field_type {
	FIELD_TEXT,	/* struct qless_str */
	FIELD_TEXT_REF, /* const struct qless_str * */
	FIELD_TEXTS,	/* const struct qless_str *, and a count */
	FIELD_NUMBER,	/* double */
	FIELD_COUNT,	/* int64_t */
	FIELD_ADVANCE,	/* enum qless_advance_kind */
	FIELD_CHANGES,	/* const struct qless_recur_change *, and a count */
	FIELD_FLAG,	/* bool; nothing but the bit that says so */
};

/* When a field is written. All but the first have a bit that says whether it is. */
enum field_presence {
	PRESENT_ALWAYS,
	PRESENT_IF_SET, /* unless NULL, 0, false or without items */
	PRESENT_IF_HAS, /* if the bool at `beside` is true */
	PRESENT_IF_NEW, /* unless the job keeps its data, or none was given */
};

struct field {
	const char *name;
	unsigned char type;
	unsigned char presence;
	unsigned char step;	/* FIELD_TEXTS: their count is a multiple of this */
	unsigned short offset;	/* in struct operation */
	unsigned short counted; /* offset of the count */
	unsigned short has;	/* PRESENT_IF_HAS: offset of the bool */
};

#define FIELDS_MAX 11

struct layout {
	const char *name;
	bool has_time;
	struct field fields[FIELDS_MAX]; /* up to the first without a name */
};

/* Of a number of a kind; NULL if there is none. */
const struct layout *layout_find(unsigned kind);

/* Whether an optional field is written of this operation. */
bool field_is_present(const struct operation *op, const struct field *field);

/* Whether a change of a recurring job is a number or a text. */
static inline bool change_is_number(const struct qless_recur_change *change)
{
	return change->field <= QLESS_RECUR_BACKLOG;
}

/* Where the value of a field is, to be written and to be read. */
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

#endif
