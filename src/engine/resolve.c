/*
 * Repairing the state after a defect of the program or the machine, as far as the state itself says
 * what is right.
 *
 * What a job says about itself is trusted, and what refers to it is changed to fit. The order of
 * the steps matters: lists are sorted before anything is looked up in them, and references to names
 * are counted before anything is released.
 */
#include "engine/resolve.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/check.h"
#include "engine/depends.h"
#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/fail.h"
#include "engine/failed_history.h"
#include "engine/job.h"
#include "engine/klass.h"
#include "engine/lists.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/refs.h"
#include "engine/retain.h"
#include "engine/run.h"
#include "engine/settings.h"
#include "engine/stats.h"
#include "engine/tag.h"
#include "engine/track.h"
#include "engine/unique.h"
#include "engine/worker.h"
#include "util/container.h"
#include "util/mem.h"

/* Call `visit` for each object of a table, which it may free, and add the results to `repairs`. */
#define RESOLVE_EACH(q, table, type, visit, repairs)                   \
	do {                                                           \
		struct hash_iter it_;                                  \
		struct hash_node *node_;                               \
                                                                       \
		HASH_FOREACH(node_, &it_, &(table)->hash) {            \
			type *object_ = intern_from_node(node_)->user; \
                                                                       \
			if (object_ != NULL)                           \
				(repairs) += visit((q), object_);      \
		}                                                      \
	} while (0)

void resolve_reset_node(struct skipnode *node)
{
	uint32_t aux = node->aux;

	skipnode_init(node, node->height);
	node->aux = aux;
}

/* ---- the order of lists ---- */

size_t resolve_sort_list(struct skiplist *list)
{
	struct skipnode **nodes;
	struct skipnode *node;
	size_t count = 0;
	size_t i;

	if (check_is_ordered(list))
		return 0;
	nodes = mem_realloc_array(NULL, (size_t)skiplist_count(list) + 1, sizeof(*nodes));
	for (node = skiplist_first(list); node != NULL && count < skiplist_count(list);
	     node = skiplist_next(node))
		nodes[count++] = node;
	skiplist_clear(list);
	for (i = 0; i < count; i++) {
		double score = nodes[i]->score;

		resolve_reset_node(nodes[i]);
		skiplist_insert(list, nodes[i], isnan(score) ? 0 : score);
	}
	free(nodes);
	return 1;
}

static size_t sort_queue(struct qless *q, struct queue *queue)
{
	size_t repairs = 0;

	(void)q;
	for (int i = 0; i < QUEUE_ALL_LISTS; i++)
		repairs += resolve_sort_list(&queue->lists[i]);
	return repairs;
}

static size_t sort_group(struct qless *q, struct group *group)
{
	(void)q;
	return resolve_sort_list(&group->jobs);
}

static size_t sort_worker(struct qless *q, struct worker *worker)
{
	(void)q;
	return resolve_sort_list(&worker->by_expiry);
}

static size_t sort_tag(struct qless *q, struct tag *tag)
{
	(void)q;
	return resolve_sort_list(&tag->jobs);
}

static size_t sort_lists(struct qless *q)
{
	size_t repairs = resolve_sort_list(&q->queues) + resolve_sort_list(&q->workers) +
			 resolve_sort_list(&q->completed) + resolve_sort_list(&q->tracks) +
			 resolve_sort_list(&q->tags);

	RESOLVE_EACH(q, &q->queue_names, struct queue, sort_queue, repairs);
	RESOLVE_EACH(q, &q->group_names, struct group, sort_group, repairs);
	RESOLVE_EACH(q, &q->worker_names, struct worker, sort_worker, repairs);
	RESOLVE_EACH(q, &q->tag_names, struct tag, sort_tag, repairs);
	return repairs;
}

/* ---- the lists that jobs are in ---- */

bool resolve_knows_list(const struct qless_job *job)
{
	if (job->state == QLESS_FAILED)
		return job->queue != NULL && job_extra(job) != NULL &&
		       job_extra(job)->failure != NULL;
	return (job->queue == NULL) == (job->state == QLESS_COMPLETE);
}

bool resolve_belongs(const struct qless *q, const struct qless_job *job,
		     const struct skiplist *list)
{
	if (!resolve_knows_list(job))
		return true;
	if (job->state == QLESS_FAILED && job_extra(job)->failure->group->user == NULL)
		return false;
	return job_list(q, job) == list;
}

/* Insert the jobs of the list that the hash table lacks, and remove the jobs that belong
 * elsewhere. */
static size_t clean_list(struct qless *q, struct skiplist *list)
{
	struct skipnode *node = skiplist_first(list);
	size_t repairs = 0;

	while (node != NULL) {
		struct qless_job *job = job_from_node(node);

		node = skiplist_next(node);
		if (job_find(q, job_jid(job)) == NULL) {
			hash_insert(&q->jobs, &job->hash);
			repairs++;
		}
		if (!resolve_belongs(q, job, list)) {
			skiplist_remove(list, &job->node);
			repairs++;
		}
	}
	return repairs;
}

