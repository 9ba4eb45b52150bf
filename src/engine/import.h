/*
 * Filling an empty engine with a state that comes from elsewhere, piece by piece.
 *
 * For programs that move queues in; commands have no use for it. Numbers are finite, names and
 * texts within the widest limits; that is the caller's to see to. Everything else is checked here,
 * and what does not fit is refused or made to fit, so that the invariants hold after import_end()
 * whatever was given. In this order:
 *
 *	import_begin()
 *	options, tracked jids		options by qless_config_set()
 *	jobs, each with its events
 *	dependencies, times of tags
 *	queues, workers and what they hold, recurring jobs, statistics
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

/* The engine is empty, and is the caller's. */
void import_begin(struct import *import, struct qless *engine);
/* Jobs that wait for nothing go on as of `now`; returns how many. */
size_t import_end(struct import *import, double now);

/* Histories may be longer than the option `max-job-history` says: to be called when the options are
 * set. */
void import_keep_histories(struct import *import);

void import_tracked(struct import *import, struct qless_str jid, double time);

struct import_job {
	/* As qless_job_read() would tell it; `tracked` follows from import_tracked(). A job that
	 * has failed has a failure, a running one a worker; one that is over has neither a worker
	 * nor a lock, whatever is said here. */
	struct qless_job_info info;
	bool is_warned;	      /* running: the worker knows that the lock expired */
	bool failure_cleared; /* it reads as an empty object */
	double due;	      /* depends: remembered while waiting; otherwise NAN */
	/* Its place in the list of its state. Failed jobs: the higher, the newer. */
	double score;
	const struct qless_str *tags;
	size_t tag_count;
};

/* NULL if there is a job of that jid. Its lock expires when its place says, unless it was warned;
 * it was completed when its place says. */
struct qless_job *import_job(struct import *import, const struct import_job *from);
void import_event(struct import *import, struct qless_job *job, const struct qless_event *event);
/* False if the job has no such tag. */
bool import_tag_time(struct import *import, struct qless_str tag, struct qless_str jid,
		     double time);
/* False if that cannot be: one of them is missing, or the one is not in the state depends, or the
 * other complete. */
bool import_dependency(struct import *import, struct qless_str jid, struct qless_str on);

void import_queue(struct import *import, struct qless_str name, double time);
void import_paused(struct import *import, struct qless_str name);
void import_worker(struct import *import, struct qless_str name, double time);
/* False if the lock of the job expires at another time: then it is held until then. */
bool import_holding(struct import *import, struct qless_str worker, struct qless_str jid,
		    double expires);
/* False if the engine does not take it, or has it. */
bool import_recur(struct import *import, const struct qless_recur_put *put, uint64_t made,
		  double next);

struct import_series {
	double count;
	double mean;
	double vk;
	struct view_bucket *buckets; /* sorted by the call */
	size_t bucket_count;
};

/* How long jobs waited or ran on a day. False if that cannot have been: then nothing is taken. */
bool import_series(struct import *import, struct qless_str queue, double day, bool is_wait,
		   const struct import_series *series);
/* False if not all of it can be so. */
bool import_counter(struct import *import, struct qless_str queue, double day,
		    enum view_counter counter, int64_t value);

#endif
