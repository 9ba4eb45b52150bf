#include "engine/run.h"

#include <assert.h>
#include <math.h>

#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/fail.h"
#include "engine/failed_history.h"
#include "engine/fair.h"
#include "engine/history.h"
#include "engine/job.h"
#include "engine/klass.h"
#include "engine/lane.h"
#include "engine/lists.h"
#include "engine/meter.h"
#include "engine/queue.h"
#include "engine/retain.h"
#include "engine/runtime.h"
#include "engine/shelf.h"
#include "engine/unique.h"
#include "engine/worker.h"

/* Seconds that count as much as one unit of priority in the score of a waiting job: 317 years, so
 * that age never outweighs priority. */
#define TIME_PER_PRIORITY 10000000000.0

#define STATE(name) (1u << QLESS_##name)

/* The states that a put leads to, from any state. */
#define PUT_STATES (STATE(WAITING) | STATE(SCHEDULED) | STATE(DEPENDS))

/* The states that may follow each state. A new job counts as waiting. */
static const uint8_t next_states[] = {
	[QLESS_WAITING] = PUT_STATES | STATE(RUNNING),
	[QLESS_RUNNING] =
		PUT_STATES | STATE(RUNNING) | STATE(STALLED) | STATE(FAILED) | STATE(COMPLETE),
	[QLESS_STALLED] = PUT_STATES | STATE(RUNNING),
	[QLESS_SCHEDULED] = PUT_STATES,
	[QLESS_DEPENDS] = PUT_STATES,
	[QLESS_FAILED] = PUT_STATES,
	[QLESS_COMPLETE] = PUT_STATES,
};

/* The list of a queue that has the jobs of each state, unless they are in a lane, too. */
static const uint8_t state_lists[] = { [QLESS_STALLED] = QUEUE_WORK,
#define STATE_LIST(NAME, field, figure, state, ...) [(state)] = QUEUE_##NAME,
				       QUEUE_LIST_ROWS(STATE_LIST)
#undef STATE_LIST
};

/* The meaning of an end of a run for the worker. */
struct end_rule {
	enum deed deed; /* DEED_TOTAL: none */
	bool keeps_holding;
	bool keeps_nameless; /* a worker without a name still holds the job, as in the reference */
};

static const struct end_rule end_rules[RUN_ENDS] = {
	[RUN_COMPLETED] = { DEED_COMPLETED, false, false },
	[RUN_FAILED] = { DEED_FAILED, false, false },
	[RUN_GIVEN_UP] = { DEED_FAILED, false, false },
	[RUN_RETURNED] = { DEED_TOTAL, false, false },
	[RUN_TIMED_OUT] = { DEED_LOST, true, false },
	[RUN_LOST] = { DEED_LOST, false, false },
	[RUN_PUT] = { DEED_LOST, false, true },
	[RUN_REPUT] = { DEED_TOTAL, false, true },
	[RUN_CANCELED] = { DEED_TOTAL, false, true },
};

/* These are called for each job, so shared parts are inlined. */

/* Whether the job is in a lane besides its list. */
static inline bool has_lane(const struct qless_job *job, enum qless_state state)
{
	return __builtin_expect((job->flags & JOB_LIMITED) != 0, 0) &&
	       (state == QLESS_WAITING || state == QLESS_STALLED);
}

/* The list of a job that is in no lane. */
static inline struct skiplist *list_of(const struct qless *q, const struct qless_job *job,
				       enum qless_state state)
{
	if (state == QLESS_FAILED)
		return &((struct group *)job_extra(job)->failure->group->user)->jobs;
	if (state == QLESS_COMPLETE)
		return (struct skiplist *)(uintptr_t)&q->completed;
	return &job->queue->lists[state_lists[state]];
}

struct skiplist *job_list(const struct qless *q, const struct qless_job *job)
{
	return has_lane(job, job->state) ? &job->queue->limited : list_of(q, job, job->state);
}

static inline double work_score(const struct qless_job *job, double time)
{
	return job->priority - time / TIME_PER_PRIORITY;
}

double job_work_score(const struct qless_job *job, double time)
{
	return work_score(job, time);
}

/* Whether the job may be on a shelf, and is in no lane. */
static inline bool may_be_on_shelf(const struct qless_job *job)
{
	return (job->state == QLESS_WAITING || job->state == QLESS_STALLED) &&
	       __builtin_expect(job->queue->shelves != NULL, 0);
}

