/*
 * Commands on hashes: jobs, recurring jobs, options, statistics. None has more fields than fit into
 * one reply, so HSCAN returns them all at once.
 */
#include "command/handlers.h"
#include "command/key.h"

/* One field that is looked for. */
struct lookup {
	bool found;
	size_t len;	     /* of its value */
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

static void write_field(struct call *call, const struct keyspace_key *key, struct qless_str field)
{
	struct lookup lookup = { .reply = call->reply };

	keyspace_find_field(key, field, found, &lookup);
	if (!lookup.found)
		reply_null(call->reply);
}

void cmd_hget(struct call *call)
{
	struct keyspace_key key;

	if (key_open(call, KEYSPACE_HASH, KEY_MISSING_NULL, &key))
		write_field(call, &key, call->args[1]);
}

void cmd_hexists(struct call *call)
{
	struct lookup lookup = { 0 };
	struct keyspace_key key;

	if (!key_open(call, KEYSPACE_HASH, KEY_MISSING_ZERO, &key))
		return;
	keyspace_find_field(&key, call->args[1], found, &lookup);
	reply_integer(call->reply, lookup.found);
}

void cmd_hstrlen(struct call *call)
{
	struct lookup lookup = { 0 };
	struct keyspace_key key;

	if (!key_open(call, KEYSPACE_HASH, KEY_MISSING_ZERO, &key))
		return;
	keyspace_find_field(&key, call->args[1], found, &lookup);
	reply_integer(call->reply, (int64_t)lookup.len);
}

void cmd_hmget(struct call *call)
{
	struct keyspace_key key;
	bool exists;

	if (!key_open_any(call, KEYSPACE_HASH, &key, &exists))
		return;
	reply_array(call->reply, (size_t)call->nargs - 1);
	for (int i = 1; i < call->nargs; i++) {
		if (exists)
			write_field(call, &key, call->args[i]);
		else
			reply_null(call->reply);
	}
}

/* What is shown of the fields. */
struct listing {
	struct reply *reply;
	bool fields;
	bool values;
	const struct key_scan *scan; /* NULL for all */
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

static void write_listing(struct call *call, bool fields, bool values)
{
	bool is_map = fields && values;
	struct listing listing = { .reply = call->reply, .fields = fields, .values = values };
	struct reply_deferred list;
	struct keyspace_key key;

	if (!key_open(call, KEYSPACE_HASH, is_map ? KEY_MISSING_MAP : KEY_MISSING_ARRAY, &key))
		return;
	reply_deferred_begin(call->reply, &list, is_map ? REPLY_MAP : REPLY_ARRAY);
	if (values)
		keyspace_each_field(&key, list_field, &listing);
	else
		keyspace_each_field_name(&key, list_field, &listing);
	reply_deferred_end(call->reply, &list, listing.count);
}

void cmd_hgetall(struct call *call)
{
	write_listing(call, true, true);
}

void cmd_hkeys(struct call *call)
{
	write_listing(call, true, false);
}

void cmd_hvals(struct call *call)
{
	write_listing(call, false, true);
}

void cmd_hlen(struct call *call)
{
	struct listing listing = { .reply = call->reply };
	struct keyspace_key key;

	if (!key_open(call, KEYSPACE_HASH, KEY_MISSING_ZERO, &key))
		return;
	keyspace_each_field_name(&key, list_field, &listing);
	reply_integer(call->reply, (int64_t)listing.count);
}

void cmd_hscan(struct call *call)
{
	struct key_scan scan;
	struct listing listing = {
		.reply = call->reply,
		.fields = true,
		.values = true,
		.scan = &scan,
	};
	struct reply_deferred list;
	struct keyspace_key key;

	if (!key_parse_cursor(call, call->args[1], &scan) ||
	    !key_open(call, KEYSPACE_HASH, KEY_MISSING_SCAN, &key) ||
	    !key_parse_scan_options(call, 2, false, &scan))
		return;
	key_write_cursor(call->reply, 0);
	reply_deferred_begin(call->reply, &list, REPLY_ARRAY);
	keyspace_each_field(&key, list_field, &listing);
	reply_deferred_end(call->reply, &list, 2 * listing.count);
}
