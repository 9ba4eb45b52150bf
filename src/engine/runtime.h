/*
 * The runtime of a job: how long one run may take.
 *
 * In a queue with the option <queue>-start-timeout, a run is also over if the worker does not start
 * the job within that time.
 *
 * A hand-out of a job with a runtime decides when its run is over. No lock, and no grace period,
 * lasts longer than that. Then the run counts as a lost one, and the job backs off.
 */
#ifndef ENGINE_RUNTIME_H
#define ENGINE_RUNTIME_H

#include "engine/job.h"

/* Seconds. A run that is over as soon as it begins would be handed out again and again. */
#define RUNTIME_MIN 0.001

struct job_terms;
struct step;

/* Decide when the run of a job is over that was handed out at `now`. Its lock ends no later. Does
 * nothing if neither the job nor its queue has a runtime. */
void runtime_begin(struct qless *q, struct qless_job *job, double now);
/* Forget when the run is over: it has ended. */
void runtime_end(struct qless *q, struct qless_job *job);
/* Note when a run is over, for a snapshot. */
void runtime_restore(struct qless *q, struct qless_job *job, double ends, double allowed,
		     double to_start);
/* Note that the worker has started the job. Its lock, which ended with the time to start, is
 * renewed. */
void runtime_note_start(struct qless *q, struct qless_job *job);
/* Move the ends of runs that are to come after the time `from`. */
void runtime_step(struct qless *q, double from, double by);

/* If the worker must still start the job, tell by when, and how many seconds after the hand-out
 * that is. Otherwise the results are left alone. */
void runtime_find_start(const struct qless_job *job, double *ret_by, double *ret_seconds);

/* When the run of a job is over; INFINITY if there is no limit. */
double runtime_ends(const struct qless_job *job);

/* The earlier of a time and the end of the run. */
static inline double runtime_cap(const struct qless_job *job, double time)
{
	double ends = job->flags & JOB_CARRIES ? runtime_ends(job) : time;

	return ends < time ? ends : time;
}

/* Whether the run of a job is over, but has not ended. */
static inline bool runtime_is_over(const struct qless_job *job, double now)
{
	return (job->flags & JOB_CARRIES) && runtime_ends(job) <= now;
}

/* Record the error that the run of a job is over. */
int runtime_refuse(struct qless *q, enum qless_operation operation, const struct qless_job *job);

/* End the run of a job that is over. Returns whether the job can run again at once; it is in no
 * list then. */
bool runtime_lose(struct qless *q, struct qless_job *job);

/* Whether the member of the heap of running jobs is in order, for qless_check(). */
bool runtime_is_sound(const struct qless *q, const struct qless_job *job);

#endif
