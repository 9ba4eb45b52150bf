/*
 * Input of connections.
 *
 * All connections share one scratch buffer. Requests run right there, without a copy. Only the rest
 * goes to a buffer of the connection: a request that has not arrived completely, or requests beyond
 * this turn's share. A connection at rest holds neither input nor output buffers.
 *
 * Events of plain sockets are edge-triggered: the kernel reports a change once. It then reports
 * sockets in the order in which their bytes arrived, and need not look at a socket again to find
 * that nothing has arrived. In return, code that stops before it has read or written everything
 * must come back without an event:
 *
 * - After a read that filled its room (transport.has_more), and after an event for a connection on
 *   the ready list, the connection stays on that list.
 * - If the peer's end was announced together with bytes (EV_CLOSED), the connection is read until
 *   the end.
 * - A reset has no event of its own. It shows when a reply is written. If the bytes before it had
 * no reply, the connection is read once more.
 * - If a turn has written its share and the socket would take more, the write event is added again.
 *
 * Handshakes and TLS sessions use level-triggered events. So does everything if libevent has no
 * edges or cannot announce the end of a peer (EVENT_NOEPOLL).
 */
#include <assert.h>
#include <poll.h>

#include "server/conn_int.h"
#include "server/dispatch.h"
#include "server/recording.h"
#include "server/server_int.h"
#include "server/share.h"
#include "server/tls_session.h"
#include "sys/clock.h"
#include "sys/log.h"

/* Bytes: an empty input buffer that is larger is freed. */
#define KEEP_INPUT_BYTES ((size_t)4 * 1024)
/* Bytes of a read at most, so that the rest of a large request does not arrive in one long turn. */
#define READ_BYTES_MAX ((size_t)1024 * 1024)
/* Bytes of input that a held connection may have. Beyond that it is not read. */
#define HELD_INPUT_BYTES ((size_t)1024 * 1024)
/* The same for HTTP, which has few clients that send many requests at once. */
#define HELD_HTTP_BYTES ((size_t)16 * 1024)
/* Nanoseconds of a turn after which no more steps of handshakes begin. With a large RSA key, each
 * takes some milliseconds. */
#define HANDSHAKES_NS INT64_C(2000000)

/* A connection may wait for jobs or their ends for ever. Reading shows when it ends, so it is read
 * up to client-query-buffer-limit. */
static size_t held_room(const struct conn *c)
{
	if (waiting_is_asleep(c->client.waiting))
		return SIZE_MAX;
	if (c->http != NULL)
		return HELD_HTTP_BYTES;
	return c->client.session.user != NULL
		       ? HELD_INPUT_BYTES
		       : c->client.server->config->unauthenticated_request_bytes;
}

/* A connection that has not authenticated may send little. */
static const struct resp_limits *limits_of(const struct conn *c)
{
	return c->client.session.user != NULL ? &c->client.server->intake.limits
					      : &c->client.server->intake.stranger_limits;
}

void conn_log_misfit(struct conn *c, const char *what, const char *reason)
{
	struct server *s = c->client.server;
	uint64_t left_out;

	if (!complaints_take_misfit(&s->complaints, s->clocks.mono_us, &left_out))
		return;
	log_write(LOG_LEVEL_NOTICE,
		  LOG_FIELDS(LOG_INT("id", c->client.session.id), LOG_TEXT("addr", c->client.peer),
			     LOG_TEXT("error", reason), LOG_INT("others_not_logged", left_out)),
		  "%s", what);
}

static void refuse_protocol(struct conn *c, const char *text)
{
	conn_log_misfit(c, "client closed for breaking the protocol", text);
	reply_error(&c->client.writer, "ERR", str_from(text));
	client_output_grew(&c->client);
	conn_finish(c);
}

/*
 * Run requests from the front of the bytes, at most this turn's share. Returns the number of bytes
 * that were used; the caller keeps the rest. Marks the connection ready if the rest may hold whole
 * requests.
 */
