/*
 * A survey of the log of a group, before recovery applies its records: which entries are replaced
 * by a later segment, and which are committed. record.c has the rules.
 */
#include "journal/recover_int.h"

#include <stdlib.h>

#include "util/mem.h"
#include "util/minmax.h"

/* Read the headers. bounds[i] becomes the lowest index that a segment after the i-th begins with.
 */
static int find_bounds(struct recovery_job *job)
{
	const struct manifest *m = &job->r->manifest;
	uint64_t bound = UINT64_MAX;

	job->bounds = mem_realloc_array(NULL, m->log_count, sizeof *job->bounds);
	for (size_t i = m->log_count; i > 0; i--) {
		struct reader reader;
		int rc;

		job->bounds[i - 1] = bound;
		rc = reader_open(&reader, job->io, job->dir, RECORD_FILE_LOG, m->logs[i - 1],
				 job->error);
		if (rc < 0)
			return rc;
		bound = min_u64(bound, reader.header.sequence);
		reader_close(&reader);
	}
	return 0;
}

/* Get the highest commit index in the marks of a segment, up to where it is torn or damaged. */
static int find_commit(struct recovery_job *job, uint64_t number, uint64_t *ret_commit)
{
	struct reader reader;
	struct record record;
	struct record_mark mark;
	int rc = reader_open(&reader, job->io, job->dir, RECORD_FILE_LOG, number, job->error);

	*ret_commit = 0;
	if (rc < 0)
		return rc;
	while (reader_next(&reader, &record) == 1) {
		if (record.type == RECORD_MARK && record_decode_mark(record.payload, &mark) &&
		    mark.has_commit)
			*ret_commit = max_u64(*ret_commit, mark.commit);
	}
	reader_close(&reader);
	return 0;
}

int recovery_survey_group(struct recovery_job *job)
{
	const struct manifest *m = &job->r->manifest;
	uint64_t commit = 0;
	int rc = find_bounds(job);

	/* The commit index never decreases, so the last segment with a mark has the highest one. */
	for (size_t i = m->log_count; i > 0 && rc == 0 && commit == 0; i--)
		rc = find_commit(job, m->logs[i - 1], &commit);
	job->commit = job->proved = max_u64(commit, m->base_sequence);
	if (job->limit->is_committed)
		job->commit = max_u64(job->commit, job->limit->sequence);
	return rc;
}
