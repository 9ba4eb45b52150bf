/*
 * SUBSCRIBE and its family, PUBLISH, PUBSUB.
 */
#include <stdlib.h>

#include "command/acl.h"
#include "command/foreign.h"
#include "command/work.h"
#include "server/acl_log.h"
#include "server/commands.h"
#include "server/member.h"
#include "server/pattern_index.h"
#include "server/pubsub.h"
#include "server/server_int.h"
#include "util/container.h"
#include "util/glob.h"
#include "util/mem.h"

struct pubsub_verb {
	struct qless_str name;
	enum pubsub_kind kind;
};

static size_t subscriptions(const struct client *c)
{
	return (size_t)c->channel_count + c->pattern_count;
}

/* Confirm a change, after which the client has `count` subscriptions. The confirmation is a
 * message, so it is sent whatever CLIENT REPLY says. A null name says that there was no
 * subscription to end. */
static void confirm(struct client *c, const struct pubsub_verb *verb, const struct qless_str *name,
		    size_t count)
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
	reply_integer(w, (int64_t)count);
	w->muted = muted;
}

static bool check_channel(struct request *req, struct qless_str channel)
{
	size_t max_bytes = server_of(req)->config->max_channel_bytes;

	if (channel.len <= max_bytes)
		return true;
	reply_errorf(req->reply, "ERR",
		     "The channel has %zu bytes, and max-channel-length allows %zu", channel.len,
		     max_bytes);
	return false;
}

/* Each message on a channel is compared with all patterns that begin like the channel. */
static bool check_similar(struct request *req, struct qless_str pattern)
{
	const struct server *s = server_of(req);
	unsigned similar = pubsub_similar_patterns(s->pubsub, pattern);
	struct qless_str begin = command_quote(pattern_index_begin(pattern));

	if (similar < s->config->max_patterns_per_prefix)
		return true;
	reply_errorf(req->reply, "ERR",
		     "There are %u patterns with the literal beginning '%.*s', and "
		     "max-patterns-per-prefix allows %zu",
		     similar, (int)begin.len, begin.ptr, s->config->max_patterns_per_prefix);
	return false;
}

static bool check_count(struct request *req)
{
	const struct client *c = client_of(req);
	size_t max = c->server->config->max_subscriptions;
	size_t count = subscriptions(c);

	if (count < max)
		return true;
	reply_errorf(req->reply, "ERR",
		     "The client has %zu subscriptions, and max-subscriptions allows %zu", count,
		     max);
	return false;
}

/* Redis tells about changes of keys on these channels. A client would wait for messages for ever.
 */
static bool check_notifications(struct request *req, struct qless_str name)
{
	struct qless_str quoted = command_quote(name);

	if (!str_starts_with(name, STR("__keyspace@")) &&
	    !str_starts_with(name, STR("__keyevent@")) && !str_starts_with(name, STR("__key*")))
		return true;
	reply_errorf(req->reply, "ERR",
		     "'%.*s' would get no message: " FOREIGN_IS
		     "; subscribe to ql:log, or to ql:q:<queue>:events for one queue",
		     (int)quoted.len, quoted.ptr);
	return false;
}

/* Returns whether Redis Sentinel has events of that name, or a client library asks it for a pattern
 * like that: node-redis subscribes to "[-+]sdown" and, without the plus, to "switch-master". */
static bool is_about_leader(struct qless_str name)
{
	return str_starts_with(name, STR("+")) || str_starts_with(name, STR("-")) ||
	       str_starts_with(name, STR("[-+]")) || str_equal(name, STR("switch-master"));
}

/* Only the leader of a group has events and messages. But each node tells who leads. */
static bool check_leader(struct request *req, struct qless_str name)
{
	const struct server *s = server_of(req);
	const char *refusal = s->member != NULL ? member_refusal(s) : NULL;

	if (refusal == NULL || is_about_leader(name))
		return true;
	reply_error_line(req->reply, str_from(refusal));
	return false;
}

