/*
 * What happens to the bytes of a connection.
 *
 * Reading goes into one scratch buffer that all connections share, and requests are run right
 * there, without copying. Only what is left over, a request of which the rest is still on its way
 * or requests beyond this turn's share, is kept in a buffer of the connection. A connection at rest
 * holds neither input nor output buffers.
 */
#include "server/conn.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/dispatch.h"
#include "server/persist.h"
#include "server/share.h"
#include "server/tls_session.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "util/container.h"
#include "util/mem.h"

#define CONN_WRITE_PIECES 64
/* An input buffer larger than this is given back once it is empty. */
#define CONN_KEEP_INPUT_BYTES ((size_t)4 * 1024)
/* A held connection is not read further than this. */
#define CONN_HELD_INPUT_BYTES ((size_t)1024 * 1024)

static const char *const state_names[] = {
	[CONN_HANDSHAKE] = "handshake", [CONN_OPEN] = "open",	    [CONN_HELD] = "held",
	[CONN_CLOSING] = "closing",	[CONN_LEAVING] = "leaving", [CONN_DEAD] = "dead",
};

static bool state_may_follow(enum conn_state from, enum conn_state to)
{
	switch (to) {
	case CONN_HANDSHAKE:
		return false;
	case CONN_OPEN:
		return from == CONN_HELD || from == CONN_HANDSHAKE;
	case CONN_HELD:
		return from == CONN_OPEN;
	case CONN_CLOSING:
		return from == CONN_OPEN || from == CONN_HELD;
	case CONN_LEAVING:
		return from == CONN_CLOSING;
	case CONN_DEAD:
		return from != CONN_DEAD;
	}
	return false;
}

static void set_state(struct conn *c, enum conn_state state)
{
	assert(state_may_follow(c->state, state));
	log_debug("client %llu: %s -> %s", (unsigned long long)c->client.session.id,
		  state_names[c->state], state_names[state]);
	c->state = state;
}

enum conn_class conn_class(const struct conn *c)
{
	return client_is_subscribed(&c->client) ? CONN_CLASS_PUBSUB : CONN_CLASS_NORMAL;
}

const char *conn_class_name(enum conn_class class)
{
	return class == CONN_CLASS_PUBSUB ? "pubsub" : "normal";
}

size_t conn_memory(const struct conn *c)
{
	return sizeof *c + c->in.cap + c->client.out.allocated;
}

const struct resp_limits *conn_limits(const struct conn *c)
{
	return c->client.session.user != NULL ? &c->client.server->limits
					      : &c->client.server->unauth_limits;
}

static void mark_ready(struct conn *c)
{
	if (c->is_ready)
		return;
	c->is_ready = true;
	TAILQ_INSERT_TAIL(&c->client.server->ready, c, ready);
}

static void unmark_ready(struct conn *c)
{
	if (!c->is_ready)
		return;
	c->is_ready = false;
	TAILQ_REMOVE(&c->client.server->ready, c, ready);
}

static void mark_writable(struct conn *c)
{
	if (c->has_output)
		return;
	c->has_output = true;
	TAILQ_INSERT_TAIL(&c->client.server->writable, c, writable);
}

static bool has_held_output(const struct conn *c)
{
	return c->held[0].bytes + c->held[1].bytes != 0;
}

static void release_held(struct conn *c)
{
	for (int i = 0; i < 2; i++) {
		gate_cancel(&c->client.server->gate, &c->held[i].wait);
		c->held[i].bytes = 0;
	}
}

