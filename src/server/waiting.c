#include "server/waiting.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "command/acl.h"
#include "command/admission.h"
#include "command/table.h"
#include "command/work.h"
#include "server/conn.h"
#include "server/dispatch.h"
#include "server/http_history.h"
#include "server/server_int.h"
#include "util/mem.h"
#include "util/minmax.h"

/* Microseconds of each turn for commands that go on, all together. */
#define WAITINGS_US 1000
/* Microseconds of a command before it goes on in later turns, and of all commands that begin in the
 * same turn. After that, a command does one part in the turn in which it begins. */
#define WAITING_FIRST_US  1000
#define WAITINGS_FIRST_US 4000
/* Bytes of unsent output of a client above which its command does not go on. */
#define WAITING_OUTPUT_BYTES ((size_t)1024 * 1024)

struct waiting {
	struct client *client;
	enum waiting_reason reason;
	struct work *work;
	const struct command *row; /* of what the client sent; req.row may be that of QLESS */
	struct request req;
	struct qless_str *argv; /* of req; the bytes follow in the same allocation */
	size_t argv_bytes;
	struct buf output;	 /* of the child */
	struct line_wait *lines; /* NULL unless it waits for jobs */
	struct end_wait *ends;	 /* NULL unless it waits for the ends of jobs */
	bool is_held;		 /* the command has to wait before it may change anything */
	struct work_reply reply;
	int64_t spent_ns;
	int64_t longest_ns; /* the most in one turn */
	TAILQ_ENTRY(waiting) link;
};

void waitings_init(struct server *s)
{
	TAILQ_INIT(&s->waitings.going_on);
}

static void waiting_free(struct waiting *w)
{
	w->work->ops->free(w->work);
	buf_done(&w->output);
	chain_done(&w->reply.bytes);
	free(w->argv);
	free(w);
}

/*
 * Admission of a command whose parts so far have only read its request
 */

/* Decides about what the client sent, and about the queue command that it names. */
static struct verdict decide_again(struct waiting *w)
{
	struct client *c = w->client;
	int name_args;
	const struct command *row =
		command_table_lookup(c->server->table, w->req.argv, w->req.argc, &name_args);
	struct request outer = dispatch_make_request(c, row, w->req.argv, w->req.argc, name_args);
	struct verdict verdict = admission_decide(&outer);

	if (verdict.kind == VERDICT_RUN && w->req.form != REQUEST_NATIVE)
		verdict = admission_decide(&w->req);
	return verdict;
}

/* Returns whether entries of another command are still to be written to the history of jobs. */
static bool must_await_entries(const struct waiting *w)
{
	return http_history_is_put_off(w->client) && http_history_is_busy(w->client->server);
}

/* Decides about a command that arrived in an earlier turn. Returns whether its next part may run
 * now; otherwise *ret_more is false if the command has ended. */
static bool is_admitted(struct waiting *w, bool *ret_more)
{
	struct verdict verdict;

	if (!w->work->needs_admission || w->client->waiting != w)
		return true;
	verdict = decide_again(w);
	w->is_held = verdict.kind == VERDICT_HOLD;
	*ret_more = w->is_held;
	if (w->is_held && verdict.hold == HOLD_SYNC)
		sync_watch_note_hold(w->client->server);
	else if (verdict_is_refusal(&verdict))
		admission_refuse(&w->req, &verdict);
	else if (verdict.kind == VERDICT_RUN && must_await_entries(w))
		w->is_held = *ret_more = true;
	return verdict.kind == VERDICT_RUN && !w->is_held;
}

/* Does the next part. Returns false when the command has ended. */
static bool do_part(struct waiting *w)
{
	bool is_noted = w->client->waiting == w && w->work->needs_admission &&
			http_history_is_put_off(w->client);
	bool more;

	if (is_noted)
		http_history_begin(conn_of(w->client), w->req.argv, w->req.argc);
	more = w->work->ops->go_on(w->work, &w->req) && !w->reply.writer.is_full;
	if (is_noted)
		http_history_end(conn_of(w->client), w->reply.writer.errors == 0);
	return more;
}

