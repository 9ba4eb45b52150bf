#include "push/circuit.h"

#include <assert.h>
#include <math.h>

/* Doublings of the first pause after which no pause is longer. */
#define DOUBLINGS_MAX 30

void circuit_init(struct circuit *c)
{
	*c = (struct circuit){ .state = CIRCUIT_CLOSED };
}

static void enter(struct circuit *c, enum circuit_state state)
{
	assert(state != CIRCUIT_HALF_OPEN || c->state == CIRCUIT_OPEN);
	c->state = state;
	c->is_probing = false;
}

unsigned circuit_room(struct circuit *c, double now, unsigned room)
{
	if (c->state == CIRCUIT_OPEN && now >= c->until)
		enter(c, CIRCUIT_HALF_OPEN);
	if (c->state == CIRCUIT_CLOSED)
		return room;
	if (c->state == CIRCUIT_OPEN || c->is_probing || room == 0)
		return 0;
	return 1;
}

void circuit_begin(struct circuit *c)
{
	if (c->state == CIRCUIT_HALF_OPEN)
		c->is_probing = true;
}

void circuit_cancel(struct circuit *c)
{
	c->is_probing = false;
}

/* A request that began before the circuit opened may succeed afterwards. That says nothing of the
 * endpoint as it is now. */
void circuit_succeed(struct circuit *c)
{
	if (c->state == CIRCUIT_OPEN)
		return;
	c->failures = 0;
	c->opened = 0;
	enter(c, CIRCUIT_CLOSED);
}

void circuit_fail(struct circuit *c, double now, const struct circuit_rules *rules)
{
	unsigned doublings = c->opened < DOUBLINGS_MAX ? c->opened : DOUBLINGS_MAX;

	c->failures++;
	if (c->state == CIRCUIT_OPEN ||
	    (c->state == CIRCUIT_CLOSED && c->failures < rules->failures))
		return;
	enter(c, CIRCUIT_OPEN);
	c->opened++;
	c->until = now + fmin(ldexp(rules->pause_s, (int)doublings), rules->max_pause_s);
}

void circuit_hold(struct circuit *c, double now, double seconds)
{
	double until = now + seconds;

	if (c->state == CIRCUIT_OPEN) {
		c->until = fmax(c->until, until);
		return;
	}
	enter(c, CIRCUIT_OPEN);
	c->until = until;
}

const char *circuit_state_name(enum circuit_state state)
{
	switch (state) {
	case CIRCUIT_CLOSED:
		return "closed";
	case CIRCUIT_OPEN:
		return "open";
	case CIRCUIT_HALF_OPEN:
		break;
	}
	return "half-open";
}