void conn_kill(struct conn *c, const char *reason)
{
	struct server *s = c->client.server;

	if (c->state == CONN_DEAD)
		return;
	if (reason != NULL)
		log_write(LOG_LEVEL_VERBOSE,
			  LOG_FIELDS(LOG_INT("id", c->client.session.id),
				     LOG_TEXT("addr", c->client.peer), LOG_TEXT("reason", reason)),
			  "client closed");
	set_state(c, CONN_DEAD);
	event_del(&c->read_event);
	event_del(&c->write_event);
	unmark_ready(c);
	if (c->has_output) {
		c->has_output = false;
		TAILQ_REMOVE(&s->writable, c, writable);
	}
	client_stop_listening(&c->client);
	release_held(c);
	if (c->over_limit)
		TAILQ_REMOVE(&s->over_limit, c, over_limit_link);
	TAILQ_REMOVE(&s->conns, c, all);
	hash_remove(&s->conns_by_id, &c->by_id);
	s->conn_count--;
	TAILQ_INSERT_TAIL(&s->dead, c, dead);
}

void conn_finish(struct conn *c)
{
	/* It has not been told anything that could have to arrive. */
	if (c->state == CONN_HANDSHAKE)
		conn_kill(c, NULL);
	if (c->state != CONN_OPEN && c->state != CONN_HELD)
		return;
	set_state(c, CONN_CLOSING);
	c->closing_us = c->client.server->mono_us;
	unmark_ready(c);
	client_stop_listening(&c->client);
	event_del(&c->read_event);
	/* The end of the turn writes what there is, and closes. */
	mark_writable(c);
}

void conn_free(struct conn *c)
{
	assert(c->state == CONN_DEAD);
	c->transport.ops->done(&c->transport);
	close(c->transport.fd);
	buf_done(&c->in);
	free(c->local);
	client_done(&c->client);
	free(c);
}

/*
 * Output
 */

static const struct config_output_limit *output_limit_of(const struct conn *c)
{
	/* What strangers are told is short. */
	static const struct config_output_limit stranger = { .hard_bytes = SERVER_STRANGER_BYTES };
	const struct config_output_limits *limits = &c->client.server->config->output_limits;

	if (c->client.session.user == NULL)
		return &stranger;
	if (conn_class(c) == CONN_CLASS_PUBSUB)
		return &limits->of[CONFIG_CLIENT_PUBSUB];
	return &limits->of[CONFIG_CLIENT_NORMAL];
}

static size_t pending_output(const struct conn *c)
{
	return c->client.out.len + c->client.messages.len;
}

static bool over_limits(struct conn *c)
{
	const struct config_output_limit *limit = output_limit_of(c);
	size_t pending = pending_output(c);

	if (limit->hard_bytes != 0 && pending > limit->hard_bytes)
		return true;
	if (limit->soft_bytes == 0 || pending <= limit->soft_bytes) {
		c->over_soft_us = 0;
		return false;
	}
	if (c->over_soft_us == 0)
		c->over_soft_us = c->client.server->mono_us;
	return c->client.server->mono_us - c->over_soft_us >= limit->soft_s * 1000000;
}

/* It is not closed at once, because whoever wrote to it may be walking through a list that it is
 * on. */
static void enforce_output_limits(struct conn *c)
{
	if (c->over_limit || !over_limits(c))
		return;
	if (c->client.session.user != NULL || server_may_complain(c->client.server))
		log_write(LOG_LEVEL_WARNING,
			  LOG_FIELDS(LOG_INT("id", c->client.session.id),
				     LOG_TEXT("addr", c->client.peer),
				     LOG_TEXT("class", conn_class_name(conn_class(c))),
				     LOG_INT("pending_bytes", pending_output(c))),
			  "client closed for reaching client-output-buffer-limit");
	c->client.server->stats.output_limit_disconnects++;
	c->over_limit = true;
	TAILQ_INSERT_TAIL(&c->client.server->over_limit, c, over_limit_link);
}

/* Of who is closed for it, nothing is kept until then, and nothing of it may leave: its socket can
 * become writable before the end of the turn. */
static void drop_output(struct conn *c)
{
	chain_done(&c->client.out);
	chain_done(&c->client.messages);
	c->cleared = 0;
	release_held(c);
}

static void on_output(struct client *client)
{
	struct conn *c = conn_of(client);

	if (c->state == CONN_DEAD)
		return;
	mark_writable(c);
	if (pending_output(c) > client->server->output_check_bytes)
		enforce_output_limits(c);
	if (c->over_limit)
		drop_output(c);
}

