/*
 * Commands on keys without a server: call.h with the table of the real server, a database, and
 * QLESS to fill it.
 */
#ifndef TESTS_KEYCALL_H
#define TESTS_KEYCALL_H

#include "call.h"

#include "command/databases.h"
#include "server/commands.h"

/* The same numbers in every run. */
static inline uint64_t keycall_random(void *arg)
{
	static uint64_t state;

	(void)arg;
	return state += 0x9e3779b97f4a7c15ULL;
}

static inline void keycall_setup(struct call_fixture *f)
{
	struct qless_hooks hooks = { .hash_seed = 1 };

	call_setup(f, commands_new(/* has_group= */ false));
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
