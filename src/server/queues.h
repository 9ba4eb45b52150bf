/*
 * Figures of the queues of all databases, for INFO and /metrics. There are none while the state is
 * loaded.
 */
#ifndef SERVER_QUEUES_H
#define SERVER_QUEUES_H

#include "engine/view.h"
#include "util/buf.h"

struct server;
struct user;

/* Number of queues that have a line in INFO: those with most jobs. */
#define QUEUES_INFO_MAX 100
/* Number of queues whose rates are updated in a second, which takes less than a millisecond. If
 * there are more, each is updated less often. */
#define QUEUES_TICKED_A_SECOND 2000

struct queues_totals {
	uint64_t queues;
	uint64_t paused;
	uint64_t jobs;
	uint64_t complete;
	uint64_t retained; /* of these */
	uint64_t limits;
	uint64_t class_indexes;
	uint64_t class_entries;
	struct view_queue_figures sum; /* sums */
};

/* How far the update of rates has come. */
struct queue_ticker {
	unsigned db;
	size_t cursor;
};

void queues_sum(struct server *s, struct queues_totals *ret_totals);

/* Call this once a second: updates rates. */
void queues_tick(struct server *s);
/* The state has been loaded: start counting. */
void queues_begin(struct server *s);

/* Append a line for each queue, the largest first. */
void queues_append_info(struct server *s, struct buf *out);

/* Append a name. Bytes that would end the value or the line, and bytes that are not text, become
 * \xHH. */
void queues_append_name(struct buf *out, struct qless_str name);
/* Append the counts and rates of a queue or class. */
void queues_append_meter(struct buf *out, const struct meter *meter);
/* The user of the client that runs INFO, if it may not read all queues. */
const struct user *queues_find_viewer(const struct server *s);

/* The figures of a queue at one moment. */
struct queue_row {
	unsigned db;
	uint64_t jobs;
	uint64_t listeners;
	double oldest_wait_s; /* of the jobs that wait; only of the rows that are shown */
	struct view_queue_figures figures; /* name and meter belong to the snapshot */
};

struct queues_snapshot {
	struct queue_row *rows;
	size_t count;
	uint64_t left_out; /* queues beyond `max`, which have the fewest jobs */
	struct meter *meters;
	char *names;
};

void queues_take(struct server *s, size_t max, struct queues_snapshot *ret_snapshot);
void queues_snapshot_done(struct queues_snapshot *snapshot);

#endif
