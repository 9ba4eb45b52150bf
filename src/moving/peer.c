#include "moving/peer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "sys/entropy.h"
#include "util/buf.h"
#include "util/mem.h"
#include "util/num.h"

#define ERROR_MAX     512
#define ARGUMENTS_MAX 1026 /* of a request: command, key, and an integral number of pairs */
/* Elements of a list or sorted set in one request. */
#define PAGE 10000
/* Bytes at which a batch is sent early. */
#define BATCH_BYTES ((size_t)4 * 1024 * 1024)

struct peer {
	struct peer_options options; /* shares the texts of its owner */
	struct client *client;
	struct keys seen; /* names only */
	struct key **batch;
	size_t batch_count;
	size_t pending; /* requests without a reply yet */
	size_t pending_bytes;
	char error[ERROR_MAX];
};

/* ---- the connection ---- */

void peer_options_init(struct peer_options *options, int port)
{
	*options = (struct peer_options){ .batch = PEER_BATCH_DEFAULT };
	client_settings_init(&options->server);
	options->server.port = port;
	peer_options_set_timeout(options, PEER_TIMEOUT_DEFAULT);
}

void peer_options_done(struct peer_options *options)
{
	client_settings_done(&options->server);
}

void peer_options_set_timeout(struct peer_options *options, unsigned seconds)
{
	options->server.timeout_s = seconds;
	options->server.connect_timeout_s = seconds;
}

static bool fail(struct peer *peer, const char *what, const char *why)
{
	struct buf address = BUF_INIT(BUF_NO_MAX);

	if (peer->error[0] != '\0')
		return false;
	client_settings_print_address(&peer->options.server, &address);
	snprintf(peer->error, sizeof peer->error, "%s: %s%s%s", buf_cstr(&address), what,
		 why[0] != '\0' ? ": " : "", why);
	buf_done(&address);
	return false;
}

/* The client has put the address into its message. */
static bool fail_connection(struct peer *peer)
{
	if (peer->error[0] == '\0')
		snprintf(peer->error, sizeof peer->error, "%s", client_error(peer->client));
	return false;
}

/* Returns the next reply, also if it is an error. It is valid until the next one. */
static const struct client_reply *get_any_reply(struct peer *peer)
{
	const struct client_reply *reply;

	if (peer->error[0] != '\0')
		return NULL;
	reply = client_receive(peer->client, peer->options.server.timeout_s);
	if (reply == NULL)
		fail_connection(peer);
	return reply;
}

/* Returns the next reply, or NULL if it is an error. */
static const struct client_reply *get_reply(struct peer *peer)
{
	const struct client_reply *reply = get_any_reply(peer);

	if (reply == NULL || !client_reply_is_error(reply))
		return reply;
	fail(peer, "it answered", reply->ptr);
	return NULL;
}

static void send_words(struct peer *peer, const struct qless_str *words, size_t count)
{
	assert(count <= ARGUMENTS_MAX);
	if (peer->error[0] == '\0' && !client_send(peer->client, words, count))
		fail_connection(peer);
}

#define SEND(peer, ...)                                               \
	send_words((peer), (const struct qless_str[]){ __VA_ARGS__ }, \
		   sizeof((const struct qless_str[]){ __VA_ARGS__ }) / sizeof(struct qless_str))

struct peer *peer_open(const struct peer_options *options)
{
	struct peer *peer = mem_zalloc(sizeof *peer);

	peer->options = *options;
	peer->batch = mem_realloc_array(NULL, options->batch, sizeof(struct key *));
	keys_init(&peer->seen, entropy_u64());
	peer->client = client_new(&options->server);
	if (!client_connect(peer->client))
		fail_connection(peer);
	return peer;
}

void peer_close(struct peer *peer)
{
	if (peer == NULL)
		return;
	for (size_t i = 0; i < peer->batch_count; i++)
		key_free(peer->batch[i]);
	free(peer->batch);
	keys_done(&peer->seen);
	client_free(peer->client);
	free(peer);
}

const char *peer_error(const struct peer *peer)
{
	return peer->error[0] != '\0' ? peer->error : NULL;
}

bool peer_count_keys(struct peer *peer, uint64_t *ret_count)
{
	const struct client_reply *reply;

	SEND(peer, STR("DBSIZE"));
	reply = get_reply(peer);
	if (reply == NULL)
		return false;
	*ret_count = reply->integer > 0 ? (uint64_t)reply->integer : 0;
	return true;
}