void job_rescore(struct qless *q, struct qless_job *job, double score)
{
	bool is_filed = has_lane(job, job->state);
	bool is_shelved = !is_filed && may_be_on_shelf(job);

	if (is_filed)
		lane_leave(q, job);
	if (is_shelved)
		shelf_leave(job);
	skiplist_rescore(job_list(q, job), &job->node, score);
	if (is_shelved)
		shelf_enter(job, score);
	if (is_filed)
		lane_enter(q, job);
	else if (job->state == QLESS_RUNNING && (job->flags & JOB_LIMITED))
		slots_hold(q, job, score);
}

double job_usual_score(const struct qless_job *job)
{
	switch ((enum qless_state)job->state) {
	case QLESS_WAITING:
		return work_score(job, job->time);
	case QLESS_STALLED:
		return INFINITY;
	case QLESS_RUNNING:
		return job->expires;
	case QLESS_SCHEDULED:
	case QLESS_DEPENDS:
	case QLESS_FAILED:
	case QLESS_COMPLETE:
		break;
	}
	return job->time;
}

int job_refuse(struct qless *q, enum qless_operation operation, struct qless_str jid,
	       const struct qless_job *job)
{
	if (job == NULL)
		return engine_fail_job(q, operation, QLESS_WHY_NO_JOB, jid, STR(""));
	if (job->state != QLESS_RUNNING)
		return engine_fail_job(q, operation, QLESS_WHY_STATE, jid,
				       qless_state_text(job->state));
	return engine_fail_job(q, operation, QLESS_WHY_WORKER, jid, intern_str(job->worker));
}

/* Not inlined, so that jobs without limits pay one test. */
static __attribute__((noinline, cold)) void leave_lane(struct qless *q, struct qless_job *job)
{
	lane_leave(q, job);
	skiplist_remove(&job->queue->limited, &job->node);
}

static __attribute__((noinline, cold)) void enter_lane(struct qless *q, struct qless_job *job,
						       double score)
{
	skiplist_insert(&job->queue->limited, &job->node, score);
	lane_enter(q, job);
}

static __attribute__((noinline, cold)) void leave_carried(struct qless *q, struct qless_job *job)
{
	if (job->state == QLESS_COMPLETE)
		retain_end(q, job);
}

void job_leave(struct qless *q, struct qless_job *job)
{
	assert(job->node.linked && job->state != QLESS_RUNNING);
	assert((job->queue == NULL) == (job->state == QLESS_COMPLETE));
	if (has_lane(job, job->state)) {
		leave_lane(q, job);
		return;
	}
	if (may_be_on_shelf(job))
		shelf_leave(job);
	skiplist_remove(list_of(q, job, job->state), &job->node);
	if (job->state == QLESS_FAILED) {
		failed_history_remove(q);
		group_release(q, job_extra(job)->failure->group->user);
	}
	if (__builtin_expect((job->flags & JOB_CARRIES) != 0, 0))
		leave_carried(q, job);
}

/* Not inlined, so that most jobs pay one test. */
static __attribute__((noinline, cold)) void end_extra(struct qless *q, struct qless_job *job)
{
	if (job->flags & JOB_LIMITED)
		slots_release(q, job);
	runtime_end(q, job);
}

void job_end_run(struct qless *q, struct qless_job *job, enum run_end end)
{
	const struct end_rule *rule = &end_rules[end];

	assert(end < RUN_ENDS && job->queue != NULL);
	assert(job->state == QLESS_RUNNING && job->node.linked && job->worker != NULL);
	skiplist_remove(&job->queue->locks, &job->node);
	if (rule->deed != DEED_TOTAL)
		worker_count(q, job->worker, q->now, rule->deed, 1);
	if (!rule->keeps_holding && (job->worker->len > 0 || !rule->keeps_nameless))
		worker_drop_job(q, job);
	job->flags &= (uint8_t)~JOB_GRACE;
	if (__builtin_expect(job->flags & (JOB_LIMITED | JOB_CARRIES), 0))
		end_extra(q, job);
	/* Another job may run now. */
	if (!isnan(job->queue->max_concurrency))
		queue_wake(q, job->queue);
}

/* Set the next state of a job that is in no list. */
static inline void set_state(struct qless_job *job, enum qless_state state)
{
	assert(!job->node.linked);
	assert(next_states[job->state] & 1u << state);
	assert((job->queue == NULL) == (state == QLESS_COMPLETE));
	assert(state != QLESS_RUNNING || job->worker != NULL);
	assert(!(job->flags & (JOB_GRACE | JOB_CHOSEN)));
	if (state == QLESS_FAILED || state == QLESS_COMPLETE)
		assert(job->worker == NULL && job->expires == 0);
	job->state = (uint8_t)state;
}

