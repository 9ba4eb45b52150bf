/*
 * qless top: the server and its queues, again and again.
 *
 * On a terminal it draws on the whole screen and obeys keys. Elsewhere it prints the same as plain
 * text, or JSON, once unless --count says otherwise.
 */
#include <math.h>
#include <poll.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/screen.h"
#include "cli/text.h"
#include "cli/width.h"
#include "sys/clock.h"
#include "util/json.h"
#include "util/mem.h"

#define INTERVAL_S 2.0
/* Seconds to wait for a reply at most: a person is watching. */
#define REPLY_S 5.0

static const struct table_column columns[] = {
	{ "QUEUE", false, true, 0 },  { "WAIT", true, false, 0 },   { "RUN", true, false, 0 },
	{ "STALL", true, false, 0 },  { "SCHED", true, false, 2 },  { "DEPS", true, false, 3 },
	{ "FAILED", true, false, 0 }, { "PUT/s", true, false, 0 },  { "DONE/s", true, false, 0 },
	{ "FAIL/s", true, false, 1 }, { "OLDEST", true, false, 0 }, { "WORKERS", true, false, 0 },
};

enum sort_key { SORT_WAITING, SORT_RUNNING, SORT_FAILED, SORT_NAME };

static const struct {
	const char *name;
	const char *figure; /* NULL: the name */
} sorts[] = {
	[SORT_WAITING] = { "waiting", "waiting" },
	[SORT_RUNNING] = { "running", "running" },
	[SORT_FAILED] = { "failed", "failed" },
	[SORT_NAME] = { "name", NULL },
};

#define SORT_COUNT (sizeof sorts / sizeof sorts[0])

struct top {
	struct cli *cli;
	struct figures figures;
	bool has_figures;
	struct buf trouble; /* why the figures are old */
	double at;	    /* time of the figures */
	size_t sort;
	size_t first; /* row at the top of the screen */
	size_t shown; /* rows on the screen */
};

/* ---- the figures ---- */

static bool refresh(struct top *top)
{
	struct cli *cli = top->cli;
	const struct client_reply *reply;
	struct figures fresh;
	static const struct qless_str request[] = { STR_INIT("INFO"),	     STR_INIT("server"),
						    STR_INIT("clients"),     STR_INIT("memory"),
						    STR_INIT("persistence"), STR_INIT("queues") };

	reply = client_call(cli->client, request, sizeof request / sizeof request[0]);
	buf_clear(&top->trouble);
	if (reply == NULL)
		text_append(&top->trouble, str_from(client_error(cli->client)), cli->look.is_utf8);
	else if (client_reply_is_error(reply))
		text_append(&top->trouble, client_reply_str(reply), cli->look.is_utf8);
	if (top->trouble.len > 0)
		return false;
	figures_parse(cli, &fresh, client_reply_str(reply));
	figures_done(&top->figures);
	top->figures = fresh;
	top->has_figures = true;
	top->at = figures_number(&fresh, "server_time_usec") / 1e6;
	return true;
}

struct order {
	const struct figures_queue *queue;
	double key;
};

static int compare(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return str_compare(x->queue->name, y->queue->name);
}

/* Returns the queues in the order of the screen, which the caller frees. */
static struct order *sort(const struct top *top)
{
	size_t count = top->figures.count;
	struct order *order = mem_realloc_array(NULL, count + 1, sizeof *order);

	for (size_t i = 0; i < count; i++) {
		order[i].queue = &top->figures.queues[i];
		order[i].key = sorts[top->sort].figure != NULL
				       ? figures_of(order[i].queue, sorts[top->sort].figure)
				       : 0;
	}
	if (count > 0)
		qsort(order, count, sizeof *order, compare);
	return order;
}

/* ---- for people ---- */

static void append_figure(struct buf *out, const struct top *top, const char *name,
			  const char *label, enum table_style style)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	double value = figures_number(&top->figures, name);

	text_append_count(&text, value);
	buf_printf(&text, " %s", label);
	buf_append_str(out, STR("  "));
	table_append_styled(out, &top->cli->look, value == 0 ? TABLE_DIM : style, buf_str(&text));
	buf_done(&text);
}

static double sum_of(const struct top *top, const char *name)
{
	double sum = 0;

	for (size_t i = 0; i < top->figures.count; i++)
		sum += figures_of(&top->figures.queues[i], name);
	return sum;
}