/* LIMIT.LIST returns a cursor, and an array of what it has looked at. */
static bool has_limits(const struct client_reply *reply)
{
	return reply->type == CLIENT_REPLY_ARRAY && reply->count == 2 &&
	       reply->elements[1].type == CLIENT_REPLY_ARRAY && reply->elements[1].count != 0;
}

bool peer_has_limits(struct peer *peer)
{
	const struct client_reply *reply;

	SEND(peer, STR("LIMIT.LIST"), STR("COUNT"), STR("1000"));
	reply = get_any_reply(peer);
	return reply != NULL && has_limits(reply);
}

bool peer_ask_each(struct peer *peer, struct qless_str command, const struct qless_str *names,
		   size_t count, peer_text_fn *each, void *arg)
{
	for (size_t begin = 0; begin < count && peer->error[0] == '\0';) {
		size_t left = count - begin;
		size_t end = begin + (left < peer->options.batch ? left : peer->options.batch);

		for (size_t i = begin; i < end; i++)
			SEND(peer, command, names[i]);
		for (; begin < end; begin++) {
			const struct client_reply *reply = get_any_reply(peer);

			if (reply == NULL)
				return false;
			if (reply->type == CLIENT_REPLY_STRING)
				each(arg, client_reply_str(reply));
		}
	}
	return peer->error[0] == '\0';
}

/* ---- reading ---- */

static void ask_content(struct peer *peer, const struct key *key, size_t first)
{
	char from[NUM_MAX], to[NUM_MAX];
	struct qless_str first_text = str_make(from, num_format_u64(from, first));
	struct qless_str last_text = str_make(to, num_format_u64(to, first + PAGE - 1));

	switch (key->type) {
	case KEY_HASH:
		SEND(peer, STR("HGETALL"), key->name);
		break;
	case KEY_LIST:
		SEND(peer, STR("LRANGE"), key->name, first_text, last_text);
		break;
	case KEY_SET:
		SEND(peer, STR("SMEMBERS"), key->name);
		break;
	case KEY_ZSET:
		SEND(peer, STR("ZRANGE"), key->name, first_text, last_text, STR("WITHSCORES"));
		break;
	case KEY_OTHER:
	case KEY_TYPES:
		break;
	}
}

/* Returns false if the connection is lost or the reply is not understood. */
static bool take_content(struct peer *peer, struct key *key, bool *ret_more)
{
	size_t stride = key_type_stride(key->type);
	const struct client_reply *reply;

	*ret_more = false;
	if (key->type == KEY_OTHER)
		return true;
	reply = get_reply(peer);
	if (reply == NULL)
		return false;
	if (reply->type != CLIENT_REPLY_ARRAY || reply->count % stride != 0) {
		return fail(peer, "its reply is not a list", "");
	}
	for (size_t i = 0; i < reply->count; i += stride) {
		if (stride == 2)
			key_add_pair(key, client_reply_str(&reply->elements[i]),
				     client_reply_str(&reply->elements[i + 1]));
		else
			key_add(key, client_reply_str(&reply->elements[i]));
	}
	*ret_more =
		(key->type == KEY_LIST || key->type == KEY_ZSET) && reply->count == PAGE * stride;
	return true;
}

static bool take_rest(struct peer *peer, struct key *key)
{
	bool more = true;

	while (more) {
		ask_content(peer, key, key->count);
		if (!take_content(peer, key, &more))
			return false;
	}
	return true;
}

static bool take_type(struct peer *peer, struct key *key)
{
	const struct client_reply *reply = get_reply(peer);

	if (reply == NULL)
		return false;
	key->type = key_type_from(client_reply_str(reply));
	return true;
}

/* Read the types of all keys of a batch, then their contents. Each takes one round trip, unless
 * they are large. */
static bool read_batch(struct peer *peer, peer_key_fn *each, void *arg)
{
	size_t count = peer->batch_count, i;
	bool more;

	for (i = 0; i < count; i++)
		SEND(peer, STR("TYPE"), peer->batch[i]->name);
	for (i = 0; i < count; i++) {
		if (!take_type(peer, peer->batch[i]))
			return false;
	}
	for (i = 0; i < count; i++)
		ask_content(peer, peer->batch[i], 0);
	for (i = 0; i < count; i++) {
		if (!take_content(peer, peer->batch[i], &more))
			return false;
		/* The rest of it is requested after the keys that were requested before. */
		peer->batch[i]->was_found = more;
	}
	for (i = 0; i < count; i++) {
		struct key *key = peer->batch[i];

		if (key->was_found && !take_rest(peer, key))
			return false;
		key->was_found = false;
		peer->batch[i] = NULL;
		if (key->count > 0 || key->type == KEY_OTHER)
			each(arg, key);
		else
			key_free(key);
	}
	peer->batch_count = 0;
	return true;
}

