/*
 * Queues: they come into being when something names them and go when nothing does any more.
 */
#include "engine/engine_int.h"

#include <assert.h>
#include <stdlib.h>

#include "util/mem.h"

struct qless_str queue_name(const struct queue *queue)
{
	return intern_str(queue->name);
}

struct queue *queue_find(const struct qless *q, struct qless_str name)
{
	struct intern *found = intern_find(&q->queue_names, name);

	return found != NULL ? found->user : NULL;
}

static struct queue *queue_new(struct qless *q, struct qless_str name)
{
	unsigned height = engine_draw_height(q);
	struct queue *queue = mem_zalloc(offsetof(struct queue, node) + skipnode_size(height));

	skipnode_init(&queue->node, height);
	queue->name = intern_get(&q->queue_names, name);
	queue->name->user = queue;
	skiplist_init(&queue->work, job_member);
	skiplist_init(&queue->locks, job_member);
	skiplist_init(&queue->scheduled, job_member);
	skiplist_init(&queue->depends, job_member);
	skiplist_init(&queue->recurring, recur_member);
	queue->heartbeat = settings_queue_number(q, name, STR("-heartbeat"));
	queue->max_concurrency = settings_queue_number(q, name, STR("-max-concurrency"));
	return queue;
}

struct queue *queue_need(struct qless *q, struct qless_str name)
{
	struct queue *queue = queue_find(q, name);

	return queue != NULL ? queue : queue_new(q, name);
}

void queue_release(struct qless *q, struct queue *queue)
{
	if (queue->job_count > 0 || skiplist_count(&queue->recurring) > 0 || queue->node.linked ||
	    queue->paused || queue->day_count > 0)
		return;
	queue_free(q, queue);
}

void queue_free(struct qless *q, struct queue *queue)
{
	if (queue->node.linked)
		skiplist_remove(&q->queues, &queue->node);
	skiplist_done(&queue->work);
	skiplist_done(&queue->locks);
	skiplist_done(&queue->scheduled);
	skiplist_done(&queue->depends);
	skiplist_done(&queue->recurring);
	stats_free_days(queue);
	queue->name->user = NULL;
	intern_unref(&q->queue_names, queue->name);
	free(queue);
}

void queue_know(struct qless *q, struct queue *queue, double now)
{
	if (queue->node.linked)
		return;
	skiplist_insert(&q->queues, &queue->node, now);
	engine_changed(q);
}

double queue_lock_expiry(const struct qless *q, const struct queue *queue, double now)
{
	double own = queue != NULL ? queue->heartbeat : NAN;

	return finite_add(now, isnan(own) ? q->settings.heartbeat : own);
}

void queue_enter_batch(struct qless *q, struct queue *queue)
{
	skiplist_insert_batch(&queue->work, &q->batch);
}

int64_t queue_promote(struct qless *q, struct queue *queue, double now, int64_t max)
{
	struct skipnode *node = skiplist_first_ge(&queue->scheduled, 0);
	int64_t moved = 0;

	if (q->is_still)
		return 0;
	for (; moved < max && node != NULL && node->score <= now; moved++) {
		struct qless_job *job = job_from_node(node);

		node = skiplist_next(node);
		skiplist_remove(&queue->scheduled, &job->node);
		job_batch_work(q, job, now);
		engine_changed(q);
	}
	if (moved > 0)
		queue_enter_batch(q, queue);
	return moved;
}

void queue_due_range(const struct qless *q, const struct queue *queue, double now,
		     uint32_t *ret_first, uint32_t *ret_end)
{
	*ret_first = skiplist_count_lt(&queue->scheduled, 0);
	*ret_end = *ret_first;
	if (now >= 0 && !q->is_still)
		*ret_end = skiplist_count_le(&queue->scheduled, now);
}

double queue_next_due(const struct queue *queue)
{
	const struct skipnode *lock = skiplist_first(&queue->locks);
	const struct skipnode *scheduled = skiplist_first_ge(&queue->scheduled, 0);
	const struct skipnode *recurring = skiplist_first_ge(&queue->recurring, 0);
	double due = INFINITY;

	if (queue->paused)
		return due;
	if (lock != NULL)
		due = lock->score;
	if (scheduled != NULL && scheduled->score < due)
		due = scheduled->score;
	if (recurring != NULL && recurring->score < due)
		due = recurring->score;
	return due;
}

