/*
 * The life of a job: the only way into a list of a queue, and the only end of a run.
 *
 * A job is in exactly one list, and its state says in which. On the way from one list to the next
 * it is in none and keeps its last state; placing it sets the next state. A table in run.c has the
 * states that may follow each state, and every change of state is checked against it.
 */
#ifndef ENGINE_RUN_H
#define ENGINE_RUN_H

#include "qless.h"
#include "engine/job.h"

struct queue;
struct skiplist;

/* The ends of a run. */
enum run_end {
	RUN_COMPLETED,
	RUN_FAILED,    /* reported by the worker */
	RUN_GIVEN_UP,  /* the worker gave the job back without retries left */
	RUN_RETURNED,  /* the worker gave the job back */
	RUN_TIMED_OUT, /* by a call */
	RUN_LOST,      /* the lock and its grace period expired */
	RUN_PUT,       /* another worker put the job somewhere else */
	RUN_REPUT,     /* its own worker did so, or the worker has no name */
	RUN_CANCELED,
	RUN_ENDS,
};

/* Record why an operation of a worker is refused: there is no job, it is not running, or another
 * worker holds it. Returns the code. */
int job_refuse(struct qless *q, enum qless_operation operation, struct qless_str jid,
	       const struct qless_job *job);

/* Check that the job of a jid, NULL if there is none, is running. */
static inline int job_check_running(struct qless *q, enum qless_operation operation,
				    struct qless_str jid, const struct qless_job *job)
{
	if (job != NULL && job->state == QLESS_RUNNING)
		return 0;
	return job_refuse(q, operation, jid, job);
}

/* Check that it is running and that `worker` holds it. */
static inline int job_check_owner(struct qless *q, enum qless_operation operation,
				  struct qless_str jid, const struct qless_job *job,
				  struct qless_str worker)
{
	if (job != NULL && job->state == QLESS_RUNNING &&
	    str_equal(intern_str(job->worker), worker))
		return 0;
	return job_refuse(q, operation, jid, job);
}

/* The list of the job by its state: the job is in it, or enters it next. */
struct skiplist *job_list(const struct qless *q, const struct qless_job *job);

/* The score of a job that has waited since `time`: higher priorities first, then older jobs. */
double job_work_score(const struct qless_job *job, double time);

/* The score of a job in its state unless something special happened to it. */
double job_usual_score(const struct qless_job *job);

/* Give the job another score in its list. */
void job_rescore(struct qless *q, struct qless_job *job, double score);

/* Take the job out of its list. For a running job use job_end_run(). */
void job_leave(struct qless *q, struct qless_job *job);

/* End the run of a running job: take it out of the locks, let its worker no longer hold it, and
 * count the end among the deeds of the worker. The member `worker` stays. */
void job_end_run(struct qless *q, struct qless_job *job, enum run_end end);

/* Place a job that is in no list in its queue as of `now`: among the depending jobs if it depends
 * on others, among the scheduled ones if `delay` is positive, otherwise among the waiting ones.
 * Returns its state. */
enum qless_state job_place(struct qless *q, struct qless_job *job, double now, double delay);
/* job_place() for a job that is due at a time, which may have passed. */
enum qless_state job_place_at(struct qless *q, struct qless_job *job, double now, double due);
/* Place a job that is in no list in the list of `state`, with that score. */
void job_place_as(struct qless *q, struct qless_job *job, enum qless_state state, double score);
/* Let a job whose run has ended wait in its queue, as old as its hand-out. */
void job_wait_again(struct qless *q, struct qless_job *job);
/* Place several jobs of one queue: job_batch_as() adds a job that is in no list to the batch of the
 * engine, and job_place_batch() inserts the batch. A waiting job with limits is placed at once. */
void job_batch_as(struct qless *q, struct qless_job *job, enum qless_state state, double score);
void job_place_batch(struct qless *q, struct queue *queue, enum qless_state state);
/* Place a job that is in no list in the list of the state that it has, for a snapshot or a
 * repair. */
void job_restore(struct qless *q, struct qless_job *job, double score);

/* Move a job that is in no list to a queue as a put does, and note that in its history. The caller
 * places it next. */
void job_join(struct qless *q, struct qless_job *job, struct queue *queue, double when);

#endif
