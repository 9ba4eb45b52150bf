/*
 * Loading snapshots: jobs, their histories and their optional members.
 */
#include <assert.h>
#include <math.h>

#include "engine/account.h"
#include "engine/carried.h"
#include "engine/engine_int.h"
#include "engine/history.h"
#include "engine/job.h"
#include "engine/queue.h"
#include "engine/run.h"
#include "engine/retain.h"
#include "engine/runtime.h"
#include "engine/state_load.h"
#include "engine/tag.h"
#include "engine/terms.h"
#include "engine/vec.h"
#include "util/mem.h"

static void load_log_event(struct state_loader *l, struct history *h, double when)
{
	struct qless_str what = state_read_kept_text(l, QLESS_MAX_TEXT_BYTES);
	bool has_item = state_read_byte(l) != 0;
	struct qless_str item = has_item ? state_read_text(l, QLESS_MAX_TEXT_BYTES) : STR("");

	if (!history_has_room(h, what, has_item ? &item : NULL))
		state_read_fail(l, "a history is too long");
	if (!l->failed)
		history_append_log(l->q, h, when, what, has_item ? &item : NULL);
}

static void load_failed_event(struct state_loader *l, struct history *h, double when,
			      bool exhausted)
{
	struct intern *group = state_read_name(l, STATE_GROUP);
	struct intern *worker = exhausted ? NULL : state_read_name(l, STATE_WORKER);

	if (!l->failed)
		history_append_failed(l->q, h, when, group, worker);
}

static void load_event(struct state_loader *l, struct history *h)
{
	unsigned kind = state_read_byte(l);
	double when = state_read_time(l);
	struct queue queue;
	struct intern *worker;

	if (l->failed)
		return;
	switch (kind) {
	case QLESS_EVENT_PUT:
		/* Only its name is used. The queue itself may be gone. */
		queue.name = state_read_name(l, STATE_QUEUE);
		if (!l->failed)
			history_append_put(l->q, h, when, &queue);
		break;
	case QLESS_EVENT_POPPED:
		worker = state_read_name(l, STATE_WORKER);
		if (!l->failed)
			history_append_popped(l->q, h, when, worker);
		break;
	case QLESS_EVENT_DONE:
	case QLESS_EVENT_TIMED_OUT:
		history_append_plain(l->q, h, when, kind);
		break;
	case QLESS_EVENT_FAILED:
	case QLESS_EVENT_EXHAUSTED:
		load_failed_event(l, h, when, kind == QLESS_EVENT_EXHAUSTED);
		break;
	case QLESS_EVENT_LOG:
		load_log_event(l, h, when);
		break;
	default:
		state_read_fail(l, "an event is of no known kind");
	}
}

static void load_history(struct state_loader *l, struct history *h)
{
	uint64_t count = state_read_varint(l);

	if (count == 0)
		state_read_fail(l, "a job has no history");
	for (uint64_t i = 0; i < count && !l->failed; i++)
		load_event(l, h);
}

void state_load_tag_list(struct state_loader *l, bool with_times)
{
	uint64_t count = state_read_varint(l);

	str_vec_clear(&l->tags);
	for (uint64_t i = 0; i < count && !l->failed; i++) {
		struct intern *name = state_read_name(l, STATE_TAG);
		double time = with_times ? state_read_time(l) : 0;

		if (l->failed)
			return;
		str_vec_push(&l->tags, intern_str(name));
		if (l->tag_cap < l->tags.cap) {
			l->tag_cap = l->tags.cap;
			l->tag_times = mem_realloc_array(l->tag_times, l->tag_cap, sizeof(double));
		}
		l->tag_times[i] = time;
	}
}

static void load_tags(struct state_loader *l, struct qless_job *job)
{
	struct tag_list *tags;

	state_load_tag_list(l, true);
	if (l->failed)
		return;
	if (l->tags.count == 0) {
		state_read_fail(l, "a list of tags is empty");
		return;
	}
	job_set_tags(l->q, job, l->tags.items, l->tags.count, l->tag_times[0]);
	tags = job_extra(job)->tags;
	for (uint32_t i = 0; i < tags->count; i++) {
		if (tags->items[i]->node.score != l->tag_times[i])
			skiplist_rescore(&tags->items[i]->tag->jobs, &tags->items[i]->node,
					 l->tag_times[i]);
	}
}

static void load_failure(struct state_loader *l, struct qless_job *job)
{
	struct intern *group = state_read_name(l, STATE_GROUP);
	struct qless_str message = state_read_kept_text(l, QLESS_MAX_TEXT_BYTES);
	double when = state_read_time(l);
	struct intern *worker = state_read_byte(l) != 0 ? state_read_name(l, STATE_WORKER) : NULL;

	if (!l->failed)
		job_set_failure(l->q, job, group, message, when, worker);
}

