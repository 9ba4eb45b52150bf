/*
 * Builds an engine from the keys of a Redis with qless.
 *
 * Pure. A part of the state that differs from what qless writes is reported as a finding, and
 * handled by the rule of its kind. There is no state that cannot be moved.
 */
#ifndef MOVING_BUILD_H
#define MOVING_BUILD_H

#include "moving/findings.h"
#include "moving/keys.h"
#include "qless.h"

/* The engine is empty. `now` is the time at which jobs without remaining dependencies become
 * waiting. */
void build_engine(struct qless *engine, const struct keys *keys, double now,
		  struct findings *findings);

#endif
