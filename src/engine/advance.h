/*
 * Moving jobs that have come due.
 */
#ifndef ENGINE_ADVANCE_H
#define ENGINE_ADVANCE_H

#include <stdint.h>

#include "qless.h"

struct queue;

/* Move the due jobs of a queue that a pop of `max` jobs moves. Returns the number of jobs moved and
 * made. */
int64_t advance_for_pop(struct qless *q, struct queue *queue, double now, int64_t max);

#endif
