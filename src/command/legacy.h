/*
 * Records of logs before format 4: the text of clients' commands. They are read and never written.
 *
 * Each command becomes an operation, by the decoder of the command of that time; nothing is
 * answered. legacy.c opens with the layout.
 */
#ifndef COMMAND_LEGACY_H
#define COMMAND_LEGACY_H

#include <stdbool.h>
#include <stddef.h>

#include "command/request.h"
#include "operation/operation.h"
#include "util/buf.h"
#include "util/str.h"

struct databases;

struct legacy_command {
	unsigned db;
	double now;
	struct qless_str name;
	struct qless_str *args;
	size_t count; /* of the arguments, without the name */
};

/* What it takes to read commands, reused from one to the next. */
struct legacy {
	struct qless_str *words;
	size_t cap;
	struct scratch scratch; /* for the decoders */
	struct command_env env;
};

void legacy_init(struct legacy *l);
void legacy_done(struct legacy *l);

/* Take the first command off the payload of a record, which has one: false if it cannot be read.
 * The result borrows from the payload, and from `l` until the next one is taken. */
bool legacy_take(struct legacy *l, struct qless_str *payload, struct legacy_command *ret_command);

/* Make an operation of a command, whose arguments may be replaced. The state is that in which the
 * command was run. The result borrows from the command, and from `l` until the next one is decoded.
 * Negative, with a sentence in `ret_error`, if there is no such command or database, or the
 * arguments are invalid. */
int legacy_decode(struct legacy *l, struct databases *d, struct legacy_command *command,
		  struct operation *ret_op, struct buf *ret_error);

/* Append one line without time and newline: `db0 pop "mail" "w1" "1"`. Hashes of passwords are left
 * out. */
void legacy_describe(const struct legacy_command *command, struct buf *out);
/* Whether the text is among the arguments. */
bool legacy_mentions(const struct legacy_command *command, struct qless_str text);

#endif
