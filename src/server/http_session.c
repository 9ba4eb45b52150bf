#include "server/http_session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "command/acl.h"
#include "server/server_int.h"
#include "sys/entropy.h"
#include "util/buf.h"
#include "util/container.h"
#include "util/mem.h"

static_assert(HTTP_SESSION_DIGEST_BYTES == SHA256_DIGEST_LENGTH, "of SHA-256");

/* A user that has sessions. */
struct http_session_owner {
	LIST_ENTRY(http_session_owner) link;
	const struct user *user;
	size_t count;
	TAILQ_HEAD(, http_session) by_use; /* the one that was used last is the last one */
};

struct http_session {
	struct hash_node node;
	TAILQ_ENTRY(http_session) link;
	struct http_session_owner *owner;
	char fingerprint[ACL_FINGERPRINT_BYTES + 1]; /* of the user at the login */
	int64_t begun_us;			     /* monotonic, as the next one */
	int64_t used_us;
	struct http_session_digest digest; /* of the token */
};

static struct qless_str text_of(const struct http_session_digest *digest)
{
	return str_make((const char *)digest->bytes, sizeof digest->bytes);
}

static struct qless_str key_of(const struct hash_node *node)
{
	const struct http_session *session = container_of(node, const struct http_session, node);

	return text_of(&session->digest);
}

void http_sessions_init(struct server *s)
{
	hash_init(&s->http_sessions.by_digest, key_of, s->hash_seed);
	LIST_INIT(&s->http_sessions.owners);
}

/* Ends a session, and forgets its user with the last one. */
static void end(struct server *s, struct http_session *session)
{
	struct http_session_owner *owner = session->owner;

	hash_remove(&s->http_sessions.by_digest, &session->node);
	TAILQ_REMOVE(&owner->by_use, session, link);
	free(session);
	if (--owner->count != 0)
		return;
	LIST_REMOVE(owner, link);
	free(owner);
}

/* Returns NULL if the user has no session. */
static struct http_session_owner *find_owner(const struct server *s, const struct user *user)
{
	struct http_session_owner *owner;

	LIST_FOREACH(owner, &s->http_sessions.owners, link) {
		if (owner->user == user)
			return owner;
	}
	return NULL;
}

/* Returns when the session was used that was not used for the longest time. */
static int64_t oldest_use_us(const struct http_session_owner *owner)
{
	return TAILQ_FIRST(&owner->by_use)->used_us;
}

/* Whether `a` loses a session before `b`. A user that logs in has one more, and goes first among
 * those with as many. */
static bool is_larger(const struct http_session_owner *a, const struct http_session_owner *b,
		      const struct user *new_user)
{
	size_t a_count = a->count + (a->user == new_user);
	size_t b_count = b->count + (b->user == new_user);

	if (a_count != b_count)
		return a_count > b_count;
	if (a->user == new_user || b->user == new_user)
		return a->user == new_user;
	return oldest_use_us(a) < oldest_use_us(b);
}

/* Ends sessions until at most `max` are left: of the user with most of them, the one that was not
 * used for the longest time. So a user that logs in often takes no session from others. `new_user`
 * is about to begin one; NULL: nobody is. */
static void trim(struct server *s, size_t max, const struct user *new_user)
{
	while (http_session_count(s) > max) {
		struct http_session_owner *largest = LIST_FIRST(&s->http_sessions.owners);
		struct http_session_owner *owner;

		LIST_FOREACH(owner, &s->http_sessions.owners, link) {
			if (is_larger(owner, largest, new_user))
				largest = owner;
		}
		end(s, TAILQ_FIRST(&largest->by_use));
	}
}

/* Ends sessions of a user until at most `max` are left. */
static void trim_owner(struct server *s, struct http_session_owner *owner, size_t max)
{
	size_t excess = owner->count > max ? owner->count - max : 0;

	while (excess-- != 0)
		end(s, TAILQ_FIRST(&owner->by_use));
}

