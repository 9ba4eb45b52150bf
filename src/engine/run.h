/*
 * The life of a job: the only way into a list of a queue, and the only end of a run.
 *
 * A job is in exactly one list, and which one follows from its state. On its way from one list to
 * the next the job is in none and keeps its last state; placing it gives it the next state. Which
 * states may follow each other is a table in run.c, and every change of state is checked there.
 */
#ifndef ENGINE_RUN_H
#define ENGINE_RUN_H

#include "qless.h"

struct queue;
struct skiplist;

/* What ended a run. */
enum run_end {
	RUN_COMPLETED,
	RUN_FAILED,    /* the worker said so */
	RUN_GIVEN_UP,  /* the worker gave the job back, and no retries were left */
	RUN_RETURNED,  /* the worker gave the job back */
	RUN_TIMED_OUT, /* by hand */
	RUN_LOST,      /* the lock expired, and its grace period as well */
	RUN_PUT,       /* another worker put the job somewhere else */
	RUN_REPUT,     /* its own worker did, or one without a name had it */
	RUN_CANCELED,
	RUN_ENDS,
};

/* The list that the job is in, or enters next, by its state. */
struct skiplist *job_list(const struct qless *q, const struct qless_job *job);

/* The score of a waiting job that has waited since `time`: higher priorities first, then older
 * jobs. */
double job_work_score(const struct qless_job *job, double time);

/* The score that a job in its state has unless something special happened to it. */
double job_usual_score(const struct qless_job *job);

/* Take the job out of its list. It is not running: job_end_run() is for those. */
void job_leave(struct qless *q, struct qless_job *job);

/* End the run of a running job: it loses its lock, its worker no longer holds it, and what happened
 * counts among the deeds of the worker. The job is in no list then; the field `worker` stays. */
void job_end_run(struct qless *q, struct qless_job *job, enum run_end end);

/* Place a job that is in no list. */

/* In its queue, as of `now`: with the jobs that depend on others if it does, with the scheduled
 * ones if `delay` is positive, otherwise with those that wait. Returns its state. */
enum qless_state job_place(struct qless *q, struct qless_job *job, double now, double delay);
/* In the list of that state, with that score. */
void job_place_as(struct qless *q, struct qless_job *job, enum qless_state state, double score);
/* Several jobs of one queue in its list of `state`: each is added to the engine's batch, and all
 * enter the list together. */
void job_batch_as(struct qless *q, struct qless_job *job, enum qless_state state, double score);
void job_place_batch(struct qless *q, struct queue *queue, enum qless_state state);
/* In the list of the state that it has already, for jobs that come from a snapshot or a repair. */
void job_restore(struct qless *q, struct qless_job *job, double score);

/* Move the job to a queue as a put does, to be noted in its history: the job is placed next. */
void job_join(struct qless *q, struct qless_job *job, struct queue *queue, double when);

#endif
