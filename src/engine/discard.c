/*
 * Freeing a whole engine.
 *
 * Nothing is removed from the lists and tables that hold it, because they are freed too. Removing a
 * million jobs from their lists, in the order of a hash table, would take a hundred times as long
 * as freeing them. References to names are not released for the same reason. The engine can be
 * freed in parts, so that a server does not keep other clients waiting.
 */
#include <assert.h>
#include <stdlib.h>

#include "engine/bundle.h"
#include "engine/carried.h"
#include "engine/depends.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/fail.h"
#include "engine/fair.h"
#include "engine/history.h"
#include "engine/job.h"
#include "engine/klass.h"
#include "engine/lane.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/settings.h"
#include "engine/shelf.h"
#include "engine/stats.h"
#include "engine/tag.h"
#include "engine/track.h"
#include "engine/unique.h"
#include "engine/worker.h"
#include "util/container.h"

/* A tagging is freed at its last occurrence in the list. */
static void discard_tags(struct tag_list *list)
{
	uint32_t i;

	for (i = 0; list != NULL && i < list->count; i++) {
		if (--list->items[i]->node.aux == 0)
			free(list->items[i]);
	}
	free(list);
}

/* Free one edge. Returns false, and frees the list, if there was none left. */
static bool discard_edge(struct skiplist **list)
{
	struct skipnode *node;

	if (*list == NULL)
		return false;
	node = skiplist_pop_first(*list);
	if (node != NULL) {
		free(container_of(node, struct edge, node));
		return true;
	}
	skiplist_done(*list);
	free(*list);
	*list = NULL;
	return false;
}

/* Free a job, or one edge of a job that has any. All functions below return false if nothing was
 * left. */
static bool discard_job(struct qless *q)
{
	struct qless_job *job = q->going_job;
	struct job_extra *extra;

	if (job == NULL) {
		struct hash_node *node = hash_take(&q->jobs);

		if (node == NULL)
			return false;
		job = container_of(node, struct qless_job, hash);
	}
	extra = job_extra(job);
	if (extra != NULL) {
		q->going_job = job;
		if (discard_edge(&extra->dependencies) || discard_edge(&extra->dependents))
			return true;
		discard_tags(extra->tags);
		free(extra->failure);
		job_discard_carried(job);
		q->going_job = NULL;
	}
	if ((job->flags & JOB_LIMITED) && job->state == QLESS_RUNNING)
		slots_discard(job);
	job_free_parts(job);
	history_discard(&job->history);
	job_free_memory(job);
	return true;
}

static bool discard_recur(struct qless *q)
{
	struct hash_node *node = hash_take(&q->recurs);
	struct qless_recur *recur;

	if (node == NULL)
		return false;
	recur = container_of(node, struct qless_recur, hash);
	free(recur->tags);
	free(recur->data);
	free(recur->terms);
	free(recur->schedule); /* the heap of ticks is discarded without a look at its nodes */
	free(recur);
	return true;
}

static bool discard_tracked(struct qless *q)
{
	struct hash_node *node = hash_take(&q->tracked);

	if (node == NULL)
		return false;
	free(container_of(node, struct tracked, hash));
	return true;
}

static bool discard_queue(struct qless *q)
{
	struct queue *queue;

	if (q->all_queues.count == 0)
		return false;
	queue = q->all_queues.items[q->all_queues.count - 1];
	if (shelves_discard_one(queue))
		return true;
	q->all_queues.count--;
	for (int i = 0; i < QUEUE_ALL_LISTS; i++)
		skiplist_done(&queue->lists[i]);
	fair_free(NULL, queue->fair);
	filing_free(NULL, queue->filing);
	stats_free_days(queue);
	free(queue);
	return true;
}

