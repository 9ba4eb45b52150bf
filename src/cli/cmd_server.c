/*
 * qless info and call: the server at a glance, and any command.
 */
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/text.h"
#include "util/json.h"
#include "util/num.h"

#define LABEL_COLUMNS 10

static void begin(struct cli *cli, struct buf *out, const char *label)
{
	struct buf padded = BUF_INIT(BUF_NO_MAX);

	buf_printf(&padded, "%-*s", LABEL_COLUMNS, label);
	table_append_styled(out, &cli->look, TABLE_BOLD, buf_str(&padded));
	buf_done(&padded);
}

static void add_server(struct cli *cli, struct buf *out, const struct figures *f)
{
	struct buf address = BUF_INIT(BUF_NO_MAX);

	client_settings_print_address(&cli->server.settings, &address);
	begin(cli, out, "server");
	buf_append_str(out, STR("qlessd "));
	text_append(out, figures_text(f, "qlessd_version"), cli->look.is_utf8);
	buf_append_str(out, STR(" at "));
	text_append(out, buf_str(&address), cli->look.is_utf8);
	buf_append_str(out, STR(", up for "));
	text_append_duration(out, figures_number(f, "uptime_in_seconds"));
	buf_append_char(out, '\n');
	buf_done(&address);
}

static void add_memory(struct cli *cli, struct buf *out, const struct figures *f)
{
	double most = figures_number(f, "maxmemory");

	begin(cli, out, "memory");
	text_append_bytes(out, figures_number(f, "used_memory"));
	if (most > 0) {
		buf_append_str(out, STR(" of "));
		text_append_bytes(out, most);
	}
	buf_append_str(out, STR(", resident "));
	text_append_bytes(out, figures_number(f, "used_memory_rss"));
	buf_append_char(out, '\n');
}

static void add_log(struct cli *cli, struct buf *out, const struct figures *f)
{
	struct qless_str state = figures_text(f, "log_state"), error = figures_text(f, "log_error");
	struct buf text = BUF_INIT(BUF_NO_MAX);

	begin(cli, out, "log");
	text_append(&text, state, cli->look.is_utf8);
	table_append_styled(out, &cli->look, str_equal(state, STR("ok")) ? TABLE_GREEN : TABLE_RED,
			    buf_str(&text));
	buf_append_str(out, STR(", "));
	text_append_bytes(out, figures_number(f, "log_bytes") + figures_number(f, "aof_base_size"));
	if (error.len > 0) {
		buf_append_str(out, STR(": "));
		text_append(out, error, cli->look.is_utf8);
	}
	buf_append_char(out, '\n');
	buf_done(&text);
}

/* A line with a total and its parts. It is broken where the terminal ends. */
struct line {
	struct cli *cli;
	struct buf *out;
	const struct figures *figures;
	size_t columns;
	bool has_parts;
};

static struct line begin_total(struct cli *cli, struct buf *out, const struct figures *f,
			       const char *label, const char *figure)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct line line = { .cli = cli, .out = out, .figures = f };

	begin(cli, out, label);
	text_append_count(&text, figures_number(f, figure));
	buf_append_str(out, buf_str(&text));
	line.columns = LABEL_COLUMNS + text.len;
	buf_done(&text);
	return line;
}

/* Adds a part of the total, if it is not 0. */
static void add_part(struct line *line, const char *figure, const char *name,
		     enum table_style style)
{
	const struct table_look *look = &line->cli->look;
	double value = figures_number(line->figures, figure);
	struct buf text = BUF_INIT(BUF_NO_MAX);

	if (value == 0)
		return;
	text_append_count(&text, value);
	buf_printf(&text, " %s", name);
	buf_append_char(line->out, line->has_parts ? ',' : ':');
	/* The comma after it also takes a column. */
	if (look->width > 0 && line->columns + 2 + text.len + 1 > look->width) {
		buf_printf(line->out, "\n%*s", LABEL_COLUMNS - 1, "");
		line->columns = LABEL_COLUMNS - 2;
	}
	buf_append_char(line->out, ' ');
	table_append_styled(line->out, look, style, buf_str(&text));
	line->columns += 2 + text.len;
	line->has_parts = true;
	buf_done(&text);
}

