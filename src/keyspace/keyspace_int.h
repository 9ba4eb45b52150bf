/*
 * How the keys are spelled; for the files of this folder alone.
 */
#ifndef KEYSPACE_KEYSPACE_INT_H
#define KEYSPACE_KEYSPACE_INT_H

#include "engine/view.h"
#include "keyspace/keyspace.h"

#define PREFIX_JOB	   STR("ql:j:")
#define PREFIX_RECUR	   STR("ql:r:")
#define PREFIX_QUEUE	   STR("ql:q:")
#define PREFIX_WORKER	   STR("ql:w:")
#define PREFIX_GROUP	   STR("ql:f:")
#define PREFIX_TAG	   STR("ql:t:")
#define PREFIX_STATS_WAIT  STR("ql:s:wait:")
#define PREFIX_STATS_RUN   STR("ql:s:run:")
#define PREFIX_STATS	   STR("ql:s:stats:")
#define SUFFIX_HISTORY	   STR("-history")
#define SUFFIX_NEEDS	   STR("-dependencies")
#define SUFFIX_NEEDED_BY   STR("-dependents")
#define SUFFIX_WORKER_JOBS STR(":jobs")

/* By enum view_queue_list. */
#define KEYSPACE_QUEUE_LISTS (VIEW_RECUR + 1)
extern const struct qless_str keyspace_queue_suffixes[KEYSPACE_QUEUE_LISTS];

/* The keys there is one of each. */
#define KEYSPACE_SINGLES 8
extern const struct qless_str keyspace_singles[KEYSPACE_SINGLES];

/* Whether a day's statistics of that kind are there. */
bool keyspace_has_counts(const struct view_day *day, enum keyspace_kind kind);

#endif
