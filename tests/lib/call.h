/*
 * Commands without a server: a request goes through the table to its handler, and the reply is
 * returned as the bytes a client would read.
 */
#ifndef TESTS_CALL_H
#define TESTS_CALL_H

#include <stdarg.h>
#include <stdlib.h>

#include "unit.h"

#include "admit.h"
#include "command/acl.h"
#include "command/request.h"
#include "command/table.h"
#include "resp/writer.h"
#include "util/buf.h"
#include "util/chain.h"
#include "util/mem.h"

#define CALL_MAX_ARGS 32

struct call_fixture {
	struct command_table *table;
	struct chunk_pool pool;
	struct chain out;
	struct reply writer;
	struct command_env env;
	struct scratch scratch;
	struct session session;
	struct buf reply;
};

/* Takes ownership of the table. */
static inline void call_setup(struct call_fixture *f, struct command_table *table)
{
	*f = (struct call_fixture){ .reply = BUF_INIT(BUF_NO_MAX) };
	f->table = table;
	scratch_init(&f->scratch);
	f->env.table = f->table;
	f->env.scratch = &f->scratch;
	f->env.acl = acl_new(f->table);
	f->session = (struct session){ .id = 1, .proto = 2 };
	f->session.user = acl_default_user(f->env.acl);
	chunk_pool_init(&f->pool, 1);
	chain_init(&f->out, &f->pool);
	resp_writer_init(&f->writer, &f->out, 2);
}

static inline void call_teardown(struct call_fixture *f)
{
	scratch_done(&f->scratch);
	acl_free(f->env.acl);
	command_table_free(f->table);
	chain_done(&f->out);
	chunk_pool_done(&f->pool);
	buf_done(&f->reply);
}

static inline void call_use_proto(struct call_fixture *f, int proto)
{
	f->session.proto = proto;
	resp_writer_set_proto(&f->writer, proto);
}

/* Returns the reply, which is valid until the next call. */
static inline const char *call_run_argv(struct call_fixture *f, const struct qless_str *argv,
					int argc)
{
	struct iovec piece;
	struct request req = { .argv = argv,
			       .argc = argc,
			       .reply = &f->writer,
			       .session = &f->session,
			       .env = &f->env };

	admit(&req);
	buf_clear(&f->reply);
	while (chain_peek(&f->out, &piece, 1, SIZE_MAX) > 0) {
		buf_append(&f->reply, piece.iov_base, piece.iov_len);
		chain_consume(&f->out, piece.iov_len);
	}
	return buf_cstr(&f->reply);
}

/* A request of words; NULL ends them. */
static inline const char *call_run(struct call_fixture *f, const char *name, ...)
{
	struct qless_str argv[CALL_MAX_ARGS];
	va_list words;
	int argc = 0;

	va_start(words, name);
	for (const char *word = name; word != NULL; word = va_arg(words, const char *)) {
		TEST_ASSERT_TRUE(argc < CALL_MAX_ARGS);
		argv[argc++] = str_from(word);
	}
	va_end(words);
	return call_run_argv(f, argv, argc);
}

#define CALL(fixture, ...) call_run(fixture, __VA_ARGS__, (char *)NULL)

#define ASSERT_REPLY(expected, fixture, ...) \
	TEST_ASSERT_EQUAL_STRING(expected, CALL(fixture, __VA_ARGS__))

#endif
