/*
 * Jobs: their memory and their members.
 */
#include "engine/job.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/account.h"
#include "engine/carried.h"
#include "engine/depends.h"
#include "engine/ends.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/history.h"
#include "engine/klass.h"
#include "engine/limit.h"
#include "engine/queue.h"
#include "engine/run.h"
#include "engine/tag.h"
#include "engine/terms.h"
#include "engine/track.h"
#include "util/container.h"
#include "util/mem.h"

struct qless_str job_member(const struct skipnode *node)
{
	return job_jid(container_of(node, const struct qless_job, node));
}

struct qless_str job_key(const struct hash_node *node)
{
	return job_jid(container_of(node, const struct qless_job, hash));
}

struct qless_job *job_find_hashed(const struct qless *q, struct qless_str jid, uint32_t hash)
{
	struct hash_node *node = hash_find_hashed(&q->jobs, jid, hash);

	return node != NULL ? container_of(node, struct qless_job, hash) : NULL;
}

struct qless_job *job_find(const struct qless *q, struct qless_str jid)
{
	return job_find_hashed(q, jid, engine_hash(q, jid));
}

/* The offset of the jid, which follows the node and its levels. */
static size_t text_offset(unsigned height)
{
	return offsetof(struct qless_job, node) + skipnode_size(height);
}

/* The data of the first put follows the jid. */
static char *inline_data(struct qless_job *job)
{
	return (char *)job + text_offset(job->node.height) + job->hash.aux;
}

struct qless_job *job_make(struct qless *q, struct qless_str jid, struct qless_str data)
{
	unsigned height = engine_draw_height(q);
	struct qless_job *job;
	char *text;

	/* The limits of calls and of snapshots are far below that. */
	assert(jid.len <= UINT32_MAX && data.len <= UINT32_MAX);
	job = mem_alloc(text_offset(height) + jid.len + data.len);
	text = (char *)job + text_offset(height);
	memset(job, 0, offsetof(struct qless_job, node));
	skipnode_init(&job->node, height);
	job->hash.aux = (uint32_t)jid.len;
	job->node.aux = (uint32_t)data.len;
	job->data = text + jid.len;
	engine_copy(text, jid);
	engine_copy(job->data, data);
	if (hash_count(&q->tracked) > 0 && tracked_find(q, jid) != NULL)
		job->flags |= JOB_TRACKED;
	return job;
}

struct qless_job *job_new_hashed(struct qless *q, struct qless_str jid, uint32_t hash,
				 struct qless_str data)
{
	struct qless_job *job = job_make(q, jid, data);

	hash_insert_hashed(&q->jobs, &job->hash, hash);
	return job;
}

struct skiplist_block **job_block(struct skipnode *node)
{
	struct qless_job *job = job_from_node(node);

	return job->flags & JOB_LIMITED ? &job_limited(job)->block : NULL;
}

struct qless_job *job_new(struct qless *q, struct qless_str jid, struct qless_str data)
{
	return job_new_hashed(q, jid, engine_hash(q, jid), data);
}

/* ---- parts ---- */

void job_set_extra(struct qless_job *job, struct job_extra *extra)
{
	if (job->flags & JOB_LIMITED)
		job_limited(job)->extra = extra;
	else
		job->parts = extra;
}

struct job_extra *job_need_extra(struct qless_job *job)
{
	struct job_extra *extra = job_extra(job);

	if (extra == NULL) {
		extra = mem_zalloc(sizeof *extra);
		extra->due = NAN;
		job_set_extra(job, extra);
	}
	return extra;
}

void job_release_extra(struct qless_job *job)
{
	struct job_extra *extra = job_extra(job);

	if (extra == NULL || extra->tags != NULL || extra->failure != NULL ||
	    extra->spawned_from != NULL || extra->dependencies != NULL ||
	    extra->dependents != NULL || !isnan(extra->due) || (job->flags & JOB_CARRIES))
		return;
	free(extra);
	job_set_extra(job, NULL);
}

struct job_limited *job_add_limited(struct qless_job *job)
{
	struct job_limited *limited = mem_alloc(sizeof *limited);

	*limited = (struct job_limited){ .extra = job_extra(job) };
	job->parts = limited;
	job->flags |= JOB_LIMITED;
	return limited;
}

void job_drop_limited(struct qless_job *job)
{
	struct job_limited *limited = job_limited(job);

	job->parts = limited->extra;
	job->flags &= (uint8_t)~JOB_LIMITED;
	free(limited);
}

