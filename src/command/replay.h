/*
 * Doing again what a record of the log says: operations, or the commands of older logs.
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
	struct databases *databases; /* whose state commands are decoded in */
	/* Apply one operation. Negative, with a sentence in `ret_error`, if that cannot be done. */
	int (*apply)(void *arg, const struct operation *op, struct buf *ret_error);
	void *arg;
	struct operation_room room;
	struct legacy legacy;
};

/* Borrows the databases. */
void replay_init(struct replay *r, struct databases *databases,
		 int (*apply)(void *arg, const struct operation *op, struct buf *ret_error),
		 void *arg);
void replay_done(struct replay *r);

/* Apply the operations in the payload of a record, one after the other, and add to *ret_count how
 * many they are. Negative, with a sentence in `ret_error`, at the first that cannot be read or
 * applied. */
int replay_operations(struct replay *r, struct qless_str payload, uint64_t *ret_count,
		      struct buf *ret_error);

/* Make operations of the commands in the payload of an older record, and apply them. */
int replay_commands(struct replay *r, struct qless_str payload, uint64_t *ret_count,
		    struct buf *ret_error);

#endif