/* Have it told again of what it was told of already, and has not dealt with. */
static void tell_again(struct event *event)
{
	event_del(event);
	event_add(event, NULL);
}

static void watch_writable(struct conn *c, bool on)
{
	if (c->awaits_writable == on)
		return;
	c->awaits_writable = on;
	if (on)
		event_add(&c->write_event, NULL);
	else
		event_del(&c->write_event);
}

/* Pass over what the peer still sends. Returns false at the end of that. */
static bool discard_input(struct conn *c, bool *ret_any)
{
	struct server *s = c->client.server;
	ssize_t n = c->transport.ops->read(&c->transport, s->scratch, SERVER_READ_BYTES);

	*ret_any = n > 0;
	return n > 0 || n == TRANSPORT_WANT_READ || n == TRANSPORT_WANT_WRITE;
}

/*
 * Everything is written. If the socket were closed while bytes of the peer come in, the kernel
 * would reset the connection and drop whatever the peer has not taken yet, replies among it. So
 * what comes in is read until the peer has closed its side, too, unless it has everything already.
 */
static void take_leave(struct conn *c)
{
	bool still_sends;

	if (c->end_of_input || !discard_input(c, &still_sends) ||
	    (!still_sends && c->transport.ops->is_delivered(&c->transport))) {
		conn_kill(c, NULL);
		return;
	}
	c->transport.ops->shutdown(&c->transport);
	set_state(c, CONN_LEAVING);
	event_add(&c->read_event, NULL);
}

/* All that was said is written; the transport may have a last word of its own. */
static void close_down(struct conn *c)
{
	if (c->transport.ops->end != NULL &&
	    c->transport.ops->end(&c->transport) == TRANSPORT_WANT_WRITE)
		watch_writable(c, true);
	else
		take_leave(c);
}

void conn_flush(struct conn *c)
{
	struct server *s = c->client.server;
	size_t written = 0;
	bool is_full = false;

	while (c->cleared != 0 && written < SERVER_WRITE_BYTES) {
		struct iovec iov[CONN_WRITE_PIECES];
		size_t left = SERVER_WRITE_BYTES - written;
		int pieces = chain_peek(&c->client.out, iov, CONN_WRITE_PIECES,
					c->cleared < left ? c->cleared : left);
		ssize_t n = c->transport.ops->write(&c->transport, iov, pieces);

		if (n == TRANSPORT_FAILED) {
			conn_kill(c, transport_error(&c->transport));
			return;
		}
		is_full = n < 0;
		if (is_full)
			break;
		s->stats.writes++;
		chain_consume(&c->client.out, (size_t)n);
		c->cleared -= (size_t)n;
		written += (size_t)n;
	}
	if (written != 0)
		c->closing_us = c->active_us = s->mono_us;
	s->stats.bytes_out += written;
	if (c->awaits_writable && c->cleared != 0 && !is_full)
		tell_again(&c->write_event);
	watch_writable(c, c->cleared != 0 || c->reading_waits);
	if (c->over_soft_us != 0 && c->client.out.len <= output_limit_of(c)->soft_bytes)
		c->over_soft_us = 0;
	if (c->client.out.len == 0 && c->state == CONN_CLOSING)
		close_down(c);
}

/*
 * Output that waits for the log. Two runs of bytes wait, for two sequence numbers. More are not
 * needed: what comes while a sync is under way waits for the next one, whichever turn it is of.
 */

/* The older run may leave. */
static void on_durable(void *arg, enum gate_outcome outcome)
{
	struct conn *c = arg;
	struct held_output *oldest = &c->held[!c->newest_held];

	if (outcome == GATE_LOST) {
		conn_kill(c, CONN_OUTPUT_LOST);
		return;
	}
	if (oldest->bytes == 0)
		oldest = &c->held[c->newest_held];
	assert(oldest->bytes != 0 && !gate_is_waiting(&oldest->wait));
	c->cleared += oldest->bytes;
	oldest->bytes = 0;
	mark_writable(c);
}