void job_free_parts(struct qless_job *job)
{
	struct job_extra *extra;

	if (job->flags & JOB_LIMITED)
		job_drop_limited(job);
	extra = job_extra(job);
	if (extra != NULL && (job->flags & JOB_CARRIES))
		job_free_carried(job_carried(job));
	else
		free(extra);
	job->parts = NULL;
}

void job_free_memory(struct qless_job *job)
{
	if (job->data != inline_data(job))
		free(job->data);
	free(job);
}

/* The job is in no list and has no dependencies in either direction. */
static void job_free(struct qless *q, struct qless_job *job)
{
	assert(job_extra(job) == NULL ||
	       (job_extra(job)->dependencies == NULL && job_extra(job)->dependents == NULL));
	job_drop_tags(q, job);
	job_clear_failure(q, job);
	if (job->flags & JOB_LIMITED)
		job_use_limits(q, job, NULL);
	job_drop_carried(q, job);
	job_set_worker(q, job, NULL);
	job_set_queue(q, job, NULL);
	history_done(q, &job->history);
	if (job_extra(job) != NULL)
		klass_unref(q, job_extra(job)->spawned_from);
	job_free_parts(job);
	klass_unref(q, job->klass);
	job_free_memory(job);
}

void job_delete(struct qless *q, struct qless_job *job)
{
	assert(!job->node.linked);
	if (job->state != QLESS_COMPLETE && job->state != QLESS_FAILED)
		job_tell_end(q, job, true);
	hash_remove(&q->jobs, &job->hash);
	depends_drop_all(q, job);
	depends_forget_dependents(q, job);
	job_free(q, job);
}

void job_set_data(struct qless *q, struct qless_job *job, struct qless_str data)
{
	char *old = job->data;

	q->kept_data = str_equal(job_data(job), data);
	if (q->kept_data)
		return;
	if (data.len <= job->node.aux) {
		/* It fits into the old room, which must not be much larger than needed. */
		if (old == inline_data(job) || data.len > job->node.aux / 2) {
			if (data.len > 0)
				memmove(old, data.ptr, data.len);
			job->node.aux = (uint32_t)data.len;
			return;
		}
	}
	assert(data.len <= UINT32_MAX);
	job->data = engine_dup(data);
	job->node.aux = (uint32_t)data.len;
	if (old != inline_data(job))
		free(old);
}

void job_set_klass(struct qless *q, struct qless_job *job, struct qless_str klass)
{
	struct intern *name = intern_get(&q->names, klass);

	klass_unref(q, job->klass);
	job->klass = name;
}

void job_set_worker(struct qless *q, struct qless_job *job, struct intern *worker)
{
	struct intern *old = job->worker;

	job->worker = worker != NULL ? intern_ref(worker) : NULL;
	intern_unref(&q->worker_names, old);
}

void job_set_queue(struct qless *q, struct qless_job *job, struct queue *queue)
{
	struct queue *old = job->queue;

	if (old == queue)
		return;
	/* It must not stay in a list of its old queue. */
	assert(!job->node.linked);
	job->queue = queue;
	if (queue != NULL)
		queue->job_count++;
	if (old != NULL) {
		assert(old->job_count > 0);
		old->job_count--;
		queue_release(q, old);
	}
}

void job_set_failure(struct qless *q, struct qless_job *job, struct intern *group,
		     struct qless_str message, double when, struct intern *worker)
{
	struct failure *failure = mem_alloc(sizeof(*failure) + message.len);

	failure->group = intern_ref(group);
	failure->worker = worker != NULL ? intern_ref(worker) : NULL;
	failure->when = when;
	failure->message_len = (uint32_t)message.len;
	engine_copy(failure->message, message);
	job_clear_failure(q, job);
	assert(job->state != QLESS_FAILED || !job->node.linked);
	job_need_extra(job)->failure = failure;
	job->flags &= (uint8_t)~JOB_FAILURE_CLEARED;
}

void job_clear_failure(struct qless *q, struct qless_job *job)
{
	struct failure *failure = job_extra(job) != NULL ? job_extra(job)->failure : NULL;

	if (failure == NULL)
		return;
	if (job->flags & JOB_CARRIES)
		account_set_error(q, job, NULL);
	intern_unref(&q->group_names, failure->group);
	intern_unref(&q->worker_names, failure->worker);
	free(failure);
	job_extra(job)->failure = NULL;
	job_release_extra(job);
}

