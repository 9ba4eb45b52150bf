#include "server/http_session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "command/acl.h"
#include "server/server_int.h"
#include "sys/entropy.h"
#include "util/container.h"
#include "util/mem.h"

static_assert(HTTP_SESSION_DIGEST_BYTES == SHA256_DIGEST_LENGTH, "of SHA-256");

struct http_session {
	struct hash_node node;
	TAILQ_ENTRY(http_session) link;
	const struct user *user;
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
	TAILQ_INIT(&s->http_sessions.by_use);
}

static void end(struct server *s, struct http_session *session)
{
	hash_remove(&s->http_sessions.by_digest, &session->node);
	TAILQ_REMOVE(&s->http_sessions.by_use, session, link);
	free(session);
}

static void trim(struct server *s, size_t max)
{
	while (http_session_count(s) > max)
		end(s, TAILQ_FIRST(&s->http_sessions.by_use));
}

void http_sessions_done(struct server *s)
{
	trim(s, 0);
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

void http_session_begin(struct server *s, const struct user *user,
			char ret_token[HTTP_SESSION_TOKEN_BYTES + 1])
{
	struct http_session *session = mem_zalloc(sizeof *session);

	trim(s, s->config->http_sessions - 1);
	entropy_hex(ret_token, HTTP_SESSION_TOKEN_BYTES / 2);
	http_session_digest(str_make(ret_token, HTTP_SESSION_TOKEN_BYTES), &session->digest);
	session->user = user;
	acl_fingerprint(user, session->fingerprint);
	session->begun_us = s->clocks.mono_us;
	session->used_us = s->clocks.mono_us;
	hash_insert(&s->http_sessions.by_digest, &session->node);
	TAILQ_INSERT_TAIL(&s->http_sessions.by_use, session, link);
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
	TAILQ_REMOVE(&s->http_sessions.by_use, session, link);
	TAILQ_INSERT_TAIL(&s->http_sessions.by_use, session, link);
	return session->user;
}

bool http_session_end(struct server *s, struct qless_str token)
{
	struct http_session *session = find(s, token);

	if (session != NULL)
		end(s, session);
	return session != NULL;
}

typedef bool is_over_fn(const struct server *s, const struct http_session *session,
			const void *arg);

static void end_those(struct server *s, is_over_fn *is_over, const void *arg)
{
	struct http_session *session, *next;

	for (session = TAILQ_FIRST(&s->http_sessions.by_use); session != NULL; session = next) {
		next = TAILQ_NEXT(session, link);
		if (is_over(s, session, arg))
			end(s, session);
	}
}

static bool is_of_user(const struct server *s, const struct http_session *session, const void *arg)
{
	(void)s;
	return session->user == arg;
}

void http_sessions_forget_user(struct server *s, const struct user *user)
{
	end_those(s, is_of_user, user);
}

static bool has_changed(const struct server *s, const struct http_session *session, const void *arg)
{
	char fingerprint[ACL_FINGERPRINT_BYTES + 1];

	(void)s;
	(void)arg;
	acl_fingerprint(session->user, fingerprint);
	return strcmp(fingerprint, session->fingerprint) != 0;
}

void http_sessions_check(struct server *s)
{
	end_those(s, has_changed, NULL);
}

static bool is_old(const struct server *s, const struct http_session *session, const void *arg)
{
	(void)arg;
	return is_too_old(s, session);
}

void http_sessions_tick(struct server *s)
{
	end_those(s, is_old, NULL);
	trim(s, s->config->http_sessions);
}

/* ---- cookies ---- */

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

bool http_session_find_token(struct qless_str header, struct qless_str *ret_token)
{
	while (header.len != 0) {
		struct qless_str pair = next_pair(&header);

		if (str_strip_prefix(pair, STR(HTTP_SESSION_COOKIE "="), ret_token))
			return true;
	}
	return false;
}
