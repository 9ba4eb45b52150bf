/*
 * qless workers: those that hold jobs, those that are attached, and those that wait.
 */
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/text.h"
#include "util/json.h"
#include "util/mem.h"

static const struct table_column columns[] = {
	{ "WORKER", false, true, 0 },	 { "JOBS", true, false, 0 },  { "STALLED", true, false, 0 },
	{ "ATTACHED", false, false, 0 }, { "NODE", false, true, 0 },  { "PID", true, false, 0 },
	{ "ADDRESS", false, true, 0 },	 { "SINCE", true, false, 0 }, { "IDLE", true, false, 0 },
	{ "QUEUES", false, true, 0 },
};

/* A worker may be known for its jobs, for its connection, or for both. */
struct worker {
	struct qless_str name;
	yyjson_val *counts;	/* of WORKERS, or NULL */
	yyjson_val *connection; /* of WORKER.LIST, or NULL */
};

static int compare(const void *a, const void *b)
{
	const struct worker *x = a, *y = b;

	return str_compare(x->name, y->name);
}

/* Joins both lists by name. Returns the number of workers. */
static size_t join(yyjson_val *counts, yyjson_val *connections, struct worker **ret_workers)
{
	size_t known = yyjson_arr_size(counts), count = 0;
	yyjson_arr_iter elements;
	struct worker *workers =
		mem_realloc_array(NULL, known + yyjson_arr_size(connections) + 1, sizeof *workers);
	yyjson_val *value;

	elements = yyjson_arr_iter_with(counts);
	while ((value = yyjson_arr_iter_next(&elements)) != NULL)
		workers[count++] = (struct worker){ answer_str(value, "name"), value, NULL };
	if (count > 0)
		qsort(workers, count, sizeof *workers, compare);
	known = count;
	elements = yyjson_arr_iter_with(connections);
	while ((value = yyjson_arr_iter_next(&elements)) != NULL) {
		struct worker key = { .name = answer_str(value, "name") };
		struct worker *found =
			known > 0 ? bsearch(&key, workers, known, sizeof key, compare) : NULL;

		/* Several clients may wait under one name. */
		if (found != NULL && found->connection == NULL)
			found->connection = value;
		else
			workers[count++] =
				(struct worker){ key.name, found != NULL ? found->counts : NULL,
						 value };
	}
	if (count > 0)
		qsort(workers, count, sizeof *workers, compare);
	*ret_workers = workers;
	return count;
}

static void add_queues(struct table *t, yyjson_val *queues)
{
	struct buf list = BUF_INIT(BUF_NO_MAX);
	yyjson_arr_iter elements;
	yyjson_val *queue;

	elements = yyjson_arr_iter_with(queues);
	while ((queue = yyjson_arr_iter_next(&elements)) != NULL) {
		if (elements.idx > 1)
			buf_append_char(&list, ' ');
		buf_append_str(&list, answer_str(queue, NULL));
	}
	table_text(t, TABLE_PLAIN, buf_str(&list));
	buf_done(&list);
}

static void add_worker(struct table *t, const struct worker *w, double now)
{
	yyjson_val *c = w->connection;
	struct buf pid = BUF_INIT(BUF_NO_MAX);

	table_text(t, TABLE_PLAIN, w->name);
	table_count(t, TABLE_GREEN,
		    w->counts != NULL ? answer_number(w->counts, "jobs")
				      : answer_number(c, "jobs"));
	table_count(t, TABLE_YELLOW, answer_number(w->counts, "stalled"));
	table_safe(t, TABLE_PLAIN,
		   c == NULL			? STR("-")
		   : answer_bool(c, "attached") ? STR("yes")
						: STR("waits"));
	table_text(t, TABLE_PLAIN, answer_str(c, "node"));
	if (answer_number(c, "pid") > 0)
		buf_printf(&pid, "%.0f", answer_number(c, "pid"));
	table_safe(t, TABLE_PLAIN, buf_str(&pid));
	table_text(t, TABLE_PLAIN, answer_str(c, "address"));
	cli_add_age(t, now, answer_number(c, "since"));
	cli_add_age(t, c != NULL ? answer_number(c, "idle") + 1 : 0, c != NULL ? 1 : 0);
	add_queues(t, answer_get(c, "queues"));
	buf_done(&pid);
}

