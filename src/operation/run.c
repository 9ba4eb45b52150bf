/*
 * Running operations: the call of the engine for each kind.
 */
#include <assert.h>
#include <stdlib.h>

#include "operation/operation.h"
#include "util/mem.h"

/* The data of a job; empty if there is no such job. */
static struct qless_str data_of(const struct qless *q, struct qless_str jid)
{
	const struct qless_job *job = qless_get(q, jid);
	struct qless_job_info info;

	if (job == NULL)
		return STR("");
	qless_job_read(job, &info);
	return info.data;
}

static int run_heartbeat(struct qless *q, const struct operation *op, struct operation_outcome *ret)
{
	const struct qless_str *data = op->heartbeat.data;
	struct qless_str kept;
	int rc;

	if (op->keeps_data) {
		kept = data_of(q, op->heartbeat.jid);
		data = &kept;
	}
	rc = qless_heartbeat(q, op->now, op->heartbeat.jid, op->heartbeat.worker, data,
			     &ret->expires);
	ret->kept_data = qless_kept_data(q);
	return rc;
}

static int run_complete(struct qless *q, const struct operation *op, struct operation_outcome *ret)
{
	struct qless_complete complete;
	int rc;

	if (!op->keeps_data) {
		rc = qless_complete(q, op->now, &op->complete, &ret->state);
	} else {
		complete = op->complete;
		complete.data = data_of(q, complete.jid);
		rc = qless_complete(q, op->now, &complete, &ret->state);
	}
	ret->kept_data = qless_kept_data(q);
	return rc;
}

static int run_fail(struct qless *q, const struct operation *op, struct operation_outcome *ret)
{
	struct qless_fail fail = op->fail;
	struct qless_str kept;
	int rc;

	if (op->keeps_data) {
		kept = data_of(q, fail.jid);
		fail.data = &kept;
	}
	rc = qless_fail_with(q, op->now, &fail);
	ret->kept_data = qless_kept_data(q);
	return rc;
}

/* The terms of each of the jobs, which differ in their unique keys. */
static struct qless_terms *make_terms(const struct operation *op, size_t count)
{
	const struct qless_terms *common = op->put_many.common.terms;
	struct qless_terms *terms = mem_realloc_array(NULL, count, sizeof *terms);

	for (size_t i = 0; i < count; i++) {
		terms[i] = common != NULL ? *common : (struct qless_terms){ 0 };
		terms[i].has_unique = true;
		terms[i].unique.key = op->put_many.keys.items[i];
	}
	return terms;
}

static int run_meta(struct qless *q, const struct operation *op, struct operation_outcome *ret)
{
	return qless_job_meta(q, op->now,
			      &(struct qless_meta){ .jid = op->meta.jid,
						    .pairs = op->meta.set.items,
						    .pair_count = op->meta.set.count / 2,
						    .removed = op->meta.removed.items,
						    .removed_count = op->meta.removed.count },
			      &ret->count);
}

static int run_put_many(struct qless *q, const struct operation *op, struct operation_outcome *ret)
{
	const struct qless_str *item = op->put_many.jobs.items;
	size_t count = op->put_many.jobs.count / 3;
	struct qless_put *puts = mem_realloc_array(NULL, count, sizeof *puts);
	struct qless_terms *terms = op->put_many.keys.count > 0 ? make_terms(op, count) : NULL;
	int rc;

	assert(terms == NULL || op->put_many.keys.count == count);

	for (size_t i = 0; i < count; i++, item += 3) {
		puts[i] = op->put_many.common;
		puts[i].jid = item[0];
		puts[i].klass = item[1];
		puts[i].data = item[2];
		if (terms != NULL)
			puts[i].terms = &terms[i];
	}
	rc = qless_put_many(q, op->now, puts, count, &ret->until);
	free(puts);
	free(terms);
	return rc;
}

size_t operation_count_parts(const struct operation *op)
{
	if (op->kind == OPERATION_HEARTBEAT_MANY)
		return op->heartbeat_many.jids.count;
	assert(op->kind == OPERATION_COMPLETE_MANY);
	return op->complete_many.jobs.count / 2;
}

static int run_part(struct qless *q, const struct operation *op, size_t i,
		    struct operation_outcome *ret)
{
	const struct qless_str *job;
	bool purges_one;

