/*
 * HTTP on evhttp of libevent, which parses requests and writes replies.
 */
#include "server/http.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event_struct.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server/http_places.h"
#include "server/metrics.h"
#include "server/persist.h"
#include "server/server_int.h"
#include "sys/log.h"
#include "util/mem.h"

/* Bytes of the request line and the headers together. */
#define HTTP_HEADERS_MAX 8192
/* Bytes of a body. No route takes one. */
#define HTTP_BODY_MAX 1024
/* Number of pages of metrics that are sent at once. Each holds figures of up to http-max-queues
 * queues. */
#define HTTP_SCRAPES_MAX 4
/* Seconds without anything read or written after which a connection is closed. */
#define HTTP_TIMEOUT_SECONDS 10
/* Milliseconds without new connections after the slowest were closed, and after one could not be
 * accepted. */
#define HTTP_CUT_PAUSE_MS   10
#define HTTP_ERROR_PAUSE_MS 100
/* Bytes of a portion of a page of metrics. Making one takes well below a millisecond. */
#define HTTP_PORTION_BYTES ((size_t)64 * 1024)

struct scrape {
	struct http *http;
	struct evhttp_request *request;
	struct metrics *metrics;
	TAILQ_ENTRY(scrape) link;
};

struct http {
	struct server *server;
	struct evhttp *evhttp;
	struct evconnlistener **listeners;
	size_t listener_count;
	struct event *pause;
	struct http_places places;
	TAILQ_HEAD(, scrape) scrapes;
	size_t scrape_count;
};

size_t http_connection_count(const struct http *h)
{
	return h != NULL ? h->places.count : 0;
}

/*
 * Connections
 */

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;

	(void)fd;
	(void)what;
	for (size_t i = 0; i < h->listener_count; i++)
		evconnlistener_enable(h->listeners[i]);
}

/* Accept no connections for a moment. */
static void pause_listening(struct http *h, int ms)
{
	struct timeval delay = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	for (size_t i = 0; i < h->listener_count; i++)
		evconnlistener_disable(h->listeners[i]);
	event_add(h->pause, &delay);
}

void http_cron(struct http *h)
{
	if (h != NULL && h->places.count != 0)
		http_places_recount(&h->places);
}

static struct bufferevent *make_connection(struct event_base *base, void *arg)
{
	struct http *h = arg;
	struct server *s = h->server;
	struct bufferevent *made = bufferevent_socket_new(base, -1, 0);
	size_t cut;

	if (made == NULL)
		return NULL;
	server_read_clock(s);
	cut = http_places_add(&h->places, made, s->clocks.mono_us);
	if (cut == 0)
		return made;
	s->stats.http_disconnects += cut;
	if (complaints_take(&s->complaints))
		log_warning("closed the %zu slowest connections to http-port: all %zu were in use",
			    cut, h->places.limit);
	/* The descriptors of these connections are in use until libevent has closed them. */
	pause_listening(h, HTTP_CUT_PAUSE_MS);
	return made;
}

/* A connection cannot be accepted. libevent would try again at once, for ever. It passes a pointer
 * of its own to callbacks of listeners. */
static struct http *listening_http;

static void on_accept_error(struct evconnlistener *listener, void *evhttp)
{
	int error = EVUTIL_SOCKET_ERROR();
	struct http *h = listening_http;

	(void)listener;
	(void)evhttp;
	if (complaints_take(&h->server->complaints))
		log_warning("cannot accept a connection to http-port: %s", strerror(error));
	pause_listening(h, HTTP_ERROR_PAUSE_MS);
}

static void touch(struct http *h, struct evhttp_connection *connection)
{
	http_places_touch(&h->places, evhttp_connection_get_bufferevent(connection),
			  h->server->clocks.mono_us);
}

/*
 * Replies
 */

static bool is_head(struct evhttp_request *request)
{
	return evhttp_request_get_command(request) == EVHTTP_REQ_HEAD;
}

static void set_headers(struct evhttp_request *request, const char *type)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);

	evhttp_add_header(headers, "Content-Type", type);
	evhttp_add_header(headers, "Cache-Control", "no-store");
	evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
}

/* evhttp would send the body in reply to HEAD as well. */
static void reply(struct evhttp_request *request, int status, const char *reason, const char *text)
{
	struct evbuffer *body = evbuffer_new();

	set_headers(request, "text/plain; charset=utf-8");
	if (!is_head(request))
		evbuffer_add_printf(body, "%s\n", text);
	evhttp_send_reply(request, status, reason, body);
	evbuffer_free(body);
}

