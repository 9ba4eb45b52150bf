/*
 * Certificates that tests make when they run, so that none in the repository expires.
 */
#ifndef TESTS_CERTS_H
#define TESTS_CERTS_H

#include "tempdir.h"

#define CERTS_DAY_S 86400L

/*
 * Writes ca.crt; server.crt and server.key for 127.0.0.1, client.crt and client.key, signed by that
 * CA; and a self-signed stranger.crt with stranger.key. All are valid for a year. Another call
 * makes new ones.
 */
void certs_make(struct tempdir *dir);

/* Writes name.crt and name.key for other hosts, such as "IP:127.0.0.2,DNS:two.example", signed by
 * the CA of certs_make(). */
void certs_make_named(struct tempdir *dir, const char *name, const char *names);

/* Replaces server.crt and server.key, signed by a new CA. They are valid from `from_s` to `to_s`
 * seconds from now. */
void certs_make_server(struct tempdir *dir, long from_s, long to_s);

/* Writes name.crt and name.key for other hosts, such as "IP:127.0.0.2,DNS:two.example", signed by
 * the CA of certs_make(). */
void certs_make_named(struct tempdir *dir, const char *name, const char *names);

/* Replaces server.crt and server.key by a self-signed certificate with an RSA key of 4096 bits. A
 * handshake with it takes milliseconds. */
void certs_make_large_key(struct tempdir *dir);

/* Encrypts server.key with a passphrase. */
void certs_encrypt_key(struct tempdir *dir, const char *passphrase);

#endif