/* Does parts until the time. Returns false when the command has ended. */
static bool go_on(struct waiting *w, int64_t until_ns)
{
	struct client *c = w->client;
	struct server *s = c->server;
	struct client *outer = s->clients.running;
	int64_t start_ns = clock_mono_ns();
	bool more;

	s->clients.running = c;
	s->waitings.running = w;
	do {
		if (is_admitted(w, &more))
			more = do_part(w);
		s->clocks.lap_ns = clock_mono_ns();
	} while (more && !w->is_held && w->reason == WAITING_FOR_TURN &&
		 s->clocks.lap_ns < until_ns);
	s->waitings.running = NULL;
	s->clients.running = outer;
	w->spent_ns += s->clocks.lap_ns - start_ns;
	if (s->clocks.lap_ns - start_ns > w->longest_ns)
		w->longest_ns = s->clocks.lap_ns - start_ns;
	return more;
}

/* The database may have been flushed since the last part. */
static void look_again(struct waiting *w)
{
	if (w->req.database != NULL)
		request_use_database_again(&w->req);
}

/* The list of those that go on. */

static void join(struct waiting *w)
{
	struct waitings *all = &w->client->server->waitings;

	assert(w->reason == WAITING_FOR_TURN);
	TAILQ_INSERT_TAIL(&all->going_on, w, link);
	all->going_on_count++;
}

static void leave(struct waiting *w)
{
	struct waitings *all = &w->client->server->waitings;

	TAILQ_REMOVE(&all->going_on, w, link);
	all->going_on_count--;
}

/*
 * Beginning
 */

/* The arguments and the sum of the script go away with the input of the client. */
static void keep_arguments(struct waiting *w)
{
	struct request *req = &w->req;
	size_t first = (size_t)(req->args - req->argv);
	size_t bytes = (size_t)req->argc * sizeof *w->argv + req->sha.len;
	char *to;

	assert(req->args >= req->argv && first + req->nargs <= (size_t)req->argc);
	for (int i = 0; i < req->argc; i++)
		bytes += req->argv[i].len;
	w->argv = mem_alloc(bytes);
	w->argv_bytes = bytes;
	to = (char *)(w->argv + req->argc);
	for (int i = 0; i < req->argc; i++) {
		w->argv[i] = str_make(to, req->argv[i].len);
		if (req->argv[i].len != 0)
			memcpy(to, req->argv[i].ptr, req->argv[i].len);
		to += req->argv[i].len;
	}
	if (req->sha.len != 0)
		memcpy(to, req->sha.ptr, req->sha.len);
	req->sha = str_make(to, req->sha.len);
	req->argv = w->argv;
	req->args = w->argv + first;
	req->script = NULL;
	req->txn = NULL;
}

/* Does the first parts. Returns false when the command has ended. */
static bool begin(struct waiting *w)
{
	struct waitings *all = &w->client->server->waitings;
	int64_t left_ns = WAITINGS_FIRST_US * INT64_C(1000) - all->first_ns;
	bool more = go_on(w, clock_mono_ns() + min_i64(left_ns, WAITING_FIRST_US * INT64_C(1000)));

	all->first_ns += w->spent_ns;
	return more;
}

void waiting_spread(void *arg, struct request *req, struct work *work)
{
	struct server *s = arg;
	struct client *c = client_of(req);
	struct waiting *w = mem_zalloc(sizeof *w);

	assert(c->waiting == NULL);
	w->client = c;
	w->reason = WAITING_FOR_TURN;
	w->work = work;
	buf_init(&w->output, BUF_NO_MAX);
	w->req = *req;
	w->req.reply = &w->reply.writer;
	work_reply_begin(&w->reply, req->reply);
	if (!begin(w)) {
		work_reply_end(&w->reply, req->reply);
		waiting_free(w);
		return;
	}
	keep_arguments(w);
	c->waiting = w;
	c->hold = HOLD_COMMAND;
	s->waitings.count++;
	if (w->reason == WAITING_FOR_TURN)
		join(w);
}

