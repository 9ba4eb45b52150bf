/*
 * Choosing the manifest that leads to the limit of a recovery.
 */
#include "journal/recover_int.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "journal/kept.h"

/* Get the time when the snapshot of a manifest was made. */
static int read_base_time(struct recovery_job *job, const struct manifest *m, int64_t *ret_us)
{
	struct reader reader;
	int rc = reader_open(&reader, job->io, job->dir, RECORD_FILE_BASE, m->base, job->error);

	if (rc < 0)
		return rc;
	*ret_us = reader.header.created_us;
	reader_close(&reader);
	return 0;
}

/* Returns 1 if a manifest leads to the limit, 0 if its snapshot is later, or an error. */
static int leads_to_limit(struct recovery_job *job, const struct manifest *m)
{
	int64_t base_us;
	int rc;

	if (m->base == 0)
		return 1;
	if (m->base_sequence > job->limit->sequence)
		return 0;
	if (job->limit->wall_us == INT64_MAX)
		return 1;
	rc = read_base_time(job, m, &base_us);
	return rc < 0 ? rc : base_us <= job->limit->wall_us;
}

static int fail_to_reach(struct recovery_job *job, const struct manifest *oldest)
{
	char time[32] = "";
	struct tm tm;
	int64_t us;
	time_t s;
	int rc = read_base_time(job, oldest, &us);

	if (rc < 0)
		return rc;
	s = (time_t)(us / 1000000);
	if (gmtime_r(&s, &tm) != NULL)
		strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &tm);
	return recovery_complain(
		job, -ERANGE,
		"the oldest state that can be recovered from %s is that of sequence "
		"%" PRIu64 ", of %s UTC, in base-%08" PRIu64
		". To go back further, use an older copy of the directory. The directive "
		"log-keep-bases keeps more from now on",
		job->dir, oldest->base_sequence, time, oldest->base);
}

int recovery_choose_manifest(struct recovery_job *job)
{
	struct manifest *chosen = &job->r->manifest, oldest;
	uint64_t newest_base = chosen->base;
	struct kept kept;
	int rc = leads_to_limit(job, chosen);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	manifest_copy(&oldest, chosen);
	rc = kept_list(&kept, job->io, job->dir);
	for (size_t i = kept.count; i > 0 && rc == 0; i--) {
		if (kept.numbers[i - 1] > newest_base)
			continue;
		manifest_done(&oldest);
		rc = kept_read(&oldest, kept.numbers[i - 1], job->io, job->dir, job->error);
		if (rc == 0)
			rc = leads_to_limit(job, &oldest);
	}
	if (rc == 1) {
		manifest_done(chosen);
		manifest_copy(chosen, &oldest);
		rc = 0;
	} else if (rc == 0) {
		rc = fail_to_reach(job, &oldest);
	}
	manifest_done(&oldest);
	kept_done(&kept);
	return rc;
}
