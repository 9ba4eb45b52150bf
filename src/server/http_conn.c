#include "server/http_conn.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/conn_int.h"
#include "server/http_answer.h"
#include "server/http_history.h"
#include "server/http_pages.h"
#include "server/http_places.h"
#include "server/http_serve.h"
#include "server/server_int.h"
#include "server/share.h"
#include "sys/clock.h"
#include "sys/entropy.h"
#include "sys/log.h"
#include "util/mem.h"

/* Bytes of output that has not left above which a connection runs no more requests. */
#define OUTPUT_BYTES	      ((size_t)256 * 1024)
#define STRANGER_OUTPUT_BYTES ((size_t)16 * 1024)
/* Bytes of a body that means nothing to what answers the request. */
#define IDLE_BODY_BYTES ((size_t)1024)
/* Bytes of a body from a client without a user: enough for a login. */
#define STRANGER_BODY_BYTES ((size_t)16 * 1024)
/* Bytes of a body for which a client has a second more to send the request. */
#define BODY_BYTES_PER_SECOND 1024

static const char *const phase_names[] = {
	[HTTP_READING] = "reading",
	[HTTP_ANSWERING] = "answering",
	[HTTP_STREAMING] = "streaming",
	[HTTP_ANSWERED] = "answered",
};

static bool phase_may_follow(enum http_phase from, enum http_phase to)
{
	switch (to) {
	case HTTP_READING:
		return from == HTTP_ANSWERED || from == HTTP_ANSWERING;
	case HTTP_ANSWERING:
		return from == HTTP_READING;
	case HTTP_STREAMING:
		return from == HTTP_ANSWERING;
	case HTTP_ANSWERED:
		return from != HTTP_ANSWERED;
	}
	return false;
}

void http_conn_set_phase(struct http_conn *h, enum http_phase phase)
{
	assert(phase_may_follow(h->phase, phase));
	log_debug("client %llu: http %s -> %s", (unsigned long long)h->conn->client.session.id,
		  phase_names[h->phase], phase_names[phase]);
	h->phase = phase;
}

/*
 * All connections
 */

void http_init(struct server *s)
{
	if (s->config->http_port == 0 && s->config->https_port == 0)
		return;
	s->http = mem_zalloc(sizeof *s->http);
	http_places_init(s->http);
	s->http->limit = s->config->http_maxclients;
	s->http->pages = http_pages_new();
	s->http->api = http_api_new();
	s->http->history = http_history_new();
	for (int i = 0; i < 2; i++)
		s->http->seeds[i] = entropy_u64();
	if (gethostname(s->http->machine, sizeof s->http->machine - 1) < 0)
		s->http->machine[0] = '\0';
}

void http_done(struct server *s)
{
	if (s->http != NULL) {
		http_pages_free(s->http->pages);
		http_api_free(s->http->api);
		http_history_free(s->http->history);
	}
	free(s->http);
	s->http = NULL;
}

size_t http_connection_count(const struct server *s)
{
	return s->http != NULL ? s->http->count : 0;
}

/*
 * Birth and death
 */

void http_conn_init(struct conn *c)
{
	struct http *http = c->client.server->http;
	struct chunk_pool *pool = &c->client.server->clients.chunks;
	struct http_conn *h = mem_zalloc(sizeof *h);

	h->conn = c;
	http_parser_init(&h->parser);
	chain_init(&h->reply, pool);
	chain_init(&h->fields, pool);
	c->http = h;
	http_places_enter(http, h);
	json_reply_init(&c->client.writer, &h->reply, &h->json);
}

void http_conn_leave(struct conn *c)
{
	const struct http_stream_ops *stream = c->http->stream;

	c->http->stream = NULL;
	if (stream != NULL)
		stream->gone(c);
}

/* A connection that is closing keeps its place until it is dead. */
void http_conn_remove(struct conn *c)
{
	http_conn_leave(c);
	http_places_leave(c->client.server->http, c->http);
}

void http_conn_free(struct http_conn *h)
{
	if (h == NULL)
		return;
	http_api_forget(&h->api);
	chain_done(&h->reply);
	chain_done(&h->fields);
	free(h);
}

size_t http_conn_memory(const struct conn *c)
{
	return sizeof *c->http + c->http->reply.allocated + c->http->fields.allocated +
	       http_api_memory(&c->http->api);
}

/* The connection did what it is for. */
static void note_use(struct http_conn *h)
{
	h->begun_us = 0;
	http_places_renew(h->conn->client.server->http, h);
}

/*
 * Requests
 */

/* Forget the request that was answered. Returns false if the connection is to be closed. */
static bool end_request(struct conn *c)
{
	struct http_conn *h = c->http;

	http_conn_set_phase(h, HTTP_READING);
	http_parser_init(&h->parser);
	note_use(h);
	if (h->keeps_alive)
		return true;
	conn_finish(c);
	return false;
}

