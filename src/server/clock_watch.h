/*
 * Watching the server's clock.
 *
 * The time of native commands follows the clock of the machine, but not blindly: a clock that is
 * wrong for a moment must not expire all locks. The watch compares the clocks every second, logs
 * what it finds, and lets time step when the clock of the machine was set for good.
 */
#ifndef SERVER_CLOCK_WATCH_H
#define SERVER_CLOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "command/request.h"

struct server;

/* Longest error about the time of a client, in bytes. */
#define CLOCK_WATCH_ERROR_BYTES 256

struct clock_watch {
	uint64_t steps; /* the machine slept, or its clock was set and believed */
	/* Clients whose time was too far ahead. */
	uint64_t refused;
	char error[CLOCK_WATCH_ERROR_BYTES];
};

/* Call this when the log is loaded, with the newest time that it has from a server's clock. Later
 * native commands get later times, unless that time is in the far future. */
void clock_watch_begin(struct server *s, int64_t newest_us);

/* Call this once a second. */
void clock_watch_tick(struct server *s);

/* Seconds by which the time of native commands is ahead of the clock of the machine. */
double clock_watch_ahead_s(const struct server *s);

/* Returns why the time of a client cannot be used, as the line of an error reply, or NULL. For
 * struct command_env; `arg` is the server. */
const char *clock_watch_refusal(void *arg, struct session *session, double now);

#endif
