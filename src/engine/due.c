/*
 * Waking queues: because of something new to hand out, or because something falls due.
 *
 * A queue that wakes enters a list, once, until it is taken. If nobody takes it, it stays in the
 * list and a put costs one test.
 *
 * A heap has the queues by when something next falls due in them. The key of a queue is a lower
 * bound. It goes down as soon as something with an earlier time enters. It does not go up when the
 * earliest thing leaves, which nearly every complete would cause. first_due() corrects the key on
 * top before it is used. A time that qless_take_due() has reported may lie below the key.
 */
#include "engine/due.h"

#include <assert.h>
#include <math.h>

#include "engine/engine_int.h"
#include "engine/lane.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "util/container.h"

/* ---- queues that woke ---- */

void queue_enter_woken(struct qless *q, struct queue *queue)
{
	assert(!queue->is_woken && queue->prev_woken == NULL && queue->next_woken == NULL);
	if (queue->paused)
		return;
	queue->is_woken = true;
	queue->prev_woken = q->last_woken;
	if (q->last_woken != NULL)
		q->last_woken->next_woken = queue;
	else
		q->first_woken = queue;
	q->last_woken = queue;
}

void queue_forget_woken(struct qless *q, struct queue *queue)
{
	if (!queue->is_woken)
		return;
	assert(queue->prev_woken != NULL ? queue->prev_woken->next_woken == queue
					 : q->first_woken == queue);
	assert(queue->next_woken != NULL ? queue->next_woken->prev_woken == queue
					 : q->last_woken == queue);
	if (queue->prev_woken != NULL)
		queue->prev_woken->next_woken = queue->next_woken;
	else
		q->first_woken = queue->next_woken;
	if (queue->next_woken != NULL)
		queue->next_woken->prev_woken = queue->prev_woken;
	else
		q->last_woken = queue->prev_woken;
	queue->is_woken = false;
	queue->prev_woken = queue->next_woken = NULL;
}

bool qless_take_woken(struct qless *q, struct qless_str *ret_queue)
{
	struct queue *queue = q->first_woken;

	if (queue == NULL)
		return false;
	assert(queue->is_woken && queue->prev_woken == NULL);
	queue_forget_woken(q, queue);
	*ret_queue = queue_name(queue);
	return true;
}

bool qless_has_woken(const struct qless *q)
{
	return q->first_woken != NULL;
}

/* ---- when something falls due ---- */

static double score_of(const struct skipnode *node)
{
	return node != NULL ? node->score : INFINITY;
}

static bool has_limits(const struct queue *queue)
{
	return queue->limit != NULL || skiplist_count(&queue->limited) > 0;
}

/* The first time after `time` at which a limit of the queue opens, or of its jobs. */
static double next_open_after(const struct queue *queue, double time)
{
	double ready = queue->limit != NULL ? named_limit_ready(queue->limit) : -INFINITY;

	return fmin(ready > time ? ready : INFINITY, lanes_next_open_after(queue, time));
}

/* Scheduled and recurring jobs that were due before 1970 never are: the reference ignores negative
 * times. */
double queue_next_due(const struct queue *queue)
{
	double due = score_of(skiplist_first(&queue->locks));

	due = fmin(due, score_of(skiplist_first_ge(&queue->scheduled, 0)));
	due = fmin(due, score_of(skiplist_first_ge(&queue->recurring, 0)));
	return has_limits(queue) ? fmin(due, next_open_after(queue, -INFINITY)) : due;
}

static const struct skipnode *first_after(const struct skiplist *list, double time)
{
	return time < 0 ? skiplist_first_ge(list, 0) : skiplist_first_gt(list, time);
}

/* When the first of the overdue recurring jobs makes a job after `time`. A backlog may skip the
 * overdue run. */
static double next_late_run(const struct queue *queue, double time)
{
	const struct skipnode *node = skiplist_first_ge(&queue->recurring, 0);
	double due = INFINITY;

	for (; node != NULL && node->score <= time; node = skiplist_next(node)) {
		double run = recur_next_run(recur_from_node(node), time);

		if (run > time)
			due = fmin(due, run);
	}
	return due;
}

double queue_next_due_after(const struct queue *queue, double time)
{
	double due = score_of(skiplist_first_gt(&queue->locks, time));

	due = fmin(due, score_of(first_after(&queue->scheduled, time)));
	due = fmin(due, score_of(first_after(&queue->recurring, time)));
	if (has_limits(queue))
		due = fmin(due, next_open_after(queue, time));
	return fmin(due, next_late_run(queue, time));
}

static void set_due(struct qless *q, struct queue *queue, double due)
{
	assert(heap_has(&queue->due) == (queue->due.key < INFINITY));
	if (due == INFINITY) {
		if (heap_has(&queue->due))
			heap_remove(&q->due, &queue->due);
	} else if (heap_has(&queue->due)) {
		heap_rekey(&q->due, &queue->due, due);
	} else {
		heap_insert(&q->due, &queue->due, due);
	}
}

void queue_falls_due_earlier(struct qless *q, struct queue *queue, double when)
{
	assert(when < queue->due.key);
	set_due(q, queue, when);
}

/* When the queue wakes: something falls due in it, or a pop of one class tries again. */
static double next_wake(const struct queue *queue)
{
	return fmin(queue_next_due(queue), queue->class_due);
}

static double next_wake_after(const struct queue *queue, double time)
{
	double due = queue_next_due_after(queue, time);

	return queue->class_due > time ? fmin(due, queue->class_due) : due;
}

void queue_resume(struct qless *q, struct queue *queue)
{
	queue_wake(q, queue);
	queue_falls_due(q, queue, next_wake(queue));
}

/* Returns the queue on top of the heap with a correct key; NULL if nothing falls due. */
static struct queue *first_due(struct qless *q)
{
	struct heap_node *node;

	while ((node = heap_first(&q->due)) != NULL) {
		struct queue *queue = container_of(node, struct queue, due);
		double due = queue->paused ? INFINITY : next_wake(queue);

		/* A key above the due time means that the due time was reported. */
		if (due <= node->key)
			return queue;
		set_due(q, queue, due);
	}
	return NULL;
}

double qless_next_due(struct qless *q)
{
	const struct queue *queue = first_due(q);

	return queue != NULL ? queue->due.key : INFINITY;
}

double qless_queue_next_due(const struct qless *q, struct qless_str name)
{
	const struct queue *queue = queue_find(q, name);

	return queue != NULL && !queue->paused ? queue_next_due(queue) : INFINITY;
}

bool qless_take_due(struct qless *q, double now, struct qless_str *ret_queue)
{
	struct queue *queue = first_due(q);

	if (queue == NULL || !(queue->due.key <= now))
		return false;
	set_due(q, queue, next_wake_after(queue, now));
	assert(queue->due.key > now || queue->due.key == INFINITY);
	q->due_taken = fmax(q->due_taken, now);
	queue_wake(q, queue);
	*ret_queue = queue_name(queue);
	return true;
}
