/*
 * Shared by the files of the journal. For this folder only.
 *
 *	append.c	from records to the backlog
 *	write.c		from the backlog to the segment; syncs
 *	zeros.c		zeros ahead of the records
 *	rotate.c	from one segment to the next
 *	task.c		starting the helper, and dispatching its results
 *	turn.c		the end of a turn: the steps and their order
 *	health.c	the states healthy, full and failed
 *	rewrite.c	a new snapshot: its phases
 *	base_process.c	the process that writes it
 *	open.c		the beginning
 *	close.c		the end
 *	group_int.h	the log of a group
 *	journal.c	settings, figures, and the interface of commit_log.h
 */
#ifndef JOURNAL_JOURNAL_INT_H
#define JOURNAL_JOURNAL_INT_H

#include "journal/backlog.h"
#include "journal/disk_task.h"
#include "journal/group_int.h"
#include "journal/helper.h"
#include "journal/journal.h"
#include "journal/lock.h"
#include "journal/manifest.h"
#include "journal/pace.h"
#include "journal/rewrite.h"
#include "journal/rewriter.h"
#include "journal/segment.h"
#include "journal/unsynced.h"
#include "util/container.h"

#define JOURNAL_COMPLAINT_MAX 256
#define SECOND_US	      PACE_SECOND_US

/* A record is larger than the request it comes from by less than this. */
#define JOURNAL_ADMIT_EXTRA_BYTES ((uint64_t)4096)

/* Sequence numbers: synced <= written <= last of the commit log. */
struct positions {
	uint64_t written;
	uint64_t syncing; /* will be synced by the running task */
	uint64_t synced;
};

/* The content of the last mark. */
struct mark_state {
	uint64_t durable;
	int64_t wall_us;
	uint64_t commit; /* of a group */
};

/* All files except the current segment. */
struct files {
	struct manifest manifest;
	uint64_t next_number; /* of the next new segment or snapshot */
	uint64_t ended_bytes; /* size of the segments since the snapshot, without the current one */
	uint64_t base_bytes;
	int64_t base_wall_us; /* when the snapshot was made */
};

struct schedule {
	int64_t mono_us; /* the clocks, at the last flush */
	int64_t wall_us;
	int64_t sync_began_us;
	int64_t sync_took_us;	 /* duration of the last write and sync without zeros */
	int64_t rotate_after_us; /* no rotation before this time */
	int64_t retry_after_us;	 /* no attempt to become healthy before this time */
	bool is_urgent;		 /* this turn: see struct commit_log_turn */
	bool is_ending;		 /* the segment was synced because it is to be ended */
};

struct journal {
	struct commit_log log;
	struct journal_options options;
	const struct journal_io *io;
	struct directory_lock lock;
	uint64_t salt; /* of the current segment, and of those that follow it */
	struct files files;
	struct segment segment;
	struct backlog backlog;
	struct positions positions;
	struct unsynced unsynced;
	struct mark_state mark;
	struct pace pace;
	struct schedule schedule;
	struct helper *helper;
	struct disk_task task; /* the helper has it, unless its kind is DISK_TASK_NONE */
	struct rewrite rewrite;
	struct rewriter *rewriter; /* NULL: there is none */
	struct group_log *group;   /* NULL: the log is not that of a group */
	char complaint[JOURNAL_COMPLAINT_MAX];
	struct journal_info info;
};

static inline struct journal *journal_of(struct commit_log *log)
{
	return container_of(log, struct journal, log);
}

static inline bool journal_is_healthy(const struct journal *j)
{
	return j->log.state == COMMIT_LOG_HEALTHY;
}

static inline bool journal_has_failed(const struct journal *j)
{
	return j->log.state == COMMIT_LOG_FAILED;
}

/* The helper has no task, running or done. */
static inline bool journal_is_idle(const struct journal *j)
{
	return j->task.kind == DISK_TASK_NONE;
}

