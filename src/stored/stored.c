#include "stored/stored.h"

#include <string.h>

#include "command/dialect.h"
#include "command/endpoints.h"
#include "sys/entropy.h"
#include "util/mem.h"

/* Number of objects of flushed databases that are freed at each report of progress. That is
 * faster than loading can add more. */
#define FREE_THINGS 65536

struct operation stored_describe_script(const struct script *script)
{
	return (struct operation){ .kind = OPERATION_SCRIPT_ADDED,
				   .script = {
					   .sha = script_sha(script),
					   .dialect = script->dialect->name,
					   .options = { script->options, script->option_count } } };
}

struct qless *stored_engine(const struct stored *stored, unsigned db)
{
	if (db >= databases_count(stored->databases))
		return NULL;
	return databases_get(stored->databases, db)->engine;
}

static int apply_script(struct scripts *scripts, const struct operation *op, struct buf *ret_error)
{
	const struct dialect *dialect = dialect_find(op->script.dialect);

	if (dialect != NULL &&
	    scripts_add(scripts, op->script.sha, dialect, op->script.options.items,
			op->script.options.count) != NULL)
		return 0;
	buf_printf(ret_error, "%s names no script: %.*s of the dialect %.*s",
		   operation_name(op->kind), (int)op->script.sha.len, op->script.sha.ptr,
		   (int)op->script.dialect.len, op->script.dialect.ptr);
	return -1;
}

int stored_apply(const struct stored *stored, const struct operation *op, struct buf *ret_error)
{
	if (op->kind == OPERATION_SCRIPT_ADDED)
		return apply_script(stored->scripts, op, ret_error);
	if (op->kind != OPERATION_SCRIPTS_CLEARED)
		return databases_apply(stored->databases, op, ret_error);
	scripts_clear(stored->scripts);
	return 0;
}

static void save_script(void *arg, const struct script *script)
{
	struct operation op = stored_describe_script(script);

	operation_encode(&op, arg);
}

void stored_save(const struct stored *stored, struct base_writer *w)
{
	const struct databases *databases = stored->databases;
	struct buf operations = BUF_INIT(BUF_NO_MAX);

	for (unsigned db = 0; db < databases_count(databases); db++) {
		if (databases_peek(databases, db) != NULL)
			base_add_database(w, db, databases_peek(databases, db));
	}
	scripts_each(stored->scripts, save_script, &operations);
	for (unsigned db = 0; db < databases_count(databases); db++)
		endpoints_save(databases_endpoints(databases, db), db, &operations);
	if (operations.len > 0)
		base_add_operations(w, buf_str(&operations));
	buf_done(&operations);
}

int stored_replay(struct replay *replay, const struct record *record, uint64_t *ret_count,
		  struct buf *ret_error)
{
	if (record->type == RECORD_COMMANDS)
		return replay_commands(replay, record->payload, ret_count, ret_error);
	return replay_operations(replay, record->payload, ret_count, ret_error);
}

/*
 * A second state, in the process or the thread that makes a snapshot from the log
 */

struct second {
	struct stored stored;
	struct replay replay;
};

static struct qless *engine_of_second(void *arg, unsigned db)
{
	struct second *second = arg;

	return stored_engine(&second->stored, db);
}

static int apply_to_second(void *arg, const struct operation *op, struct buf *ret_error)
{
	struct second *second = arg;

	return operation_is_for_user(op) ? 0 : stored_apply(&second->stored, op, ret_error);
}

static int apply_record_to_second(void *arg, const struct record *record, uint64_t *ret_count,
				  struct buf *ret_error)
{
	struct second *second = arg;

	return stored_replay(&second->replay, record, ret_count, ret_error);
}

static bool go_on(void *arg, const struct recovery_progress *progress)
{
	struct second *second = arg;

	(void)progress;
	databases_free_some(second->stored.databases, FREE_THINGS);
	return true;
}

static struct recovery_target begin_second(void *arg)
{
	const int *databases = arg;
	struct second *second = mem_zalloc(sizeof *second);
	struct qless_hooks hooks = { .hash_seed = entropy_u64() };

	second->stored.databases = databases_new((unsigned)*databases, &hooks);
	second->stored.scripts = scripts_new(hooks.hash_seed, NULL);
	replay_init(&second->replay, second->stored.databases, apply_to_second, second);
	databases_set_limits(second->stored.databases, NULL);
	return (struct recovery_target){
		.arg = second,
		.engine = engine_of_second,
		.apply = apply_record_to_second,
		.progress = go_on,
	};
}

static void save_second(void *state, struct base_writer *w)
{
	const struct second *second = state;

	stored_save(&second->stored, w);
}

/* The process ends next, so freeing the rest piece by piece would only take time. */
static void end_second(void *state)
{
	free(state);
}

static void free_second(void *state)
{
	struct second *second = state;

	replay_done(&second->replay);
	scripts_free(second->stored.scripts);
	databases_free(second->stored.databases);
	free(second);
}

struct rebuild_options stored_rebuild_in_thread(int *databases)
{
	struct rebuild_options options = stored_rebuild(databases);

	options.end = free_second;
	return options;
}

struct rebuild_options stored_rebuild(int *databases)
{
	return (struct rebuild_options){
		.begin = begin_second,
		.arg = databases,
		.save = save_second,
		.end = end_second,
	};
}
