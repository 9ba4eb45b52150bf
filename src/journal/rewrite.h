/*
 * The state of a rewrite: a new snapshot replaces the previous one and the log after it.
 * Identifiers call a snapshot a base, as the name of its file does.
 *
 *	        the next segment     the snapshot is    the snapshot is
 *	        has begun            being written      on the disk
 *	NONE --> WANTED --> READY --> RUNNING --> SWITCHING --> NONE
 *	                      ^          |
 *	                      +----------+ it cannot be made from the files, so a child makes it
 *
 * A rewrite that is given up goes to NONE from every phase but SWITCHING, which cannot be
 * interrupted. A log that has failed goes from WANTED to READY at once.
 */
#ifndef JOURNAL_REWRITE_H
#define JOURNAL_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "journal/disk_task.h"
#include "journal/rebuilder.h"
#include "journal/rewriter.h"

struct journal;

#define REWRITE_ERROR_MAX 256

enum rewrite_phase {
	REWRITE_NONE,
	REWRITE_WANTED,
	REWRITE_READY,
	REWRITE_RUNNING,
	REWRITE_SWITCHING,
};

/* The process that writes the snapshot, or the thread. */
enum base_process_kind {
	BASE_PROCESS_NONE,
	BASE_PROCESS_CHILD,    /* a child, from the state in memory */
	BASE_PROCESS_REWRITER, /* the rewriter, from the files */
	BASE_PROCESS_THREAD,   /* a thread, from the files */
};

struct base_process {
	enum base_process_kind kind; /* NONE before it starts and after it ends */
	pid_t pid;		     /* of the child; 0: there is none */
	struct rebuilder *rebuilder; /* NULL: there is no such thread */
	int fd;			     /* readable when it reports; -1: there is none */
	bool is_cancelled;	     /* it was told to end early */
	bool is_over;
	int result;	/* then: 0 or a negative errno; -ECHILD if it was killed */
	uint64_t bytes; /* that it has written so far */
	/* Why the last attempt to make a snapshot from the files failed. */
	char rebuild_error[REWRITE_ERROR_MAX];
};

struct rewrite {
	enum rewrite_phase phase;
	struct base_process process;
	bool from_log;	      /* the snapshot is made from the files */
	bool must_fork;	      /* that failed once in this rewrite */
	bool restarts;	      /* the log has failed: a new segment comes with the snapshot */
	uint64_t number;      /* of the snapshot */
	uint64_t sequence;    /* of the last record in it */
	uint64_t first_log;   /* segments before this one are no longer needed */
	uint64_t ended_bytes; /* of those */
	size_t covered_bytes; /* a restart: bytes of pending records that the snapshot covers */
	int64_t started_us;
	int64_t wall_us;
};

/* ---- rewrite.c ---- */

/* Advance the rewrite, if there is one, as far as possible now. */
void rewrite_step(struct journal *j);
/* The log goes on in a new segment. */
void rewrite_note_rotation(struct journal *j);
/* A switch or a restart is done, or has failed. */
void rewrite_finish_switch(struct journal *j, struct disk_task *task);
/* Give up the rewrite. No-op if there is none, and in phase SWITCHING. */
void rewrite_give_up(struct journal *j, int rc);

/* ---- base_process.c ---- */

/* Start the process that writes the snapshot described by j->rewrite. Returns 0 or a negative
 * errno. Without threads the snapshot is written before this returns. */
int base_process_start(struct journal *j);
/* Read its reports. */
void base_process_watch(struct journal *j);
/* Tell it to end. base_process_watch() notices when it is over. */
void base_process_cancel(struct journal *j);
/* End it, and wait until it is over. No-op if no process runs. */
void base_process_kill(struct journal *j);
void base_process_note_error(struct journal *j, const char *error);

#endif
