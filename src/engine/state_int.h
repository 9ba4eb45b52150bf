/*
 * Shared by the files that save and load snapshots.
 */
#ifndef ENGINE_STATE_INT_H
#define ENGINE_STATE_INT_H

#include "engine/engine_int.h"
#include "engine/state.h"

/* Integers below this are exact as doubles. */
#define STATE_INTEGER_MAX 9007199254740992.0
#define STATE_END_MARK	  0x51u
#define STATE_NUMBER_MARK 0x52u

/* Bytes of the longest name. The engine makes longer names than a call may have: jids of jobs that
 * recurring jobs make end in a number, and the group of exhausted retries is named after the queue.
 */
#define STATE_NAME_BYTES_MAX (QLESS_MAX_NAME_BYTES + 64)

/* The kinds of names, each numbered separately. */
enum state_kind {
	STATE_QUEUE,
	STATE_WORKER,
	STATE_GROUP,
	STATE_TAG,
	STATE_NAME,
	STATE_LIMIT,
	STATE_KINDS,
};

/* Flags of a queue or a worker. */
enum state_flag {
	STATE_KNOWN = 1 << 0,
	STATE_PAUSED = 1 << 1,
};

/* The members of a limit that are saved. */
enum state_limit_flag {
	STATE_LIMIT_RULE = 1 << 0,
	STATE_LIMIT_EXPIRES = 1 << 1, /* the rule has a time to live */
	STATE_LIMIT_TAT = 1 << 2,
	STATE_LIMIT_HELD = 1 << 3,
	STATE_LIMIT_FLAGS = (1 << 4) - 1,
};

/* The parts that follow the set of a recurring job. */
enum state_recur_flag {
	STATE_RECUR_SCHEDULE = 1 << 0,
	STATE_RECUR_TERMS = 1 << 1,
	STATE_RECUR_FLAGS = (1 << 2) - 1,
};

/* The optional members of a job, and other deviations from the usual job. */
enum state_job_flag {
	STATE_JOB_WORKER = 1 << 0,
	STATE_JOB_REMAINING = 1 << 1, /* differs from `retries` */
	STATE_JOB_EXPIRES = 1 << 2,   /* differs from 0 */
	STATE_JOB_SCORE = 1 << 3,     /* differs from job_usual_score() */
	STATE_JOB_TAGS = 1 << 4,
	STATE_JOB_FAILURE = 1 << 5,
	STATE_JOB_DEPENDENTS = 1 << 6,
	STATE_JOB_SPAWNED = 1 << 7,
	STATE_JOB_DUE = 1 << 8,
	STATE_JOB_GRACE = 1 << 9,
	STATE_JOB_CLEARED = 1 << 10,
	STATE_JOB_STALLED = 1 << 11,
	STATE_JOB_LOCK = 1 << 12,     /* since version 2 */
	STATE_JOB_LIMITS = 1 << 13,   /* since version 3 */
	STATE_JOB_TERMS = 1 << 14,    /* since version 3 */
	STATE_JOB_ACCOUNT = 1 << 15,  /* since version 3 */
	STATE_JOB_RUN = 1 << 16,      /* since version 3: it runs under a runtime */
	STATE_JOB_RETAINED = 1 << 17, /* since version 3 */
	STATE_JOB_FLAGS = (1 << 18) - 1,
};

#endif
