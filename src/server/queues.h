/*
 * The queues of all databases, for INFO and /metrics. While the state is loaded there are none.
 */
#ifndef SERVER_QUEUES_H
#define SERVER_QUEUES_H

#include "engine/view.h"
#include "util/buf.h"

struct server;

/* INFO has a line for no more queues than these, those with most jobs. */
#define QUEUES_INFO_MAX 100
/* Rates of so many queues of a database are brought up to date in a second, which takes less than a
 * millisecond; where there are more, each has its turn less often. */
#define QUEUES_TICKED_A_SECOND 2000

struct queues_totals {
	uint64_t queues;
	uint64_t paused;
	uint64_t jobs;
	uint64_t complete;
	struct view_queue_figures sum; /* of numbers */
};

/* How far the rates of queues have been brought up to date. */
struct queue_ticker {
	unsigned db;
	size_t cursor;
};

void queues_sum(struct server *s, struct queues_totals *ret_totals);

/* Once a second: go on with the rates. */
void queues_tick(struct server *s);
/* The state has been loaded: count from here. */
void queues_begin(struct server *s);

/* A line for each queue, the largest first. */
void queues_append_info(struct server *s, struct buf *out);

/* Figures of queues as they were at one moment. */
struct queue_row {
	unsigned db;
	uint64_t jobs;
	struct view_queue_figures figures; /* name and meter belong to the snapshot */
};

struct queues_snapshot {
	struct queue_row *rows;
	size_t count;
	uint64_t left_out; /* beyond `max`: those with fewest jobs */
	struct meter *meters;
	char *names;
};

void queues_take(struct server *s, size_t max, struct queues_snapshot *ret_snapshot);
void queues_snapshot_done(struct queues_snapshot *snapshot);

#endif
