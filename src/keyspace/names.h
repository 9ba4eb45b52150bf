/*
 * How the ql:* keys and the fields of their hashes are spelled: the only place that knows.
 *
 * A key is a single name, or a prefix, the name of an object, and a suffix. The macros are string
 * literals for STR() and STR_INIT().
 */
#ifndef KEYSPACE_NAMES_H
#define KEYSPACE_NAMES_H

#include <stdbool.h>

#include "engine/lists.h"
#include "util/str.h"

/* ---- keys ---- */

#define NAMES_ALL "ql:"

#define NAMES_QUEUES	"ql:queues"
#define NAMES_WORKERS	"ql:workers"
#define NAMES_COMPLETED "ql:completed"
#define NAMES_TRACKED	"ql:tracked"
#define NAMES_TAGS	"ql:tags"
#define NAMES_FAILURES	"ql:failures"
#define NAMES_CONFIG	"ql:config"
#define NAMES_PAUSED	"ql:paused_queues"

#define NAMES_JOB	       "ql:j:"
#define NAMES_JOB_HISTORY      "-history"
#define NAMES_JOB_DEPENDENCIES "-dependencies"
#define NAMES_JOB_DEPENDENTS   "-dependents"
#define NAMES_RECUR	       "ql:r:"
#define NAMES_QUEUE	       "ql:q:"
#define NAMES_QUEUE_WORK       "-work"
#define NAMES_QUEUE_LOCKS      "-locks"
#define NAMES_QUEUE_SCHEDULED  "-scheduled"
#define NAMES_QUEUE_DEPENDS    "-depends"
#define NAMES_QUEUE_RECUR      "-recur"
#define NAMES_WORKER	       "ql:w:"
#define NAMES_WORKER_JOBS      ":jobs"
#define NAMES_GROUP	       "ql:f:"
#define NAMES_TAG	       "ql:t:"

/* The suffix of each list of a queue: NAMES_QUEUE_<NAME> for the row NAME of QUEUE_LIST_ROWS. */
extern const struct qless_str names_queue_suffixes[QUEUE_LISTS];

/* After these prefixes come the day, a colon, and the queue. */
#define NAMES_STATS	     "ql:s:"
#define NAMES_STATS_WAIT     NAMES_STATS "wait:"
#define NAMES_STATS_RUN	     NAMES_STATS "run:"
#define NAMES_STATS_COUNTERS NAMES_STATS "stats:"

/* ---- fields ---- */

/* Fields of statistics of a day, besides the buckets of a series. */
#define NAMES_SERIES_TOTAL "total"
#define NAMES_SERIES_MEAN  "mean"
#define NAMES_SERIES_VK	   "vk"

#define NAMES_COUNTER_RETRIES  "retries"
#define NAMES_COUNTER_FAILURES "failures"
#define NAMES_COUNTER_FAILED   "failed"

/* Fields of jobs and recurring jobs: FIELD(suffix in enum names_field, name, is_of_job, is_exact).
 *
 * Those that jobs lack belong to recurring jobs. Only old versions of the reference write
 * `history`. Two values of an exact field are equal if their bytes are; those of other fields are
 * also equal if they are the same number or the same JSON. */
#define NAMES_FIELDS(FIELD)                                 \
	FIELD(JID, "jid", true, true)                       \
	FIELD(KLASS, "klass", true, true)                   \
	FIELD(DATA, "data", true, true)                     \
	FIELD(PRIORITY, "priority", true, false)            \
	FIELD(TAGS, "tags", true, false)                    \
	FIELD(STATE, "state", true, false)                  \
	FIELD(WORKER, "worker", true, true)                 \
	FIELD(EXPIRES, "expires", true, false)              \
	FIELD(QUEUE, "queue", true, true)                   \
	FIELD(RETRIES, "retries", true, false)              \
	FIELD(REMAINING, "remaining", true, false)          \
	FIELD(TIME, "time", true, false)                    \
	FIELD(FAILURE, "failure", true, false)              \
	FIELD(SPAWNED_FROM, "spawned_from_jid", true, true) \
	FIELD(GRACE, "grace", true, false)                  \
	FIELD(SCHEDULED, "scheduled", true, false)          \
	FIELD(HISTORY, "history", true, false)              \
	FIELD(TYPE, "type", false, false)                   \
	FIELD(COUNT, "count", false, false)                 \
	FIELD(INTERVAL, "interval", false, false)           \
	FIELD(BACKLOG, "backlog", false, false)             \
	FIELD(CRON, "cron", false, true)                    \
	FIELD(TZ, "tz", false, true)                        \
	FIELD(RULE, "rule", false, true)                    \
	FIELD(MISSED, "missed", false, true)                \
	FIELD(OVERLAP, "overlap", false, true)

enum names_field {
#define NAMES_FIELD_ENUM(suffix, ...) NAMES_FIELD_##suffix,
	NAMES_FIELDS(NAMES_FIELD_ENUM)
#undef NAMES_FIELD_ENUM
		NAMES_FIELD_TOTAL,
};

struct names_field_row {
	struct qless_str name;
	bool is_of_job;
	bool is_exact;
};

/* By enum names_field. */
extern const struct names_field_row names_fields[NAMES_FIELD_TOTAL];

/* The name of a field, as in NAMES_FIELD(JID). */
#define NAMES_FIELD(suffix) (names_fields[NAMES_FIELD_##suffix].name)

/* The row of a field, or NULL. */
const struct names_field_row *names_find_field(struct qless_str name);

#endif
