#include "server/client.h"

#include <assert.h>
#include <stdlib.h>

#include "resp/writer.h"
#include "server/pubsub.h"
#include "server/server_int.h"
#include "server/txn.h"

/* Number of chunks of output that are kept for reuse. */
#define SPARE_CHUNKS 256

void clients_init(struct server *s)
{
	TAILQ_INIT(&s->clients.monitors);
	chunk_pool_init(&s->clients.chunks, SPARE_CHUNKS);
}

void clients_done(struct server *s)
{
	assert(TAILQ_EMPTY(&s->clients.monitors) && s->clients.running == NULL);
	chunk_pool_done(&s->clients.chunks);
}

void client_init(struct client *c, struct server *s, enum client_kind kind,
		 const struct client_ops *ops, char *peer)
{
	*c = (struct client){ .server = s, .ops = ops, .kind = kind, .peer = peer };
	c->session.id = ++s->clients.last_id;
	c->session.proto = RESP_PROTO_MIN;
	c->session.peer = str_from(peer);
	chain_init(&c->out, &s->clients.chunks);
	chain_init(&c->messages, &s->clients.chunks);
	resp_writer_init(&c->writer, &c->out, RESP_PROTO_MIN);
	TAILQ_INIT(&c->attached);
}

void client_done(struct client *c)
{
	assert(!c->is_monitor && !client_is_subscribed(c) && TAILQ_EMPTY(&c->attached));
	waiting_abandon(c);
	txn_free(c->txn);
	chain_done(&c->out);
	chain_done(&c->messages);
	free(c->name);
	free(c->lib_name);
	free(c->lib_version);
	free(c->peer);
}

void client_begin_message(struct client *c, struct reply *ret_writer)
{
	bool in_reply = c->server->clients.running == c;

	resp_writer_init(ret_writer, in_reply ? &c->messages : &c->out, c->session.proto);
}

bool client_check_connection(struct client *c)
{
	if (c->kind != CLIENT_INTERNAL)
		return true;
	reply_error(&c->writer, "ERR", STR("this command is only available to connections"));
	return false;
}

void client_set_monitor(struct client *c, bool on)
{
	if (c->is_monitor == on)
		return;
	c->is_monitor = on;
	if (on)
		TAILQ_INSERT_TAIL(&c->server->clients.monitors, c, monitor);
	else
		TAILQ_REMOVE(&c->server->clients.monitors, c, monitor);
}

void client_leave(struct client *c)
{
	presence_end_client(c);
	pubsub_forget(c);
	client_set_monitor(c, false);
}
