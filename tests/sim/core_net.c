#include <stdlib.h>
#include <string.h>

#include "core_world.h"
#include "util/mem.h"

/* ---- a heap of messages ---- */

static bool is_before(const struct world_message *a, const struct world_message *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void push(struct world *w, struct world_message *m)
{
	size_t i;

	w->heap =
		mem_grow(w->heap, &w->heap_cap, w->heap_count + 1, sizeof(struct world_message *));
	for (i = w->heap_count++; i > 0 && is_before(m, w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = m;
}

static struct world_message *pop(struct world *w)
{
	struct world_message *top = w->heap[0];
	struct world_message *last = w->heap[--w->heap_count];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= w->heap_count)
			break;
		if (child + 1 < w->heap_count && is_before(w->heap[child + 1], w->heap[child]))
			child++;
		if (!is_before(w->heap[child], last))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = last;
	return top;
}

/* ---- sending ---- */

static void copy_heads(struct world *w, const struct world_node *from, struct world_message *m)
{
	uint64_t first = m->message.entries.previous_index + 1;
	uint32_t count = m->message.entries.count;

	if (count == 0)
		return;
	if (first < from->disk->first || first + count - 1 > from->last)
		world_fail(w, "node %d sends entries %d to %d, and has %d to %d", (int)from->id,
			   (int)first, (int)(first + count - 1), (int)from->disk->first,
			   (int)from->last);
	m->heads = mem_zalloc(count * sizeof *m->heads);
	for (uint32_t i = 0; i < count; i++) {
		const struct world_entry *entry = &from->entry[first + i];

		m->heads[i].term = entry->term;
		m->heads[i].kind = entry->kind;
		m->heads[i].data = (void *)(uintptr_t)entry->id;
		if (entry->kind == CORE_MEMBERS)
			m->heads[i].members = &w->list[entry->id];
	}
	m->message.entries.heads = m->heads;
}

static void post(struct world *w, struct world_node *from, uint64_t to,
		 const struct core_message *message)
{
	struct world_message *m = mem_zalloc(sizeof *m);
	int64_t *last_at = &w->last_at[from->id][to];

	m->from = from->id;
	m->to = to;
	m->message = *message;
	m->order = ++w->order;
	m->at = w->now + 1 + (int64_t)world_below(w, w->is_rough ? 60 : 15);
	/* A connection keeps the order. */
	if (!w->is_rough && m->at < *last_at)
		m->at = *last_at;
	*last_at = m->at;
	if (message->kind == CORE_ENTRIES)
		copy_heads(w, from, m);
	if (message->kind == CORE_BASE_OFFER) {
		m->base = *message->offer;
		m->message.offer = &m->base;
	}
	push(w, m);
}

/* As the connections do with many bytes: the entries go in several messages. */
static void post_parts(struct world *w, struct world_node *from, uint64_t to,
		       const struct core_message *message)
{
	struct core_message part = *message;
	uint64_t end = message->entries.previous_index + message->entries.count;

	while (part.entries.previous_index < end) {
		uint64_t previous = part.entries.previous_index;
		uint64_t left = end - previous;

		part.entries.count = (uint32_t)(1 + world_below(w, left));
		part.entries.commit = message->entries.commit;
		if (part.entries.commit > previous + part.entries.count)
			part.entries.commit = previous + part.entries.count;
		post(w, from, to, &part);
		part.entries.previous_index += part.entries.count;
		part.entries.previous_term = from->entry[part.entries.previous_index].term;
	}
}

void net_send(struct world *w, struct world_node *from, const struct core_action *action)
{
	const struct core_message *message = &action->send.message;
	uint64_t to = action->send.to;

	if (to == 0 || to > WORLD_NODES || to == from->id)
		world_fail(w, "node %d sends to %d", (int)from->id, (int)to);
	if (w->cut[from->id][to] || (w->is_rough && !world_is_quiet(w) && world_below(w, 50) == 0))
		return;
	if (message->kind == CORE_ENTRIES && message->entries.count > 1 && world_below(w, 8) == 0)
		post_parts(w, from, to, message);
	else
		post(w, from, to, message);
	if (w->is_rough && world_below(w, 40) == 0)
		post(w, from, to, message);
}

/* ---- receiving ---- */

struct world_message *net_take(struct world *w)
{
	while (w->heap_count != 0 && w->heap[0]->at <= w->now) {
		struct world_message *m = pop(w);

		if (!w->cut[m->from][m->to])
			return m;
		net_free(m);
	}
	return NULL;
}

void net_delay(struct world *w, struct world_message *m, int64_t at)
{
	m->at = at;
	push(w, m);
}

void net_free(struct world_message *m)
{
	free(m->heads);
	free(m);
}

void net_end(struct world *w)
{
	for (size_t i = 0; i < w->heap_count; i++)
		net_free(w->heap[i]);
	free(w->heap);
}

void net_drop(struct world *w, uint64_t id)
{
	struct world_message **old = w->heap;
	size_t count = w->heap_count;

	w->heap = NULL;
	w->heap_count = 0;
	w->heap_cap = 0;
	for (size_t i = 0; i < count; i++) {
		if (old[i]->to == id || (old[i]->from == id && world_below(w, 2) == 0))
			net_free(old[i]);
		else
			push(w, old[i]);
	}
	free(old);
}

void net_heal(struct world *w)
{
	memset(w->cut, 0, sizeof w->cut);
}

static void cut_off(struct world *w, uint64_t id, bool is_in, bool is_out)
{
	for (uint64_t other = 1; other <= WORLD_NODES; other++) {
		w->cut[id][other] |= is_out;
		w->cut[other][id] |= is_in;
	}
}

void net_partition(struct world *w)
{
	uint64_t a = 1 + world_below(w, WORLD_NODES);
	uint64_t b = 1 + world_below(w, WORLD_NODES);
	uint64_t side;

	net_heal(w);
	switch (world_below(w, 6)) {
	case 0:
		cut_off(w, a, true, true);
		break;
	case 1:
		cut_off(w, a, true, false);
		break;
	case 2:
		cut_off(w, a, false, true);
		break;
	case 3:
		w->cut[a][b] = true;
		break;
	case 4: /* into two parts */
		side = world_below(w, 1u << WORLD_NODES);
		for (uint64_t i = 1; i <= WORLD_NODES; i++)
			for (uint64_t k = 1; k <= WORLD_NODES; k++)
				w->cut[i][k] = ((side >> (i - 1)) & 1) != ((side >> (k - 1)) & 1);
		break;
	default: /* all is well */
		break;
	}
}