static void reply_ready(struct http *h, struct evhttp_request *request)
{
	const struct server *s = h->server;
	const char *reason = NULL;
	char text[512];

	if (s->stop.is_begun)
		reason = "stopping";
	else if (s->loading)
		reason = "loading";
	else if (server_is_out_of_memory(s))
		reason = "out of memory: used memory is above maxmemory, jobs are refused";
	else if (sync_watch_is_late(s)) {
		snprintf(
			text, sizeof text,
			"the disk is slow: the oldest unsynced record is %.1f seconds old, %s wait",
			(double)sync_watch_age_us(s) / 1e6,
			sync_watch_must_hold(s) ? "changes" : "replies");
		reason = text;
	} else if (persist_complaint(s) != NULL) {
		snprintf(text, sizeof text, "the log cannot be written, changes are refused: %s",
			 persist_complaint(s));
		reason = text;
	}
	if (reason != NULL)
		reply(request, HTTP_SERVUNAVAIL, "Service Unavailable", reason);
	else
		reply(request, HTTP_OK, "OK", "ready");
}

/*
 * Metrics
 */

static void scrape_free(struct scrape *scrape)
{
	struct http *h = scrape->http;

	TAILQ_REMOVE(&h->scrapes, scrape, link);
	h->scrape_count--;
	metrics_free(scrape->metrics);
	free(scrape);
}

/* The client has gone. Then evhttp leaves an unanswered request to its handler, without a
 * connection. When the server ends, evhttp frees the request itself. */
static void on_scraper_gone(struct evhttp_connection *connection, void *arg)
{
	struct scrape *scrape = arg;

	(void)connection;
	if (evhttp_request_get_connection(scrape->request) == NULL)
		evhttp_request_free(scrape->request);
	scrape_free(scrape);
}

/* Send the next portion. Called when the one before it has left. */
static void send_portion(struct evhttp_connection *connection, void *arg)
{
	struct scrape *scrape = arg;
	struct server *s = scrape->http->server;
	struct evbuffer *body = evbuffer_new();
	struct buf text = BUF_INIT(BUF_NO_MAX);
	int64_t begin_us;
	bool more;

	server_read_clock(s);
	touch(scrape->http, connection);
	begin_us = stats_begin_latency(s);
	more = metrics_append(scrape->metrics, &text, HTTP_PORTION_BYTES);
	evbuffer_add(body, buf_data(&text), text.len);
	buf_done(&text);
	stats_end_latency(s, "http-metrics", begin_us);
	if (more) {
		evhttp_send_reply_chunk_with_cb(scrape->request, body, send_portion, scrape);
	} else {
		struct evhttp_request *request = scrape->request;

		evhttp_connection_set_closecb(connection, NULL, NULL);
		scrape_free(scrape);
		if (evbuffer_get_length(body) != 0)
			evhttp_send_reply_chunk(request, body);
		evhttp_send_reply_end(request);
	}
	evbuffer_free(body);
}

static void reply_metrics(struct http *h, struct evhttp_request *request)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(request);
	struct scrape *scrape;
	int64_t begin_us;

	if (is_head(request)) {
		set_headers(request, "text/plain; version=0.0.4; charset=utf-8");
		evhttp_send_reply(request, HTTP_OK, "OK", NULL);
		return;
	}
	if (h->scrape_count == HTTP_SCRAPES_MAX) {
		reply(request, HTTP_SERVUNAVAIL, "Service Unavailable",
		      "too many requests for metrics at once");
		return;
	}
	begin_us = stats_begin_latency(h->server);
	scrape = mem_zalloc(sizeof *scrape);
	scrape->http = h;
	scrape->request = request;
	scrape->metrics = metrics_new(h->server);
	stats_end_latency(h->server, "http-metrics", begin_us);
	TAILQ_INSERT_TAIL(&h->scrapes, scrape, link);
	h->scrape_count++;
	evhttp_connection_set_closecb(connection, on_scraper_gone, scrape);
	set_headers(request, "text/plain; version=0.0.4; charset=utf-8");
	evhttp_send_reply_start(request, HTTP_OK, "OK");
	send_portion(connection, scrape);
}

/*
 * Routes
 */

static void reply_health(struct http *h, struct evhttp_request *request)
{
	(void)h;
	reply(request, HTTP_OK, "OK", "ok");
}

struct route {
	const char *path;
	unsigned methods; /* bits of enum evhttp_cmd_type */
	void (*handler)(struct http *h, struct evhttp_request *request);
};

#define READS (EVHTTP_REQ_GET | EVHTTP_REQ_HEAD)

static const struct route routes[] = {
	{ "/metrics", READS, reply_metrics },
	{ "/healthz", READS, reply_health },
	{ "/readyz", READS, reply_ready },
};

