/*
 * Stopping the server: it accepts no connections and runs no requests any more, sends the last
 * replies, and then server_run() returns.
 */
#ifndef SERVER_STOP_H
#define SERVER_STOP_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct server;

struct stop {
	bool is_begun;
	bool saves_log;	     /* SHUTDOWN SAVE: with a new snapshot in the log */
	int64_t deadline_us; /* monotonic: replies that have not left by then are lost */
	struct event *timer; /* checks whether the last replies have left */
};

void stop_init(struct server *s);
void stop_done(struct server *s);

/* Begin to stop. Does nothing if that has begun. */
void stop_begin(struct server *s);
/* Do not wait for replies to leave. */
void stop_at_once(struct server *s);
/* Returns whether the last replies have left, or their time is over. Reads the clocks. */
bool stop_is_over(struct server *s);

#endif
