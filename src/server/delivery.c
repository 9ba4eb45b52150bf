#include "server/delivery.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/pattern_index.h"
#include "server/server_int.h"
#include "sys/log.h"
#include "util/mem.h"

/* Smallest payload in bytes that subscribers share. A smaller one is cheaper to copy. */
#define SHARED_MIN_BYTES 4096

/* Work is counted in units of about a tenth of a microsecond. */
#define UNITS_PER_TURN 10000
#define UNITS_PER_PART 256
/* A client without output needs memory for it first. */
#define UNITS_PER_FIRST_DELIVERY 10
/* Bytes of a pattern, and of a channel, whose comparison takes about one unit. */
#define PATTERN_BYTES_PER_UNIT 8
#define CHANNEL_BYTES_PER_UNIT 128

/* A message on its way to the subscribers of its channel, or to those of patterns. */
struct walk {
	enum pubsub_kind kind;
	uint64_t number; /* of the message */
	struct qless_str channel;
	struct qless_str payload;
	struct shared_bytes *shared; /* the payload, if it is large and has a subscriber */

	bool has_begun;
	/* The next delivery is to `next`, which is of `at`. `next` is NULL while the pattern `at`
	 * has not been compared. `at` is NULL before the beginning and at the end. */
	struct channel *at;
	struct subscription *next;
	/* The version of the index when the search for matching patterns began. */
	uint64_t version;
	bool is_known;			/* the index remembers all patterns that match */
	size_t known_at;		/* the place of `at` among them */
	struct pattern_matches matches; /* otherwise: those found so far */

	struct publication *publication; /* NULL: it has ended */
	LIST_ENTRY(walk) parked;	 /* of `at`, while the walk waits in its queue */
	STAILQ_ENTRY(walk) link;
	size_t bytes;
	char text[];
};

void delivery_init(struct delivery *d, struct pattern_index *index)
{
	*d = (struct delivery){ .index = index, .units_left = UNITS_PER_TURN };
	STAILQ_INIT(&d->queues[PUBSUB_CHANNEL].walks);
	STAILQ_INIT(&d->queues[PUBSUB_PATTERN].walks);
}

void delivery_begin_turn(struct delivery *d)
{
	d->units_left = UNITS_PER_TURN;
}

/* ---- delivering ---- */

static void write_payload(struct reply *w, struct walk *walk)
{
	if (walk->payload.len < SHARED_MIN_BYTES) {
		reply_bulk(w, walk->payload);
		return;
	}
	if (walk->shared == NULL)
		walk->shared = shared_bytes_new(walk->payload);
	reply_shared_bulk(w, walk->shared);
}

/* Returns the units that it took. */
static size_t deliver(struct walk *walk, const struct subscription *sub)
{
	struct client *c = sub->subscriber->client;
	struct reply w;
	size_t units;

	if (c == NULL || sub->since >= walk->number)
		return 1;
	if (sub->subscriber->unchecked != NULL && !pubsub_is_allowed(sub))
		return 1;
	if (walk->publication != NULL)
		walk->publication->count++;
	if (c->is_dropped)
		return 1;
	units = c->out.len + c->messages.len != 0 ? 1 : UNITS_PER_FIRST_DELIVERY;
	client_begin_message(c, &w);
	reply_push(&w, walk->kind == PUBSUB_PATTERN ? 4 : 3);
	if (walk->kind == PUBSUB_PATTERN) {
		reply_bulk(&w, STR("pmessage"));
		reply_bulk(&w, sub->channel->name);
	} else {
		reply_bulk(&w, STR("message"));
	}
	reply_bulk(&w, walk->channel);
	write_payload(&w, walk);
	client_output_grew(c);
	return units;
}

/* ---- walking ---- */

/* Goes to a pattern that is known to match, if there is such a one. */
static void go_to_known(struct walk *walk, const struct pattern_matches *known, size_t i)
{
	walk->known_at = i;
	walk->at = i < known->count ? known->patterns[i] : NULL;
	walk->next = walk->at != NULL ? TAILQ_FIRST(&walk->at->subscriptions) : NULL;
}

static void begin_patterns(struct delivery *d, struct walk *walk)
{
	const struct pattern_matches *known = pattern_index_recall(d->index, walk->channel);

	walk->version = pattern_index_version(d->index);
	walk->is_known = known != NULL;
	if (known != NULL)
		go_to_known(walk, known, 0);
	else
		walk->at = pattern_index_first(d->index, walk->channel);
}