static void append_head(struct buf *out, const struct top *top)
{
	const struct figures *f = &top->figures;
	struct cli *cli = top->cli;
	struct buf line = BUF_INIT(BUF_NO_MAX), state = BUF_INIT(BUF_NO_MAX);

	text_append(&state, figures_text(f, "log_state"), cli->look.is_utf8);
	table_append_styled(&line, &cli->look, TABLE_BOLD, STR("qlessd"));
	buf_append_char(&line, ' ');
	client_settings_print_address(&cli->server.settings, &line);
	buf_append_str(&line, STR("  up "));
	text_append_duration(&line, figures_number(f, "uptime_in_seconds"));
	buf_append_str(&line, STR("  "));
	text_append_bytes(&line, figures_number(f, "used_memory"));
	buf_printf(&line, "  clients %.0f  log ", figures_number(f, "connected_clients"));
	table_append_styled(&line, &cli->look,
			    str_equal(buf_str(&state), STR("ok")) ? TABLE_PLAIN : TABLE_RED,
			    buf_str(&state));
	buf_append_str(&line, STR("  "));
	text_append_time_of_day(&line, top->at);
	buf_append_char(&line, '\n');
	buf_append_str(&line, STR("jobs"));
	append_figure(&line, top, "jobs_waiting", "waiting", TABLE_PLAIN);
	append_figure(&line, top, "jobs_running", "running", TABLE_GREEN);
	append_figure(&line, top, "jobs_stalled", "stalled", TABLE_YELLOW);
	append_figure(&line, top, "jobs_scheduled", "scheduled", TABLE_PLAIN);
	append_figure(&line, top, "jobs_failed", "failed", TABLE_RED);
	buf_append_char(&line, '\n');
	buf_printf(&line, "rate  %.1f/s put  %.1f/s popped  %.1f/s completed  %.1f/s failed",
		   sum_of(top, "put_rate_1m"), sum_of(top, "pop_rate_1m"),
		   sum_of(top, "complete_rate_1m"), sum_of(top, "fail_rate_1m"));
	buf_append_char(&line, '\n');
	buf_append_str(out, buf_str(&line));
	buf_done(&line);
	buf_done(&state);
}

static void add_rate(struct table *t, enum table_style style, double rate)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	buf_printf(&text, "%.1f", rate);
	table_safe(t, rate < 0.05 ? TABLE_DIM : style, buf_str(&text));
	buf_done(&text);
}

static void add_queue(struct table *t, const struct figures_queue *q)
{
	double waiting = figures_of(q, "waiting"), listeners = figures_of(q, "listeners");

	table_text(t, TABLE_PLAIN, q->name);
	table_count(t, TABLE_PLAIN, waiting);
	table_count(t, TABLE_GREEN, figures_of(q, "running"));
	table_count(t, TABLE_YELLOW, figures_of(q, "stalled"));
	table_count(t, TABLE_PLAIN, figures_of(q, "scheduled"));
	table_count(t, TABLE_PLAIN, figures_of(q, "depends"));
	table_count(t, TABLE_RED, figures_of(q, "failed"));
	add_rate(t, TABLE_PLAIN, figures_of(q, "put_rate_1m"));
	add_rate(t, TABLE_PLAIN, figures_of(q, "complete_rate_1m"));
	add_rate(t, TABLE_RED, figures_of(q, "fail_rate_1m"));
	if (waiting > 0)
		cli_add_age(t, figures_of(q, "oldest_wait") + 1, 1);
	else
		table_safe(t, TABLE_DIM, STR("-"));
	cli_add_listeners(t, listeners, waiting > 0, figures_of(q, "paused") > 0);
}

/* Appends the queues from top->first on, in at most `rows` lines with the titles. */
static void append_queues(struct buf *out, struct top *top, size_t rows)
{
	struct table *t = table_new(columns, sizeof columns / sizeof columns[0], &top->cli->look);
	struct order *order = sort(top);
	size_t count = top->figures.count;

	top->shown = rows > 1 ? rows - 1 : 0;
	if (top->first + top->shown > count)
		top->first = count > top->shown ? count - top->shown : 0;
	for (size_t i = top->first; i < count && i - top->first < top->shown; i++)
		add_queue(t, order[i].queue);
	table_take(t, out);
	free(order);
	table_free(t);
}

