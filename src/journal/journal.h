/*
 * The journal: an append-only log in files, which makes acknowledged changes survive. It implements
 * the interface of commit_log.h.
 *
 * A record is committed when it is as durable as the sync policy demands: synced for
 * JOURNAL_SYNC_ALWAYS, written otherwise. A helper thread syncs, so only replies wait for the disk.
 *
 *	             a write or a sync fails
 *	 HEALTHY -----------------------------> FAILED
 *	 *	 |  ^      a new snapshot is current      |  ^
 *	 |  +-------------------------------------+  |
 *	 *	 |  ^       the disk has space again         | a write or a sync fails
 *	 |  +-------------------------------------+  |
 *	 |            the disk is full            |  |
 *	 +--------------------------------------> FULL
 *
 * FAILED: it is unknown which part of the log is on the disk, so only a new snapshot makes the log
 * healthy again. FULL: nothing is lost, and what could not be written waits.
 *
 * In both states commit_log_admit() refuses commands that change something, and reads go on. A read
 * may change something because time has passed. Its record is appended as usual and written when
 * the log is healthy again.
 *
 * One thread calls everything here. Times are passed in: monotonic and wall-clock, in microseconds.
 */
#ifndef JOURNAL_JOURNAL_H
#define JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal/base.h"
#include "journal/commit_log.h"
#include "journal/io.h"
#include "journal/journal_group.h"
#include "journal/rebuild.h"
#include "journal/record.h"
#include "journal/recover.h"
#include "util/buf.h"

struct journal;

enum journal_sync {
	JOURNAL_SYNC_ALWAYS,   /* replies wait for a sync */
	JOURNAL_SYNC_EVERYSEC, /* a crash of the machine loses up to two seconds */
	JOURNAL_SYNC_NO,       /* the system decides */
};

struct journal_options {
	const char *dir;
	const struct journal_io *io; /* NULL: the system's */
	enum journal_sync sync;
	uint64_t segment_bytes; /* size at which a segment is ended */
	uint64_t rewrite_bytes_per_second;
	unsigned keep_bases; /* number of replaced snapshots to keep: see kept.h */
	/* Without threads and processes the calls do everything, so tests can stop anywhere. */
	bool threads;
	/* The log is a part of a program that must not be forked: a thread makes snapshots from the
	 * files (rebuilder.h), or the calls make them from the state in memory. */
	bool no_processes;
	/* The helper thread calls this when the owner should call commit_log_flush(). */
	void (*wake)(void *arg);
	/* Write all databases, and operations for everything else, with the calls of base.h. A
	 * rewrite runs it in a child, which has the state as of the end of a turn. */
	void (*save)(void *arg, struct base_writer *w);
	/* How to make a snapshot from the files. NULL: a child makes every snapshot, and the next
	 * three options do not count. */
	const struct rebuild_options *rebuild;
	uint64_t (*state_bytes)(void *arg); /* memory that the state takes */
	/* The other nodes of a group are lost for good: journal_recover() applies all entries, and
	 * goes on without a vote. Then comes journal_rescue_group(). */
	bool rescue;
	uint64_t cache_bytes;	 /* memory for the last entries of a group; 0: 64 MB */
	uint64_t fork_max_bytes; /* with less than this, a child makes the snapshot */
	/* Write operations that the server knows and its files may not have. May be NULL. */
	void (*save_extra)(void *arg, struct buf *out);
	void *arg; /* first argument of all callbacks */
};

/* Open the journal of a directory, which exists, and lock it. Copies the options, and borrows
 * `dir`, `io` and `rebuild`. With `threads` and `rebuild`, and without `no_processes`, it forks the
 * rewriter, so the process should have one thread and little memory. Returns NULL with a line in
 * `ret_error` on failure. */
struct journal *journal_open(const struct journal_options *options, struct buf *ret_error);

