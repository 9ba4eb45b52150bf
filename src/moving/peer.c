#include "moving/peer.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	struct peer_options options;
	redisContext *context;
	struct keys seen; /* names only */
	struct key **batch;
	size_t batch_count;
	size_t pending; /* requests without a reply yet */
	size_t pending_bytes;
	char error[ERROR_MAX];
};

/* ---- the connection ---- */

bool peer_parse_address(char *text, struct peer_options *options)
{
	char *colon = strrchr(text, ':');
	uint64_t port = (uint64_t)options->port;

	if (text[0] == '\0')
		return false;
	if (strchr(text, '/') != NULL) {
		options->host = text;
		options->port = 0;
		return true;
	}
	if (text[0] == '[') {
		char *end = strchr(text, ']');

		if (end == NULL || (end[1] != '\0' && end + 1 != colon))
			return false;
		colon = end[1] == ':' ? end + 1 : NULL;
		*end = '\0';
		text++;
	}
	if (colon != NULL) {
		if (!num_parse_u64(str_from(colon + 1), 1, 65535, &port))
			return false;
		*colon = '\0';
	}
	options->host = text;
	options->port = (int)port;
	return true;
}

static bool fail(struct peer *peer, const char *what, const char *why)
{
	if (peer->error[0] != '\0')
		return false;
	if (peer->options.port == 0)
		snprintf(peer->error, sizeof peer->error, "%s: %s%s%s", peer->options.host, what,
			 why[0] != '\0' ? ": " : "", why);
	else
		snprintf(peer->error, sizeof peer->error, "%s:%d: %s%s%s", peer->options.host,
			 peer->options.port, what, why[0] != '\0' ? ": " : "", why);
	return false;
}

static bool fail_connection(struct peer *peer)
{
	const char *why = peer->context != NULL ? peer->context->errstr : "out of memory";

	return fail(peer, "the connection failed", why);
}

/* Returns the next reply, which the caller frees, or NULL if it is an error. */
static redisReply *get_reply(struct peer *peer)
{
	void *reply = NULL;

	if (peer->error[0] != '\0')
		return NULL;
	if (redisGetReply(peer->context, &reply) != REDIS_OK || reply == NULL) {
		fail_connection(peer);
		return NULL;
	}
	if (((redisReply *)reply)->type == REDIS_REPLY_ERROR) {
		fail(peer, "it answered", ((redisReply *)reply)->str);
		freeReplyObject(reply);
		return NULL;
	}
	return reply;
}

static void send_words(struct peer *peer, const struct qless_str *words, size_t count)
{
	const char *argv[ARGUMENTS_MAX];
	size_t lens[ARGUMENTS_MAX];

	assert(count <= ARGUMENTS_MAX);
	if (peer->error[0] != '\0')
		return;
	for (size_t i = 0; i < count; i++) {
		argv[i] = words[i].ptr;
		lens[i] = words[i].len;
	}
	if (redisAppendCommandArgv(peer->context, (int)count, argv, lens) != REDIS_OK)
		fail_connection(peer);
}

#define SEND(peer, ...)                                               \
	send_words((peer), (const struct qless_str[]){ __VA_ARGS__ }, \
		   sizeof((const struct qless_str[]){ __VA_ARGS__ }) / sizeof(struct qless_str))

/* Reads a reply that reports success and nothing else. */
static bool get_ok(struct peer *peer)
{
	redisReply *reply = get_reply(peer);

	if (reply == NULL)
		return false;
	freeReplyObject(reply);
	return true;
}

static void log_in(struct peer *peer)
{
	char db[NUM_MAX];
	size_t len = num_format_u64(db, peer->options.db);

	if (peer->options.password != NULL) {
		if (peer->options.user != NULL)
			SEND(peer, STR("AUTH"), str_from(peer->options.user),
			     str_from(peer->options.password));
		else
			SEND(peer, STR("AUTH"), str_from(peer->options.password));
		get_ok(peer);
	}
	SEND(peer, STR("SELECT"), str_make(db, len));
	get_ok(peer);
}