static void load_limits_of(struct state_loader *l, struct qless_job *job)
{
	struct limit_set *set = state_load_set(l);

	if (set == NULL)
		state_read_fail(l, "a job names limits but has none");
	else
		job_use_limits(l->q, job, limit_set_ref(set));
}

static void load_terms_of(struct state_loader *l, struct qless_job *job)
{
	struct qless_terms terms;

	if (terms_load(l, &terms)) {
		terms_apply(l->q, job, &terms);
		terms_apply_data(l->q, job, &terms);
	}
	if (!l->failed && terms.has_unique && !unique_restore(job, &terms.unique))
		state_read_fail(l, "a unique key is held by a job that cannot hold it");
	if (!l->failed && job_terms(job) == NULL && !terms.has_unique)
		state_read_fail(l, "a job has terms without any in them");
}

static void load_run(struct state_loader *l, struct qless_job *job)
{
	double ends = state_read_time(l);
	double allowed = state_read_number(l);
	double to_start = state_read_number(l);
	bool is_limited = allowed >= 0 && to_start >= 0 && (allowed > 0 || to_start > 0);

	if (job->state != QLESS_RUNNING || !is_limited || !(job->expires <= ends))
		state_read_fail(l, "the end of a run is out of range");
	if (!l->failed)
		runtime_restore(l->q, job, ends, allowed, to_start);
}

static void load_retained(struct state_loader *l, struct qless_job *job)
{
	double seconds = retain_load(l);

	if (!l->failed && (job->state != QLESS_COMPLETE || seconds <= 0))
		state_read_fail(l, "a job is retained that is not complete, or has no time left");
	if (!l->failed)
		retain_prepare(l->q, job, seconds);
}

static void load_extra(struct state_loader *l, struct qless_job *job, uint64_t flags)
{
	struct intern *name;

	if (flags & STATE_JOB_TAGS)
		load_tags(l, job);
	if (flags & STATE_JOB_FAILURE)
		load_failure(l, job);
	if (flags & STATE_JOB_SPAWNED) {
		name = state_read_name(l, STATE_NAME);
		if (!l->failed)
			job_need_extra(job)->spawned_from = intern_ref(name);
	}
	if (flags & STATE_JOB_DUE)
		job_set_due(job, state_read_time(l));
	if (flags & STATE_JOB_LIMITS)
		load_limits_of(l, job);
	if (flags & STATE_JOB_TERMS)
		load_terms_of(l, job);
	if (flags & STATE_JOB_ACCOUNT)
		account_load(l, job);
	if (flags & STATE_JOB_RUN)
		load_run(l, job);
	if (flags & STATE_JOB_RETAINED)
		load_retained(l, job);
}

/* Place the job with the score that was saved. Everything that can be wrong was checked. */
static void place_job(struct state_loader *l, struct qless_job *job, uint64_t flags, double score)
{
	if (!(flags & STATE_JOB_SCORE))
		score = job_usual_score(job);
	if (job->state == QLESS_FAILED)
		l->failure_number = fmax(l->failure_number, score);
	job_restore(l->q, job, score);
}

/* Check a score that is not the usual one. */
static void check_score(struct state_loader *l, const struct qless_job *job, uint64_t flags,
			double score)
{
	if (job->state == QLESS_RUNNING && !(flags & STATE_JOB_GRACE) && score != job->expires)
		state_read_fail(l, "a lock expires at two times");
	if (job->state == QLESS_COMPLETE && score != job->time)
		state_read_fail(l, "a job was completed at two times");
	if (job->state == QLESS_STALLED && job->queue->name->len != 0 && score == -INFINITY)
		state_read_fail(l, "a stalled job is not first");
}

static void check_job(struct state_loader *l, const struct qless_job *job,
		      const struct state_place *place, uint64_t flags, double score)
{
	if ((flags & STATE_JOB_STALLED) && job->state != QLESS_STALLED)
		state_read_fail(l, "a job is stalled outside of a queue");
	if ((flags & STATE_JOB_RUN) && score > runtime_ends(job))
		state_read_fail(l, "a lock outlives its run");
	if (job->state == QLESS_RUNNING && job->worker == NULL)
		state_read_fail(l, "a running job has no worker");
	if (job->state != QLESS_RUNNING && (flags & STATE_JOB_GRACE))
		state_read_fail(l, "a job has a grace period without a lock");
	if ((job->state == QLESS_FAILED || job->state == QLESS_COMPLETE) &&
	    (job->worker != NULL || job->expires != 0))
		state_read_fail(l, "a job is over and has a lock");
	if (job->state != QLESS_DEPENDS && (flags & STATE_JOB_DUE))
		state_read_fail(l, "a job remembers a time without waiting for others");
	if (job->state == QLESS_FAILED &&
	    (!(flags & STATE_JOB_FAILURE) || job_extra(job)->failure->group != place->group))
		state_read_fail(l, "a failed job has no failure");
	if (job->state == QLESS_COMPLETE && (flags & STATE_JOB_DEPENDENTS))
		state_read_fail(l, "a job depends on one that is complete");
}

