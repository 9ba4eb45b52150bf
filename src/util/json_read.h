/*
 * Reading JSON in place: values are slices of the text, so an object can be handed on byte for
 * byte.
 *
 * The library yyjson cannot do this: it keeps no places of values, and takes \u00ff for a
 * character. The server writes a byte that is not UTF-8 like that, see json.h, so a jid read by
 * yyjson would be that of another job.
 *
 * json_read_check() accepts any bytes, and checks a whole text. The other functions expect a value
 * of a text that was checked.
 */
#ifndef UTIL_JSON_READ_H
#define UTIL_JSON_READ_H

#include <stdbool.h>

#include "util/buf.h"
#include "util/str.h"

/* Levels of arrays and objects within each other. A text with more is refused. */
#define JSON_READ_DEPTH_MAX 256

/* Whether the text is one JSON value (RFC 8259) with nothing but blanks around it. *ret_value is
 * the value without these blanks. */
bool json_read_check(struct qless_str text, struct qless_str *ret_value);

/* The meaning of a \u escape from 80 to FF in a string. */
enum json_escapes {
	JSON_ESCAPES_TEXT,  /* the character, as in JSON */
	JSON_ESCAPES_BYTES, /* the byte: the server writes bytes that are not UTF-8 this way */
};

/* Appends the bytes of a string. Returns false, and appends nothing, if the value is no string. */
bool json_read_string(struct qless_str value, enum json_escapes escapes, struct buf *out);

/* Returns false, and leaves *ret_number alone, if the value is no number. */
bool json_read_number(struct qless_str value, double *ret_number);

/* The members of an object, or the items of an array. */
struct json_items {
	const char *at, *end;
	bool is_object;
};

/* Returns false if the value is neither an object nor an array. */
bool json_read_open(struct qless_str value, struct json_items *ret_items);

/* Returns false at the end. *ret_name is the name with its quotes, or empty in an array. */
bool json_read_next(struct json_items *items, struct qless_str *ret_name,
		    struct qless_str *ret_value);

/* The value of a member. Names with escapes are not found. Returns false, and leaves *ret_value
 * alone, if there is no such member, or the value is no object. */
bool json_read_find(struct qless_str object, const char *name, struct qless_str *ret_value);

#endif
