/*
 * SUBSCRIBE and its family, PUBLISH, PUBSUB.
 */
#include "server/commands.h"
#include "server/pubsub.h"
#include "server/server_int.h"

struct pubsub_verb {
	struct qless_str name;
	enum pubsub_kind kind;
};

/* Confirm a change. The confirmation is a message, so it is sent whatever CLIENT REPLY says. A
 * null name says that there was no subscription to end. */
static void confirm(struct client *c, const struct pubsub_verb *verb, const struct qless_str *name)
{
	struct reply *w = &c->writer;
	bool muted = w->muted;

	w->muted = false;
	reply_push(w, 3);
	reply_bulk(w, verb->name);
	if (name != NULL)
		reply_bulk(w, *name);
	else
		reply_null(w);
	reply_integer(w, (int64_t)c->channel_count + c->pattern_count);
	w->muted = muted;
}

static void subscribe(struct request *req, const struct pubsub_verb *verb)
{
	struct client *c = client_of(req);

	if (!client_check_connection(c))
		return;
	for (size_t i = 0; i < req->nargs; i++) {
		pubsub_subscribe(c, verb->kind, req->args[i]);
		confirm(c, verb, &req->args[i]);
	}
}

static void unsubscribe(struct request *req, const struct pubsub_verb *verb)
{
	struct client *c = client_of(req);
	struct subscription_list *all = verb->kind == PUBSUB_PATTERN ? &c->patterns : &c->channels;

	for (size_t i = 0; i < req->nargs; i++) {
		pubsub_unsubscribe(c, verb->kind, req->args[i]);
		confirm(c, verb, &req->args[i]);
	}
	if (req->nargs != 0)
		return;
	if (TAILQ_EMPTY(all))
		confirm(c, verb, NULL);
	while (!TAILQ_EMPTY(all)) {
		struct qless_str name = TAILQ_FIRST(all)->channel->name;
		struct buf copy = BUF_INIT(BUF_NO_MAX);

		/* The channel is freed with its last subscription, and so is its name. */
		buf_append_str(&copy, name);
		name = buf_str(&copy);
		pubsub_unsubscribe(c, verb->kind, name);
		confirm(c, verb, &name);
		buf_done(&copy);
	}
}

void cmd_subscribe(struct request *req)
{
	subscribe(req, &(struct pubsub_verb){ STR_INIT("subscribe"), PUBSUB_CHANNEL });
}

void cmd_psubscribe(struct request *req)
{
	subscribe(req, &(struct pubsub_verb){ STR_INIT("psubscribe"), PUBSUB_PATTERN });
}

void cmd_unsubscribe(struct request *req)
{
	unsubscribe(req, &(struct pubsub_verb){ STR_INIT("unsubscribe"), PUBSUB_CHANNEL });
}

void cmd_punsubscribe(struct request *req)
{
	unsubscribe(req, &(struct pubsub_verb){ STR_INIT("punsubscribe"), PUBSUB_PATTERN });
}

void cmd_publish(struct request *req)
{
	unsigned count = pubsub_publish(server_of(req), req->args[0], req->args[1]);

	reply_integer(req->reply, count);
}

static void write_channel(const struct channel *channel, void *arg)
{
	struct reply *w = ((void **)arg)[0];
	size_t *count = ((void **)arg)[1];

	reply_bulk(w, channel->name);
	(*count)++;
}

void pubsub_cmd_channels(struct request *req)
{
	struct reply_deferred names;
	size_t count = 0;
	void *arg[] = { req->reply, &count };

	reply_deferred_begin(req->reply, &names, REPLY_ARRAY);
	pubsub_visit_channels(server_of(req)->pubsub, req->nargs != 0 ? &req->args[0] : NULL,
			      write_channel, arg);
	reply_deferred_end(req->reply, &names, count);
}

void pubsub_cmd_numsub(struct request *req)
{
	reply_array(req->reply, req->nargs * 2);
	for (size_t i = 0; i < req->nargs; i++) {
		const struct channel *ch = pubsub_find(server_of(req)->pubsub, req->args[i]);

		reply_bulk(req->reply, req->args[i]);
		reply_integer(req->reply, ch != NULL ? ch->count : 0);
	}
}

void pubsub_cmd_numpat(struct request *req)
{
	reply_integer(req->reply, pubsub_pattern_count(server_of(req)->pubsub));
}
