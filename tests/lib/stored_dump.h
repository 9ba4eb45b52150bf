/*
 * The state that the files of a log lead to, without users, as text. Equal states give equal texts.
 */
#ifndef TESTS_STORED_DUMP_H
#define TESTS_STORED_DUMP_H

#include <stdlib.h>

#include "command/replay.h"
#include "command/scripts.h"
#include "endpoint_dump.h"
#include "journal/recover.h"
#include "qless.h"
#include "stored/stored.h"
#include "unit.h"
#include "util/buf.h"

struct stored_dump {
	/* Called with each operation of the log. May be NULL. */
	void (*visit)(void *arg, const struct operation *op);
	void *arg;
	/* For a log of a group: the last entry that is known to be committed. 0: as the log says.
	 */
	uint64_t committed;
	struct stored stored;
	struct replay replay;
};

static inline int stored_dump_apply(void *arg, const struct operation *op, struct buf *ret_error)
{
	struct stored_dump *load = arg;

	if (load->visit != NULL)
		load->visit(load->arg, op);
	if (operation_is_for_user(op))
		return 0;
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

struct stored_dump_shas {
	char (*items)[SCRIPT_SHA_BYTES];
	size_t count;
};

static inline void stored_dump_add_sha(void *arg, const struct script *script)
{
	struct stored_dump_shas *shas = arg;

	memcpy(shas->items[shas->count++], script->sha, SCRIPT_SHA_BYTES);
}

static inline int stored_dump_compare_shas(const void *a, const void *b)
{
	return memcmp(a, b, SCRIPT_SHA_BYTES);
}

/* Appends the scripts, which have no order, in that of their names. */
static inline void stored_dump_scripts(struct scripts *scripts, struct buf *ret_dump)
{
	struct stored_dump_shas shas = { .count = 0 };

	shas.items = calloc(scripts_count(scripts) + 1, sizeof *shas.items);
	scripts_each(scripts, stored_dump_add_sha, &shas);
	qsort(shas.items, shas.count, sizeof *shas.items, stored_dump_compare_shas);
	for (size_t i = 0; i < shas.count; i++) {
		struct qless_str sha = str_make(shas.items[i], SCRIPT_SHA_BYTES);
		const struct script *script = scripts_find(scripts, sha);

		buf_append_str(ret_dump, STR("script "));
		buf_append_str(ret_dump, sha);
		endpoint_dump_text(ret_dump, "dialect", script->dialect->name);
		for (size_t k = 0; k < script->option_count; k++)
			endpoint_dump_text(ret_dump, "option", script->options[k]);
		buf_append_char(ret_dump, '\n');
	}
	free(shas.items);
}

/* Loads the log in a directory into that number of databases, and appends their states. */
static inline void stored_dump_files(struct stored_dump *load, const char *path, unsigned databases,
				     uint64_t hash_seed, struct buf *ret_dump)
{
	struct qless_hooks hooks = { .hash_seed = hash_seed };
	struct recovery_limit limit = RECOVERY_NO_LIMIT;
	struct buf reason = BUF_INIT(BUF_NO_MAX);
	struct recovery recovery;
	struct recovery_target target = { .arg = load,
					  .engine = stored_dump_engine,
					  .apply = stored_dump_apply_record };

	if (load->committed != 0)
		limit = (struct recovery_limit){ load->committed, INT64_MAX, .is_committed = true };
	load->stored = (struct stored){ .databases = databases_new(databases, &hooks),
					.scripts = scripts_new(hash_seed, NULL) };
	databases_set_limits(load->stored.databases, NULL);
	replay_init(&load->replay, load->stored.databases, stored_dump_apply, load);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, recovery_run(&recovery, &journal_io_system, path, &limit, &target, &reason),
		buf_cstr(&reason));
	recovery_done(&recovery);
	for (unsigned db = 0; db < databases; db++) {
		buf_printf(ret_dump, "database %u\n", db);
		qless_dump(databases_get(load->stored.databases, db)->engine, stored_dump_append,
			   ret_dump);
		endpoint_dump(databases_endpoints(load->stored.databases, db), ret_dump);
	}
	stored_dump_scripts(load->stored.scripts, ret_dump);
	replay_done(&load->replay);
	scripts_free(load->stored.scripts);
	databases_free(load->stored.databases);
	buf_done(&reason);
}

#endif
