/*
 * Commands on keys of any type, and on all keys.
 */
#include "command/databases.h"
#include "command/handlers.h"
#include "command/key.h"
#include "command/permit.h"
#include "command/work.h"
#include "util/buf.h"
#include "util/container.h"
#include "util/glob.h"
#include "util/mem.h"

void cmd_type(struct request *req)
{
	const char *type = "none";
	struct keyspace_key key;

	if (keyspace_find(key_engine(req), req->args[0], &key))
		type = keyspace_type_name(key.type);
	reply_status(req->reply, str_from(type));
}

void cmd_exists(struct request *req)
{
	struct keyspace_key key;
	int64_t count = 0;

	for (size_t i = 0; i < req->nargs; i++)
		count += keyspace_find(key_engine(req), req->args[i], &key);
	reply_integer(req->reply, count);
}

/* TTL, PTTL, EXPIRETIME and PEXPIRETIME. No key ever expires. */
void cmd_ttl(struct request *req)
{
	struct keyspace_key key;

	reply_integer(req->reply, keyspace_find(key_engine(req), req->args[0], &key) ? -1 : -2);
}

void cmd_dbsize(struct request *req)
{
	size_t count = databases_count_keys(req->env->databases, req->session->db);

	reply_integer(req->reply, (int64_t)count);
}

void cmd_randomkey(struct request *req)
{
	struct buf key = BUF_INIT(BUF_NO_MAX);

	if (keyspace_pick(key_engine(req), req->env->random(req->env->arg), &key))
		reply_bulk(req->reply, buf_str(&key));
	else
		reply_null(req->reply);
	buf_done(&key);
}

/*
 * KEYS and SCAN
 */

/* A list of keys while it is written. */
struct key_list {
	struct reply *reply;
	const struct key_scan *scan;
	const struct user *viewer; /* NULL: sees all keys */
	const struct qless *engine;
	size_t seen;
	size_t listed;
};

static struct key_list make_list(struct request *req, const struct key_scan *scan)
{
	return (struct key_list){ .reply = req->reply,
				  .scan = scan,
				  .viewer = permit_viewer(req),
				  .engine = key_engine(req) };
}

static void list_key(void *arg, struct qless_str key, enum keyspace_type type)
{
	struct key_list *list = arg;

	list->seen++;
	if (!key_scan_matches(list->scan, key) ||
	    (list->scan->has_type &&
	     !str_equal_nocase(list->scan->type, str_from(keyspace_type_name(type)))))
		return;
	if (list->viewer != NULL && !permit_key(list->viewer, list->engine, key, ACL_READ))
		return;
	list->listed++;
	reply_bulk(list->reply, key);
}

/* KEYS with a pattern: work that scans all keys. */
struct keys_work {
	struct work work;
	uint64_t cursor;
	bool has_begun;
	size_t listed;
	struct reply_deferred keys;
};

static bool list_some_keys(struct work *work, struct request *req)
{
	struct keys_work *w = container_of(work, struct keys_work, work);
	struct key_scan scan = { .has_pattern = true, .pattern = req->args[0] };
	struct key_list list = make_list(req, &scan);
	struct qless_str prefix = glob_prefix(scan.pattern);

	if (!w->has_begun)
		reply_deferred_begin(req->reply, &w->keys, REPLY_ARRAY);
	w->has_begun = true;
	for (int i = 0; i < WORK_PART_ELEMENTS && list.seen < WORK_PART_ELEMENTS; i++) {
		w->cursor = keyspace_scan(key_engine(req), w->cursor, prefix, list_key, &list);
		if (w->cursor == 0)
			break;
	}
	w->listed += list.listed;
	if (w->cursor != 0)
		return true;
	reply_deferred_end(req->reply, &w->keys, w->listed);
	return false;
}

static void free_keys_work(struct work *work)
{
	struct keys_work *w = container_of(work, struct keys_work, work);

	chain_done(&w->keys.body);
	free(w);
}

/* Replies with the key if there is one with that name. */
static void reply_key(struct request *req, struct qless_str name)
{
	const struct user *viewer = permit_viewer(req);
	struct keyspace_key key;
	bool exists = keyspace_find(key_engine(req), name, &key) &&
		      (viewer == NULL || permit_key(viewer, key_engine(req), name, ACL_READ));

	reply_array(req->reply, exists);
	if (exists)
		reply_bulk(req->reply, name);
}

void cmd_keys(struct request *req)
{
	static const struct work_ops ops = { .go_on = list_some_keys, .free = free_keys_work };
	struct qless_str pattern = req->args[0];
	struct keys_work *w;

	if (!request_check_pattern(req, pattern))
		return;
	/* A pattern without special characters is the name of a key. */
	if (glob_prefix(pattern).len == pattern.len) {
		reply_key(req, pattern);
		return;
	}
	w = mem_zalloc(sizeof *w);
	w->work.ops = &ops;
	work_begin(req, &w->work);
}

/* Keys that one SCAN returns at most, whatever COUNT is: they take a few milliseconds. */
#define SCAN_COUNT_MAX 10000
/* Steps for each key that COUNT asks for. In nearly empty tables a call ends with fewer keys, or
 * none. */
#define SCAN_STEPS_PER_KEY 10

