/*
 * Repairs of named objects: the lists that they name, and the cost of each.
 */
#ifndef ENGINE_REPAIR_H
#define ENGINE_REPAIR_H

#include "engine/lists.h"
#include "qless.h"

struct skiplist;

/* The lists that a repair names. The log contains these numbers, so they never change. */
enum repair_list {
	LIST_QUEUES = 0,
	LIST_WORKERS = 1,
	LIST_COMPLETED = 2,
	LIST_TRACKS = 3,
	LIST_TAGS = 4,
	LIST_GROUP = 5,	 /* the jobs of a failure group; its name is the name of the repair */
	LIST_WORKER = 6, /* the jobs of a worker */
	LIST_TAG = 7,	 /* the jobs of a tag */
	LIST_QUEUE = 8,	 /* the first list of a queue; the others follow as in enum queue_list */
};

/* The counters that a repair names. The log contains these numbers, so they never change. */
enum repair_counter {
	COUNTS_QUEUE_NAME = 0, /* references to a name */
	COUNTS_WORKER_NAME = 1,
	COUNTS_GROUP_NAME = 2,
	COUNTS_TAG_NAME = 3,
	COUNTS_NAME = 4,
	COUNTS_QUEUE_JOBS = 5, /* jobs that name a queue */
	COUNTS_DEPENDING = 6,  /* counters of struct qless */
	COUNTS_DEPENDED = 7,
	COUNTS_BUSY = 8,
	COUNTS_GROUPS = 9,
	COUNTS_PAUSED = 10,
};

/* Whether a list has jobs, each of which belongs to one list. */
static inline bool repair_list_has_jobs(unsigned list)
{
	return list == LIST_COMPLETED || list == LIST_GROUP ||
	       (list >= LIST_QUEUE && queue_list_has_jobs((enum queue_list)(list - LIST_QUEUE)));
}

/* The table of names that a counter of references is about; NULL if it counts something else. */
struct intern_table *repair_names(struct qless *q, unsigned counter);

/* Make one repair if the state still needs it. Returns the number of repairs. */
size_t repair_run(struct qless *q, const struct qless_repair *repair);
/* The cost of a repair: 1 for one that takes O(log n), more for one that takes longer. */
size_t repair_weight(const struct qless *q, const struct qless_repair *repair);

#endif