/* Free a worker, or one job that it holds. */
static bool discard_worker(struct qless *q)
{
	struct worker *worker = q->going_worker;
	struct hash_node *node;

	if (worker == NULL) {
		struct intern *name = intern_take(&q->worker_names);

		if (name == NULL)
			return false;
		q->going_worker = name->user;
		free(name);
		return true;
	}
	node = hash_take(&worker->held);
	if (node != NULL) {
		free(container_of(node, struct holding, hash));
		return true;
	}
	hash_done(&worker->held);
	skiplist_done(&worker->by_expiry);
	free(worker->days);
	free(worker);
	q->going_worker = NULL;
	return true;
}

static bool discard_limit_set(struct qless *q)
{
	struct hash_node *node = hash_take(&q->limit_sets);

	if (node == NULL)
		return false;
	free(container_of(node, struct limit_set, hash));
	return true;
}

static void discard_limit(void *object)
{
	named_limit_free(object);
}

static void discard_group(void *object)
{
	struct group *group = object;

	skiplist_done(&group->jobs);
	free(group);
}

static void discard_tag(void *object)
{
	struct tag *tag = object;

	skiplist_done(&tag->jobs);
	free(tag);
}

/* Free a name, and the object of that name if it still exists. */
static bool discard_name(struct intern_table *table, void (*discard)(void *object))
{
	struct intern *name = intern_take(table);

	if (name == NULL)
		return false;
	if (discard != NULL && name->user != NULL)
		discard(name->user);
	free(name);
	return true;
}

static bool discard_one(struct qless *q)
{
	return discard_job(q) || discard_recur(q) || discard_tracked(q) || discard_queue(q) ||
	       discard_worker(q) || discard_name(&q->queue_names, NULL) ||
	       discard_name(&q->group_names, discard_group) ||
	       discard_name(&q->tag_names, discard_tag) || discard_name(&q->names, NULL) ||
	       lanes_discard_one(q) || discard_limit_set(q) || unique_discard_one(q) ||
	       discard_name(&q->limit_names, discard_limit);
}

/* Free what exists once, or is empty by now. */
static void discard_rest(struct qless *q)
{
	assert(q->going_job == NULL && q->going_worker == NULL && q->all_queues.count == 0);
	assert(hash_count(&q->jobs) == 0 && hash_count(&q->recurs) == 0);
	intern_done(&q->queue_names);
	intern_done(&q->worker_names);
	intern_done(&q->group_names);
	intern_done(&q->tag_names);
	intern_done(&q->names);
	klasses_done(&q->klasses);
	intern_done(&q->limit_names);
	hash_done(&q->limit_sets);
	hash_done(&q->unique_keys);
	hash_done(&q->lanes);
	hash_done(&q->lane_groups);
	hash_done(&q->seats);
	hash_done(&q->bundles);
	skiplist_done(&q->limit_sweeps);
	free(q->patterns);
	hash_done(&q->jobs);
	hash_done(&q->recurs);
	hash_done(&q->tracked);
	skiplist_done(&q->queues);
	skiplist_done(&q->workers);
	skiplist_done(&q->completed);
	skiplist_done(&q->retained.list);
	heap_done(&q->retained.ends);
	skiplist_done(&q->tracks);
	skiplist_done(&q->tags);
	settings_done(&q->settings);
	engine_error_done(&q->error);
	buf_done(&q->event);
	buf_done(&q->channel);
	free(q->jobs_out.items);
	free(q->picked.items);
	skiplist_batch_done(&q->batch);
	free(q->list.items);
	free(q->list2.items);
	free(q->all_queues.items);
	heap_done(&q->due);
	heap_done(&q->ticks);
	heap_done(&q->runs);
	heap_done(&q->failures);
	free(q->queues_out.items);
	free(q->queue_counts);
	free(q->worker_counts);
	free(q->refused);
	free(q->group_counts);
	free(q);
}

bool qless_free_some(struct qless *q, size_t things)
{
	for (; things > 0; things--) {
		if (!discard_one(q)) {
			discard_rest(q);
			return false;
		}
	}
	return true;
}

void qless_free(struct qless *q)
{
	if (q != NULL)
		qless_free_some(q, SIZE_MAX);
}
