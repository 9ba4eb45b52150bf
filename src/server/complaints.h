/*
 * How much the log says about clients that misbehave.
 *
 * Anybody who reaches the port can cause these lines. They are limited, so that nobody fills the
 * disk with them, and what is left out is counted.
 */
#ifndef SERVER_COMPLAINTS_H
#define SERVER_COMPLAINTS_H

#include <stdbool.h>
#include <stdint.h>

struct complaints {
	unsigned count; /* lines in this second */
	uint64_t left_out;
	int64_t misfit_us; /* when a misfit was logged last; 0 for never */
	uint64_t misfits_left_out;
};

/* Returns whether the log has room for one more line about a client, and counts the line. */
bool complaints_take(struct complaints *c);

/* The same for a peer that does not speak the protocol. Port scanners and clients with a wrong
 * configuration come back again and again, and one line a second says as much as a thousand.
 * *ret_left_out is the number of peers that have got no line since the last one. */
bool complaints_take_misfit(struct complaints *c, int64_t mono_us, uint64_t *ret_left_out);

/* Call this once a second: logs how many lines were left out, and begins anew. */
void complaints_tick(struct complaints *c);

#endif
