/*
 * The outcome of a job, decided by the answer of an endpoint.
 *
 *	2xx					complete
 *	408, 425, 429, 5xx, or no answer	retry
 *	other statuses				fail
 */
#ifndef PUSH_VERDICT_H
#define PUSH_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/str.h"

/* Seconds before the first retry of a job that names no backoff, and before a later one at most.
 * Each delay is twice the one before it, less up to a fifth. */
#define VERDICT_BACKOFF_BASE 1
#define VERDICT_BACKOFF_MAX  3600

enum verdict_kind {
	PUSH_COMPLETE,
	PUSH_RETRY,
	PUSH_FAIL,
};

/* Decides by the status; 0 means that there was no answer. */
enum verdict_kind push_verdict(int status);

/* Returns whether the answer says that the endpoint itself is not well: none, 429, or 5xx. An
 * answer about a single job is a good sign otherwise, whatever it says. */
bool push_is_trouble(int status);

/* Reads the value of a Retry-After: seconds, or a date of HTTP. Returns the seconds from `now_s`
 * on, at most `max`, or a negative number if it is neither. */
double push_read_retry_after(struct qless_str value, int64_t now_s, double max);

/* The delay before the next attempt after `attempt` (from 1) has failed: a hash of the jid and the
 * attempt decides how much shorter it is. */
double push_backoff(struct qless_str jid, unsigned attempt);

/* Appends the first `max` bytes of a body. Bytes that are no UTF-8 become U+FFFD, so the result
 * may be a few bytes longer than the body, never than `max`. Control characters stay. */
void push_append_text(struct buf *out, struct qless_str body, size_t max);

#endif
