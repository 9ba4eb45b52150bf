/*
 * What wakes a queue: something new to hand out, or the time at which something falls due.
 */
#ifndef ENGINE_DUE_H
#define ENGINE_DUE_H

#include "engine/queue.h"

/* The queue goes to the list of those that woke, unless it is there or paused. */
void queue_enter_woken(struct qless *q, struct queue *queue);
void queue_forget_woken(struct qless *q, struct queue *queue);
/* Something falls due in the queue earlier than what did so far. */
void queue_falls_due_earlier(struct qless *q, struct queue *queue, double when);
/* The queue is no longer paused, or has been changed in many places: it wakes, and what falls due
 * in it is looked for. */
void queue_resume(struct qless *q, struct queue *queue);
double queue_next_due(const struct queue *queue);
/* The first time after `time` at which something falls due in the queue. */
double queue_next_due_after(const struct queue *queue, double time);

/* The queue may have something new to hand out. */
static inline void queue_wake(struct qless *q, struct queue *queue)
{
	if (!queue->is_woken)
		queue_enter_woken(q, queue);
}

/* Something in the queue falls due then. */
static inline void queue_falls_due(struct qless *q, struct queue *queue, double when)
{
	if (when < queue->due.key)
		queue_falls_due_earlier(q, queue, when);
}

#endif
