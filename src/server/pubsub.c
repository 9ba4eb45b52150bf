#include "server/pubsub.h"

#include <assert.h>

#include "command/acl.h"
#include "server/delivery.h"
#include "server/pattern_index.h"
#include "server/server_int.h"
#include "util/container.h"
#include "util/mem.h"

/* Microseconds of a turn for messages that wait. */
#define DELIVERY_US 1000

/* Microseconds of a turn for checks of subscriptions. */
#define CHECK_US 1000
/* Number of subscriptions that are checked between two looks at the clock. */
#define CHECKS_PER_LOOK 16
/* Number of subscriptions that the commands of a turn check at once. */
#define CHECKS_AT_ONCE 1000

struct pubsub {
	struct hash channels;
	struct hash patterns;
	struct hash subscriptions;
	struct pattern_index index;
	struct delivery delivery;
	unsigned of_queues; /* channels and patterns that may be those of a queue */
	TAILQ_HEAD(, subscriber) unchecked;
	size_t unchecked_count;
	size_t checks_left; /* that the commands of this turn may do at once */
	TAILQ_HEAD(, subscriber) ended;
	size_t ended_count; /* of their subscriptions */
	uint64_t last_subscriber;
};

static struct qless_str channel_key(const struct hash_node *node)
{
	return container_of(node, const struct channel, node)->name;
}

static struct qless_str subscription_key(const struct hash_node *node)
{
	const struct subscription *sub = container_of(node, const struct subscription, node);

	return str_make(sub->key, sub->key_len);
}

struct pubsub *pubsub_new(struct server *s, uint64_t hash_seed)
{
	struct pubsub *p = mem_zalloc(sizeof *p);

	hash_init(&p->channels, channel_key, hash_seed);
	hash_init(&p->patterns, channel_key, hash_seed);
	hash_init(&p->subscriptions, subscription_key, hash_seed);
	pattern_index_init(&p->index, hash_seed);
	delivery_init(&p->delivery, &p->index);
	p->delivery.server = s;
	TAILQ_INIT(&p->unchecked);
	p->checks_left = CHECKS_AT_ONCE;
	TAILQ_INIT(&p->ended);
	return p;
}

void pubsub_free(struct pubsub *p)
{
	if (p == NULL)
		return;
	delivery_done(&p->delivery);
	pubsub_free_some(p, SIZE_MAX);
	assert(hash_count(&p->subscriptions) == 0);
	hash_done(&p->channels);
	hash_done(&p->patterns);
	hash_done(&p->subscriptions);
	pattern_index_done(&p->index);
	free(p);
}

static struct hash *table_of(struct pubsub *p, enum pubsub_kind kind)
{
	return kind == PUBSUB_PATTERN ? &p->patterns : &p->channels;
}

/* Returns whether a channel or a pattern may be that of a queue. */
static bool is_of_queues(enum pubsub_kind kind, struct qless_str name)
{
	struct qless_str prefix = STR(PUBSUB_QUEUE_PREFIX);

	if (kind == PUBSUB_PATTERN)
		name = pattern_index_begin(name);
	return str_starts_with(name, prefix) ||
	       (kind == PUBSUB_PATTERN && str_starts_with(prefix, name));
}

static struct channel *channel_get(struct pubsub *p, enum pubsub_kind kind, struct qless_str name)
{
	struct hash_node *node = hash_find(table_of(p, kind), name);
	struct channel *ch;

	if (node != NULL)
		return container_of(node, struct channel, node);
	ch = mem_zalloc(sizeof *ch + name.len);
	if (name.len != 0)
		memcpy(ch->text, name.ptr, name.len);
	ch->name = str_make(ch->text, name.len);
	ch->kind = kind;
	TAILQ_INIT(&ch->subscriptions);
	LIST_INIT(&ch->walks);
	hash_insert(table_of(p, kind), &ch->node);
	if (kind == PUBSUB_PATTERN)
		pattern_index_add(&p->index, ch);
	p->of_queues += is_of_queues(kind, name);
	return ch;
}

