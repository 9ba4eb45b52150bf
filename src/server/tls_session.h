/*
 * The transport of a connection by TLS: a session of OpenSSL that reads and writes the socket.
 */
#ifndef SERVER_TLS_SESSION_H
#define SERVER_TLS_SESSION_H

#include <stdbool.h>

#include "server/transport.h"

struct tls;

/* The handshake has to come first. Returns 0, or -1 if there is no memory for a session; then the
 * transport is as it was. */
int tls_session_init(struct transport *t, int fd, const struct tls *tls);

/* "TLSv1.3"; NULL for a transport that is not this one. */
const char *tls_session_version(const struct transport *t);
/* The handshake was cut short, because both remember an earlier session. */
bool tls_session_is_resumed(const struct transport *t);
/* The peer has sent something. */
bool tls_session_has_begun(const struct transport *t);

#endif
