/*
 * Why a job does not run: its place in the queue, and the limit that keeps it there.
 */
#include <math.h>

#include "engine/depends.h"
#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/runtime.h"
#include "util/container.h"
#include "util/skipmerge.h"

/* The number of waiting jobs that are handed out before the job if no limit is shut. */
static uint64_t find_place(const struct qless_job *job)
{
	struct skipmerge order = { &job->queue->work, &job->queue->limited };

	return skipmerge_count(&order) - 1 - skipmerge_rank(&order, &job->node);
}

static enum qless_held find_cause(const struct named_limit *limit, double opens, double now)
{
	if (limit->rule != NULL && limit->rule->concurrency < 0)
		return QLESS_HELD_CLOSED;
	if (named_limit_is_full(limit) && named_limit_ready(limit) < opens)
		return QLESS_HELD_CONCURRENCY;
	return limit->held_until >= opens && opens > now ? QLESS_HELD_HOLD : QLESS_HELD_RATE;
}

/* Let the answer name the limit if it opens later than the one found before. A full limit may open
 * at any time, and is shut even if the lock of a holder has expired. */
static void consider(const struct named_limit *limit, double now, struct qless_why *why)
{
	double opens = named_limit_opens(limit);
	const struct qless_job *holder;

	if (!(opens > now) && !named_limit_is_full(limit))
		return;
	if (why->held != QLESS_HELD_NOT && opens <= why->opens)
		return;
	why->limit = intern_str(limit->name);
	why->opens = opens;
	why->held = find_cause(limit, opens, now);
	why->holder = why->holder_worker = str_make(NULL, 0);
	if (why->held != QLESS_HELD_CONCURRENCY)
		return;
	holder = container_of(skiplist_first(&limit->slots), const struct slot, node)->job;
	why->holder = job_jid(holder);
	why->holder_worker = intern_str(holder->worker);
}

static void find_limit(const struct qless_job *job, double now, struct qless_why *why)
{
	const struct limit_set *set = job_limits(job);

	for (uint32_t i = 0; set != NULL && i < set->count; i++)
		consider(set->limits[i], now, why);
	if (job->queue->limit != NULL)
		consider(job->queue->limit, now, why);
}

bool qless_why(const struct qless *q, double now, struct qless_str jid, struct qless_why *ret_why)
{
	const struct qless_job *job = job_find(q, jid);
	struct qless_why why = { .held = QLESS_HELD_NOT, .start_by = INFINITY };
	double max;

	if (job == NULL)
		return false;
	why.state = job->state;
	why.dependencies = depends_count(job);
	if (job->state == QLESS_RUNNING)
		runtime_find_start(job, &why.start_by, &why.start_timeout);
	if (job->state == QLESS_SCHEDULED)
		why.due = job->node.score;
	if (job->queue != NULL) {
		max = job->queue->max_concurrency;
		why.is_paused = job->queue->paused;
		why.is_full = max > 0 && (double)queue_count_locks(job->queue, now) >= max;
	}
	if (job->state == QLESS_WAITING || job->state == QLESS_STALLED) {
		why.place = find_place(job);
		find_limit(job, now, &why);
	}
	*ret_why = why;
	return true;
}
