/*
 * qless queues, failures and recurring: what there is, in numbers.
 */
#include <math.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/text.h"
#include "util/json.h"
#include "util/mem.h"

/* Jobs whose details one request asks for. */
#define PAGE 50

static const struct table_column queue_columns[] = {
	{ "QUEUE", false, true, 0 },	 { "WAITING", true, false, 0 },
	{ "RUNNING", true, false, 0 },	 { "STALLED", true, false, 0 },
	{ "SCHEDULED", true, false, 2 }, { "DEPENDS", true, false, 3 },
	{ "RECURRING", true, false, 4 }, { "FAILED", true, false, 0 },
	{ "OLDEST", true, false, 1 },	 { "WORKERS", true, false, 0 },
};

static void add_count(struct table *t, enum table_style style, double count)
{
	if (isnan(count))
		table_safe(t, TABLE_DIM, STR("-"));
	else
		table_count(t, style, count);
}

static void add_queue(struct table *t, yyjson_val *queue, const struct figures_queue *figures)
{
	double waiting = answer_number(queue, "waiting");
	double oldest_s = figures_of(figures, "oldest_wait");
	double listeners = answer_number(queue, "listeners");

	table_text(t, TABLE_PLAIN, answer_str(queue, "name"));
	table_count(t, TABLE_PLAIN, waiting);
	table_count(t, TABLE_GREEN, answer_number(queue, "running"));
	table_count(t, TABLE_YELLOW, answer_number(queue, "stalled"));
	table_count(t, TABLE_PLAIN, answer_number(queue, "scheduled"));
	table_count(t, TABLE_PLAIN, answer_number(queue, "depends"));
	table_count(t, TABLE_PLAIN, answer_number(queue, "recurring"));
	add_count(t, TABLE_RED, figures_of(figures, "failed"));
	if (waiting > 0 && !isnan(oldest_s))
		cli_add_age(t, oldest_s + 1, 1);
	else
		table_safe(t, TABLE_DIM, STR("-"));
	cli_add_listeners(t, listeners, waiting > 0, answer_bool(queue, "paused"));
}

/* The members of the server, and the figures that only INFO has. */
static void append_queue_json(struct buf *out, yyjson_val *queue,
			      const struct figures_queue *figures)
{
	static const struct {
		const char *figure, *member;
	} more[] = { { "failed", "failed" }, { "oldest_wait", "oldest-wait" } };

	answer_append_value(out, queue);
	buf_truncate(out, out->len - 1);
	for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
		double value = figures_of(figures, more[i].figure);

		buf_printf(out, ",\"%s\":", more[i].member);
		if (isnan(value))
			buf_append_str(out, STR("null"));
		else
			json_append_number(out, value);
	}
	buf_append_char(out, '}');
}

static bool ask_queues(struct cli *cli, struct answer *answer, const char *queue)
{
	struct query q = { 0 };
	bool ok;

	query_text(&q, "QUEUES");
	if (queue != NULL)
		query_text(&q, queue);
	ok = cli_ask_json(cli, answer, &q);
	query_done(&q);
	return ok;
}

static void show_queue(struct cli *cli, struct table *t, struct buf *json, yyjson_val *queue,
		       const struct figures *figures)
{
	struct qless_str name = answer_str(queue, "name");

	if (cli->options.json) {
		buf_append_str(json, json->len > 1 ? STR(",") : STR(""));
		append_queue_json(json, queue, figures_find(figures, name));
	} else if (cli->options.quiet) {
		cli_print_text(cli, name);
	} else {
		add_queue(t, queue, figures_find(figures, name));
	}
}

static int compare_queues(const void *a, const void *b)
{
	yyjson_val *const *x = a, *const *y = b;

	return str_compare(answer_str(*x, "name"), answer_str(*y, "name"));
}

static void show_all_queues(struct cli *cli, struct table *t, struct buf *json,
			    const struct figures *figures)
{
	struct answer answer = { 0 };
	yyjson_val **queues, *queue;
	size_t count;
	yyjson_arr_iter elements;

	if (ask_queues(cli, &answer, NULL)) {
		count = yyjson_arr_size(answer.root);
		queues = mem_realloc_array(NULL, count + 1, sizeof(yyjson_val *));
		elements = yyjson_arr_iter_with(answer.root);
		while ((queue = yyjson_arr_iter_next(&elements)) != NULL)
			queues[elements.idx - 1] = queue;
		qsort(queues, count, sizeof(yyjson_val *), compare_queues);
		for (size_t i = 0; i < count; i++)
			show_queue(cli, t, json, queues[i], figures);
		free(queues);
	}
	answer_done(&answer);
}