double qless_queue_next_due(const struct qless *q, struct qless_str name)
{
	const struct queue *queue = queue_find(q, name);

	return queue != NULL ? queue_next_due(queue) : INFINITY;
}

double qless_next_due(const struct qless *q)
{
	double due = INFINITY;
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &q->queue_names.hash) {
		struct intern *name = intern_from_node(node);

		if (name->user != NULL)
			due = fmin(due, queue_next_due(name->user));
	}
	return due;
}

void qless_queues(struct qless *q, struct qless_list *ret_names)
{
	struct skipnode *node;

	str_vec_clear(&q->list);
	for (node = skiplist_first(&q->queues); node != NULL; node = skiplist_next(node))
		str_vec_push(&q->list, queue_name(container_of(node, struct queue, node)));
	*ret_names = (struct qless_list){ q->list.items, q->list.count, q->list.count };
}

/* Promotes up to `max` of what is due, and returns how many. What is left counts as waiting. */
static int64_t count_queue(struct qless *q, struct queue *queue, double now, int64_t max,
			   struct qless_queue_counts *ret_counts)
{
	int64_t moved = queue_promote(q, queue, now, max);
	uint64_t stalled = skiplist_count_range(&queue->locks, 0, now);
	uint32_t first_due, due_end;

	queue_due_range(q, queue, now, &first_due, &due_end);
	*ret_counts = (struct qless_queue_counts){
		.name = queue_name(queue),
		.waiting = skiplist_count(&queue->work) + (due_end - first_due),
		.running = skiplist_count(&queue->locks) - stalled,
		.stalled = stalled,
		.scheduled = skiplist_count(&queue->scheduled) - (due_end - first_due),
		.depends = skiplist_count(&queue->depends),
		.recurring = skiplist_count(&queue->recurring),
		.paused = queue->paused,
	};
	return moved;
}

int qless_queue_counts(struct qless *q, double now, struct qless_str name,
		       struct qless_queue_counts *ret_counts)
{
	struct queue *queue = queue_find(q, name);

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (queue != NULL)
		count_queue(q, queue, now, ENGINE_PROMOTE_MAX, ret_counts);
	else
		*ret_counts = (struct qless_queue_counts){ .name = name };
	return 0;
}

int qless_all_queue_counts(struct qless *q, double now, const struct qless_queue_counts **ret_items,
			   size_t *ret_count)
{
	int64_t max = ENGINE_PROMOTE_MAX;
	struct skipnode *node;
	size_t count = 0;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	q->queue_counts = mem_realloc_array(q->queue_counts, skiplist_count(&q->queues) + 1,
					    sizeof(*q->queue_counts));
	for (node = skiplist_first(&q->queues); node != NULL; node = skiplist_next(node))
		max -= count_queue(q, container_of(node, struct queue, node), now, max,
				   &q->queue_counts[count++]);
	*ret_items = q->queue_counts;
	*ret_count = count;
	return 0;
}

uint64_t qless_queue_length(const struct qless *q, struct qless_str name)
{
	const struct queue *queue = queue_find(q, name);

	if (queue == NULL)
		return 0;
	return (uint64_t)skiplist_count(&queue->locks) + skiplist_count(&queue->work) +
	       skiplist_count(&queue->scheduled);
}

int qless_pause(struct qless *q, double now, const struct qless_str *names, size_t count)
{
	size_t i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_names(q, "A queue", names, count) < 0)
		return QLESS_ELIMIT;
	for (i = 0; i < count; i++) {
		struct queue *queue = queue_need(q, names[i]);

		if (queue->paused)
			continue;
		queue->paused = true;
		q->paused_count++;
		engine_changed(q);
	}
	return 0;
}

int qless_unpause(struct qless *q, double now, const struct qless_str *names, size_t count)
{
	size_t i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	for (i = 0; i < count; i++) {
		struct queue *queue = queue_find(q, names[i]);

		if (queue == NULL || !queue->paused)
			continue;
		queue->paused = false;
		q->paused_count--;
		engine_changed(q);
		queue_release(q, queue);
	}
	return 0;
}

int qless_queue_forget(struct qless *q, double now, const struct qless_str *names, size_t count)
{
	size_t i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	for (i = 0; i < count; i++) {
		struct queue *queue = queue_find(q, names[i]);

		if (queue == NULL || !queue->node.linked)
			continue;
		skiplist_remove(&q->queues, &queue->node);
		engine_changed(q);
		queue_release(q, queue);
	}
	return 0;
}
