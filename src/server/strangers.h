/*
 * Strangers: connections whose clients have not shown that they may be here.
 *
 * A connection is unauthenticated until its client has logged in, or needs no password and has
 * completed its TLS handshake. Such connections have a time limit, a share of the places, and a
 * share of memory. If a share is used up, the oldest connection is closed.
 *
 * A connection is silent if its client needs no password and has not sent a command. It may stay,
 * but it gives up its place to a new client when all places are taken.
 */
#ifndef SERVER_STRANGERS_H
#define SERVER_STRANGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

struct conn;
struct server;

TAILQ_HEAD(stranger_list, conn);

enum conn_standing {
	CONN_KNOWN, /* neither of the others; also new and dead connections */
	CONN_UNAUTHENTICATED,
	CONN_SILENT,
};

struct strangers {
	struct stranger_list unauthenticated; /* in the order in which they became so */
	struct stranger_list unauthenticated_http;
	struct stranger_list silent;
	size_t count; /* unauthenticated ones that speak RESP */
	size_t bytes; /* that all unauthenticated ones hold */
	size_t cut;   /* connections that were closed in this turn, and have their descriptors */
};

void strangers_init(struct server *s);

/* Look at a connection again. Call this for new connections, if the state or the memory of one that
 * is not known may have changed, and if a known one may have lost its user. */
void strangers_update(struct conn *c);
/* The connection dies. */
void strangers_remove(struct conn *c);

/* Call this once a second: closes the connections that were unauthenticated for too long. */
void strangers_tick(struct server *s);

/* Make room for a new connection, whose client may be known already. Returns false if all places
 * are taken by others that may stay. */
bool strangers_make_room(struct server *s);

#endif
