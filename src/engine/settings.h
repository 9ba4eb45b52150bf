/*
 * Options: their text, and the numbers that the engine uses.
 */
#ifndef ENGINE_SETTINGS_H
#define ENGINE_SETTINGS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "qless.h"

struct option {
	char *name;
	char *value;
	size_t name_len;
	size_t value_len;
};

struct settings {
	struct option *options; /* by name */
	size_t count;
	size_t cap;
	/* The options that the engine uses, as numbers. */
	double heartbeat;
	double grace_period;
	double stats_history;
	double histogram_history;
	double jobs_history;
	double jobs_history_count;
	double max_job_history;
	double max_worker_age;
	double failed_history;	     /* 0: for ever */
	double failed_history_count; /* 0: any number */
};

void settings_init(struct settings *s);
void settings_done(struct settings *s);
/* The option that is set, or NULL. */
const struct option *settings_find(const struct settings *s, struct qless_str name);
/* The number of the option <queue><suffix>; NAN if it is not set. */
double settings_queue_number(const struct qless *q, struct qless_str queue,
			     struct qless_str suffix);
/* Whether the option <queue>-order is `fair`. Any other value is as without the option. */
bool settings_is_fair(const struct qless *q, struct qless_str queue);
/* The seconds of the option <queue>-runtime; 0 if it is not set. A value that is not a positive
 * number is as without the option. */
double settings_runtime(const struct qless *q, struct qless_str queue);
/* The same for the option <queue>-start-timeout. */
double settings_start_timeout(const struct qless *q, struct qless_str queue);
/* The seconds of the option <queue>-retain: INFINITY if it is `ack`, and NAN if it is not set. A
 * value that is neither `ack` nor a number from 0 on is as without the option. */
double settings_retain(const struct qless *q, struct qless_str queue);
/* Set the option <queue>-max-concurrency. Returns 0, or a code with the error recorded. 0 is as
 * without the option, so it unsets the option. */
int settings_set_concurrency(struct qless *q, struct qless_str queue, int64_t concurrency);
/* Returns whether it was set. */
bool settings_unset_concurrency(struct qless *q, struct qless_str queue);
/* Whether two such numbers are equal; NAN equals NAN. */
static inline bool same_option(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

#endif
