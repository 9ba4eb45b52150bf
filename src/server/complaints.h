/*
 * Limits for log lines about clients that misbehave.
 *
 * Anybody who reaches the port can cause these lines. The limits keep the disk from filling up.
 * Lines that are left out are counted.
 */
#ifndef SERVER_COMPLAINTS_H
#define SERVER_COMPLAINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Number of addresses whose clocks are remembered to be wrong. */
#define COMPLAINTS_ADDRESSES 64
/* Bytes of an address that are compared. Longer addresses are paths of Unix sockets. */
#define COMPLAINTS_ADDRESS_BYTES 48

struct skewed_address {
	char text[COMPLAINTS_ADDRESS_BYTES]; /* without the port */
	size_t len;
	int64_t logged_us; /* 0: the entry is free */
};

struct complaints {
	unsigned count; /* lines in this second */
	uint64_t left_out;
	int64_t misfit_us; /* when a misfit was logged last; 0 for never */
	uint64_t misfits_left_out;
	struct skewed_address skewed[COMPLAINTS_ADDRESSES];
};

/* Returns whether the log has room for one more line about a client, and counts the line. */
bool complaints_take(struct complaints *c);

/* Returns whether the log has room for a line about a peer that does not speak the protocol: one
 * line a second. Port scanners and misconfigured clients come back again and again.
 * *ret_left_out is the number of such peers since the last line. */
bool complaints_take_misfit(struct complaints *c, int64_t mono_us, uint64_t *ret_left_out);

/* Returns whether the log has room for a line about a client whose clock is wrong: one line an
 * hour for each address. `peer` is the address with its port. */
bool complaints_take_skew(struct complaints *c, int64_t mono_us, const char *peer);
/* Microseconds between two lines about the same address. */
#define COMPLAINTS_SKEW_DISTANCE_US (INT64_C(3600) * 1000000)

/* Call this once a second: logs how many lines were left out, and begins anew. */
void complaints_tick(struct complaints *c);

#endif
