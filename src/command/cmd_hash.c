/*
 * Commands on hashes: jobs, recurring jobs, options, statistics. The fields of every hash fit into
 * one reply, so HSCAN returns all of them at once.
 */
#include "command/handlers.h"

#include <stdlib.h>

#include "command/key.h"
#include "command/work.h"
#include "util/container.h"
#include "util/mem.h"

/* Bytes of the values that HMGET writes at once. */
#define HMGET_AT_ONCE_BYTES ((size_t)256 * 1024)

/* A search for one field. */
struct lookup {
	bool found;
	size_t len;	     /* bytes of its value */
	struct reply *reply; /* gets the value; may be NULL */
};

static void found(void *arg, struct qless_str field, struct qless_str value)
{
	struct lookup *lookup = arg;

	(void)field;
	lookup->found = true;
	lookup->len = value.len;
	if (lookup->reply != NULL)
		reply_bulk(lookup->reply, value);
}

static void write_field(struct request *req, const struct keyspace_key *key, struct qless_str field)
{
	struct lookup lookup = { .reply = req->reply };

	keyspace_find_field(key, field, found, &lookup);
	if (!lookup.found)
		reply_null(req->reply);
}

void cmd_hget(struct request *req)
{
	struct keyspace_key key;

	if (key_open(req, KEYSPACE_HASH, KEY_MISSING_NULL, &key))
		write_field(req, &key, req->args[1]);
}

void cmd_hexists(struct request *req)
{
	struct lookup lookup = { 0 };
	struct keyspace_key key;

	if (!key_open(req, KEYSPACE_HASH, KEY_MISSING_ZERO, &key))
		return;
	keyspace_find_field(&key, req->args[1], found, &lookup);
	reply_integer(req->reply, lookup.found);
}

void cmd_hstrlen(struct request *req)
{
	struct lookup lookup = { 0 };
	struct keyspace_key key;

	if (!key_open(req, KEYSPACE_HASH, KEY_MISSING_ZERO, &key))
		return;
	keyspace_find_field(&key, req->args[1], found, &lookup);
	reply_integer(req->reply, (int64_t)lookup.len);
}

/* Whether the values of the fields, of which each may be given many times, make a long reply. */
static bool is_long(const struct request *req, const struct keyspace_key *key)
{
	size_t bytes = 0;

	for (size_t i = 1; i < req->nargs && bytes <= HMGET_AT_ONCE_BYTES; i++) {
		struct lookup lookup = { 0 };

		keyspace_find_field(key, req->args[i], found, &lookup);
		bytes += lookup.len;
	}
	return bytes > HMGET_AT_ONCE_BYTES;
}

static void write_fields(struct request *req, size_t *next, size_t max_bytes)
{
	size_t before = req->reply->out->len;
	struct keyspace_key key;
	bool exists;

	if (!key_open_any(req, KEYSPACE_HASH, &key, &exists))
		return;
	while (*next < req->nargs && req->reply->out->len - before < max_bytes &&
	       reply_is_wanted(req->reply)) {
		if (exists)
			write_field(req, &key, req->args[*next]);
		else
			reply_null(req->reply);
		++*next;
	}
}

/* HMGET over several turns. */
struct hmget {
	struct work work;
	size_t next; /* the argument to go on with; 0 before the reply has begun */
};

static bool go_on(struct work *work, struct request *req)
{
	struct hmget *h = container_of(work, struct hmget, work);

	if (h->next == 0) {
		reply_array(req->reply, req->nargs - 1);
		h->next = 1;
	}
	write_fields(req, &h->next, WORK_PART_BYTES);
	return h->next < req->nargs && reply_is_wanted(req->reply);
}

static void free_hmget(struct work *work)
{
	free(container_of(work, struct hmget, work));
}

void cmd_hmget(struct request *req)
{
	static const struct work_ops ops = { .go_on = go_on, .free = free_hmget };
	struct keyspace_key key;
	struct hmget *h;
	size_t next = 1;
	bool exists;

	if (!key_open_any(req, KEYSPACE_HASH, &key, &exists))
		return;
	if (exists && req->nargs > 2 && is_long(req, &key)) {
		h = mem_zalloc(sizeof *h);
		h->work.ops = &ops;
		work_begin(req, &h->work);
		return;
	}
	reply_array(req->reply, req->nargs - 1);
	write_fields(req, &next, SIZE_MAX);
}

/* Which parts of the fields a reply shows. */
struct listing {
	struct reply *reply;
	bool fields;
	bool values;
	const struct key_scan *scan; /* NULL: all fields */
	size_t count;
};

static void list_field(void *arg, struct qless_str field, struct qless_str value)
{
	struct listing *listing = arg;

	if (listing->scan != NULL && !key_scan_matches(listing->scan, field))
		return;
	listing->count++;
	if (listing->fields)
		reply_bulk(listing->reply, field);
	if (listing->values)
		reply_bulk(listing->reply, value);
}

static void write_listing(struct request *req, bool fields, bool values)
{
	bool is_map = fields && values;
	struct listing listing = { .reply = req->reply, .fields = fields, .values = values };
	struct reply_deferred list;
	struct keyspace_key key;

	if (!key_open(req, KEYSPACE_HASH, is_map ? KEY_MISSING_MAP : KEY_MISSING_ARRAY, &key))
		return;
	reply_deferred_begin(req->reply, &list, is_map ? REPLY_MAP : REPLY_ARRAY);
	if (values)
		keyspace_each_field(&key, list_field, &listing);
	else
		keyspace_each_field_name(&key, list_field, &listing);
	reply_deferred_end(req->reply, &list, listing.count);
}

void cmd_hgetall(struct request *req)
{
	write_listing(req, true, true);
}

void cmd_hkeys(struct request *req)
{
	write_listing(req, true, false);
}

void cmd_hvals(struct request *req)
{
	write_listing(req, false, true);
}

void cmd_hlen(struct request *req)
{
	struct listing listing = { .reply = req->reply };
	struct keyspace_key key;

	if (!key_open(req, KEYSPACE_HASH, KEY_MISSING_ZERO, &key))
		return;
	keyspace_each_field_name(&key, list_field, &listing);
	reply_integer(req->reply, (int64_t)listing.count);
}

void cmd_hscan(struct request *req)
{
	struct key_scan scan;
	struct listing listing = {
		.reply = req->reply,
		.fields = true,
		.values = true,
		.scan = &scan,
	};
	struct reply_deferred list;
	struct keyspace_key key;

	if (!key_parse_cursor(req, req->args[1], &scan) ||
	    !key_open(req, KEYSPACE_HASH, KEY_MISSING_SCAN, &key) ||
	    !key_parse_scan_options(req, 2, false, &scan))
		return;
	key_write_cursor(req->reply, 0);
	reply_deferred_begin(req->reply, &list, REPLY_ARRAY);
	keyspace_each_field(&key, list_field, &listing);
	reply_deferred_end(req->reply, &list, 2 * listing.count);
}
