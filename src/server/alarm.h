/*
 * The alarm: a timer that makes a turn of the loop at a precise time.
 *
 * The loop's own timers are precise to milliseconds only. Parts of the server that do something at
 * a known time ask for it in each turn, and the alarm rings at the earliest time asked for. If
 * nothing is to be done then any more, the turn does nothing. The alarm does not ring while nobody
 * has asked, so an idle server sleeps.
 */
#ifndef SERVER_ALARM_H
#define SERVER_ALARM_H

#include <stdint.h>

struct buf;
struct event;
struct server;

struct alarm {
	int fd;
	struct event *event;
	int64_t rings_us; /* monotonic: when it rings; INT64_MAX if it does not */
};

/* Returns -1, with a sentence in `ret_error`, if the system has no timer. */
int alarm_init(struct server *s, struct buf *ret_error);
void alarm_done(struct server *s);

/* Make a turn after this number of microseconds or earlier. Does nothing for INFINITY. */
void alarm_ring_in(struct server *s, double delay_us);

#endif