static size_t run_requests(struct conn *c, const char *base, size_t len)
{
	struct server *s = c->client.server;
	struct resp_request *request = &s->intake.request;
	enum dispatch_result result;
	int64_t elapsed_us, until_ns;
	size_t used = 0;
	size_t left;

	s->clocks.lap_ns = clock_mono_ns();
	elapsed_us = s->clocks.lap_ns / 1000 - s->clocks.mono_us;
	left = share_now(s->turn.share, elapsed_us);
	until_ns = s->clocks.lap_ns + 1000 * share_time_us(elapsed_us);
	while (used < len && c->state == CONN_OPEN) {
		switch (resp_parse(&c->parser, limits_of(c), base + used, len - used, request)) {
		case RESP_NEED_MORE:
			return used;
		case RESP_ERROR:
			refuse_protocol(c, request->error);
			return len;
		case RESP_REQUEST:
			break;
		}
		if (left-- == 0 || (used != 0 && s->clocks.lap_ns > until_ns)) {
			/* Other connections come first. The parser has not moved on, and will
			 * find this request again. */
			resp_parser_init(&c->parser);
			conn_mark_ready(c);
			return used;
		}
		result = request->argc != 0
				 ? dispatch_request(&c->client, request->argv, (int)request->argc)
				 : DISPATCH_DONE;
		if (result == DISPATCH_HOLD) {
			resp_parser_init(&c->parser);
			conn_set_state(c, CONN_HELD);
			return used;
		}
		if (result == DISPATCH_WAIT) {
			conn_set_state(c, CONN_HELD);
			return used + request->consumed;
		}
		if (conn_is_stranger(c))
			strangers_update(c);
		used += request->consumed;
	}
	return c->state == CONN_OPEN ? used : len;
}

/* Runs requests of the connection's protocol. */
static inline size_t run_input(struct conn *c, char *base, size_t len)
{
	return c->http != NULL ? http_conn_run(c, base, len) : run_requests(c, base, len);
}

static void refuse_long_input(struct conn *c)
{
	log_write(LOG_LEVEL_WARNING,
		  LOG_FIELDS(LOG_INT("id", c->client.session.id), LOG_TEXT("addr", c->client.peer),
			     LOG_INT("bytes", c->in.len)),
		  "client closed for reaching client-query-buffer-limit");
	c->client.server->stats.query_limit_disconnects++;
	conn_kill(c, NULL);
}

/* Checks the input that is kept. Returns false if the connection is dead. */
static inline bool check_input(struct conn *c)
{
	if (c->in.len <= c->client.server->config->client_query_buffer_bytes)
		return true;
	refuse_long_input(c);
	return false;
}

/* The peer sends no more. The server still runs and answers the requests it has sent, though the
 * peer may be gone. A peer that may be gone gets no job, so its wait ends. */
static void on_end_of_input(struct conn *c)
{
	c->end_of_input = true;
	event_del(&c->read_event);
	if (!c->is_ready && (c->state != CONN_HELD || waiting_is_asleep(c->client.waiting) ||
			     (c->http != NULL && http_conn_ends_with_input(c))))
		conn_finish(c);
}

/* A connection at rest has no input buffer, and its replies are counted if they cannot be written:
 * the usual request changes nothing. */
static void count_input(struct conn *c)
{
	if (c->in.cap != 0 || c->counted.bytes != sizeof *c)
		conn_count_memory(c);
}

static void run_buffered(struct conn *c)
{
	size_t used = run_input(c, buf_data(&c->in), c->in.len);

	if (c->state == CONN_DEAD || c->state == CONN_CLOSING)
		return;
	buf_consume(&c->in, used);
	if (c->in.len == 0 && c->in.cap > KEEP_INPUT_BYTES)
		buf_done(&c->in);
	count_input(c);
	/* BPOP may have been on hold, or in the buffer, when the input ended. */
	if (c->end_of_input && !c->is_ready &&
	    (c->state == CONN_OPEN || waiting_is_asleep(c->client.waiting)))
		conn_finish(c);
}

/* Returns how many bytes to read at once. A stranger gets no more memory than its request may
 * have. */
static size_t read_room(const struct conn *c)
{
	return c->client.session.user != NULL
		       ? CONN_READ_BYTES
		       : c->client.server->config->unauthenticated_request_bytes;
}

/* Read into the scratch buffer, or append to the input that the connection still has. */
static ssize_t read_some(struct conn *c, char **ret_base)
{
	struct server *s = c->client.server;
	size_t room = c->http != NULL ? http_conn_room(c, c->in.len) : read_room(c);
	ssize_t n;
	char *to;

	if (c->in.len == 0) {
		*ret_base = s->intake.scratch;
		return c->transport.ops->read(&c->transport, s->intake.scratch,
					      room < CONN_READ_BYTES ? room : CONN_READ_BYTES);
	}
	if (c->client.session.user != NULL && c->http == NULL) {
		size_t wanted = resp_parser_wanted(&c->parser, c->in.len);

		if (wanted > room)
			room = wanted < READ_BYTES_MAX ? wanted : READ_BYTES_MAX;
	}
	to = buf_reserve(&c->in, room);
	n = c->transport.ops->read(&c->transport, to, room);
	if (n > 0)
		buf_commit(&c->in, (size_t)n);
	*ret_base = NULL;
	return n;
}

