#include "cli/cli.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "cli/text.h"
#include "sys/clock.h"
#include "util/mem.h"
#include "util/num.h"

#define NAME "qless"
/* Bytes of the answer to a question. */
#define ANSWER_MAX 64

void cli_complain(struct cli *cli, enum cli_result result, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs(NAME ": ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	if (cli->result == CLI_DONE)
		cli->result = result;
}

static void complain_text(struct cli *cli, enum cli_result result, struct qless_str text)
{
	struct buf safe = BUF_INIT(BUF_NO_MAX);

	text_append(&safe, text, cli->look.is_utf8);
	cli_complain(cli, result, "%s", buf_cstr(&safe));
	buf_done(&safe);
}

void cli_complain_reply(struct cli *cli, const struct client_reply *reply)
{
	complain_text(cli, CLI_FAILED, client_reply_str(reply));
}

void cli_complain_lost(struct cli *cli)
{
	complain_text(cli, CLI_NO_SERVER, str_from(client_error(cli->client)));
}

const struct client_reply *cli_call(struct cli *cli, const struct qless_str *argv, size_t argc)
{
	const struct client_reply *reply = client_call(cli->client, argv, argc);

	if (reply == NULL) {
		cli_complain_lost(cli);
		return NULL;
	}
	if (client_reply_is_error(reply)) {
		cli_complain_reply(cli, reply);
		return NULL;
	}
	return reply;
}

const struct client_reply *cli_call_query(struct cli *cli, const struct query *q)
{
	return cli_call(cli, q->words, q->count);
}

bool cli_ask_values(struct cli *cli, struct answer *ret, const struct query *q)
{
	const struct client_reply *reply = cli_call_query(cli, q);

	if (reply == NULL)
		return false;
	answer_done(ret);
	answer_convert(ret, reply);
	return true;
}

bool cli_ask_json(struct cli *cli, struct answer *ret, const struct query *q)
{
	const struct client_reply *reply = cli_call_query(cli, q);

	if (reply == NULL)
		return false;
	if (reply->type == CLIENT_REPLY_NULL) {
		answer_parse(ret, STR("null"));
		return true;
	}
	if (answer_parse(ret, client_reply_str(reply)))
		return true;
	cli_complain(cli, CLI_FAILED, "the reply of the server to %s is not JSON", q->words[0].ptr);
	return false;
}

bool cli_ask_json_words(struct cli *cli, struct answer *ret, const char *words)
{
	struct query q = { 0 };
	bool ok;

	query_words(&q, words);
	ok = cli_ask_json(cli, ret, &q);
	query_done(&q);
	return ok;
}

double cli_now(struct cli *cli)
{
	const struct client_reply *reply = CLIENT_CALL(cli->client, STR("TIME"));
	double seconds, microseconds;

	if (reply != NULL && reply->type == CLIENT_REPLY_ARRAY && reply->count == 2 &&
	    num_parse_double(client_reply_str(&reply->elements[0]), &seconds) &&
	    num_parse_double(client_reply_str(&reply->elements[1]), &microseconds))
		return seconds + microseconds / 1e6;
	return clock_seconds(clock_wall_us());
}

void cli_print_json(const struct cli *cli, struct qless_str json)
{
	struct buf safe = BUF_INIT(BUF_NO_MAX);

	/* A program gets every character as it is. */
	if (cli->is_terminal)
		text_append_json(&safe, json);
	else
		buf_append_str(&safe, json);
	buf_append_char(&safe, '\n');
	fwrite(buf_data(&safe), 1, safe.len, stdout);
	buf_done(&safe);
}

void cli_print_text(const struct cli *cli, struct qless_str text)
{
	struct buf safe = BUF_INIT(BUF_NO_MAX);

	text_append(&safe, text, cli->look.is_utf8);
	buf_append_char(&safe, '\n');
	fwrite(buf_data(&safe), 1, safe.len, stdout);
	buf_done(&safe);
}

bool cli_confirm(struct cli *cli, const char *format, ...)
{
	char answer[ANSWER_MAX];
	va_list args;

	if (cli->options.yes)
		return true;
	fflush(stdout);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs(" [y/N] ", stderr);
	if (fgets(answer, sizeof answer, stdin) == NULL) {
		fputc('\n', stderr);
		cli_complain(cli, CLI_USAGE,
			     "nothing was changed: give --yes to go on without a question");
		return false;
	}
	if (answer[0] == 'y' || answer[0] == 'Y')
		return true;
	cli_complain(cli, CLI_USAGE, "nothing was changed");
	return false;
}

void cli_append_pair(const struct cli *cli, struct buf *out, struct qless_str name,
		     yyjson_val *value)
{
	struct buf json = BUF_INIT(BUF_NO_MAX);

	if (yyjson_is_str(value))
		buf_append_str(&json, answer_str(value, NULL));
	else
		answer_append_value(&json, value);
	buf_append_char(out, ' ');
	text_append(out, name, cli->look.is_utf8);
	buf_append_char(out, '=');
	text_append(out, buf_str(&json), cli->look.is_utf8);
	buf_done(&json);
}

bool cli_parse_duration(struct cli *cli, const char *option, const char *text, double *ret_s)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "", 1 },   { "ms", 0.001 }, { "s", 1 },
		      { "m", 60 }, { "h", 3600 },   { "d", 86400 } };
	size_t len = strspn(text, "0123456789.");
	double number;

	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		if (strcmp(text + len, units[i].name) != 0 ||
		    !num_parse_double(str_make(text, len), &number))
			continue;
		*ret_s = number * units[i].seconds;
		return true;
	}
	cli_complain(cli, CLI_USAGE, "--%s must be a duration such as 90, 5m, 2h or 1d, not '%s'",
		     option, text);
	return false;
}

enum table_style cli_state_style(struct qless_str state)
{
	static const struct {
		struct qless_str state;
		enum table_style style;
	} styles[] = {
		{ STR_INIT("running"), TABLE_GREEN },  { STR_INIT("started"), TABLE_GREEN },
		{ STR_INIT("stalled"), TABLE_YELLOW }, { STR_INIT("failed"), TABLE_RED },
		{ STR_INIT("complete"), TABLE_DIM },
	};

	for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
		if (str_equal(state, styles[i].state))
			return styles[i].style;
	}
	return TABLE_PLAIN;
}

static void add_duration(struct table *t, double seconds)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	text_append_duration(&text, seconds);
	table_safe(t, TABLE_PLAIN, buf_str(&text));
	buf_done(&text);
}

void cli_add_age(struct table *t, double now, double when)
{
	if (when == 0)
		table_safe(t, TABLE_PLAIN, STR(""));
	else
		add_duration(t, now - when);
}

void cli_add_left(struct table *t, double now, double when)
{
	if (when == 0)
		table_safe(t, TABLE_PLAIN, STR(""));
	else
		add_duration(t, when - now);
}

void cli_add_listeners(struct table *t, double listeners, bool has_jobs, bool is_paused)
{
	if (is_paused)
		table_safe(t, TABLE_YELLOW, STR("paused"));
	else if (has_jobs && listeners == 0)
		table_safe(t, TABLE_YELLOW, STR("none"));
	else
		table_count(t, TABLE_PLAIN, listeners);
}

bool cli_output_is_gone(void)
{
	return ferror(stdout) != 0;
}
