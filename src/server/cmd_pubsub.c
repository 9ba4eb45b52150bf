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

/* The confirmation of each change is a message, which is sent whatever CLIENT REPLY says. A null
 * name says that there was nothing to end. */
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

static void subscribe(struct call *call, const struct pubsub_verb *verb)
{
	struct client *c = client_of(call);

	if (!client_check_connection(c))
		return;
	for (int i = 0; i < call->nargs; i++) {
		pubsub_subscribe(c, verb->kind, call->args[i]);
		confirm(c, verb, &call->args[i]);
	}
}

static void unsubscribe(struct call *call, const struct pubsub_verb *verb)
{
	struct client *c = client_of(call);
	struct subscription_list *all = verb->kind == PUBSUB_PATTERN ? &c->patterns : &c->channels;

	for (int i = 0; i < call->nargs; i++) {
		pubsub_unsubscribe(c, verb->kind, call->args[i]);
		confirm(c, verb, &call->args[i]);
	}
	if (call->nargs != 0)
		return;
	if (TAILQ_EMPTY(all))
		confirm(c, verb, NULL);
	while (!TAILQ_EMPTY(all)) {
		struct qless_str name = TAILQ_FIRST(all)->channel->name;
		struct buf copy = BUF_INIT(BUF_NO_MAX);

		/* The channel goes with its last subscription, and its name with it. */
		buf_append_str(&copy, name);
		name = buf_str(&copy);
		pubsub_unsubscribe(c, verb->kind, name);
		confirm(c, verb, &name);
		buf_done(&copy);
	}
}

void cmd_subscribe(struct call *call)
{
	subscribe(call, &(struct pubsub_verb){ STR_INIT("subscribe"), PUBSUB_CHANNEL });
}

void cmd_psubscribe(struct call *call)
{
	subscribe(call, &(struct pubsub_verb){ STR_INIT("psubscribe"), PUBSUB_PATTERN });
}

void cmd_unsubscribe(struct call *call)
{
	unsubscribe(call, &(struct pubsub_verb){ STR_INIT("unsubscribe"), PUBSUB_CHANNEL });
}

void cmd_punsubscribe(struct call *call)
{
	unsubscribe(call, &(struct pubsub_verb){ STR_INIT("punsubscribe"), PUBSUB_PATTERN });
}

void cmd_publish(struct call *call)
{
	unsigned count = pubsub_publish(server_of(call), call->args[0], call->args[1]);

	reply_integer(call->reply, count);
}

static void write_channel(const struct channel *channel, void *arg)
{
	struct reply *w = ((void **)arg)[0];
	size_t *count = ((void **)arg)[1];

	reply_bulk(w, channel->name);
	(*count)++;
}

void pubsub_cmd_channels(struct call *call)
{
	struct reply_deferred names;
	size_t count = 0;
	void *arg[] = { call->reply, &count };

	reply_deferred_begin(call->reply, &names, REPLY_ARRAY);
	pubsub_visit_channels(server_of(call)->pubsub, call->nargs != 0 ? &call->args[0] : NULL,
			      write_channel, arg);
	reply_deferred_end(call->reply, &names, count);
}

void pubsub_cmd_numsub(struct call *call)
{
	reply_array(call->reply, (size_t)call->nargs * 2);
	for (int i = 0; i < call->nargs; i++) {
		const struct channel *ch = pubsub_find(server_of(call)->pubsub, call->args[i]);

		reply_bulk(call->reply, call->args[i]);
		reply_integer(call->reply, ch != NULL ? ch->count : 0);
	}
}

void pubsub_cmd_numpat(struct call *call)
{
	reply_integer(call->reply, pubsub_pattern_count(server_of(call)->pubsub));
}