static void load_lock(struct state_loader *l, struct qless_job *job)
{
	uint64_t number = state_read_varint(l);

	if (number > QLESS_LOCK_MAX)
		state_read_fail(l, "the number of a hand-out is too large");
	else
		job_set_lock(job, number);
	if (number > l->last_lock)
		l->last_lock = number;
}

/* Load the members of a new job that decide on its place. Returns its score. */
static double load_fields(struct state_loader *l, struct qless_job *job,
			  const struct state_place *place, uint64_t flags)
{
	double score = 0;
	struct intern *name;

	job->state = (uint8_t)place->state;
	if ((flags & STATE_JOB_STALLED) && place->state == QLESS_WAITING)
		job->state = QLESS_STALLED;
	job->priority = state_read_number(l);
	job->time = state_read_time(l);
	job->retries = state_read_number(l);
	job->remaining = flags & STATE_JOB_REMAINING ? state_read_number(l) : job->retries;
	job->expires = flags & STATE_JOB_EXPIRES ? state_read_time(l) : 0;
	if (flags & STATE_JOB_SCORE) {
		state_read_byte(l);
		score = state_read_double(l);
		if (isnan(score))
			state_read_fail(l, "a score is not a number");
	}
	if (flags & STATE_JOB_WORKER) {
		name = state_read_name(l, STATE_WORKER);
		if (!l->failed)
			job_set_worker(l->q, job, name);
	}
	if (flags & STATE_JOB_LOCK)
		load_lock(l, job);
	if (place->state == QLESS_FAILED) {
		name = state_read_name(l, STATE_QUEUE);
		if (!l->failed)
			job_set_queue(l->q, job, queue_need(l->q, intern_str(name)));
	} else if (place->queue != NULL) {
		job_set_queue(l->q, job, place->queue);
	}
	return score;
}

/* Place an incomplete job where qless_free() finds it. */
static void abandon_job(struct qless *q, struct qless_job *job)
{
	job->state = QLESS_COMPLETE;
	job_set_queue(q, job, NULL);
	job_restore(q, job, 0);
}

void state_find_jobs(struct state_loader *l)
{
	if (!hash_insert_many(&l->q->jobs, l->fresh, l->fresh_count))
		state_read_fail(l, "a job comes twice");
	l->fresh_count = 0;
}

static void load_job(struct state_loader *l, const struct state_place *place)
{
	uint64_t flags = state_read_varint(l);
	struct qless_str jid = state_read_kept_text(l, STATE_NAME_BYTES_MAX);
	struct intern *klass = state_read_name(l, STATE_NAME);
	struct qless_str data = state_read_text(l, QLESS_MAX_TEXT_BYTES);
	struct qless_job *job;
	double score;

	if (flags > STATE_JOB_FLAGS)
		state_read_fail(l, "a job has flags that are not known");
	if (l->failed)
		return;
	job = job_make(l->q, jid, data);
	assert(l->fresh_count < STATE_FRESH_MAX);
	l->fresh[l->fresh_count++] = &job->hash;
	if (l->fresh_count == STATE_FRESH_MAX)
		state_find_jobs(l);
	job->klass = intern_ref(klass);
	score = load_fields(l, job, place, flags);
	load_extra(l, job, flags);
	if (!l->failed)
		check_job(l, job, place, flags, score);
	if (!l->failed && (flags & STATE_JOB_SCORE))
		check_score(l, job, flags, score);
	if (l->failed) {
		abandon_job(l->q, job);
		return;
	}
	if (flags & STATE_JOB_GRACE)
		job->flags |= JOB_GRACE;
	if (flags & STATE_JOB_CLEARED)
		job->flags |= JOB_FAILURE_CLEARED;
	place_job(l, job, flags, score);
	load_history(l, &job->history);
	if (job->state == QLESS_DEPENDS)
		job_vec_push(&l->depending, job);
	if (flags & STATE_JOB_DEPENDENTS)
		job_vec_push(&l->depended, job);
}

void state_load_jobs(struct state_loader *l, const struct state_place *place)
{
	uint64_t count = state_read_varint(l);

	for (uint64_t i = 0; i < count && !l->failed; i++)
		load_job(l, place);
}