static bool read_names(struct peer *peer, const struct client_reply *names, peer_key_fn *each,
		       peer_progress_fn *progress, void *arg)
{
	for (size_t i = 0; i < names->count; i++) {
		struct qless_str name = client_reply_str(&names->elements[i]);

		if (keys_find(&peer->seen, name) != NULL)
			continue;
		keys_add(&peer->seen, key_new(name, KEY_OTHER));
		peer->batch[peer->batch_count++] = key_new(name, KEY_OTHER);
		if (peer->batch_count == peer->options.batch) {
			if (!read_batch(peer, each, arg))
				return false;
			progress(arg, keys_count(&peer->seen));
		}
	}
	return true;
}

/* Reads the keys of a page of SCAN, and sets the cursor to that of the next page. */
static void read_page(struct peer *peer, const struct client_reply *page, struct buf *cursor,
		      peer_key_fn *each, peer_progress_fn *progress, void *arg)
{
	buf_clear(cursor);
	if (page->type != CLIENT_REPLY_ARRAY || page->count != 2 ||
	    !buf_append_str(cursor, client_reply_str(&page->elements[0])))
		fail(peer, "its reply to SCAN is invalid", "");
	else
		read_names(peer, &page->elements[1], each, progress, arg);
}

bool peer_read(struct peer *peer, peer_key_fn *each, peer_progress_fn *progress, void *arg)
{
	char count[NUM_MAX];
	struct qless_str count_text = str_make(count, num_format_u64(count, peer->options.batch));
	struct buf cursor = BUF_INIT(NUM_MAX);
	bool done = false;

	/* The replies to keys that are being written would be taken for those of keys to read. */
	assert(peer->pending == 0);
	keys_done(&peer->seen);
	keys_init(&peer->seen, entropy_u64());
	buf_append_char(&cursor, '0');
	while (!done && peer->error[0] == '\0') {
		struct client_reply page;

		SEND(peer, STR("SCAN"), buf_str(&cursor), STR("MATCH"), STR("ql:*"), STR("COUNT"),
		     count_text);
		if (get_reply(peer) == NULL)
			break;
		/* The replies about its keys arrive while the page is walked. */
		client_take(peer->client, &page);
		read_page(peer, &page, &cursor, each, progress, arg);
		client_reply_done(&page);
		done = str_equal(buf_str(&cursor), STR("0"));
	}
	buf_done(&cursor);
	if (peer->error[0] == '\0')
		read_batch(peer, each, arg);
	if (peer->error[0] != '\0')
		return false;
	progress(arg, keys_count(&peer->seen));
	return true;
}

/* ---- writing ---- */

bool peer_flush(struct peer *peer)
{
	for (; peer->pending > 0 && peer->error[0] == '\0'; peer->pending--)
		get_reply(peer);
	peer->pending_bytes = 0;
	return peer->error[0] == '\0';
}

static void send_write(struct peer *peer, const struct qless_str *words, size_t count)
{
	send_words(peer, words, count);
	peer->pending++;
	for (size_t i = 0; i < count; i++)
		peer->pending_bytes += words[i].len;
	if (peer->pending >= peer->options.batch || peer->pending_bytes >= BATCH_BYTES)
		peer_flush(peer);
}

bool peer_write(struct peer *peer, const struct key *key)
{
	static const struct qless_str commands[KEY_TYPES] = {
		[KEY_HASH] = STR_INIT("HSET"),
		[KEY_LIST] = STR_INIT("RPUSH"),
		[KEY_SET] = STR_INIT("SADD"),
		[KEY_ZSET] = STR_INIT("ZADD"),
	};
	struct qless_str words[ARGUMENTS_MAX] = { commands[key->type], key->name };
	struct qless_str a, b;
	size_t count = 2, at = 0;

	if (key->type >= KEY_OTHER)
		return fail(peer, "a key has a type that cannot be written", "");
	while (key_next(key, &at, &a)) {
		if (key_type_stride(key->type) == 2) {
			if (!key_next(key, &at, &b))
				break;
			/* The score precedes its member. */
			words[count++] = key->type == KEY_ZSET ? b : a;
			words[count++] = key->type == KEY_ZSET ? a : b;
		} else {
			words[count++] = a;
		}
		if (count == ARGUMENTS_MAX) {
			send_write(peer, words, count);
			count = 2;
		}
	}
	if (count > 2)
		send_write(peer, words, count);
	return peer->error[0] == '\0';
}
