#include "server/conn.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/conn_int.h"
#include "server/server_int.h"
#include "server/tls_session.h"
#include "sys/log.h"
#include "sys/rlimit.h"
#include "util/container.h"
#include "util/mem.h"

/* A connection that closes may take this many seconds to accept some of its output. */
#define CLOSE_SECONDS 10
/* Number of descriptors that the server needs besides those of clients: the log, a rewrite,
 * listeners, the event loop, and connections that are being closed. */
#define OWN_FDS 48
/* If descriptors are short, connections to the HTTP port get one in this many. */
#define HTTP_SHARE_OF_DESCRIPTORS 4

static const char *const state_names[] = {
	[CONN_NEW] = "new",   [CONN_HANDSHAKE] = "handshake", [CONN_OPEN] = "open",
	[CONN_HELD] = "held", [CONN_CLOSING] = "closing",     [CONN_LEAVING] = "leaving",
	[CONN_DEAD] = "dead",
};

static bool state_may_follow(enum conn_state from, enum conn_state to)
{
	switch (to) {
	case CONN_NEW:
		return false;
	case CONN_HANDSHAKE:
		return from == CONN_NEW;
	case CONN_OPEN:
		return from == CONN_NEW || from == CONN_HELD || from == CONN_HANDSHAKE;
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

void conn_set_state(struct conn *c, enum conn_state state)
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
	return sizeof *c + c->in.cap + c->client.out.allocated + c->client.messages.allocated +
	       c->client.attached_bytes + waiting_memory(c->client.waiting) +
	       (c->http != NULL ? http_conn_memory(c) : 0);
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
	conn_set_state(c, CONN_DEAD);
	waiting_abandon(&c->client);
	conn_unmark_ready(c);
	conn_unmark_writable(c);
	client_memory_remove(c);
	strangers_remove(c);
	client_leave(&c->client);
	conn_forget_held(c);
	if (c->over_limit)
		TAILQ_REMOVE(&s->conns.over_limit, c, over_limit_link);
	TAILQ_REMOVE(&s->conns.all, c, all);
	hash_remove(&s->conns.by_id, &c->by_id);
	if (c->http != NULL)
		http_conn_remove(c);
	else
		s->conns.count--;
	s->conns.dead_count++;
	TAILQ_INSERT_TAIL(&s->conns.dead, c, dead);
	s->turn.has_dead = true;
}

void conn_finish(struct conn *c)
{
	/* Nothing was sent yet that would have to arrive. */
	if (c->state == CONN_HANDSHAKE)
		conn_kill(c, NULL);
	if (c->state != CONN_OPEN && c->state != CONN_HELD)
		return;
	conn_set_state(c, CONN_CLOSING);
	waiting_abandon(&c->client);
	c->closing_us = c->client.server->clocks.mono_us;
	conn_unmark_ready(c);
	client_leave(&c->client);
	if (c->http != NULL)
		http_conn_leave(c);
	event_del(&c->read_event);
	/* The end of the turn writes the output, and closes. */
	conn_mark_writable(c);
}

static void conn_free(struct conn *c)
{
	assert(c->state == CONN_DEAD);
	assert(!c->is_ready && c->output_list == NULL && !conn_has_held_output(c));
	if (event_initialized(&c->read_event)) {
		event_del(&c->read_event);
		event_del(&c->write_event);
	}
	c->transport.ops->done(&c->transport);
	close(c->transport.fd);
	buf_done(&c->in);
	http_conn_free(c->http);
	free(c->local);
	client_done(&c->client);
	free(c);
}

/*
 * Birth, and checks once a second
 */

static struct qless_str id_key(const uint64_t *id)
{
	return str_make((const char *)id, sizeof *id);
}

static struct qless_str conn_key(const struct hash_node *node)
{
	return id_key(&container_of(node, const struct conn, by_id)->client.session.id);
}

struct conn *conn_find(const struct server *s, uint64_t id)
{
	struct hash_node *node = hash_find(&s->conns.by_id, id_key(&id));

	return node != NULL ? container_of(node, struct conn, by_id) : NULL;
}

static void on_command_ended(struct client *client)
{
	struct conn *c = conn_of(client);

	if (c->http != NULL)
		http_conn_answer(c);
	else
		conn_release(c);
}

static void finish_client(struct client *client)
{
	conn_finish(conn_of(client));
}

static void drop_client(struct client *client, const char *reason)
{
	conn_kill(conn_of(client), reason);
}

static struct conn *make_conn(struct server *s, int fd, bool is_unix, char *peer, char *local)
{
	static const struct client_ops ops = {
		.output_grew = conn_on_output,
		.output_room = conn_output_room,
		.output_exceeded = conn_on_output_exceeded,
		.command_ended = on_command_ended,
		.finish = finish_client,
		.drop = drop_client,
	};
	struct conn *c = mem_zalloc(sizeof *c);

	client_init(&c->client, s, is_unix ? CLIENT_UNIX : CLIENT_TCP, &ops, peer);
	c->local = local;
	transport_init_plain(&c->transport, fd);
	resp_parser_init(&c->parser);
	buf_init(&c->in, BUF_NO_MAX);
	c->created_us = s->clocks.mono_us;
	c->active_us = s->clocks.mono_us;

	TAILQ_INSERT_TAIL(&s->conns.all, c, all);
	hash_insert(&s->conns.by_id, &c->by_id);
	return c;
}

struct conn *conn_new(struct server *s, int fd, bool is_unix, char *peer, char *local)
{
	struct conn *c = make_conn(s, fd, is_unix, peer, local);

	s->conns.count++;
	if (s->conns.count > s->stats.peak_clients)
		s->stats.peak_clients = s->conns.count;
	s->stats.connections++;
	client_memory_update(c);
	return c;
}

struct conn *conn_new_http(struct server *s, int fd, char *peer, char *local)
{
	struct conn *c = make_conn(s, fd, /* is_unix= */ false, peer, local);

	http_conn_init(c);
	client_memory_update(c);
	return c;
}

void conn_begin(struct conn *c)
{
	conn_set_state(c, CONN_OPEN);
	conn_watch_socket(c, c->client.server->has_edges);
}

bool conn_begin_tls(struct conn *c)
{
	if (tls_session_init(&c->transport, c->transport.fd, c->client.server->certificates.tls) <
	    0) {
		conn_kill(c, "no memory for a TLS session");
		return false;
	}
	conn_set_state(c, CONN_HANDSHAKE);
	conn_watch_socket(c, false);
	return true;
}

/* A handshake has a time limit. */
static void check_handshake(struct conn *c)
{
	int64_t limit_us = c->client.server->config->tls_handshake_timeout_s * 1000000;

	if (c->client.server->clocks.mono_us - c->created_us <= limit_us)
		return;
	c->client.server->stats.tls_failures++;
	conn_log_misfit(c, "TLS handshake failed", "it took longer than tls-handshake-timeout");
	conn_kill(c, NULL);
}

static void conn_check(struct conn *c)
{
	struct server *s = c->client.server;
	int64_t idle_us = s->clocks.mono_us - c->active_us;
	int64_t closing_us = s->clocks.mono_us - c->closing_us;

	if (conn_is_stranger(c))
		strangers_update(c);
	if (c->state == CONN_HANDSHAKE) {
		check_handshake(c);
		return;
	}
	if (c->state == CONN_LEAVING && c->transport.ops->is_delivered(&c->transport)) {
		conn_kill(c, NULL);
		return;
	}
	/* The connection waits for our disk, not for its peer. */
	if (conn_has_held_output(c))
		idle_us = closing_us = 0;
	if (c->state == CONN_CLOSING || c->state == CONN_LEAVING) {
		if (closing_us > CLOSE_SECONDS * INT64_C(1000000))
			conn_kill(c, "it did not read its last replies");
		return;
	}
	if (c->http != NULL) {
		http_conn_check(c);
		if (c->state == CONN_DEAD || c->state == CONN_CLOSING)
			return;
	} else if (s->config->timeout_s != 0 && idle_us > s->config->timeout_s * 1000000 &&
		   conn_class(c) == CONN_CLASS_NORMAL && !c->client.is_monitor &&
		   c->state == CONN_OPEN) {
		conn_kill(c, "it was idle for longer than timeout");
		return;
	}
	if (c->in.len == 0)
		buf_done(&c->in);
	client_memory_update(c);
	if (c->client.out.len > s->conns.output_check_bytes)
		conn_enforce_output_limits(c);
}

/*
 * All connections
 */

void conns_init(struct server *s)
{
	struct conns *conns = &s->conns;

	TAILQ_INIT(&conns->all);
	TAILQ_INIT(&conns->ready);
	TAILQ_INIT(&conns->served);
	TAILQ_INIT(&conns->writable);
	TAILQ_INIT(&conns->late);
	TAILQ_INIT(&conns->over_limit);
	TAILQ_INIT(&conns->dead);
	hash_init(&conns->by_id, conn_key, s->hash_seed);
	s->intake.scratch = mem_alloc(CONN_READ_BYTES);
	resp_request_init(&s->intake.request);
}

void conns_done(struct server *s)
{
	struct conn *c;

	while ((c = TAILQ_FIRST(&s->conns.all)) != NULL)
		conn_kill(c, NULL);
	conns_free_dead(s, INT64_MAX);
	hash_done(&s->conns.by_id);
	resp_request_done(&s->intake.request);
	free(s->intake.scratch);
}

/* Returns the smallest limit of output that is configured. */
static size_t smallest_output_limit(const struct config_output_limits *limits)
{
	size_t smallest = CONN_STRANGER_BYTES;

	for (int i = 0; i < CONFIG_CLIENT_CLASSES; i++) {
		const struct config_output_limit *limit = &limits->of[i];

		if (limit->hard_bytes != 0 && limit->hard_bytes < smallest)
			smallest = limit->hard_bytes;
		if (limit->soft_bytes != 0 && limit->soft_bytes < smallest)
			smallest = limit->soft_bytes;
	}
	return smallest;
}

void conns_apply_config(struct server *s)
{
	const struct config *config = s->config;

	s->intake.limits = (struct resp_limits){
		.max_args = config->client_max_arguments,
		.max_bulk = config->proto_max_bulk_bytes,
		.max_inline = config->max_inline_bytes,
		.max_request = config->client_query_buffer_bytes,
	};
	s->intake.stranger_limits = s->intake.limits;
	s->intake.stranger_limits.unauthenticated = true;
	s->intake.stranger_limits.max_request = config->unauthenticated_request_bytes;
	if (s->intake.stranger_limits.max_inline > config->unauthenticated_request_bytes)
		s->intake.stranger_limits.max_inline = config->unauthenticated_request_bytes;
	s->conns.output_check_bytes = smallest_output_limit(&config->output_limits);
}

bool conns_make_room(struct server *s, size_t clients)
{
	size_t http = s->http != NULL ? s->config->http_maxclients : 0;
	uint64_t wanted = (uint64_t)clients + http + OWN_FDS;
	/* The limit of another program stays as it is. */
	uint64_t have = s->is_inside ? wanted : rlimit_raise_files(wanted);
	size_t left = have > OWN_FDS + 1 ? (size_t)have - OWN_FDS : 1;

	if (have < wanted && http > left / HTTP_SHARE_OF_DESCRIPTORS)
		http = left / HTTP_SHARE_OF_DESCRIPTORS;
	if (s->http != NULL)
		s->http->limit = http != 0 ? http : 1;
	s->conns.limit = have >= wanted ? clients : left - http;
	return have >= wanted;
}

void conns_check(struct server *s)
{
	struct conn *c, *next;

	for (c = TAILQ_FIRST(&s->conns.all); c != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		conn_check(c);
	}
	strangers_tick(s);
}

void conns_free_dead(struct server *s, int64_t until_us)
{
	struct conn *c;

	while ((c = TAILQ_FIRST(&s->conns.dead)) != NULL) {
		TAILQ_REMOVE(&s->conns.dead, c, dead);
		s->conns.dead_count--;
		conn_free(c);
		if (clock_mono_us() >= until_us)
			break;
	}
	s->strangers.cut = 0;
}
