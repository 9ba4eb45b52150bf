/*
 * The helper thread: it syncs files and replaces the manifest, and touches nothing else.
 *
 * It has one job at a time, which is a list of file calls made in the order of the fields. The
 * owner fills it in, starts it, and must leave it and the descriptors in it alone until
 * helper_take() gives it back.
 */
#ifndef JOURNAL_HELPER_H
#define JOURNAL_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/io.h"
#include "journal/manifest.h"
#include "journal/record.h"

enum job_step {
	JOB_SYNC,
	JOB_CREATE,
	JOB_KEEP,
	JOB_REPLACE,
	JOB_REMOVE,
	JOB_DONE,
};

struct job {
	int sync_fd; /* sync this file; -1: none */
	bool create; /* make a log file with this head, and sync it */
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
	int64_t sync_us; /* how long the first step took */
};

struct helper;

/* `wake` is called from the thread when a job is done; it may be NULL. Without a thread the job is
 * done by the helper_take() that asks for it. Borrows `io` and `dir`. */
struct helper *helper_new(const struct journal_io *io, const char *dir, bool threaded,
			  void (*wake)(void *arg), void *wake_arg);
/* Waits for the job. */
void helper_free(struct helper *h);

/* Nothing is being done. */
bool helper_is_idle(const struct helper *h);
void helper_start(struct helper *h, struct job *job);
/* The job if it is done, or NULL. */
struct job *helper_take(struct helper *h);
/* Wait until it is done. */
void helper_wait(struct helper *h);

#endif