static void add_counts(struct cli *cli, struct buf *out, const struct figures *f)
{
	struct line line = begin_total(cli, out, f, "clients", "connected_clients");

	add_part(&line, "blocked_clients", "waiting for jobs", TABLE_PLAIN);
	add_part(&line, "attached_workers", "attached workers", TABLE_PLAIN);
	buf_append_char(out, '\n');
	line = begin_total(cli, out, f, "queues", "queues");
	add_part(&line, "queues_paused", "paused", TABLE_YELLOW);
	add_part(&line, "queues_without_listeners", "with jobs and no worker", TABLE_YELLOW);
	buf_append_char(out, '\n');
	line = begin_total(cli, out, f, "jobs", "jobs");
	add_part(&line, "jobs_waiting", "waiting", TABLE_PLAIN);
	add_part(&line, "jobs_running", "running", TABLE_GREEN);
	add_part(&line, "jobs_stalled", "stalled", TABLE_YELLOW);
	add_part(&line, "jobs_scheduled", "scheduled", TABLE_PLAIN);
	add_part(&line, "jobs_depends", "depending on others", TABLE_PLAIN);
	add_part(&line, "jobs_failed", "failed", TABLE_RED);
	add_part(&line, "jobs_complete", "complete", TABLE_DIM);
	buf_append_char(out, '\n');
	begin_total(cli, out, f, "limits", "limits");
	buf_append_char(out, '\n');
}

/* All figures as members of an object, numbers as numbers. */
static void append_json(struct buf *out, struct qless_str text)
{
	bool is_first = true;

	buf_append_char(out, '{');
	while (text.len > 0) {
		const char *lf = memchr(text.ptr, '\n', text.len);
		size_t len = lf != NULL ? (size_t)(lf - text.ptr) : text.len;
		struct qless_str line = str_make(text.ptr, len), value;
		const char *colon = memchr(line.ptr, ':', line.len);
		double number;

		text = str_make(text.ptr + len, text.len - len);
		if (text.len > 0)
			text = str_make(text.ptr + 1, text.len - 1);
		if (line.len > 0 && line.ptr[line.len - 1] == '\r')
			line.len--;
		if (colon == NULL)
			continue;
		value = str_make(colon + 1, (size_t)(line.ptr + line.len - colon) - 1);
		if (!is_first)
			buf_append_char(out, ',');
		is_first = false;
		json_append_string(out, str_make(line.ptr, (size_t)(colon - line.ptr)));
		buf_append_char(out, ':');
		if (num_parse_double(value, &number))
			json_append_number(out, number);
		else
			json_append_string(out, value);
	}
	buf_append_char(out, '}');
}

void command_info(struct cli *cli)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);
	struct figures f;

	if (!figures_read(cli, &f, "server clients memory persistence stats queues", true)) {
		figures_done(&f);
		return;
	}
	if (cli->options.json) {
		append_json(&out, buf_str(&f.text));
		cli_print_json(cli, buf_str(&out));
	} else {
		add_server(cli, &out, &f);
		add_memory(cli, &out, &f);
		add_log(cli, &out, &f);
		add_counts(cli, &out, &f);
		fwrite(buf_data(&out), 1, out.len, stdout);
	}
	buf_done(&out);
	figures_done(&f);
}

void command_call(struct cli *cli)
{
	struct buf json = BUF_INIT(BUF_NO_MAX);
	const struct client_reply *reply;
	struct query q = { 0 };

	for (size_t i = 0; i < cli->arg_count; i++)
		query_text(&q, cli->args[i]);
	reply = cli_call_query(cli, &q);
	query_done(&q);
	if (reply == NULL)
		return;
	if (reply->type == CLIENT_REPLY_STRING && !cli->options.json) {
		cli_print_text(cli, client_reply_str(reply));
	} else {
		answer_append_reply(&json, reply);
		cli_print_json(cli, buf_str(&json));
	}
	buf_done(&json);
}
