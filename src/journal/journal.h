/*
 * The journal: an append-only log in files, which makes acknowledged changes survive. It implements
 * the interface of commit_log.h.
 *
 * A record is committed when it is as durable as the sync policy demands: synced for
 * JOURNAL_SYNC_ALWAYS, written otherwise. A helper thread syncs, so only replies wait for the disk.
 *
 *	             a write or a sync fails
 *	 HEALTHY -----------------------------> FAILED
 *	 |  ^     a new snapshot is in force      |  ^
 *	 |  +-------------------------------------+  |
 *	 |  ^         there is room again            | a write or a sync fails
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
#include "journal/rebuild.h"
#include "journal/record.h"
#include "journal/recover.h"
#include "util/buf.h"

struct journal;

enum journal_sync {
	JOURNAL_SYNC_ALWAYS,   /* a reply waits until the disk has it */
	JOURNAL_SYNC_EVERYSEC, /* a crash of the machine loses a second or two */
	JOURNAL_SYNC_NO,       /* when the system likes */
};

struct journal_options {
	const char *dir;
	const struct journal_io *io; /* NULL: the system's */
	enum journal_sync sync;
	uint64_t segment_bytes; /* a log file is ended when it is this long */
	uint64_t rewrite_bytes_per_second;
	unsigned keep_bases; /* how many are kept after they were replaced: see kept.h */
	/* Without them everything is done by the calls themselves, and tests can stop anywhere. */
	bool threads;
	/* Called from the helper thread when commit_log_flush() has something to notice. */
	void (*wake)(void *arg);
	/* Write all databases, and operations for what else there is, with the calls of base.h. In
	 * a process of its own; the state is as it was at the end of the turn. */
	void (*save)(void *arg, struct base_writer *w);
	/* How a base is made from the files; NULL: always by a fork. With it come the next three:
	 * how much memory the state takes, from how much on it is not forked, and operations
	 * for what the server knows better than its files, which may be NULL. */
	const struct rebuild_options *rebuild;
	uint64_t (*state_bytes)(void *arg);
	uint64_t fork_max_bytes;
	void (*save_extra)(void *arg, struct buf *out);
	void *arg; /* of all of them */
};

/* Copies the options; `dir`, `io` and `rebuild` are borrowed. Takes the lock of the directory,
 * which must exist. With threads and `rebuild` a process is forked off, so there should be no
 * thread and little memory yet. NULL with a line in `ret_error` if it fails. */
struct journal *journal_open(const struct journal_options *options, struct buf *ret_error);

/* Load the state, cut off a torn end, and be ready to append. An empty directory gets a first log
 * file. On failure a line is in `ret_error`; the codes are those of recovery_run(). `ret_recovery`
 * is to be passed to recovery_done() in any case. */
int journal_recover(struct journal *j, const struct recovery_target *target,
		    struct recovery *ret_recovery, struct buf *ret_error);

/* Begin the log of an empty directory with the state as it is, which came from elsewhere; records
 * go on behind `sequence`. */
int journal_create(struct journal *j, uint64_t sequence, struct buf *ret_error);

/* Write and sync what there is, and end the log so that any later damage of it will be noticed. If
 * that fails a line is in `ret_error`, unless NULL. A rewrite under way is given up. NULL is a
 * no-op. */
void journal_close(struct journal *j, struct buf *ret_error);

/* The log that the server appends to. It belongs to the journal. */
struct commit_log *journal_log(struct journal *j);

/* ---- settings ---- */

void journal_set_sync(struct journal *j, enum journal_sync sync);
void journal_set_segment_bytes(struct journal *j, uint64_t bytes);
void journal_set_keep_bases(struct journal *j, unsigned count);
void journal_set_rewrite_rate(struct journal *j, uint64_t bytes_per_second);
void journal_set_fork_max(struct journal *j, uint64_t bytes);

/* ---- rewriting ---- */

/* Ask for a new base. False if one is being made. It begins with one of the next flushes. */
bool journal_rewrite(struct journal *j);
bool journal_is_rewriting(const struct journal *j);
/* Give up the base that is being made, unless it is being put in force. */
void journal_give_up_rewrite(struct journal *j);
/* Why the last base that was to be made from the files was not. */
const char *journal_rebuild_error(const struct journal *j);
/* Readable when the process that writes the base has something to tell; -1 while there is none.
 * Then commit_log_flush() is to be called. */
int journal_rewrite_fd(const struct journal *j);
/* Whether the log has grown so much that a rewrite is worth it. */
bool journal_is_overgrown(const struct journal *j, unsigned percentage, uint64_t min_bytes);
/* Wait until everything is written and the rewrite, if there is one, is over. */
void journal_wait(struct journal *j);

struct journal_info {
	uint64_t last_sequence;
	uint64_t durable_sequence;
	uint64_t base_bytes;
	uint64_t log_bytes;	/* since the base */
	uint64_t pending_bytes; /* appended and not yet written */
	uint64_t segments;
	uint64_t syncs;
	uint64_t sync_us_last, sync_us_max;
	uint64_t failures; /* how often it ceased to be well */
	bool rewriting;
	uint64_t rewrite_bytes; /* what the process has written so far */
	uint64_t rewrites;	/* successful ones */
	uint64_t rewrite_failures;
	uint64_t rebuilds;	   /* of the successful ones, those from the files */
	uint64_t rebuild_failures; /* after which the process has forked */
	bool last_is_rebuilt;	   /* the last rewrite was from the files */
	int last_rewrite_rc;	   /* 0 or a negative errno; -ECHILD: its process was killed */
	int64_t last_rewrite_us;   /* how long it took */
	int64_t last_base_wall_us; /* when the base in force was made; 0: there is none */
	uint64_t forks;
	int64_t fork_us; /* how long the last fork took */
};

void journal_get_info(const struct journal *j, struct journal_info *ret_info);

#endif
