#include "server/client_memory.h"

#include "server/server_int.h"
#include "server/txn.h"
#include "sys/log.h"

/* The first list holds connections with less than 2 to the power of this. */
#define FIRST_LIST_BITS 16

static unsigned list_for(size_t bytes)
{
	size_t above = bytes >> FIRST_LIST_BITS;
	unsigned list = above != 0 ? 64 - (unsigned)__builtin_clzll(above) : 0;

	return list < CLIENT_MEMORY_LISTS ? list : CLIENT_MEMORY_LISTS - 1;
}

void client_memory_init(struct server *s)
{
	for (int i = 0; i < CLIENT_MEMORY_LISTS; i++)
		TAILQ_INIT(&s->client_memory.lists[i]);
}

static void leave_list(struct conn *c)
{
	struct client_memory *m = &c->client.server->client_memory;

	if (c->counted.bytes != 0)
		TAILQ_REMOVE(&m->lists[list_for(c->counted.bytes)], c, by_memory);
}

void client_memory_update(struct conn *c)
{
	struct client_memory *m = &c->client.server->client_memory;
	size_t queued_bytes = txn_memory(&c->client);
	size_t bytes = conn_memory(c) + queued_bytes;

	if (bytes == c->counted.bytes || c->state == CONN_DEAD)
		return;
	if (c->counted.bytes == 0 || list_for(bytes) != list_for(c->counted.bytes)) {
		leave_list(c);
		TAILQ_INSERT_TAIL(&m->lists[list_for(bytes)], c, by_memory);
	}
	m->bytes += bytes - c->counted.bytes;
	m->queued_bytes += queued_bytes - c->counted.queued_bytes;
	c->counted.bytes = bytes;
	c->counted.queued_bytes = queued_bytes;
}

void client_memory_remove(struct conn *c)
{
	struct client_memory *m = &c->client.server->client_memory;

	leave_list(c);
	m->bytes -= c->counted.bytes;
	m->queued_bytes -= c->counted.queued_bytes;
	c->counted.bytes = c->counted.queued_bytes = 0;
}

void client_memory_apply_config(struct server *s)
{
	const struct config_share *limit = &s->config->maxmemory_clients;

	s->client_memory.limit =
		limit->percent == 0 ? limit->bytes
				    : s->config->maxmemory_bytes / 100 * (size_t)limit->percent;
}

size_t client_memory_total(const struct server *s)
{
	size_t bytes = s->client_memory.bytes, twice = s->clients.chunks.counted_twice;

	/* The dead have their output until the end of the turn, but no longer count. */
	return bytes > twice ? bytes - twice : 0;
}

bool client_memory_is_exceeded(const struct server *s)
{
	return s->client_memory.limit != 0 && client_memory_total(s) > s->client_memory.limit;
}

size_t client_memory_of_buffers(const struct server *s)
{
	size_t total = client_memory_total(s), queued = s->client_memory.queued_bytes;

	return total > queued ? total - queued : 0;
}

/* Returns the largest connection of a list that may be closed, or NULL. Those of the first list are
 * all small, and can be many: there the first one is returned. */
static struct conn *find_largest(const struct client_memory *m, int list)
{
	struct conn *largest = NULL, *c;

	TAILQ_FOREACH(c, &m->lists[list], by_memory) {
		if (c->client.no_evict)
			continue;
		if (largest == NULL || c->counted.bytes > largest->counted.bytes)
			largest = c;
		if (list == 0)
			break;
	}
	return largest;
}

static void evict(struct conn *c)
{
	struct server *s = c->client.server;

	s->stats.evicted_clients++;
	if (complaints_take(&s->complaints))
		log_write(LOG_LEVEL_NOTICE,
			  LOG_FIELDS(LOG_INT("id", c->client.session.id),
				     LOG_TEXT("addr", c->client.peer), LOG_INT("qbuf", c->in.len),
				     LOG_INT("omem", c->client.out.len),
				     LOG_INT("tot-mem", c->counted.bytes)),
			  "Evicting client");
	conn_kill(c, NULL);
}

void client_memory_enforce(struct server *s)
{
	const struct client_memory *m = &s->client_memory;
	int list = CLIENT_MEMORY_LISTS - 1;

	while (client_memory_is_exceeded(s) && list >= 0) {
		struct conn *largest = find_largest(m, list);

		if (largest != NULL)
			evict(largest);
		else
			list--;
	}
}
