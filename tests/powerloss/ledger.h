/*
 * The ledger: what clients have learned, and when.
 *
 * It reads the requests and replies in a trace. A reply is a promise: from then on, every image
 * must have the records that the reply tells of. These are the record of the command itself, unless
 * the reply is an error or empty, and the first record with each token in the reply. Messages to
 * subscribers are promises, too.
 *
 * While the log is unwell after a failed sync, reads show what is not on the disk. So what they
 * tell counts only after the log is healthy again.
 */
#ifndef POWERLOSS_LEDGER_H
#define POWERLOSS_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "history.h"
#include "trace.h"
#include "util/buf.h"

struct ledger;

/* Borrows the history. */
struct ledger *ledger_new(const struct history *history);
void ledger_free(struct ledger *l);

/* Read an event. `at` is its offset in the trace. Appends a line to `findings` if the daemon
 * contradicts itself: it answered a command that it never recorded, or recorded a transaction in
 * pieces. */
void ledger_read(struct ledger *l, const struct trace_event *event, uint64_t at,
		 struct buf *findings);

/* Records that a power failure before the event at an offset must leave. */
struct ledger_demand {
	uint64_t sequence; /* of the newest record that was promised */
	/* If recovery ends with a certain number: the time between the oldest broken promise and
	 * the newest one that was news. Reads repeat promises, which counts for nothing. Negative:
	 * none is broken. */
	int64_t broken_us;
	size_t broken;	    /* number of broken promises */
	uint64_t broken_at; /* offset in the trace of the oldest one */
	size_t broken_token;
};

struct ledger_demand ledger_demand(const struct ledger *l, uint64_t cut, uint64_t recovered);

struct ledger_totals {
	size_t requests, replies, promises, transactions, errors;
};

struct ledger_totals ledger_totals(const struct ledger *l);

#endif