void http_sessions_done(struct server *s)
{
	trim(s, 0, NULL);
	hash_done(&s->http_sessions.by_digest);
}

size_t http_session_count(const struct server *s)
{
	return hash_count(&s->http_sessions.by_digest);
}

void http_session_digest(struct qless_str token, struct http_session_digest *ret_digest)
{
	SHA256((const unsigned char *)token.ptr, token.len, ret_digest->bytes);
}

static struct http_session_owner *make_owner(struct server *s, const struct user *user)
{
	struct http_session_owner *owner = mem_zalloc(sizeof *owner);

	owner->user = user;
	TAILQ_INIT(&owner->by_use);
	LIST_INSERT_HEAD(&s->http_sessions.owners, owner, link);
	return owner;
}

void http_session_begin(struct server *s, const struct user *user,
			char ret_token[HTTP_SESSION_TOKEN_BYTES + 1])
{
	struct http_session *session = mem_zalloc(sizeof *session);
	struct http_session_owner *owner = find_owner(s, user);

	if (owner != NULL)
		trim_owner(s, owner, s->config->http_user_sessions - 1);
	trim(s, s->config->http_sessions - 1, user);
	/* The user may have lost its last session. */
	owner = find_owner(s, user);
	if (owner == NULL)
		owner = make_owner(s, user);
	entropy_hex(ret_token, HTTP_SESSION_TOKEN_BYTES / 2);
	http_session_digest(str_make(ret_token, HTTP_SESSION_TOKEN_BYTES), &session->digest);
	session->owner = owner;
	acl_fingerprint(user, session->fingerprint);
	session->begun_us = s->clocks.mono_us;
	session->used_us = s->clocks.mono_us;
	hash_insert(&s->http_sessions.by_digest, &session->node);
	TAILQ_INSERT_TAIL(&owner->by_use, session, link);
	owner->count++;
}

static bool is_too_old(const struct server *s, const struct http_session *session)
{
	int64_t now_us = s->clocks.mono_us;

	return now_us - session->used_us >= s->config->http_session_timeout_s * 1000000 ||
	       now_us - session->begun_us >= s->config->http_session_lifetime_s * 1000000;
}

/* The table finds by the digest, and a client cannot choose that. So the time of the search tells
 * nothing about the token. */
static struct http_session *find_digest(const struct server *s,
					const struct http_session_digest *digest)
{
	struct hash_node *node = hash_find(&s->http_sessions.by_digest, text_of(digest));
	struct http_session *session;

	if (node == NULL)
		return NULL;
	session = container_of(node, struct http_session, node);
	return CRYPTO_memcmp(&session->digest, digest, sizeof *digest) == 0 ? session : NULL;
}

static struct http_session *find(struct server *s, struct qless_str token)
{
	struct http_session_digest digest;

	if (token.len != HTTP_SESSION_TOKEN_BYTES)
		return NULL;
	http_session_digest(token, &digest);
	return find_digest(s, &digest);
}

bool http_session_is_open(const struct server *s, const struct http_session_digest *digest)
{
	const struct http_session *session = find_digest(s, digest);

	return session != NULL && !is_too_old(s, session);
}

const struct user *http_session_use(struct server *s, struct qless_str token)
{
	struct http_session *session = find(s, token);

	if (session == NULL)
		return NULL;
	if (is_too_old(s, session)) {
		end(s, session);
		return NULL;
	}
	session->used_us = s->clocks.mono_us;
	TAILQ_REMOVE(&session->owner->by_use, session, link);
	TAILQ_INSERT_TAIL(&session->owner->by_use, session, link);
	return session->owner->user;
}

bool http_session_end(struct server *s, struct qless_str token)
{
	struct http_session *session = find(s, token);

	if (session != NULL)
		end(s, session);
	return session != NULL;
}

void http_sessions_forget_user(struct server *s, const struct user *user)
{
	struct http_session_owner *owner = find_owner(s, user);

	if (owner != NULL)
		trim_owner(s, owner, 0);
}