/* Whether the limits allow a subscription. Otherwise writes an error. */
static bool check_subscription(struct request *req, enum pubsub_kind kind, struct qless_str name)
{
	bool is_pattern = kind == PUBSUB_PATTERN;

	if (is_pattern ? !request_check_pattern(req, name) : !check_channel(req, name))
		return false;
	if (!check_notifications(req, name) || !check_leader(req, name))
		return false;
	if (pubsub_is_subscribed(client_of(req), kind, name))
		return true;
	return check_count(req) && (!is_pattern || check_similar(req, name));
}

/* Make all subscriptions or none. Sets `ret_made` for each that did not exist before. */
static bool subscribe_to_all(struct request *req, enum pubsub_kind kind, bool *ret_made)
{
	struct client *c = client_of(req);

	for (size_t i = 0; i < req->nargs; i++) {
		if (check_subscription(req, kind, req->args[i])) {
			ret_made[i] = pubsub_subscribe(c, kind, req->args[i]);
			continue;
		}
		while (i-- > 0) {
			if (ret_made[i])
				pubsub_unsubscribe(c, kind, req->args[i]);
		}
		c->server->stats.refused_subscriptions++;
		return false;
	}
	return true;
}

static void subscribe(struct request *req, const struct pubsub_verb *verb)
{
	struct client *c = client_of(req);
	size_t count = subscriptions(c);
	bool *made;

	if (!client_check_connection(c))
		return;
	/* Each new subscription frees an ended one, which bounds the number of ended ones. */
	pubsub_free_some(c->server->pubsub, req->nargs);
	made = mem_zalloc(req->nargs * sizeof *made);
	if (subscribe_to_all(req, verb->kind, made)) {
		for (size_t i = 0; i < req->nargs; i++) {
			count += made[i];
			confirm(c, verb, &req->args[i], count);
		}
	}
	free(made);
}

