#include <assert.h>
#include <string.h>

#include "core_world.h"
#include "util/mem.h"

static void add_write(struct world_node *n, const struct world_write *write)
{
	n->writes = mem_grow(n->writes, &n->write_cap, n->write_count + 1, sizeof *n->writes);
	n->writes[n->write_count++] = *write;
}

void disk_cut(struct world_node *n, uint64_t index)
{
	struct world_write write = { .is_cut = true, .index = index };

	n->last = index - 1;
	add_write(n, &write);
}

void disk_append(struct world_node *n, const struct world_entry *entry)
{
	struct world_write write = { .index = ++n->last, .entry = *entry };

	n->entry[n->last] = *entry;
	add_write(n, &write);
}

/* Do the first writes to the files. */
static void apply_writes(struct world_node *n, size_t count)
{
	struct world_image *disk = n->disk;

	for (size_t i = 0; i < count; i++) {
		const struct world_write *write = &n->writes[i];

		assert(write->index <= disk->last + 1);
		if (write->is_cut) {
			disk->last = write->index - 1;
		} else {
			disk->last = write->index;
			disk->entry[write->index] = write->entry;
		}
	}
	if (count == 0)
		return;
	n->write_count -= count;
	memmove(n->writes, n->writes + count, n->write_count * sizeof *n->writes);
}

uint64_t disk_durable(const struct world_node *n)
{
	uint64_t durable = n->disk->last;

	for (size_t i = 0; i < n->write_count; i++)
		if (n->writes[i].index <= durable)
			durable = n->writes[i].index - 1;
	return durable;
}

static int64_t latency(struct world *w, const struct world_node *n)
{
	int64_t ms = 1 + (int64_t)world_below(w, 12);

	return w->now < n->slow_until ? ms * 40 : ms;
}

bool disk_work(struct world *w, struct world_node *n)
{
	bool has_ended = false;

	if (n->syncing != 0 && w->now >= n->sync_at) {
		apply_writes(n, n->syncing);
		n->syncing = 0;
		has_ended = true;
	}
	if (n->syncing == 0 && n->write_count != 0) {
		n->syncing = n->write_count;
		n->sync_at = w->now + latency(w, n);
	}
	return has_ended;
}

void disk_store_vote(struct world *w, struct world_node *n, uint64_t term, uint64_t vote)
{
	n->vote_term = term;
	n->vote = vote;
	n->vote_at = w->now + latency(w, n);
	/* Without a sync, the system writes it some time later. */
	if (w->fault == FAULT_LOST_VOTE)
		n->vote_at += 1000;
}

void disk_crash(struct world *w, struct world_node *n)
{
	if (n->vote_at != 0 && world_below(w, 2) == 0) {
		n->disk->term = n->vote_term;
		n->disk->vote = n->vote;
	}
	n->vote_at = 0;
	apply_writes(n, world_below(w, n->write_count + 1));
	n->write_count = 0;
	n->syncing = 0;
	n->install_at = 0;
	n->fetch_from = 0;
}

void disk_set_base(struct world_node *n, const struct core_base *base, uint64_t first)
{
	n->disk->base = *base;
	n->disk->first = first;
}

void disk_install(struct world_node *n, const struct core_base *base)
{
	n->write_count = 0;
	n->syncing = 0;
	n->disk->base = *base;
	n->disk->first = base->index + 1;
	n->disk->last = base->index;
	n->last = base->index;
}