void command_queues(struct cli *cli)
{
	struct table *t = table_new(queue_columns, sizeof queue_columns / sizeof queue_columns[0],
				    &cli->look);
	struct buf json = BUF_INIT(BUF_NO_MAX);
	struct figures figures = { 0 };

	buf_append_char(&json, '[');
	if (!cli->options.quiet)
		figures_read(cli, &figures, "queues", false);
	if (cli->arg_count == 0)
		show_all_queues(cli, t, &json, &figures);
	for (size_t i = 0; i < cli->arg_count && cli->result == CLI_DONE; i++) {
		struct answer answer = { 0 };

		if (ask_queues(cli, &answer, cli->args[i]))
			show_queue(cli, t, &json, answer.root, &figures);
		answer_done(&answer);
	}
	buf_append_char(&json, ']');
	if (cli->result == CLI_DONE && cli->options.json)
		cli_print_json(cli, buf_str(&json));
	else if (cli->result == CLI_DONE && !cli->options.quiet)
		table_print(t, stdout);
	figures_done(&figures);
	buf_done(&json);
	table_free(t);
}

/* ---- failures ---- */

struct group {
	struct qless_str name;
	double count;
};

/* The largest group first. */
static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return str_compare(x->name, y->name);
}

static void show_groups(struct cli *cli, yyjson_val *root)
{
	static const struct table_column columns[] = { { "GROUP", false, true, 0 },
						       { "JOBS", true, false, 0 } };
	struct table *t = table_new(columns, 2, &cli->look);
	struct group *groups = mem_realloc_array(NULL, yyjson_obj_size(root) + 1, sizeof *groups);
	size_t count = 0;
	yyjson_obj_iter members;
	yyjson_val *key;

	members = yyjson_obj_iter_with(root);
	while ((key = yyjson_obj_iter_next(&members)) != NULL)
		groups[count++] =
			(struct group){ answer_str(key, NULL),
					answer_number(yyjson_obj_iter_get_val(key), NULL) };
	qsort(groups, count, sizeof *groups, compare_groups);
	for (size_t i = 0; i < count; i++) {
		if (cli->options.quiet)
			cli_print_text(cli, groups[i].name);
		table_text(t, TABLE_PLAIN, groups[i].name);
		table_count(t, TABLE_RED, groups[i].count);
	}
	if (!cli->options.quiet)
		table_print(t, stdout);
	free(groups);
	table_free(t);
}

static const struct table_column failure_columns[] = {
	{ "JOB", false, true, 0 }, { "CLASS", false, true, 0 },	  { "QUEUE", false, true, 0 },
	{ "AGE", true, false, 0 }, { "MESSAGE", false, true, 0 },
};

static void show_failure(struct cli *cli, struct table *t, yyjson_val *job, double now)
{
	yyjson_val *failure = answer_get(job, "failure");
	struct buf json = BUF_INIT(BUF_NO_MAX);

	if (cli->options.json) {
		answer_append_value(&json, job);
		cli_print_json(cli, buf_str(&json));
	} else if (cli->options.quiet) {
		cli_print_text(cli, answer_str(job, "jid"));
	} else {
		table_text(t, TABLE_PLAIN, answer_str(job, "jid"));
		table_text(t, TABLE_PLAIN, answer_str(job, "klass"));
		table_text(t, TABLE_PLAIN, answer_str(job, "queue"));
		cli_add_age(t, now, answer_number(failure, "when"));
		table_text(t, TABLE_PLAIN, answer_str(failure, "message"));
	}
	buf_done(&json);
}

/* Returns the number of jobs of the page, or 0 after the last one. */
static size_t show_failures_page(struct cli *cli, struct table *t, size_t start, size_t count,
				 double now)
{
	struct answer page = { 0 }, jobs = { 0 };
	struct query q = { 0 }, get = { 0 };
	size_t found = 0;
	yyjson_arr_iter elements;
	yyjson_val *value;

	query_text(&q, "FAILED");
	query_text(&q, cli->args[0]);
	query_number(&q, (double)start);
	query_number(&q, (double)count);
	if (!cli_ask_json(cli, &page, &q))
		goto done;
	query_text(&get, "MULTIGET");
	elements = yyjson_arr_iter_with(answer_get(page.root, "jobs"));
	while ((value = yyjson_arr_iter_next(&elements)) != NULL)
		query_add(&get, answer_str(value, NULL));
	found = get.count - 1;
	if (found == 0 || !cli_ask_json(cli, &jobs, &get))
		goto done;
	elements = yyjson_arr_iter_with(jobs.root);
	while ((value = yyjson_arr_iter_next(&elements)) != NULL)
		show_failure(cli, t, value, now);
	if (!cli->options.json && !cli->options.quiet)
		table_print(t, stdout);
done:
	query_done(&q);
	query_done(&get);
	answer_done(&page);
	answer_done(&jobs);
	return cli->result == CLI_DONE ? found : 0;
}