static void hold(struct conn *c, size_t bytes, uint64_t sequence)
{
	struct gate *gate = &c->client.server->gate;
	struct held_output *newest = &c->held[c->newest_held];
	struct held_output *other = &c->held[!c->newest_held];

	if (newest->bytes != 0 && newest->wait.sequence == sequence) {
		newest->bytes += bytes;
		return;
	}
	if (other->bytes == 0) {
		c->newest_held = !c->newest_held;
		newest = other;
	} else {
		gate_cancel(gate, &newest->wait);
	}
	newest->bytes += bytes;
	gate_when(gate, &newest->wait, sequence, on_durable, c);
}

void conn_hold_output(struct conn *c)
{
	uint64_t sequence = gate_pending(&c->client.server->gate);
	size_t told = c->cleared + c->held[0].bytes + c->held[1].bytes;

	assert(told <= c->client.out.len);
	if (sequence == 0) {
		c->cleared = c->client.out.len;
		release_held(c);
	} else if (told < c->client.out.len) {
		hold(c, c->client.out.len - told, sequence);
	}
}

/*
 * Input
 */

/*
 * A peer that cannot be understood. Whoever scans ports, or has set up a client the wrong way, does
 * so again and again; one line a second says as much as a thousand.
 */
static void log_misfit(struct conn *c, const char *what, const char *reason)
{
	struct server *s = c->client.server;

	if (s->misfit_logged_us != 0 && s->mono_us - s->misfit_logged_us < SERVER_MISFIT_LOG_US) {
		s->misfits_not_logged++;
		return;
	}
	log_write(LOG_LEVEL_NOTICE,
		  LOG_FIELDS(LOG_INT("id", c->client.session.id), LOG_TEXT("addr", c->client.peer),
			     LOG_TEXT("error", reason),
			     LOG_INT("others_not_logged", s->misfits_not_logged)),
		  "%s", what);
	s->misfit_logged_us = s->mono_us;
	s->misfits_not_logged = 0;
}

static void refuse_protocol(struct conn *c, const char *text)
{
	log_misfit(c, "client closed for breaking the protocol", text);
	reply_error(&c->client.writer, "ERR", str_from(text));
	client_output_grew(&c->client);
	conn_finish(c);
}

/*
 * Run requests from the front of the bytes, no more than this turn's share. Returns how many bytes
 * have been used; what is behind them is to be kept. Marks the connection ready if there may be
 * whole requests among that.
 */
static size_t run_share(struct conn *c, const char *base, size_t len)
{
	struct server *s = c->client.server;
	struct resp_request *request = &s->request;
	int64_t elapsed_us, until_ns;
	size_t used = 0;
	size_t left;

	s->lap_ns = clock_mono_ns();
	elapsed_us = s->lap_ns / 1000 - s->mono_us;
	left = share_now(s->share, elapsed_us);
	until_ns = s->lap_ns + 1000 * share_time_us(elapsed_us);
	while (used < len && c->state == CONN_OPEN) {
		switch (resp_parse(&c->parser, conn_limits(c), base + used, len - used, request)) {
		case RESP_NEED_MORE:
			return used;
		case RESP_ERROR:
			refuse_protocol(c, request->error);
			return len;
		case RESP_REQUEST:
			break;
		}
		if (left-- == 0 || (used != 0 && s->lap_ns > until_ns)) {
			/* Others first. The parser has not moved on, and will find this request
			 * again. */
			resp_parser_init(&c->parser);
			mark_ready(c);
			return used;
		}
		if (request->argc != 0 && dispatch_request(&c->client, request->argv,
							   (int)request->argc) == DISPATCH_HOLD) {
			resp_parser_init(&c->parser);
			set_state(c, CONN_HELD);
			return used;
		}
		used += request->consumed;
	}
	return c->state == CONN_OPEN ? used : len;
}

