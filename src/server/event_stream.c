#include "server/event_stream.h"

#include <assert.h>
#include <stdlib.h>

#include "command/acl.h"
#include "command/table.h"
#include "server/event_filter.h"
#include "server/http_answer.h"
#include "server/http_conn.h"
#include "server/server_int.h"
#include "sys/clock.h"
#include "util/mem.h"
#include "util/num.h"

/* Bytes of unsent output above which a reader gets no more events. */
#define BACKLOG_BYTES ((size_t)64 * 1024)
/* Bytes of messages in a batch, and events that a reader looks at in one go. */
#define BATCH_BYTES  ((size_t)16 * 1024)
#define BATCH_EVENTS 256
/* Microseconds of a turn for sending events. */
#define RUN_US 2000
/* Microseconds without output after which a reader gets a comment. Proxies close connections that
 * are silent for a minute, or for half of one. */
#define SILENCE_US INT64_C(15000000)
/* Milliseconds after which a browser comes back when the connection was lost. */
#define RETRY_MS 2000

struct event_stream {
	struct conn *conn;
	TAILQ_ENTRY(event_stream) link;
	bool is_late;  /* on the list of these */
	uint64_t next; /* the event to look at next */
	int64_t sent_us;
	bool has_session; /* the user came by the cookie of a session */
	struct http_session_digest session;
	struct event_filter filter;
};

static struct server *server_of_stream(const struct event_stream *stream)
{
	return stream->conn->client.server;
}

/*
 * Birth and death
 */

void event_streams_init(struct server *s)
{
	struct event_streams *streams = &s->event_streams;

	TAILQ_INIT(&streams->current);
	TAILQ_INIT(&streams->late);
	buf_init(&streams->batch, BUF_NO_MAX);
	streams->is_on = s->http != NULL;
	/* Ids of an earlier run are smaller, unless it had a million events a second all the time.
	 */
	event_ring_init(&streams->ring, (uint64_t)s->clocks.wall_us);
	streams->seen = streams->ring.next;
}

void event_streams_done(struct server *s)
{
	assert(s->event_streams.count == 0);
	event_ring_done(&s->event_streams.ring);
	buf_done(&s->event_streams.batch);
}

static struct event_stream_list *list_of(struct event_stream *stream)
{
	struct event_streams *streams = &server_of_stream(stream)->event_streams;

	return stream->is_late ? &streams->late : &streams->current;
}

static void on_gone(struct conn *c)
{
	struct event_stream *stream = c->http->events;

	c->http->events = NULL;
	TAILQ_REMOVE(list_of(stream), stream, link);
	c->client.server->event_streams.count--;
	event_filter_done(&stream->filter);
	free(stream);
}

static void end(struct event_stream *stream)
{
	struct conn *c = stream->conn;

	on_gone(c);
	http_stream_end(c);
}

static void send_text(struct event_stream *stream, struct qless_str text)
{
	http_stream_write(stream->conn, text);
	stream->sent_us = server_of_stream(stream)->clocks.mono_us;
}

/* Tells the client where it is, so that it can go on from there. */
static void send_place(struct event_stream *stream, const char *before)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	buf_printf(&text, "%sid: %llu\n\n", before, (unsigned long long)(stream->next - 1));
	send_text(stream, buf_str(&text));
	buf_done(&text);
}

/* The client has missed events, and must look at everything again. */
static void send_reset(struct event_stream *stream)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	buf_printf(&text, "id: %llu\nevent: reset\ndata: {\"event\":\"reset\"}\n\n",
		   (unsigned long long)(stream->next - 1));
	send_text(stream, buf_str(&text));
	buf_done(&text);
}

/*
 * The request
 */

static bool may_subscribe(const struct conn *c)
{
	const struct command *row = command_table_find(c->client.server->table, STR("subscribe"));

	return acl_may_run(c->client.session.user, c->client.server->table, row);
}

static bool may_follow(const struct conn *c, const struct event_filter *filter)
{
	struct qless_str queue;

	for (size_t at = 0; event_filter_next_queue(filter, &at, &queue);) {
		if (!event_filter_may_follow(c->client.session.user, queue))
			return false;
	}
	return true;
}

