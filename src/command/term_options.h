/*
 * The options of native puts that become terms of a job: of PUT, REQUEUE, MULTIPUT and RECUR, and
 * of COMPLETE with `next`.
 *
 * A table has a row for each of them. The commands read them together with their other options, see
 * options.h. The forms of the reference do not know them.
 */
#ifndef COMMAND_TERM_OPTIONS_H
#define COMMAND_TERM_OPTIONS_H

#include <stddef.h>

#include "command/options.h"
#include "qless.h"
#include "util/str.h"

struct request;

/* The commands that take terms, as bits. */
enum term_user {
	TERM_OF_PUT = 1 << 0, /* and of MULTIPUT */
	TERM_OF_REQUEUE = 1 << 1,
	TERM_OF_RECUR = 1 << 2,
	TERM_OF_NEXT = 1 << 3, /* COMPLETE ... next */
};

/* The options that the client sent; NULL if it did not. An option with values points to the first
 * of them, and an option without values to its word. */
struct term_options {
	const struct qless_str *at;
	const struct qless_str *nx;
	const struct qless_str *backoff;
	const struct qless_str *runtime;
};

#define TERM_SLOTS_MAX 4

/* Append the slots of the options that the command takes. Returns their number. */
size_t term_options_slots(enum term_user user, struct term_options *options,
			  struct option_slot slots[TERM_SLOTS_MAX]);
/* The word of an option that the client sent; NULL if it sent none. */
const char *term_options_first(const struct term_options *options);
/* Decode the options. *ret_terms is NULL if there are none, and otherwise borrows from
 * scratch->decoded. Fails like a decoder. */
int term_options_decode(struct request *req, const struct term_options *options,
			const struct qless_terms **ret_terms);

/* Add the number that the server gave to the last job of the request to its terms, which may be
 * NULL. */
void term_add_number(struct request *req, const struct qless_terms **terms);

#endif
