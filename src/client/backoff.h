/*
 * How long to wait before the next attempt to connect.
 *
 * The delay doubles with each attempt, up to a maximum. It is chosen at random from its upper half,
 * so that the clients of a server that comes back do not all arrive at once.
 */
#ifndef CLIENT_BACKOFF_H
#define CLIENT_BACKOFF_H

#include <stdint.h>

/* Milliseconds. */
#define BACKOFF_FIRST_MS 100
#define BACKOFF_MAX_MS	 5000

struct backoff {
	unsigned first_ms;
	unsigned max_ms;
	unsigned attempts;
};

#define BACKOFF_INIT                                                   \
	{                                                              \
		.first_ms = BACKOFF_FIRST_MS, .max_ms = BACKOFF_MAX_MS \
	}

/* The delay before the next attempt. */
unsigned backoff_next_ms(struct backoff *b);

/* An attempt was successful: the next delay is the first one. */
void backoff_reset(struct backoff *b);

#endif
