/*
 * COMMAND DOCS and the HELP of every container: documentation from the rows, for people and for
 * clients that show it to them.
 */
#include "command/handlers.h"

#include <assert.h>
#include <stdlib.h>

#include "command/synopsis.h"
#include "command/table.h"
#include "resp/reply.h"
#include "util/buf.h"
#include "util/mem.h"

/* Longest name of a group in bytes. It consists of the names of its members. */
#define GROUP_NAME_MAX 64

static const char *const type_names[] = {
	[SYNOPSIS_STRING] = "string",	 [SYNOPSIS_INTEGER] = "integer",
	[SYNOPSIS_DOUBLE] = "double",	 [SYNOPSIS_PATTERN] = "pattern",
	[SYNOPSIS_TOKEN] = "pure-token", [SYNOPSIS_ONEOF] = "oneof",
	[SYNOPSIS_BLOCK] = "block",
};

static void write_run(struct reply *w, const struct synopsis *s, int first);

static void append_lower(struct buf *out, struct qless_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		buf_append_char(out, (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c));
	}
}

static void append_name(struct buf *out, const struct synopsis *s, int arg)
{
	if (s->args[arg].child < 0) {
		append_lower(out, s->args[arg].name);
		return;
	}
	for (int child = s->args[arg].child; child >= 0; child = s->args[child].next) {
		append_name(out, s, child);
		if (s->args[child].next >= 0)
			buf_append_char(out, '_');
	}
}

static void write_pair(struct reply *w, struct qless_str key, struct qless_str value)
{
	reply_bulk(w, key);
	reply_bulk(w, value);
}

static void write_arg_flags(struct reply *w, const struct synopsis_arg *arg)
{
	reply_bulk(w, STR("flags"));
	reply_set(w, (size_t)arg->optional + arg->multiple + arg->multiple_token);
	if (arg->optional)
		reply_status(w, STR("optional"));
	if (arg->multiple)
		reply_status(w, STR("multiple"));
	if (arg->multiple_token)
		reply_status(w, STR("multiple_token"));
}

static void write_arg(struct reply *w, const struct synopsis *s, int index)
{
	const struct synopsis_arg *arg = &s->args[index];
	bool flagged = arg->optional || arg->multiple;
	bool leaf = arg->child < 0;
	struct buf name = BUF_INIT(GROUP_NAME_MAX);

	append_name(&name, s, index);
	reply_map(w, (size_t)3 + (arg->token.len != 0) + flagged);
	write_pair(w, STR("name"), buf_str(&name));
	write_pair(w, STR("type"), str_from(type_names[arg->type]));
	if (leaf)
		write_pair(w, STR("display_text"), buf_str(&name));
	if (arg->token.len != 0)
		write_pair(w, STR("token"), arg->token);
	if (flagged)
		write_arg_flags(w, arg);
	if (!leaf) {
		reply_bulk(w, STR("arguments"));
		write_run(w, s, arg->child);
	}
	buf_done(&name);
}

static void write_run(struct reply *w, const struct synopsis *s, int first)
{
	reply_array(w, (size_t)synopsis_run_length(s, first));
	for (int arg = first; arg >= 0; arg = s->args[arg].next)
		write_arg(w, s, arg);
}

static void write_docs(struct reply *w, const struct command_table *t, const struct command *cmd)
{
	int first, subcommands = command_table_subcommands(t, cmd, &first);
	struct synopsis synopsis;
	bool parsed = synopsis_parse(cmd->arguments, &synopsis);

	assert(parsed && "the synopsis of a row can be parsed");
	reply_bulk(w, str_from(cmd->name));
	reply_map(w, (size_t)4 + (synopsis.count > 0) + (subcommands > 0));
	write_pair(w, STR("summary"), str_from(cmd->summary));
	write_pair(w, STR("since"), str_from(cmd->since));
	write_pair(w, STR("group"), str_from(cmd->group));
	write_pair(w, STR("complexity"), str_from(cmd->complexity));
	if (synopsis.count > 0) {
		reply_bulk(w, STR("arguments"));
		write_run(w, &synopsis, synopsis.first);
	}
	if (subcommands > 0) {
		reply_bulk(w, STR("subcommands"));
		reply_map(w, (size_t)subcommands);
		for (int i = 0; i < subcommands; i++)
			write_docs(w, t, command_table_row(t, first + i));
	}
}

void cmd_command_docs(struct request *req)
{
	const struct command_table *t = req->env->table;
	struct reply_deferred docs;
	bool *is_written = mem_zalloc((size_t)command_table_count(t));
	const struct command *cmd;
	size_t count = 0;

	reply_deferred_begin(req->reply, &docs, REPLY_MAP);
	for (int i = 0; req->nargs == 0 && i < command_table_count(t); i++) {
		cmd = command_table_row(t, i);
		if (command_table_parent(t, cmd) != NULL)
			continue;
		write_docs(req->reply, t, cmd);
		count++;
	}
	for (size_t i = 0; i < req->nargs && reply_is_wanted(req->reply); i++) {
		cmd = command_table_find(t, req->args[i]);
		/* A map has each key once. */
		if (cmd == NULL || is_written[command_table_index(t, cmd)])
			continue;
		is_written[command_table_index(t, cmd)] = true;
		write_docs(req->reply, t, cmd);
		count++;
	}
	reply_deferred_end(req->reply, &docs, count);
	free(is_written);
}

static void append_upper(struct buf *out, const char *text)
{
	for (; *text != '\0'; text++) {
		char c = *text;

		buf_append_char(out, (char)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c));
	}
}

/* Writes one line, and clears the buffer for the next. */
static void write_line(struct reply *w, struct buf *line)
{
	reply_status(w, buf_str(line));
	buf_clear(line);
}

void command_help(struct request *req)
{
	const struct command_table *t = req->env->table;
	const struct command *container = command_table_parent(t, req->row);
	int first, subcommands = command_table_subcommands(t, container, &first);
	bool alone = container->handler != NULL;
	struct buf line = BUF_INIT(BUF_NO_MAX);

	reply_array(req->reply, 1 + 2 * ((size_t)subcommands + alone));
	append_upper(&line, container->name);
	buf_printf(&line, " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
	write_line(req->reply, &line);
	if (alone) {
		reply_status(req->reply, STR("(no subcommand)"));
		buf_printf(&line, "    %s", container->summary);
		write_line(req->reply, &line);
	}
	for (int i = 0; i < subcommands; i++) {
		const struct command *cmd = command_table_row(t, first + i);

		if (cmd == req->row)
			continue;
		append_upper(&line, strchr(cmd->name, '|') + 1);
		if (cmd->arguments[0] != '\0')
			buf_printf(&line, " %s", cmd->arguments);
		write_line(req->reply, &line);
		buf_printf(&line, "    %s", cmd->summary);
		write_line(req->reply, &line);
	}
	reply_status(req->reply, STR("HELP"));
	reply_status(req->reply, STR("    Prints this help."));
	buf_done(&line);
}
