/*
 * Repairs that a child process finds and the server makes, a portion at a time.
 *
 * Each portion is an operation of its own, so it is recorded on its own. The state is as good or
 * better after each of them, so the server may stop after any.
 */
#ifndef COMMAND_REPAIRING_H
#define COMMAND_REPAIRING_H

#include <stdbool.h>

#include "command/request.h"
#include "operation/operation.h"

/* Portions that are left to do. They belong to the output of the child. */
struct repairing {
	struct qless_str left;
	struct operation_room room;
	uint64_t flushes; /* of the database, when the child began */
	uint64_t made;	  /* repairs of all portions */
};

/* In the child: append the portions to the output. Returns false if a list is so damaged that there
 * are none: see qless_find_repairs(). */
bool repairing_find(const struct request *req, struct buf *output);

/* The child begins. */
void repairing_begin(struct repairing *r, const struct request *req);
/* The child has ended. */
void repairing_take(struct repairing *r, struct qless_str portions);
/* Make the repairs of the next portion, of which there is one. Returns false, and has replied, if
 * the server cannot make them now. */
bool repairing_go_on(struct repairing *r, struct request *req);
void repairing_done(struct repairing *r);

#endif
