/*
 * TLS for those who listen: the certificate with its key, and who may connect in which way.
 *
 * What is loaded is never changed. To follow a change of the files or of the configuration it is
 * loaded again as a whole, and replaces what was there only if all of it is good. Sessions keep
 * what they began with.
 */
#ifndef SERVER_TLS_H
#define SERVER_TLS_H

#include <stdint.h>

struct buf;
struct config;
struct ssl_st;
struct tls;

/* A certificate with less time left than this is worth a warning. */
#define TLS_WARN_DAYS 14

/* Load what the configuration names. Returns NULL with a reason that names the directive. What is
 * not wrong but should be looked at is logged. */
struct tls *tls_new(const struct config *config, struct buf *ret_error);
void tls_free(struct tls *tls);

/* The server's side of a session; to be freed by SSL_free(). NULL if there is none to be had. */
struct ssl_st *tls_new_session(const struct tls *tls);

/* When the certificate expires, in seconds since 1970. */
int64_t tls_expires_s(const struct tls *tls);
/* Warn if it has expired, or does so soon. */
void tls_warn_of_expiry(const struct tls *tls, int64_t now_s);

#endif