	if (op->kind == OPERATION_HEARTBEAT_MANY)
		return qless_heartbeat(q, op->now, op->heartbeat_many.jids.items[i],
				       op->heartbeat_many.worker, NULL, &ret->expires);
	job = op->complete_many.jobs.items + 2 * i;
	purges_one = op->complete_many.has_purge_end && (int64_t)i >= op->complete_many.purge_end;
	return qless_complete(q, op->now,
			      &(struct qless_complete){ .jid = job[0],
							.worker = op->complete_many.worker,
							.queue = op->complete_many.queue,
							.data = job[1],
							.has_purge_max = purges_one,
							.purge_max = 1 },
			      &ret->state);
}

static int run_pop(struct qless *q, const struct operation *op, struct operation_outcome *ret)
{
	struct qless_str klass = op->pop.klass != NULL ? *op->pop.klass : str_make(NULL, 0);
	uint64_t steps;
	int rc;

	if (!op->pop.may_stop) {
		steps = op->pop.has_steps ? (uint64_t)op->pop.steps : UINT64_MAX;
		return qless_pop_class_steps(q, op->now, op->pop.queue, op->pop.worker, klass,
					     op->pop.count, steps, &ret->jobs);
	}
	rc = qless_pop_class_some(q, op->now, op->pop.queue, op->pop.worker, klass, op->pop.count,
				  &ret->jobs, &ret->is_stopped, &steps);
	ret->steps = (int64_t)steps;
	return rc;
}

static int run_parts(struct qless *q, const struct operation *op, struct operation_outcome *ret)
{
	int rc;

	for (size_t i = 0; i < operation_count_parts(op); i++) {
		/* If the engine refuses one job, the others still run. */
		rc = run_part(q, op, i, ret);
		(void)rc;
	}
	return 0;
}

/* Inline, because each change passes here. */
static inline __attribute__((always_inline)) int run(struct qless *q, const struct operation *op,
						     struct operation_outcome *ret)
{
	const struct operation_names *names = &op->names;
	const struct qless_str jid = op->job.jid;
	double now = op->now;

