/*
 * The user of a request of HTTP.
 *
 * A request carries a name and a password (Basic), a password of a user (Bearer), or the cookie of
 * a session. Without these it has the rights of the user `default`, if that needs no password. The
 * result is kept for the next request of the connection with the same header field. A change of any
 * user ends that.
 */
#ifndef SERVER_HTTP_LOGIN_H
#define SERVER_HTTP_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "http/request.h"
#include "server/http_serve.h"

struct conn;
struct user;

/* The last login of a connection. */
struct http_login {
	const struct user *user; /* NULL: there is none */
	uint64_t hashes[2];	 /* of the header field, with secret seeds */
	uint64_t generation;	 /* of the users */
};

/* Gives the client the rights of the user of the request. */
enum http_admission http_login(struct conn *c, const struct http_request *r);

/* Refuses the request, and takes the user from the client, if protected-mode shuts this user out.
 * Returns whether it did. As in RESP, a server without a password serves its own machine only. */
bool http_login_shuts_out(struct conn *c);

#endif
