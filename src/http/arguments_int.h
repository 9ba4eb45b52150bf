/*
 * The part of arguments.c that argument_values.c uses, and the reverse.
 */
#ifndef HTTP_ARGUMENTS_INT_H
#define HTTP_ARGUMENTS_INT_H

#include "http/arguments.h"

/* Bytes of a name or value that an error repeats. */
#define QUOTED_MAX 64

/* The arguments of a printf() for "%.*s". */
#define QUOTE(text) (int)((text).len < QUOTED_MAX ? (text).len : QUOTED_MAX), (text).ptr

/* Word the error. Return false. */
bool arguments_fail(struct arguments *a, const char *code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool arguments_fail_kind(struct arguments *a, const struct route_arg *arg, const char *expected,
			 struct qless_str found);
bool arguments_fail_repeated(struct arguments *a, struct qless_str name);

void arguments_add(struct arguments *a, struct qless_str argument);
/* Returns false, with the error, if there are more arguments than a command may have. */
bool arguments_check_count(struct arguments *a);
/* Adds the word before a value, if it has one. */
void arguments_add_word(struct arguments *a, const struct route_arg *arg);
/* Decodes the inside of a string. */
struct qless_str arguments_decode(struct arguments *a, struct qless_str inside);
struct qless_str arguments_keep_number(struct arguments *a, double number);

const struct arguments_value *arguments_value_of(const struct arguments *a,
						 const struct route_arg *arg);
/* Sets a value, unless the request has it twice. */
bool arguments_set(struct arguments *a, struct arguments_value *to, struct qless_str name,
		   struct qless_str value);

/* Add the arguments that a value stands for. Return false after an error. */
bool arguments_add_from_body(struct arguments *a, const struct route_arg *arg,
			     struct qless_str value);
bool arguments_add_from_query(struct arguments *a, const struct route_arg *arg,
			      struct qless_str value);

#endif