/*
 * An event for bytes may stand for the end of the stream as well. An orderly end has its own flag
 * (EV_CLOSED). A reset has none, but it shows when output is written.
 */
static bool may_have_ended(const struct conn *c)
{
	return c->end_is_near || c->in.len != 0 || c->client.out.len == 0;
}

bool conn_peer_is_gone(const struct conn *c)
{
	struct pollfd socket = { .fd = c->transport.fd, .events = POLLRDHUP };

	return c->end_of_input || c->end_is_near || poll(&socket, 1, 0) != 0;
}

bool conn_discard_input(struct conn *c, bool *ret_any)
{
	struct server *s = c->client.server;
	ssize_t n = c->transport.ops->read(&c->transport, s->intake.scratch, CONN_READ_BYTES);

	*ret_any = n > 0;
	return n > 0 || n == TRANSPORT_WANT_READ || n == TRANSPORT_WANT_WRITE;
}

/* The other sockets come first in the next turn. */
static void end_turn_if_late(struct server *s)
{
	if (recording_wants_end_of_turn(s) || turn_is_late(s))
		event_base_loopbreak(s->base);
}

/* Thousands of connections may end at once, without running a command. */
static void note_end(struct server *s)
{
	s->clocks.lap_ns = clock_mono_ns();
	end_turn_if_late(s);
}

/* Read once, and run the requests. */
static void receive(struct conn *c)
{
	struct server *s = c->client.server;
	size_t used;
	char *base;
	ssize_t n = read_some(c, &base);

	if (n == TRANSPORT_FAILED) {
		conn_kill(c, transport_error(&c->transport));
		note_end(s);
		return;
	}
	if (n == TRANSPORT_WANT_WRITE) {
		/* The socket may be readable in the meantime, but reading would fail until it
		 * can be written. */
		c->reading_waits = true;
		event_del(&c->read_event);
		conn_watch_writable(c, true);
	}
	if (n < 0)
		return;
	if (n == 0) {
		on_end_of_input(c);
		note_end(s);
		return;
	}
	s->stats.reads++;
	s->stats.bytes_in += (uint64_t)n;
	c->active_us = s->clocks.mono_us;

	if (base == NULL) {
		if (c->state == CONN_OPEN)
			run_buffered(c);
	} else {
		used = c->state == CONN_OPEN ? run_input(c, base, (size_t)n) : 0;
		if (used < (size_t)n && (c->state == CONN_OPEN || c->state == CONN_HELD))
			buf_append(&c->in, base + used, (size_t)n - used);
	}
	count_input(c);
	if (waiting_is_asleep(c->client.waiting) && !check_input(c))
		return;
	if (conn_is_stranger(c))
		strangers_update(c);
	if (c->on_edges && may_have_ended(c))
		c->transport.has_more = true;
	if (c->state == CONN_OPEN && check_input(c) && c->transport.has_more)
		conn_mark_ready(c);
	else if (c->state == CONN_HELD && c->on_edges && c->transport.has_more)
		conn_tell_again(&c->read_event);
	end_turn_if_late(s);
}

/*
 * The handshake of a transport
 */

/*
 * Discard what the peer has sent, and give it time to read our last bytes: a TLS alert, which is
 * written already, or an error in plain text. Closing at once would reset the connection, and those
 * bytes would be lost.
 */
static void fail_handshake(struct conn *c, bool is_foreign)
{
	const char *reason = transport_error(&c->transport);
	bool has_begun = tls_session_has_begun(&c->transport);

	c->client.server->stats.tls_failures++;
	if (!is_foreign && !has_begun) {
		/* Port scanners do this. */
		conn_kill(c, reason);
		return;
	}
	conn_log_misfit(c, "TLS handshake failed", reason);
	c->transport.ops->done(&c->transport);
	transport_init_plain(&c->transport, c->transport.fd);
	conn_set_state(c, CONN_OPEN);
	conn_watch_writable(c, false);
	if (is_foreign && c->http != NULL) {
		http_conn_refuse_foreign(c);
	} else if (is_foreign) {
		reply_error(&c->client.writer, "ERR", STR("this port is for TLS only"));
		client_output_grew(&c->client);
	}
	conn_finish(c);
}

