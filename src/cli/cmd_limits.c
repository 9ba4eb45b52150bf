/*
 * qless limits and limit: how many jobs may run, and what holds them.
 */
#include <math.h>

#include "cli/commands.h"
#include "cli/text.h"

#define PAGE "500"

static const struct table_column columns[] = {
	{ "LIMIT", false, true, 0 },	   { "RULE", false, true, 0 },
	{ "CONCURRENCY", true, false, 0 }, { "RATE", true, false, 0 },
	{ "RUNNING", true, false, 0 },	   { "WAITING", true, false, 0 },
	{ "STATE", false, false, 0 },	   { "OPENS", true, false, 0 },
};

static enum table_style state_style(struct qless_str state)
{
	if (str_equal(state, STR("open")))
		return TABLE_GREEN;
	return str_equal(state, STR("full")) || str_equal(state, STR("held")) ? TABLE_YELLOW
									      : TABLE_PLAIN;
}

static void add_rate(struct table *t, yyjson_val *limit)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	double rate = answer_number(limit, "rate"), per = answer_number(limit, "per");

	if (rate > 0) {
		buf_printf(&text, "%g/", rate);
		if (per != 1)
			text_append_duration(&text, per);
		else
			buf_append_char(&text, 's');
	} else {
		buf_append_char(&text, '-');
	}
	table_safe(t, rate > 0 ? TABLE_PLAIN : TABLE_DIM, buf_str(&text));
	buf_done(&text);
}

static void add_limit(struct table *t, yyjson_val *limit, double now)
{
	struct qless_str state = answer_str(limit, "state");
	double concurrency = answer_number(limit, "concurrency");
	double opens = fmax(answer_number(limit, "opens"), answer_number(limit, "held-until"));

	table_text(t, TABLE_PLAIN, answer_str(limit, "name"));
	table_text(t, TABLE_PLAIN, answer_str(limit, "rule"));
	if (concurrency > 0)
		table_count(t, TABLE_PLAIN, concurrency);
	else
		table_safe(t, TABLE_DIM, STR("-"));
	add_rate(t, limit);
	table_count(t, TABLE_GREEN, answer_number(limit, "running"));
	table_count(t, TABLE_PLAIN, answer_number(limit, "waiting"));
	table_text(t, state_style(state), state);
	cli_add_left(t, now, opens);
}

/* Shows the limits of a page. Returns the cursor of the next page in `cursor`. */
static bool show_page(struct cli *cli, struct table *t, struct buf *cursor, double now)
{
	struct answer page = { 0 };
	struct query q = { 0 };
	yyjson_arr_iter elements;
	yyjson_val *limit;
	bool ok;

	query_text(&q, "LIMIT.LIST");
	if (cli->arg_count > 0) {
		query_text(&q, "MATCH");
		query_text(&q, cli->args[0]);
	}
	query_text(&q, "CURSOR");
	query_add(&q, buf_str(cursor));
	query_words(&q, "COUNT " PAGE);
	ok = cli_ask_values(cli, &page, &q);
	query_done(&q);
	buf_clear(cursor);
	buf_append_str(cursor, answer_str(yyjson_arr_get(page.root, 0), NULL));
	elements = yyjson_arr_iter_with(yyjson_arr_get(page.root, 1));
	while ((limit = yyjson_arr_iter_next(&elements)) != NULL) {
		struct buf json = BUF_INIT(BUF_NO_MAX);

		answer_append_value(&json, limit);
		if (cli->options.json)
			cli_print_json(cli, buf_str(&json));
		else if (cli->options.quiet)
			cli_print_text(cli, answer_str(limit, "name"));
		else
			add_limit(t, limit, now);
		buf_done(&json);
	}
	answer_done(&page);
	return ok && cursor->len > 0 && !str_equal(buf_str(cursor), STR("0"));
}

void command_limits(struct cli *cli)
{
	struct table *t = table_new(columns, sizeof columns / sizeof columns[0], &cli->look);
	struct buf cursor = BUF_INIT(BUF_NO_MAX);
	double now = cli_now(cli);
	bool more;

	buf_append_char(&cursor, '0');
	do {
		more = show_page(cli, t, &cursor, now);
		if (!cli->options.json && !cli->options.quiet && cli->result == CLI_DONE &&
		    (table_rows(t) > 0 || !more))
			table_print(t, stdout);
	} while (more && !cli_output_is_gone());
	buf_done(&cursor);
	table_free(t);
}

/* ---- one limit ---- */

static void add_option(struct query *q, const char *name, const char *value)
{
	if (value == NULL)
		return;
	query_text(q, name);
	query_text(q, value);
}

