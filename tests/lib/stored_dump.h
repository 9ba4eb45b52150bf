/*
 * The state that the files of a log lead to, as text. Equal states give equal texts.
 */
#ifndef TESTS_STORED_DUMP_H
#define TESTS_STORED_DUMP_H

#include "command/replay.h"
#include "journal/recover.h"
#include "qless.h"
#include "stored/stored.h"
#include "unit.h"
#include "util/buf.h"

struct stored_dump {
	/* Called with each operation of the log. May be NULL. */
	void (*visit)(void *arg, const struct operation *op);
	void *arg;
	struct stored stored;
	struct replay replay;
};

static inline int stored_dump_apply(void *arg, const struct operation *op, struct buf *ret_error)
{
	struct stored_dump *load = arg;

	if (load->visit != NULL)
		load->visit(load->arg, op);
	return stored_apply(&load->stored, op, ret_error);
}

static inline int stored_dump_apply_record(void *arg, const struct record *record,
					   uint64_t *ret_count, struct buf *ret_error)
{
	struct stored_dump *load = arg;

	return stored_replay(&load->replay, record, ret_count, ret_error);
}

static inline struct qless *stored_dump_engine(void *arg, unsigned db)
{
	struct stored_dump *load = arg;

	return stored_engine(&load->stored, db);
}

static inline void stored_dump_append(void *arg, struct qless_str piece)
{
	struct buf *dump = arg;

	buf_append_str(dump, piece);
	buf_append_char(dump, '\n');
}

/* Loads the log in a directory into that number of databases, and appends their states. */
static inline void stored_dump_files(struct stored_dump *load, const char *path, unsigned databases,
				     uint64_t hash_seed, struct buf *ret_dump)
{
	struct qless_hooks hooks = { .hash_seed = hash_seed };
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct buf reason = BUF_INIT(BUF_NO_MAX);
	struct recovery recovery;
	struct recovery_target target = { .arg = load,
					  .engine = stored_dump_engine,
					  .apply = stored_dump_apply_record };

	load->stored = (struct stored){ .databases = databases_new(databases, &hooks),
					.scripts = scripts_new(hash_seed, NULL) };
	databases_set_limits(load->stored.databases, NULL);
	replay_init(&load->replay, load->stored.databases, stored_dump_apply, load);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, recovery_run(&recovery, &journal_io_system, path, &all, &target, &reason),
		buf_cstr(&reason));
	recovery_done(&recovery);
	for (unsigned db = 0; db < databases; db++)
		qless_dump(databases_get(load->stored.databases, db)->engine, stored_dump_append,
			   ret_dump);
	replay_done(&load->replay);
	scripts_free(load->stored.scripts);
	databases_free(load->stored.databases);
	buf_done(&reason);
}

#endif