static size_t clean_queue(struct qless *q, struct queue *queue)
{
	size_t repairs = 0;

	for (int i = 0; i < QUEUE_ALL_LISTS; i++) {
		if (queue_list_has_jobs((enum queue_list)i))
			repairs += clean_list(q, &queue->lists[i]);
	}
	return repairs;
}

static size_t clean_group(struct qless *q, struct group *group)
{
	return clean_list(q, &group->jobs);
}

void resolve_enter_list(struct qless *q, struct qless_job *job)
{
	double score = job_usual_score(job);

	if (job->state == QLESS_FAILED) {
		q->failure_number += 1;
		score = q->failure_number;
	}
	job_restore(q, job, score);
}

size_t resolve_score(struct qless *q, struct qless_job *job)
{
	double score = job->node.score;

	if (job->state == QLESS_RUNNING && !(job->flags & JOB_GRACE))
		score = job->expires;
	else if (job->state == QLESS_COMPLETE)
		score = job->time;
	if (score == job->node.score)
		return 0;
	job_rescore(q, job, score);
	return 1;
}

static size_t resolve_place(struct qless *q, struct qless_job *job)
{
	if (!resolve_knows_list(job))
		return 0;
	if (job->node.linked) {
		/* Jobs in a list that they do not belong to have been removed from it. */
		if (check_is_in(job_list(q, job), &job->node))
			return resolve_score(q, job);
		resolve_reset_node(&job->node);
	}
	assert(!job->node.linked);
	resolve_enter_list(q, job);
	return 1;
}

/* ---- the fields of jobs ---- */

size_t resolve_fields(struct qless *q, struct qless_job *job)
{
	bool is_over = job->state == QLESS_COMPLETE || job->state == QLESS_FAILED;
	uint8_t flags = job->flags & (uint8_t) ~(JOB_CHOSEN | JOB_TRACKED);
	size_t repairs = 0;

	if (job->state != QLESS_RUNNING)
		flags &= (uint8_t)~JOB_GRACE;
	if (tracked_find(q, job_jid(job)) != NULL)
		flags |= JOB_TRACKED;
	repairs += flags != job->flags;
	job->flags = flags;
	if (is_over && job->expires != 0) {
		job->expires = 0;
		repairs++;
	}
	if (is_over && job->worker != NULL) {
		/* The references to the name are counted later. */
		job->worker = NULL;
		repairs++;
	}
	if (job->state != QLESS_DEPENDS && !isnan(job_due(job))) {
		job_set_due(job, NAN);
		repairs++;
	}
	return repairs;
}

static size_t resolve_jobs(struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;
	size_t repairs = clean_list(q, &q->completed);

	RESOLVE_EACH(q, &q->queue_names, struct queue, clean_queue, repairs);
	RESOLVE_EACH(q, &q->group_names, struct group, clean_group, repairs);
	HASH_FOREACH(node, &it, &q->jobs) {
		struct qless_job *job = container_of(node, struct qless_job, hash);

		repairs += resolve_fields(q, job);
		repairs += resolve_place(q, job);
	}
	HASH_FOREACH(node, &it, &q->jobs)
		repairs += depends_resolve(q, container_of(node, struct qless_job, hash));
	HASH_FOREACH(node, &it, &q->jobs)
		repairs += depends_settle(q, container_of(node, struct qless_job, hash));
	return repairs;
}

/* ---- recurring and tracked jobs ---- */

static size_t resolve_recurs(struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;
	size_t repairs = 0;

	HASH_FOREACH(node, &it, &q->recurs) {
		struct qless_recur *recur = container_of(node, struct qless_recur, hash);

		if (recur->node.linked)
			continue;
		skiplist_insert(&recur->queue->recurring, &recur->node, recur->node.score);
		repairs++;
	}
	return repairs;
}

static size_t resolve_tracked(struct qless *q)
{
	struct hash_iter it;
	struct hash_node *hash;
	struct skipnode *node;
	size_t repairs = 0;

	for (node = skiplist_first(&q->tracks); node != NULL; node = skiplist_next(node)) {
		struct tracked *tracked = container_of(node, struct tracked, node);

		if (tracked_find(q, tracked_jid(tracked)) != NULL)
			continue;
		hash_insert(&q->tracked, &tracked->hash);
		repairs++;
	}
	HASH_FOREACH(hash, &it, &q->tracked) {
		struct tracked *tracked = container_of(hash, struct tracked, hash);

		if (tracked->node.linked)
			continue;
		skiplist_insert(&q->tracks, &tracked->node, tracked->node.score);
		repairs++;
	}
	return repairs;
}

/* ---- what is counted ---- */

static size_t resolve_series(struct series *series)
{
	double sum = stats_sum(series);

	if (series->count >= sum)
		return 0;
	series->count = sum;
	return 1;
}

