/*
 * A read-only view of the engine, from which the ql:* keys and the figures are computed.
 *
 * A contract inside the project, not part of the library. Nothing here changes the engine. Results
 * are valid until the next call that may change it. Lists are those of the engine: their nodes know
 * their score and member (list->member(node)).
 */
#ifndef ENGINE_VIEW_H
#define ENGINE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/lists.h"
#include "engine/meter.h"
#include "qless.h"
#include "util/skiplist.h"
#include "util/skipmerge.h"
#include "util/str.h"

/* Each returns NULL if there is no such queue, worker, tag or group. */
const struct skiplist *view_queue(const struct qless *q, struct qless_str queue,
				  enum queue_list list);
/* A list of a queue as its key shows it: the waiting jobs of both kinds are in one order. Returns
 * false if there is no such queue. */
bool view_queue_order(const struct qless *q, struct qless_str queue, enum queue_list list,
		      struct skipmerge *ret_order);
const struct skiplist *view_worker_jobs(const struct qless *q, struct qless_str worker);
const struct skiplist *view_tag_jobs(const struct qless *q, struct qless_str tag);
/* The failed jobs of a group, oldest first. */
const struct skiplist *view_group(const struct qless *q, struct qless_str group);

const struct skiplist *view_queues(const struct qless *q);
const struct skiplist *view_workers(const struct qless *q);
const struct skiplist *view_completed(const struct qless *q);
const struct skiplist *view_tracked(const struct qless *q);
const struct skiplist *view_tags(const struct qless *q);

/* The jobs that a job waits for, and those that wait for it; NULL if there are none. All scores are
 * 0. */
const struct skiplist *view_dependencies(const struct qless_job *job);
const struct skiplist *view_dependents(const struct qless_job *job);

/* Members of a job that qless_job_read() leaves out. */
struct view_job {
	size_t history_count;
	double due;	/* when it is due once its dependencies are complete; NAN if at once */
	bool is_warned; /* its worker was warned that the lock expired */
	bool failure_cleared; /* its failure reads as an empty object */
};

void view_job(const struct qless_job *job, struct view_job *ret_view);
/* When a job is due that is scheduled, or will be scheduled; NAN for other jobs. */
double view_job_due(const struct qless_job *job);

/* The lengths of the lists of a job; 0 if it does not exist. All functions on lengths take constant
 * time. */
struct view_lists {
	size_t tags;
	size_t dependencies;
	size_t dependents;
	size_t slots; /* limits of a running job */
};

struct view_lists view_lists(const struct qless *q, struct qless_str jid);
/* The number of tags of a recurring job; 0 if it does not exist. */
size_t view_recur_tags(const struct qless *q, struct qless_str jid);
/* About the number of tags of the jobs that recurring jobs make when `count` jobs are popped. */
size_t view_due_tags(const struct qless *q, double now, struct qless_str queue, double count);
/* About the number of old completed jobs that completions may purge now. */
size_t view_purgeable(const struct qless *q, double now);
/* Whether any job has tags, dependencies or limits. Otherwise all lengths of jobs are 0. */
bool view_has_lists(const struct qless *q);

/* A range of a list. */
struct view_range {
	const struct skiplist *list;
	uint32_t first; /* rank of the first node */
	uint64_t count;
	bool is_reverse;
};

/* Finds the ranges that qless_jobs() lists one after the other. Returns their number. */
#define VIEW_RANGES_MAX 2
unsigned view_jobs(const struct qless *q, double now, enum qless_listing listing,
		   struct qless_str queue, int64_t offset, int64_t count,
		   struct view_range ret_ranges[VIEW_RANGES_MAX]);

/* Find the range that qless_tagged() or qless_failed() lists. The list is NULL if there is no such
 * tag or group. */
void view_tagged(const struct qless *q, struct qless_str tag, int64_t offset, int64_t count,
		 struct view_range *ret_range);
void view_failed(const struct qless *q, struct qless_str group, int64_t offset, int64_t count,
		 struct view_range *ret_range);

/* Finds the ranges that qless_peek() lists: jobs with an expired lock, then waiting ones. The ranks
 * of the latter are those of view_queue_order(). */
unsigned view_peek(const struct qless *q, double now, struct qless_str queue, int64_t count,
		   struct view_range ret_ranges[VIEW_RANGES_MAX]);

/* Counts the jobs of one worker as qless_workers() does. */
struct qless_worker_counts view_worker_counts(const struct qless *q, double now,
					      struct qless_str worker);

bool view_is_paused(const struct qless *q, struct qless_str queue);

/* ---- finding the members of lists ---- */

/* Each returns the node of the name in the list, or NULL. The list of waiting jobs has both kinds.
 */
const struct skipnode *view_find_job(const struct qless *q, const struct skiplist *list,
				     struct qless_str jid);
const struct skipnode *view_find_recur(const struct qless *q, const struct skiplist *list,
				       struct qless_str jid);
const struct skipnode *view_find_worker_job(const struct qless *q, struct qless_str worker,
					    struct qless_str jid);
const struct skipnode *view_find_tag_job(const struct qless *q, struct qless_str tag,
					 struct qless_str jid);
const struct skipnode *view_find_queue(const struct qless *q, struct qless_str queue);
const struct skipnode *view_find_worker(const struct qless *q, struct qless_str worker);
const struct skipnode *view_find_tracked(const struct qless *q, struct qless_str jid);
const struct skipnode *view_find_tag(const struct qless *q, struct qless_str tag);