static void begin_channel(struct delivery *d, struct walk *walk)
{
	walk->at = pubsub_find(d->server->pubsub, walk->channel);
	if (walk->at != NULL)
		walk->next = TAILQ_FIRST(&walk->at->subscriptions);
}

static void begin_walk(struct delivery *d, struct walk *walk)
{
	if (walk->has_begun)
		return;
	walk->has_begun = true;
	if (walk->kind == PUBSUB_PATTERN)
		begin_patterns(d, walk);
	else
		begin_channel(d, walk);
}

/* Goes on to the next channel to look at. The known patterns have the order of the index, so the
 * walk can go on in the index if a pattern was added or removed. */
static void go_to_next(struct delivery *d, struct walk *walk)
{
	const struct pattern_matches *known = NULL;

	walk->next = NULL;
	if (walk->kind != PUBSUB_PATTERN) {
		walk->at = NULL;
		return;
	}
	if (walk->is_known)
		known = pattern_index_recall(d->index, walk->channel);
	walk->is_known = known != NULL && walk->version == pattern_index_version(d->index);
	if (walk->is_known)
		go_to_known(walk, known, walk->known_at + 1);
	else
		walk->at = pattern_index_next(d->index, walk->channel, walk->at);
}

/* Compares the pattern `at`. Returns the units that it took. */
static size_t compare(struct delivery *d, struct walk *walk)
{
	struct channel *pattern = walk->at;

	if (glob_match(pattern->name, walk->channel, false)) {
		pattern_matches_add(&walk->matches, pattern);
		walk->next = TAILQ_FIRST(&pattern->subscriptions);
	} else {
		go_to_next(d, walk);
	}
	return 1 + pattern->name.len / PATTERN_BYTES_PER_UNIT +
	       walk->channel.len / CHANNEL_BYTES_PER_UNIT;
}

/* Walks on for about that many units. Returns the units that are left: 0 if it may not be done. */
static size_t walk_on(struct delivery *d, struct walk *walk, size_t units)
{
	begin_walk(d, walk);
	while (walk->at != NULL && units > 0) {
		size_t used;

		if (walk->next == NULL) {
			used = compare(d, walk);
		} else {
			used = deliver(walk, walk->next);
			walk->next = TAILQ_NEXT(walk->next, by_channel);
			if (walk->next == NULL)
				go_to_next(d, walk);
		}
		units -= used < units ? used : units;
	}
	return units;
}

static void end_walk(struct delivery *d, struct walk *walk)
{
	if (walk->kind == PUBSUB_PATTERN && !walk->is_known &&
	    walk->version == pattern_index_version(d->index))
		pattern_index_remember(d->index, walk->channel, &walk->matches);
	pattern_matches_done(&walk->matches);
	shared_bytes_release(walk->shared);
	if (walk->publication != NULL)
		walk->publication->walks[walk->kind] = NULL;
}

/* ---- queues ---- */

static void park(struct walk *walk)
{
	if (walk->at != NULL)
		LIST_INSERT_HEAD(&walk->at->walks, walk, parked);
}

static void unpark(struct walk *walk)
{
	if (walk->at != NULL)
		LIST_REMOVE(walk, parked);
}

void delivery_forget_subscription(struct delivery *d, const struct subscription *sub)
{
	struct walk *walk, *other;

	for (walk = LIST_FIRST(&sub->channel->walks); walk != NULL; walk = other) {
		other = LIST_NEXT(walk, parked);
		if (walk->next != sub)
			continue;
		walk->next = TAILQ_NEXT(sub, by_channel);
		if (walk->next != NULL)
			continue;
		unpark(walk);
		go_to_next(d, walk);
		park(walk);
	}
}

void delivery_forget_channel(struct delivery *d, struct channel *ch)
{
	struct walk *walk;

	while ((walk = LIST_FIRST(&ch->walks)) != NULL) {
		unpark(walk);
		go_to_next(d, walk);
		park(walk);
	}
}

/* Copies the walk to the end of its queue. */
static void enqueue(struct delivery *d, const struct walk *from)
{
	size_t bytes = sizeof *from + from->channel.len + from->payload.len;
	struct delivery_queue *queue = &d->queues[from->kind];
	struct walk *walk = mem_alloc(bytes);

	*walk = *from;
	memcpy(walk->text, from->channel.ptr, from->channel.len);
	walk->channel.ptr = walk->text;
	if (from->payload.len != 0)
		memcpy(walk->text + from->channel.len, from->payload.ptr, from->payload.len);
	walk->payload.ptr = walk->text + from->channel.len;
	walk->bytes = bytes;
	if (walk->publication != NULL)
		walk->publication->walks[walk->kind] = walk;
	STAILQ_INSERT_TAIL(&queue->walks, walk, link);
	queue->bytes += bytes;
	park(walk);
}