static void print_plain(struct top *top)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);

	append_head(&out, top);
	buf_append_char(&out, '\n');
	append_queues(&out, top, SIZE_MAX);
	fwrite(buf_data(&out), 1, out.len, stdout);
	fflush(stdout);
	buf_done(&out);
}

/* ---- for programs ---- */

static void append_queue_json(struct buf *out, const struct figures_queue *q)
{
	static const struct {
		const char *figure, *member;
	} members[] = {
		{ "waiting", "waiting" },	 { "running", "running" },
		{ "stalled", "stalled" },	 { "scheduled", "scheduled" },
		{ "depends", "depends" },	 { "recurring", "recurring" },
		{ "failed", "failed" },		 { "put_rate_1m", "put-rate" },
		{ "pop_rate_1m", "pop-rate" },	 { "complete_rate_1m", "complete-rate" },
		{ "fail_rate_1m", "fail-rate" }, { "oldest_wait", "oldest-wait" },
		{ "listeners", "listeners" },
	};

	buf_append_str(out, STR("{\"name\":"));
	json_append_string(out, q->name);
	buf_append_str(out, STR(",\"paused\":"));
	json_append_bool(out, figures_of(q, "paused") > 0);
	for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
		double value = figures_of(q, members[i].figure);

		buf_printf(out, ",\"%s\":", members[i].member);
		json_append_number(out, isnan(value) ? 0 : value);
	}
	buf_append_char(out, '}');
}

static void print_json(struct top *top)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);
	struct order *order = sort(top);

	buf_printf(&out, "{\"time\":%.6f,\"uptime\":", top->at);
	json_append_number(&out, figures_number(&top->figures, "uptime_in_seconds"));
	buf_append_str(&out, STR(",\"clients\":"));
	json_append_number(&out, figures_number(&top->figures, "connected_clients"));
	buf_append_str(&out, STR(",\"memory\":"));
	json_append_number(&out, figures_number(&top->figures, "used_memory"));
	buf_append_str(&out, STR(",\"log\":"));
	json_append_string(&out, figures_text(&top->figures, "log_state"));
	buf_append_str(&out, STR(",\"queues\":["));
	for (size_t i = 0; i < top->figures.count; i++) {
		buf_append_str(&out, i > 0 ? STR(",") : STR(""));
		append_queue_json(&out, order[i].queue);
	}
	buf_append_str(&out, STR("]}"));
	cli_print_json(top->cli, buf_str(&out));
	fflush(stdout);
	free(order);
	buf_done(&out);
}

/* ---- plain or JSON ---- */

static void complain(struct top *top)
{
	cli_complain(top->cli, CLI_NO_SERVER, "%s", buf_cstr(&top->trouble));
}

static void run_plain(struct top *top, double interval_s)
{
	uint64_t count = top->cli->options.count > 0 ? top->cli->options.count : 1;

	for (uint64_t i = 0; i < count && !cli_output_is_gone(); i++) {
		if (i > 0)
			poll(NULL, 0, (int)(interval_s * 1000));
		if (!refresh(top)) {
			complain(top);
			return;
		}
		if (top->cli->options.json)
			print_json(top);
		else
			print_plain(top);
	}
}

/* ---- on the screen ---- */

/* Appends as much of the page as the screen shows. Colours take no columns. */
static void append_visible(struct buf *out, struct qless_str page, size_t rows, size_t width)
{
	size_t used = 0, at = 0, len;

	while (at < page.len) {
		struct qless_str rest = str_make(page.ptr + at, page.len - at);
		const char *m = rest.ptr[0] == '\033' ? memchr(rest.ptr, 'm', rest.len) : NULL;
		uint32_t c = width_decode(rest, &len);
		size_t wide = m == NULL && c != '\n' ? width_of(c) : 0;

		if (m != NULL)
			len = (size_t)(m - rest.ptr) + 1;
		if (c == '\n' && --rows == 0)
			return;
		used = c == '\n' ? 0 : used + wide;
		if (used <= width || wide == 0)
			buf_append(out, rest.ptr, len);
		at += len;
	}
}

