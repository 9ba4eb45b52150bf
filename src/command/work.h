/*
 * Work: a command that may take long, done in parts.
 *
 * A handler that would stall the loop makes a struct work and calls work_begin() last. The server
 * then does a few parts in each turn, until the work is done. Until then the client runs no other
 * command, and all others go on. Between two parts the state may change, the database may be
 * flushed, and the client may end. So work keeps names and positions, never pointers into the
 * engine, and reads arguments from the request that each part gets.
 *
 * A transaction runs as a whole, so its commands together do only WORK_PARTS_AT_ONCE parts, not
 * counting the first part of each. After that, no work begins.
 *
 * The reply of work is written apart from the output of the client, and becomes a part of it when
 * the work is done. It is limited like every other one.
 */
#ifndef COMMAND_WORK_H
#define COMMAND_WORK_H

#include <stdbool.h>

#include "command/request.h"
#include "resp/reply.h"
#include "util/chain.h"

/* Parts of the work within a transaction. They take a few milliseconds. */
#define WORK_PARTS_AT_ONCE 100

/* Elements of a listing that one part handles at most, and bytes after which it handles no more.
 * Either takes less than a tenth of a millisecond. */
#define WORK_PART_ELEMENTS 128
#define WORK_PART_BYTES	   ((size_t)64 * 1024)

struct work;

struct work_ops {
	/* Does the next part. Returns false once the reply is written. The reply of `req` may be
	 * full; then the work is freed without being done. */
	bool (*go_on)(struct work *work, struct request *req);
	/* Frees the work, done or not. */
	void (*free)(struct work *work);
};

/* The first member of a struct with what the work needs. */
struct work {
	const struct work_ops *ops;
	/* The parts so far have only read the request, and the next one runs the command. So in
	 * later turns the server first decides about admission again. */
	bool needs_admission;
};

/* Does the work, and replies with its reply: now, or over several turns. Takes the work, which is
 * from malloc(). The handler returns after this call. */
void work_begin(struct request *req, struct work *work);

/* ---- for those that do the parts ---- */

/* A reply apart from the output of the client. It must not move in memory. */
struct work_reply {
	struct reply writer;
	struct chain bytes;
};

/* Begins a reply that is limited, muted and spelled as `like` is now. */
void work_reply_begin(struct work_reply *own, const struct reply *like);
/* Appends the reply to `to`, which is full then if the reply is. */
void work_reply_end(struct work_reply *own, struct reply *to);

#endif