static void free_first(struct delivery *d, struct delivery_queue *queue)
{
	struct walk *walk = STAILQ_FIRST(&queue->walks);

	STAILQ_REMOVE_HEAD(&queue->walks, link);
	queue->bytes -= walk->bytes;
	end_walk(d, walk);
	free(walk);
}

void delivery_done(struct delivery *d)
{
	for (int kind = 0; kind < 2; kind++) {
		struct delivery_queue *queue = &d->queues[kind];

		while (!STAILQ_EMPTY(&queue->walks)) {
			unpark(STAILQ_FIRST(&queue->walks));
			free_first(d, queue);
		}
	}
}

static void run_queue(struct delivery *d, struct delivery_queue *queue)
{
	size_t units = UNITS_PER_PART;
	struct walk *walk;

	while (units > 0 && (walk = STAILQ_FIRST(&queue->walks)) != NULL) {
		unpark(walk);
		units = walk_on(d, walk, units);
		if (walk->at != NULL) {
			park(walk);
			return;
		}
		free_first(d, queue);
	}
}

void delivery_run_part(struct delivery *d)
{
	run_queue(d, &d->queues[PUBSUB_CHANNEL]);
	run_queue(d, &d->queues[PUBSUB_PATTERN]);
}

/* ---- publishing ---- */

static void close_subscribers(const struct channel *ch)
{
	const struct subscription *sub;

	TAILQ_FOREACH(sub, &ch->subscriptions, by_channel) {
		struct client *c = sub->subscriber->client;

		if (c != NULL)
			c->ops->output_exceeded(c, "pubsub-backlog-limit");
	}
}

/* The queue has no room for the rest of a message: closes the clients that may miss it. */
static void give_up(struct delivery *d, struct walk *walk)
{
	struct server *s = d->server;

	if (complaints_take(&s->complaints))
		log_warning("more than pubsub-backlog-limit (%zu bytes) of messages wait for their "
			    "%s: closing those subscribers",
			    s->config->pubsub_backlog_bytes,
			    walk->kind == PUBSUB_PATTERN ? "subscribers by pattern"
							 : "subscribers");
	begin_walk(d, walk);
	for (; walk->at != NULL; go_to_next(d, walk))
		close_subscribers(walk->at);
	/* The search is not complete. */
	walk->version = 0;
	end_walk(d, walk);
}

/* Walks as far as this turn allows, and leaves the rest to the queue. */
static void publish_to(struct delivery *d, struct walk *walk)
{
	const struct delivery_queue *queue = &d->queues[walk->kind];

	d->server->turn.has_pubsub = true;
	if (STAILQ_EMPTY(&queue->walks))
		d->units_left = walk_on(d, walk, d->units_left);
	if (walk->has_begun && walk->at == NULL)
		end_walk(d, walk);
	else if (!STAILQ_EMPTY(&queue->walks) &&
		 queue->bytes + walk->payload.len > d->server->config->pubsub_backlog_bytes)
		give_up(d, walk);
	else
		enqueue(d, walk);
}

void delivery_publish(struct delivery *d, struct qless_str channel, struct qless_str payload,
		      struct publication *publication)
{
	struct walk walk = { .number = ++d->last_message,
			     .channel = channel,
			     .payload = payload,
			     .publication = publication };

	if (pubsub_find(d->server->pubsub, channel) != NULL)
		publish_to(d, &walk);
	if (pattern_index_is_empty(d->index))
		return;
	walk = (struct walk){ .kind = PUBSUB_PATTERN,
			      .number = d->last_message,
			      .channel = channel,
			      .payload = payload,
			      .publication = publication };
	publish_to(d, &walk);
}

/* ---- publications ---- */

void publication_end(struct publication *publication)
{
	for (int kind = 0; kind < 2; kind++) {
		if (publication->walks[kind] != NULL)
			publication->walks[kind]->publication = NULL;
		publication->walks[kind] = NULL;
	}
}

void publication_move(struct publication *to, const struct publication *from)
{
	*to = *from;
	for (int kind = 0; kind < 2; kind++) {
		if (to->walks[kind] != NULL)
			to->walks[kind]->publication = to;
	}
}