void http_conn_answered(struct conn *c)
{
	if (c->state == CONN_HELD && end_request(c))
		conn_release(c);
}

void http_conn_answer(struct conn *c)
{
	if (c->http->phase == HTTP_ANSWERING)
		http_serve_end(c);
	http_conn_answered(c);
}

/* Answer a client whose request cannot be read to its end, and close. */
static void refuse(struct conn *c, int status, const char *code, const char *message)
{
	struct http_conn *h = c->http;

	if (h->phase == HTTP_READING)
		http_conn_set_phase(h, HTTP_ANSWERING);
	h->keeps_alive = h->is_head = h->is_old = false;
	http_refuse(c, status, code, message);
	end_request(c);
}

static void refuse_protocol(struct conn *c, int status, const char *text)
{
	conn_log_misfit(c, "client closed for breaking the protocol", text);
	c->client.server->stats.http_requests++;
	refuse(c, status, "BADREQUEST", text);
}

void http_conn_refuse_foreign(struct conn *c)
{
	refuse(c, 400, "BADREQUEST", "this port is for TLS only");
}

/* The client may send the body, and has not begun to. */
static void invite_body(struct conn *c, size_t len)
{
	const struct http_request *r = &c->client.server->http->request;

	if (!r->wants_continue || len > r->consumed)
		return;
	http_write_status(&c->client.out, 100);
	http_write_head_end(&c->client.out);
	client_output_grew(&c->client);
}

/* Bytes of a body at most, so that it never reaches client-query-buffer-limit. */
static size_t max_body(const struct conn *c)
{
	const struct server *s = c->client.server;
	size_t others = HTTP_HEAD_MAX + HTTP_TRAILER_MAX + CONN_READ_BYTES;
	size_t room = s->config->client_query_buffer_bytes;

	if (c->client.session.user == NULL)
		return STRANGER_BODY_BYTES;

	room = room > others ? room - others : 0;
	return s->config->http_max_body_bytes < room ? s->config->http_max_body_bytes : room;
}

enum step {
	STEP_READ,     /* go on with the same request */
	STEP_STARVE,   /* more bytes are needed */
	STEP_ANSWERED, /* go on after the request */
	STEP_HOLD,     /* the request waits */
	STEP_NEXT,     /* the request goes on in the next turn */
	STEP_WAIT,     /* its answer is not complete */
	STEP_CLOSE,    /* no more requests are read */
};

/* The head of a request is there: `len` bytes have arrived from its beginning. */
static enum step take_head(struct conn *c, const struct http_request *r, size_t len)
{
	struct http_conn *h = c->http;

	h->is_head = r->method == HTTP_METHOD_HEAD;
	h->is_old = r->minor == 0;
	h->keeps_alive = r->keep_alive && !r->has_body;
	http_conn_set_phase(h, HTTP_ANSWERING);
	switch (http_serve_head(c, r)) {
	case HTTP_HELD:
		http_conn_set_phase(h, HTTP_READING);
		chain_done(&h->fields);
		return STEP_HOLD;
	case HTTP_REFUSED:
		c->client.server->stats.http_requests++;
		return end_request(c) ? STEP_ANSWERED : STEP_CLOSE;
	case HTTP_ADMITTED:
		break;
	}
	http_conn_set_phase(h, HTTP_READING);
	h->keeps_alive = r->keep_alive;
	http_parser_accept(&h->parser, http_serve_takes_body(r) ? max_body(c) : IDLE_BODY_BYTES);
	invite_body(c, len);
	return STEP_READ;
}

static enum step run(struct conn *c, const struct http_request *r)
{
	struct http_conn *h = c->http;
	struct server *s = c->client.server;
	enum dispatch_result result;

	http_conn_set_phase(h, HTTP_ANSWERING);
	result = http_serve(c, r);
	/* The command may have ended the client. */
	if (c->state == CONN_DEAD)
		return STEP_CLOSE;
	if (result == DISPATCH_HOLD || result == DISPATCH_NEXT) {
		http_conn_set_phase(h, HTTP_READING);
		return result == DISPATCH_HOLD ? STEP_HOLD : STEP_NEXT;
	}
	s->stats.http_requests++;
	if (result == DISPATCH_WAIT)
		return STEP_WAIT;
	if (!end_request(c))
		return STEP_CLOSE;
	return STEP_ANSWERED;
}

/* Run no more requests until the output has left. A client without a user gets little at once. */
static bool must_drain(struct conn *c)
{
	size_t max = c->client.session.user != NULL ? OUTPUT_BYTES : STRANGER_OUTPUT_BYTES;

	if (c->client.out.len <= max)
		return false;
	c->client.hold = HOLD_OUTPUT;
	return true;
}

void http_conn_wrote(struct conn *c)
{
	if (c->client.out.len == 0 && c->http->phase == HTTP_READING)
		c->http->tells_state = false;
	if (c->client.hold == HOLD_OUTPUT && c->client.out.len == 0)
		conn_release(c);
}

