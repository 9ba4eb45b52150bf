/*
 * Commands on hashes: jobs, recurring jobs, options, statistics. The fields of every hash fit into
 * one reply, so HSCAN returns all of them at once.
 */
#include "command/handlers.h"
#include "command/key.h"

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

void cmd_hmget(struct request *req)
{
	struct keyspace_key key;
	bool exists;

	if (!key_open_any(req, KEYSPACE_HASH, &key, &exists))
		return;
	reply_array(req->reply, req->nargs - 1);
	for (size_t i = 1; i < req->nargs && reply_is_wanted(req->reply); i++) {
		if (exists)
			write_field(req, &key, req->args[i]);
		else
			reply_null(req->reply);
	}
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
