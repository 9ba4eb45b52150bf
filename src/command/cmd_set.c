/*
 * Commands on sets: dependencies and dependents of a job, groups of failed jobs, paused queues.
 * SSCAN returns all members at once.
 */
#include "command/handlers.h"
#include "command/key.h"
#include "command/listing.h"
#include "command/scanning.h"

/* Sets of up to this many members are written at once, in the order of their bytes. */
#define SET_SHORT 1000

void cmd_scard(struct request *req)
{
	struct keyspace_key key;

	if (key_open(req, KEYSPACE_SET, KEY_MISSING_ZERO, &key))
		reply_integer(req->reply, (int64_t)keyspace_set_size(&key));
}

void cmd_sismember(struct request *req)
{
	struct keyspace_key key;

	if (key_open(req, KEYSPACE_SET, KEY_MISSING_ZERO, &key))
		reply_integer(req->reply, keyspace_set_has(&key, req->args[1]));
}

void cmd_smismember(struct request *req)
{
	struct keyspace_key key;
	bool exists;

	if (!key_open_any(req, KEYSPACE_SET, &key, &exists))
		return;
	reply_array(req->reply, req->nargs - 1);
	for (size_t i = 1; i < req->nargs; i++)
		reply_integer(req->reply, exists && keyspace_set_has(&key, req->args[i]));
}

static const struct skiplist *find_members(const struct listing *l, const struct request *req)
{
	struct keyspace_key key;

	(void)l;
	return keyspace_find(key_engine(req), req->args[0], &key) && key.kind == KEYSPACE_RELATED
		       ? key.list
		       : NULL;
}

/* Writes many dependencies or dependents of a job over several turns. */
static void list_related(struct request *req, size_t count)
{
	static const struct listing_form form = { .type = REPLY_SET,
						  .find = find_members,
						  .write = listing_write_member };
	struct listing *l = listing_new(&form);

	listing_add(l, 0, count, false);
	listing_begin(req, l);
}

static void write_group(struct scanning *sc, struct request *req, struct qless_str name)
{
	reply_bulk(req->reply, name);
	sc->values++;
}

static void write_paused(struct scanning *sc, struct request *req, struct qless_str name)
{
	if (view_is_paused(key_engine(req), name))
		write_group(sc, req, name);
}

/* Writes many members over several turns. Groups and queues are in no order then. */
static void list_members(struct request *req, const struct keyspace_key *key)
{
	static const struct scanning_form groups = {
		.type = REPLY_SET, .table_count = 1, .tables = { VIEW_GROUPS }, .visit = write_group
	};
	static const struct scanning_form paused = { .type = REPLY_SET,
						     .table_count = 1,
						     .tables = { VIEW_QUEUES },
						     .visit = write_paused };

	if (key->kind == KEYSPACE_RELATED)
		list_related(req, keyspace_set_size(key));
	else
		scanning_begin(req, scanning_new(key->kind == KEYSPACE_PAUSED ? &paused : &groups,
						 sizeof(struct scanning)));
}

void cmd_smembers(struct request *req)
{
	struct keyspace_key key;

	if (!key_open(req, KEYSPACE_SET, KEY_MISSING_SET, &key))
		return;
	if (keyspace_set_size(&key) > SET_SHORT) {
		list_members(req, &key);
		return;
	}
	reply_set(req->reply, keyspace_set_size(&key));
	keyspace_each_member(&key, SIZE_MAX, key_write_value, req->reply);
}

struct member_scan {
	struct key_scan scan;
	struct reply *reply;
	size_t count;
};

static void scan_member(void *arg, struct qless_str member)
{
	struct member_scan *s = arg;

	if (!key_scan_matches(&s->scan, member))
		return;
	s->count++;
	reply_bulk(s->reply, member);
}

void cmd_sscan(struct request *req)
{
	struct member_scan s = { .reply = req->reply };
	struct reply_deferred list;
	struct keyspace_key key;

	if (!key_parse_cursor(req, req->args[1], &s.scan) ||
	    !key_open(req, KEYSPACE_SET, KEY_MISSING_SCAN, &key) ||
	    !key_parse_scan_options(req, 2, false, &s.scan))
		return;
	key_write_cursor(req->reply, 0);
	reply_deferred_begin(req->reply, &list, REPLY_ARRAY);
	keyspace_each_member(&key, SIZE_MAX, scan_member, &s);
	reply_deferred_end(req->reply, &list, s.count);
}
