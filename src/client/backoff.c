#include "client/backoff.h"

#include "sys/entropy.h"

unsigned backoff_next_ms(struct backoff *b)
{
	uint64_t delay_ms = b->first_ms;

	for (unsigned i = 0; i < b->attempts && delay_ms < b->max_ms; i++)
		delay_ms *= 2;
	if (delay_ms > b->max_ms)
		delay_ms = b->max_ms;
	b->attempts++;
	return (unsigned)(delay_ms - entropy_u64() % (delay_ms / 2 + 1));
}

void backoff_reset(struct backoff *b)
{
	b->attempts = 0;
}