void cmd_scan(struct request *req)
{
	struct key_scan scan;
	struct key_list list = make_list(req, &scan);
	struct qless_str prefix = STR("");
	struct reply_deferred keys;
	uint64_t steps = 0, max_steps;

	if (!key_parse_cursor(req, req->args[0], &scan) ||
	    !key_parse_scan_options(req, 1, true, &scan))
		return;
	if (scan.has_pattern)
		prefix = glob_prefix(scan.pattern);
	if (scan.count > SCAN_COUNT_MAX)
		scan.count = SCAN_COUNT_MAX;
	max_steps = (uint64_t)scan.count * SCAN_STEPS_PER_KEY;
	reply_deferred_begin(req->reply, &keys, REPLY_ARRAY);
	do {
		scan.cursor = keyspace_scan(key_engine(req), scan.cursor, prefix, list_key, &list);
	} while (scan.cursor != 0 && list.seen < (uint64_t)scan.count && ++steps < max_steps);
	reply_deferred_leave(req->reply, &keys);
	key_write_cursor(req->reply, scan.cursor);
	reply_deferred_end(req->reply, &keys, list.listed);
}

/*
 * OBJECT and MEMORY
 */

/* Returns false, and has replied, if there is no such key. */
static bool find_object(struct request *req, struct keyspace_key *ret_key)
{
	if (keyspace_find(key_engine(req), req->args[0], ret_key))
		return true;
	reply_null(req->reply);
	return false;
}

/* Returns the encoding of Redis that is most like ours. */
void object_cmd_encoding(struct request *req)
{
	static const char *const encodings[] = {
		[KEYSPACE_HASH] = "hashtable",
		[KEYSPACE_LIST] = "quicklist",
		[KEYSPACE_SET] = "hashtable",
		[KEYSPACE_ZSET] = "skiplist",
	};
	struct keyspace_key key;

	if (find_object(req, &key))
		reply_bulk(req->reply, str_from(encodings[key.type]));
}

void object_cmd_freq(struct request *req)
{
	struct keyspace_key key;

	if (find_object(req, &key))
		reply_error(req->reply, "ERR",
			    STR("An LFU maxmemory policy is not selected, access frequency "
				"not tracked. Please note that when switching between "
				"policies at runtime LRU and LFU data will take some time to "
				"adjust."));
}

void object_cmd_idletime(struct request *req)
{
	struct keyspace_key key;

	if (find_object(req, &key))
		reply_integer(req->reply, 0);
}

void object_cmd_refcount(struct request *req)
{
	struct keyspace_key key;

	if (find_object(req, &key))
		reply_integer(req->reply, 1);
}

/* Estimated bytes that the engine spends on a key and on an element. */
#define MEMORY_PER_KEY	      64
#define MEMORY_PER_ELEMENT    48
#define MEMORY_SAMPLES	      5
#define MEMORY_SAMPLES_IS_ALL 0

struct samples {
	size_t count;
	size_t bytes;
};

static void add_sample(void *arg, struct qless_str value)
{
	struct samples *s = arg;

	s->count++;
	s->bytes += value.len;
}

/* A hash does not store the names of its fields. */
static void add_field_sample(void *arg, struct qless_str field, struct qless_str value)
{
	(void)field;
	add_sample(arg, value);
}

/* Visits up to `max` elements. Returns the number of all elements. */
static size_t take_samples(const struct keyspace_key *key, size_t max, struct samples *samples)
{
	const struct skipnode *node;

	switch (key->type) {
	case KEYSPACE_HASH:
		keyspace_each_field(key, add_field_sample, samples);
		break;
	case KEYSPACE_LIST:
		keyspace_each_element(key, 0, max, add_sample, samples);
		return keyspace_list_length(key);
	case KEYSPACE_SET:
		keyspace_each_member(key, max, add_sample, samples);
		return keyspace_set_size(key);
	case KEYSPACE_ZSET:
		node = skipmerge_first(&key->order);
		for (; node != NULL && samples->count < max;
		     node = skipmerge_next(&key->order, node))
			add_sample(samples, skipmerge_member(&key->order, node));
		return skipmerge_count(&key->order);
	}
	return samples->count;
}

/* MEMORY USAGE key [SAMPLES count] */
void memory_cmd_usage(struct request *req)
{
	int64_t max = MEMORY_SAMPLES;
	struct samples samples = { 0 };
	struct keyspace_key key;
	size_t count, each = MEMORY_PER_ELEMENT;

	if (req->nargs == 3) {
		if (!str_equal_nocase(req->args[1], STR("SAMPLES"))) {
			key_write_syntax_error(req);
			return;
		}
		if (!key_parse_integer(req, req->args[2], &max))
			return;
	}
	if (req->nargs == 2 || max < 0) {
		key_write_syntax_error(req);
		return;
	}
	if (!find_object(req, &key))
		return;
	count = take_samples(&key, max == MEMORY_SAMPLES_IS_ALL ? SIZE_MAX : (size_t)max, &samples);
	if (samples.count != 0)
		each += samples.bytes / samples.count;
	reply_integer(req->reply, (int64_t)(MEMORY_PER_KEY + req->args[0].len + count * each));
}
