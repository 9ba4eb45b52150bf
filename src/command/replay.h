/*
 * Replay of a record of the log: operations, or the commands of older logs.
 */
#ifndef COMMAND_REPLAY_H
#define COMMAND_REPLAY_H

#include <stdint.h>

#include "command/legacy.h"
#include "operation/operation.h"
#include "util/buf.h"
#include "util/str.h"

struct databases;

struct replay {
	struct databases *databases; /* decoders of commands read their state */
	/* Apply one operation. Returns a negative code, with a sentence in `ret_error`, if it
	 * fails. */
	int (*apply)(void *arg, const struct operation *op, struct buf *ret_error);
	/* Not NULL: called for a command that has no meaning in the present state, and replay goes
	 * on. NULL: replay stops there. */
	void (*refused)(void *arg);
	void *arg;
	struct operation_room room;
	struct legacy legacy;
};

/* Borrows the databases. */
void replay_init(struct replay *r, struct databases *databases,
		 int (*apply)(void *arg, const struct operation *op, struct buf *ret_error),
		 void *arg);
void replay_done(struct replay *r);

/* Apply the operations in the payload of a record in order, and add their number to *ret_count.
 * Stops at the first one that cannot be read or applied: returns a negative code, with a sentence
 * in `ret_error`. */
int replay_operations(struct replay *r, struct qless_str payload, uint64_t *ret_count,
		      struct buf *ret_error);

/* Like replay_operations(), for the commands in the payload of an older record. */
int replay_commands(struct replay *r, struct qless_str payload, uint64_t *ret_count,
		    struct buf *ret_error);

#endif
