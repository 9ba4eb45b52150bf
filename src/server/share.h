/*
 * How many commands a connection may run in a turn of the loop, and for how long.
 *
 * Everybody waits for the turn to end, so a turn must not get longer with the number of connections
 * that have thousands of commands waiting. Each gets less as long as turns are long, and more again
 * when they are short. And as a command can be as much work as a thousand others, nobody begins
 * another one after a millisecond.
 */
#ifndef SERVER_SHARE_H
#define SERVER_SHARE_H

#include <stddef.h>
#include <stdint.h>

/* A turn should take no longer. */
#define SHARE_TURN_US 4000
/* What anybody may run when all have much to run, unless the configuration says less. */
#define SHARE_MIN 8
/* If turns were short, and one took so long, all have waited for something else, as for a fork, and
 * much has come meanwhile. Then each gets only so much for a start, so that who has waited longest
 * is served and told first. */
#define SHARE_STALL_US 6000
#define SHARE_BEHIND   2

/* Nobody begins another command after so long; late in a turn that is long already it is less. */
#define SHARE_TIME_US	   1000
#define SHARE_LATE_TIME_US 100

/* The share for a connection whose commands begin so long after the turn did. */
size_t share_now(size_t share, int64_t elapsed_us);
/* For how long it may begin commands. Each may run one, however long that takes. */
int64_t share_time_us(int64_t elapsed_us);

/* The share for the next turn after one that took so long, never more than `max`. */
size_t share_next(size_t share, int64_t turn_us, size_t max);

#endif
