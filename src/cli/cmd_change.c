/*
 * qless retry, move, cancel, delete, complete, pause and unpause: what changes jobs and queues.
 *
 * Many jobs are counted first, and changed after a question. Jobs change one by one, so others may
 * change them in between: what the server refuses is counted and shown.
 */
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/selection.h"
#include "cli/text.h"
#include "util/json.h"
#include "util/mem.h"

/* Refusals that are shown. All of them are counted. */
#define SHOWN_MAX 10
/* Jobs of one CANCEL. */
#define CANCEL_BATCH 100

struct change {
	struct cli *cli;
	const struct selection *jobs;
	const char *queue; /* to which the jobs go; NULL: their own */
	bool only_failed;
	struct query *requests; /* for each job; NULL until they are made */
	size_t refused;
};

static void show_refusal(struct change *change, size_t index, struct qless_str why)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	bool is_utf8 = change->cli->look.is_utf8;

	if (change->cli->result == CLI_DONE)
		change->cli->result = CLI_FAILED;
	if (change->refused++ >= SHOWN_MAX)
		return;
	text_append(&text, change->jobs->jids[index], is_utf8);
	buf_append_str(&text, STR(": "));
	text_append(&text, why, is_utf8);
	cli_complain(change->cli, CLI_FAILED, "%s", buf_cstr(&text));
	buf_done(&text);
}

/* Says what was done, for people or for programs. */
static void report(struct change *change, const char *word, size_t changed)
{
	struct cli *cli = change->cli;
	char jobs[SELECTION_TEXT_MAX];
	struct buf json = BUF_INIT(BUF_NO_MAX);

	if (change->refused > SHOWN_MAX)
		cli_complain(cli, CLI_FAILED, "and %zu more", change->refused - SHOWN_MAX);
	buf_printf(&json, "{\"changed\":%zu,\"refused\":%zu}", changed, change->refused);
	if (cli->options.json)
		cli_print_json(cli, buf_str(&json));
	else if (!cli->options.quiet)
		printf("%s %s\n", selection_text(changed, jobs), word);
	buf_done(&json);
}

/* Asks before jobs are changed that nobody has named. */
static bool may_change(struct cli *cli, const struct selection *jobs, const char *verb)
{
	char text[SELECTION_TEXT_MAX];

	if (jobs->is_named)
		return true;
	if (jobs->count == 0) {
		if (cli->options.json)
			cli_print_json(cli, STR("{\"changed\":0,\"refused\":0}"));
		else if (!cli->options.quiet)
			puts("no job matches");
		return false;
	}
	return cli_confirm(cli, "%s %s?", verb, selection_text(jobs->count, text));
}

/* ---- retry and move ---- */

static void ask_about(void *arg, size_t index, struct query *q)
{
	struct change *change = arg;
	struct buf key = BUF_INIT(BUF_NO_MAX);

	/* The hash has the data byte for byte, unlike the JSON of GET. */
	buf_append_str(&key, STR("ql:j:"));
	buf_append_str(&key, change->jobs->jids[index]);
	query_text(q, "HMGET");
	query_add(q, buf_str(&key));
	query_words(q, "state queue klass data");
	buf_done(&key);
}

static bool take_job(void *arg, size_t index, const struct client_reply *reply)
{
	struct change *change = arg;
	struct query *q = &change->requests[index];
	const struct client_reply *fields = reply->elements;
	struct qless_str state;

	if (client_reply_is_error(reply) || reply->count != 4) {
		show_refusal(change, index, client_reply_str(reply));
		return false;
	}
	state = client_reply_str(&fields[0]);
	if (state.len == 0) {
		show_refusal(change, index, STR("there is no such job"));
		return false;
	}
	if (change->only_failed && !str_equal(state, STR("failed"))) {
		struct buf why = BUF_INIT(BUF_NO_MAX);

		buf_printf(&why, "the job has not failed: its state is %.*s", (int)state.len,
			   state.ptr);
		show_refusal(change, index, buf_str(&why));
		buf_done(&why);
		return false;
	}
	query_text(q, "REQUEUE");
	query_text(q, CLI_WORKER);
	query_add(q,
		  change->queue != NULL ? str_from(change->queue) : client_reply_str(&fields[1]));
	query_add(q, change->jobs->jids[index]);
	query_add(q, client_reply_str(&fields[2]));
	query_add(q, client_reply_str(&fields[3]));
	query_text(q, "0");
	return true;
}

static void requeue(void *arg, size_t index, struct query *q)
{
	struct change *change = arg;

	/* The request is sent, so it is no longer needed here. */
	*q = change->requests[index];
	change->requests[index] = (struct query){ 0 };
}

static bool take_result(void *arg, size_t index, const struct client_reply *reply)
{
	if (!client_reply_is_error(reply))
		return true;
	show_refusal(arg, index, client_reply_str(reply));
	return false;
}

/* Jobs whose data are in memory at once. */
#define PORTION 1000

static void requeue_all(struct cli *cli, struct selection *jobs, const char *queue,
			bool only_failed, const char *word)
{
	struct change change = { .cli = cli, .queue = queue, .only_failed = only_failed };
	size_t changed = 0, refused = 0;

	for (size_t start = 0; start < jobs->count && cli->result != CLI_NO_SERVER;
	     start += PORTION) {
		struct selection part = { .jids = jobs->jids + start,
					  .count = jobs->count - start };

		if (part.count > PORTION)
			part.count = PORTION;
		change.jobs = &part;
		change.requests = mem_zalloc(part.count * sizeof(struct query));
		selection_run(cli, &part, ask_about, take_job, &change);
		if (cli->result != CLI_NO_SERVER)
			changed += selection_run(cli, &part, requeue, take_result, &change);
		for (size_t i = 0; i < part.count; i++)
			query_done(&change.requests[i]);
		free(change.requests);
		refused = change.refused;
	}
	change.refused = refused;
	report(&change, word, changed);
}

