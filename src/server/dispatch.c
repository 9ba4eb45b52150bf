/*
 * Carries out what admission decides, and keeps the statistics of commands.
 */
#include "server/dispatch.h"

#include <assert.h>

#include "command/admission.h"
#include "command/table.h"
#include "server/server_int.h"
#include "server/histogram.h"
#include "server/latency.h"
#include "server/monitor.h"
#include "server/slowlog.h"
#include "server/txn.h"
#include "sys/clock.h"
#include "sys/log.h"

/* A transaction that was refused a command fails, and one whose EXEC was refused ends: nobody could
 * end it any more. */
void dispatch_refuse(struct request *req, const struct verdict *verdict)
{
	struct client *c = client_of(req);
	struct server *s = c->server;

	if (req->row != NULL)
		s->stats.by_command[command_table_index(s->table, req->row)].rejected++;
	admission_refuse(req, verdict);
	if (req->row != NULL && (req->row->flags & CMD_EXEC) != 0 && txn_is_open(c))
		txn_discard(c);
	else
		txn_fail(c);
	stats_count_error(c);
}

/* A browser can be made to send us a request of its own. Nothing good comes of answering. */
static bool is_cross_protocol(struct qless_str name)
{
	return str_equal_nocase(name, STR("POST")) || str_equal_nocase(name, STR("HOST:"));
}

static void drop_cross_protocol(struct client *c)
{
	if (complaints_take(&c->server->complaints))
		log_write(LOG_LEVEL_WARNING,
			  LOG_FIELDS(LOG_INT("id", c->session.id), LOG_TEXT("addr", c->peer)),
			  "client closed for sending an HTTP request; possibly an attack "
			  "through a browser");
	client_drop(c, NULL);
}

static void obey(struct request *req, const struct verdict *verdict)
{
	struct client *c = client_of(req);

	if (verdict->kind == VERDICT_RUN)
		dispatch_run(req);
	else if (verdict->kind == VERDICT_QUEUE)
		txn_queue(c, req);
	else if (verdict->kind == VERDICT_UNKNOWN && is_cross_protocol(req->argv[0]))
		drop_cross_protocol(c);
	else
		dispatch_refuse(req, verdict);
}

struct request dispatch_make_request(struct client *c, const struct command *row,
				     const struct qless_str *argv, int argc, int name_args)
{
	return (struct request){
		.row = row,
		.argv = argv,
		.argc = argc,
		.args = argv + name_args,
		.nargs = (size_t)(argc - name_args),
		.reply = &c->writer,
		.session = &c->session,
		.txn = txn_state(c),
		.env = &c->server->env,
	};
}

enum dispatch_result dispatch_request(struct client *c, struct qless_str *argv, int argc)
{
	int name_args;
	const struct command *row = command_table_lookup(c->server->table, argv, argc, &name_args);
	struct request req = dispatch_make_request(c, row, argv, argc, name_args);
	struct verdict verdict = admission_decide(&req);
	bool skip;

	c->hold = verdict.hold;
	if (verdict.kind == VERDICT_HOLD) {
		if (verdict.hold == HOLD_SYNC)
			sync_watch_note_hold(c->server);
		return DISPATCH_HOLD;
	}
	if (row != NULL && (row->flags & CMD_NO_AUTH) != 0 &&
	    login_must_wait(c, row, req.args, req.nargs)) {
		login_wait(c);
		return DISPATCH_HOLD;
	}

	skip = c->skip_next_reply;
	c->skip_next_reply = false;
	c->writer.muted = c->reply_off || skip;
	obey(&req, &verdict);
	c->writer.muted = false;
	client_end_reply(c);
	client_output_grew(c);
	if (c->waiting != NULL)
		return DISPATCH_WAIT;
	/* The commands that follow must not overtake the clients that wait. */
	if (c->server->lines.waiting != 0)
		lines_serve(c->server, c->session.db);
	if (awaited_can_run(&c->server->awaited))
		awaited_serve(c->server);
	return DISPATCH_DONE;
}

