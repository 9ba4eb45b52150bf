#include "server/http_places.h"

#include "server/conn.h"
#include "server/http_conn.h"
#include "server/server_int.h"
#include "sys/log.h"

void http_places_init(struct http *http)
{
	for (int use = 0; use < HTTP_USE_COUNT; use++)
		TAILQ_INIT(&http->conns[use]);
}

/* A client with a request that waits for a command or gets a stream has shown what it wants. */
static enum http_use use_of(const struct http_conn *h)
{
	if (h->conn->client.session.user == NULL)
		return HTTP_USE_STRANGER;
	return h->phase == HTTP_READING ? HTTP_USE_IDLE : HTTP_USE_BUSY;
}

static void insert(struct http *http, struct http_conn *h)
{
	h->use = use_of(h);
	TAILQ_INSERT_TAIL(&http->conns[h->use], h, link);
}

static void remove_from_list(struct http *http, struct http_conn *h)
{
	TAILQ_REMOVE(&http->conns[h->use], h, link);
}

void http_places_enter(struct http *http, struct http_conn *h)
{
	insert(http, h);
	http->count++;
}

void http_places_leave(struct http *http, struct http_conn *h)
{
	remove_from_list(http, h);
	http->count--;
}

void http_places_renew(struct http *http, struct http_conn *h)
{
	remove_from_list(http, h);
	insert(http, h);
}

void http_places_update(struct http *http, struct http_conn *h)
{
	if (use_of(h) != h->use)
		http_places_renew(http, h);
}

static struct http_conn *find_least_useful(const struct http *http)
{
	struct http_conn *h = TAILQ_FIRST(&http->conns[HTTP_USE_STRANGER]);

	return h != NULL ? h : TAILQ_FIRST(&http->conns[HTTP_USE_IDLE]);
}

bool http_places_make_room(struct server *s)
{
	struct http_conn *h;

	if (s->http->count < s->http->limit)
		return true;
	h = find_least_useful(s->http);
	if (h == NULL)
		return false;
	s->stats.http_disconnects++;
	s->strangers.cut++;
	if (complaints_take(&s->complaints))
		log_warning("closed the slowest connection to http-port: all %zu of "
			    "http-maxclients were in use",
			    s->http->limit);
	conn_kill(h->conn, NULL);
	return true;
}