void command_retry(struct cli *cli)
{
	struct selection jobs;

	if (selection_make(cli, &jobs, cli->arg_count, "failed") && may_change(cli, &jobs, "Retry"))
		requeue_all(cli, &jobs, cli->options.to, true, "retried");
	selection_done(&jobs);
}

void command_move(struct cli *cli)
{
	struct selection jobs;

	if (selection_make(cli, &jobs, cli->arg_count - 1, "waiting,scheduled,depends,failed") &&
	    may_change(cli, &jobs, "Move"))
		requeue_all(cli, &jobs, cli->args[cli->arg_count - 1], false, "moved");
	selection_done(&jobs);
}

/* ---- cancel ---- */

/* Cancels jobs by one request. Returns how many, or SIZE_MAX if the server refuses. */
static size_t cancel_some(struct cli *cli, const struct selection *jobs, size_t start, size_t count,
			  struct buf *error)
{
	struct query q = { 0 };
	const struct client_reply *reply;

	query_text(&q, "CANCEL");
	for (size_t i = start; i < start + count; i++)
		query_add(&q, jobs->jids[i]);
	reply = client_call(cli->client, q.words, q.count);
	query_done(&q);
	if (reply == NULL) {
		cli_complain_lost(cli);
		return SIZE_MAX;
	}
	if (!client_reply_is_error(reply))
		return reply->count;
	buf_clear(error);
	buf_append_str(error, client_reply_str(reply));
	return SIZE_MAX;
}

/*
 * A job is cancelled only together with those that depend on it, so a batch without them is
 * refused. Its jobs are tried alone. The last round has only those that were refused in the round
 * before, and ends when none of them can be cancelled.
 */
static void cancel_all(struct cli *cli, struct selection *jobs)
{
	struct change change = { .cli = cli, .jobs = jobs };
	struct buf error = BUF_INIT(BUF_NO_MAX);
	size_t batch = CANCEL_BATCH, changed = 0, before;

	do {
		size_t kept = 0;

		before = jobs->count;
		for (size_t at = 0; at < before; at += batch) {
			size_t count = before - at < batch ? before - at : batch;
			size_t done = SIZE_MAX;

			if (cli->result != CLI_NO_SERVER)
				done = cancel_some(cli, jobs, at, count, &error);
			if (done != SIZE_MAX)
				changed += done;
			for (size_t i = at; i < at + count; i++) {
				if (done == SIZE_MAX)
					jobs->jids[kept++] = jobs->jids[i];
				else
					free((void *)(uintptr_t)jobs->jids[i].ptr);
			}
		}
		jobs->count = kept;
		/* After the first round, each job has a request of its own. */
		before = batch > 1 ? SIZE_MAX : before;
		batch = 1;
	} while (jobs->count > 0 && jobs->count < before && cli->result != CLI_NO_SERVER);
	for (size_t i = 0; i < jobs->count && cli->result != CLI_NO_SERVER; i++) {
		cancel_some(cli, jobs, i, 1, &error);
		show_refusal(&change, i, buf_str(&error));
	}
	buf_done(&error);
	report(&change, "cancelled", changed);
}

void command_cancel(struct cli *cli)
{
	struct selection jobs;

	if (selection_make(cli, &jobs, cli->arg_count, NULL) && may_change(cli, &jobs, "Cancel"))
		cancel_all(cli, &jobs);
	selection_done(&jobs);
}

/* ---- delete ---- */

static void make_delete(void *arg, size_t index, struct query *q)
{
	struct change *change = arg;

	query_text(q, "JOB.DELETE");
	query_add(q, change->jobs->jids[index]);
}

static bool take_deleted(void *arg, size_t index, const struct client_reply *reply)
{
	if (!client_reply_is_error(reply) && reply->integer > 0)
		return true;
	show_refusal(arg, index,
		     client_reply_is_error(reply) ? client_reply_str(reply)
						  : STR("there is no such job"));
	return false;
}

void command_delete(struct cli *cli)
{
	struct selection jobs;
	struct change change = { .cli = cli, .jobs = &jobs };

	if (selection_make(cli, &jobs, cli->arg_count, "failed,complete") &&
	    may_change(cli, &jobs, "Delete")) {
		size_t changed = selection_run(cli, &jobs, make_delete, take_deleted, &change);

		report(&change, "deleted", changed);
	}
	selection_done(&jobs);
}

/* ---- queues ---- */

static void change_queues(struct cli *cli, const char *command, const char *word)
{
	struct query q = { 0 };
	struct buf json = BUF_INIT(BUF_NO_MAX);

	query_text(&q, command);
	for (size_t i = 0; i < cli->arg_count; i++)
		query_text(&q, cli->args[i]);
	if (cli_call_query(cli, &q) != NULL) {
		buf_printf(&json, "{\"changed\":%zu}", cli->arg_count);
		if (cli->options.json)
			cli_print_json(cli, buf_str(&json));
		else if (!cli->options.quiet)
			printf("%zu queue%s %s\n", cli->arg_count, cli->arg_count == 1 ? "" : "s",
			       word);
	}
	buf_done(&json);
	query_done(&q);
}

void command_pause(struct cli *cli)
{
	change_queues(cli, "PAUSE", "paused");
}

void command_unpause(struct cli *cli)
{
	change_queues(cli, "UNPAUSE", "running again");
}
