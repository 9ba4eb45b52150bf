/*
 * Recovery from beginning to end, and the functions that its parts share.
 */
#include "journal/recover_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/state.h"

/* Largest size of an error text of the target, in bytes. */
#define SAID_MAX ((size_t)64 * 1024)

int recovery_complain(struct recovery_job *job, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(job->error, format, args);
	va_end(args);
	return rc;
}

int recovery_tell_progress(struct recovery_job *job, const struct reader *reader,
			   uint64_t done_before)
{
	job->progress.bytes_done = done_before + reader->offset;
	job->progress.records = job->r->records;
	job->progress.sequence = job->r->last_sequence;
	if (job->target->progress == NULL ||
	    job->target->progress(job->target->arg, &job->progress))
		return 0;
	return recovery_complain(job, -ECANCELED, "the recovery was stopped");
}

void recovery_visit(struct recovery_job *job, const struct reader *reader,
		    const struct record *record)
{
	if (job->target->visit != NULL)
		job->target->visit(job->target->arg, reader->path, reader->offset, record);
	job->r->records++;
}

int recovery_fail_reading(struct recovery_job *job, const struct reader *reader, int rc)
{
	if (rc == -EPROTO)
		return recovery_complain(
			job, -EBADMSG,
			"%s has a record at offset %" PRIu64
			" of a type that is unknown to this program: use a newer one",
			reader->path, reader->offset);
	return recovery_complain(job, rc, "cannot read %s at offset %" PRIu64 ": %s", reader->path,
				 reader->offset, strerror(-rc));
}

int recovery_apply(struct recovery_job *job, const struct reader *reader,
		   const struct record *record)
{
	const struct recovery_target *target = job->target;

	if (target->apply == NULL)
		return 0;
	buf_clear(&job->said);
	if (target->apply(target->arg, record, &job->r->operations, &job->said) == 0)
		return 0;
	return recovery_complain(job, -EBADMSG,
				 "%s has a record at offset %" PRIu64 ", sequence %" PRIu64
				 ", that cannot be applied: %s",
				 reader->path, reader->offset, record->sequence,
				 buf_cstr(&job->said));
}

void recovery_note_time(struct recovery *r, int64_t us)
{
	if (r->first_us == 0)
		r->first_us = us;
	if (us > r->last_us)
		r->last_us = us;
}

int recovery_check_engine(struct recovery_job *job, const struct reader *reader)
{
	if (reader->header.engine != 0 && reader->header.engine <= STATE_VERSION)
		return 0;
	return recovery_complain(
		job, -EBADMSG, "%s has engine version %" PRIu32 ", but this program knows 1 to %d",
		reader->path, reader->header.engine, STATE_VERSION);
}

static void sum_sizes(struct recovery_job *job)
{
	const struct manifest *m = &job->r->manifest;
	char path[JOURNAL_PATH_MAX];

	for (size_t i = 0; i <= m->log_count; i++) {
		uint64_t size = 0;
		int fd;

		if (i < m->log_count)
			journal_log_path(path, job->dir, m->logs[i]);
		else if (m->base != 0)
			journal_base_path(path, job->dir, m->base);
		else
			break;
		fd = job->io->open(job->io->arg, path, 0);
		if (fd < 0)
			continue;
		if (job->io->size(job->io->arg, fd, &size) == 0)
			job->progress.bytes_total += size;
		job->io->close(job->io->arg, fd);
	}
}

static int run(struct recovery_job *job)
{
	int rc;

	buf_init(&job->said, SAID_MAX);
	sum_sizes(job);
	rc = job->r->manifest.has_group ? recovery_survey_group(job) : 0;
	if (rc == 0)
		rc = recovery_load_base(job);
	if (rc == 0)
		rc = recovery_replay_logs(job);
	free(job->bounds);
	buf_done(&job->said);
	return rc;
}

int recovery_run(struct recovery *r, const struct journal_io *io, const char *dir,
		 const struct recovery_limit *limit, const struct recovery_target *target,
		 struct buf *ret_error)
{
	struct recovery_job job = {
		.r = r, .io = io, .dir = dir, .limit = limit, .target = target, .error = ret_error
	};
	int rc;

	*r = (struct recovery){ .orphans = BUF_INIT(BUF_NO_MAX) };
	rc = manifest_read(&r->manifest, io, dir, ret_error);
	if (rc == -EBADMSG)
		buf_printf(ret_error,
			   ". To make a new one from the other files run: qlessd-check --fix %s",
			   dir);
	if (rc == 0)
		rc = recovery_choose_manifest(&job);
	if (rc == 0)
		rc = run(&job);
	/* A rewrite removes the files of the manifest before it. */
	if (rc == -ENOENT && r->manifest.log_count != 0)
		buf_printf(ret_error,
			   ". The manifest names this file. If the manifest is an old one, make a "
			   "new one from the other files: qlessd-check --fix %s",
			   dir);
	return rc;
}

int recovery_run_manifest(struct recovery *r, const struct journal_io *io, const char *dir,
			  const struct manifest *manifest, const struct recovery_target *target,
			  struct buf *ret_error)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct recovery_job job = {
		.r = r, .io = io, .dir = dir, .limit = &all, .target = target, .error = ret_error
	};

	*r = (struct recovery){ .orphans = BUF_INIT(BUF_NO_MAX) };
	manifest_copy(&r->manifest, manifest);
	return run(&job);
}

void recovery_done(struct recovery *r)
{
	manifest_done(&r->manifest);
	buf_done(&r->orphans);
}
