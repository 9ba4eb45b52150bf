/*
 * Commands on sets: the dependencies and dependents of a job, the groups of failed jobs, the paused
 * queues. SSCAN returns all members at once.
 */
#include "command/handlers.h"
#include "command/key.h"

void cmd_scard(struct call *call)
{
	struct keyspace_key key;

	if (key_open(call, KEYSPACE_SET, KEY_MISSING_ZERO, &key))
		reply_integer(call->reply, (int64_t)keyspace_set_size(&key));
}

void cmd_sismember(struct call *call)
{
	struct keyspace_key key;

	if (key_open(call, KEYSPACE_SET, KEY_MISSING_ZERO, &key))
		reply_integer(call->reply, keyspace_set_has(&key, call->args[1]));
}

void cmd_smismember(struct call *call)
{
	struct keyspace_key key;
	bool exists;

	if (!key_open_any(call, KEYSPACE_SET, &key, &exists))
		return;
	reply_array(call->reply, (size_t)call->nargs - 1);
	for (int i = 1; i < call->nargs; i++)
		reply_integer(call->reply, exists && keyspace_set_has(&key, call->args[i]));
}

void cmd_smembers(struct call *call)
{
	struct keyspace_key key;

	if (!key_open(call, KEYSPACE_SET, KEY_MISSING_SET, &key))
		return;
	reply_set(call->reply, keyspace_set_size(&key));
	keyspace_each_member(&key, SIZE_MAX, key_write_value, call->reply);
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

void cmd_sscan(struct call *call)
{
	struct member_scan s = { .reply = call->reply };
	struct reply_deferred list;
	struct keyspace_key key;

	if (!key_parse_cursor(call, call->args[1], &s.scan) ||
	    !key_open(call, KEYSPACE_SET, KEY_MISSING_SCAN, &key) ||
	    !key_parse_scan_options(call, 2, false, &s.scan))
		return;
	key_write_cursor(call->reply, 0);
	reply_deferred_begin(call->reply, &list, REPLY_ARRAY);
	keyspace_each_member(&key, SIZE_MAX, scan_member, &s);
	reply_deferred_end(call->reply, &list, s.count);
}