static void append_json(struct buf *out, const struct worker *w)
{
	buf_append_str(out, STR("{\"name\":"));
	json_append_string(out, w->name);
	buf_append_str(out, STR(",\"jobs\":"));
	json_append_number(out, w->counts != NULL ? answer_number(w->counts, "jobs")
						  : answer_number(w->connection, "jobs"));
	buf_append_str(out, STR(",\"stalled\":"));
	json_append_number(out, answer_number(w->counts, "stalled"));
	buf_append_str(out, STR(",\"connection\":"));
	answer_append_value(out, w->connection);
	buf_append_char(out, '}');
}

static void show_all(struct cli *cli)
{
	struct answer counts = { 0 }, connections = { 0 };
	struct worker *workers = NULL;
	struct table *t = table_new(columns, sizeof columns / sizeof columns[0], &cli->look);
	struct buf json = BUF_INIT(BUF_NO_MAX);
	double now = cli_now(cli);
	size_t count;

	if (!cli_ask_json_words(cli, &counts, "WORKERS") ||
	    !cli_ask_json_words(cli, &connections, "WORKER.LIST"))
		goto done;
	count = join(counts.root, connections.root, &workers);
	buf_append_char(&json, '[');
	for (size_t i = 0; i < count; i++) {
		if (cli->options.quiet)
			cli_print_text(cli, workers[i].name);
		buf_append_str(&json, i > 0 ? STR(",") : STR(""));
		append_json(&json, &workers[i]);
		add_worker(t, &workers[i], now);
	}
	buf_append_char(&json, ']');
	if (cli->options.json)
		cli_print_json(cli, buf_str(&json));
	else if (!cli->options.quiet)
		table_print(t, stdout);
done:
	free(workers);
	buf_done(&json);
	answer_done(&counts);
	answer_done(&connections);
	table_free(t);
}

static const struct table_column job_columns[] = {
	{ "JOB", false, true, 0 },
	{ "STATE", false, false, 0 },
};

static const struct table_column day_columns[] = {
	{ "DAY", false, false, 0 },   { "POPPED", true, false, 0 }, { "COMPLETED", true, false, 0 },
	{ "FAILED", true, false, 0 }, { "LOST", true, false, 0 },
};

static void add_jobs(struct table *t, yyjson_val *jids, struct qless_str state)
{
	yyjson_arr_iter elements;
	yyjson_val *jid;

	elements = yyjson_arr_iter_with(jids);
	while ((jid = yyjson_arr_iter_next(&elements)) != NULL) {
		table_text(t, TABLE_PLAIN, answer_str(jid, NULL));
		table_safe(t, cli_state_style(state), state);
	}
}

static void add_day(struct table *t, yyjson_val *day)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	text_append_time(&text, answer_number(day, "day"));
	table_safe(t, TABLE_PLAIN, str_make(buf_str(&text).ptr, text.len < 10 ? text.len : 10));
	table_count(t, TABLE_PLAIN, answer_number(day, "popped"));
	table_count(t, TABLE_PLAIN, answer_number(day, "completed"));
	table_count(t, TABLE_RED, answer_number(day, "failed"));
	table_count(t, TABLE_YELLOW, answer_number(day, "lost"));
	buf_done(&text);
}

static void show_one(struct cli *cli)
{
	struct table *jobs = table_new(job_columns, 2, &cli->look);
	struct table *days = table_new(day_columns, 5, &cli->look);
	struct answer worker = { 0 };
	struct query q = { 0 };
	yyjson_arr_iter elements;
	yyjson_val *day;

	query_text(&q, "WORKERS");
	query_text(&q, cli->args[0]);
	if (!cli_ask_json(cli, &worker, &q))
		goto done;
	if (cli->options.json) {
		cli_print_json(cli, buf_str(&worker.text));
		goto done;
	}
	add_jobs(jobs, answer_get(worker.root, "jobs"), STR("running"));
	add_jobs(jobs, answer_get(worker.root, "stalled"), STR("stalled"));
	elements = yyjson_arr_iter_with(answer_get(worker.root, "days"));
	while ((day = yyjson_arr_iter_next(&elements)) != NULL)
		add_day(days, day);
	table_print(jobs, stdout);
	if (table_rows(days) > 0) {
		fputc('\n', stdout);
		table_print(days, stdout);
	}
done:
	query_done(&q);
	answer_done(&worker);
	table_free(jobs);
	table_free(days);
}

void command_workers(struct cli *cli)
{
	if (cli->arg_count == 0)
		show_all(cli);
	else
		show_one(cli);
}