	switch (op->kind) {
	case OPERATION_PUT:
		return qless_put(q, now, &op->put);
	case OPERATION_PUT_MANY:
		return run_put_many(q, op, ret);
	case OPERATION_REQUEUE:
		return qless_requeue(q, now, &op->put);
	case OPERATION_POP:
		return run_pop(q, op, ret);
	case OPERATION_ADVANCE:
		return qless_advance(q, now, &op->advance, &ret->count);
	case OPERATION_HEARTBEAT:
		return run_heartbeat(q, op, ret);
	case OPERATION_HEARTBEAT_MANY:
	case OPERATION_COMPLETE_MANY:
		return run_parts(q, op, ret);
	case OPERATION_COMPLETE:
	case OPERATION_COMPLETE_WITH:
		return run_complete(q, op, ret);
	case OPERATION_FAIL:
		return run_fail(q, op, ret);
	case OPERATION_RETRY:
		return qless_retry(q, now, &op->retry, &ret->remaining);
	case OPERATION_TIMEOUT:
		return qless_timeout(q, now, names->items, names->count);
	case OPERATION_CANCEL:
		return qless_cancel(q, now, names->items, names->count);
	case OPERATION_DEPENDS_ON:
		return qless_depends_on(q, now, jid, op->job.names.items, op->job.names.count);
	case OPERATION_DEPENDS_OFF:
		return qless_depends_off(q, now, jid, op->job.names.items, op->job.names.count);
	case OPERATION_DEPENDS_OFF_ALL:
		return qless_depends_off_all(q, now, jid);
	case OPERATION_PRIORITY:
		return qless_priority(q, now, op->priority.jid, op->priority.priority);
	case OPERATION_LOG:
		return qless_log(q, now, op->log.jid, op->log.message, op->log.item);
	case OPERATION_UNFAIL:
		return qless_unfail(q, now, op->unfail.queue, op->unfail.group, op->unfail.count,
				    &ret->count);
	case OPERATION_PAUSE:
		return qless_pause(q, now, names->items, names->count);
	case OPERATION_UNPAUSE:
		return qless_unpause(q, now, names->items, names->count);
	case OPERATION_QUEUE_FORGET:
		return qless_queue_forget(q, now, names->items, names->count);
	case OPERATION_WORKER_DEREGISTER:
		return qless_worker_deregister(q, now, names->items, names->count);
	case OPERATION_TAG:
		return qless_tag(q, now, jid, op->job.names.items, op->job.names.count, &ret->job);
	case OPERATION_UNTAG:
		return qless_untag(q, now, jid, op->job.names.items, op->job.names.count,
				   &ret->job);
	case OPERATION_TRACK:
		return qless_track(q, now, jid, &ret->flag);
	case OPERATION_UNTRACK:
		return qless_untrack(q, now, jid, &ret->flag);
	case OPERATION_RECUR:
		return qless_recur(q, now, &op->recur);
	case OPERATION_UNRECUR:
		return qless_unrecur(q, now, jid);
	case OPERATION_RECUR_UPDATE:
		return qless_recur_update(q, now, op->recur_update.jid, op->recur_update.changes,
					  op->recur_update.count);
	case OPERATION_TICK:
		return qless_tick(q, now, op->tick.jid, op->tick.max, &ret->count);
	case OPERATION_OVERTIME:
		return qless_overtime(q, now, op->overtime, &ret->flag);
	case OPERATION_RECUR_TAG:
		return qless_recur_tag(q, now, jid, op->job.names.items, op->job.names.count);
	case OPERATION_RECUR_UNTAG:
		return qless_recur_untag(q, now, jid, op->job.names.items, op->job.names.count);
	case OPERATION_CONFIG_SET:
		return qless_config_set(q, now, op->config.name, op->config.value);
	case OPERATION_CONFIG_UNSET:
		return qless_config_unset(q, now, op->config.name);
	case OPERATION_RESOLVE:
		ret->count = qless_resolve(q, now);
		return 0;
	case OPERATION_REPAIR:
		ret->count = qless_repair(q, now, op->repair.items, op->repair.count);
		return 0;
	case OPERATION_MAINTAIN:
		qless_maintain(q);
		return 0;
	case OPERATION_STEP_CLOCK:
		return qless_step_clock(q, now, op->step_clock.from);
	case OPERATION_WORKER_RENEW:
		return qless_worker_renew(q, now, &op->renewal, &ret->renewed);
	case OPERATION_WORKER_RELEASE:
		return qless_worker_release(q, now, &op->release, &ret->released);
	case OPERATION_LIMIT_SET:
		return qless_limit_set(q, now, &op->limit_set);
	case OPERATION_LIMIT_DELETE:
		return qless_limit_delete(q, now, op->limit_name, &ret->flag);
	case OPERATION_LIMIT_HOLD:
		return qless_limit_hold(q, now, op->limit_hold.name, op->limit_hold.seconds,
					&ret->expires);
	case OPERATION_LIMIT_SWEEP:
		return qless_limit_sweep(q, now, op->limit_sweep.max, &ret->count);
	case OPERATION_JOB_START:
		return qless_job_start(q, now, &op->start);
	case OPERATION_JOB_PROGRESS:
		return qless_job_progress(q, now, &op->progress);
	case OPERATION_JOB_META:
		return run_meta(q, op, ret);
	case OPERATION_JOB_DELETE:
		return qless_job_delete(q, now, names->items, names->count, &ret->count);
	case OPERATION_JOB_ABORT:
		return qless_abort(q, now, &op->abort);
	case OPERATION_ENDPOINT_SET:
	case OPERATION_ENDPOINT_DELETE:
	case OPERATION_ENDPOINT_PAUSE:
	case OPERATION_FLUSH:
	case OPERATION_SCRIPT_ADDED:
	case OPERATION_SCRIPTS_CLEARED:
	case OPERATION_USER_SET:
	case OPERATION_USER_DELETED:
	case OPERATION_USER_AS_CONFIGURED:
		break;
	}
	assert(false && "an operation that is not the engine's");
	return QLESS_EBADARG;
}

int operation_run(struct qless *q, const struct operation *op,
		  struct operation_outcome *ret_outcome)
{
	uint64_t changes = qless_changes(q);
	int rc;

	ret_outcome->until = op->now;
	ret_outcome->kept_data = false;
	ret_outcome->is_stopped = false;
	rc = run(q, op, ret_outcome);
	ret_outcome->changed = qless_changes(q) != changes;
	return rc;
}

int operation_run_part(struct qless *q, const struct operation *op, size_t i,
		       struct operation_outcome *ret_outcome)
{
	uint64_t changes = qless_changes(q);
	int rc;

	assert(i < operation_count_parts(op));
	ret_outcome->until = op->now;
	ret_outcome->kept_data = false;
	ret_outcome->is_stopped = false;
	rc = run_part(q, op, i, ret_outcome);
	ret_outcome->changed = qless_changes(q) != changes;
	return rc;
}
