/*
 * Moving what has come due.
 */
#ifndef ENGINE_ADVANCE_H
#define ENGINE_ADVANCE_H

#include <stdint.h>

#include "qless.h"

struct queue;

/* Move what has come due in a queue, as a pop of `max` jobs does. */
int64_t advance_for_pop(struct qless *q, struct queue *queue, double now, int64_t max);

#endif
