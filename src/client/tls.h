/*
 * TLS of a client: what it trusts, and a filter between plain bytes and those of the connection.
 *
 * The filter does no input and output. The caller moves the bytes, so a closed connection raises no
 * signal.
 */
#ifndef CLIENT_TLS_H
#define CLIENT_TLS_H

#include <stdbool.h>

#include "client/settings.h"
#include "util/buf.h"

/* Certificates, keys and ciphers. */
struct client_tls;

/* Returns NULL on failure, and appends the reason to `error`. */
struct client_tls *client_tls_new(const struct client_settings *s, struct buf *error);
void client_tls_free(struct client_tls *tls);

/* One connection. */
struct client_tls_session;

/* Begins a session. `settings` has the name that the certificate of the server must have. */
struct client_tls_session *client_tls_session_new(struct client_tls *tls,
						  const struct client_settings *settings);
void client_tls_session_free(struct client_tls_session *session);

enum client_tls_result {
	CLIENT_TLS_GOES_ON,
	CLIENT_TLS_ENDED, /* by the server, in order */
	CLIENT_TLS_FAILED,
};

/*
 * Move bytes as far as possible: `received` from the socket to `in`, and `out` to `to_send` for the
 * socket. What is consumed leaves its buffer. Unless the session goes on, appends the reason to
 * `error`. *ret_open tells whether the handshake is complete.
 */
enum client_tls_result client_tls_session_step(struct client_tls_session *session,
					       struct buf *received, struct buf *in,
					       struct buf *out, struct buf *to_send, bool *ret_open,
					       struct buf *error);

#endif
