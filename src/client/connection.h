/*
 * A connection to a server, for an event loop.
 *
 * No function waits, except that connection_open() resolves the name of a host. The caller waits
 * until the socket is ready for connection_wants(), or connection_deadline_us() has passed. Then it
 * calls connection_step(), and connection_next() until that returns false.
 *
 * The connection logs in and selects the database by itself. Requests that were sent before are
 * held until then, so none runs as another user or in another database.
 */
#ifndef CLIENT_CONNECTION_H
#define CLIENT_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/client_reply.h"
#include "client/settings.h"

enum connection_state {
	CONNECTION_CONNECTING,
	CONNECTION_HANDSHAKE, /* of TLS */
	CONNECTION_LOGIN,     /* the replies to HELLO, AUTH and SELECT have not arrived */
	CONNECTION_READY,
	CONNECTION_LOST,    /* another attempt may succeed */
	CONNECTION_REFUSED, /* by the server, or for its certificate: another attempt will not help
			     */
};

struct connection;

/* Begins to connect. Never returns NULL: a failure is a state. Borrows the settings. */
struct connection *connection_open(const struct client_settings *settings);
/* Uses a socket that is connected already, such as one end of socketpair(2), and takes ownership of
 * it. The address of the settings is only for messages. */
struct connection *connection_adopt(int fd, const struct client_settings *settings);
void connection_close(struct connection *c);

enum connection_state connection_state(const struct connection *c);
/* Whether the connection is lost or refused. */
bool connection_has_failed(const struct connection *c);
/* The reason of a failure, with the address. */
const char *connection_error(const struct connection *c);

/* The number of the connection at the server, for CLIENT UNBLOCK. 0 with RESP2, or before the login
 * is complete. */
int64_t connection_id(const struct connection *c);

/* The socket, or -1. It changes while the connection tries the addresses of a host. */
int connection_fd(const struct connection *c);
/* POLLIN and POLLOUT of poll(2). */
short connection_wants(const struct connection *c);
/* When to call connection_step() at the latest, on the monotonic clock. INT64_MAX: never. */
int64_t connection_deadline_us(const struct connection *c);

/* Goes on as far as possible without waiting. */
void connection_step(struct connection *c);

/* Adds a request, which the next steps send. Does nothing after a failure. */
void connection_send(struct connection *c, const struct qless_str *argv, size_t argc);
/* The bytes of requests that have not been sent. */
size_t connection_unsent(const struct connection *c);

/* Returns whether a reply or push has arrived. The caller frees *ret_reply. Replies that arrived
 * before a failure are returned after it. */
bool connection_next(struct connection *c, struct client_reply *ret_reply);

#endif