/* ---- everything there is ---- */

enum view_table {
	VIEW_JOBS,
	VIEW_RECURS,
	VIEW_QUEUES,
	VIEW_WORKERS,
	VIEW_GROUPS,
	VIEW_TAGS,
	VIEW_TABLES,
};

/* Call `visit` for each name, in an order that depends on the hash seed. */
typedef void view_name_fn(void *arg, struct qless_str name);

void view_each(const struct qless *q, enum view_table table, view_name_fn *visit, void *arg);

/* Visit some names at a time; the engine may change between the calls. `cursor` is 0 first, then
 * the value returned; 0 is returned at the end. A name that exists all the time is visited exactly
 * once. */
uint32_t view_scan(const struct qless *q, enum view_table table, uint32_t cursor,
		   view_name_fn *visit, void *arg);

/* The seed of the hashes of names, which clients do not know. */
uint64_t view_hash_seed(const struct qless *q);

/* view_scan() for jobs, without a search for each name. */
uint32_t view_scan_jobs(const struct qless *q, uint32_t cursor,
			void (*visit)(void *arg, const struct qless_job *job), void *arg);

/* Counts that need no walk. */
struct view_counts {
	uint64_t jobs;
	uint64_t depending;   /* jobs that have dependencies */
	uint64_t depended_on; /* jobs that have dependents */
	uint64_t recurs;
	uint64_t busy_workers; /* workers that hold something */
	uint64_t groups;
	uint64_t tags;
	uint64_t paused_queues;
};

void view_counts(const struct qless *q, struct view_counts *ret_counts);

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

/* The days of a queue, oldest first; returns false at the end. `i` counts from 0. */
bool view_stats_day(const struct qless *q, struct qless_str queue, size_t i,
		    struct view_day *ret_day);
/* The day that began at `day`. */
bool view_find_stats_day(const struct qless *q, struct qless_str queue, double day,
			 struct view_day *ret_day);
struct view_bucket view_bucket(const struct view_series *series, size_t i);

/* ---- monitoring ---- */

struct view_queue_figures {
	struct qless_str name;
	/* The length of each list, except that `running` leaves out expired locks, which are
	 * `stalled`. */
	union {
		uint64_t listed[QUEUE_LISTS];
		struct {
#define QUEUE_LIST_FIGURE(NAME, field, figure, ...) uint64_t figure;
			QUEUE_LIST_ROWS(QUEUE_LIST_FIGURE)
#undef QUEUE_LIST_FIGURE
		};
	};
	uint64_t stalled;
	uint64_t failed; /* jobs that failed in this queue */
	bool paused;
	const struct meter *meter;
};

typedef void view_queue_fn(void *arg, const struct view_queue_figures *queue);

struct view_class_figures {
	struct qless_str name;
	const struct meter *meter;
};

typedef void view_class_fn(void *arg, const struct view_class_figures *klass);

/* All classes with meters, in no order, then the class `other` unless it has counted nothing. */
void view_each_class(const struct qless *q, view_class_fn *visit, void *arg);

size_t view_queue_count(const struct qless *q);

/* Returns false if there is no such queue. */
bool view_queue_figures(const struct qless *q, double now, struct qless_str name,
			struct view_queue_figures *ret_figures);

/* All queues, in no order. */
void view_each_queue(const struct qless *q, double now, view_queue_fn *visit, void *arg);

/* Visits those of up to `max` queues in which jobs wait, beginning at `cursor`. That is 0 first,
 * then the value returned; 0 is returned after the last queue. If queues come and go, a queue may
 * be left out. */
size_t view_queues_with_work(const struct qless *q, size_t cursor, size_t max, view_name_fn *visit,
			     void *arg);

/* When the job that waits longest in a queue began to wait; NAN if none waits. Looks at the oldest
 * job of each priority, for the VIEW_PRIORITIES highest ones and the lowest. Priorities are taken
 * for whole numbers. */
#define VIEW_PRIORITIES 16
double view_oldest_waiting(const struct qless *q, struct qless_str queue);

/* The parts of all queues that are not empty. */
struct view_queue_parts {
	uint64_t lists;
	uint64_t waits; /* days with waiting times, with running times, with counters */
	uint64_t runs;
	uint64_t counters;
};

void view_count_parts(const struct qless *q, struct view_queue_parts *ret_parts);

/* Estimated bytes of jobs. */
struct view_memory {
	uint64_t jobs;
	uint64_t sampled; /* jobs that were looked at */
	uint64_t payload; /* jid, data, message of a failure */
	uint64_t index;	  /* nodes, table entries, tags and dependencies */
	uint64_t history;
};

/* Estimated bytes of all limits: their names, and the sets, lanes and groups by which jobs are
 * filed under them. Takes constant time. */
uint64_t view_limits_memory(const struct qless *q);
/* Add an estimate for the jobs of a list, from `samples` of them that are evenly spread. */
void view_jobs_memory(const struct skiplist *jobs, size_t samples, struct view_memory *memory);
/* Add an estimate for a queue and its jobs, with `samples` jobs of each list. */
void view_queue_memory(const struct qless *q, struct qless_str queue, size_t samples,
		       struct view_memory *memory);

#endif