static size_t run_requests(struct conn *c, const char *base, size_t len)
{
	size_t used;

	persist_begin_batch(c->client.server);
	used = run_share(c, base, len);
	persist_end_batch(c->client.server);
	return used;
}

static bool input_is_too_long(struct conn *c)
{
	if (c->in.len <= c->client.server->config->client_query_buffer_bytes)
		return false;
	log_write(LOG_LEVEL_WARNING,
		  LOG_FIELDS(LOG_INT("id", c->client.session.id), LOG_TEXT("addr", c->client.peer),
			     LOG_INT("bytes", c->in.len)),
		  "client closed for reaching client-query-buffer-limit");
	c->client.server->stats.query_limit_disconnects++;
	conn_kill(c, NULL);
	return true;
}

/* The peer sends no more. What it has sent is still run and answered, though it may be gone
 * already. */
static void on_end_of_input(struct conn *c)
{
	c->end_of_input = true;
	event_del(&c->read_event);
	if (!c->is_ready && c->state != CONN_HELD)
		conn_finish(c);
}

static void run_buffered(struct conn *c)
{
	size_t used = run_requests(c, buf_data(&c->in), c->in.len);

	if (c->state == CONN_DEAD || c->state == CONN_CLOSING)
		return;
	buf_consume(&c->in, used);
	if (c->in.len == 0 && c->in.cap > CONN_KEEP_INPUT_BYTES)
		buf_done(&c->in);
	if (c->end_of_input && !c->is_ready && c->state == CONN_OPEN)
		conn_finish(c);
}

/* Read to where it can be run from: the scratch buffer, or behind what the connection still has. */
static ssize_t read_some(struct conn *c, char **ret_base)
{
	struct server *s = c->client.server;
	size_t room = SERVER_READ_BYTES;
	ssize_t n;
	char *to;

	if (c->in.len == 0) {
		*ret_base = s->scratch;
		return c->transport.ops->read(&c->transport, s->scratch, SERVER_READ_BYTES);
	}
	if (resp_parser_wanted(&c->parser, c->in.len) > room)
		room = resp_parser_wanted(&c->parser, c->in.len);
	to = buf_reserve(&c->in, room);
	n = c->transport.ops->read(&c->transport, to, room);
	if (n > 0)
		buf_commit(&c->in, (size_t)n);
	*ret_base = NULL;
	return n;
}

/*
 * An edge that tells of bytes may have told of the end behind them, too. An orderly one is told of
 * by name. A reset is not, but whoever has something to be told is found to be gone by writing it.
 */
static bool may_have_ended(const struct conn *c)
{
	return c->end_is_near || c->in.len != 0 || c->client.out.len == 0;
}

/* Take in what there is, and run it. */
static void receive(struct conn *c)
{
	struct server *s = c->client.server;
	size_t used;
	char *base;
	ssize_t n = read_some(c, &base);

	if (n == TRANSPORT_FAILED) {
		conn_kill(c, transport_error(&c->transport));
		return;
	}
	if (n == TRANSPORT_WANT_WRITE) {
		/* The socket may well be readable meanwhile, and would be tried in vain. */
		c->reading_waits = true;
		event_del(&c->read_event);
		watch_writable(c, true);
	}
	if (n < 0)
		return;
	if (n == 0) {
		on_end_of_input(c);
		return;
	}
	s->stats.reads++;
	s->stats.bytes_in += (uint64_t)n;
	c->active_us = s->mono_us;

	if (base == NULL) {
		if (c->state == CONN_OPEN)
			run_buffered(c);
	} else {
		used = c->state == CONN_OPEN ? run_requests(c, base, (size_t)n) : 0;
		if (used < (size_t)n && (c->state == CONN_OPEN || c->state == CONN_HELD))
			buf_append(&c->in, base + used, (size_t)n - used);
	}
	if (c->on_edges && may_have_ended(c))
		c->transport.has_more = true;
	if (c->state == CONN_OPEN && !input_is_too_long(c) && c->transport.has_more)
		mark_ready(c);
	else if (c->state == CONN_HELD && c->on_edges && c->transport.has_more)
		tell_again(&c->read_event);
	/* The other sockets come first in the next turn. */
	if (persist_wants_end_of_turn(s))
		event_base_loopbreak(s->base);
}

