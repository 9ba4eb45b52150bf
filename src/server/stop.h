/*
 * The end of the server: no new connections or requests, the last replies leave, and then
 * server_run() returns.
 */
#ifndef SERVER_STOP_H
#define SERVER_STOP_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct server;

struct stop {
	bool is_begun;
	bool saves_log;	     /* SHUTDOWN SAVE: with a new base in the log */
	int64_t deadline_us; /* monotonic: replies that have not left by then are lost */
	struct event *timer; /* looks whether the last replies have been delivered */
};

void stop_init(struct server *s);
void stop_done(struct server *s);

/* Stop serving. Does nothing if that has begun. */
void stop_begin(struct server *s);
/* Do not wait for replies to leave. */
void stop_at_once(struct server *s);
/* Returns whether the stop has come to its end. Reads the clocks. */
bool stop_is_over(struct server *s);

#endif