/* Makes a step with what has arrived. */
static enum step take_step(struct conn *c, char *base, size_t len)
{
	struct server *s = c->client.server;
	struct http_request *r = &s->http->request;

	switch (http_parse(&c->http->parser, base, len, r)) {
	case HTTP_NEED_MORE:
		if (c->http->begun_us == 0)
			c->http->begun_us = s->clocks.mono_us;
		return STEP_STARVE;
	case HTTP_ERROR:
		refuse_protocol(c, r->status, r->error);
		return STEP_CLOSE;
	case HTTP_HEAD:
		return take_head(c, r, len);
	case HTTP_REQUEST:
		return run(c, r);
	}
	return STEP_CLOSE;
}

/* Each request takes several steps; a new one does not begin after the share of this turn. */
static size_t run_steps(struct conn *c, char *base, size_t len)
{
	struct server *s = c->client.server;
	int64_t elapsed_us, until_ns;
	size_t left, used = 0;

	s->clocks.lap_ns = clock_mono_ns();
	elapsed_us = s->clocks.lap_ns / 1000 - s->clocks.mono_us;
	left = share_now(s->turn.share, elapsed_us);
	until_ns = s->clocks.lap_ns + 1000 * share_time_us(elapsed_us);
	while (used < len && c->state == CONN_OPEN) {
		switch (must_drain(c) ? STEP_HOLD : take_step(c, base + used, len - used)) {
		case STEP_READ:
			continue;
		case STEP_STARVE:
			return used;
		case STEP_CLOSE:
			return len;
		case STEP_HOLD:
			conn_set_state(c, CONN_HELD);
			return used;
		case STEP_NEXT:
			conn_mark_ready(c);
			return used;
		case STEP_WAIT:
			http_parser_init(&c->http->parser);
			if (c->http->phase == HTTP_STREAMING)
				c->client.hold = HOLD_COMMAND;
			conn_set_state(c, CONN_HELD);
			return used + s->http->request.consumed;
		case STEP_ANSWERED:
			used += s->http->request.consumed;
			break;
		}
		s->clocks.lap_ns = clock_mono_ns();
		if (used < len && (--left == 0 || s->clocks.lap_ns > until_ns)) {
			conn_mark_ready(c);
			return used;
		}
	}
	return c->state == CONN_OPEN ? used : len;
}

size_t http_conn_run(struct conn *c, char *base, size_t len)
{
	size_t used = run_steps(c, base, len);

	if (c->state != CONN_DEAD)
		http_places_update(c->client.server->http, c->http);
	return used;
}

size_t http_conn_room(const struct conn *c, size_t len)
{
	size_t wanted = http_parser_wanted(&c->http->parser, len);

	if (c->client.session.user == NULL)
		return HTTP_HEAD_MAX;
	return wanted < CONN_READ_BYTES ? CONN_READ_BYTES : wanted;
}

bool http_conn_ends_with_input(const struct conn *c)
{
	return c->http->stream != NULL && c->http->stream->ends_with_input;
}

/*
 * Slow clients
 */

static void refuse_slow(struct conn *c)
{
	log_write(LOG_LEVEL_VERBOSE,
		  LOG_FIELDS(LOG_INT("id", c->client.session.id), LOG_TEXT("addr", c->client.peer)),
		  "client closed because its request took longer than http-request-timeout");
	c->client.server->stats.http_timeouts++;
	refuse(c, 408, "TIMEOUT", "the request took too long to arrive");
}

/* A connection that is held waits for us, unless its output has not left. */
void http_conn_check(struct conn *c)
{
	const struct http_conn *h = c->http;
	const struct server *s = c->client.server;
	int64_t begun_us = s->clocks.mono_us - h->begun_us;
	int64_t idle_us = s->clocks.mono_us - c->active_us;
	int64_t idle_max_us = s->config->http_idle_timeout_s * 1000000;
	int64_t request_max_us =
		(s->config->http_request_timeout_s + (int64_t)(c->in.len / BODY_BYTES_PER_SECOND)) *
		1000000;

	if (c->cleared != 0) {
		if (idle_us > idle_max_us)
			conn_kill(c, "it did not read an answer for http-idle-timeout");
	} else if (c->state == CONN_OPEN && h->begun_us != 0) {
		if (begun_us > request_max_us)
			refuse_slow(c);
	} else if (c->state == CONN_OPEN && idle_us > idle_max_us) {
		conn_finish(c);
	}
}

/* The client learns that its request was not carried out to its end. */
void http_conn_stop(struct conn *c)
{
	struct http_conn *h = c->http;

	if (c->state != CONN_HELD || c->client.hold == HOLD_OUTPUT || h->phase == HTTP_STREAMING)
		return;
	waiting_abandon(&c->client);
	http_reply_field(c, STR("Retry-After"), STR("5"));
	refuse(c, 503, "SHUTDOWN", "the server is shutting down");
}
