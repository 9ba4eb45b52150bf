/*
 * The lists of a queue, one row each. Everything that walks the lists follows the rows: snapshots,
 * checks, repairs, the view of the ql:* keys, and the figures of queues. A new list needs a row
 * here, its key in keyspace/names.h, and the code that fills it.
 *
 *	X(NAME, field, figure, state, since, word, what, help)
 *
 *	NAME	QUEUE_<NAME> is its number
 *	field	in struct queue
 *	figure	its count in struct view_queue_figures, INFO and the metrics
 *	state	the state of its jobs, by which a job finds its list; QUEUE_NO_JOBS if it has no
 *		jobs. Stalled jobs are among the waiting ones.
 *	since	the first version of snapshots that has the list
 *	word	its lines in qless_dump()
 *	what	in findings: "<what> of queue "q" ..."
 *	help	of the metric qlessd_queue_<figure>_jobs
 */
#ifndef ENGINE_LISTS_H
#define ENGINE_LISTS_H

#include "qless.h"

/* In the order of snapshots. */
#define QUEUE_LIST_ROWS(X)                                                                    \
	X(WORK, work, waiting, QLESS_WAITING, 1, "work", "waiting jobs",                      \
	  "Jobs of the queue that wait for a worker (queue in INFO)")                         \
	X(LOCKS, locks, running, QLESS_RUNNING, 1, "lock", "locks",                           \
	  "Jobs of the queue that a worker has")                                              \
	X(SCHEDULED, scheduled, scheduled, QLESS_SCHEDULED, 1, "scheduled", "scheduled jobs", \
	  "Jobs of the queue that are to be run later")                                       \
	X(DEPENDS, depends, depends, QLESS_DEPENDS, 1, "depends", "depending jobs",           \
	  "Jobs of the queue that wait for other jobs")                                       \
	X(RECUR, recurring, recurring, QUEUE_NO_JOBS, 1, "recur", "recurring jobs",           \
	  "Recurring jobs of the queue")

/* Lists that no key shows: the view of the waiting jobs has both kinds. In snapshots they come
 * after the others. */
#define QUEUE_HIDDEN_LIST_ROWS(X)                                                             \
	X(LIMITED, limited, limited, QLESS_WAITING, 3, "limited", "waiting jobs with limits", \
	  "Jobs of the queue that wait for a worker and name limits")

/* The state column of a list without jobs: no state of a job. */
#define QUEUE_NO_JOBS (QLESS_COMPLETE + 1)

enum queue_list {
#define QUEUE_LIST_NUMBER(NAME, ...) QUEUE_##NAME,
	QUEUE_LIST_ROWS(QUEUE_LIST_NUMBER) QUEUE_HIDDEN_LIST_ROWS(QUEUE_LIST_NUMBER)
#undef QUEUE_LIST_NUMBER
		QUEUE_ALL_LISTS
};

/* The number of lists that keys show. */
#define QUEUE_LISTS QUEUE_LIMITED

struct queue_list_row {
	const char *figure;
	int state;
	unsigned since;
	const char *word;
	const char *what;
};

extern const struct queue_list_row queue_lists[QUEUE_ALL_LISTS];

static inline bool queue_list_has_jobs(enum queue_list list)
{
	return queue_lists[list].state != QUEUE_NO_JOBS;
}

#endif
