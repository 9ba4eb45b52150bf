/*
 * The transport of a TLS connection: a session of OpenSSL that reads and writes the socket.
 *
 * It uses the same raw events and buffers as a plain connection. libevent has bufferevents over
 * OpenSSL, but they would be a second path for connections, and a slow one. TLS differs from a
 * plain socket in these points:
 *
 * - The handshake is a state of the connection, with a time limit. A turn runs only a few steps of
 *   handshakes, because each may take a millisecond. A peer that sends plain text gets a line of
 *   plain text, and so does a peer that starts a handshake on the plain port.
 * - Decrypted bytes may stay inside the session, and no event announces them. `has_more` keeps the
 *   connection on the ready list until they are read.
 * - Reading may have to wait until the session can write. The read event is off until then. The
 *   reverse needs renegotiation, which is off.
 * - A record that the socket took in part must be offered again with the same bytes. They are the
 *   front of the output chain, which only grows at its end. Small pieces share a record of up to
 *   16 KiB, and large ones are not copied.
 * - The session announces its end (close_notify) after the last reply.
 * - One read takes a whole record and what follows it, so a batch of requests costs one recv(), as
 *   without TLS. A session at rest releases its buffers.
 */
#ifndef SERVER_TLS_SESSION_H
#define SERVER_TLS_SESSION_H

#include <stdbool.h>

#include "server/transport.h"

struct tls;

/* Make a TLS transport of a socket. A handshake comes first. Returns 0, or -1 if there is no
 * memory for a session; then the transport does not change. */
int tls_session_init(struct transport *t, int fd, const struct tls *tls);

/* Make the client's side of a session with another node. The handshake begins with the first call.
 */
int tls_session_connect(struct transport *t, int fd, const struct tls *tls);
/* Returns whether the certificate of the other side has this name or address. */
bool tls_session_has_name(const struct transport *t, const char *host);

/* Returns a version such as "TLSv1.3", or NULL if the transport is not TLS. */
const char *tls_session_version(const struct transport *t);
/* Returns whether the handshake resumed an earlier session. */
bool tls_session_is_resumed(const struct transport *t);
/* Returns whether the peer has sent anything. */
bool tls_session_has_begun(const struct transport *t);

#endif
