/*
 * The state that the log keeps, except users: the databases with their endpoints, and the scripts.
 *
 * The server has one such state. A process that makes a snapshot from the log has another, and so
 * has qlessd-check when it recovers a log.
 */
#ifndef STORED_STORED_H
#define STORED_STORED_H

#include "command/databases.h"
#include "command/replay.h"
#include "command/scripts.h"
#include "journal/base.h"
#include "journal/rebuild.h"
#include "journal/record.h"
#include "operation/operation.h"

struct stored {
	struct databases *databases;
	struct scripts *scripts;
};

/* Returns the operation that records a loaded script. Borrows the script. */
struct operation stored_describe_script(const struct script *script);

/* Returns the engine of a database, or NULL if `db` is too large. */
struct qless *stored_engine(const struct stored *stored, unsigned db);

/* Apply an operation that is not about users. Returns a negative value, with a sentence in
 * `ret_error`, if that is impossible. */
int stored_apply(const struct stored *stored, const struct operation *op, struct buf *ret_error);

/* Replay a record, for struct recovery_target. */
int stored_replay(struct replay *replay, const struct record *record, uint64_t *ret_count,
		  struct buf *ret_error);

/* Add the whole state to a snapshot. */
void stored_save(const struct stored *stored, struct base_writer *w);

/* How to make a snapshot from the log, with that number of databases. Borrows the number. Records
 * of users are skipped: only the server knows the users of the configuration. */
struct rebuild_options stored_rebuild(int *databases);
/* Does so in a thread of a process that goes on: all memory is freed in the end. */
struct rebuild_options stored_rebuild_in_thread(int *databases);

#endif
