/*
 * The options of native puts that become terms of a job: of PUT, REQUEUE, MULTIPUT and RECUR, and
 * of COMPLETE with `next`.
 *
 * A table has a row for each of them. The commands read them together with their other options, see
 * options.h. The forms of the reference do not know them.
 */
#ifndef COMMAND_TERM_OPTIONS_H
#define COMMAND_TERM_OPTIONS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "command/options.h"
#include "operation/operation.h"
#include "qless.h"
#include "util/str.h"

struct request;

/* Begins the unique keys that stand for the header field Idempotency-Key of HTTP. The length of the
 * user's name in bytes, the name and the key follow, divided by colons. Clients cannot name such a
 * key in another way. */
#define TERM_IDEMPOTENCY_PREFIX "idempotency:"

/* The commands that take terms, as bits. */
enum term_user {
	TERM_OF_PUT = 1 << 0, /* and of MULTIPUT */
	TERM_OF_REQUEUE = 1 << 1,
	TERM_OF_RECUR = 1 << 2,
	TERM_OF_NEXT = 1 << 3, /* COMPLETE ... next */
	TERM_OF_RECUR_UPDATE = 1 << 4,
};

/* The options that the client sent; NULL if it did not. An option with values points to the first
 * of them, and an option without values to its word. */
struct term_options {
	const struct qless_str *at;
	const struct qless_str *nx;
	const struct qless_str *backoff;
	const struct qless_str *runtime;
	const struct qless_str *retain;
	const struct qless_str *raw;
	const struct qless_str *unique;
	const struct qless_str *until;
	const struct qless_str *replace;
};

#define TERM_SLOTS_MAX 9

static_assert(sizeof(struct term_options) == TERM_SLOTS_MAX * sizeof(void *), "one for each row");

/* Whether the client sent none of them, as nearly always. */
static inline bool term_options_are_absent(const struct term_options *options)
{
	static const struct term_options absent;

	return memcmp(options, &absent, sizeof absent) == 0;
}

/* Append the slots of the options that the command takes. Returns their number. */
size_t term_options_slots(enum term_user user, struct term_options *options,
			  struct option_slot slots[TERM_SLOTS_MAX]);
/* The word of an option that the client sent; NULL if it sent none. */
const char *term_options_first(const struct term_options *options);
/* Whether a word is such an option, in any case. */
bool term_option_is(struct qless_str word);
/* Decode the options, of which the client sent some. *ret_terms borrows from scratch->decoded.
 * Fails like a decoder. */
int term_options_decode(struct request *req, const struct term_options *options,
			const struct qless_terms **ret_terms);
/* Decode the option `unique` of a put that has no other option. */
int term_options_decode_unique(struct request *req, const struct qless_str *value,
			       const struct qless_terms **ret_terms);

/* Whether the options of a native command from argument `first` on contain `raw`. The data is
 * checked before the options are read. */
bool term_options_have_raw(const struct request *req, size_t first);
/* Set the key of terms whose `unique` is `args`, once the class and the data of the job are known.
 * Then check that the user may use the job that holds the key. Fails like a decoder. */
int term_unique_decode(struct request *req, const struct qless_terms *terms,
		       const struct qless_str *klass, const struct qless_str *data, bool is_raw);
/* Do this for each of the jobs, which are jid, class and data one after the other. *ret_keys has a
 * key for each job if they differ, and otherwise none. */
int term_unique_decode_many(struct request *req, const struct qless_terms *terms,
			    const struct operation_names *jobs, struct operation_names *ret_keys);

/* The unique key of a class and data, which is JSON unless it is raw. Borrows from
 * scratch->decoded. */
struct qless_str term_unique_make(struct request *req, struct qless_str klass,
				  struct qless_str data, bool is_raw);

/* Bytes of the text that a key of class and data is shown as. */
#define TERM_ARGS_TEXT_BYTES (5 + 2 * (QLESS_ARGS_KEY_BYTES - 1))
/* A unique key as people see it: as it was given, or `args:` and 32 hexadecimal digits. */
struct qless_str term_unique_text(struct qless_str key, char room[TERM_ARGS_TEXT_BYTES]);

/* Add the number that the server gave to the last job of the request to its terms, which may be
 * NULL. */
void term_add_number(struct request *req, const struct qless_terms **terms);
/* Let the data of a put be bytes. The terms may be NULL. */
void term_add_raw(struct request *req, const struct qless_terms **terms);

#endif
