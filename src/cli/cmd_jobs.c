/*
 * qless jobs: the jobs of a queue, page by page, so that a long list takes little memory.
 */
#include "cli/commands.h"
#include "cli/paging.h"

static const struct table_column columns[] = {
	{ "JOB", false, true, 0 },	{ "STATE", false, false, 0 },  { "CLASS", false, true, 0 },
	{ "PRIORITY", true, false, 0 }, { "RETRIES", true, false, 0 }, { "SINCE", true, false, 0 },
	{ "DUE", true, false, 0 },	{ "WORKER", false, true, 0 },  { "GROUP", false, true, 0 },
};

static void add_row(struct cli *cli, struct table *t, yyjson_val *job, double now)
{
	struct qless_str state = answer_str(job, "state");
	double due = answer_number(job, "due"), expires = answer_number(job, "expires");

	(void)cli;
	table_text(t, TABLE_PLAIN, answer_str(job, "jid"));
	table_text(t, cli_state_style(state), state);
	table_text(t, TABLE_PLAIN, answer_str(job, "klass"));
	table_count(t, TABLE_PLAIN, answer_number(job, "priority"));
	table_count(t, TABLE_PLAIN, answer_number(job, "remaining"));
	cli_add_age(t, now, answer_number(job, "since"));
	cli_add_left(t, now, due != 0 ? due : expires);
	table_text(t, TABLE_PLAIN, answer_str(job, "worker"));
	table_text(t, TABLE_RED, answer_str(job, "group"));
}

struct listing {
	struct cli *cli;
	struct table *t;
	double now;
};

static void show(void *arg, const struct client_reply *fields)
{
	struct listing *listing = arg;
	struct cli *cli = listing->cli;
	struct answer job = { 0 };

	if (cli->options.quiet) {
		cli_print_text(cli, paging_field(fields, "jid"));
		return;
	}
	answer_convert(&job, fields);
	if (cli->options.json)
		cli_print_json(cli, buf_str(&job.text));
	else
		add_row(cli, listing->t, job.root, listing->now);
	answer_done(&job);
}

static void end_page(void *arg)
{
	struct listing *listing = arg;

	if (!listing->cli->options.json && !listing->cli->options.quiet)
		table_print(listing->t, stdout);
	fflush(stdout);
}

void command_jobs(struct cli *cli)
{
	struct listing listing = { .cli = cli };
	struct paging paging = {
		.queue = cli->args[0],
		.states = cli->options.states,
		.klass = cli->options.klass,
		.limit = cli->options.limit,
		.fields =
			"jid state klass priority retries remaining worker expires since due group",
		.each = show,
		.end_page = end_page,
		.arg = &listing,
	};

	if (cli->options.count_by != NULL) {
		command_jobs_count(cli);
		return;
	}
	listing.now = cli_now(cli);
	listing.t = table_new(columns, sizeof columns / sizeof columns[0], &cli->look);
	paging_run(cli, &paging);
	table_free(listing.t);
}
