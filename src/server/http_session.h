/*
 * Sessions of browsers: a user logs in once, and a cookie stands for the user from then on.
 *
 * The cookie is a random token of 256 bits. The server keeps only its SHA-256, so nothing that
 * reads the memory of the server can use a session. A session ends when its client logs out, when
 * it was not used for http-session-timeout seconds, http-session-lifetime seconds after the login,
 * when the user changes in any way, and when the server stops.
 *
 * A user has http-user-sessions at most, and a login beyond that ends the one of this user that was
 * not used for the longest time. If there are http-sessions in all, the user with most of them
 * loses one.
 */
#ifndef SERVER_HTTP_SESSION_H
#define SERVER_HTTP_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "util/hash.h"
#include "util/str.h"

struct buf;
struct server;
struct user;

/* Digits of a token. */
#define HTTP_SESSION_TOKEN_BYTES 64

/* The name of the cookie is this, with the port that the browser uses: qlessd-7539. Browsers send
 * cookies to all ports of a host, so each server needs a name of its own. A request whose Host has
 * no port has no port in its cookie. */
#define HTTP_SESSION_COOKIE "qlessd"

struct http_sessions {
	struct hash by_digest;
	LIST_HEAD(, http_session_owner) owners; /* users that have sessions, in no order */
};

void http_sessions_init(struct server *s);
void http_sessions_done(struct server *s);
size_t http_session_count(const struct server *s);

/* Begins a session of a user, and writes its token and a NUL. */
void http_session_begin(struct server *s, const struct user *user,
			char ret_token[HTTP_SESSION_TOKEN_BYTES + 1]);

/* Returns the user of a session, which counts as used now; NULL if there is no such session. The
 * time does not tell how much of a wrong token is right. */
const struct user *http_session_use(struct server *s, struct qless_str token);

/* The SHA-256 of a token, for those that remember a session. */
#define HTTP_SESSION_DIGEST_BYTES 32

struct http_session_digest {
	unsigned char bytes[HTTP_SESSION_DIGEST_BYTES];
};

void http_session_digest(struct qless_str token, struct http_session_digest *ret_digest);
/* Whether there is such a session. Does not count as its use. */
bool http_session_is_open(const struct server *s, const struct http_session_digest *digest);

/* Ends a session. Returns false if there is no such session. */
bool http_session_end(struct server *s, struct qless_str token);

/* The user is about to be deleted: ends its sessions. */
void http_sessions_forget_user(struct server *s, const struct user *user);
/* Ends the sessions of users that have changed since they logged in. */
void http_sessions_check(struct server *s);
/* Call this once a second: ends sessions that are too old, or more than
 * there may be. */
void http_sessions_tick(struct server *s);

/* Appends the name of the cookie for a value of the header field Host. */
void http_session_append_name(struct buf *text, struct qless_str host);
/* Finds the token in the value of a Cookie header: the first cookie that has this name. Returns
 * false if there is none. */
bool http_session_find_token(struct qless_str host, struct qless_str header,
			     struct qless_str *ret_token);

#endif
