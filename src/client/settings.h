/*
 * Where a server is, and how a program connects to it.
 */
#ifndef CLIENT_SETTINGS_H
#define CLIENT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

#define CLIENT_HOST "127.0.0.1"
#define CLIENT_PORT 7537
/* The largest number of a database, as in qlessd.conf(5). */
#define CLIENT_DB_MAX 16383
/* The largest number of servers of a group. */
#define CLIENT_SERVERS_MAX 9
/* Seconds. Defaults for connecting, and for waiting for a reply. */
#define CLIENT_CONNECT_TIMEOUT_S 10
#define CLIENT_REPLY_TIMEOUT_S	 60

/* The texts belong to the settings, and may be NULL unless a comment says otherwise. */
struct client_settings {
	char *host; /* never NULL: a name or an address */
	int port;
	char *socket; /* path of a Unix socket, to be used instead of host and port */
	/* "host:port,host:port": the other servers of a group. The client uses the one that leads.
	 * NULL: the server is alone. */
	char *others;
	char *user;
	char *password;
	unsigned db;
	int proto;  /* 2, or 3 for RESP3 */
	char *name; /* shown by CLIENT LIST */

	bool tls;
	bool insecure; /* do not verify the certificate of the server */
	char *sni;     /* name of the server in its certificate; default: the host */
	char *cacert;  /* file of certificates to trust; default: those of the system */
	char *cacertdir;
	char *cert; /* certificate and key of this client */
	char *key;
	char *ciphers;	    /* up to TLS 1.2 */
	char *ciphersuites; /* of TLS 1.3 */

	double connect_timeout_s; /* for each address of the host, with TLS and login; 0: none */
	double timeout_s;	  /* for each reply; 0: none */
};

/* Sets the defaults. */
void client_settings_init(struct client_settings *s);
void client_settings_done(struct client_settings *s);
/* `to` must not be initialised. */
void client_settings_copy(struct client_settings *to, const struct client_settings *from);

/* Replaces a text by a copy of another one, or by NULL. Overwrites the old text, which may be a
 * password. */
void client_settings_set_text(char **text, const char *value);

/*
 * Sets the address from "host", "host:port", "[v6]:port" or the path of a socket, which has a
 * slash. A port that is not given stays. "host:port,host:port" names several servers of a group;
 * CLIENT_SERVERS_MAX bounds them. On failure appends the reason to `error`, and returns
 * false.
 */
bool client_settings_set_address(struct client_settings *s, const char *text, struct buf *error);

/*
 * Sets what a URI names and leaves the rest alone:
 *
 *	redis://[[user]:password@][host][:port][,host[:port]...][/db]      also qless://
 *	rediss://...                                      TLS; also qlesss://
 *	unix://[[user]:password@]/path[?db=n]             also redis+unix://
 *
 * A user without a colon is a password, as for redis-cli. %xx stands for a byte.
 */
bool client_settings_set_uri(struct client_settings *s, const char *uri, struct buf *error);

/* Set the address from a URI if `text` contains "://", and otherwise from an address. */
bool client_settings_set_any(struct client_settings *s, const char *text, struct buf *error);

/* Sets host and port to those of a server of the group, and removes the others. Server 0 is the
 * first one. Returns false if there is no such server. */
bool client_settings_choose(struct client_settings *s, size_t server);

/* Appends the address for messages: "host:port", "[v6]:port" or the path of the socket. */
void client_settings_print_address(const struct client_settings *s, struct buf *out);

#endif
