/*
 * COMMAND: describes the table to clients, in the format of Redis 7. COMMAND INFO shows no keys of
 * the queue commands, because there is no cluster that would need them. The keys of their requests
 * are the queues that the arguments name: patterns of keys match these.
 */
#include "command/handlers.h"

#include <stdio.h>

#include "command/objects.h"
#include "command/table.h"
#include "resp/reply.h"
#include "util/glob.h"

/* The names of flags in Redis, in its order. */
static const struct {
	unsigned flag;
	const char *name;
} flag_names[] = {
	{ CMD_WRITE, "write" },
	{ CMD_READ, "readonly" },
	{ CMD_DENYOOM, "denyoom" },
	{ CMD_ADMIN, "admin" },
	{ CMD_PUBSUB, "pubsub" },
	{ CMD_BLOCKING, "blocking" },
	{ CMD_LOADING, "loading" },
	{ 0, "stale" }, /* computed: the command does not depend on the state */
	{ CMD_NO_MONITOR, "skip_monitor" },
	{ CMD_SECRET, "skip_slowlog" },
	{ CMD_FAST, "fast" },
	{ CMD_NO_AUTH, "no_auth" },
	{ CMD_NO_MULTI, "no_multi" },
};

#define FLAG_NAMES (sizeof(flag_names) / sizeof(flag_names[0]))

/* Number of elements for each command in the reply to COMMAND INFO. */
#define INFO_FIELDS 10

static bool has_flag(const struct command *cmd, unsigned flag)
{
	return flag != 0 ? (cmd->flags & flag) != 0 : (cmd->flags & (CMD_READ | CMD_WRITE)) == 0;
}

static void write_flags(struct reply *w, const struct command *cmd)
{
	size_t count = 0;

	for (size_t i = 0; i < FLAG_NAMES; i++)
		count += has_flag(cmd, flag_names[i].flag);
	reply_set(w, count);
	for (size_t i = 0; i < FLAG_NAMES; i++) {
		if (has_flag(cmd, flag_names[i].flag))
			reply_status(w, str_from(flag_names[i].name));
	}
}

static void write_categories(struct reply *w, const struct command *cmd)
{
	unsigned categories = command_categories(cmd);
	char name[32];

	reply_set(w, (size_t)__builtin_popcount(categories));
	for (int bit = 0; bit < COMMAND_CATEGORY_COUNT; bit++) {
		if ((categories & 1U << bit) == 0)
			continue;
		snprintf(name, sizeof(name), "@%s", command_category_name(bit));
		reply_status(w, str_from(name));
	}
}

/* Counts the arguments with the names of command and subcommand. Negative if it is a minimum. */
static int arity(const struct command_table *t, const struct command *cmd)
{
	int names = command_table_parent(t, cmd) != NULL ? 2 : 1;

	return cmd->min_args == cmd->max_args ? names + cmd->min_args : -(names + cmd->min_args);
}

/* Replies with the indexes of the first and the last key, and the step between keys. The name has
 * index 0, and a negative index counts from the end. */
static void write_key_positions(struct reply *w, const struct command_table *t,
				const struct command *cmd)
{
	int first = 0, last = 0;

	if (cmd->flags & (CMD_KEY_FIRST | CMD_KEYS_ALL)) {
		first = command_table_parent(t, cmd) != NULL ? 2 : 1;
		last = first;
	}
	if (cmd->flags & CMD_KEYS_ALL)
		last = cmd->max_args == COMMAND_ANY_ARGS ? -1 : first + cmd->max_args - 1;
	reply_integer(w, first);
	reply_integer(w, last);
	reply_integer(w, first != 0);
}

static void write_info(struct reply *w, const struct command_table *t, const struct command *cmd)
{
	int first, subcommands = command_table_subcommands(t, cmd, &first);

	reply_array(w, INFO_FIELDS);
	reply_bulk(w, str_from(cmd->name));
	reply_integer(w, arity(t, cmd));
	write_flags(w, cmd);
	write_key_positions(w, t, cmd);
	write_categories(w, cmd);
	reply_set(w, 0); /* tips */
	reply_set(w, 0); /* key specifications */
	reply_header(w, subcommands > 0 ? REPLY_ARRAY : REPLY_SET, (size_t)subcommands);
	/* Subcommands have no subcommands, so the recursion is one level deep. */
	for (int i = 0; i < subcommands; i++)
		write_info(w, t, command_table_row(t, first + i));
}

static size_t count_top(const struct command_table *t)
{
	size_t count = 0;

	for (int i = 0; i < command_table_count(t); i++)
		count += command_table_parent(t, command_table_row(t, i)) == NULL;
	return count;
}

void cmd_command(struct request *req)
{
	const struct command_table *t = req->env->table;

	reply_array(req->reply, count_top(t));
	for (int i = 0; i < command_table_count(t); i++) {
		const struct command *cmd = command_table_row(t, i);

		if (command_table_parent(t, cmd) == NULL)
			write_info(req->reply, t, cmd);
	}
}

void cmd_command_count(struct request *req)
{
	reply_integer(req->reply, (int64_t)count_top(req->env->table));
}

