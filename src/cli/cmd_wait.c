/*
 * qless wait: until jobs finish, or a time is over.
 */
#include "cli/commands.h"
#include "cli/text.h"
#include "sys/clock.h"

/* Seconds that the reply may come later than the server was asked to send it. */
#define LATE_S 10.0

static const struct table_column columns[] = {
	{ "JOB", false, true, 0 },
	{ "STATE", false, false, 0 },
	{ "RESULT", false, true, 0 },
};

static void ask(struct cli *cli, double left_s, struct query *q)
{
	query_text(q, "JOB.WAIT");
	query_number(q, left_s);
	for (size_t i = 0; i < cli->arg_count; i++)
		query_text(q, cli->args[i]);
	if (cli->options.any)
		query_text(q, "ANY");
}

/* Returns NULL after a message. Asks again if the connection is lost, but not if there never was
 * one. */
static const struct client_reply *wait_for_reply(struct cli *cli, double limit_s)
{
	int64_t start_us = clock_mono_us();

	if (!client_connect(cli->client)) {
		cli_complain_lost(cli);
		return NULL;
	}
	for (;;) {
		double left_s = limit_s - clock_seconds(clock_mono_us() - start_us);
		const struct client_reply *reply;
		struct query q = { 0 };

		if (limit_s > 0 && left_s < 0.001)
			left_s = 0.001; /* 0 means no limit */
		ask(cli, limit_s > 0 ? left_s : 0, &q);
		reply = client_call_within(cli->client, limit_s > 0 ? left_s + LATE_S : 0, q.words,
					   q.count);
		query_done(&q);
		if (reply != NULL)
			return reply;
		if (client_status(cli->client) != CLIENT_LOST ||
		    !client_connect_patiently(cli->client, limit_s > 0 ? left_s : 0, NULL, NULL)) {
			cli_complain_lost(cli);
			return NULL;
		}
	}
}

static void show(struct cli *cli, yyjson_val *root)
{
	struct table *t = table_new(columns, 3, &cli->look);
	yyjson_arr_iter elements;
	yyjson_val *job;

	elements = yyjson_arr_iter_with(root);
	while ((job = yyjson_arr_iter_next(&elements)) != NULL) {
		struct qless_str state = answer_str(yyjson_arr_get(job, 1), NULL);

		if (!str_equal(state, STR("complete")))
			cli->result = CLI_UNFINISHED;
		table_text(t, TABLE_PLAIN, answer_str(yyjson_arr_get(job, 0), NULL));
		table_text(t, cli_state_style(state), state.len > 0 ? state : STR("gone"));
		table_text(t, TABLE_PLAIN, answer_str(yyjson_arr_get(job, 2), NULL));
	}
	if (!cli->options.json && !cli->options.quiet)
		table_print(t, stdout);
	table_free(t);
}

void command_wait(struct cli *cli)
{
	struct answer answer = { 0 };
	const struct client_reply *reply;
	double limit_s = 0;

	if (cli->options.timeout != NULL &&
	    !cli_parse_duration(cli, "timeout", cli->options.timeout, &limit_s))
		return;
	reply = wait_for_reply(cli, limit_s);
	if (reply == NULL)
		return;
	if (client_reply_is_error(reply)) {
		cli_complain_reply(cli, reply);
		return;
	}
	if (reply->type == CLIENT_REPLY_NULL) {
		cli_complain(cli, CLI_TIMED_OUT, "the jobs did not finish in time");
		return;
	}
	answer_convert(&answer, reply);
	if (cli->options.json)
		cli_print_json(cli, buf_str(&answer.text));
	show(cli, answer.root);
	answer_done(&answer);
}
