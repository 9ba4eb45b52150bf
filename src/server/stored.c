#include "server/stored.h"

#include <string.h>

#include "command/dialect.h"
#include "config/config.h"
#include "server/users_log.h"
#include "sys/entropy.h"
#include "util/mem.h"

/* Number of objects of flushed databases that are freed at each report of progress. That is
 * faster than loading can add more. */
#define FREE_THINGS 65536

/* Records that belong to no database. */
static const struct qless_str script_name = STR_INIT("@script");
static const struct qless_str scripts_clear_name = STR_INIT("@script-flush");

/* SHA-1, name of the dialect, options of put that qlessd lacks. */
struct record_command stored_describe_script(const struct script *script,
					     struct qless_str args[STORED_SCRIPT_ARGS_MAX])
{
	args[0] = script_sha(script);
	args[1] = script->dialect->name;
	memcpy(args + 2, script->options, script->option_count * sizeof *args);
	return (struct record_command){ .name = script_name,
					.args = args,
					.count = 2 + script->option_count };
}

struct record_command stored_describe_scripts_clear(void)
{
	return (struct record_command){ .name = scripts_clear_name };
}

struct qless *stored_engine(const struct stored *stored, unsigned db)
{
	if (db >= databases_count(stored->databases))
		return NULL;
	return databases_get(stored->databases, db)->engine;
}

static int apply_script(struct scripts *scripts, const struct record_command *command,
			struct buf *ret_error)
{
	const struct dialect *dialect = NULL;

	if (command->count >= 2)
		dialect = dialect_find(command->args[1]);
	if (dialect != NULL && scripts_add(scripts, command->args[0], dialect, command->args + 2,
					   command->count - 2) != NULL)
		return 0;
	buf_printf(ret_error, "it names an unknown script");
	return -1;
}

int stored_apply(const struct stored *stored, const struct record_command *command,
		 struct buf *ret_error)
{
	if (str_equal(command->name, script_name))
		return apply_script(stored->scripts, command, ret_error);
	if (str_equal(command->name, scripts_clear_name)) {
		scripts_clear(stored->scripts);
		return 0;
	}
	return databases_apply(stored->databases, command->db, command->now, command->name,
			       command->args, command->count, ret_error);
}

static void save_script(void *arg, const struct script *script)
{
	struct qless_str args[STORED_SCRIPT_ARGS_MAX];
	struct record_command command = stored_describe_script(script, args);

	base_add_command(arg, &command);
}

void stored_save(const struct stored *stored, struct base_writer *w)
{
	const struct databases *databases = stored->databases;

	for (unsigned db = 0; db < databases_count(databases); db++) {
		if (databases_peek(databases, db) != NULL)
			base_add_database(w, db, databases_peek(databases, db));
	}
	scripts_each(stored->scripts, save_script, w);
}

/*
 * A second state, in the process that makes a snapshot from the log
 */

static struct qless *engine_of_second(void *arg, unsigned db)
{
	return stored_engine(arg, db);
}

static int apply_to_second(void *arg, const struct record_command *command, struct buf *ret_error)
{
	if (users_log_is_record(command->name))
		return 0;
	return stored_apply(arg, command, ret_error);
}

static bool go_on(void *arg, const struct recovery_progress *progress)
{
	struct stored *stored = arg;

	(void)progress;
	databases_free_some(stored->databases, FREE_THINGS);
	return true;
}

static struct recovery_target begin_second(void *arg)
{
	const struct config *config = arg;
	struct stored *stored = mem_zalloc(sizeof *stored);
	struct qless_hooks hooks = { .hash_seed = entropy_u64() };

	stored->databases = databases_new((unsigned)config->databases, &hooks);
	stored->scripts = scripts_new(hooks.hash_seed, NULL);
	databases_set_limits(stored->databases, NULL);
	return (struct recovery_target){
		.arg = stored,
		.engine = engine_of_second,
		.apply = apply_to_second,
		.progress = go_on,
	};
}

static void save_second(void *state, struct base_writer *w)
{
	stored_save(state, w);
}

/* The process ends next, so freeing the rest piece by piece would only take time. */
static void end_second(void *state)
{
	free(state);
}

struct rebuild_options stored_rebuild(struct config *config)
{
	return (struct rebuild_options){
		.begin = begin_second,
		.arg = config,
		.save = save_second,
		.end = end_second,
	};
}
