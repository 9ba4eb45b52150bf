/*
 * qless show and why: one job.
 */
#include "cli/commands.h"
#include "cli/text.h"

/* Columns of the names of members. */
#define LABEL_COLUMNS 14

struct page {
	struct cli *cli;
	struct buf out;
	double now;
};

static void begin_line(struct page *p, const char *label)
{
	struct buf padded = BUF_INIT(BUF_NO_MAX);

	buf_printf(&padded, "%-*s", LABEL_COLUMNS, label);
	table_append_styled(&p->out, &p->cli->look, TABLE_BOLD, buf_str(&padded));
	buf_done(&padded);
}

static void end_line(struct page *p)
{
	while (p->out.len > 0 && buf_data(&p->out)[p->out.len - 1] == ' ')
		buf_truncate(&p->out, p->out.len - 1);
	buf_append_char(&p->out, '\n');
}

static void append_text(struct page *p, enum table_style style, struct qless_str text)
{
	struct buf safe = BUF_INIT(BUF_NO_MAX);

	text_append(&safe, text, p->cli->look.is_utf8);
	table_append_styled(&p->out, &p->cli->look, style, buf_str(&safe));
	buf_done(&safe);
}

static void add_text(struct page *p, const char *label, enum table_style style,
		     struct qless_str text)
{
	if (text.len == 0)
		return;
	begin_line(p, label);
	append_text(p, style, text);
	end_line(p);
}

/* A text of several lines, each on a line of its own. */
static void add_lines(struct page *p, const char *label, struct qless_str text)
{
	while (text.len > 0) {
		const char *lf = memchr(text.ptr, '\n', text.len);
		size_t len = lf != NULL ? (size_t)(lf - text.ptr) : text.len;

		begin_line(p, label);
		append_text(p, TABLE_PLAIN, str_make(text.ptr, len));
		end_line(p);
		label = "";
		text = str_make(text.ptr + len, text.len - len);
		if (text.len > 0)
			text = str_make(text.ptr + 1, text.len - 1);
	}
}

static void append_when(struct page *p, double when)
{
	text_append_time(&p->out, when);
	buf_append_str(&p->out, when > p->now ? STR(" (in ") : STR(" ("));
	text_append_duration(&p->out, when > p->now ? when - p->now : p->now - when);
	buf_append_str(&p->out, when > p->now ? STR(")") : STR(" ago)"));
}

static void add_when(struct page *p, const char *label, double when)
{
	if (when == 0)
		return;
	begin_line(p, label);
	append_when(p, when);
	end_line(p);
}

static void add_list(struct page *p, const char *label, yyjson_val *list)
{
	yyjson_arr_iter elements;
	yyjson_val *item;

	if (yyjson_arr_size(list) == 0)
		return;
	begin_line(p, label);
	elements = yyjson_arr_iter_with(list);
	while ((item = yyjson_arr_iter_next(&elements)) != NULL) {
		if (elements.idx > 1)
			buf_append_str(&p->out, STR(", "));
		append_text(p, TABLE_PLAIN, answer_str(item, NULL));
	}
	end_line(p);
}

/* A member that this program does not know: its value is shown as JSON. */
static void add_value(struct page *p, struct qless_str name, yyjson_val *value)
{
	struct buf json = BUF_INIT(BUF_NO_MAX), label = BUF_INIT(BUF_NO_MAX);

	text_append(&label, name, p->cli->look.is_utf8);
	if (yyjson_is_str(value))
		buf_append_str(&json, answer_str(value, NULL));
	else
		answer_append_value(&json, value);
	add_lines(p, buf_cstr(&label), buf_str(&json));
	buf_done(&json);
	buf_done(&label);
}

static bool is_known(struct qless_str name)
{
	static const struct qless_str known[] = {
		STR_INIT("jid"),
		STR_INIT("klass"),
		STR_INIT("queue"),
		STR_INIT("state"),
		STR_INIT("priority"),
		STR_INIT("retries"),
		STR_INIT("remaining"),
		STR_INIT("tags"),
		STR_INIT("dependencies"),
		STR_INIT("dependents"),
		STR_INIT("tracked"),
		STR_INIT("worker"),
		STR_INIT("expires"),
		STR_INIT("lock"),
		STR_INIT("failure"),
		STR_INIT("limits"),
		STR_INIT("data"),
		STR_INIT("history"),
		STR_INIT("spawned_from_jid"),
	};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		if (str_equal(name, known[i]))
			return true;
	}
	return false;
}

/* How long the job is kept after its end. */
static void add_retain(struct page *p, yyjson_val *value)
{
	if (!yyjson_is_num(value)) {
		add_text(p, "retain", TABLE_PLAIN, STR("until it is acknowledged"));
		return;
	}
	begin_line(p, "retain");
	text_append_duration(&p->out, answer_number(value, NULL));
	end_line(p);
}