/* Finds the conditions of a request. Returns false, and has answered, if it is refused. */
static bool admit(struct conn *c, const struct http_request *r, struct event_filter *ret)
{
	struct buf error = BUF_INIT(BUF_NO_MAX);
	bool is_fine = false;

	if (r->method != HTTP_METHOD_GET) {
		http_reply_field(c, STR("Allow"), STR("GET"));
		http_refuse(c, 405, "BADMETHOD", "/v1/events has the method GET alone");
	} else if (!may_subscribe(c)) {
		http_refuse(c, 403, "NOPERM",
			    "this user has no permissions to run the 'subscribe' command");
	} else if (!event_filter_parse(&r->target, ret, &error)) {
		http_refuse(c, 400, "BADARG", buf_cstr(&error));
	} else if (!may_follow(c, ret)) {
		event_filter_done(ret);
		http_refuse(c, 403, "NOPERM",
			    "this user has no permissions to follow the events of one of the "
			    "queues");
	} else {
		is_fine = true;
	}
	buf_done(&error);
	return is_fine;
}

/* The stream ends with the session. */
static void note_session(struct event_stream *stream, const struct http_request *r)
{
	struct qless_str token;

	stream->has_session = stream->conn->http->has_session;
	if (stream->has_session && http_session_find_token(r->fields[HTTP_FIELD_HOST],
							   r->fields[HTTP_FIELD_COOKIE], &token))
		http_session_digest(token, &stream->session);
}

/* Goes on after the event that the client names, or with the next one. */
static void find_place(struct event_stream *stream, const struct http_request *r)
{
	const struct event_ring *ring = &server_of_stream(stream)->event_streams.ring;
	uint64_t last;

	stream->next = ring->next;
	if (!http_has_field(r, HTTP_FIELD_LAST_EVENT_ID) ||
	    r->fields[HTTP_FIELD_LAST_EVENT_ID].len == 0) {
		send_place(stream, "");
	} else if (num_parse_u64(r->fields[HTTP_FIELD_LAST_EVENT_ID], 0, UINT64_MAX, &last) &&
		   event_ring_continues(ring, last)) {
		stream->next = last + 1;
	} else {
		send_reset(stream);
	}
}

bool event_stream_has(const struct http_target *target)
{
	return target->segment_count == 2 && str_equal(target->segments[0], STR("v1")) &&
	       str_equal(target->segments[1], STR("events"));
}

enum dispatch_result event_stream_run(struct conn *c, const struct http_request *r)
{
	static const struct http_stream_ops ops = { .gone = on_gone, .ends_with_input = true };
	struct event_streams *streams = &c->client.server->event_streams;
	struct event_stream *stream;
	struct event_filter filter;
	struct buf text = BUF_INIT(BUF_NO_MAX);

	if (!admit(c, r, &filter))
		return DISPATCH_DONE;
	/* Without it, some proxies collect the answer instead of passing it on. */
	http_reply_field(c, STR("X-Accel-Buffering"), STR("no"));
	http_stream_begin(c, 200, STR("text/event-stream"), &ops);
	stream = mem_zalloc(sizeof *stream);
	stream->conn = c;
	stream->filter = filter;
	stream->is_late = true;
	TAILQ_INSERT_TAIL(&streams->late, stream, link);
	streams->count++;
	c->http->events = stream;
	note_session(stream, r);
	buf_printf(&text, "retry: %d\n\n", RETRY_MS);
	send_text(stream, buf_str(&text));
	buf_done(&text);
	find_place(stream, r);
	return DISPATCH_WAIT;
}

/*
 * Sending
 */

static bool is_full(const struct event_stream *stream)
{
	return http_stream_backlog(stream->conn) >= BACKLOG_BYTES;
}

/* Makes the batch that begins with the event `first`. Readers that are equally far share it. */
static void make_batch(struct event_streams *streams, uint64_t first)
{
	struct ring_event event;

	if (streams->batch_first == first && streams->batch_end > first)
		return;
	buf_clear(&streams->batch);
	streams->batch_first = streams->batch_end = first;
	while (streams->batch.len < BATCH_BYTES &&
	       event_ring_read(&streams->ring, streams->batch_end, &event)) {
		buf_append_str(&streams->batch, event.message);
		streams->batch_end++;
	}
}

/* Looks at some events for a reader with conditions, or with a user that may not see all. */
static void feed_some(struct event_streams *streams, struct event_stream *stream)
{
	const struct user *user = stream->conn->client.session.user;
	struct ring_event event;

	buf_clear(&streams->batch);
	streams->batch_first = streams->batch_end = 0;
	for (int i = 0; i < BATCH_EVENTS && streams->batch.len < BATCH_BYTES &&
			event_ring_read(&streams->ring, stream->next, &event);
	     i++, stream->next++) {
		if (event_filter_matches(&stream->filter, &event) &&
		    event_filter_may_see(user, &event))
			buf_append_str(&streams->batch, event.message);
	}
	if (streams->batch.len != 0)
		send_text(stream, buf_str(&streams->batch));
}

