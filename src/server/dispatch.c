/*
 * The checks stand in the order in which Redis makes them, because the first that fails decides
 * what a client is told.
 */
#include "server/dispatch.h"

#include "command/acl.h"
#include "command/table.h"
#include "server/commands.h"
#include "server/server_int.h"
#include "server/histogram.h"
#include "server/latency.h"
#include "server/monitor.h"
#include "server/slowlog.h"
#include "server/txn.h"
#include "sys/clock.h"
#include "sys/log.h"

#define DISPATCH_ERROR_MAX 1024

static void refuse(struct client *c, const struct command *cmd, struct qless_str error)
{
	struct server *s = c->server;

	if (cmd != NULL)
		s->stats.by_command[command_table_index(s->table, cmd)].rejected++;
	if (cmd != NULL && cmd->handler == cmd_exec && txn_is_open(c)) {
		/* Nobody can end the transaction any more, so it ends now. */
		txn_discard(c);
		if (str_starts_with(error, STR("ERR ")))
			error = str_make(error.ptr + 4, error.len - 4);
		reply_errorf(&c->writer, "EXECABORT", "Transaction discarded because of: %.*s",
			     (int)error.len, error.ptr);
	} else {
		txn_fail(c);
		reply_error_line(&c->writer, error);
	}
	stats_count_error(c);
}

/* A browser can be made to send us a request of its own. Nothing good comes of answering. */
static bool is_cross_protocol(struct qless_str name)
{
	return str_equal_nocase(name, STR("POST")) || str_equal_nocase(name, STR("HOST:"));
}

/* What is not a command, or has too few or too many arguments for the one it is. */
static void refuse_request(struct client *c, const struct qless_str *argv, int argc,
			   struct buf *error)
{
	int name_args;

	if (is_cross_protocol(argv[0])) {
		if (complaints_take(&c->server->complaints))
			log_write(
				LOG_LEVEL_WARNING,
				LOG_FIELDS(LOG_INT("id", c->session.id), LOG_TEXT("addr", c->peer)),
				"client closed for sending an HTTP request; possibly an attack "
				"through a browser");
		client_drop(c, NULL);
		return;
	}
	refuse(c, command_table_lookup(c->server->table, argv, argc, &name_args), buf_str(error));
}

/* Whether the command has to wait until the pause is over. To queue one in a transaction changes
 * nothing yet. */
static bool is_paused(const struct client *c, const struct command *cmd)
{
	switch (c->server->pause.mode) {
	case PAUSE_NONE:
		return false;
	case PAUSE_WRITE:
		if (txn_is_open(c))
			return cmd->handler == cmd_exec && txn_writes(c);
		return (cmd->flags & CMD_WRITE) != 0;
	case PAUSE_ALL:
		return (cmd->flags & CMD_NO_PAUSE) == 0;
	}
	return false;
}

/* Beyond maxmemory nothing is queued in a transaction either, which could hold any amount; and one
 * that was queued before is not run if it makes the state grow. */
static bool needs_memory(const struct client *c, const struct command *cmd,
			 const struct qless_str *args, int nargs)
{
	if (!txn_is_open(c))
		return command_grows(cmd, args, (size_t)nargs);
	return cmd->handler == cmd_exec ? txn_grows(c) : (cmd->flags & CMD_TXN) == 0;
}

