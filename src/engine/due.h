/*
 * Waking queues: because of something new to hand out, or because something falls due.
 */
#ifndef ENGINE_DUE_H
#define ENGINE_DUE_H

#include "engine/queue.h"

/* Add the queue to the list of woken queues, unless it is there or paused. */
void queue_enter_woken(struct qless *q, struct queue *queue);
void queue_forget_woken(struct qless *q, struct queue *queue);
/* Lower the key of the queue in the heap of due times. */
void queue_falls_due_earlier(struct qless *q, struct queue *queue, double when);
/* Wake the queue and look for what falls due in it: it is no longer paused, or was repaired. */
void queue_resume(struct qless *q, struct queue *queue);
double queue_next_due(const struct queue *queue);
/* The first time after `time` at which something falls due in the queue. */
double queue_next_due_after(const struct queue *queue, double time);

/* Note that the queue may have something new to hand out. */
static inline void queue_wake(struct qless *q, struct queue *queue)
{
	if (!queue->is_woken)
		queue_enter_woken(q, queue);
}

/* Note that something in the queue falls due at `when`. */
static inline void queue_falls_due(struct qless *q, struct queue *queue, double when)
{
	if (when < queue->due.key)
		queue_falls_due_earlier(q, queue, when);
}

#endif