static void add_other(struct page *p, struct qless_str name, yyjson_val *value)
{
	if (str_equal(name, STR("started")))
		add_when(p, "started", answer_number(value, NULL));
	else if (str_equal(name, STR("retain")))
		add_retain(p, value);
	else if (str_equal(name, STR("retained_until")))
		add_when(p, "kept until", answer_number(value, NULL));
	else
		add_value(p, name, value);
}

/* Members that only some jobs have, or that newer servers add. */
static void add_others(struct page *p, yyjson_val *job)
{
	yyjson_obj_iter members = yyjson_obj_iter_with(job);
	yyjson_val *key;

	while ((key = yyjson_obj_iter_next(&members)) != NULL) {
		struct qless_str name = answer_str(key, NULL);
		yyjson_val *value = yyjson_obj_iter_get_val(key);

		if (!is_known(name) && answer_has(value, NULL))
			add_other(p, name, value);
	}
}

static void add_event(struct page *p, yyjson_val *event)
{
	yyjson_obj_iter members = yyjson_obj_iter_with(event);
	yyjson_val *key;

	buf_append_str(&p->out, STR("  "));
	text_append_time(&p->out, answer_number(event, "when"));
	buf_append_str(&p->out, STR("  "));
	append_text(p, TABLE_PLAIN, answer_str(event, "what"));
	buf_append_char(&p->out, ' ');
	while ((key = yyjson_obj_iter_next(&members)) != NULL) {
		struct qless_str name = answer_str(key, NULL);

		if (str_equal(name, STR("when")) || str_equal(name, STR("what")))
			continue;
		cli_append_pair(p->cli, &p->out, str_equal(name, STR("q")) ? STR("queue") : name,
				yyjson_obj_iter_get_val(key));
	}
	end_line(p);
}

static void add_run(struct page *p, yyjson_val *job)
{
	struct qless_str worker = answer_str(job, "worker");
	double expires = answer_number(job, "expires");

	if (worker.len == 0)
		return;
	add_text(p, "worker", TABLE_PLAIN, worker);
	add_when(p, expires > p->now ? "lock expires" : "lock expired", expires);
	begin_line(p, "lock");
	buf_printf(&p->out, "%.0f", answer_number(job, "lock"));
	end_line(p);
}

static void add_failure(struct page *p, yyjson_val *failure)
{
	if (!answer_has(failure, "group"))
		return;
	add_text(p, "failed in", TABLE_RED, answer_str(failure, "group"));
	add_when(p, "failed at", answer_number(failure, "when"));
	add_text(p, "failed by", TABLE_PLAIN, answer_str(failure, "worker"));
	add_lines(p, "message", answer_str(failure, "message"));
}

static void add_job(struct page *p, yyjson_val *job)
{
	struct qless_str state = answer_str(job, "state");
	yyjson_val *history = answer_get(job, "history"), *event;
	yyjson_arr_iter elements;

	add_text(p, "job", TABLE_BOLD, answer_str(job, "jid"));
	add_text(p, "class", TABLE_PLAIN, answer_str(job, "klass"));
	add_text(p, "queue", TABLE_PLAIN, answer_str(job, "queue"));
	add_text(p, "state", cli_state_style(state), state);
	begin_line(p, "priority");
	buf_printf(&p->out, "%g", answer_number(job, "priority"));
	end_line(p);
	begin_line(p, "retries");
	buf_printf(&p->out, "%g of %g left", answer_number(job, "remaining"),
		   answer_number(job, "retries"));
	end_line(p);
	add_run(p, job);
	add_failure(p, answer_get(job, "failure"));
	add_list(p, "tags", answer_get(job, "tags"));
	add_list(p, "limits", answer_get(job, "limits"));
	add_list(p, "depends on", answer_get(job, "dependencies"));
	add_list(p, "needed by", answer_get(job, "dependents"));
	add_text(p, "spawned by", TABLE_PLAIN, answer_str(job, "spawned_from_jid"));
	if (answer_bool(job, "tracked"))
		add_text(p, "tracked", TABLE_PLAIN, STR("yes"));
	add_others(p, job);
	add_value(p, STR("data"), answer_get(job, "data"));
	if (yyjson_arr_size(history) > 0) {
		begin_line(p, "history");
		end_line(p);
	}
	elements = yyjson_arr_iter_with(history);
	while ((event = yyjson_arr_iter_next(&elements)) != NULL)
		add_event(p, event);
}

static void print_page(struct page *p)
{
	fwrite(buf_str(&p->out).ptr, 1, p->out.len, stdout);
	buf_done(&p->out);
}

static void complain_about_missing(struct cli *cli, const char *jid)
{
	struct buf safe = BUF_INIT(BUF_NO_MAX);

	text_append(&safe, str_from(jid), cli->look.is_utf8);
	cli_complain(cli, CLI_FAILED, "there is no job %s", buf_cstr(&safe));
	buf_done(&safe);
}