void job_set_due(struct qless_job *job, double due)
{
	if (isnan(due) && job_extra(job) == NULL)
		return;
	job_need_extra(job)->due = due;
	job_release_extra(job);
}

double job_due(const struct qless_job *job)
{
	return job_extra(job) != NULL ? job_extra(job)->due : NAN;
}

uint64_t qless_prefetch(const struct qless *q, struct qless_str jid)
{
	uint32_t hash = engine_hash(q, jid);

	hash_prefetch(&q->jobs, hash);
	return JID_HINT_SET | hash;
}

const struct qless_job *qless_get(const struct qless *q, struct qless_str jid)
{
	return job_find(q, jid);
}

static void read_failure(const struct failure *failure, struct qless_failure *ret_failure)
{
	ret_failure->group = intern_str(failure->group);
	ret_failure->message = str_make(failure->message, failure->message_len);
	ret_failure->worker = failure->worker != NULL ? intern_str(failure->worker) : STR("");
	ret_failure->when = failure->when;
}

void qless_job_read(const struct qless_job *job, struct qless_job_info *ret_info)
{
	const struct job_extra *extra = job_extra(job);

	*ret_info = (struct qless_job_info){
		.jid = job_jid(job),
		.klass = intern_str(job->klass),
		.queue = job->queue != NULL ? intern_str(job->queue->name) : STR(""),
		.worker = job->worker != NULL ? intern_str(job->worker) : STR(""),
		.data = job_data(job),
		.state = job->state,
		.priority = job->priority,
		.retries = job->retries,
		.remaining = job->remaining,
		.expires = job->expires,
		.lock = job_lock(job),
		.time = job->time,
		.tracked = (job->flags & JOB_TRACKED) != 0,
		.has_limits = (job->flags & JOB_LIMITED) != 0,
	};
	if (extra == NULL)
		return;
	ret_info->carries = (job->flags & JOB_CARRIES) != 0;
	ret_info->is_raw = job_terms(job) != NULL && job_terms(job)->is_raw;
	ret_info->has_lists =
		extra->tags != NULL || extra->dependencies != NULL || extra->dependents != NULL;
	if (extra->spawned_from != NULL)
		ret_info->spawned_from = intern_str(extra->spawned_from);
	if (extra->failure != NULL) {
		ret_info->has_failure = true;
		read_failure(extra->failure, &ret_info->failure);
	}
}

bool qless_job_next_event(const struct qless_job *job, size_t *cursor,
			  struct qless_event *ret_event)
{
	return history_next(&job->history, cursor, ret_event);
}

int qless_priority(struct qless *q, double now, struct qless_str jid, double priority)
{
	struct qless_job *job;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (!isfinite(priority))
		return engine_fail_number(q, QLESS_OP_PRIORITY, QLESS_WHY_NO_NUMBER, "priority",
					  priority);
	job = job_find(q, jid);
	if (job == NULL)
		return engine_fail_job(q, QLESS_OP_PRIORITY, QLESS_WHY_NO_JOB, jid, STR(""));

	job->priority = priority;
	/* The new score has no time in it, so the job is the first of its priority. As in the
	 * reference, jobs of a queue without a name keep their place. */
	if ((job->state == QLESS_WAITING || job->state == QLESS_STALLED) &&
	    job->queue->name->len > 0)
		job_rescore(q, job, priority);
	engine_changed(q);
	return 0;
}

int qless_log(struct qless *q, double now, struct qless_str jid, struct qless_str message,
	      const struct qless_str *item)
{
	struct qless_job *job;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_data(q, "message", message) < 0 ||
	    (item != NULL && limit_check_data(q, "data", *item) < 0))
		return engine_fail_during(q, QLESS_OP_LOG);
	job = job_find(q, jid);
	if (job == NULL)
		return engine_fail_job(q, QLESS_OP_LOG, QLESS_WHY_NO_JOB, jid, STR(""));
	if (limit_check_job_bytes(q, job, history_len_with(q, &job->history, message, item), 0) < 0)
		return engine_fail_during(q, QLESS_OP_LOG);
	if (!history_has_room(&job->history, message, item))
		return engine_fail(q,
				   (struct qless_error){ .operation = QLESS_OP_LOG,
							 .reason = QLESS_WHY_HISTORY,
							 .jid = jid,
							 .number = (double)HISTORY_LOG_BYTES_MAX });

	history_append_log(q, &job->history, now, message, item);
	engine_changed(q);
	return 0;
}