/* Tell the queue about a job that enters one of its lists. */
static inline void tell_queue(struct qless *q, const struct qless_job *job, enum qless_state state,
			      double score)
{
	switch (state) {
	case QLESS_WAITING:
	case QLESS_STALLED:
		queue_wake(q, job->queue);
		if (__builtin_expect(job->queue->shelves != NULL, 0) && !(job->flags & JOB_LIMITED))
			shelf_enter(job, score);
		if (job->queue->fair != NULL && !(job->flags & JOB_LIMITED) &&
		    skiplist_count(&job->queue->work) == job->node.linked)
			fair_enter_plain(job->queue->fair);
		break;
	case QLESS_SCHEDULED:
		/* The reference ignores negative times: what was due before 1970 never is. */
		if (score >= 0)
			queue_falls_due(q, job->queue, score);
		break;
	case QLESS_RUNNING:
		queue_falls_due(q, job->queue, score);
		break;
	case QLESS_DEPENDS:
	case QLESS_FAILED:
	case QLESS_COMPLETE:
		break;
	}
}

/* Tell what the job carries that it has another state. */
static __attribute__((noinline, cold)) void tell_carried(struct qless *q, struct qless_job *job)
{
	unique_follow(q, job);
}

static inline void place_as(struct qless *q, struct qless_job *job, enum qless_state state,
			    double score)
{
	set_state(job, state);
	if (__builtin_expect((job->flags & JOB_CARRIES) != 0, 0))
		tell_carried(q, job);
	if (has_lane(job, state))
		enter_lane(q, job, score);
	else
		skiplist_insert(list_of(q, job, state), &job->node, score);
	tell_queue(q, job, state, score);
}

void job_place_as(struct qless *q, struct qless_job *job, enum qless_state state, double score)
{
	place_as(q, job, state, score);
}

void job_wait_again(struct qless *q, struct qless_job *job)
{
	job_set_worker(q, job, NULL);
	job->expires = 0;
	job_place_as(q, job, QLESS_WAITING, work_score(job, job->time));
}

void job_batch_as(struct qless *q, struct qless_job *job, enum qless_state state, double score)
{
	if (has_lane(job, state)) {
		place_as(q, job, state, score);
		return;
	}
	set_state(job, state);
	if (__builtin_expect((job->flags & JOB_CARRIES) != 0, 0))
		tell_carried(q, job);
	skiplist_batch_add(&q->batch, &job->node, score);
	tell_queue(q, job, state, score);
}

void job_place_batch(struct qless *q, struct queue *queue, enum qless_state state)
{
	assert(state != QLESS_FAILED && state != QLESS_COMPLETE);
	skiplist_insert_batch(&queue->lists[state_lists[state]], &q->batch);
}

enum qless_state job_place(struct qless *q, struct qless_job *job, double now, double delay)
{
	/* Only a job that depends on others remembers when it is due. */
	assert(job_extra(job) == NULL || isnan(job_extra(job)->due));
	if (job_extra(job) != NULL && job_extra(job)->dependencies != NULL) {
		if (delay > 0)
			job_set_due(job, finite_add(now, delay));
		place_as(q, job, QLESS_DEPENDS, now);
	} else if (delay > 0) {
		place_as(q, job, QLESS_SCHEDULED, finite_add(now, delay));
	} else {
		place_as(q, job, QLESS_WAITING, work_score(job, now));
	}
	return job->state;
}

enum qless_state job_place_at(struct qless *q, struct qless_job *job, double now, double due)
{
	bool depends = job_extra(job) != NULL && job_extra(job)->dependencies != NULL;

	if (!(due > now))
		return job_place(q, job, now, 0);
	if (depends)
		job_set_due(job, due);
	place_as(q, job, depends ? QLESS_DEPENDS : QLESS_SCHEDULED, depends ? now : due);
	return job->state;
}

void job_restore(struct qless *q, struct qless_job *job, double score)
{
	assert(!job->node.linked);
	if (job->state == QLESS_FAILED)
		failed_history_add(q, group_need(q, job_extra(job)->failure->group), score);
	skiplist_insert(job_list(q, job), &job->node, score);
	if (has_lane(job, job->state))
		lane_enter(q, job);
	else if (job->state == QLESS_RUNNING && (job->flags & JOB_LIMITED))
		slots_hold(q, job, score);
	if (job->state == QLESS_COMPLETE)
		retain_restore(q, job);
	tell_queue(q, job, job->state, score);
}

void job_join(struct qless *q, struct qless_job *job, struct queue *queue, double when)
{
	assert(!job->node.linked && queue->name->user == queue);
	job_set_queue(q, job, queue);
	history_append_put(q, &job->history, when, queue);
	job_count(q, job, METER_PUT);
}
