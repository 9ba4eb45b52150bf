/*
 * What the files of the journal share. For this folder only.
 *
 *	append.c	records into the backlog
 *	write.c		the backlog into the segment, by the loop or by the helper; syncs
 *	zeros.c		zeros ahead of the records
 *	rotate.c	from one segment to the next
 *	task.c		starting the helper, and what follows when it is done
 *	turn.c		what happens at the end of a turn, in which order
 *	health.c	healthy, full, failed
 *	rewrite.c	a new base: phases;  base_process.c  what writes it
 *	open.c close.c	the beginning and the end
 *	journal.c	settings, figures, and the interface of commit_log.h
 */
#ifndef JOURNAL_JOURNAL_INT_H
#define JOURNAL_JOURNAL_INT_H

#include "journal/backlog.h"
#include "journal/disk_task.h"
#include "journal/helper.h"
#include "journal/journal.h"
#include "journal/manifest.h"
#include "journal/pace.h"
#include "journal/rewrite.h"
#include "journal/rewriter.h"
#include "journal/segment.h"
#include "util/container.h"

#define JOURNAL_COMPLAINT_MAX 256
#define SECOND_US	      PACE_SECOND_US

/* A record is larger than the request it comes from by less than this. */
#define JOURNAL_ADMIT_EXTRA_BYTES ((uint64_t)4096)

/* Sequence numbers: synced <= written <= last of the commit log. */
struct positions {
	uint64_t written;
	uint64_t syncing; /* what the task under way makes durable */
	uint64_t synced;
};

/* What the last mark said. */
struct mark_state {
	uint64_t durable;
	int64_t wall_us;
};

/* The files besides the current segment. */
struct files {
	struct manifest manifest;
	uint64_t next_number; /* of a new segment or base */
	uint64_t ended_bytes; /* of the segments since the base, without the current one */
	uint64_t base_bytes;
	int64_t base_wall_us; /* when it was made */
};

struct schedule {
	int64_t mono_us; /* the clocks, at the last flush */
	int64_t wall_us;
	int64_t sync_began_us;
	int64_t sync_took_us;	 /* the last write and sync, if no zeros were written with them */
	int64_t rotate_after_us; /* when rotation may be tried again */
	int64_t retry_after_us;	 /* when it may be tried again to become healthy */
	bool is_urgent;		 /* this turn: see struct commit_log_turn */
	bool is_ending;		 /* the segment was synced because it is to be ended */
};

struct journal {
	struct commit_log log;
	struct journal_options options;
	const struct journal_io *io;
	int lock_fd;
	uint64_t salt; /* of all files */
	struct files files;
	struct segment segment;
	struct backlog backlog;
	struct positions positions;
	struct mark_state mark;
	struct pace pace;
	struct schedule schedule;
	struct helper *helper;
	struct disk_task task; /* the helper has it, unless it is of kind DISK_TASK_NONE */
	struct rewrite rewrite;
	struct rewriter *rewriter; /* NULL: there is none */
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

/* The helper has nothing to do, and nothing of it waits to be taken in. */
static inline bool journal_is_idle(const struct journal *j)
{
	return j->task.kind == DISK_TASK_NONE;
}

/* The size that the current segment will have when all of the backlog is written. */
static inline uint64_t journal_end(const struct journal *j)
{
	return j->segment.size + backlog_bytes(&j->backlog);
}

/* ---- journal.c ---- */

extern const struct commit_log_ops journal_log_ops;

/* Tell the owner how far the log is committed. */
void journal_publish(struct journal *j);

/* ---- append.c ---- */

bool journal_admit(struct commit_log *log, size_t bytes);
void journal_append(struct commit_log *log, struct qless_str operations);
/* Append a mark, to an empty backlog. */
void journal_append_mark(struct journal *j);

/* ---- health.c ---- */

/* A file call has failed with `rc`. A log that has failed stays so. */
void health_fail(struct journal *j, enum commit_log_state state, int rc, const char *doing);
/* `doing` names the current segment: "writing log-00000004". */
void health_fail_segment(struct journal *j, enum commit_log_state state, int rc, const char *doing);
void health_recover(struct journal *j);
/* See whether a full disk has space again. */
void health_retry(struct journal *j);

/* ---- write.c ---- */

/* Write what is pending, unless the log is not healthy. Not while the helper writes. */
void write_pending(struct journal *j);
/* A write to the current segment has failed. */
void write_handle_failure(struct journal *j, int rc);
void write_start_sync(struct journal *j);
/* Returns whether the task got as far as syncing, and that was a success. */
bool write_finish_sync(struct journal *j, const struct disk_task *task);

/* ---- zeros.c ---- */

bool zeros_are_due(const struct journal *j);
void zeros_start(struct journal *j);
void zeros_finish(struct journal *j, const struct disk_task *task);
/* Which zeros a sync should write after records that end at `end`; from == to: none. */
void zeros_plan(const struct journal *j, uint64_t end, uint64_t *ret_from, uint64_t *ret_to);
/* How far a new segment should be filled with them. */
uint64_t zeros_of_new_segment(const struct journal *j);

/* ---- rotate.c ---- */

bool rotate_is_due(const struct journal *j);
/* Begin the next segment, or sync this one first if that takes longer. */
void rotate_start(struct journal *j);
void rotate_finish(struct journal *j, struct disk_task *task);
/* The header of a new segment whose first record has that sequence number. */
struct disk_create rotate_describe(struct journal *j, uint64_t sequence);

/* ---- task.c ---- */

/* Have the helper run j->task. */
void task_start(struct journal *j);
/* Run it now, and do what follows. */
void task_run(struct journal *j);
/* Do what follows if it is done. */
void task_poll(struct journal *j);
void task_wait(struct journal *j);
/* What j->task has made is in force: its manifest, and its segment if it has one. */
void task_put_in_force(struct journal *j);

/* ---- turn.c ---- */

void turn_flush(struct commit_log *log, const struct commit_log_turn *turn);
bool turn_wants_flush(const struct commit_log *log);

/* ---- open.c ---- */

void journal_read_clocks(struct journal *j);

#endif
