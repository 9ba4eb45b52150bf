/*
 * What saving and loading of snapshots share; for state.c and state_load.c alone.
 */
#ifndef ENGINE_STATE_INT_H
#define ENGINE_STATE_INT_H

#include "engine/engine_int.h"
#include "engine/state.h"

/* Integers below this are exact as doubles. */
#define STATE_INTEGER_MAX 9007199254740992.0
#define STATE_END_MARK	  0x51u

/* Kinds of names, each numbered by itself. */
enum state_kind {
	STATE_QUEUE,
	STATE_WORKER,
	STATE_GROUP,
	STATE_TAG,
	STATE_NAME,
	STATE_KINDS,
};

/* Of a queue or a worker. */
enum state_flag {
	STATE_KNOWN = 1 << 0,
	STATE_PAUSED = 1 << 1,
};

/* What a job has that most jobs do without, or is otherwise than with most. */
enum state_job_flag {
	STATE_JOB_WORKER = 1 << 0,
	STATE_JOB_REMAINING = 1 << 1, /* is not what `retries` is */
	STATE_JOB_EXPIRES = 1 << 2,   /* is not 0 */
	STATE_JOB_SCORE = 1 << 3,     /* is not the usual one */
	STATE_JOB_TAGS = 1 << 4,
	STATE_JOB_FAILURE = 1 << 5,
	STATE_JOB_DEPENDENTS = 1 << 6,
	STATE_JOB_SPAWNED = 1 << 7,
	STATE_JOB_DUE = 1 << 8,
	STATE_JOB_GRACE = 1 << 9,
	STATE_JOB_CLEARED = 1 << 10,
	STATE_JOB_STALLED = 1 << 11,
	STATE_JOB_FLAGS = (1 << 12) - 1,
};

#endif
