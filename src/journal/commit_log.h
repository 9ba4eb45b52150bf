/*
 * The commit log: the interface through which the server makes changes durable.
 *
 * The server runs a command, appends a record of it if the command changed something, and flushes
 * once a turn. It holds back every reply and event of the turn until `committed` reaches the record
 * that was `last` at the end of that turn.
 *
 *	commit_log_append(log, operation);		any number of operations
 *	commit_log_flush(log, &turn);			at the end of the turn
 *	if (log->committed >= sequence) ...		send what was made up to `sequence`
 *
 * An implementation decides what "committed" means. For the journal (journal.h) a record is
 * committed when it is as durable as the sync policy demands. For a group of servers it will be
 * when a majority has it.
 *
 * The server reads the fields of struct commit_log, which only the implementation writes. They
 * change in commit_log_append() and commit_log_flush(), in an end of a group or a batch, and when a
 * setting of the implementation changes.
 *
 * Groups and batches decide which operations share a record. They work the same way for every
 * implementation, so they live here:
 *
 * - A group is atomic. After a crash all of its operations have happened, or none.
 * - A batch saves space. Its operations are packed into as few records as possible, because each
 *   record has a header and a checksum.
 *
 * One thread makes all calls.
 */
#ifndef JOURNAL_COMMIT_LOG_H
#define JOURNAL_COMMIT_LOG_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/str.h"

struct commit_log;

enum commit_log_state {
	COMMIT_LOG_HEALTHY,
	COMMIT_LOG_FULL,   /* there is no room for more; nothing that was appended is lost */
	COMMIT_LOG_FAILED, /* records that were appended but not committed may be lost */
};

/* Passed to the log at the end of a turn. */
struct commit_log_turn {
	int64_t mono_us;
	int64_t wall_us;
	/* A single client waits for this flush, and the server has nothing else to do. The
	 * implementation may block if that answers the client sooner. */
	bool is_urgent;
};

/* Provided by an implementation. */
struct commit_log_ops {
	bool (*admit)(struct commit_log *log, size_t bytes);
	/* Append one record, of one operation or of those of a group or a batch, and advance `last`
	 * by one. */
	void (*append)(struct commit_log *log, struct qless_str operations);
	void (*flush)(struct commit_log *log, const struct commit_log_turn *turn);
	bool (*wants_flush)(const struct commit_log *log);
	bool (*snapshot)(struct commit_log *log);
	const char *(*complaint)(const struct commit_log *log);
};

/* The operations that will share the next record. */
struct commit_log_group {
	struct buf operations;
	unsigned depth; /* number of groups that have begun and not ended */
	bool in_batch;
};

struct commit_log {
	const struct commit_log_ops *ops;
	/* Sequence numbers. `committed` never exceeds `last`. It can decrease only if a stricter
	 * sync policy is set. */
	uint64_t last;
	uint64_t committed;
	enum commit_log_state state;
	struct commit_log_group group;
};

/* The part of commit_log_append() for groups and batches. */
void commit_log_append_to_group(struct commit_log *log, struct qless_str operation);

/* For implementations. */
void commit_log_init(struct commit_log *log, const struct commit_log_ops *ops);
void commit_log_done(struct commit_log *log);

/* Returns whether the log accepts a command that changes something, with a record of about `bytes`.
 * Commands that only read run in any case. If the result is false, commit_log_complaint() says
 * why. */
static inline bool commit_log_admit(struct commit_log *log, size_t bytes)
{
	return log->ops->admit(log, bytes);
}

/* Append an operation that changed something, as operation_encode() writes it. In a group or a
 * batch it gets its sequence number when its record is complete. Works in every state: a command
 * that reads may change something because time has passed, and its record waits until the log is
 * healthy. The operation is no longer than RECORD_PAYLOAD_MAX. */
static inline void commit_log_append(struct commit_log *log, struct qless_str operation)
{
	if (log->group.depth > 0 || log->group.in_batch)
		commit_log_append_to_group(log, operation);
	else
		log->ops->append(log, operation);
}

/* Append in place, in a group or a batch: write the bytes of one operation to the end of this
 * buffer, and say so. That spares a copy. */
static inline struct buf *commit_log_begin_operation(struct commit_log *log)
{
	assert(log->group.depth > 0 || log->group.in_batch);
	return &log->group.operations;
}
void commit_log_end_operation(struct commit_log *log);

/* The operations appended between these two calls share one record. Groups nest. They end before
 * the next flush. */
void commit_log_begin_group(struct commit_log *log);
void commit_log_end_group(struct commit_log *log);

/* The operations appended between these two calls share records of up to a few kilobytes. Batches
 * do not nest, and a group may be inside a batch but not around it. */
void commit_log_begin_batch(struct commit_log *log);
void commit_log_end_batch(struct commit_log *log);
/* End the current record of a batch: the operations up to here have their sequence numbers. */
void commit_log_split_batch(struct commit_log *log);

/* Returns whether enough records wait that the server should flush before the turn ends. Cheap. */
static inline bool commit_log_wants_flush(const struct commit_log *log)
{
	return log->ops->wants_flush(log);
}

/* End a turn: write what was appended, start a sync if one is due, and advance all other work of
 * the log. The server calls this after each turn, when the log has woken it, and at least once a
 * second. No group or batch is open. */
void commit_log_flush(struct commit_log *log, const struct commit_log_turn *turn);

/* Ask for a snapshot of the state, after which the records it covers are no longer needed. It is
 * made in the background. Returns false if one is being made already. */
static inline bool commit_log_snapshot(struct commit_log *log)
{
	return log->ops->snapshot(log);
}

/* Why the log is not healthy, such as "No space left on device (writing log-00000004)". Empty if it
 * is healthy. */
static inline const char *commit_log_complaint(const struct commit_log *log)
{
	return log->ops->complaint(log);
}

#endif
