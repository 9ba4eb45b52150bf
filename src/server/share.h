/*
 * How many commands a connection may run in a turn of the loop.
 *
 * Everybody waits for the turn to end, so a turn must not get longer with the number of connections
 * that have thousands of commands waiting. Each gets less as long as turns are long, and more again
 * when they are short.
 */
#ifndef SERVER_SHARE_H
#define SERVER_SHARE_H

#include <stddef.h>
#include <stdint.h>

/* A turn should take no longer. */
#define SHARE_TURN_US 4000
/* What anybody may run, unless the configuration says less. */
#define SHARE_MIN 8

/* The share for a connection whose commands begin so long after the turn did. */
size_t share_now(size_t share, int64_t elapsed_us);

/* The share for the next turn after one that took so long. It is never more than `max`, nor less
 * than SHARE_MIN unless that is. */
size_t share_next(size_t share, int64_t turn_us, size_t max);

#endif
