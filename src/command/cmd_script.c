/*
 * EVAL and SCRIPT, for clients that bring qless as a script. No Lua is ever run: a recognised
 * script (recognise.h) stands for the commands that it would define, and gives the replies that it
 * would give.
 */
#include "command/cmd_qless.h"
#include "command/databases.h"
#include "command/handlers.h"
#include "command/recognise.h"
#include "command/scripts.h"
#include "util/num.h"

/* The arguments of EVAL and EVALSHA: script or SHA-1, number of keys, keys, arguments. */
#define NUMKEYS_AT 1
#define KEYS_AT	   2

/* Bytes of the warning about one script, after which no further names are added. */
#define WARNING_BYTES_MAX 1024

/* Returns NULL if scripts of that kind are refused. */
static const struct dialect *dialect_of(enum script_kind kind)
{
	return kind == SCRIPT_CLASSIC ? &dialect_classic : NULL;
}

/* Removes the names that qlessd knows. */
static void keep_unknown(struct script_names *names, bool (*is_known)(struct qless_str name))
{
	size_t kept = 0;

	for (size_t i = 0; i < names->count; i++) {
		if (!is_known(names->items[i]))
			names->items[kept++] = names->items[i];
	}
	names->count = kept;
}

static void append_names(struct buf *line, const char *what, const struct script_names *names)
{
	if (names->count == 0)
		return;
	buf_printf(line, "; %s:", what);
	for (size_t i = 0; i < names->count && line->len < WARNING_BYTES_MAX; i++)
		buf_printf(line, " %.*s", (int)names->items[i].len, names->items[i].ptr);
}

static void warn_of_lacks(struct request *req, struct qless_str sha,
			  const struct script_parts *parts)
{
	struct buf line = BUF_INIT(BUF_NO_MAX);

	if (req->env->warn == NULL || parts->commands.count + parts->put_options.count == 0)
		return;
	buf_printf(&line,
		   "script %.*s has commands or options that qlessd lacks, and calls that use them "
		   "fail",
		   (int)sha.len, sha.ptr);
	append_names(&line, "commands", &parts->commands);
	append_names(&line, "options of put", &parts->put_options);
	req->env->warn(req->env->arg, buf_str(&line));
	buf_done(&line);
}

/* Returns the script of a text, and adds it if it is new. Returns NULL, and has replied, if the
 * script is too long or refused, or there are too many. The text of a known script is not read
 * again. */
static const struct script *learn_script(struct request *req, struct qless_str text)
{
	struct scripts *scripts = req->env->scripts;
	char hex[SCRIPT_SHA_BYTES];
	const struct script *script;
	struct qless_str sha;
	const struct dialect *dialect;
	struct script_parts parts;
	enum script_kind kind;

	if (text.len > req->env->limits.script_bytes && req->env->limits.script_bytes != 0) {
		reply_errorf(req->reply, "LIMIT",
			     "The script has %zu bytes, and max-script-size allows %zu", text.len,
			     req->env->limits.script_bytes);
		return NULL;
	}
	scripts_compute_sha(text, hex);
	sha = str_make(hex, sizeof hex);
	script = scripts_find(scripts, sha);
	if (script != NULL)
		return script;
	kind = recognise_script(text);
	dialect = dialect_of(kind);
	if (dialect == NULL) {
		reply_error(req->reply, "ERR", str_from(recognise_refusal(kind)));
		return NULL;
	}
	recognise_parts(text, &parts);
	keep_unknown(&parts.commands, classic_is_command_of_scripts);
	keep_unknown(&parts.put_options, classic_is_put_option);
	script = scripts_add(scripts, sha, dialect, parts.put_options.items,
			     parts.put_options.count);
	if (script == NULL)
		reply_errorf(req->reply, "ERR",
			     "%d scripts are loaded, and no more are taken; SCRIPT FLUSH "
			     "forgets them",
			     SCRIPTS_MAX);
	else
		warn_of_lacks(req, sha, &parts);
	return script;
}

/* Reads the number of keys. Returns false, and has replied, if it is wrong. */
static bool parse_numkeys(struct request *req, int64_t *ret_numkeys)
{
	int64_t numkeys;
	const char *error = NULL;

	if (!num_parse_i64(req->args[NUMKEYS_AT], &numkeys))
		error = "value is not an integer or out of range";
	else if (numkeys > (int64_t)req->nargs - KEYS_AT)
		error = "Number of keys can't be greater than number of args";
	else if (numkeys < 0)
		error = "Number of keys can't be negative";
	if (error != NULL) {
		reply_error(req->reply, "ERR", str_from(error));
		return false;
	}
	*ret_numkeys = numkeys;
	return true;
}

static void run_script(struct request *req, const struct script *script, int64_t numkeys)
{
	req->form = REQUEST_SCRIPT;
	req->script = script;
	req->sha = script_sha(script);
	request_use_database(req, databases_get(req->env->databases, req->session->db));
	if (numkeys != 0)
		classic_write_error(req, STR("No Keys should be provided"));
	else
		qless_run(req, req->args + KEYS_AT, req->nargs - KEYS_AT);
}

static void eval_text(struct request *req)
{
	const struct script *script;
	int64_t numkeys;

	if (!parse_numkeys(req, &numkeys))
		return;
	script = learn_script(req, req->args[0]);
	if (script != NULL)
		run_script(req, script, numkeys);
}

static void eval_sha(struct request *req)
{
	const struct script *script = scripts_find(req->env->scripts, req->args[0]);
	int64_t numkeys = 0;

	/* Clients that read NOSCRIPT send the text. Redis says it before it checks the arguments if
	 * the first one cannot be a SHA-1. */
	if (req->args[0].len == SCRIPT_SHA_BYTES && !parse_numkeys(req, &numkeys))
		return;
	if (script == NULL) {
		reply_error(req->reply, "NOSCRIPT", STR("No matching script. Please use EVAL."));
		return;
	}
	run_script(req, script, numkeys);
}

void cmd_eval(struct request *req)
{
	eval_text(req);
}

void cmd_eval_ro(struct request *req)
{
	req->only_reads = true;
	eval_text(req);
}

void cmd_evalsha(struct request *req)
{
	eval_sha(req);
}

void cmd_evalsha_ro(struct request *req)
{
	req->only_reads = true;
	eval_sha(req);
}

void cmd_script_load(struct request *req)
{
	const struct script *script = learn_script(req, req->args[0]);

	if (script != NULL)
		reply_bulk(req->reply, script_sha(script));
}

void cmd_script_exists(struct request *req)
{
	reply_array(req->reply, req->nargs);
	for (size_t i = 0; i < req->nargs; i++)
		reply_integer(req->reply, scripts_find(req->env->scripts, req->args[i]) != NULL);
}

void cmd_script_flush(struct request *req)
{
	if (req->nargs > 1 || (req->nargs == 1 && !str_equal_nocase(req->args[0], STR("SYNC")) &&
			       !str_equal_nocase(req->args[0], STR("ASYNC")))) {
		reply_error(req->reply, "ERR", STR("SCRIPT FLUSH only support SYNC|ASYNC option"));
		return;
	}
	scripts_clear(req->env->scripts);
	reply_ok(req->reply);
}

/* No script runs while the server reads another command. */
void cmd_script_kill(struct request *req)
{
	reply_error(req->reply, "NOTBUSY", STR("No scripts in execution right now."));
}