void command_failures(struct cli *cli)
{
	size_t limit = cli->options.limit > 0 ? (size_t)cli->options.limit : SIZE_MAX, shown = 0;
	struct answer groups = { 0 };
	struct table *t;
	double now;

	if (cli->arg_count == 0) {
		if (!cli_ask_json_words(cli, &groups, "FAILED"))
			;
		else if (cli->options.json)
			cli_print_json(cli, buf_str(&groups.text));
		else
			show_groups(cli, groups.root);
		answer_done(&groups);
		return;
	}
	now = cli_now(cli);
	t = table_new(failure_columns, sizeof failure_columns / sizeof failure_columns[0],
		      &cli->look);
	while (shown < limit) {
		size_t found = show_failures_page(cli, t, shown,
						  limit - shown < PAGE ? limit - shown : PAGE, now);

		if (found == 0)
			break;
		shown += found;
	}
	table_free(t);
}

/* ---- recurring ---- */

static const struct table_column recurring_columns[] = {
	{ "JOB", false, true, 0 },	{ "CLASS", false, true, 0 }, { "SCHEDULE", false, true, 0 },
	{ "ZONE", false, false, 0 },	{ "NEXT", true, false, 0 },  { "COUNT", true, false, 0 },
	{ "PRIORITY", true, false, 0 },
};

static double next_of(struct cli *cli, struct qless_str jid)
{
	const struct client_reply *reply =
		CLIENT_CALL(cli->client, STR("RECUR.NEXT"), jid, STR("1"));
	struct answer times = { 0 };
	double next = 0;

	if (reply != NULL && answer_parse(&times, client_reply_str(reply)))
		next = answer_number(yyjson_arr_get_first(times.root), NULL);
	answer_done(&times);
	return next;
}

static void show_recurring(struct cli *cli, struct table *t, yyjson_val *job, double now)
{
	struct qless_str cron = answer_str(job, "cron");
	struct buf every = BUF_INIT(BUF_NO_MAX);

	table_text(t, TABLE_PLAIN, answer_str(job, "jid"));
	table_text(t, TABLE_PLAIN, answer_str(job, "klass"));
	buf_append_str(&every, STR("every "));
	text_append_duration(&every, answer_number(job, "interval"));
	table_text(t, TABLE_PLAIN, cron.len > 0 ? cron : buf_str(&every));
	table_text(t, TABLE_PLAIN, answer_str(job, "tz"));
	cli_add_left(t, now, next_of(cli, answer_str(job, "jid")));
	table_count(t, TABLE_PLAIN, answer_number(job, "count"));
	table_count(t, TABLE_PLAIN, answer_number(job, "priority"));
	buf_done(&every);
}

static size_t show_recurring_page(struct cli *cli, struct table *t, size_t start, double now)
{
	struct answer page = { 0 };
	struct query q = { 0 };
	size_t found = 0;
	yyjson_arr_iter elements;
	yyjson_val *jid;

	query_words(&q, "JOBS recurring");
	query_text(&q, cli->args[0]);
	query_number(&q, (double)start);
	query_number(&q, PAGE);
	if (cli_ask_values(cli, &page, &q)) {
		found = yyjson_arr_size(page.root);
		elements = yyjson_arr_iter_with(page.root);
		while ((jid = yyjson_arr_iter_next(&elements)) != NULL) {
			struct query get = { 0 };
			struct answer job = { 0 };

			query_text(&get, "RECUR.GET");
			query_add(&get, answer_str(jid, NULL));
			if (cli->options.quiet)
				cli_print_text(cli, answer_str(jid, NULL));
			else if (!cli_ask_json(cli, &job, &get))
				found = 0;
			else if (cli->options.json)
				cli_print_json(cli, buf_str(&job.text));
			else
				show_recurring(cli, t, job.root, now);
			query_done(&get);
			answer_done(&job);
		}
		if (!cli->options.json && !cli->options.quiet)
			table_print(t, stdout);
	}
	query_done(&q);
	answer_done(&page);
	return cli->result == CLI_DONE ? found : 0;
}

void command_recurring(struct cli *cli)
{
	struct table *t =
		table_new(recurring_columns, sizeof recurring_columns / sizeof recurring_columns[0],
			  &cli->look);
	double now = cli_now(cli);
	size_t shown = 0, found;

	do {
		found = show_recurring_page(cli, t, shown, now);
		shown += found;
	} while (found == PAGE);
	table_free(t);
}
