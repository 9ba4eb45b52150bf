/*
 * The options at the end of a native command: a word, and its values. Most have one value.
 *
 * The word is taken in any case. A word that is unknown, repeated or without a value is an error
 * that names it. The forms of the reference are lenient, so their decoders read options themselves.
 */
#ifndef COMMAND_OPTIONS_H
#define COMMAND_OPTIONS_H

#include <stddef.h>

#include "util/str.h"

struct request;

/* An option that a command has. */
struct option_slot {
	struct qless_str name;
	/* Where the value goes: set to the argument if the client sent the option. Starts NULL. */
	const struct qless_str **value;
	/* The number of values. Without any, `value` gets the word. */
	size_t values;
};

/* Arguments of an option of a native command: the word and its values. A word that is unknown
 * counts as one with a value. */
size_t option_width(struct qless_str word);

/* Reads the options from argument `first` to the one before `end`. Returns 0, or a negative code
 * with the error worded, as request_fail() does. */
int options_read(struct request *req, size_t first, size_t end, const struct option_slot *slots,
		 size_t count);

/* Fail about an option: the command has none of this name, the client sent it twice, or its value
 * is missing. The first one proposes the nearest of the names. */
int options_fail_unknown(struct request *req, struct qless_str name,
			 const struct option_slot *slots, size_t count);
int options_fail_repeated(struct request *req, struct qless_str name);
int options_fail_without_value(struct request *req, struct qless_str name);

#endif
