/*
 * Output of connections.
 *
 * Replies and messages go to client.out. The end of each turn holds them back until the log is
 * durable, and writes what may leave.
 */
#include <assert.h>

#include "server/conn_int.h"
#include "server/server_int.h"
#include "sys/log.h"

/* Number of pieces of output in one system call. */
#define WRITE_PIECES 64
/* Bytes written to a connection in one go. The limit keeps a long reply from delaying other
 * clients. */
#define WRITE_BYTES ((size_t)1024 * 1024)

/*
 * Limits
 */

static const struct config_output_limit *output_limit_of(const struct conn *c)
{
	/* A client that has not authenticated gets short replies only. With HTTP, it gets no
	 * others while they have not left. */
	static const struct config_output_limit stranger = { .hard_bytes = CONN_STRANGER_BYTES };
	const struct config_output_limits *limits = &c->client.server->config->output_limits;

	if (c->client.session.user == NULL && c->http == NULL)
		return &stranger;
	if (conn_class(c) == CONN_CLASS_PUBSUB)
		return &limits->of[CONFIG_CLIENT_PUBSUB];
	return &limits->of[CONFIG_CLIENT_NORMAL];
}

static size_t pending_output(const struct conn *c)
{
	size_t waiting = c->client.waiting != NULL ? waiting_bytes(c->client.waiting) : 0;

	return c->client.out.len + c->client.messages.len + waiting;
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
		c->over_soft_us = c->client.server->clocks.mono_us;
	return c->client.server->clocks.mono_us - c->over_soft_us >= limit->soft_s * 1000000;
}

/* The connection is closed at the end of the turn, because the caller may be walking a list that
 * holds it. */
static void mark_over_limit(struct conn *c, const char *limit)
{
	if (c->over_limit)
		return;
	if (c->client.session.user != NULL || complaints_take(&c->client.server->complaints))
		log_write(LOG_LEVEL_WARNING,
			  LOG_FIELDS(LOG_INT("id", c->client.session.id),
				     LOG_TEXT("addr", c->client.peer),
				     LOG_TEXT("class", conn_class_name(conn_class(c))),
				     LOG_INT("pending_bytes", pending_output(c))),
			  "client closed for reaching %s", limit);
	c->client.server->stats.output_limit_disconnects++;
	c->over_limit = true;
	c->client.is_dropped = true;
	TAILQ_INSERT_TAIL(&c->client.server->conns.over_limit, c, over_limit_link);
}

void conn_enforce_output_limits(struct conn *c)
{
	if (over_limits(c))
		mark_over_limit(c, CLIENT_OUTPUT_LIMIT);
}

size_t conn_output_room(struct client *client)
{
	const struct conn *c = conn_of(client);
	size_t max = output_limit_of(c)->hard_bytes;
	size_t pending = pending_output(c);

	if (max == 0)
		return REPLY_NO_MAX;
	return pending < max ? max - pending : 0;
}

/* Drop the output of a connection that exceeded its limit. It is closed at the end of the turn,
 * and its socket may become writable before that. */
static void drop_output(struct conn *c)
{
	chain_done(&c->client.out);
	chain_done(&c->client.messages);
	c->cleared = 0;
	conn_forget_held(c);
}

void conn_on_output_exceeded(struct client *client, const char *limit)
{
	struct conn *c = conn_of(client);

	if (c->state != CONN_DEAD)
		mark_over_limit(c, limit);
}

void conn_on_output(struct client *client)
{
	struct conn *c = conn_of(client);
	size_t pending;

	if (c->state == CONN_DEAD)
		return;
	conn_mark_writable(c);
	pending = pending_output(c);
	if (pending > client->server->conns.output_check_bytes)
		conn_enforce_output_limits(c);
	if (c->over_limit)
		drop_output(c);
	/* Less than a chunk is counted if it cannot be written. */
	if (pending > CHAIN_CHUNK_BYTES)
		conn_count_memory(c);
}

/*
 * Writing and closing
 */

void conn_tell_again(struct event *event)
{
	event_del(event);
	event_add(event, NULL);
}

void conn_watch_writable(struct conn *c, bool on)
{
	if (c->awaits_writable == on)
		return;
	c->awaits_writable = on;
	if (on)
		event_add(&c->write_event, NULL);
	else
		event_del(&c->write_event);
}

/*
 * Everything is written. If the socket were closed while bytes of the peer arrive, the kernel would
 * reset the connection and drop the output that the peer has not read. So input is discarded until
 * the peer closes its side, unless the peer has everything already.
 */
static void take_leave(struct conn *c)
{
	bool still_sends;

	if (c->end_of_input || !conn_discard_input(c, &still_sends) ||
	    (!still_sends && c->transport.ops->is_delivered(&c->transport))) {
		conn_kill(c, NULL);
		return;
	}
	assert(c->client.out.len == 0);
	c->transport.ops->shutdown(&c->transport);
	conn_set_state(c, CONN_LEAVING);
	event_add(&c->read_event, NULL);
}

/* All output is written. The transport may still have to announce the end. */
static void close_down(struct conn *c)
{
	if (c->transport.ops->end != NULL &&
	    c->transport.ops->end(&c->transport) == TRANSPORT_WANT_WRITE)
		conn_watch_writable(c, true);
	else
		take_leave(c);
}

