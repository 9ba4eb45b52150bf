/*
 * qless put: a job, with the options of PUT.
 */
#include <errno.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "client/client_reply.h"
#include "util/num.h"

/* Bytes of data that standard input may have: those of the longest string that a server takes. */
#define DATA_MAX CLIENT_REPLY_STRING_MAX
#define PIECE	 ((size_t)64 * 1024)

/* Returns false after a message. */
static bool read_input(struct cli *cli, struct buf *data)
{
	for (;;) {
		char *to = buf_reserve(data, PIECE);
		ssize_t n;

		if (to == NULL) {
			cli_complain(cli, CLI_USAGE, "the data are longer than %zu bytes",
				     DATA_MAX);
			return false;
		}
		n = read(STDIN_FILENO, to, PIECE);
		if (n == 0)
			return true;
		if (n < 0 && errno != EINTR) {
			cli_complain(cli, CLI_USAGE, "cannot read standard input: %s",
				     strerror(errno));
			return false;
		}
		if (n > 0)
			buf_commit(data, (size_t)n);
	}
}

/* Seconds since 1970, or a local time: 2026-11-20 08:30, also with seconds and with a T. */
static bool parse_time(struct cli *cli, const char *text, double *ret_seconds)
{
	static const char *const formats[] = { "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S",
					       "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M" };

	if (num_parse_double(str_from(text), ret_seconds))
		return true;
	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(text, formats[i], &tm);

		if (end == NULL || *end != '\0')
			continue;
		*ret_seconds = (double)mktime(&tm);
		return true;
	}
	cli_complain(cli, CLI_USAGE,
		     "--at must be seconds since 1970 or a time such as '2026-11-20 08:30', not "
		     "'%s'",
		     text);
	return false;
}

static void add_text(struct query *q, const char *name, const char *value)
{
	if (value == NULL)
		return;
	query_text(q, name);
	query_text(q, value);
}

static void add_list(struct query *q, const char *name, const char *names)
{
	if (names == NULL)
		return;
	query_text(q, name);
	query_json_list(q, names);
}

static bool add_duration(struct cli *cli, struct query *q, const char *name, const char *value)
{
	double seconds;

	if (value == NULL)
		return true;
	if (!cli_parse_duration(cli, name, value, &seconds))
		return false;
	query_text(q, name);
	query_number(q, seconds);
	return true;
}

static bool add_times(struct cli *cli, struct query *q, const struct cli_options *o)
{
	double at;

	if (o->at != NULL) {
		if (!parse_time(cli, o->at, &at))
			return false;
		query_text(q, "at");
		query_number(q, at);
	}
	if (!add_duration(cli, q, "runtime", o->runtime))
		return false;
	if (o->retain != NULL && strcmp(o->retain, "ack") == 0) {
		query_words(q, "retain ack");
		return true;
	}
	return add_duration(cli, q, "retain", o->retain);
}

static bool add_options(struct cli *cli, struct query *q, const struct cli_options *o)
{
	add_text(q, "priority", o->priority);
	add_text(q, "retries", o->retries);
	add_list(q, "tags", o->tags);
	add_list(q, "depends", o->depends);
	add_list(q, "limits", o->limits);
	if (!add_times(cli, q, o))
		return false;
	if (o->unique == NULL && (o->until != NULL || o->replace)) {
		cli_complain(cli, CLI_USAGE, "--until and --replace need --unique");
		return false;
	}
	add_text(q, "unique", o->unique);
	add_text(q, "until", o->until);
	if (o->replace)
		query_text(q, "replace");
	if (o->backoff != NULL) {
		query_text(q, "backoff");
		query_words(q, o->backoff);
	}
	if (o->nx)
		query_text(q, "nx");
	if (o->raw)
		query_text(q, "raw");
	return true;
}

static void print_jid(struct cli *cli, const struct client_reply *reply)
{
	struct buf json = BUF_INIT(BUF_NO_MAX);

	if (cli->options.json) {
		buf_append_str(&json, STR("{\"jid\":"));
		answer_append_reply(&json, reply);
		buf_append_char(&json, '}');
		cli_print_json(cli, buf_str(&json));
	} else if (reply->type == CLIENT_REPLY_NULL) {
		cli_complain(cli, CLI_FAILED, "a job with this jid exists: nothing was put");
	} else {
		cli_print_text(cli, client_reply_str(reply));
	}
	buf_done(&json);
}

void command_put(struct cli *cli)
{
	const struct cli_options *o = &cli->options;
	struct buf data = BUF_INIT(DATA_MAX);
	struct query q = { 0 };
	double delay_s = 0;
	const struct client_reply *reply;

	if (o->delay != NULL && !cli_parse_duration(cli, "delay", o->delay, &delay_s))
		goto done;
	if (cli->arg_count < 3)
		buf_append_str(&data, STR("{}"));
	else if (strcmp(cli->args[2], "-") != 0)
		buf_append_str(&data, str_from(cli->args[2]));
	else if (!read_input(cli, &data))
		goto done;
	query_text(&q, "PUT");
	query_text(&q, CLI_WORKER);
	query_text(&q, cli->args[0]);
	query_text(&q, o->jid != NULL ? o->jid : "*");
	query_text(&q, cli->args[1]);
	query_add(&q, buf_str(&data));
	query_number(&q, delay_s);
	if (!add_options(cli, &q, o))
		goto done;
	reply = cli_call_query(cli, &q);
	if (reply != NULL)
		print_jid(cli, reply);
done:
	query_done(&q);
	buf_done(&data);
}
