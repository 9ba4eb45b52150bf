/*
 * Addresses of hosts, without waiting for a name server.
 *
 * A numeric address is known at once. A name is looked up by a thread that lives as long as that
 * takes, because the loop must not stand still meanwhile.
 */
#ifndef SERVER_RESOLVE_H
#define SERVER_RESOLVE_H

#include <sys/socket.h>

struct event_base;
struct resolving;

/* Called once by the event loop, with an address, or with NULL and a reason. */
typedef void resolve_fn(void *arg, const struct sockaddr *address, socklen_t len,
			const char *error);

/* Look up a host. Always returns a lookup under way, which ends with the callback or with
 * resolve_cancel(). If the host has several addresses, `choice` selects one: a caller that counts
 * its attempts tries each of them. */
struct resolving *resolve(struct event_base *base, const char *host, int port, unsigned choice,
			  resolve_fn *fn, void *arg);
/* End a lookup without a callback. NULL is a no-op. */
void resolve_cancel(struct resolving *resolving);

#endif
