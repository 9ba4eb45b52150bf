/*
 * The server's clocks.
 *
 * The server reads the time once a turn, and once after each command: the end of a command is the
 * beginning of the next. Everything else uses these readings, because reading a clock costs more
 * than looking up a command.
 */
#ifndef SERVER_CLOCKS_H
#define SERVER_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/clock.h"

struct clocks {
	bool is_read;	 /* in this turn */
	int64_t mono_us; /* of this turn */
	int64_t wall_us;
	int64_t turn_us;	    /* by the native clock, when the turn began */
	int64_t lap_ns;		    /* monotonic: when the running command began */
	struct steady_clock native; /* for native queue commands; advances with `lap_ns` */
	int64_t started_mono_us;
	int64_t started_wall_us;
};

/* Reads the clocks for the first time. `c` must not move afterwards. */
void clocks_init(struct clocks *c);

/* A turn begins: the next clocks_read() reads the clocks anew. */
void clocks_begin_turn(struct clocks *c);

/* Read the clocks unless that has happened in this turn. */
void clocks_read(struct clocks *c);

#endif
