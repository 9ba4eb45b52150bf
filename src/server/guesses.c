#include "server/guesses.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/mem.h"

/* Number of sets, a power of two. An address has its place in one of them. */
#define SETS 1024
/* Number of addresses in a set. */
#define WAYS 4
/* Bytes of the network part of an IPv6 address. */
#define NETWORK_BYTES 8

struct guesser {
	uint64_t address;
	int64_t last_us; /* of the last failure; 0 if the entry is free */
	int64_t retry_us;
	unsigned failures;
};

struct guesses {
	uint64_t seed;
	struct guesser sets[SETS][WAYS];
};

struct guesses *guesses_new(uint64_t seed)
{
	struct guesses *g = mem_zalloc(sizeof *g);

	g->seed = seed;
	return g;
}

void guesses_free(struct guesses *g)
{
	free(g);
}

/* Returns false if the text is not an IPv6 address in brackets. */
static bool parse_ipv6(struct qless_str text, struct in6_addr *ret_address)
{
	char plain[INET6_ADDRSTRLEN];

	if (text.len < 2 || text.len - 2 >= sizeof plain || text.ptr[0] != '[')
		return false;
	memcpy(plain, text.ptr + 1, text.len - 2);
	plain[text.len - 2] = '\0';
	return inet_pton(AF_INET6, plain, ret_address) == 1;
}

uint64_t guesses_address(const struct guesses *g, const char *peer)
{
	const char *port = strrchr(peer, ':');
	struct qless_str text = str_make(peer, port != NULL ? (size_t)(port - peer) : strlen(peer));
	struct in6_addr in6;

	/* All IPv4 addresses are in one such network when an IPv6 socket accepts them. */
	if (parse_ipv6(text, &in6) && !IN6_IS_ADDR_V4MAPPED(&in6))
		text = str_make((const char *)in6.s6_addr, NETWORK_BYTES);
	return hash_bytes(g->seed, text);
}

static const struct guesser *find(const struct guesses *g, uint64_t address, int64_t now_us)
{
	const struct guesser *set = g->sets[address % SETS];

	for (int i = 0; i < WAYS; i++) {
		if (set[i].last_us != 0 && set[i].address == address &&
		    now_us - set[i].last_us < GUESSES_FORGET_US)
			return &set[i];
	}
	return NULL;
}

/* Returns the entry to use for an address: its own, or the one that failed least recently. */
static struct guesser *claim(struct guesses *g, uint64_t address, int64_t now_us)
{
	struct guesser *set = g->sets[address % SETS], *oldest = &set[0];
	const struct guesser *own = find(g, address, now_us);

	if (own != NULL)
		return &set[own - set];
	for (int i = 1; i < WAYS; i++) {
		if (set[i].last_us < oldest->last_us)
			oldest = &set[i];
	}
	*oldest = (struct guesser){ .address = address };
	return oldest;
}

static int64_t delay_after(unsigned failures, int64_t max_us)
{
	int64_t delay_us = GUESSES_FIRST_DELAY_US;

	if (failures <= GUESSES_FREE)
		return 0;
	for (unsigned i = GUESSES_FREE + 1; i < failures && delay_us < max_us; i++)
		delay_us *= 2;
	return delay_us < max_us ? delay_us : max_us;
}

void guesses_add(struct guesses *g, uint64_t address, int64_t now_us, int64_t max_delay_us)
{
	struct guesser *guesser = claim(g, address, now_us);

	if (guesser->failures != UINT32_MAX)
		guesser->failures++;
	guesser->last_us = now_us;
	guesser->retry_us = now_us + delay_after(guesser->failures, max_delay_us);
}

int64_t guesses_retry_us(const struct guesses *g, uint64_t address, int64_t now_us)
{
	const struct guesser *guesser = find(g, address, now_us);

	return guesser != NULL && guesser->retry_us > now_us ? guesser->retry_us : 0;
}
