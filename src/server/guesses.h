/*
 * Failed logins of each address, and the time at which the address may try again.
 *
 * The first failures are free, because people mistype and passwords change. After them each failure
 * doubles the delay until the next attempt. The table has a fixed size. If it is full, the address
 * that failed least recently is forgotten.
 */
#ifndef SERVER_GUESSES_H
#define SERVER_GUESSES_H

#include <stdint.h>

/* Number of failures of an address without a delay. */
#define GUESSES_FREE 10
/* Microseconds of the delay after the first failure that is not free. */
#define GUESSES_FIRST_DELAY_US INT64_C(20000)
/* Microseconds without a failure after which an address is forgotten. */
#define GUESSES_FORGET_US (INT64_C(60) * 1000000)

struct guesses;

struct guesses *guesses_new(uint64_t seed);
void guesses_free(struct guesses *g);

/* Returns a number that stands for the address of a client. `peer` is "127.0.0.1:4711",
 * "[::1]:4711" or "/run/qlessd.sock:0". All IPv6 addresses of a network of 64 bits count as one,
 * because one client may use any of them. */
uint64_t guesses_address(const struct guesses *g, const char *peer);

/* Count a failed login. The delay that it causes is at most `max_delay_us`; 0 causes none. */
void guesses_add(struct guesses *g, uint64_t address, int64_t now_us, int64_t max_delay_us);

/* Returns when the address may try again, or 0 if it may try now. */
int64_t guesses_retry_us(const struct guesses *g, uint64_t address, int64_t now_us);

#endif