typedef bool is_over_fn(const struct server *s, const struct http_session *session);

/* The last session of a user takes its owner with it. */
static void end_those_of(struct server *s, struct http_session_owner *owner, is_over_fn *is_over)
{
	struct http_session *session = TAILQ_FIRST(&owner->by_use), *next;

	for (; session != NULL; session = next) {
		next = TAILQ_NEXT(session, link);
		if (is_over(s, session))
			end(s, session);
	}
}

static void end_those(struct server *s, is_over_fn *is_over)
{
	struct http_session_owner *owner = LIST_FIRST(&s->http_sessions.owners), *next;

	for (; owner != NULL; owner = next) {
		next = LIST_NEXT(owner, link);
		end_those_of(s, owner, is_over);
	}
}

static bool has_changed(const struct server *s, const struct http_session *session)
{
	char fingerprint[ACL_FINGERPRINT_BYTES + 1];

	(void)s;
	acl_fingerprint(session->owner->user, fingerprint);
	return strcmp(fingerprint, session->fingerprint) != 0;
}

void http_sessions_check(struct server *s)
{
	end_those(s, has_changed);
}

void http_sessions_tick(struct server *s)
{
	struct http_session_owner *owner, *next;

	end_those(s, is_too_old);
	for (owner = LIST_FIRST(&s->http_sessions.owners); owner != NULL; owner = next) {
		next = LIST_NEXT(owner, link);
		trim_owner(s, owner, s->config->http_user_sessions);
	}
	trim(s, s->config->http_sessions, NULL);
}

/* ---- cookies ---- */

/* Digits of a port at most. */
#define PORT_DIGITS 5

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Takes what is before the next semicolon from `rest`, without the blanks around it. */
static struct qless_str next_pair(struct qless_str *rest)
{
	const char *end = memchr(rest->ptr, ';', rest->len);
	size_t len = end != NULL ? (size_t)(end - rest->ptr) : rest->len;
	struct qless_str pair = str_make(rest->ptr, len);

	len += end != NULL;
	*rest = str_make(rest->ptr + len, rest->len - len);
	while (pair.len != 0 && is_blank(pair.ptr[0]))
		pair = str_make(pair.ptr + 1, pair.len - 1);
	while (pair.len != 0 && is_blank(pair.ptr[pair.len - 1]))
		pair.len--;
	return pair;
}

/* Returns the port in a value of Host; empty: none. */
static struct qless_str port_of(struct qless_str host)
{
	size_t digits = 0;

	while (digits < host.len && host.ptr[host.len - digits - 1] >= '0' &&
	       host.ptr[host.len - digits - 1] <= '9')
		digits++;
	if (digits == 0 || digits > PORT_DIGITS || digits == host.len ||
	    host.ptr[host.len - digits - 1] != ':')
		return STR("");
	return str_make(host.ptr + host.len - digits, digits);
}

void http_session_append_name(struct buf *text, struct qless_str host)
{
	struct qless_str port = port_of(host);

	buf_append_str(text, STR(HTTP_SESSION_COOKIE));
	if (port.len == 0)
		return;
	buf_append_char(text, '-');
	buf_append_str(text, port);
}

/* Takes the name, the separator and the port from the front of a cookie. */
static bool strip_name(struct qless_str pair, struct qless_str port, struct qless_str *ret_rest)
{
	if (!str_strip_prefix(pair, STR(HTTP_SESSION_COOKIE), &pair))
		return false;
	if (port.len != 0 &&
	    (!str_strip_prefix(pair, STR("-"), &pair) || !str_strip_prefix(pair, port, &pair)))
		return false;
	return str_strip_prefix(pair, STR("="), ret_rest);
}

bool http_session_find_token(struct qless_str host, struct qless_str header,
			     struct qless_str *ret_token)
{
	struct qless_str port = port_of(host);

	while (header.len != 0) {
		if (strip_name(next_pair(&header), port, ret_token))
			return true;
	}
	return false;
}