size_t resolve_figures(const struct qless *q, struct queue *queue)
{
	double heartbeat = settings_queue_number(q, queue_name(queue), STR("-heartbeat"));
	double max = settings_queue_number(q, queue_name(queue), STR("-max-concurrency"));
	double runtime = settings_runtime(q, queue_name(queue));
	double start_timeout = settings_start_timeout(q, queue_name(queue));
	double retain = settings_retain(q, queue_name(queue));
	size_t repairs = 0;
	uint32_t i;

	for (i = 0; i < queue->day_count; i++)
		repairs +=
			resolve_series(&queue->days[i].wait) + resolve_series(&queue->days[i].run);
	if (!same_option(heartbeat, queue->heartbeat) ||
	    !same_option(max, queue->max_concurrency) || runtime != queue->runtime ||
	    start_timeout != queue->start_timeout || !same_option(retain, queue->retain)) {
		queue->heartbeat = heartbeat;
		queue->max_concurrency = max;
		queue->runtime = runtime;
		queue->start_timeout = start_timeout;
		queue->retain = retain;
		repairs++;
	}
	return repairs;
}

static size_t resolve_queue(struct qless *q, struct queue *queue)
{
	size_t repairs = resolve_figures(q, queue);

	queue_resume(q, queue);
	return repairs;
}

size_t resolve_group(struct qless *q, struct group *group)
{
	const struct skipnode *last = skiplist_last(&group->jobs);

	if (last == NULL || last->score <= q->failure_number)
		return 0;
	q->failure_number = last->score;
	return 1;
}

static size_t recount_names(struct qless *q, struct intern_table *table, const struct refs *refs)
{
	struct hash_iter it;
	struct hash_node *node;
	size_t repairs = 0;

	HASH_FOREACH(node, &it, &table->hash) {
		struct intern *name = intern_from_node(node);
		uint64_t count = refs_count(refs, name);

		if (name->node.aux == count)
			continue;
		name->node.aux = count > 0 ? (uint32_t)count : 1;
		if (count == 0 && table == &q->names)
			klass_unref(q, name);
		else if (count == 0)
			intern_unref(table, name);
		repairs++;
	}
	return repairs;
}

static size_t recount(struct qless *q)
{
	struct refs refs;
	struct hash_iter it;
	struct hash_node *node;
	size_t repairs = 0;

	refs_init(&refs, q);
	HASH_FOREACH(node, &it, &q->queue_names.hash) {
		struct queue *queue = intern_from_node(node)->user;

		if (queue == NULL || queue->job_count == refs_count(&refs, queue))
			continue;
		queue->job_count = refs_count(&refs, queue);
		repairs++;
	}
	repairs += recount_names(q, &q->queue_names, &refs) +
		   recount_names(q, &q->worker_names, &refs) +
		   recount_names(q, &q->group_names, &refs) +
		   recount_names(q, &q->tag_names, &refs) + recount_names(q, &q->names, &refs);
	refs_done(&refs);
	return repairs;
}

static size_t set_tally(uint64_t *tally, uint64_t right)
{
	size_t repairs = *tally != right;

	*tally = right;
	return repairs;
}

static size_t resolve_tallies(struct qless *q)
{
	struct tallies t;

	refs_tally(q, &t);
	return set_tally(&q->depending_count, t.depending) +
	       set_tally(&q->depended_count, t.depended) + set_tally(&q->busy_count, t.busy) +
	       set_tally(&q->group_count, t.groups) + set_tally(&q->paused_count, t.paused);
}

/* ---- what nothing refers to ---- */

static size_t drop_queue(struct qless *q, struct queue *queue)
{
	queue_release(q, queue);
	return 0;
}

static size_t drop_worker(struct qless *q, struct worker *worker)
{
	worker_release(q, worker);
	return 0;
}

static size_t drop_group(struct qless *q, struct group *group)
{
	group_release(q, group);
	return 0;
}

static void drop_unused(struct qless *q)
{
	size_t none = 0;

	RESOLVE_EACH(q, &q->queue_names, struct queue, drop_queue, none);
	RESOLVE_EACH(q, &q->worker_names, struct worker, drop_worker, none);
	RESOLVE_EACH(q, &q->group_names, struct group, drop_group, none);
}

size_t qless_resolve(struct qless *q, double now)
{
	size_t findings = qless_check(q, NULL, NULL);
	size_t repairs;

	if (findings == 0 || !engine_begin(q, now))
		return 0;
	limits_suspend(q);
	failed_history_forget(q);
	retain_forget(q);
	repairs = sort_lists(q);
	repairs += resolve_tracked(q);
	repairs += resolve_jobs(q);
	repairs += resolve_recurs(q);
	repairs += tags_resolve(q);
	RESOLVE_EACH(q, &q->worker_names, struct worker, worker_resolve, repairs);
	RESOLVE_EACH(q, &q->queue_names, struct queue, resolve_queue, repairs);
	RESOLVE_EACH(q, &q->group_names, struct group, resolve_group, repairs);
	repairs += recount(q);
	repairs += resolve_tallies(q);
	drop_unused(q);
	repairs += limits_resume(q);
	if (!limits_are_sound(q)) {
		limits_rebuild(q);
		repairs++;
	}
	if (!unique_is_sound(q)) {
		unique_rebuild(q);
		repairs++;
	}
	if (!retain_is_sound(q)) {
		retain_rebuild(q);
		repairs++;
	}
	engine_changed(q);
	return repairs;
}
