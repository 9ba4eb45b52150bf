/*
 * Memory of connections: its sum, and the limit maxmemory-clients.
 *
 * The sum is always current, so it can be subtracted from the memory in use: a client that does not
 * read its replies must not keep others from putting jobs. Connections are on lists by the order of
 * magnitude of their memory, as in Redis, so the largest are found at once.
 */
#ifndef SERVER_CLIENT_MEMORY_H
#define SERVER_CLIENT_MEMORY_H

#include <stdbool.h>
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
	size_t bytes;	     /* of buffers and commands in transactions, shared messages in full */
	size_t queued_bytes; /* of commands in transactions */
	size_t limit;	     /* maxmemory-clients in bytes; 0 for none */
};

void client_memory_init(struct server *s);

/* Call this when the memory of a connection may have changed. Does nothing to the dead. */
void client_memory_update(struct conn *c);
/* The connection dies. */
void client_memory_remove(struct conn *c);

/* Make the limit follow the configuration. */
void client_memory_apply_config(struct server *s);

/* Returns the memory of all clients. Messages that several clients wait for count once. */
size_t client_memory_total(const struct server *s);
bool client_memory_is_exceeded(const struct server *s);
/* Close the largest connections until the limit is met. Only at the end of a turn. */
void client_memory_enforce(struct server *s);

/* Returns the memory that does not count towards maxmemory. Commands in transactions count, because
 * they are refused when memory is short. */
size_t client_memory_of_buffers(const struct server *s);

#endif
