#include "server/gate.h"

#include <assert.h>

void gate_init(struct gate *g)
{
	*g = (struct gate){ 0 };
	TAILQ_INIT(&g->waits);
}

void gate_when(struct gate *g, struct gate_wait *w, uint64_t sequence, gate_fn *fn, void *arg)
{
	assert(!gate_is_waiting(w) && fn != NULL);
	assert(gate_is_empty(g) || sequence >= TAILQ_LAST(&g->waits, gate_waits)->sequence);
	w->fn = fn;
	w->arg = arg;
	w->sequence = sequence;
	w->number = g->next_number++;
	TAILQ_INSERT_TAIL(&g->waits, w, link);
}

void gate_cancel(struct gate *g, struct gate_wait *w)
{
	if (!gate_is_waiting(w))
		return;
	TAILQ_REMOVE(&g->waits, w, link);
	w->fn = NULL;
}

void gate_advance(struct gate *g, uint64_t durable, uint64_t last)
{
	assert(durable <= last);
	g->durable = durable;
	g->pending = last > durable ? last : 0;
}

void gate_open(struct gate *g)
{
	g->pending = 0;
}

/* Call the waits that were there at the start, up to the sequence number. */
static void call_up_to(struct gate *g, uint64_t sequence, enum gate_outcome outcome)
{
	uint64_t end = g->next_number;
	struct gate_wait *w;

	assert(!g->is_calling);
	g->is_calling = true;
	while ((w = TAILQ_FIRST(&g->waits)) != NULL && w->sequence <= sequence && w->number < end) {
		gate_fn *fn = w->fn;

		/* The callback may use `w` again, or free it. */
		gate_cancel(g, w);
		fn(w->arg, outcome);
	}
	g->is_calling = false;
}

void gate_release(struct gate *g)
{
	call_up_to(g, g->durable, GATE_DURABLE);
}

void gate_fail(struct gate *g)
{
	call_up_to(g, UINT64_MAX, GATE_LOST);
}
