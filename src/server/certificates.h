/*
 * The certificate that connections by TLS begin with, and when it has to be replaced.
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
	int64_t warned_us; /* when the expiry was looked at last */
};

/* Load certificate, key and CAs as the configuration says, for connections from then on. Returns
 * -1 with a reason if they are invalid; then those that were loaded before stay. */
int certificates_load(struct server *s, const struct config *config, struct buf *ret_error);
/* Call this once a second: warns once a day of a certificate that expires soon. */
void certificates_tick(struct server *s);
void certificates_done(struct server *s);

#endif
