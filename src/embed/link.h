/*
 * A link: a connection to the server of a store, and calls over it that wait.
 *
 * One thread at a time uses a link.
 */
#ifndef EMBED_LINK_H
#define EMBED_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/client_reply.h"
#include "client/connection.h"
#include "qless_store.h"

/* Called with each push that arrives. */
typedef void link_push_fn(void *arg, const struct client_reply *push);

struct link {
	struct connection *connection;
	struct link *next; /* of the idle links of the store */
	bool was_ready;	   /* requests may have left */
	link_push_fn *on_push;
	void *push_arg;
};

/* How long to wait for a reply. */
struct link_limits {
	int64_t deadline_us; /* monotonic; INT64_MAX: none */
	const struct qless_stopper *stopper;
};

#define LINK_NO_LIMITS ((struct link_limits){ .deadline_us = INT64_MAX })

/* Returns the limits of a call; 0 seconds: none. */
struct link_limits link_limits_make(double timeout_s, const struct qless_stopper *stopper);

enum link_result {
	LINK_ANSWERED,
	LINK_STOPPED,	  /* the limits ended the wait; the reply is still to come */
	LINK_LOST,	  /* the request may have run */
	LINK_UNAVAILABLE, /* it did not run: there was no connection */
	LINK_REFUSED,	  /* it did not run: the server refuses the login or does not fit */
};

/* Takes the connection. */
struct link *link_new(struct connection *connection);
void link_free(struct link *link);

/* Reads what has arrived without waiting. Returns whether the link can be used. */
bool link_refresh(struct link *link);

/* Waits until the server has accepted the login. */
enum link_result link_wait_for_login(struct link *link, const struct link_limits *limits);

void link_send(struct link *link, const struct qless_str *argv, size_t argc);
/* Waits for the reply to the oldest request. The caller frees it. */
enum link_result link_receive(struct link *link, const struct link_limits *limits,
			      struct client_reply *ret_reply);
/* Sends a request and waits for its reply. */
enum link_result link_call(struct link *link, const struct qless_str *argv, size_t argc,
			   const struct link_limits *limits, struct client_reply *ret_reply);

/* Why the link has failed. */
const char *link_error(const struct link *link);

#endif
