/*
 * The TLS certificate: loading, reloading, and a warning before it expires.
 */
#ifndef SERVER_CERTIFICATES_H
#define SERVER_CERTIFICATES_H

#include <stdint.h>

struct buf;
struct config;
struct server;
struct tls;

struct certificates {
	struct tls *tls;   /* NULL: tls-port is 0 */
	int64_t warned_us; /* when the expiry was last checked; monotonic */
};

/* Load certificate, key and CAs as configured, for new connections. Returns -1 with a reason if
 * they are invalid. Then the files loaded before stay in use. */
int certificates_load(struct server *s, const struct config *config, struct buf *ret_error);
/* Call this once a second: logs a warning once a day if the certificate expires soon. */
void certificates_tick(struct server *s);
void certificates_done(struct server *s);

#endif
