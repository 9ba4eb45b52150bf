/*
 * What differs between the dialects of the queue commands.
 *
 * The engine has one set of rules and reports its errors as data. A dialect says how a client of
 * one family reads them: it is data, and a second one is a second instance.
 */
#ifndef COMMAND_DIALECT_H
#define COMMAND_DIALECT_H

#include <stddef.h>

#include "command/json.h"
#include "qless.h"
#include "util/buf.h"
#include "util/str.h"

/* The text of an error. The first row that fits an error is its text. */
struct dialect_message {
	enum qless_operation operation; /* QLESS_OP_ANY: of each */
	enum qless_reason reason;
	const char *argument; /* NULL: whichever it is */
	const char *text;     /* with %j, %d, %a, %n and %v as in QLESS_REASONS */
};

/* A text about arguments. The decoders have those of the classic dialect, as formats; another
 * dialect replaces the ones that it words in another way. */
struct dialect_text {
	const char *classic;
	const char *own; /* takes the same values in the same order */
};

/* An option that config.get shows while it is not set. */
struct dialect_option {
	struct qless_str name;
	struct qless_str text; /* the default of this dialect; ptr is NULL: that of the engine */
};

struct dialect {
	struct qless_str name; /* in the log; never changes */
	/* What is in none of the rows has the text that all dialects share. */
	const struct dialect_message *messages;
	size_t message_count;
	const struct dialect_text *texts;
	size_t text_count;
	/* In the order in which they are listed. */
	const struct dialect_option *options;
	size_t option_count;
	bool has_numbers;	      /* defaults that look like numbers are numbers in replies */
	struct json_style in_scripts; /* as the script of the reference answers */
	struct json_style elsewhere;  /* native, and QLESS */
};

/* qless: put, pop, complete ... */
extern const struct dialect dialect_classic;

static inline const struct json_style *dialect_style(const struct dialect *dialect, bool in_script)
{
	return in_script ? &dialect->in_scripts : &dialect->elsewhere;
}

/* The text to use for one of the classic dialect. */
const char *dialect_text_of(const struct dialect *dialect, const char *classic);

/* Find the value of an option: what is set, or the default of the dialect. False if there is
 * neither. */
bool dialect_find_option(const struct dialect *dialect, const struct qless *engine,
			 struct qless_str name, struct qless_option *ret_option);
/* Whether an option is one of those that are always listed. */
bool dialect_lists_option(const struct dialect *dialect, struct qless_str name);

/* NULL if no dialect has that name. */
const struct dialect *dialect_find(struct qless_str name);

/* Append an error of the engine in the words of a dialect. */
void dialect_append_error(const struct dialect *dialect, const struct qless_error *error,
			  struct buf *out);

#endif