static void channel_drop(struct pubsub *p, struct channel *ch)
{
	delivery_forget_channel(&p->delivery, ch);
	hash_remove(table_of(p, ch->kind), &ch->node);
	if (ch->kind == PUBSUB_PATTERN)
		pattern_index_remove(&p->index, ch);
	p->of_queues -= is_of_queues(ch->kind, ch->name);
	free(ch);
}

static struct subscription *subscription_new(const struct subscriber *subscriber,
					     enum pubsub_kind kind, struct qless_str name)
{
	size_t id_len = sizeof subscriber->id;
	size_t key_len = id_len + 1 + name.len;
	struct subscription *sub = mem_alloc(sizeof *sub + key_len);

	memcpy(sub->key, &subscriber->id, id_len);
	sub->key[id_len] = (char)kind;
	memcpy(sub->key + id_len + 1, name.ptr, name.len);
	sub->key_len = key_len;
	return sub;
}

static void count_subscriptions(struct client *c, enum pubsub_kind kind, int change)
{
	if (kind == PUBSUB_PATTERN)
		c->pattern_count += (unsigned)change;
	else
		c->channel_count += (unsigned)change;
	c->session.subscribed = c->channel_count + c->pattern_count != 0;
}

/* The subscription of a client, or NULL. */
static struct subscription *subscription_find(const struct client *c, enum pubsub_kind kind,
					      struct qless_str name)
{
	struct subscription *key;
	struct hash_node *node;

	if (c->subscriber == NULL)
		return NULL;
	key = subscription_new(c->subscriber, kind, name);
	node = hash_find(&c->server->pubsub->subscriptions, str_make(key->key, key->key_len));
	free(key);
	return node != NULL ? container_of(node, struct subscription, node) : NULL;
}

bool pubsub_is_subscribed(const struct client *c, enum pubsub_kind kind, struct qless_str name)
{
	return subscription_find(c, kind, name) != NULL;
}

static struct subscription_list *list_of(struct subscriber *subscriber, enum pubsub_kind kind)
{
	return kind == PUBSUB_PATTERN ? &subscriber->patterns : &subscriber->channels;
}

bool pubsub_first(const struct client *c, enum pubsub_kind kind, struct qless_str *ret_name)
{
	const struct subscription *sub;

	if (c->subscriber == NULL)
		return false;
	sub = TAILQ_FIRST(list_of(c->subscriber, kind));
	if (sub == NULL)
		return false;
	*ret_name = sub->channel->name;
	return true;
}

static struct subscriber *need_subscriber(struct client *c)
{
	struct subscriber *subscriber = c->subscriber;

	if (subscriber != NULL)
		return subscriber;
	subscriber = c->subscriber = mem_zalloc(sizeof *subscriber);
	subscriber->client = c;
	subscriber->id = ++c->server->pubsub->last_subscriber;
	TAILQ_INIT(&subscriber->channels);
	TAILQ_INIT(&subscriber->patterns);
	return subscriber;
}

bool pubsub_subscribe(struct client *c, enum pubsub_kind kind, struct qless_str name)
{
	struct pubsub *p = c->server->pubsub;
	struct subscription *sub = subscription_new(need_subscriber(c), kind, name);

	if (hash_find(&p->subscriptions, str_make(sub->key, sub->key_len)) != NULL) {
		free(sub);
		return false;
	}
	sub->subscriber = c->subscriber;
	sub->since = p->delivery.last_message;
	sub->channel = channel_get(p, kind, name);
	sub->channel->count++;
	hash_insert(&p->subscriptions, &sub->node);
	TAILQ_INSERT_TAIL(&sub->channel->subscriptions, sub, by_channel);
	TAILQ_INSERT_TAIL(list_of(c->subscriber, kind), sub, by_subscriber);
	count_subscriptions(c, kind, 1);
	return true;
}

