/*
 * Commands on keys without a server: call.h with a table of them, QLESS to give them something to
 * look at, and a database.
 */
#ifndef TESTS_KEYCALL_H
#define TESTS_KEYCALL_H

#include "call.h"

#include "command/databases.h"
#include "command/handlers.h"

static const struct command keycall_rows[] = {
#define ROW(name_, handler_, min_, max_, flags_)                                        \
	{                                                                               \
		.name = name_, .handler = handler_, .min_args = min_, .max_args = max_, \
		.flags = flags_                                                         \
	}
	ROW("qless", cmd_qless, 1, COMMAND_ANY_ARGS, CMD_WRITE),
	ROW("command", cmd_command, 0, COMMAND_ANY_ARGS, CMD_CONTAINER),
	ROW("command|getkeys", cmd_command_getkeys, 1, COMMAND_ANY_ARGS, 0),
	ROW("command|getkeysandflags", cmd_command_getkeysandflags, 1, COMMAND_ANY_ARGS, 0),
	ROW("command|info", cmd_command_info, 0, COMMAND_ANY_ARGS, 0),
	ROW("dbsize", cmd_dbsize, 0, 0, CMD_READ),
	ROW("del", cmd_refuse_delete, 1, COMMAND_ANY_ARGS, CMD_WRITE | CMD_KEYS_ALL),
	ROW("exists", cmd_exists, 1, COMMAND_ANY_ARGS, CMD_READ | CMD_KEYS_ALL),
	ROW("hexists", cmd_hexists, 2, 2, CMD_READ | CMD_KEY_FIRST),
	ROW("hget", cmd_hget, 2, 2, CMD_READ | CMD_KEY_FIRST),
	ROW("hgetall", cmd_hgetall, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("hkeys", cmd_hkeys, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("hlen", cmd_hlen, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("hmget", cmd_hmget, 2, COMMAND_ANY_ARGS, CMD_READ | CMD_KEY_FIRST),
	ROW("hscan", cmd_hscan, 2, COMMAND_ANY_ARGS, CMD_READ | CMD_KEY_FIRST),
	ROW("hset", cmd_refuse_change, 3, COMMAND_ANY_ARGS, CMD_WRITE | CMD_KEY_FIRST),
	ROW("hstrlen", cmd_hstrlen, 2, 2, CMD_READ | CMD_KEY_FIRST),
	ROW("hvals", cmd_hvals, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("keys", cmd_keys, 1, 1, CMD_READ),
	ROW("lindex", cmd_lindex, 2, 2, CMD_READ | CMD_KEY_FIRST),
	ROW("llen", cmd_llen, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("lrange", cmd_lrange, 3, 3, CMD_READ | CMD_KEY_FIRST),
	ROW("memory", NULL, 1, COMMAND_ANY_ARGS, CMD_CONTAINER),
	ROW("memory|usage", memory_cmd_usage, 1, 3, CMD_READ | CMD_KEY_FIRST),
	ROW("object", NULL, 1, COMMAND_ANY_ARGS, CMD_CONTAINER),
	ROW("object|encoding", object_cmd_encoding, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("object|freq", object_cmd_freq, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("object|idletime", object_cmd_idletime, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("object|refcount", object_cmd_refcount, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("randomkey", cmd_randomkey, 0, 0, CMD_READ),
	ROW("rename", cmd_refuse_change, 2, 2, CMD_WRITE | CMD_KEYS_ALL),
	ROW("scan", cmd_scan, 1, COMMAND_ANY_ARGS, CMD_READ),
	ROW("scard", cmd_scard, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("sismember", cmd_sismember, 2, 2, CMD_READ | CMD_KEY_FIRST),
	ROW("smembers", cmd_smembers, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("smismember", cmd_smismember, 2, COMMAND_ANY_ARGS, CMD_READ | CMD_KEY_FIRST),
	ROW("sscan", cmd_sscan, 2, COMMAND_ANY_ARGS, CMD_READ | CMD_KEY_FIRST),
	ROW("ttl", cmd_ttl, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("type", cmd_type, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("zcard", cmd_zcard, 1, 1, CMD_READ | CMD_KEY_FIRST),
	ROW("zcount", cmd_zcount, 3, 3, CMD_READ | CMD_KEY_FIRST),
	ROW("zlexcount", cmd_zlexcount, 3, 3, CMD_READ | CMD_KEY_FIRST),
	ROW("zmscore", cmd_zmscore, 2, COMMAND_ANY_ARGS, CMD_READ | CMD_KEY_FIRST),
	ROW("zrange", cmd_zrange, 3, COMMAND_ANY_ARGS, CMD_READ | CMD_KEY_FIRST),
	ROW("zrangebylex", cmd_zrangebylex, 3, COMMAND_ANY_ARGS, CMD_READ | CMD_KEY_FIRST),
	ROW("zrangebyscore", cmd_zrangebyscore, 3, COMMAND_ANY_ARGS, CMD_READ | CMD_KEY_FIRST),
	ROW("zrank", cmd_zrank, 2, 2, CMD_READ | CMD_KEY_FIRST),
	ROW("zrevrange", cmd_zrevrange, 3, COMMAND_ANY_ARGS, CMD_READ | CMD_KEY_FIRST),
	ROW("zrevrangebylex", cmd_zrevrangebylex, 3, COMMAND_ANY_ARGS, CMD_READ | CMD_KEY_FIRST),
	ROW("zrevrangebyscore", cmd_zrevrangebyscore, 3, COMMAND_ANY_ARGS,
	    CMD_READ | CMD_KEY_FIRST),
	ROW("zrevrank", cmd_zrevrank, 2, 2, CMD_READ | CMD_KEY_FIRST),
	ROW("zscan", cmd_zscan, 2, COMMAND_ANY_ARGS, CMD_READ | CMD_KEY_FIRST),
	ROW("zscore", cmd_zscore, 2, 2, CMD_READ | CMD_KEY_FIRST),
#undef ROW
};

/* Not random: the same with every run. */
static inline uint64_t keycall_random(void *arg)
{
	static uint64_t state;

	(void)arg;
	return state += 0x9e3779b97f4a7c15ULL;
}

static inline void keycall_setup(struct call_fixture *f)
{
	struct qless_hooks hooks = { .hash_seed = 1 };

	call_setup(f, keycall_rows, (int)(sizeof keycall_rows / sizeof keycall_rows[0]));
	f->env.databases = databases_new(2, &hooks);
	f->env.random = keycall_random;
}

static inline void keycall_teardown(struct call_fixture *f)
{
	databases_free(f->env.databases);
	call_teardown(f);
}

/* Run a command of the classic API, which must not fail. */
#define QLESS(fixture, ...) \
	TEST_ASSERT_TRUE(*call_run(fixture, "qless", __VA_ARGS__, (char *)NULL) != '-')

#define PUT(fixture, now, queue, jid) \
	QLESS(fixture, "put", now, "w", queue, jid, "klass", "{}", "0")

#endif