static void unsubscribe(struct request *req, const struct pubsub_verb *verb)
{
	struct client *c = client_of(req);
	struct qless_str name;

	for (size_t i = 0; i < req->nargs; i++) {
		pubsub_unsubscribe(c, verb->kind, req->args[i]);
		confirm(c, verb, &req->args[i], subscriptions(c));
	}
	if (req->nargs != 0)
		return;
	if (!pubsub_first(c, verb->kind, &name))
		confirm(c, verb, NULL, subscriptions(c));
	while (pubsub_first(c, verb->kind, &name)) {
		struct buf copy = BUF_INIT(BUF_NO_MAX);

		/* The channel is freed with its last subscription, and so is its name. */
		buf_append_str(&copy, name);
		name = buf_str(&copy);
		pubsub_unsubscribe(c, verb->kind, name);
		confirm(c, verb, &name, subscriptions(c));
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

static bool check_publisher(struct request *req)
{
	struct qless_str channel = command_quote(req->args[0]);

	if (acl_may_publish(req->session->user, channel))
		return true;
	acl_log_note_denial(server_of(req), req, DENIAL_CHANNEL, req->args[0]);
	reply_errorf(req->reply, "NOPERM",
		     "No permissions to access the channel '%.*s': the server publishes events "
		     "there, and the user lacks +@events",
		     (int)channel.len, channel.ptr);
	return false;
}

/* Clients of a group believe what they read on SENTINEL_CHANNEL. */
static bool check_publishing_node(struct request *req)
{
	if (server_of(req)->member == NULL)
		return true;
	if (!str_equal(req->args[0], STR(SENTINEL_CHANNEL)))
		return check_leader(req, STR(""));
	reply_error(req->reply, "ERR",
		    STR("only the server publishes on the channel '" SENTINEL_CHANNEL "'"));
	return false;
}

/* Work that waits until a message has reached all its subscribers. */
struct publish_work {
	struct work work;
	struct publication publication;
};

static bool wait_for_delivery(struct work *work, struct request *req)
{
	struct publish_work *publish = container_of(work, struct publish_work, work);

	pubsub_run_part(server_of(req));
	if (!publication_is_over(&publish->publication))
		return true;
	reply_integer(req->reply, publish->publication.count);
	return false;
}

static void free_publish_work(struct work *work)
{
	struct publish_work *publish = container_of(work, struct publish_work, work);

	publication_end(&publish->publication);
	free(publish);
}

/* Replies with the number of subscriptions that the message has reached. A transaction does not
 * wait until it has reached all of them. */
void cmd_publish(struct request *req)
{
	static const struct work_ops ops = { .go_on = wait_for_delivery,
					     .free = free_publish_work };
	struct publication publication = { 0 };
	struct publish_work *publish;

	if (!check_channel(req, req->args[0]) || !check_publisher(req) ||
	    !check_publishing_node(req))
		return;
	pubsub_publish(server_of(req), req->args[0], req->args[1], &publication);
	if (publication_is_over(&publication) || req->parts_left != NULL) {
		publication_end(&publication);
		reply_integer(req->reply, publication.count);
		return;
	}
	publish = mem_zalloc(sizeof *publish);
	publish->work.ops = &ops;
	publication_move(&publish->publication, &publication);
	work_begin(req, &publish->work);
}

/* Work that lists the channels that a user may use. */
struct channel_list {
	struct work work;
	uint32_t cursor;
	bool has_begun;
	size_t count;
	struct reply_deferred names;
};

/* A part of the work. */
struct channel_visit {
	struct channel_list *list;
	struct request *req;
	int left;
};

static void write_channel(const struct channel *channel, void *arg)
{
	struct channel_visit *visit = arg;
	struct request *req = visit->req;
	const struct user *user = req->session->user != NULL ? req->session->user : acl_nobody();

	visit->left--;
	if (!acl_may_use_channel(user, channel->name) ||
	    (req->nargs != 0 && !glob_match(req->args[0], channel->name, false)))
		return;
	reply_bulk(req->reply, channel->name);
	visit->list->count++;
}

static bool list_some_channels(struct work *work, struct request *req)
{
	struct channel_list *list = container_of(work, struct channel_list, work);
	struct channel_visit visit = { .list = list, .req = req, .left = WORK_PART_ELEMENTS };

	if (!list->has_begun)
		reply_deferred_begin(req->reply, &list->names, REPLY_ARRAY);
	list->has_begun = true;
	for (int i = 0; i < WORK_PART_ELEMENTS && visit.left > 0; i++) {
		list->cursor = pubsub_scan_channels(server_of(req)->pubsub, list->cursor,
						    write_channel, &visit);
		if (list->cursor == 0)
			break;
	}
	if (list->cursor != 0)
		return true;
	reply_deferred_end(req->reply, &list->names, list->count);
	return false;
}

static void free_channel_list(struct work *work)
{
	struct channel_list *list = container_of(work, struct channel_list, work);

	chain_done(&list->names.body);
	free(list);
}

void pubsub_cmd_channels(struct request *req)
{
	static const struct work_ops ops = { .go_on = list_some_channels,
					     .free = free_channel_list };
	struct channel_list *list;

	if (req->nargs != 0 && !request_check_pattern(req, req->args[0]))
		return;
	list = mem_zalloc(sizeof *list);
	list->work.ops = &ops;
	work_begin(req, &list->work);
}

void pubsub_cmd_numsub(struct request *req)
{
	reply_array(req->reply, req->nargs * 2);
	for (size_t i = 0; i < req->nargs; i++) {
		const struct channel *ch = pubsub_find(server_of(req)->pubsub, req->args[i]);
		bool is_shown = ch != NULL && acl_may_use_channel(req->session->user, ch->name);

		reply_bulk(req->reply, req->args[i]);
		reply_integer(req->reply, is_shown ? ch->count : 0);
	}
}

void pubsub_cmd_numpat(struct request *req)
{
	reply_integer(req->reply, pubsub_pattern_count(server_of(req)->pubsub));
}