static const struct {
	unsigned bit;
	const char *name;
} methods[] = {
	{ EVHTTP_REQ_GET, "GET" },
	{ EVHTTP_REQ_HEAD, "HEAD" },
};

static const struct route *find_route(const struct evhttp_request *request)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	const char *path = uri != NULL ? evhttp_uri_get_path(uri) : NULL;

	for (size_t i = 0; path != NULL && i < sizeof routes / sizeof routes[0]; i++) {
		if (strcmp(routes[i].path, path) == 0)
			return &routes[i];
	}
	return NULL;
}

static void refuse_path(struct evhttp_request *request)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
		buf_printf(&text, "%s%s", i == 0 ? "there are " : ", ", routes[i].path);
	reply(request, HTTP_NOTFOUND, "Not Found", buf_cstr(&text));
	buf_done(&text);
}

static void refuse_method(struct evhttp_request *request, unsigned allowed)
{
	struct buf header = BUF_INIT(BUF_NO_MAX), text = BUF_INIT(BUF_NO_MAX);

	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
		if ((allowed & methods[i].bit) == 0)
			continue;
		buf_printf(&header, "%s%s", header.len == 0 ? "" : ", ", methods[i].name);
		buf_printf(&text, "%s%s", text.len == 0 ? "only " : " and ", methods[i].name);
	}
	evhttp_add_header(evhttp_request_get_output_headers(request), "Allow", buf_cstr(&header));
	reply(request, HTTP_BADMETHOD, "Method Not Allowed", buf_cstr(&text));
	buf_done(&header);
	buf_done(&text);
}

static void on_request(struct evhttp_request *request, void *arg)
{
	const struct route *route = find_route(request);
	unsigned allowed = route != NULL ? route->methods : READS;
	struct http *h = arg;

	server_read_clock(h->server);
	touch(h, evhttp_request_get_connection(request));
	h->server->stats.http_requests++;
	if ((allowed & (unsigned)evhttp_request_get_command(request)) == 0)
		refuse_method(request, allowed);
	else if (route == NULL)
		refuse_path(request);
	else
		route->handler(h, request);
}

/*
 * Opening and closing
 */

static int listen_on(struct http *h, const char *address, struct buf *ret_error)
{
	int port = h->server->config->http_port;
	struct evhttp_bound_socket *bound =
		evhttp_bind_socket_with_handle(h->evhttp, address, (ev_uint16_t)port);

	if (bound == NULL) {
		buf_printf(ret_error, "cannot listen on %s port %d for HTTP: %s", address, port,
			   strerror(errno));
		return -1;
	}
	log_notice("serving /metrics on %s port %d", address, port);
	h->listeners = mem_realloc_array(h->listeners, h->listener_count + 1,
					 sizeof(struct evconnlistener *));
	h->listeners[h->listener_count] = evhttp_bound_socket_get_listener(bound);
	evconnlistener_set_error_cb(h->listeners[h->listener_count++], on_accept_error);
	return 0;
}

int http_open(struct server *s, struct buf *ret_error)
{
	const struct config_list *addresses = &s->config->http_bind;
	struct http *h;

	if (s->config->http_port == 0)
		return 0;
	h = s->http = mem_zalloc(sizeof *h);
	h->server = s;
	listening_http = h;
	TAILQ_INIT(&h->scrapes);
	http_places_init(&h->places, s->base, s->config->http_maxclients);
	h->pause = evtimer_new(s->base, on_pause_over, h);
	h->evhttp = evhttp_new(s->base);
	evhttp_set_max_headers_size(h->evhttp, HTTP_HEADERS_MAX);
	evhttp_set_max_body_size(h->evhttp, HTTP_BODY_MAX);
	evhttp_set_timeout(h->evhttp, HTTP_TIMEOUT_SECONDS);
	evhttp_set_default_content_type(h->evhttp, NULL);
	evhttp_set_allowed_methods(h->evhttp, UINT16_MAX);
	evhttp_set_bevcb(h->evhttp, make_connection, h);
	evhttp_set_gencb(h->evhttp, on_request, h);
	for (size_t i = 0; i < addresses->count; i++) {
		if (listen_on(h, addresses->words[i], ret_error) < 0)
			return -1;
	}
	return 0;
}

void http_close(struct http *h)
{
	if (h == NULL)
		return;
	event_free(h->pause);
	evhttp_free(h->evhttp);
	while (!TAILQ_EMPTY(&h->scrapes))
		scrape_free(TAILQ_FIRST(&h->scrapes));
}

void http_free(struct http *h)
{
	if (h != NULL) {
		free(h->listeners);
		http_places_done(&h->places);
	}
	free(h);
}