/* Sends some events to a reader. */
static void feed(struct event_streams *streams, struct event_stream *stream)
{
	const struct user *user = stream->conn->client.session.user;

	if (!event_filter_is_open(&stream->filter) || !event_filter_may_follow_all(user)) {
		feed_some(streams, stream);
		return;
	}
	make_batch(streams, stream->next);
	stream->next = streams->batch_end;
	send_text(stream, buf_str(&streams->batch));
}

static void move(struct event_streams *streams, struct event_stream *stream, bool is_late)
{
	TAILQ_REMOVE(list_of(stream), stream, link);
	stream->is_late = is_late;
	if (is_late)
		TAILQ_INSERT_TAIL(&streams->late, stream, link);
	else
		TAILQ_INSERT_TAIL(&streams->current, stream, link);
}

/* There are new events. */
static void note_new_events(struct event_streams *streams)
{
	struct event_stream *stream;

	if (streams->seen == streams->ring.next)
		return;
	streams->seen = streams->ring.next;
	TAILQ_FOREACH(stream, &streams->current, link)
		stream->is_late = true;
	TAILQ_CONCAT(&streams->late, &streams->current, link);
}

/* Returns the first reader that has room for events, or NULL. */
static struct event_stream *find_hungry(const struct event_streams *streams)
{
	struct event_stream *stream;

	TAILQ_FOREACH(stream, &streams->late, link) {
		if (!is_full(stream))
			return stream;
	}
	return NULL;
}

/* Feeds each reader that is late and has room, a batch at a time. Returns whether any was fed. */
static bool feed_round(struct event_streams *streams, int64_t end_us)
{
	struct event_stream *last = TAILQ_LAST(&streams->late, event_stream_list);
	struct event_stream *stream = TAILQ_FIRST(&streams->late), *next;
	bool any = false;

	for (; stream != NULL && clock_mono_us() < end_us; stream = next) {
		next = stream != last ? TAILQ_NEXT(stream, link) : NULL;
		if (is_full(stream))
			continue;
		if (stream->next < streams->seen)
			feed(streams, stream);
		/* A reader that is still late goes to the end of the list. */
		move(streams, stream, stream->next < streams->seen);
		any = true;
	}
	return any;
}

static void feed_all(struct event_streams *streams)
{
	int64_t end_us = clock_mono_us() + RUN_US;

	while (feed_round(streams, end_us))
		continue;
}

/* Closes the connections of readers for which the ring has lost events. */
static void cut_slow(struct event_streams *streams)
{
	struct event_stream *stream, *next;

	for (stream = TAILQ_FIRST(&streams->late); stream != NULL; stream = next) {
		next = TAILQ_NEXT(stream, link);
		if (stream->next >= streams->ring.first)
			continue;
		streams->cut++;
		conn_kill(stream->conn, "it read its events too slowly for http-event-buffer");
	}
}

void event_streams_run(struct server *s)
{
	struct event_streams *streams = &s->event_streams;
	size_t max = s->config->http_event_buffer_bytes;

	note_new_events(streams);
	feed_all(streams);
	event_ring_trim(&streams->ring,
			TAILQ_EMPTY(&streams->late) ? max : EVENT_STREAM_STRETCH * max);
	cut_slow(streams);
	buf_shrink(&streams->batch, 2 * BATCH_BYTES);
}

bool event_streams_can_run(const struct server *s)
{
	return find_hungry(&s->event_streams) != NULL;
}

/*
 * Once a second
 */

static bool has_rights(const struct event_stream *stream)
{
	const struct conn *c = stream->conn;

	if (stream->has_session && !http_session_is_open(c->client.server, &stream->session))
		return false;
	return acl_user_is_enabled(c->client.session.user) && may_subscribe(c) &&
	       may_follow(c, &stream->filter);
}

static void tick(struct event_stream *stream)
{
	int64_t now_us = server_of_stream(stream)->clocks.mono_us;

	if (!has_rights(stream))
		end(stream);
	else if (now_us - stream->sent_us >= SILENCE_US && !is_full(stream))
		send_place(stream, ":\n");
}

static void tick_list(struct event_stream_list *list)
{
	struct event_stream *stream, *next;

	for (stream = TAILQ_FIRST(list); stream != NULL; stream = next) {
		next = TAILQ_NEXT(stream, link);
		tick(stream);
	}
}

void event_streams_tick(struct server *s)
{
	tick_list(&s->event_streams.current);
	tick_list(&s->event_streams.late);
}