/* Whether it may run at all; if not, it has been refused. */
static bool is_permitted(struct client *c, const struct command *cmd, const struct qless_str *args,
			 int nargs)
{
	struct server *s = c->server;
	char text[DISPATCH_ERROR_MAX];
	int len;

	if (c->session.user == NULL) {
		if ((cmd->flags & CMD_NO_AUTH) != 0)
			return true;
		refuse(c, cmd, STR("NOAUTH Authentication required."));
		return false;
	}
	if ((cmd->flags & CMD_NO_AUTH) == 0 && !acl_may_run(c->session.user, s->table, cmd)) {
		s->stats.denied_commands++;
		len = snprintf(text, sizeof text,
			       "NOPERM this user has no permissions to run the '%s' command",
			       cmd->name);
		refuse(c, cmd, str_make(text, (size_t)len));
		return false;
	}
	if (server_is_out_of_memory(s) && needs_memory(c, cmd, args, nargs)) {
		refuse(c, cmd, STR(COMMAND_OOM_ERROR));
		return false;
	}
	if (c->session.subscribed && c->session.proto == 2 && (cmd->flags & CMD_SUBSCRIBED) == 0) {
		len = snprintf(text, sizeof text,
			       "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / "
			       "PING / QUIT / RESET are allowed in this context",
			       cmd->name);
		refuse(c, cmd, str_make(text, (size_t)len));
		return false;
	}
	if (s->loading && (cmd->flags & CMD_LOADING) == 0) {
		refuse(c, cmd, STR("LOADING qlessd is loading the dataset in memory"));
		return false;
	}
	if (txn_is_open(c) && (cmd->flags & CMD_NO_MULTI) != 0) {
		refuse(c, cmd, STR("ERR Command not allowed inside a transaction"));
		return false;
	}
	return true;
}

enum dispatch_result dispatch_request(struct client *c, struct qless_str *argv, int argc)
{
	struct server *s = c->server;
	char space[DISPATCH_ERROR_MAX];
	struct buf error = { .mem = space, .cap = sizeof space, .max = sizeof space };
	const struct command *cmd;
	bool skip;
	int name_args = 1;

	cmd = command_table_resolve(s->table, argv, argc, &name_args, &error);
	if (cmd != NULL && is_paused(c, cmd))
		return DISPATCH_HOLD;

	skip = c->skip_next_reply;
	c->skip_next_reply = false;
	c->writer.muted = c->reply_off || skip;
	if (cmd == NULL)
		refuse_request(c, argv, argc, &error);
	else if (!is_permitted(c, cmd, argv + name_args, argc - name_args))
		;
	else if (txn_is_open(c) && (cmd->flags & CMD_TXN) == 0)
		txn_queue(c, cmd, argv, argc, name_args);
	else
		dispatch_run(c, cmd, argv, argc, name_args);
	c->writer.muted = false;
	client_end_reply(c);
	client_output_grew(c);
	return DISPATCH_DONE;
}

static void account(struct client *c, const struct command *cmd, const struct qless_str *argv,
		    int argc, int64_t elapsed_ns, uint64_t errors)
{
	struct server *s = c->server;
	struct command_stats *stats = &s->stats.by_command[command_table_index(s->table, cmd)];

	s->stats.commands++;
	stats->calls++;
	stats->total_ns += (uint64_t)elapsed_ns;
	if (errors != 0) {
		stats->failed++;
		stats_count_error(c);
	}
	if (s->config->latency_tracking)
		histogram_add(&stats->histogram, (uint64_t)elapsed_ns);
	slowlog_note(s->slowlog, s->config, c, cmd, argv, argc, elapsed_ns / 1000);
	if ((cmd->flags & CMD_BLOCKING) == 0)
		stats_note_latency(s, (cmd->flags & CMD_FAST) != 0 ? "fast-command" : "command",
				   elapsed_ns / 1000);
}

void dispatch_run(struct client *c, const struct command *cmd, const struct qless_str *argv,
		  int argc, int name_args)
{
	struct server *s = c->server;
	uint64_t errors = c->writer.errors;
	struct client *outer = s->clients.running;
	struct request req = {
		.row = cmd,
		.argv = argv,
		.argc = argc,
		.args = argv + name_args,
		.nargs = (size_t)(argc - name_args),
		.reply = &c->writer,
		.session = &c->session,
		.env = &s->env,
	};
	int64_t start_ns = s->clocks.lap_ns;

	if (!TAILQ_EMPTY(&s->clients.monitors) && (cmd->flags & (CMD_NO_MONITOR | CMD_SECRET)) == 0)
		monitor_feed(c, argv, argc);
	c->last_command = cmd;
	s->clients.running = c;
	cmd->handler(&req);
	s->clients.running = outer;
	s->clocks.lap_ns = clock_mono_ns();
	account(c, cmd, argv, argc, s->clocks.lap_ns - start_ns, c->writer.errors - errors);
}
