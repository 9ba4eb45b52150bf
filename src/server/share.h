/*
 * How many commands a connection may run in a turn, and for how long.
 *
 * Every client waits for the end of the turn, so a turn must not get longer with the number of
 * connections that have thousands of commands waiting. While turns are long, each connection gets a
 * smaller share, and while they are short, a larger one. One command can take as long as a thousand
 * others, so a connection also begins no command after a millisecond.
 */
#ifndef SERVER_SHARE_H
#define SERVER_SHARE_H

#include <stddef.h>
#include <stdint.h>

/* Microseconds that a turn should take at most. */
#define SHARE_TURN_US 4000
/* Commands that a connection may always run, unless the configuration allows fewer. */
#define SHARE_MIN 8
/* Microseconds. If a single turn took this long after short ones, it waited for something else,
 * such as a fork, and many commands have arrived. Then each connection first gets
 * SHARE_AFTER_STALL commands, so that the client that waited longest gets its reply first. */
#define SHARE_STALL_US	  6000
#define SHARE_AFTER_STALL 2

/* Microseconds after which a connection begins no other command. Late in a long turn it is less. */
#define SHARE_TIME_US	   1000
#define SHARE_LATE_TIME_US 100

/* Returns the share of a connection whose commands begin `elapsed_us` after the turn. */
size_t share_now(size_t share, int64_t elapsed_us);
/* Returns for how many microseconds such a connection may begin commands. It may run one in any
 * case. */
int64_t share_time_us(int64_t elapsed_us);

/* Returns the share for the next turn after one that took `elapsed_us`; at most `max`. */
size_t share_next(size_t share, int64_t turn_us, size_t max);

#endif
