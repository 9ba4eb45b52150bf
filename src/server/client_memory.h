/*
 * Memory of connections: its sum, and the limit maxmemory-clients.
 *
 * The sum is always current, so it can be subtracted from the memory in use: a client that does not
 * read its replies must not keep others from putting jobs. Connections are on lists by the order of
 * magnitude of their memory, as in Redis, so the largest are found at once.
 */
#ifndef SERVER_CLIENT_MEMORY_H
#define SERVER_CLIENT_MEMORY_H

#include <stddef.h>
#include <sys/queue.h>

struct conn;
struct server;

/* Number of lists. The first holds connections below 2^16 bytes, each further one those of twice as
 * many, and the last all larger ones. */
#define CLIENT_MEMORY_LISTS 18

TAILQ_HEAD(client_memory_list, conn);

struct client_memory {
	struct client_memory_list lists[CLIENT_MEMORY_LISTS];
	size_t bytes;	     /* of buffers and commands in transactions */
	size_t queued_bytes; /* of commands in transactions */
};

void client_memory_init(struct server *s);

/* Call this when the memory of a connection may have changed. Does nothing to the dead. */
void client_memory_update(struct conn *c);
/* The connection dies. */
void client_memory_remove(struct conn *c);

/* Returns the limit in bytes, or 0 for none. */
size_t client_memory_limit(const struct server *s);
/* Call this at the end of a turn: close the largest connections until the limit is met. */
void client_memory_enforce(struct server *s);

/* Returns the memory that does not count towards maxmemory. Commands in transactions count, because
 * they are refused when memory is short. */
static inline size_t client_memory_of_buffers(const struct client_memory *m)
{
	return m->bytes - m->queued_bytes;
}

#endif