void conn_write(struct conn *c)
{
	struct server *s = c->client.server;
	size_t written = 0;
	bool is_full = false;

	while (c->cleared != 0 && written < WRITE_BYTES) {
		struct iovec iov[WRITE_PIECES];
		size_t left = WRITE_BYTES - written;
		int pieces = chain_peek(&c->client.out, iov, WRITE_PIECES,
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
		c->closing_us = c->active_us = s->clocks.mono_us;
	s->stats.bytes_out += written;
	conn_count_memory(c);
	if (c->awaits_writable && c->cleared != 0 && !is_full)
		conn_tell_again(&c->write_event);
	conn_watch_writable(c, c->cleared != 0 || c->reading_waits);
	if (c->over_soft_us != 0 && c->client.out.len <= output_limit_of(c)->soft_bytes)
		c->over_soft_us = 0;
	if (c->client.out.len == 0 && c->state == CONN_CLOSING)
		close_down(c);
	else if (c->http != NULL)
		http_conn_wrote(c);
}

/*
 * Output that waits for the log
 *
 * There are at most two runs of bytes, for two sequence numbers. No more are needed: output that
 * arrives during a sync waits for the next sync, whichever turn it belongs to.
 */

bool conn_has_held_output(const struct conn *c)
{
	return c->held[0].bytes + c->held[1].bytes != 0;
}

void conn_forget_held(struct conn *c)
{
	for (int i = 0; i < 2; i++) {
		gate_cancel(&c->client.server->gate, &c->held[i].wait);
		c->held[i].bytes = 0;
	}
}

/* The records of the older run are durable, or the log failed. */
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
	conn_mark_writable(c);
}

static void hold(struct conn *c, size_t bytes, uint64_t sequence)
{
	struct gate *gate = &c->client.server->gate;
	struct held_output *newest = &c->held[c->newest_held];
	struct held_output *other = &c->held[!c->newest_held];

	assert(newest->bytes == 0 || newest->wait.sequence <= sequence);
	assert(other->bytes == 0 || newest->bytes != 0);
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

/* Whether the output tells of no job: pages for monitors also say that the log cannot be synced. */
static bool tells_nothing(const struct conn *c)
{
	return c->http != NULL && !c->http->tells_state;
}

/* Hold back the output of this turn if it has to wait for the log. */
static void hold_output(struct conn *c)
{
	uint64_t sequence = tells_nothing(c) ? 0 : gate_pending(&c->client.server->gate);
	size_t told = c->cleared + c->held[0].bytes + c->held[1].bytes;

	assert(told <= c->client.out.len);
	if (sequence == 0) {
		c->cleared = c->client.out.len;
		conn_forget_held(c);
	} else if (told < c->client.out.len) {
		hold(c, c->client.out.len - told, sequence);
	}
}

void conn_send(struct conn *c)
{
	conn_unmark_writable(c);
	hold_output(c);
	if (!c->awaits_writable)
		conn_write(c);
}

/*
 * The order of writing
 *
 * A busy worker completes a job and waits at once for the next one, with both requests in one go.
 * It often gets that job in the next turn. So the reply to COMPLETE waits for the next turn, and
 * one write sends both. A write costs as much as all else that a hand-over takes.
 */

void conn_send_first(struct conn *c)
{
	struct conn_list *served = &c->client.server->conns.served;

	if (c->output_list != NULL && c->output_list != served)
		conn_move_output(c, served);
}

/* Output that waits for the log would wait for even more of it. */
static bool may_be_late(const struct conn *c)
{
	return c->state == CONN_HELD && waiting_is_asleep(c->client.waiting) &&
	       gate_pending(&c->client.server->gate) == 0;
}

void conns_begin_sending(struct server *s)
{
	struct conn *c;

	while ((c = TAILQ_FIRST(&s->conns.late)) != NULL)
		conn_move_output(c, &s->conns.served);
}

bool conns_send_next(struct server *s)
{
	bool swap = s->conns.writable_first;
	struct conn *c = TAILQ_FIRST(swap ? &s->conns.writable : &s->conns.served);

	if (c == NULL)
		c = TAILQ_FIRST(swap ? &s->conns.served : &s->conns.writable);
	if (c == NULL)
		return false;
	if (c->output_list != &s->conns.writable || !may_be_late(c)) {
		conn_send(c);
		return true;
	}
	hold_output(c);
	conn_move_output(c, &s->conns.late);
	return true;
}

/* Nobody starves if every turn is too short for both lists. */
void conns_end_sending(struct server *s)
{
	s->conns.writable_first = !s->conns.writable_first && !TAILQ_EMPTY(&s->conns.writable);
}

bool conns_one_has_output(const struct server *s)
{
	const struct conn *served = TAILQ_FIRST(&s->conns.served);
	const struct conn *other = TAILQ_FIRST(&s->conns.writable);

	if ((served != NULL) == (other != NULL))
		return false;
	return TAILQ_NEXT(served != NULL ? served : other, writable) == NULL;
}

void conns_kill_with_output(struct server *s, const char *reason)
{
	struct conn *c;

	while ((c = TAILQ_FIRST(&s->conns.served)) != NULL)
		conn_kill(c, reason);
	while ((c = TAILQ_FIRST(&s->conns.writable)) != NULL)
		conn_kill(c, reason);
}
