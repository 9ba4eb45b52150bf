/*
 * Commands on hashes: jobs, recurring jobs, options, statistics. None has more fields than fit into
 * one reply, so HSCAN returns them all at once.
 */
#include <stdlib.h>

#include "command/handlers.h"
#include "command/key.h"
#include "util/buf.h"
#include "util/mem.h"

/* One field that is looked for. */
struct lookup {
	struct qless_str field;
	bool found;
	size_t len;		   /* of its value */
	struct resp_writer *reply; /* gets the value when it is there; may be NULL */
};

static void look_up(void *arg, struct qless_str field, struct qless_str value)
{
	struct lookup *lookup = arg;

	if (!str_equal(field, lookup->field))
		return;
	lookup->found = true;
	lookup->len = value.len;
	if (lookup->reply != NULL)
		resp_write_bulk(lookup->reply, value);
}

void cmd_hget(struct call *call)
{
	struct lookup lookup = { .field = call->args[1], .reply = call->reply };
	struct keyspace_key key;

	if (!key_open(call, KEYSPACE_HASH, KEY_MISSING_NULL, &key))
		return;
	keyspace_each_field(&key, look_up, &lookup);
	if (!lookup.found)
		resp_write_null(call->reply);
}

void cmd_hexists(struct call *call)
{
	struct lookup lookup = { .field = call->args[1] };
	struct keyspace_key key;

	if (!key_open(call, KEYSPACE_HASH, KEY_MISSING_ZERO, &key))
		return;
	keyspace_each_field(&key, look_up, &lookup);
	resp_write_integer(call->reply, lookup.found);
}

void cmd_hstrlen(struct call *call)
{
	struct lookup lookup = { .field = call->args[1] };
	struct keyspace_key key;

	if (!key_open(call, KEYSPACE_HASH, KEY_MISSING_ZERO, &key))
		return;
	keyspace_each_field(&key, look_up, &lookup);
	resp_write_integer(call->reply, (int64_t)lookup.len);
}

/* The fields that a request names, with copies of their values: they come in the order of the hash,
 * and go in that of the request. */
struct wanted {
	const struct qless_str *names;
	int count;
	struct wanted_field {
		struct qless_str name; /* the one in the request */
		size_t start;
		size_t len;
	} * fields;
	size_t field_count;
	size_t field_cap;
	struct buf values;
};

static void keep_if_wanted(void *arg, struct qless_str field, struct qless_str value)
{
	struct wanted *w = arg;

	for (int i = 0; i < w->count; i++) {
		if (!str_equal(field, w->names[i]))
			continue;
		if (w->field_count == w->field_cap) {
			w->field_cap = w->field_cap != 0 ? w->field_cap * 2 : 16;
			w->fields = mem_realloc_array(w->fields, w->field_cap, sizeof *w->fields);
		}
		w->fields[w->field_count++] = (struct wanted_field){
			.name = w->names[i],
			.start = w->values.len,
			.len = value.len,
		};
		buf_append_str(&w->values, value);
		return;
	}
}

static void write_wanted(struct resp_writer *reply, const struct wanted *w, struct qless_str name)
{
	for (size_t i = 0; i < w->field_count; i++) {
		const struct wanted_field *field = &w->fields[i];

		if (str_equal(field->name, name)) {
			resp_write_bulk(reply, str_make(buf_str(&w->values).ptr + field->start,
							field->len));
			return;
		}
	}
	resp_write_null(reply);
}

void cmd_hmget(struct call *call)
{
	struct wanted wanted = {
		.names = call->args + 1,
		.count = call->nargs - 1,
		.values = BUF_INIT(BUF_NO_MAX),
	};
	struct keyspace_key key;
	bool exists;

	if (!key_open_any(call, KEYSPACE_HASH, &key, &exists))
		return;
	if (exists)
		keyspace_each_field(&key, keep_if_wanted, &wanted);
	resp_write_array(call->reply, (size_t)wanted.count);
	for (int i = 0; i < wanted.count; i++)
		write_wanted(call->reply, &wanted, wanted.names[i]);
	free(wanted.fields);
	buf_done(&wanted.values);
}

/* What is shown of the fields. */
struct listing {
	struct resp_writer *reply;
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
		resp_write_bulk(listing->reply, field);
	if (listing->values)
		resp_write_bulk(listing->reply, value);
}

static void write_listing(struct call *call, bool fields, bool values)
{
	bool is_map = fields && values;
	struct listing listing = { .reply = call->reply, .fields = fields, .values = values };
	struct resp_deferred list;
	struct keyspace_key key;

	if (!key_open(call, KEYSPACE_HASH, is_map ? KEY_MISSING_MAP : KEY_MISSING_ARRAY, &key))
		return;
	resp_deferred_begin(call->reply, &list);
	keyspace_each_field(&key, list_field, &listing);
	resp_deferred_end(call->reply, &list, is_map ? RESP_MAP : RESP_ARRAY, listing.count);
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
	keyspace_each_field(&key, list_field, &listing);
	resp_write_integer(call->reply, (int64_t)listing.count);
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
	struct resp_deferred list;
	struct keyspace_key key;

	if (!key_parse_cursor(call, call->args[1], &scan) ||
	    !key_open(call, KEYSPACE_HASH, KEY_MISSING_SCAN, &key) ||
	    !key_parse_scan_options(call, 2, false, &scan))
		return;
	key_write_cursor(call->reply, 0);
	resp_deferred_begin(call->reply, &list);
	keyspace_each_field(&key, list_field, &listing);
	resp_deferred_end(call->reply, &list, RESP_ARRAY, 2 * listing.count);
}
