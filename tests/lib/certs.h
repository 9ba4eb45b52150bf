/*
 * Certificates that are made when a test runs, so that none in the repository can expire.
 */
#ifndef TESTS_CERTS_H
#define TESTS_CERTS_H

#include "tempdir.h"

#define CERTS_DAY_S 86400L

/*
 * Write ca.crt, and with its signature server.crt and server.key for 127.0.0.1, client.crt and
 * client.key; and stranger.crt and stranger.key, which vouch for themselves. All are good for a
 * year. A call again makes new ones.
 */
void certs_make(struct tempdir *dir);

/* Write a server.crt and server.key anew, by a CA of its own, good from and to so many seconds from
 * now. */
void certs_make_server(struct tempdir *dir, long from_s, long to_s);

/* Protect server.key with a passphrase. */
void certs_encrypt_key(struct tempdir *dir, const char *passphrase);

#endif
