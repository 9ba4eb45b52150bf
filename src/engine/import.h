/*
 * Filling an empty engine with a state from elsewhere, piece by piece.
 *
 * For the programs that move queues in; no command uses it. The caller makes sure that numbers are
 * finite, and that names and texts are within the widest limits. Everything else is checked here: a
 * piece that does not fit is refused or changed, so the invariants hold after import_end(). The
 * order of the calls is:
 *
 *	import_begin()
 *	options, tracked jids		options by qless_config_set()
 *	jobs, each with its events
 *	dependencies, times of tags
 *	queues, workers and the jobs they hold, recurring jobs, statistics
 *	import_end()
 */
#ifndef ENGINE_IMPORT_H
#define ENGINE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/view.h"
#include "qless.h"

struct import {
	struct qless *engine;
	double max_history;
	struct qless_limits limits;
};

/* `engine` is empty and stays the property of the caller. */
void import_begin(struct import *import, struct qless *engine);
/* Release the jobs that wait for nothing, as of `now`. Returns the number of jobs. */
size_t import_end(struct import *import, double now);

/* Let histories be longer than the option `max-job-history` allows. Call this when the options are
 * set. */
void import_keep_histories(struct import *import);

void import_tracked(struct import *import, struct qless_str jid, double time);

struct import_job {
	/* As from qless_job_read(), except `tracked`, which follows from import_tracked(). A failed
	 * job has a failure, a running one a worker. The worker and the lock of a failed or
	 * complete job are ignored. */
	struct qless_job_info info;
	bool is_warned;	      /* running: the worker was warned that the lock expired */
	bool failure_cleared; /* the failure reads as an empty object */
	double due; /* depends: when it is due once its dependencies are complete; otherwise NAN */
	/* Its score in the list of its state. Newer failed jobs have higher ones. */
	double score;
	const struct qless_str *tags;
	size_t tag_count;
};

/* Returns NULL if that jid exists. The score gives the expiry of a lock without a warning, and the
 * time at which a job was completed. */
struct qless_job *import_job(struct import *import, const struct import_job *from);
void import_event(struct import *import, struct qless_job *job, const struct qless_event *event);
/* Returns false if the job has no such tag. */
bool import_tag_time(struct import *import, struct qless_str tag, struct qless_str jid,
		     double time);
/* Returns false if one of the jobs is missing, `jid` is not in the state depends, or `on` is
 * complete. */
bool import_dependency(struct import *import, struct qless_str jid, struct qless_str on);

void import_queue(struct import *import, struct qless_str name, double time);
void import_paused(struct import *import, struct qless_str name);
void import_worker(struct import *import, struct qless_str name, double time);
/* Returns false if the lock of the job expires at another time. The job is then held until that
 * time. */
bool import_holding(struct import *import, struct qless_str worker, struct qless_str jid,
		    double expires);
/* Returns false if the engine refuses it or already has it. */
bool import_recur(struct import *import, const struct qless_recur_put *put, uint64_t made,
		  double next);

struct import_series {
	double count;
	double mean;
	double vk;
	struct view_bucket *buckets; /* the call sorts them */
	size_t bucket_count;
};

/* Import how long jobs waited or ran on a day. Returns false, and imports nothing, if these numbers
 * are impossible. */
bool import_series(struct import *import, struct qless_str queue, double day, bool is_wait,
		   const struct import_series *series);
/* Returns false if the value is impossible. It is then left out or reduced. */
bool import_counter(struct import *import, struct qless_str queue, double day,
		    enum view_counter counter, int64_t value);

#endif