struct peer *peer_open(const struct peer_options *options)
{
	struct peer *peer = mem_zalloc(sizeof *peer);
	struct timeval timeout = { .tv_sec = options->timeout_seconds };

	peer->options = *options;
	peer->batch = mem_realloc_array(NULL, options->batch, sizeof(struct key *));
	keys_init(&peer->seen, entropy_u64());
	peer->context = options->port == 0
				? redisConnectUnixWithTimeout(options->host, timeout)
				: redisConnectWithTimeout(options->host, options->port, timeout);
	if (peer->context == NULL || peer->context->err != 0) {
		fail(peer, "cannot connect",
		     peer->context != NULL ? peer->context->errstr : "out of memory");
		return peer;
	}
	redisSetTimeout(peer->context, timeout);
	log_in(peer);
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
	if (peer->context != NULL)
		redisFree(peer->context);
	free(peer);
}

const char *peer_error(const struct peer *peer)
{
	return peer->error[0] != '\0' ? peer->error : NULL;
}

bool peer_count_keys(struct peer *peer, uint64_t *ret_count)
{
	redisReply *reply;

	SEND(peer, STR("DBSIZE"));
	reply = get_reply(peer);
	if (reply == NULL)
		return false;
	*ret_count = reply->integer > 0 ? (uint64_t)reply->integer : 0;
	freeReplyObject(reply);
	return true;
}

/* LIMIT.LIST returns a cursor, and an array of what it has looked at. */
static bool has_limits(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
	       reply->element[1]->type == REDIS_REPLY_ARRAY && reply->element[1]->elements != 0;
}

bool peer_has_limits(struct peer *peer)
{
	void *reply = NULL;
	bool has;

	SEND(peer, STR("LIMIT.LIST"), STR("COUNT"), STR("1000"));
	if (peer->error[0] != '\0')
		return false;
	if (redisGetReply(peer->context, &reply) != REDIS_OK || reply == NULL)
		return fail_connection(peer);
	has = has_limits(reply);
	freeReplyObject(reply);
	return has;
}

/* ---- reading ---- */

static struct qless_str reply_str(const redisReply *reply)
{
	return str_make(reply->str != NULL ? reply->str : "", reply->len);
}

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
	redisReply *reply;

	*ret_more = false;
	if (key->type == KEY_OTHER)
		return true;
	reply = get_reply(peer);
	if (reply == NULL)
		return false;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements % stride != 0) {
		freeReplyObject(reply);
		return fail(peer, "its reply is not a list", "");
	}
	for (size_t i = 0; i < reply->elements; i += stride) {
		if (stride == 2)
			key_add_pair(key, reply_str(reply->element[i]),
				     reply_str(reply->element[i + 1]));
		else
			key_add(key, reply_str(reply->element[i]));
	}
	*ret_more = (key->type == KEY_LIST || key->type == KEY_ZSET) &&
		    reply->elements == PAGE * stride;
	freeReplyObject(reply);
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
	redisReply *reply = get_reply(peer);

	if (reply == NULL)
		return false;
	key->type = key_type_from(reply_str(reply));
	freeReplyObject(reply);
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

static bool read_names(struct peer *peer, const redisReply *names, peer_key_fn *each,
		       peer_progress_fn *progress, void *arg)
{
	for (size_t i = 0; i < names->elements; i++) {
		struct qless_str name = reply_str(names->element[i]);

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
		redisReply *reply;

		SEND(peer, STR("SCAN"), buf_str(&cursor), STR("MATCH"), STR("ql:*"), STR("COUNT"),
		     count_text);
		reply = get_reply(peer);
		if (reply == NULL)
			break;
		buf_clear(&cursor);
		if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
		    !buf_append_str(&cursor, reply_str(reply->element[0])))
			fail(peer, "its reply to SCAN is invalid", "");
		else
			read_names(peer, reply->element[1], each, progress, arg);
		done = str_equal(buf_str(&cursor), STR("0"));
		freeReplyObject(reply);
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
		get_ok(peer);
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
