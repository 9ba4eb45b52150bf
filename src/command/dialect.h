/*
 * The differences between the dialects of the queue commands.
 *
 * The engine has one set of rules and reports its errors as data. A dialect is the data that
 * decides how clients of one family read errors and replies. Another dialect is another instance.
 */
#ifndef COMMAND_DIALECT_H
#define COMMAND_DIALECT_H

#include <stddef.h>

#include "command/json.h"
#include "command/request.h"
#include "qless.h"
#include "util/buf.h"
#include "util/str.h"

/* The text of an error of the engine. The first row that matches an error decides. */
struct dialect_message {
	enum qless_operation operation; /* QLESS_OP_ANY: of each */
	enum qless_reason reason;
	const char *argument; /* NULL: whichever it is */
	const char *text;     /* with %j, %d, %a, %n and %v as in QLESS_REASONS */
};

/* The text of an error about arguments. The decoders contain the texts of the classic dialect, as
 * formats; another dialect lists those that it replaces. */
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
	struct qless_str name; /* also in the log, so it never changes */
	/* An error that matches no row has a text that all dialects share. */
	const struct dialect_message *messages;
	size_t message_count;
	const struct dialect_text *texts;
	size_t text_count;
	/* In the order of config.get without arguments. */
	const struct dialect_option *options;
	size_t option_count;
	bool has_numbers;	      /* defaults that look like numbers are numbers in replies */
	struct json_style in_scripts; /* as the script of the reference answers */
	struct json_style in_qless;   /* the same in commands of QLESS */
	struct json_style native;     /* with members that the reference lacks */
	struct json_style embedding;  /* as native, in replies that are JSON as a whole */
};

/* The options that every instance of qless lists. */
#define DIALECT_CLASSIC_OPTIONS 7
extern const struct dialect_option dialect_classic_options[DIALECT_CLASSIC_OPTIONS];

/* qless: put, pop, complete ... */
extern const struct dialect dialect_classic;
/* The same commands in their native form: native_words.c. No script has this dialect. */
extern const struct dialect dialect_native;

static inline const struct json_style *dialect_style(const struct dialect *dialect,
						     enum request_form form)
{
	if (form == REQUEST_NATIVE)
		return &dialect->native;
	return form == REQUEST_SCRIPT ? &dialect->in_scripts : &dialect->in_qless;
}

/* Returns the replacement of a text of the classic dialect, or the text itself. */
const char *dialect_text_of(const struct dialect *dialect, const char *classic);

/* Finds the value of an option: the value that was set, or the default of the dialect. Returns
 * false if there is neither. */
bool dialect_find_option(const struct dialect *dialect, const struct qless *engine,
			 struct qless_str name, struct qless_option *ret_option);
/* Whether config.get without arguments lists the option even if it is not set. */
bool dialect_lists_option(const struct dialect *dialect, struct qless_str name);

/* Returns NULL if no dialect has that name. */
const struct dialect *dialect_find(struct qless_str name);

/* Appends an error of the engine in the words of a dialect. */
void dialect_append_error(const struct dialect *dialect, const struct qless_error *error,
			  struct buf *out);

#endif