void waiting_note_begin(struct waiting *w, const struct command *row, int64_t elapsed_ns)
{
	w->row = row;
	w->spent_ns = elapsed_ns;
}

/*
 * Ending
 */

static void stop_waiting(struct waiting *w)
{
	struct server *s = w->client->server;

	assert(w->client->waiting == w && s->waitings.running == NULL);
	switch (w->reason) {
	case WAITING_FOR_TURN:
		leave(w);
		break;
	case WAITING_FOR_CHILD:
		child_work_abandon(s);
		break;
	case WAITING_FOR_JOBS:
		lines_leave(s, w->lines);
		break;
	case WAITING_FOR_ENDS:
		awaited_leave(s, w->ends);
		break;
	case WAITING_FOR_ANSWER:
		break;
	}
	s->waitings.count--;
	w->client->waiting = NULL;
}

struct waiting *waiting_sleep(struct server *s)
{
	struct waiting *w = s->waitings.running;

	assert(w != NULL && w->reason == WAITING_FOR_TURN);
	w->reason = WAITING_FOR_CHILD;
	return w;
}

struct waiting *waiting_sleep_for_jobs(struct server *s, struct line_wait *lines)
{
	struct waiting *w = s->waitings.running;

	assert(w != NULL && w->reason == WAITING_FOR_TURN);
	w->reason = WAITING_FOR_JOBS;
	w->lines = lines;
	return w;
}

struct waiting *waiting_sleep_for_ends(struct server *s, struct end_wait *ends)
{
	struct waiting *w = s->waitings.running;

	assert(w != NULL && w->reason == WAITING_FOR_TURN);
	w->reason = WAITING_FOR_ENDS;
	w->ends = ends;
	return w;
}

struct waiting *waiting_sleep_for_answer(struct server *s)
{
	struct waiting *w = s->waitings.running;

	assert(w != NULL && w->reason == WAITING_FOR_TURN);
	w->reason = WAITING_FOR_ANSWER;
	return w;
}

void waiting_wake(struct waiting *w, struct buf *output)
{
	assert((w->reason == WAITING_FOR_CHILD || w->reason == WAITING_FOR_ANSWER) &&
	       w->client->waiting == w);
	buf_done(&w->output);
	w->output = *output;
	buf_init(output, BUF_NO_MAX);
	w->req.output = &w->output;
	w->reason = WAITING_FOR_TURN;
	join(w);
}

void waiting_abandon(struct client *c)
{
	struct waiting *w = c->waiting;

	if (w == NULL)
		return;
	stop_waiting(w);
	waiting_free(w);
}

/* The reply joins the output, and is counted like every other one. */
static void finish(struct waiting *w)
{
	struct client *c = w->client;
	uint64_t errors = c->writer.errors;

	stop_waiting(w);
	c->writer.muted = w->reply.writer.muted && !w->reply.writer.is_full;
	if (w->reply.writer.is_full)
		dispatch_replace_reply(&w->req, c);
	else
		work_reply_end(&w->reply, &c->writer);
	c->writer.muted = false;
	client_end_reply(c);
	dispatch_account(c, &w->req, w->row, w->spent_ns, w->longest_ns, c->writer.errors - errors);
	waiting_free(w);
	client_output_grew(c);
	c->ops->command_ended(c);
}

/*
 * Commands that are asleep
 */

bool waiting_is_asleep(const struct waiting *w)
{
	return w != NULL && (w->reason == WAITING_FOR_JOBS || w->reason == WAITING_FOR_ENDS);
}

bool waiting_try(struct waiting *w)
{
	assert(waiting_is_asleep(w));
	look_again(w);
	if (go_on(w, 0))
		return false;
	finish(w);
	return true;
}

