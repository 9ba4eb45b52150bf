/*
 * From the keys of a Redis to an engine in that state.
 *
 * Pure. What is not as qless leaves it is reported as a finding and dealt with by the rule of its
 * kind; there is no state that cannot be moved.
 */
#ifndef MOVING_BUILD_H
#define MOVING_BUILD_H

#include "moving/findings.h"
#include "moving/keys.h"
#include "qless.h"

/* The engine is empty. `now` is for jobs that turn out to wait for nothing. */
void build_engine(struct qless *engine, const struct keys *keys, double now,
		  struct findings *findings);

#endif
