/*
 * TLS for listeners: the certificate, its key, and the rules for connections.
 *
 * A loaded context never changes. To follow a change of the files or the configuration, the server
 * loads a new context, and replaces the old one if all of it is valid. Open sessions keep their
 * context.
 */
#ifndef SERVER_TLS_H
#define SERVER_TLS_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct config;
struct ssl_st;
struct tls;

/* Days before the expiry of the certificate at which warnings begin. */
#define TLS_WARN_DAYS 14

/* Load the files that the configuration names. Returns NULL with a reason that names the
 * directive. Logs warnings about valid but doubtful settings. */
struct tls *tls_new(const struct config *config, struct buf *ret_error);
void tls_free(struct tls *tls);

/* Returns whether the configuration names a certificate and a CA for connections between nodes: by
 * the directives replication-tls-*, or else by tls-*. */
bool tls_has_files_for_nodes(const struct config *config);
/* Load these files. A node connects and accepts connections with the same certificate, and both
 * sides of a connection must have one that the CA has signed. Protocols and ciphers are those for
 * clients. Returns NULL with a reason that names the directive. */
struct tls *tls_new_for_nodes(const struct config *config, struct buf *ret_error);

/* Return a side of a new session, to be freed by SSL_free(), or NULL if there is no memory: the
 * server's, and for nodes also the client's. */
struct ssl_st *tls_new_session(const struct tls *tls);
struct ssl_st *tls_new_client_session(const struct tls *tls);

/* Returns when the certificate expires, in seconds since 1970. */
int64_t tls_expires_s(const struct tls *tls);
/* Log a warning if the certificate has expired or expires soon. */
void tls_warn_of_expiry(const struct tls *tls, int64_t now_s);

#endif