/*
 * The handshake of a transport
 */

/*
 * What it has sent is passed over, and it is given the time to take what it is told, be that an
 * alert of TLS, which is written already, or a text for who does not speak TLS: a close at once
 * would reset the connection and take that away.
 */
static void fail_handshake(struct conn *c, bool is_foreign)
{
	const char *reason = transport_error(&c->transport);
	bool has_begun = tls_session_has_begun(&c->transport);

	c->client.server->stats.tls_failures++;
	if (!is_foreign && !has_begun) {
		/* As those do that look if the port is open. */
		conn_kill(c, reason);
		return;
	}
	log_misfit(c, "TLS handshake failed", reason);
	c->transport.ops->done(&c->transport);
	transport_init_plain(&c->transport, c->transport.fd);
	set_state(c, CONN_OPEN);
	watch_writable(c, false);
	if (is_foreign) {
		reply_error(&c->client.writer, "ERR", STR("this port is for TLS only"));
		client_output_grew(&c->client);
	}
	conn_finish(c);
}

static void run_handshake(struct conn *c)
{
	struct server *s = c->client.server;
	int rc;

	/* The event comes again in the next turn: only plain sockets trigger on edges. */
	if (s->handshakes_left == 0)
		return;
	s->handshakes_left--;
	rc = c->transport.ops->handshake(&c->transport);
	if (rc == TRANSPORT_FAILED || rc == TRANSPORT_FOREIGN) {
		fail_handshake(c, rc == TRANSPORT_FOREIGN);
		return;
	}
	watch_writable(c, rc == TRANSPORT_WANT_WRITE);
	if (rc == TRANSPORT_WANT_WRITE)
		event_del(&c->read_event);
	else
		event_add(&c->read_event, NULL);
	if (rc != 0)
		return;
	s->stats.tls_handshakes++;
	s->stats.tls_resumed += tls_session_is_resumed(&c->transport);
	c->active_us = s->mono_us;
	set_state(c, CONN_OPEN);
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
			mark_ready(c);
	}
	conn_flush(c);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	bool still_sends;

	(void)fd;
	server_read_clock(c->client.server);
	if ((what & EV_CLOSED) != 0)
		c->end_is_near = true;
	if (c->state == CONN_HANDSHAKE) {
		run_handshake(c);
		return;
	}
	if (c->state == CONN_LEAVING) {
		if (!discard_input(c, &still_sends))
			conn_kill(c, NULL);
		else if (still_sends)
			tell_again(&c->read_event);
		return;
	}
	/* Its share of this turn waits already; reading more would only fill memory. */
	if (c->is_ready) {
		c->transport.has_more = true;
		return;
	}
	if (c->state == CONN_HELD && c->in.len >= CONN_HELD_INPUT_BYTES) {
		event_del(&c->read_event);
		return;
	}
	receive(c);
}

void conn_run_ready(struct conn *c)
{
	unmark_ready(c);
	if (c->in.len != 0 || !c->transport.has_more)
		run_buffered(c);
	if (c->transport.has_more && c->state == CONN_OPEN && !c->is_ready)
		receive(c);
}

void conn_release(struct conn *c)
{
	if (c->state != CONN_HELD)
		return;
	set_state(c, CONN_OPEN);
	/* Having to wait was no idleness. */
	c->active_us = c->client.server->mono_us;
	if (!c->end_of_input)
		event_add(&c->read_event, NULL);
	mark_ready(c);
}

/*
 * Birth, and growing old
 */

static struct qless_str id_key(const uint64_t *id)
{
	return str_make((const char *)id, sizeof *id);
}

static struct qless_str conn_key(const struct hash_node *node)
{
	return id_key(&container_of(node, const struct conn, by_id)->client.session.id);
}

void conn_init_ids(struct server *s)
{
	hash_init(&s->conns_by_id, conn_key, s->hash_seed);
}