static void stop_checking(struct pubsub *p, struct subscriber *subscriber)
{
	if (subscriber->unchecked == NULL)
		return;
	subscriber->unchecked = NULL;
	TAILQ_REMOVE(&p->unchecked, subscriber, link);
	p->unchecked_count--;
}

/* The next subscription to be checked is fine, or ends. */
static void check_next(struct pubsub *p, struct subscriber *subscriber)
{
	const struct subscription *sub = subscriber->unchecked;
	struct subscription *next = TAILQ_NEXT(sub, by_subscriber);

	if (next == NULL && sub->channel->kind == PUBSUB_CHANNEL)
		next = TAILQ_FIRST(&subscriber->patterns);
	if (next == NULL)
		stop_checking(p, subscriber);
	else
		subscriber->unchecked = next;
}

static void subscription_free(struct pubsub *p, struct subscription *sub)
{
	struct channel *ch = sub->channel;

	if (sub->subscriber->unchecked == sub)
		check_next(p, sub->subscriber);
	delivery_forget_subscription(&p->delivery, sub);
	hash_remove(&p->subscriptions, &sub->node);
	TAILQ_REMOVE(&ch->subscriptions, sub, by_channel);
	TAILQ_REMOVE(list_of(sub->subscriber, ch->kind), sub, by_subscriber);
	if (--ch->count == 0)
		channel_drop(p, ch);
	free(sub);
}

bool pubsub_unsubscribe(struct client *c, enum pubsub_kind kind, struct qless_str name)
{
	struct subscription *sub = subscription_find(c, kind, name);

	if (sub == NULL)
		return false;
	subscription_free(c->server->pubsub, sub);
	count_subscriptions(c, kind, -1);
	return true;
}

void pubsub_forget(struct client *c)
{
	struct subscriber *subscriber = c->subscriber;
	struct pubsub *p = c->server->pubsub;

	if (subscriber == NULL)
		return;
	stop_checking(p, subscriber);
	subscriber->client = NULL;
	TAILQ_INSERT_TAIL(&p->ended, subscriber, link);
	c->server->turn.has_dead = true;
	p->ended_count += c->channel_count + c->pattern_count;
	c->subscriber = NULL;
	c->channel_count = c->pattern_count = 0;
	c->session.subscribed = false;
}

static struct subscription *any_subscription(const struct subscriber *subscriber)
{
	struct subscription *sub = TAILQ_FIRST(&subscriber->channels);

	return sub != NULL ? sub : TAILQ_FIRST(&subscriber->patterns);
}

bool pubsub_free_some(struct pubsub *p, size_t count)
{
	struct subscriber *subscriber;

	while ((subscriber = TAILQ_FIRST(&p->ended)) != NULL) {
		struct subscription *sub = any_subscription(subscriber);

		if (sub == NULL) {
			TAILQ_REMOVE(&p->ended, subscriber, link);
			free(subscriber);
		} else if (count-- == 0) {
			return true;
		} else {
			subscription_free(p, sub);
			p->ended_count--;
		}
	}
	return false;
}

size_t pubsub_ended_count(const struct pubsub *p)
{
	return p->ended_count;
}

/*
 * Checks
 */

bool pubsub_is_allowed(const struct subscription *sub)
{
	const struct user *user = sub->subscriber->client->session.user;
	struct qless_str name = sub->channel->name;

	if (user == NULL)
		return false;
	return sub->channel->kind == PUBSUB_PATTERN ? acl_may_use_pattern(user, name)
						    : acl_may_use_channel(user, name);
}

void pubsub_check(struct client *c)
{
	struct subscriber *subscriber = c->subscriber;
	struct pubsub *p = c->server->pubsub;

	if (subscriber == NULL || any_subscription(subscriber) == NULL)
		return;
	if (subscriber->unchecked == NULL) {
		TAILQ_INSERT_TAIL(&p->unchecked, subscriber, link);
		p->unchecked_count++;
	}
	subscriber->unchecked = any_subscription(subscriber);
	c->server->turn.has_pubsub = true;
}

