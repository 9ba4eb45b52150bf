/*
 * Records of logs before format 4, which hold commands of clients. qlessd reads them and never
 * writes them.
 *
 * Each command becomes an operation, by the decoder of that queue command and without a reply.
 * legacy.c begins with the layout.
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

/* Memory for reading commands, reused for each. */
struct legacy {
	struct qless_str *words;
	size_t cap;
	struct scratch scratch; /* for the decoders */
	struct command_env env;
};

void legacy_init(struct legacy *l);
void legacy_done(struct legacy *l);

/* Take the first command off the payload of a record. Returns false if there is none, or it cannot
 * be read. The result borrows from the payload, and from `l` until the next command is taken. */
bool legacy_take(struct legacy *l, struct qless_str *payload, struct legacy_command *ret_command);

/* Make an operation of a command; may replace its arguments. The databases have the state in which
 * the command ran. The result borrows from the command, and from `l` until the next command is
 * decoded. Returns a negative code, with a sentence in `ret_error`, if there is no such command or
 * database, or if an argument is invalid. */
int legacy_decode(struct legacy *l, struct databases *d, struct legacy_command *command,
		  struct operation *ret_op, struct buf *ret_error);

/* Append one line without time and newline: `db0 pop "mail" "w1" "1"`. Leaves out the hashes of
 * passwords. */
void legacy_describe(const struct legacy_command *command, struct buf *out);
/* Returns whether the text is one of the arguments. */
bool legacy_mentions(const struct legacy_command *command, struct qless_str text);

#endif