static bool add_duration(struct cli *cli, struct query *q, const char *name, const char *option,
			 const char *value)
{
	double seconds;

	if (value == NULL)
		return true;
	if (!cli_parse_duration(cli, option, value, &seconds))
		return false;
	query_text(q, name);
	query_number(q, seconds);
	return true;
}

/* LIMIT.SET replaces the whole rule. */
static bool set_rule(struct cli *cli)
{
	const struct cli_options *o = &cli->options;
	struct query q = { 0 };
	bool ok;

	query_text(&q, "LIMIT.SET");
	query_text(&q, cli->args[0]);
	add_option(&q, "CONCURRENCY", o->concurrency);
	add_option(&q, "RATE", o->rate);
	ok = add_duration(cli, &q, "PER", "per", o->rate != NULL && o->per == NULL ? "1" : o->per);
	add_option(&q, "BURST", o->burst);
	add_option(&q, "WEIGHT", o->weight);
	ok = ok && add_duration(cli, &q, "TTL", "ttl", o->ttl) && cli_call_query(cli, &q) != NULL;
	query_done(&q);
	return ok;
}

static bool hold(struct cli *cli)
{
	struct query q = { 0 };
	double seconds;
	bool ok = false;

	if (cli_parse_duration(cli, "hold", cli->options.hold, &seconds)) {
		query_text(&q, "LIMIT.HOLD");
		query_text(&q, cli->args[0]);
		query_number(&q, seconds);
		ok = cli_call_query(cli, &q) != NULL;
	}
	query_done(&q);
	return ok;
}

static void show_holders(struct cli *cli, yyjson_val *holders, double now)
{
	static const struct table_column holder_columns[] = { { "HOLDER", false, true, 0 },
							      { "QUEUE", false, true, 0 },
							      { "WORKER", false, true, 0 },
							      { "LOCK", true, false, 0 } };
	struct table *t = table_new(holder_columns, 4, &cli->look);
	yyjson_arr_iter elements;
	yyjson_val *holder;

	elements = yyjson_arr_iter_with(holders);
	while ((holder = yyjson_arr_iter_next(&elements)) != NULL) {
		table_text(t, TABLE_PLAIN, answer_str(holder, "jid"));
		table_text(t, TABLE_PLAIN, answer_str(holder, "queue"));
		table_text(t, TABLE_PLAIN, answer_str(holder, "worker"));
		cli_add_left(t, now, answer_number(holder, "expires"));
	}
	if (yyjson_arr_size(holders) > 0) {
		fputc('\n', stdout);
		table_print(t, stdout);
	}
	table_free(t);
}

static void show_limit(struct cli *cli)
{
	struct answer limit = { 0 };
	struct query q = { 0 };
	double now = cli_now(cli);

	query_text(&q, "LIMIT.GET");
	query_text(&q, cli->args[0]);
	if (!cli_ask_values(cli, &limit, &q))
		goto done;
	if (cli->options.json) {
		cli_print_json(cli, buf_str(&limit.text));
	} else if (yyjson_is_null(limit.root)) {
		cli_complain(cli, CLI_FAILED, "there is no such limit");
	} else {
		struct table *t =
			table_new(columns, sizeof columns / sizeof columns[0], &cli->look);

		add_limit(t, limit.root, now);
		table_print(t, stdout);
		show_holders(cli, answer_get(limit.root, "holders"), now);
		table_free(t);
	}
done:
	query_done(&q);
	answer_done(&limit);
}

static void delete_rule(struct cli *cli)
{
	const struct client_reply *reply =
		CLI_CALL(cli, STR("LIMIT.DELETE"), str_from(cli->args[0]));

	if (reply == NULL)
		return;
	if (cli->options.json)
		cli_print_json(cli, reply->integer > 0 ? STR("{\"changed\":1}")
						       : STR("{\"changed\":0}"));
	else if (reply->integer == 0)
		cli_complain(cli, CLI_FAILED, "there is no such rule");
	else if (!cli->options.quiet)
		puts("the rule is deleted");
}

void command_limit(struct cli *cli)
{
	const struct cli_options *o = &cli->options;
	bool is_rule = o->concurrency != NULL || o->rate != NULL || o->per != NULL ||
		       o->burst != NULL || o->weight != NULL || o->ttl != NULL;

	if ((o->hold != NULL) + is_rule + o->remove > 1) {
		cli_complain(cli, CLI_USAGE, "give either a rule, or --hold, or --delete");
		return;
	}
	if (o->remove) {
		delete_rule(cli);
		return;
	}
	if ((is_rule && !set_rule(cli)) || (o->hold != NULL && !hold(cli)))
		return;
	show_limit(cli);
}