struct conn *conn_find(const struct server *s, uint64_t id)
{
	struct hash_node *node = hash_find(&s->conns_by_id, id_key(&id));

	return node != NULL ? container_of(node, struct conn, by_id) : NULL;
}

/*
 * Edges, where they can be had, come in the order in which the bytes came; with levels the order is
 * that of the turn before. So what a turn runs is nearly sorted by the times that its clients give,
 * and the sorted lists that these go into are searched at their ends. And a socket on which nothing
 * has happened is not looked at.
 */
static void watch_socket(struct conn *c, bool edges)
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

static void finish_client(struct client *client)
{
	conn_finish(conn_of(client));
}

static void drop_client(struct client *client, const char *reason)
{
	conn_kill(conn_of(client), reason);
}

struct conn *conn_new(struct server *s, int fd, bool is_unix, char *peer, char *local)
{
	static const struct client_ops ops = {
		.output_grew = on_output,
		.finish = finish_client,
		.drop = drop_client,
	};
	struct conn *c = mem_zalloc(sizeof *c);

	client_init(&c->client, s, is_unix ? CLIENT_UNIX : CLIENT_TCP, &ops, peer);
	c->state = CONN_OPEN;
	c->local = local;
	transport_init_plain(&c->transport, fd);
	resp_parser_init(&c->parser);
	buf_init(&c->in, BUF_NO_MAX);
	c->created_us = s->mono_us;
	c->active_us = s->mono_us;
	watch_socket(c, s->has_edges);

	TAILQ_INSERT_TAIL(&s->conns, c, all);
	hash_insert(&s->conns_by_id, &c->by_id);
	s->conn_count++;
	if (s->conn_count > s->stats.peak_clients)
		s->stats.peak_clients = s->conn_count;
	s->stats.connections++;
	return c;
}

bool conn_begin_tls(struct conn *c)
{
	assert(c->state == CONN_OPEN && c->in.len == 0);
	if (tls_session_init(&c->transport, c->transport.fd, c->client.server->tls) < 0) {
		conn_kill(c, "no memory for a TLS session");
		return false;
	}
	event_del(&c->read_event);
	watch_socket(c, false);
	c->state = CONN_HANDSHAKE;
	return true;
}

/* Whoever does not get on with it is not given a turn for ever. */
static void check_handshake(struct conn *c)
{
	int64_t limit_us = c->client.server->config->tls_handshake_timeout_s * 1000000;

	if (c->client.server->mono_us - c->created_us <= limit_us)
		return;
	c->client.server->stats.tls_failures++;
	log_misfit(c, "TLS handshake failed", "it took longer than tls-handshake-timeout");
	conn_kill(c, NULL);
}

void conn_check(struct conn *c)
{
	struct server *s = c->client.server;
	int64_t idle_us = s->mono_us - c->active_us;
	int64_t closing_us = s->mono_us - c->closing_us;

	if (c->state == CONN_HANDSHAKE) {
		check_handshake(c);
		return;
	}
	if (c->state == CONN_LEAVING && c->transport.ops->is_delivered(&c->transport)) {
		conn_kill(c, NULL);
		return;
	}
	/* It is our disk that it waits for. */
	if (has_held_output(c))
		idle_us = closing_us = 0;
	if (c->state == CONN_CLOSING || c->state == CONN_LEAVING) {
		if (closing_us > SERVER_CLOSE_SECONDS * INT64_C(1000000))
			conn_kill(c, "did not take its last replies");
		return;
	}
	if (s->config->timeout_s != 0 && idle_us > s->config->timeout_s * 1000000 &&
	    conn_class(c) == CONN_CLASS_NORMAL && !c->client.is_monitor && c->state == CONN_OPEN) {
		conn_kill(c, "idle for longer than timeout");
		return;
	}
	if (c->in.len == 0)
		buf_done(&c->in);
	if (c->client.out.len > s->output_check_bytes)
		enforce_output_limits(c);
}