/* The request may have become that of the command that QLESS or a script names: `row` is the one
 * that the client sent. */
void dispatch_account(struct client *c, const struct request *req, const struct command *row,
		      int64_t elapsed_ns, int64_t longest_ns, uint64_t errors)
{
	struct server *s = c->server;
	struct command_stats *stats = &s->stats.by_command[command_table_index(s->table, row)];

	s->stats.commands++;
	stats->calls++;
	stats->total_ns += (uint64_t)elapsed_ns;
	if (errors != 0) {
		stats->failed++;
		stats_count_error(c);
	}
	if (s->config->latency_tracking)
		histogram_add(&stats->histogram, (uint64_t)elapsed_ns);
	slowlog_note(s->slowlog, s->config, c, req->argv, req->argc, elapsed_ns / 1000);
	if ((row->flags & CMD_BLOCKING) == 0)
		stats_note_latency(s, (row->flags & CMD_FAST) != 0 ? "fast-command" : "command",
				   longest_ns / 1000);
}

/*
 * Limits of a reply
 */

/* Begins a reply that no other one contains. */
static void limit_reply(struct client *c)
{
	size_t max = c->server->config->max_reply_bytes;
	size_t room = c->ops->output_room(c);

	c->reply_ends_client = room < max;
	c->writer.max = c->writer.out->len + (room < max ? room : max);
	c->writer.is_full = false;
}

/* Replaces a reply that became too large, which began after `begin` bytes of output. If the limit
 * of the client was in the way, the client ends, and never reads the error. */
static void replace_large_reply(struct request *req, size_t begin)
{
	struct client *c = client_of(req);

	reply_cut(&c->writer, begin);
	dispatch_replace_reply(req, c);
}

void dispatch_replace_reply(struct request *req, struct client *c)
{
	const struct config *config = c->server->config;
	size_t max = c->writer.max;

	c->writer.max = REPLY_NO_MAX;
	reply_cut(&c->writer, c->writer.out->len);
	req->reply = &c->writer;
	if (req->parts_left != NULL)
		request_refuse_large(req, "max-transaction-reply-size",
				     config->max_transaction_reply_bytes);
	else
		request_refuse_large(req, "max-reply-size", config->max_reply_bytes);
	c->writer.max = max;
	c->server->stats.large_replies++;
	if (c->reply_ends_client)
		c->ops->output_exceeded(c, CLIENT_OUTPUT_LIMIT);
}

void dispatch_run(struct request *req)
{
	struct client *c = client_of(req);
	struct server *s = c->server;
	const struct command *row = req->row;
	uint64_t errors = c->writer.errors;
	struct client *outer = s->clients.running;
	int64_t start_ns, elapsed_ns;
	size_t max = c->writer.max, begin;

	assert(row->handler != NULL);
	s->turn.has_read |= (row->flags & CMD_LOADING) == 0;
	if (presence_is_late(&s->presence, s->clocks.lap_ns) && outer == NULL)
		presence_catch_up(s);
	start_ns = s->clocks.lap_ns;
	if (!TAILQ_EMPTY(&s->clients.monitors) && (row->flags & CMD_NO_MONITOR) == 0 &&
	    !command_is_secret(s->table, req->argv, req->argc))
		monitor_feed(c, req->argv, req->argc);
	c->last_command = row;
	s->clients.running = c;
	begin = c->writer.out->len;
	if (max == REPLY_NO_MAX)
		limit_reply(c);
	row->handler(req);
	if (c->writer.muted && c->writer.is_full)
		replace_large_reply(req, begin);
	c->writer.max = max;
	s->clients.running = outer;
	s->clocks.lap_ns = clock_mono_ns();
	elapsed_ns = s->clocks.lap_ns - start_ns;
	if (c->waiting != NULL)
		waiting_note_begin(c->waiting, row, elapsed_ns);
	else
		dispatch_account(c, req, row, elapsed_ns, elapsed_ns, c->writer.errors - errors);
}