/* As in Redis, a subscription that the user could no longer make ends with the connection. */
static void end_client(struct client *c)
{
	if (c->server->clients.running == c)
		conn_finish(conn_of(c));
	else
		conn_kill(conn_of(c), "its user may no longer receive what it subscribed to");
	assert(c->subscriber == NULL);
}

/* Checks up to `count` subscriptions. Returns the rest of the count. */
static size_t check_some(struct pubsub *p, size_t count)
{
	struct subscriber *subscriber;

	for (; count != 0 && (subscriber = TAILQ_FIRST(&p->unchecked)) != NULL; count--) {
		if (pubsub_is_allowed(subscriber->unchecked))
			check_next(p, subscriber);
		else
			end_client(subscriber->client);
	}
	return count;
}

void pubsub_check_now(struct server *s)
{
	s->pubsub->checks_left = check_some(s->pubsub, s->pubsub->checks_left);
}

static void run_checks(struct pubsub *p)
{
	int64_t end_us;

	p->checks_left = CHECKS_AT_ONCE;
	if (TAILQ_EMPTY(&p->unchecked))
		return;
	end_us = clock_mono_us() + CHECK_US;
	do {
		check_some(p, CHECKS_PER_LOOK);
	} while (!TAILQ_EMPTY(&p->unchecked) && clock_mono_us() < end_us);
}

size_t pubsub_unchecked_count(const struct pubsub *p)
{
	return p->unchecked_count;
}

/*
 * Messages
 */

void pubsub_publish(struct server *s, struct qless_str channel, struct qless_str payload,
		    struct publication *publication)
{
	delivery_publish(&s->pubsub->delivery, channel, payload, publication);
}

void pubsub_run_part(struct server *s)
{
	delivery_run_part(&s->pubsub->delivery);
}

static void run_delivery(struct delivery *d)
{
	int64_t end_us;

	delivery_begin_turn(d);
	if (delivery_is_idle(d))
		return;
	end_us = clock_mono_us() + DELIVERY_US;
	do {
		delivery_run_part(d);
	} while (!delivery_is_idle(d) && clock_mono_us() < end_us);
}

bool pubsub_run(struct server *s)
{
	struct pubsub *p = s->pubsub;

	run_checks(p);
	run_delivery(&p->delivery);
	return !TAILQ_EMPTY(&p->unchecked) || !delivery_is_idle(&p->delivery);
}

size_t pubsub_backlog_bytes(const struct server *s)
{
	const struct delivery *d = &s->pubsub->delivery;

	return d->queues[PUBSUB_CHANNEL].bytes + d->queues[PUBSUB_PATTERN].bytes;
}

bool pubsub_is_empty(const struct pubsub *p)
{
	return hash_count(&p->subscriptions) == 0;
}

bool pubsub_hears_queues(const struct pubsub *p)
{
	return p->of_queues != 0;
}

struct channel *pubsub_find(const struct pubsub *p, struct qless_str name)
{
	struct hash_node *node = hash_find(&p->channels, name);

	return node != NULL ? container_of(node, struct channel, node) : NULL;
}

struct channel_scan {
	pubsub_visit_fn *visit;
	void *arg;
};

static void visit_channel(struct hash_node *node, void *arg)
{
	const struct channel_scan *scan = arg;

	scan->visit(container_of(node, const struct channel, node), scan->arg);
}

uint32_t pubsub_scan_channels(const struct pubsub *p, uint32_t cursor, pubsub_visit_fn *visit,
			      void *arg)
{
	struct channel_scan scan = { visit, arg };

	return hash_scan(&p->channels, cursor, visit_channel, &scan);
}

unsigned pubsub_channel_count(const struct pubsub *p)
{
	return hash_count(&p->channels);
}

unsigned pubsub_pattern_count(const struct pubsub *p)
{
	return hash_count(&p->patterns);
}

unsigned pubsub_similar_patterns(const struct pubsub *p, struct qless_str pattern)
{
	if (hash_find(&p->patterns, pattern) != NULL)
		return 0;
	return pattern_index_similar(&p->index, pattern);
}
