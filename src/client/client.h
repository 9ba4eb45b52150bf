/*
 * A connection to a server that waits: for the connection, and for each reply.
 *
 *	struct client *client = client_new(&settings);
 *	const struct client_reply *reply = CLIENT_CALL(client, STR("PING"));
 *
 *	if (reply == NULL)
 *		complain(client_error(client));
 *
 * The first call connects. A call after a lost connection connects again, once. A request is never
 * sent twice, because the server may have run it.
 */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/client_reply.h"
#include "client/settings.h"

struct client;

/* Copies the settings. Does not connect. */
struct client *client_new(const struct client_settings *settings);
void client_free(struct client *client);

/* While it waits, the client also waits for this descriptor to become readable, and stops with
 * CLIENT_INTERRUPTED then. -1: none. */
void client_set_interrupt(struct client *client, int fd);

enum client_status {
	CLIENT_OK,
	CLIENT_LOST,	  /* the connection cannot be made, or was lost: another attempt may help */
	CLIENT_REFUSED,	  /* login or certificate: another attempt will not help */
	CLIENT_TIMED_OUT, /* no reply in time */
	CLIENT_INTERRUPTED, /* by the descriptor, or by a signal if there is none */
};

/* Why the last function returned nothing. */
enum client_status client_status(const struct client *client);
const char *client_error(const struct client *client);

/* Connect if necessary. Returns false on failure. If there are several servers, waits until one
 * leads, for at most the time limit for connecting. */
bool client_connect(struct client *client);

/* Close the connection. The next call connects again. */
void client_disconnect(struct client *client);

/*
 * Connect, and try again with growing delays until that succeeds, the server refuses, or `limit_s`
 * seconds have passed (0: no limit). `on_failure` is told of each failed attempt; it may be NULL.
 */
typedef void client_failure_fn(void *arg, const char *error, unsigned delay_ms);
bool client_connect_patiently(struct client *client, double limit_s, client_failure_fn *on_failure,
			      void *arg);

/* Send a request and wait for its reply, which is valid until the next call. Returns NULL if there
 * is none. An error of the server is a reply. Pushes that arrive before the reply are dropped. */
const struct client_reply *client_call(struct client *client, const struct qless_str *argv,
				       size_t argc);
/* client_call() with another time limit for the reply; 0: none. */
const struct client_reply *client_call_within(struct client *client, double timeout_s,
					      const struct qless_str *argv, size_t argc);

#define CLIENT_CALL(client, ...)                                         \
	client_call((client), (const struct qless_str[]){ __VA_ARGS__ }, \
		    sizeof((const struct qless_str[]){ __VA_ARGS__ }) / sizeof(struct qless_str))

/* Takes the reply of the last call or receive, which the caller frees. */
void client_take(struct client *client, struct client_reply *ret_reply);

/* Send a request without waiting for its reply. client_receive() returns the replies in order. */
bool client_send(struct client *client, const struct qless_str *argv, size_t argc);

/* Wait for a reply, a message or a push, for at most `timeout_s` seconds (negative: without limit).
 * It is valid until the next call. */
const struct client_reply *client_receive(struct client *client, double timeout_s);

#endif
