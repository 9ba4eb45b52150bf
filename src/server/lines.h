/*
 * Lines: clients that wait for jobs.
 *
 * Each queue that a waiting client names has a line, with the clients in the order in which they
 * began to wait. A client has a place in the line of each of its queues. When the engine says that
 * a queue woke, the first client in its line tries again to pop. It pops from all of its queues in
 * whose lines it is the first, so nobody is overtaken. It leaves all lines once it has a job.
 *
 *	queue "a":  w1 - w3
 *	queue "b":  w1 - w2 - w3	a job in "b" goes to w1, and the next one to w2
 *
 * Joining a line, leaving it and finding its first client take constant time. So a put costs the
 * same however many clients wait, and nothing while nobody waits.
 *
 * A hand-over is an ordinary pop: only that reaches the log. Nothing is handed over while nothing
 * may change: during CLIENT PAUSE, and while the log cannot be written or synced. A queue that
 * wakes meanwhile stays awake until then.
 *
 * The alarm of the server rings when the next timeout ends, or when something falls due in a
 * database for which a client waits.
 */
#ifndef SERVER_LINES_H
#define SERVER_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "util/hash.h"
#include "util/heap.h"
#include "util/str.h"

struct client;
struct line;
struct line_wait;
struct request;
struct server;

TAILQ_HEAD(line_list, line);

struct lines {
	struct hash *by_queue;	  /* the lines of each database */
	unsigned databases;	  /* the number of databases */
	size_t waiting;		  /* number of waiting clients */
	uint64_t next_number;	  /* of a client that begins to wait */
	struct heap timeouts;	  /* of clients, by their monotonic time in microseconds */
	struct line_list pending; /* whose queues woke, until their clients were served */
	bool is_held;		  /* nothing could be handed over in the last turn */
};

void lines_init(struct server *s);
void lines_done(struct server *s);

/* For struct command_env. */
bool lines_is_next(void *arg, const struct request *req, struct qless_str queue,
		   const struct qless_str *klass);
void lines_wait(void *arg, const struct request *req, struct qless_str worker,
		const struct qless_str *queues, size_t count, const struct qless_str *klass,
		double timeout_s);

/* Leave all lines, and free the places. For waiting.c. */
void lines_leave(struct server *s, struct line_wait *wait);
/* Memory of the places. `wait` may be NULL. */
size_t lines_memory(const struct line_wait *wait);

/* Read for which worker and queues a client waits. The result borrows from its request. Returns
 * false if the client does not wait for jobs. */
bool lines_read_wait(const struct client *c, struct qless_str *ret_worker,
		     const struct qless_str **ret_queues, size_t *ret_count);

/* Serve the clients that wait for the queues of a database. Call this after each command. */
void lines_serve(struct server *s, unsigned db);

/* Returns whether no client waits. */
static inline bool lines_are_empty(const struct lines *lines)
{
	return lines->waiting == 0;
}
/* Returns whether clients can be served without anything new. */
bool lines_can_run(const struct server *s);
/* End the waits whose time is over, serve clients, and set the alarm. Once in each turn, unless
 * lines_are_empty(). */
void lines_run(struct server *s);

#endif