static void draw(struct top *top)
{
	struct cli *cli = top->cli;
	struct buf out = BUF_INIT(BUF_NO_MAX);
	struct buf foot = BUF_INIT(BUF_NO_MAX);
	struct buf visible = BUF_INIT(BUF_NO_MAX);
	size_t rows, head = 4;

	screen_size(&rows, &cli->look.width);
	if (top->has_figures)
		append_head(&out, top);
	if (top->trouble.len > 0) {
		text_append_cut(&foot, buf_str(&top->trouble), cli->look.width, cli->look.is_utf8);
		table_append_styled(&out, &cli->look, TABLE_RED, buf_str(&foot));
		buf_clear(&foot);
	}
	buf_append_char(&out, '\n');
	if (top->has_figures)
		append_queues(&out, top, rows > head + 1 ? rows - head - 1 : 0);
	buf_printf(&foot, "q quit  s sorted by %s  up/down  space refresh", sorts[top->sort].name);
	if (top->first + top->shown < top->figures.count || top->first > 0)
		buf_printf(&foot, "  %zu queues", top->figures.count);
	text_append_cut(&out, buf_str(&foot), cli->look.width, cli->look.is_utf8);
	append_visible(&visible, buf_str(&out), rows, cli->look.width);
	screen_show(buf_str(&visible));
	buf_done(&out);
	buf_done(&foot);
	buf_done(&visible);
}

/* Returns false if the key ends the program. *ret_refresh tells whether new figures are wanted. */
static bool obey(struct top *top, int key, bool *ret_refresh)
{
	*ret_refresh = false;
	switch (key) {
	case 'q':
	case 'Q':
	case SCREEN_INTERRUPT:
		return false;
	case 's':
		top->sort = (top->sort + 1) % SORT_COUNT;
		top->first = 0;
		break;
	case ' ':
		*ret_refresh = true;
		break;
	case SCREEN_UP:
	case 'k':
		top->first -= top->first > 0;
		break;
	case SCREEN_DOWN:
	case 'j':
		top->first++; /* append_queues() stops at the last one */
		break;
	default:
		break;
	}
	return true;
}

static void run_on_screen(struct top *top, double interval_s)
{
	uint64_t left = top->cli->options.count;
	bool goes_on = true;

	/* A key also ends the wait for a server that does not answer. */
	client_set_interrupt(top->cli->client, screen_input());
	while (goes_on) {
		int64_t next_us = clock_mono_us() + clock_from_seconds(interval_s);
		bool wants_refresh = false;

		refresh(top);
		draw(top);
		if (left > 0 && --left == 0)
			return;
		while (goes_on && !wants_refresh && clock_mono_us() < next_us) {
			int key = 0, ms = (int)((next_us - clock_mono_us()) / 1000) + 1;

			switch (screen_wait(ms, &key)) {
			case SCREEN_ENDED:
				return;
			case SCREEN_KEY:
				goes_on = obey(top, key, &wants_refresh);
				draw(top);
				break;
			case SCREEN_RESIZED:
				draw(top);
				break;
			case SCREEN_TIMEOUT:
				break;
			}
		}
	}
}

static bool find_sort(struct top *top, const char *name)
{
	for (size_t i = 0; i < SORT_COUNT; i++) {
		if (name == NULL || strcmp(name, sorts[i].name) == 0) {
			top->sort = i;
			return true;
		}
	}
	return false;
}

void command_top(struct cli *cli)
{
	double interval_s = cli->options.interval_s > 0 ? cli->options.interval_s : INTERVAL_S;
	struct top top = { .cli = cli, .trouble = BUF_INIT(BUF_NO_MAX) };

	if (!find_sort(&top, cli->options.sort)) {
		cli_complain(cli, CLI_USAGE,
			     "--sort must be waiting, running, failed or name, not '%s'",
			     cli->options.sort);
		return;
	}
	if (cli->server.settings.timeout_s == 0 || cli->server.settings.timeout_s > REPLY_S) {
		cli->server.settings.timeout_s = REPLY_S;
		client_free(cli->client);
		cli->client = client_new(&cli->server.settings);
	}
	/* The first figures show whether there is a server at all. */
	if (!refresh(&top))
		complain(&top);
	else if (!cli->options.json && screen_open())
		run_on_screen(&top, interval_s);
	else
		run_plain(&top, interval_s);
	screen_close();
	figures_done(&top.figures);
	buf_done(&top.trouble);
}
