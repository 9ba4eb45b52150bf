#include "server/complaints.h"

#include <string.h>

#include "sys/log.h"

/* Lines in a second, of all clients together. */
#define COMPLAINTS_PER_SECOND 10
/* Microseconds between two lines about peers that do not speak the protocol. */
#define MISFIT_DISTANCE_US 1000000

bool complaints_take(struct complaints *c)
{
	if (c->count == COMPLAINTS_PER_SECOND) {
		c->left_out++;
		return false;
	}
	c->count++;
	return true;
}

bool complaints_take_misfit(struct complaints *c, int64_t mono_us, uint64_t *ret_left_out)
{
	if (c->misfit_us != 0 && mono_us - c->misfit_us < MISFIT_DISTANCE_US) {
		c->misfits_left_out++;
		return false;
	}
	*ret_left_out = c->misfits_left_out;
	c->misfit_us = mono_us;
	c->misfits_left_out = 0;
	return true;
}

bool complaints_take_skew(struct complaints *c, int64_t mono_us, const char *peer)
{
	const char *port = strrchr(peer, ':');
	size_t len = port != NULL ? (size_t)(port - peer) : strlen(peer);
	struct skewed_address *entry = NULL;

	if (len > COMPLAINTS_ADDRESS_BYTES)
		len = COMPLAINTS_ADDRESS_BYTES;
	for (int i = 0; i < COMPLAINTS_ADDRESSES; i++) {
		struct skewed_address *a = &c->skewed[i];

		if (a->logged_us == 0 || mono_us - a->logged_us >= COMPLAINTS_SKEW_DISTANCE_US)
			entry = a; /* free, or its hour is over */
		else if (a->len == len && memcmp(a->text, peer, len) == 0)
			return false;
	}
	if (entry == NULL)
		return false;
	memcpy(entry->text, peer, len);
	entry->len = len;
	entry->logged_us = mono_us;
	return true;
}

void complaints_tick(struct complaints *c)
{
	if (c->left_out != 0)
		log_warning("%llu more lines about refused clients in the last second are left out",
			    (unsigned long long)c->left_out);
	c->count = 0;
	c->left_out = 0;
}