void cmd_command_info(struct request *req)
{
	const struct command_table *t = req->env->table;

	if (req->nargs == 0) {
		cmd_command(req);
		return;
	}
	reply_array(req->reply, req->nargs);
	for (size_t i = 0; i < req->nargs; i++) {
		const struct command *cmd = command_table_find(t, req->args[i]);

		if (cmd != NULL)
			write_info(req->reply, t, cmd);
		else
			reply_null(req->reply);
	}
}

enum filter_type {
	FILTER_NONE,
	FILTER_MODULE,
	FILTER_CATEGORY,
	FILTER_PATTERN,
};

struct filter {
	enum filter_type type;
	struct qless_str value;
};

static bool filter_parse(const struct request *req, struct filter *ret_filter)
{
	static const struct {
		const char *word;
		enum filter_type type;
	} types[] = {
		{ "module", FILTER_MODULE },
		{ "aclcat", FILTER_CATEGORY },
		{ "pattern", FILTER_PATTERN },
	};

	*ret_filter = (struct filter){ .type = FILTER_NONE };
	if (req->nargs == 0)
		return true;
	if (req->nargs != 3 || !str_equal_nocase(req->args[0], STR("filterby")))
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!str_equal_nocase(req->args[1], str_from(types[i].word)))
			continue;
		*ret_filter = (struct filter){ .type = types[i].type, .value = req->args[2] };
		return true;
	}
	return false;
}

static bool filter_matches(const struct filter *f, const struct command *cmd)
{
	int bit;

	switch (f->type) {
	case FILTER_NONE:
		return true;
	case FILTER_MODULE: /* qlessd has no modules */
		return false;
	case FILTER_CATEGORY:
		bit = command_category_find(f->value);
		return bit >= 0 && (command_categories(cmd) & 1U << bit) != 0;
	case FILTER_PATTERN:
		return glob_match(f->value, str_from(cmd->name), true);
	}
	return false;
}

void cmd_command_list(struct request *req)
{
	const struct command_table *t = req->env->table;
	struct reply_deferred list;
	struct filter filter;
	size_t count = 0;

	if (!filter_parse(req, &filter)) {
		reply_error(req->reply, "ERR", STR("syntax error"));
		return;
	}
	if (filter.type == FILTER_PATTERN && !request_check_pattern(req, filter.value))
		return;
	reply_deferred_begin(req->reply, &list, REPLY_ARRAY);
	for (int i = 0; i < command_table_count(t); i++) {
		const struct command *cmd = command_table_row(t, i);

		if (filter_matches(&filter, cmd)) {
			reply_bulk(req->reply, str_from(cmd->name));
			count++;
		}
	}
	reply_deferred_end(req->reply, &list, count);
}

/* The keys of a request while they are written. */
struct key_list {
	struct reply *reply;
	bool with_flags;
	size_t count;
};

/* Writes the kind of access to a key, in the words of Redis. */
static void write_key_flags(struct reply *w, unsigned access)
{
	bool writes = (access & ACL_WRITE) != 0;

	reply_set(w, 2);
	reply_status(w, writes ? STR("RW") : STR("RO"));
	reply_status(w, writes ? STR("update") : STR("access"));
}

static bool write_key(void *arg, const struct object *object)
{
	struct key_list *keys = arg;

	if (object->kind != OBJECT_KEY && object->kind != OBJECT_QUEUE)
		return true;
	keys->count++;
	if (keys->with_flags)
		reply_array(keys->reply, 2);
	reply_bulk(keys->reply, object->name);
	if (keys->with_flags)
		write_key_flags(keys->reply, object->access);
	return true;
}

static bool has_key(void *arg, const struct object *object)
{
	bool *has = arg;

	*has |= object->kind == OBJECT_KEY || object->kind == OBJECT_QUEUE;
	return !*has;
}

/* Finds the request that follows GETKEYS. If it has no keys, replies with an error and returns
 * false.
 */
static bool find_request(struct request *req, struct object_request *ret_request)
{
	int name_args;
	const struct command *cmd =
		command_table_lookup(req->env->table, req->args, (int)req->nargs, &name_args);
	const char *error = NULL;
	bool has = false;

	if (cmd == NULL) {
		error = "Invalid command specified";
	} else if (!command_takes(cmd, (int)req->nargs - name_args)) {
		error = (cmd->flags & (CMD_KEY_FIRST | CMD_KEYS_ALL)) != 0 || cmd->objects != NULL
				? "Invalid number of arguments specified for command"
				: "The command has no key arguments";
	} else {
		*ret_request = (struct object_request){ cmd, REQUEST_NATIVE, req->args + name_args,
							req->nargs - (size_t)name_args };
		objects_unwrap(req->env->table, ret_request);
		objects_each(ret_request, has_key, &has);
		if (!has)
			error = "The command has no key arguments";
	}
	if (error == NULL)
		return true;
	reply_error(req->reply, "ERR", str_from(error));
	return false;
}

static void write_keys(struct request *req, bool with_flags)
{
	struct key_list keys = { .reply = req->reply, .with_flags = with_flags };
	struct object_request request;
	struct reply_deferred list;

	if (!find_request(req, &request))
		return;
	reply_deferred_begin(req->reply, &list, REPLY_ARRAY);
	objects_each(&request, write_key, &keys);
	reply_deferred_end(req->reply, &list, keys.count);
}

void cmd_command_getkeys(struct request *req)
{
	write_keys(req, false);
}

void cmd_command_getkeysandflags(struct request *req)
{
	write_keys(req, true);
}
