/*
 * CONFIG: reads and changes directives while the server runs.
 */
#include "command/acl.h"
#include "command/admission.h"
#include "command/table.h"
#include "server/commands.h"
#include "server/reload.h"
#include "server/server_int.h"
#include "server/users.h"
#include "server/users_log.h"
#include "sys/log.h"
#include "util/glob.h"

/* The reply to CONFIG GET while it is written. */
struct pairs {
	const struct request *req;
	size_t count;
};

static bool names(const struct request *req, const char *name)
{
	for (size_t i = 0; i < req->nargs; i++) {
		if (str_equal_nocase(req->args[i], str_from(name)))
			return true;
	}
	return false;
}

/* A user that may change a secret may also read it, but not by accident in a listing. */
static bool may_see_secret(const struct request *req, const char *name)
{
	const struct command *set = command_table_find(req->env->table, STR("config|set"));

	return names(req, name) && acl_may_run(req->session->user, req->env->table, set);
}

static void write_pair(const char *name, struct qless_str value, void *arg)
{
	struct pairs *pairs = arg;
	const struct config_option *option = config_option_find(str_from(name));
	bool is_secret = option != NULL && (option->flags & CONFIG_FLAG_SECRET) != 0;

	if (is_secret && value.len != 0 && !may_see_secret(pairs->req, name))
		value = STR("(redacted)");
	reply_bulk(pairs->req->reply, str_from(name));
	reply_bulk(pairs->req->reply, value);
	pairs->count++;
}

/* Directives of Redis that clients ask for, such as redis-benchmark, and the values that
 * describe qlessd. */
static const struct fact {
	const char *name;
	const char *value;
} facts[] = {
	{ "save", "" },
};

static bool matches_any(const struct request *req, const char *name)
{
	for (size_t i = 0; i < req->nargs; i++) {
		if (glob_match(req->args[i], str_from(name), true))
			return true;
	}
	return false;
}

void config_cmd_get(struct request *req)
{
	struct reply_deferred deferred;
	struct pairs pairs = { .req = req };

	for (size_t i = 0; i < req->nargs; i++) {
		if (!request_check_pattern(req, req->args[i]))
			return;
	}
	reply_deferred_begin(req->reply, &deferred, REPLY_MAP);
	for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
		if (matches_any(req, facts[i].name))
			write_pair(facts[i].name, str_from(facts[i].value), &pairs);
	}
	config_get(server_of(req)->config, req->args, req->nargs, write_pair, &pairs);
	reply_deferred_end(req->reply, &deferred, pairs.count);
}

/* Returns whether a name is that of an option of the queues. */
static bool is_queue_option(struct qless_str name)
{
	double min, max;

	for (size_t i = 0; qless_option_name(i).ptr != NULL; i++) {
		if (str_equal(qless_option_name(i), name))
			return true;
	}
	return qless_option_range(name, &min, &max);
}

/* Options of the queues belong to the state, and directives to the configuration. Writes an error
 * and returns true if the request takes one for the other. */
static bool refuse_queue_option(struct request *req)
{
	for (size_t i = 0; i < req->nargs; i += 2) {
		struct qless_str name = command_quote(req->args[i]);

		if (config_option_find(name) != NULL || !is_queue_option(name))
			continue;
		reply_errorf(req->reply, "ERR",
			     "'%.*s' is an option of the queues, not a directive; use CONFIG.SET",
			     (int)name.len, name.ptr);
		return true;
	}
	return false;
}

void config_cmd_set(struct request *req)
{
	struct server *s = server_of(req);
	struct buf error = BUF_INIT(4096);

	if (req->nargs % 2 != 0) {
		admission_refuse(req, &(struct verdict){ .kind = VERDICT_ARITY });
		return;
	}
	if (refuse_queue_option(req))
		return;
	if (config_set_many(s->config, req->args, req->nargs, reload_apply, s, &error) < 0) {
		reply_error(req->reply, "ERR", buf_str(&error));
	} else {
		server_apply_config(s);
		reply_ok(req->reply);
	}
	buf_done(&error);
}

/* The users of a configuration file are written to it. If there is a rewrite-file, those that were
 * changed at run time stay in the log. */
void config_cmd_rewrite(struct request *req)
{
	struct server *s = server_of(req);
	bool has_own_file = s->config->rewrite_file[0] != '\0';
	const char *file = has_own_file ? s->config->rewrite_file : s->reload.source.file;
	struct buf error = BUF_INIT(4096);

	if (file == NULL) {
		reply_error(req->reply, "ERR", STR("The server is running without a config file"));
		return;
	}
	if (!has_own_file)
		users_store(s->config, s->env.acl, s->table);
	if (config_rewrite_source(s->config, &s->reload.source, &error) < 0) {
		log_warning("CONFIG REWRITE: %s", buf_cstr(&error));
		reply_errorf(req->reply, "ERR", "Rewriting config file: %s", buf_cstr(&error));
	} else {
		log_notice("CONFIG REWRITE: wrote %s", file);
		reload_note_rewrite(s);
		if (!has_own_file)
			users_log_note_rewrite(s, users_load(s->config, s->table, &error));
		reply_ok(req->reply);
	}
	buf_done(&error);
}

void config_cmd_resetstat(struct request *req)
{
	stats_reset(server_of(req));
	reply_ok(req->reply);
}