static int step_handshake(struct conn *c)
{
	struct turn *turn = &c->client.server->turn;
	int64_t begun_ns = clock_mono_ns();
	int rc = c->transport.ops->handshake(&c->transport);

	turn->handshakes_left--;
	turn->handshakes_ns += clock_mono_ns() - begun_ns;
	return rc;
}

static void run_handshake(struct conn *c)
{
	struct server *s = c->client.server;
	int rc;

	/* The event is told again in the next turn: only plain sockets are edge-triggered. */
	if (s->turn.handshakes_left == 0 || s->turn.handshakes_ns > HANDSHAKES_NS)
		return;
	rc = step_handshake(c);
	if (rc == TRANSPORT_FAILED || rc == TRANSPORT_FOREIGN) {
		fail_handshake(c, rc == TRANSPORT_FOREIGN);
		return;
	}
	conn_watch_writable(c, rc == TRANSPORT_WANT_WRITE);
	if (rc == TRANSPORT_WANT_WRITE)
		event_del(&c->read_event);
	else
		event_add(&c->read_event, NULL);
	if (rc != 0)
		return;
	s->stats.tls_handshakes++;
	s->stats.tls_resumed += tls_session_is_resumed(&c->transport);
	c->active_us = s->clocks.mono_us;
	conn_set_state(c, CONN_OPEN);
	strangers_update(c);
	receive(c);
}

/*
 * Events
 */

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	if (c->state == CONN_DEAD) {
		event_del(&c->write_event);
		return;
	}
	server_read_clock(c->client.server);
	if (c->state == CONN_HANDSHAKE) {
		run_handshake(c);
		return;
	}
	if (c->reading_waits) {
		c->reading_waits = false;
		c->transport.has_more = true;
		if (c->state == CONN_OPEN || c->state == CONN_HELD)
			event_add(&c->read_event, NULL);
		if (c->state == CONN_OPEN)
			conn_mark_ready(c);
	}
	conn_write(c);
}

/* A held connection has sent as much as it may. If its end shows only in what it sends, as that of
 * an event stream, it is closed. */
static void stop_reading(struct conn *c)
{
	if (c->http != NULL && http_conn_ends_with_input(c))
		conn_kill(c, "it sent too many requests after one whose answer has no end");
	else
		event_del(&c->read_event);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	bool still_sends;

	(void)fd;
	if (c->state == CONN_DEAD) {
		event_del(&c->read_event);
		return;
	}
	server_read_clock(c->client.server);
	if ((what & EV_CLOSED) != 0)
		c->end_is_near = true;
	if (c->state == CONN_HANDSHAKE) {
		run_handshake(c);
		return;
	}
	if (c->state == CONN_LEAVING) {
		if (!conn_discard_input(c, &still_sends))
			conn_kill(c, NULL);
		else if (still_sends)
			conn_tell_again(&c->read_event);
		return;
	}
	/* The connection waits for its share of a turn. Reading more would only fill memory. */
	if (c->is_ready) {
		c->transport.has_more = true;
		return;
	}
	if (c->state == CONN_HELD && c->in.len >= held_room(c)) {
		stop_reading(c);
		return;
	}
	receive(c);
}

/*
 * With edges, events come in the order in which the bytes arrived. So a turn runs requests nearly
 * sorted by the times that clients give, and searches of sorted lists end near their ends.
 */
void conn_watch_socket(struct conn *c, bool edges)
{
	short read = EV_READ | EV_PERSIST, write = EV_WRITE | EV_PERSIST;
	int fd = c->transport.fd;

	c->on_edges = edges;
	if (edges) {
		read |= EV_ET | EV_CLOSED;
		write |= EV_ET;
	}
	event_assign(&c->read_event, c->client.server->base, fd, read, on_readable, c);
	event_assign(&c->write_event, c->client.server->base, fd, write, on_writable, c);
	event_add(&c->read_event, NULL);
}

void conn_run_ready(struct conn *c)
{
	conn_unmark_ready(c);
	if (c->in.len != 0 || !c->transport.has_more)
		run_buffered(c);
	if (c->transport.has_more && c->state == CONN_OPEN && !c->is_ready)
		receive(c);
}

void conn_release(struct conn *c)
{
	if (c->state != CONN_HELD)
		return;
	assert(c->client.hold != HOLD_NONE);
	conn_set_state(c, CONN_OPEN);
	c->client.hold = HOLD_NONE;
	/* Time on hold does not count as idle time. */
	c->active_us = c->client.server->clocks.mono_us;
	if (!c->end_of_input)
		event_add(&c->read_event, NULL);
	conn_mark_ready(c);
}
