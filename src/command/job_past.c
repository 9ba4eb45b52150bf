#include "command/job_past.h"

#include <math.h>

#include "engine/view.h"

/* Entries of a history above which only its first one is read. By default, a history has 100. */
#define ENTRIES_MAX 200

/* Each run that was lost used up a retry, and so did each run that its worker gave back with RETRY.
 * A put, and a completion, give all retries back. */
static double count_lost_runs(const struct qless_job_info *info)
{
	double lost = info->retries - info->remaining;

	return isfinite(lost) && lost > 0 ? floor(lost) : 0;
}

static void read_entries(const struct qless_job *job, struct job_past *past)
{
	struct qless_event event;
	size_t cursor = 0;

	while (qless_job_next_event(job, &cursor, &event)) {
		past->updated = fmax(past->updated, event.when);
		if (event.kind == QLESS_EVENT_PUT)
			past->attempts = 0;
		else if (event.kind == QLESS_EVENT_POPPED)
			past->attempts += 1;
	}
}

void job_past_read(const struct qless_job *job, const struct qless_job_info *info,
		   struct job_past *ret_past)
{
	struct qless_event event;
	struct view_job view;
	size_t cursor = 0;
	double counted = count_lost_runs(info);

	*ret_past = (struct job_past){ .created = NAN, .updated = info->time };
	if (qless_job_next_event(job, &cursor, &event))
		ret_past->created = event.when;
	if (info->has_failure)
		ret_past->updated = fmax(ret_past->updated, info->failure.when);
	view_job(job, &view);
	if (view.history_count <= ENTRIES_MAX)
		read_entries(job, ret_past);
	/* The history may have lost entries. The run that goes on has used up no retry. */
	if (info->state == QLESS_RUNNING)
		counted += 1;
	ret_past->attempts = fmax(ret_past->attempts, counted);
}
