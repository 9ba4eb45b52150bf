/*
 * The state of a rewrite: a new base that takes the place of the one before and of the log after
 *it.
 *
 *	        the next segment     the base is        the base is
 *	        has begun            being written      on the disk
 *	NONE --> WANTED --> READY --> RUNNING --> SWITCHING --> NONE
 *	                      ^          |
 *	                      +----------+ it cannot be made from the files: a child makes it
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

/* What writes the base. */
enum base_process_kind {
	BASE_PROCESS_NONE,
	BASE_PROCESS_CHILD,    /* a child, from the state in memory */
	BASE_PROCESS_REWRITER, /* the rewriter, from the files */
};

struct base_process {
	enum base_process_kind kind; /* of the one that runs; NONE before and after */
	pid_t pid;		     /* of the child; 0: there is none */
	int fd;			     /* readable when there is news of it; -1: there is none */
	bool is_cancelled;	     /* it was told to end early */
	bool is_over;
	int result;	/* then: 0 or a negative errno; -ECHILD if it was killed */
	uint64_t bytes; /* that it has written so far */
	/* Why the last base that was to be made from the files was not. */
	char rebuild_error[REWRITE_ERROR_MAX];
};

struct rewrite {
	enum rewrite_phase phase;
	struct base_process process;
	bool from_log;	      /* the base is made from the files */
	bool must_fork;	      /* that has failed once */
	bool restarts;	      /* the log had failed: a new segment comes with the base */
	uint64_t number;      /* of the base */
	uint64_t sequence;    /* of the last record in it */
	uint64_t first_log;   /* segments before this one are no longer needed */
	uint64_t ended_bytes; /* of those */
	size_t covered_bytes; /* of the pending records, those that a restart finds in the base */
	int64_t started_us;
	int64_t wall_us;
};

/* ---- rewrite.c ---- */

/* Advance the rewrite, if there is one, as far as possible now. */
void rewrite_step(struct journal *j);
/* The log goes on in a new segment. */
void rewrite_note_rotation(struct journal *j);
/* A switch or a restart has been tried. */
void rewrite_finish_switch(struct journal *j, struct disk_task *task);
/* Without effect while there is none, and while SWITCHING. */
void rewrite_give_up(struct journal *j, int rc);

/* ---- base_process.c ---- */

/* Start what writes the base that `rewrite` describes. Negative if it cannot be started. Without
 * threads the base is written before this returns. */
int base_process_start(struct journal *j);
/* Take in the news of it. */
void base_process_watch(struct journal *j);
/* Tell it to end. It is over some time later. */
void base_process_cancel(struct journal *j);
/* End it, and wait until it is over. No-op if nothing runs. */
void base_process_kill(struct journal *j);
void base_process_note_error(struct journal *j, const char *error);

#endif
