/*
 * The end of a whole engine.
 *
 * Nothing is taken out of the lists and tables it is in, as these go as well: to look for a million
 * jobs in their lists, in the order of a hash table, would take a hundred times as long as to free
 * them. For the same reason names are not let go of one by one. And it can be done in parts, so
 * that whoever serves others meanwhile does not keep them waiting.
 */
#include "engine/engine_int.h"

#include <stdlib.h>

/* Each tagging is in the list as often as it counts. */
static void discard_tags(struct tag_list *list)
{
	uint32_t i;

	for (i = 0; list != NULL && i < list->count; i++) {
		if (--list->items[i]->node.aux == 0)
			free(list->items[i]);
	}
	free(list);
}

static void discard_edges(struct skiplist *list)
{
	struct skipnode *node;

	if (list == NULL)
		return;
	while ((node = skiplist_pop_first(list)) != NULL)
		free(container_of(node, struct edge, node));
	skiplist_done(list);
	free(list);
}

static void discard_job(struct qless_job *job)
{
	struct job_extra *extra = job->extra;

	if (extra != NULL) {
		discard_tags(extra->tags);
		discard_edges(extra->dependencies);
		discard_edges(extra->dependents);
		free(extra->failure);
		free(extra);
	}
	history_discard(&job->history);
	job_free_memory(job);
}

static void discard_recurs(struct qless *q)
{
	struct hash_node *node;

	while ((node = hash_take(&q->recurs)) != NULL) {
		struct qless_recur *recur = container_of(node, struct qless_recur, hash);

		free(recur->tags);
		free(recur->data);
		free(recur);
	}
}

static void discard_tracked(struct qless *q)
{
	struct hash_node *node;

	while ((node = hash_take(&q->tracked)) != NULL)
		free(container_of(node, struct tracked, hash));
}

static void discard_queue(void *object)
{
	struct queue *queue = object;

	skiplist_done(&queue->work);
	skiplist_done(&queue->locks);
	skiplist_done(&queue->scheduled);
	skiplist_done(&queue->depends);
	skiplist_done(&queue->recurring);
	stats_free_days(queue);
	free(queue);
}

static void discard_worker(void *object)
{
	struct worker *worker = object;
	struct hash_node *node;

	while ((node = hash_take(&worker->held)) != NULL)
		free(container_of(node, struct holding, hash));
	hash_done(&worker->held);
	skiplist_done(&worker->by_expiry);
	free(worker->days);
	free(worker);
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

/* The names, and what goes by them. */
static void discard_names(struct intern_table *table, void (*discard)(void *object))
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &table->hash) {
		struct intern *name = intern_from_node(node);

		if (name->user != NULL)
			discard(name->user);
	}
	intern_done(table);
}

/* All but the jobs. */
static void discard_rest(struct qless *q)
{
	discard_recurs(q);
	discard_tracked(q);
	discard_names(&q->queue_names, discard_queue);
	discard_names(&q->worker_names, discard_worker);
	discard_names(&q->group_names, discard_group);
	discard_names(&q->tag_names, discard_tag);
	intern_done(&q->names);
	hash_done(&q->jobs);
	hash_done(&q->recurs);
	hash_done(&q->tracked);
	skiplist_done(&q->queues);
	skiplist_done(&q->workers);
	skiplist_done(&q->completed);
	skiplist_done(&q->tracks);
	skiplist_done(&q->tags);
	settings_done(&q->settings);
	buf_done(&q->error);
	buf_done(&q->event);
	buf_done(&q->channel);
	free(q->jobs_out.items);
	free(q->picked.items);
	skiplist_batch_done(&q->batch);
	free(q->list.items);
	free(q->list2.items);
	free(q->all_queues.items);
	free(q->queues_out.items);
	free(q->queue_counts);
	free(q->worker_counts);
	free(q->group_counts);
	free(q);
}

bool qless_free_some(struct qless *q, size_t jobs)
{
	struct hash_node *node;

	for (; jobs > 0 && (node = hash_take(&q->jobs)) != NULL; jobs--)
		discard_job(container_of(node, struct qless_job, hash));
	if (hash_count(&q->jobs) > 0)
		return true;
	discard_rest(q);
	return false;
}

void qless_free(struct qless *q)
{
	if (q != NULL)
		qless_free_some(q, SIZE_MAX);
}