void waiting_end_with_null(struct waiting *w)
{
	assert(waiting_is_asleep(w));
	reply_null_array(&w->reply.writer);
	finish(w);
}

bool waiting_unblock(struct client *c, bool with_error)
{
	struct waiting *w = c->waiting;

	if (!waiting_is_asleep(w))
		return false;
	if (!with_error) {
		waiting_end_with_null(w);
		return true;
	}
	reply_error(&w->reply.writer, "UNBLOCKED", STR("client unblocked via CLIENT UNBLOCK"));
	finish(w);
	return true;
}

/* The checks are those of a command that EXEC runs. */
static void check_rights(struct waiting *w)
{
	struct request req = *waiting_request(w);
	struct verdict verdict = admission_decide_queued(&req);

	if (!verdict_is_refusal(&verdict))
		return;
	if (verdict.kind == VERDICT_NO_LONGER_PERMITTED)
		verdict.kind = VERDICT_NOT_PERMITTED;
	admission_refuse(&req, &verdict);
	finish(w);
}

void waitings_check_user(struct server *s, const struct user *user)
{
	struct conn *c;

	if (lines_are_empty(&s->lines) && awaited_is_empty(&s->awaited))
		return;
	TAILQ_FOREACH(c, &s->conns.all, all) {
		if (c->client.session.user == user && waiting_is_asleep(c->client.waiting))
			check_rights(c->client.waiting);
	}
}

struct client *waiting_client(const struct waiting *w)
{
	return w->client;
}

const struct request *waiting_request(struct waiting *w)
{
	look_again(w);
	return &w->req;
}

struct line_wait *waiting_lines(const struct waiting *w)
{
	return w != NULL ? w->lines : NULL;
}

/*
 * Memory
 */

/* A reply that is written in pieces is at one end of them. */
size_t waiting_bytes(const struct waiting *w)
{
	const struct work_reply *reply = &w->reply;

	return reply->bytes.len + (reply->writer.out != &reply->bytes ? reply->writer.out->len : 0);
}

size_t waiting_memory(const struct waiting *w)
{
	const struct work_reply *reply;

	if (w == NULL)
		return 0;
	reply = &w->reply;
	return sizeof *w + w->argv_bytes + lines_memory(w->lines) + awaited_memory(w->ends) +
	       reply->bytes.allocated +
	       (reply->writer.out != &reply->bytes ? reply->writer.out->allocated : 0);
}

/*
 * Turns
 */

static bool may_go_on(struct waiting *w)
{
	if (w->is_held)
		w->is_held = decide_again(w).kind == VERDICT_HOLD;
	return !w->is_held && w->client->out.len + w->client->messages.len <= WAITING_OUTPUT_BYTES;
}

bool waitings_can_run(const struct server *s)
{
	struct waiting *w;

	TAILQ_FOREACH(w, &s->waitings.going_on, link) {
		if (may_go_on(w))
			return true;
	}
	return false;
}

void waitings_run(struct server *s)
{
	size_t count = s->waitings.going_on_count;
	int64_t until_ns;

	s->waitings.first_ns = 0;
	if (count == 0)
		return;
	until_ns = clock_mono_ns() + WAITINGS_US * INT64_C(1000);
	for (; count != 0; count--) {
		struct waiting *w = TAILQ_FIRST(&s->waitings.going_on);
		int64_t left_ns = until_ns - clock_mono_ns();

		if (w == NULL || left_ns <= 0)
			return;
		leave(w);
		join(w);
		if (!may_go_on(w))
			continue;
		look_again(w);
		if (!go_on(w, clock_mono_ns() + left_ns / (int64_t)count)) {
			finish(w);
			continue;
		}
		if (w->reason != WAITING_FOR_TURN)
			leave(w);
		/* Messages came during the part, and the reply has grown. */
		client_end_reply(w->client);
		client_output_grew(w->client);
	}
}
