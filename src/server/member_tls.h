/*
 * TLS between the nodes of a group: whether there is any, and the certificate of this node.
 */
#ifndef SERVER_MEMBER_TLS_H
#define SERVER_MEMBER_TLS_H

struct buf;
struct config;
struct server;
struct tls;

/* Load the certificate for connections to other nodes. *ret_tls is NULL if the node speaks without
 * TLS: with replication-tls no, or on loopback without a certificate. Returns -1 with a reason if
 * the files are invalid, or if there are none and the node listens on a network. */
int member_tls_load(const struct config *config, struct tls **ret_tls, struct buf *ret_error);

/* Load the files again, for new connections. Returns -1 with a reason, and the old ones stay in
 * use, if they are invalid. Does nothing on a server without such connections. */
int member_tls_reload(struct server *s, const struct config *config, struct buf *ret_error);
/* Call this once a second: logs a warning once a day if the certificate expires soon. */
void member_tls_tick(struct server *s);

#endif
