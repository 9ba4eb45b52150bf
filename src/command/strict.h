/*
 * Checks of native commands. They refuse empty names, numbers that make no sense, options out of
 * range, and circles of dependencies. The engine and the forms of the reference accept these.
 *
 * These checks are about new commands of clients. The log may contain operations that fail them.
 */
#ifndef COMMAND_STRICT_H
#define COMMAND_STRICT_H

struct operation;
struct request;

/* The largest delay, priority or count. Doubles up to it have at least three binary digits after
 * the point, so no sum of a time and a delay loses more than a fraction of a second. */
#define STRICT_NUMBER_MAX 1e15

/* Check the operation of a native command. Returns 0, or a negative code with the error worded, as
 * request_fail() does. */
typedef int strict_fn(struct request *req, const struct operation *op);

strict_fn strict_put; /* also for requeue */
strict_fn strict_put_many;
strict_fn strict_pop;
strict_fn strict_complete;
strict_fn strict_fail;
strict_fn strict_retry;
strict_fn strict_depends;
strict_fn strict_priority;
strict_fn strict_unfail;
strict_fn strict_pause;
strict_fn strict_tag; /* also for recur.tag */
strict_fn strict_recur;
strict_fn strict_recur_update;
strict_fn strict_config_set;

/* Check the date of statistics, in seconds since 1970. */
int strict_date(struct request *req, double date);

#endif
