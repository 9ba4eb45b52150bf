/*
 * Shared by the parts of recovery: one run through the files of a directory. For recover*.c and
 * rescue.c only.
 *
 *	recover.c		runs the parts in order, and has what they share
 *	recover_choose.c	finds the manifest that leads to the limit
 *	recover_base.c		loads the snapshot
 *	recover_group.c		finds out which entries of a group count
 *	recover_log.c		replays the log segments
 *
 * Functions return 0, or a negative errno with a line in the owner's `ret_error`.
 */
#ifndef JOURNAL_RECOVER_INT_H
#define JOURNAL_RECOVER_INT_H

#include "journal/reader.h"
#include "journal/recover.h"

struct recovery_job {
	struct recovery *r; /* the result */
	const struct journal_io *io;
	const char *dir;
	const struct recovery_limit *limit;
	const struct recovery_target *target;
	struct buf *error;
	struct recovery_progress progress;
	struct buf said; /* the error text of the target */
	/* ---- a group ---- */
	uint64_t *bounds; /* records of the i-th segment from bounds[i] on are replaced */
	uint64_t commit;  /* entries after this one are not applied */
	uint64_t proved;  /* marks or the snapshot say that this one is committed */
	uint64_t marked;  /* the highest commit index in the marks so far */
	uint64_t term;	  /* of the entries that follow in this segment; 0: not known yet */
};

/* ---- recover.c ---- */

/* Write a line to the owner, and return `rc`. */
int recovery_complain(struct recovery_job *job, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Complain about a failure of reader_next(). */
int recovery_fail_reading(struct recovery_job *job, const struct reader *reader, int rc);
int recovery_check_engine(struct recovery_job *job, const struct reader *reader);
/* Returns -ECANCELED if the owner stops the recovery. */
int recovery_tell_progress(struct recovery_job *job, const struct reader *reader,
			   uint64_t done_before);
void recovery_visit(struct recovery_job *job, const struct reader *reader,
		    const struct record *record);
/* Apply the operations of a record. */
int recovery_apply(struct recovery_job *job, const struct reader *reader,
		   const struct record *record);
void recovery_note_time(struct recovery *r, int64_t us);

/* ---- recover_choose.c ---- */

/* Put the manifest that leads to the limit into the result: the current one, or the latest of the
 * kept ones. */
int recovery_choose_manifest(struct recovery_job *job);

/* ---- recover_base.c ---- */

int recovery_load_base(struct recovery_job *job);

/* ---- recover_group.c ---- */

/* Find out which entries of the log of a group count. */
int recovery_survey_group(struct recovery_job *job);

/* ---- recover_log.c ---- */

int recovery_replay_logs(struct recovery_job *job);

#endif
