/*
 * The helper thread: it writes and syncs files and replaces the manifest, and touches nothing else.
 *
 * It has one job at a time, which is a list of file calls made in the order of the fields. The
 * owner fills it in, starts it, and must leave it and the descriptors in it alone until
 * helper_take() gives it back.
 *
 * A sync that follows a change of the size of a file, or of where its bytes are on the disk, takes
 * about twice as long as one of bytes alone, because the file system has to sync its own journal,
 * by a thread of its own, too. So a job may fill a piece of the file with zeros ahead of what will
 * be written there, and that price is paid once for many syncs.
 *
 * A write is cheaper as well where there is something already: the system need not look for memory
 * and clear it, nor for a place on the disk. Who writes by himself pays the half for it, or less,
 * and the helper the rest, on another processor.
 */
#ifndef JOURNAL_HELPER_H
#define JOURNAL_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/io.h"
#include "journal/manifest.h"
#include "journal/record.h"
#include "util/str.h"

enum job_step {
	JOB_WRITE,
	JOB_SYNC,
	JOB_CREATE,
	JOB_KEEP,
	JOB_REPLACE,
	JOB_REMOVE,
	JOB_DONE,
};

struct job {
	int fd;			/* of the file to be written to and synced; -1: none */
	struct qless_str bytes; /* written to it, and where */
	uint64_t offset;
	uint64_t zero_from, zero_to; /* filled with zeros, as far as there is room */
	bool no_sync;		     /* it is written to and no more */
	bool cut;		     /* the file ends at `offset` */
	bool create;		     /* make a log file with this head, and sync it */
	uint64_t create_bytes;	     /* zeros behind the head up to there */
	struct record_file_header header;
	bool replace; /* put this manifest in force */
	struct manifest manifest;
	/* The manifest that this one takes the place of: remove its files that are not in this one,
	 * unless it is one of the last so many, which are kept. */
	const struct manifest *obsolete;
	unsigned keep_bases;

	/* What came of it. */
	enum job_step reached; /* the step that failed, or JOB_DONE */
	int rc;
	bool unclear; /* which manifest is in force cannot be said */
	int created_fd;
	uint64_t zeroed;  /* the zeros go up to there */
	int64_t write_us; /* how long the first two steps took */
	int64_t sync_us;
};

struct helper;

/* `wake` is called from the thread when a job is done; it may be NULL. Without a thread the job is
 * done by the helper_take() that asks for it. Borrows `io` and `dir`. */
struct helper *helper_new(const struct journal_io *io, const char *dir, bool threaded,
			  void (*wake)(void *arg), void *wake_arg);
/* Waits for the job. */
void helper_free(struct helper *h);

/* Nothing is being done, though a job that is done may wait to be taken. Cheap. */
bool helper_is_idle(const struct helper *h);
void helper_start(struct helper *h, struct job *job);
/* Do it in the thread of the caller, instead. No job is under way, nor waits to be
 * taken. */
void helper_run(struct helper *h, struct job *job);
/* The job if it is done, or NULL. */
struct job *helper_take(struct helper *h);
/* Wait until it is done. */
void helper_wait(struct helper *h);

#endif
