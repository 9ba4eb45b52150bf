/*
 * Looking into the engine: what the read-only view of the ql:* keys is computed from.
 *
 * An in-project contract, not part of the library. Nothing here changes anything, and everything
 * that is returned is good until the next call that may. Lists are the engine's own: their nodes
 * know score and member (list->member(node)).
 */
#ifndef ENGINE_VIEW_H
#define ENGINE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qless.h"
#include "util/skiplist.h"
#include "util/str.h"

enum view_queue_list {
	VIEW_WORK,
	VIEW_LOCKS,
	VIEW_SCHEDULED,
	VIEW_DEPENDS,
	VIEW_RECUR,
};

/* Each NULL if there is no such queue, worker, tag or group. */
const struct skiplist *view_queue(const struct qless *q, struct qless_str queue,
				  enum view_queue_list list);
const struct skiplist *view_worker_jobs(const struct qless *q, struct qless_str worker);
const struct skiplist *view_tag_jobs(const struct qless *q, struct qless_str tag);
/* The failed jobs of a group; the newest is the last. */
const struct skiplist *view_group(const struct qless *q, struct qless_str group);

const struct skiplist *view_queues(const struct qless *q);
const struct skiplist *view_workers(const struct qless *q);
const struct skiplist *view_completed(const struct qless *q);
const struct skiplist *view_tracked(const struct qless *q);
const struct skiplist *view_tags(const struct qless *q);

/* The jobs that a job waits for, or that wait for it; NULL if there are none. All scores are 0. */
const struct skiplist *view_dependencies(const struct qless_job *job);
const struct skiplist *view_dependents(const struct qless_job *job);

/* What qless_job_read() does not tell. */
struct view_job {
	size_t history_count;
	double due;	      /* remembered while waiting for dependencies; NAN if none */
	bool is_warned;	      /* its worker knows that the lock expired */
	bool failure_cleared; /* an empty failure, not none */
};

void view_job(const struct qless_job *job, struct view_job *ret_view);

bool view_is_paused(const struct qless *q, struct qless_str queue);

/* Call `visit` for each name, in an order that depends on the hash seed: sort before showing. */
typedef void view_name_fn(void *arg, struct qless_str name);

void view_each_job(const struct qless *q, view_name_fn *visit, void *arg);
void view_each_recur(const struct qless *q, view_name_fn *visit, void *arg);
void view_each_queue(const struct qless *q, view_name_fn *visit, void *arg);
void view_each_worker(const struct qless *q, view_name_fn *visit, void *arg);
void view_each_tag(const struct qless *q, view_name_fn *visit, void *arg);
void view_each_group(const struct qless *q, view_name_fn *visit, void *arg);

/* Some jobs at a time, with anything happening between the calls: start with cursor 0, go on with
 * what is returned until that is 0. A job that is there all the time is visited exactly once. */
uint32_t view_scan_jobs(const struct qless *q, uint32_t cursor, view_name_fn *visit, void *arg);

uint64_t view_job_count(const struct qless *q);

/* ---- statistics ---- */

enum view_counter {
	VIEW_RETRIES,
	VIEW_FAILURES,
	VIEW_FAILED,
	VIEW_COUNTERS,
};

struct view_bucket {
	char unit; /* s, m, h or d */
	double value;
	uint64_t count;
};

struct view_series {
	double count; /* 0: nothing recorded */
	double mean;
	double vk;
	size_t bucket_count;
	const void *buckets;
};

struct view_day {
	double day; /* when it began */
	struct view_series wait;
	struct view_series run;
	int64_t counters[VIEW_COUNTERS];
	bool counted[VIEW_COUNTERS];
	bool any_counted;
};

/* The days of a queue, oldest first; false at the end. `i` counts from 0. */
bool view_stats_day(const struct qless *q, struct qless_str queue, size_t i,
		    struct view_day *ret_day);
/* The day that began then. */
bool view_find_stats_day(const struct qless *q, struct qless_str queue, double day,
			 struct view_day *ret_day);
struct view_bucket view_bucket(const struct view_series *series, size_t i);

#endif
