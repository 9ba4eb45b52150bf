/*
 * A slow, obvious model of an engine with limits: arrays of a few jobs, queues and limits, and
 * every question is answered by looking at all of them. It keeps no counters, no order and no
 * index, so it cannot have them wrong. A model is copied by assignment, to see what a call would
 * do.
 *
 * Jobs, queues, workers and limits are numbers. limits_model.c has their names.
 */
#ifndef TESTS_MODEL_LIMITS_MODEL_H
#define TESTS_MODEL_LIMITS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qless.h"

#define MODEL_JOBS	 40
#define MODEL_QUEUES	 3
#define MODEL_WORKERS	 4
#define MODEL_JOB_LIMITS 3
#define MODEL_KLASSES	 3

/* Names that jobs mention; then the limits of the queues; then patterns, which only rules have. */
#define MODEL_NAMES    7
#define MODEL_LIMITS   (MODEL_NAMES + MODEL_QUEUES)
#define MODEL_PATTERNS 4
#define MODEL_RULES    (MODEL_LIMITS + MODEL_PATTERNS)

/* Groups of failures: that of failures by a worker, then the one of each queue for used up
 * retries. */
#define MODEL_GROUPS (1 + MODEL_QUEUES)

#define MODEL_NONE -1

struct model_rule {
	bool exists;
	int64_t concurrency;
	double rate, per, burst, weight;
	double expires;
};

struct model_limit {
	double tat; /* theoretical arrival time of the cell rate algorithm; -INFINITY at first */
	double held_until;
	unsigned rule_changes;
};

struct model_job {
	bool exists;
	enum qless_state state;
	int klass;
	int queue;  /* MODEL_NONE once complete */
	int worker; /* MODEL_NONE without one */
	double priority;
	double retries;
	double remaining;
	double time;	/* of the last put, pop or complete */
	double score;	/* its place in the list of its state */
	double expires; /* what a reader of a running job sees */
	double due;	/* when it is due after its dependency; NAN: at once */
	double failure; /* number of the failure */
	int group;
	bool in_grace;
	bool is_held; /* the worker still has it on its list */
	int depends;  /* a job, or MODEL_NONE */
	int limits[MODEL_JOB_LIMITS];
	int limit_count;
};

struct model_queue {
	bool is_paused;
	bool is_fair;
	double max_concurrency; /* NAN if not set */
	double heartbeat;	/* NAN if not set */
	/* With fair order: the highest pass of a hand-out, and for each name its pass and whether
	 * jobs of it wait. The first name is that of the jobs without limits. */
	double pass;
	double passes[1 + MODEL_NAMES];
	bool is_waiting[1 + MODEL_NAMES];
};

struct model {
	struct model_job jobs[MODEL_JOBS];
	struct model_queue queues[MODEL_QUEUES];
	struct model_limit limits[MODEL_LIMITS];
	struct model_rule rules[MODEL_RULES];
	double heartbeat;
	double grace;
	double failures;
};

struct model_put {
	int queue, job, worker, klass;
	double delay;
	bool has_priority, has_retries, has_limits;
	double priority, retries;
	int limits[MODEL_JOB_LIMITS];
	int limit_count;
	int depends; /* MODEL_NONE: no dependency is given */
};

void model_init(struct model *m);

/* The name of a limit or, from MODEL_LIMITS on, a pattern. */
struct qless_str model_rule_name(int rule);
struct qless_str model_jid(int job);
struct qless_str model_queue_name(int queue);
struct qless_str model_worker_name(int worker);
struct qless_str model_group_name(int group);
struct qless_str model_klass_name(int klass);
/* The number of a job by its jid. */
int model_job_number(struct qless_str jid);

/* The rule that applies to a limit; NULL if none does. */
const struct model_rule *model_rule_of(const struct model *m, int limit);
/* Seconds between two hand-outs that a rule allows in the long run; 0 without a rate. */
double model_interval(const struct model_rule *rule);
/* The number of running jobs that name the limit. */
int model_running(const struct model *m, int limit);
bool model_names_limit(const struct model_job *job, int limit);
/* The number of waiting jobs of a queue before this one. */
int model_place(const struct model *m, int job);
/* The waiting jobs of a queue in their order. Returns their number. */
int model_waiting(const struct model *m, int queue, int ret_jobs[MODEL_JOBS]);
/* The jobs of a queue whose lock has expired, first to expire first. Returns their number. */
int model_expired(const struct model *m, int queue, double now, int ret_jobs[MODEL_JOBS]);

/* The calls. Those that may fail return the code of the error. */
int model_put_job(struct model *m, double now, const struct model_put *put);
/* Returns the number of jobs that are handed out, in their order. It stops after `steps` steps, see
 * qless_pop_some(). */
int model_pop(struct model *m, double now, int queue, int worker, int count, int steps,
	      int ret_jobs[MODEL_JOBS]);
/* The same for a pop of one class, which any class may have as `klass`. */
int model_pop_class(struct model *m, double now, int queue, int worker, int klass, int count,
		    int steps, int ret_jobs[MODEL_JOBS]);
int model_heartbeat(struct model *m, double now, int job, int worker);
/* `put` is the next queue with its options, or NULL. */
int model_complete(struct model *m, double now, int job, int worker, int queue,
		   const struct model_put *next);
int model_fail(struct model *m, double now, int job, int worker);
int model_retry(struct model *m, double now, int job, int worker, int queue, double delay);
int model_timeout(struct model *m, double now, int job);
int model_cancel(struct model *m, int job);
int model_unfail(struct model *m, double now, int queue, int group, int count);
int model_priority(struct model *m, int job, double priority);
void model_release(struct model *m, int worker, bool counts);
void model_renew(struct model *m, double now, int worker);
/* Whether jobs of equal priority take turns by their first limit. */
void model_set_fair(struct model *m, int queue, bool is_fair);
void model_advance(struct model *m, double now, int queue, int max);
void model_step_clock(struct model *m, double now, double from);
void model_limit_set(struct model *m, double now, int rule,
		     const struct qless_limit_change *change);
void model_limit_delete(struct model *m, double now, int rule);
void model_limit_hold(struct model *m, double now, int limit, double seconds);
/* Drop the rules whose time is over, and forget the limits that no job names and of which nothing
 * is left. */
void model_limit_sweep(struct model *m, double now);

/* Whether no job names the limit and nothing of it is left. */
bool model_is_idle(const struct model *m, int limit, double now);
/* When a limit opens at the latest known. */
double model_opens(const struct model *m, int limit);
/* Whether a pop of one job from the queue changes anything: it hands out a job, or it moves one
 * that is due or has lost its lock. */
bool model_pop_changes(const struct model *m, double now, int queue);
/* The same for a pop of one class. */
bool model_class_pop_changes(const struct model *m, double now, int queue, int klass);
/* The first time after `now` at which it does if nothing else happens; INFINITY if there is none.
 */
double model_next_change(const struct model *m, double now, int queue);

#endif
