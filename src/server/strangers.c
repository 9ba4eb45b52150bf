#include "server/strangers.h"

#include "server/server_int.h"
#include "server/tls_session.h"
#include "sys/log.h"

/* Bytes that OpenSSL allocates for a session in its handshake, roughly. */
#define HANDSHAKE_BYTES ((size_t)48 * 1024)

static enum conn_standing standing_of(const struct conn *c)
{
	if (c->client.session.user == NULL || c->state == CONN_HANDSHAKE)
		return CONN_UNAUTHENTICATED;
	return c->client.last_command == NULL && c->http == NULL ? CONN_SILENT : CONN_KNOWN;
}

static size_t bytes_of(const struct conn *c)
{
	return conn_memory(c) + (tls_session_version(&c->transport) != NULL ? HANDSHAKE_BYTES : 0);
}

/* Returns the list of unauthenticated connections with the same protocol. */
static struct stranger_list *list_for(struct conn *c)
{
	struct strangers *strangers = &c->client.server->strangers;

	return c->http != NULL ? &strangers->unauthenticated_http : &strangers->unauthenticated;
}

static void leave(struct conn *c)
{
	struct strangers *strangers = &c->client.server->strangers;

	if (c->standing == CONN_UNAUTHENTICATED) {
		TAILQ_REMOVE(list_for(c), c, stranger);
		strangers->count -= c->http == NULL;
		strangers->bytes -= c->stranger_bytes;
	} else if (c->standing == CONN_SILENT) {
		TAILQ_REMOVE(&strangers->silent, c, stranger);
	}
	c->standing = CONN_KNOWN;
}

static void enter(struct conn *c, enum conn_standing standing)
{
	struct strangers *strangers = &c->client.server->strangers;

	if (standing != CONN_KNOWN)
		c->stranger_us = c->client.server->clocks.mono_us;
	if (standing == CONN_UNAUTHENTICATED) {
		TAILQ_INSERT_TAIL(list_for(c), c, stranger);
		strangers->count += c->http == NULL;
		c->stranger_bytes = 0;
	} else if (standing == CONN_SILENT) {
		TAILQ_INSERT_TAIL(&strangers->silent, c, stranger);
	}
	c->standing = standing;
}

static void cut(struct conn *c, const char *reason)
{
	struct server *s = c->client.server;

	s->stats.stranger_disconnects++;
	s->strangers.cut++;
	if (complaints_take(&s->complaints))
		log_write(LOG_LEVEL_NOTICE,
			  LOG_FIELDS(LOG_INT("id", c->client.session.id),
				     LOG_TEXT("addr", c->client.peer), LOG_TEXT("reason", reason)),
			  "client closed before it had authenticated");
	conn_kill(c, NULL);
}

static void cut_oldest(struct server *s, const char *reason)
{
	struct conn *oldest = TAILQ_FIRST(&s->strangers.unauthenticated);
	struct conn *oldest_http = TAILQ_FIRST(&s->strangers.unauthenticated_http);

	if (oldest == NULL ||
	    (oldest_http != NULL && oldest_http->stranger_us < oldest->stranger_us))
		oldest = oldest_http;
	if (oldest != NULL)
		cut(oldest, reason);
}

/* The HTTP port has places of its own. */
static void cut_oldest_of_resp(struct server *s, const char *reason)
{
	struct conn *oldest = TAILQ_FIRST(&s->strangers.unauthenticated);

	if (oldest != NULL)
		cut(oldest, reason);
}

void strangers_init(struct server *s)
{
	TAILQ_INIT(&s->strangers.unauthenticated);
	TAILQ_INIT(&s->strangers.unauthenticated_http);
	TAILQ_INIT(&s->strangers.silent);
}

void strangers_remove(struct conn *c)
{
	leave(c);
}

void strangers_update(struct conn *c)
{
	struct server *s = c->client.server;
	enum conn_standing standing = standing_of(c);

	if (c->state == CONN_DEAD)
		return;
	if (standing != c->standing) {
		leave(c);
		enter(c, standing);
	}
	if (standing != CONN_UNAUTHENTICATED)
		return;
	s->strangers.bytes -= c->stranger_bytes;
	c->stranger_bytes = bytes_of(c);
	s->strangers.bytes += c->stranger_bytes;
}

/* Returns whether the connection has been what it is for longer than authentication-timeout. */
static bool is_overdue(const struct conn *c)
{
	const struct server *s = c->client.server;
	int64_t timeout_us = s->config->authentication_timeout_s * 1000000;

	return timeout_us != 0 && s->clocks.mono_us - c->stranger_us > timeout_us;
}

/* The connections of a list have the order of their times. A connection in its handshake has a
 * limit of its own, one of HTTP has http-idle-timeout, and one that is closing has nothing more to
 * say. */
void strangers_tick(struct server *s)
{
	struct conn *c, *next;

	for (c = TAILQ_FIRST(&s->strangers.unauthenticated); c != NULL && is_overdue(c); c = next) {
		next = TAILQ_NEXT(c, stranger);
		if (c->state == CONN_OPEN || c->state == CONN_HELD)
			cut(c, "authentication-timeout");
	}
	while (s->strangers.bytes > s->config->unauthenticated_memory_bytes)
		cut_oldest(s, "unauthenticated-memory-limit");
}

static size_t places(const struct server *s)
{
	size_t share = s->conns.limit * (size_t)s->config->unauthenticated_percentage / 100;

	return share != 0 ? share : 1;
}

bool strangers_make_room(struct server *s)
{
	const struct conn *silent;

	if (s->strangers.count >= places(s))
		cut_oldest_of_resp(s, "unauthenticated-clients-percentage");
	while (s->strangers.bytes > s->config->unauthenticated_memory_bytes)
		cut_oldest(s, "unauthenticated-memory-limit");
	if (s->conns.count < s->conns.limit)
		return true;
	silent = TAILQ_FIRST(&s->strangers.silent);
	if (s->strangers.count != 0)
		cut_oldest_of_resp(s, "maxclients");
	else if (silent != NULL && is_overdue(silent))
		cut(TAILQ_FIRST(&s->strangers.silent), "maxclients");
	return s->conns.count < s->conns.limit;
}
