/*
 * JSON bodies of requests, taken apart without a copy.
 *
 * A value is a slice of the body, so data of a job is passed on as the client wrote it. Only the
 * strings that a command gets as text are decoded.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef HTTP_BODY_H
#define HTTP_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "util/str.h"

/* Levels of nested arrays and objects in a body: those that max-json-depth allows for the data of a
 * job, and those around them. */
#define BODY_DEPTH_MAX ((size_t)100000 + 4)
/* Bytes of the text of an error. */
#define BODY_ERROR_SIZE 128

enum body_kind {
	BODY_NULL,
	BODY_FALSE,
	BODY_TRUE,
	BODY_NUMBER,
	BODY_STRING,
	BODY_ARRAY,
	BODY_OBJECT,
};

/* Returns a phrase, such as "a string". */
const char *body_kind_text(enum body_kind kind);

/* Returns the kind of a value of a valid body. */
enum body_kind body_kind_of(struct qless_str value);

/* Checks that the text is one JSON document (RFC 8259) with at most `max_depth` levels, up to
 * BODY_DEPTH_MAX. Returns false, with what is wrong and where in `ret_error`, if it is not. */
bool body_check(struct qless_str text, size_t max_depth, char ret_error[BODY_ERROR_SIZE]);

/* Removes the blanks around a text. */
struct qless_str body_trim(struct qless_str text);

/* Step through the elements of an array, or the members of an object, of a valid body. `*rest`
 * starts as the array or object. Return false at the end. A name is still escaped, without its
 * quotes. */
bool body_next_element(struct qless_str *rest, struct qless_str *ret_value);
bool body_next_member(struct qless_str *rest, struct qless_str *ret_name,
		      struct qless_str *ret_value);

/* Decodes the inside of a string of a valid body. `to` has room for as many bytes as it has.
 * Returns the length. */
size_t body_decode(struct qless_str inside, char *to);

/* Returns the inside of a string value, without its quotes. */
static inline struct qless_str body_inside(struct qless_str value)
{
	return str_make(value.ptr + 1, value.len - 2);
}

#endif