/* Returns the size of the current segment when all of the backlog will be written. */
static inline uint64_t journal_end(const struct journal *j)
{
	return j->segment.size + backlog_bytes(&j->backlog);
}

/* ---- journal.c ---- */

extern const struct commit_log_ops journal_log_ops;
/* For the log of a group. */
extern const struct commit_log_ops journal_group_ops;

/* Update `committed` of the commit log. */
void journal_publish(struct journal *j);

/* ---- append.c ---- */

bool journal_admit(struct commit_log *log, size_t bytes);
void journal_append(struct commit_log *log, struct qless_str operations);
/* Begin the next write with a mark if that tells something new. */
void append_begin_pending(struct journal *j);
/* Append a mark, to an empty backlog. */
void journal_append_mark(struct journal *j);
/* Whether the records that were synced last need a mark after them. */
bool journal_wants_last_mark(const struct journal *j);

/* ---- health.c ---- */

/* A file call has failed with `rc`. A log that has failed stays so. */
void health_fail(struct journal *j, enum commit_log_state state, int rc, const char *doing);
/* `doing` names the current segment: "writing log-00000004". */
void health_fail_segment(struct journal *j, enum commit_log_state state, int rc, const char *doing);
void health_recover(struct journal *j);
/* Check whether a full disk has space again. */
void health_retry(struct journal *j);

/* ---- write.c ---- */

/* Write the pending records if the log is healthy. The helper must not be writing any. */
void write_pending(struct journal *j);
/* A write to the current segment has failed. */
void write_handle_failure(struct journal *j, int rc);
/* Whether everything in the current segment is synced. */
bool write_is_all_synced(const struct journal *j);
void write_start_sync(struct journal *j);
/* Write a mark after the last records, and sync it. */
void write_last_mark(struct journal *j);
/* A task begins that syncs all records up to `sequence`. */
void write_begin_syncing(struct journal *j, uint64_t sequence);
/* That task has synced them. */
void write_end_syncing(struct journal *j);
/* Returns whether the task has synced. */
bool write_finish_sync(struct journal *j, const struct disk_task *task);

/* ---- zeros.c ---- */

bool zeros_are_due(const struct journal *j);
void zeros_start(struct journal *j);
void zeros_finish(struct journal *j, const struct disk_task *task);
/* Get the range of zeros that a sync should write after records that end at `end`. from == to:
 * none. */
void zeros_plan(const struct journal *j, uint64_t end, uint64_t *ret_from, uint64_t *ret_to);
/* Returns the offset up to which a new segment should have zeros. */
uint64_t zeros_of_new_segment(const struct journal *j);

/* ---- rotate.c ---- */

bool rotate_is_due(const struct journal *j);
/* Begin the next segment, or sync the current one first if it has many unsynced bytes. */
void rotate_start(struct journal *j);
void rotate_finish(struct journal *j, struct disk_task *task);
/* End the segment, and begin one that replaces the records from `from` on. Waits for the disk.
 * Returns 0, or a negative errno if nothing has changed. */
int rotate_replace(struct journal *j, uint64_t from);
/* Returns the description of a new segment whose first record has that sequence number. */
struct disk_create rotate_describe(struct journal *j, uint64_t sequence);

/* ---- task.c ---- */

/* Let the helper run j->task. */
void task_start(struct journal *j);
/* Run j->task in this thread, and handle its result. */
void task_run(struct journal *j);
/* Handle the result of j->task if it is done. */
void task_poll(struct journal *j);
void task_wait(struct journal *j);
/* Use what j->task has made: its manifest becomes current, and its segment, if it has one. */
void task_put_in_force(struct journal *j);

/* ---- turn.c ---- */

void turn_flush(struct commit_log *log, const struct commit_log_turn *turn);
bool turn_wants_flush(const struct commit_log *log);

/* ---- open.c ---- */

void journal_read_clocks(struct journal *j);

#endif