/* Load the state, cut off a torn end, and prepare for appending. An empty directory gets a first
 * segment. On failure `ret_error` gets a line, and the result is one of recovery_run(). The caller
 * passes `ret_recovery` to recovery_done() in either case. */
int journal_recover(struct journal *j, const struct recovery_target *target,
		    struct recovery *ret_recovery, struct buf *ret_error);

/* Create a log in an empty directory, with the present state of the owner as its snapshot. The
 * first record gets the number after `sequence`. */
int journal_create(struct journal *j, uint64_t sequence, struct buf *ret_error);

/* Write and sync all records, append a last mark, and free the journal. Gives up a rewrite. On
 * failure `ret_error` gets a line, unless it is NULL. A NULL journal is a no-op. */
void journal_close(struct journal *j, struct buf *ret_error);

/* In a child of the process that opened the journal: close the copies of the lock and of the
 * current segment, without writing anything. Other calls are not allowed after this. */
void journal_abandon(struct journal *j);

/* Returns the commit log, to which the server appends. It belongs to the journal. */
struct commit_log *journal_log(struct journal *j);

/* Returns when the oldest record that is not synced was appended, by the monotonic clock. INT64_MAX
 * if all records are synced. Cheap. */
int64_t journal_unsynced_since_us(const struct journal *j);

/* ---- settings ---- */

void journal_set_sync(struct journal *j, enum journal_sync sync);
void journal_set_segment_bytes(struct journal *j, uint64_t bytes);
void journal_set_keep_bases(struct journal *j, unsigned count);
void journal_set_rewrite_rate(struct journal *j, uint64_t bytes_per_second);
void journal_set_fork_max(struct journal *j, uint64_t bytes);

/* ---- rewriting ---- */

/* Ask for a new snapshot, which begins with one of the next flushes. Returns false if one is being
 * made. */
bool journal_rewrite(struct journal *j);
bool journal_is_rewriting(const struct journal *j);
/* Give up the snapshot that is being made, unless it is already becoming current. */
void journal_give_up_rewrite(struct journal *j);
/* Returns why the last attempt to make a snapshot from the files failed. Empty if there was none.
 */
const char *journal_rebuild_error(const struct journal *j);
/* Returns a file descriptor that is readable when the process that writes the snapshot reports.
 * Then the owner calls commit_log_flush(). -1 while there is no such process. */
int journal_rewrite_fd(const struct journal *j);
/* Returns whether the log has at least `min_bytes` and `percentage` percent of the size of its
 * snapshot. 0 percent: never. */
bool journal_is_overgrown(const struct journal *j, unsigned percentage, uint64_t min_bytes);
/* Wait until all records are written and the rewrite, if there is one, is over. */
void journal_wait(struct journal *j);

struct journal_info {
	uint64_t last_sequence;
	uint64_t durable_sequence; /* of the last record that is synced */
	uint64_t base_bytes;
	uint64_t log_bytes;	/* since the snapshot */
	uint64_t pending_bytes; /* appended and not yet written */
	uint64_t segments;
	uint64_t syncs;
	uint64_t sync_us_last, sync_us_max;
	uint64_t failures; /* number of times that the log was no longer healthy */
	bool rewriting;
	uint64_t rewrite_bytes; /* written so far by the process */
	uint64_t rewrites;	/* successful ones */
	uint64_t rewrite_failures;
	uint64_t rebuilds;	   /* successful rewrites from the files */
	uint64_t rebuild_failures; /* failed ones, after which a child was forked */
	bool last_is_rebuilt;	   /* the last rewrite was from the files */
	int last_rewrite_rc;	   /* 0 or a negative errno; -ECHILD: its process was killed */
	int64_t last_rewrite_us;   /* duration of the last rewrite */
	int64_t last_base_wall_us; /* when the current snapshot was made; 0: there is none */
	uint64_t forks;
	int64_t fork_us; /* duration of the last fork */
};

void journal_get_info(const struct journal *j, struct journal_info *ret_info);

#endif