/* Asks about one job. `show` appends what people see. */
static void about_job(struct cli *cli, const char *command, const char *jid, bool is_json_reply,
		      bool is_first, void (*show)(struct page *p, yyjson_val *root))
{
	struct page page = { .cli = cli, .out = BUF_INIT(BUF_NO_MAX) };
	struct answer answer = { 0 };
	struct query q = { 0 };
	bool ok;

	query_text(&q, command);
	query_text(&q, jid);
	ok = is_json_reply ? cli_ask_json(cli, &answer, &q) : cli_ask_values(cli, &answer, &q);
	query_done(&q);
	if (ok && yyjson_is_null(answer.root)) {
		complain_about_missing(cli, jid);
	} else if (ok && cli->options.json) {
		cli_print_json(cli, buf_str(&answer.text));
	} else if (ok) {
		page.now = cli_now(cli);
		if (!is_first)
			buf_append_char(&page.out, '\n');
		show(&page, answer.root);
		print_page(&page);
	}
	answer_done(&answer);
}

void command_show(struct cli *cli)
{
	for (size_t i = 0; i < cli->arg_count && cli->result != CLI_NO_SERVER; i++)
		about_job(cli, "GET", cli->args[i], true, i == 0, add_job);
}

/* ---- why ---- */

static void add_holders(struct page *p, yyjson_val *holders)
{
	static const struct table_column columns[] = { { "  HOLDER", false, true, 0 },
						       { "QUEUE", false, true, 0 },
						       { "WORKER", false, true, 0 },
						       { "LOCK", true, false, 0 } };
	struct table *t = table_new(columns, 4, &p->cli->look);
	yyjson_arr_iter elements;
	yyjson_val *holder;

	elements = yyjson_arr_iter_with(holders);
	while ((holder = yyjson_arr_iter_next(&elements)) != NULL) {
		struct buf jid = BUF_INIT(BUF_NO_MAX);

		buf_append_str(&jid, STR("  "));
		buf_append_str(&jid, answer_str(holder, "jid"));
		table_text(t, TABLE_PLAIN, buf_str(&jid));
		table_text(t, TABLE_PLAIN, answer_str(holder, "queue"));
		table_text(t, TABLE_PLAIN, answer_str(holder, "worker"));
		cli_add_left(t, p->now, answer_number(holder, "expires"));
		buf_done(&jid);
	}
	if (yyjson_arr_size(holders) > 0)
		table_take(t, &p->out);
	table_free(t);
}

static void add_dependencies(struct page *p, yyjson_val *dependencies)
{
	static const struct table_column columns[] = { { "  WAITS FOR", false, true, 0 },
						       { "STATE", false, false, 0 },
						       { "QUEUE", false, true, 0 } };
	struct table *t = table_new(columns, 3, &p->cli->look);
	yyjson_arr_iter elements;
	yyjson_val *dependency;

	elements = yyjson_arr_iter_with(dependencies);
	while ((dependency = yyjson_arr_iter_next(&elements)) != NULL) {
		struct qless_str state = answer_str(dependency, "state");
		struct buf jid = BUF_INIT(BUF_NO_MAX);

		buf_append_str(&jid, STR("  "));
		buf_append_str(&jid, answer_str(dependency, "jid"));
		table_text(t, TABLE_PLAIN, buf_str(&jid));
		table_text(t, cli_state_style(state), state);
		table_text(t, TABLE_PLAIN, answer_str(dependency, "queue"));
		buf_done(&jid);
	}
	if (yyjson_arr_size(dependencies) > 0)
		table_take(t, &p->out);
	table_free(t);
}

static void add_reason(struct page *p, yyjson_val *why)
{
	struct qless_str state = answer_str(why, "state");
	double left = answer_number(why, "dependencies-left");

	append_text(p, TABLE_BOLD, answer_str(why, "jid"));
	buf_append_str(&p->out, STR(" in queue "));
	append_text(p, TABLE_PLAIN, answer_str(why, "queue"));
	buf_append_str(&p->out, STR(": "));
	append_text(p, cli_state_style(state), state);
	if (answer_bool(why, "paused"))
		buf_append_str(&p->out, STR(", the queue is paused"));
	buf_append_char(&p->out, '\n');
	append_text(p, TABLE_PLAIN, answer_str(why, "explanation"));
	buf_append_char(&p->out, '\n');
	add_lines(p, "message", answer_str(why, "message"));
	add_holders(p, answer_get(why, "holders"));
	add_dependencies(p, answer_get(why, "dependencies"));
	if (left > (double)yyjson_arr_size(answer_get(why, "dependencies")))
		buf_printf(&p->out, "  and others: %.0f in all\n", left);
	add_when(p, "opens", answer_number(why, "opens"));
	add_when(p, "due", answer_number(why, "due"));
	if (answer_has(why, "place")) {
		begin_line(p, "jobs before");
		buf_printf(&p->out, "%.0f\n", answer_number(why, "place"));
	}
}

void command_why(struct cli *cli)
{
	for (size_t i = 0; i < cli->arg_count && cli->result != CLI_NO_SERVER; i++)
		about_job(cli, "JOB.WHY", cli->args[i], false, i == 0, add_reason);
}
