/*
 * qless tail: events as they happen.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/text.h"
#include "sys/clock.h"
#include "util/json.h"

/* Columns of an event and of a queue, so that lines are aligned as long as names are short. */
#define EVENT_COLUMNS 10
#define QUEUE_COLUMNS 12

/* Events about jobs come from the channels of all queues, because they say the queue of each event.
 * Other events come from ql:log. */
static bool subscribe_to_all(struct cli *cli)
{
	static const struct qless_str queues[] = { STR_INIT("PSUBSCRIBE"),
						   STR_INIT("ql:q:*:events") };
	static const struct qless_str others[] = { STR_INIT("SUBSCRIBE"), STR_INIT("ql:log") };

	return client_send(cli->client, queues, 2) && client_send(cli->client, others, 2);
}

static bool subscribe(struct cli *cli)
{
	struct query q = { 0 };
	bool ok;

	if (cli->arg_count == 0)
		return subscribe_to_all(cli);
	query_text(&q, "SUBSCRIBE");
	for (size_t i = 0; i < cli->arg_count; i++) {
		struct buf channel = BUF_INIT(BUF_NO_MAX);

		buf_printf(&channel, "ql:q:%s:events", cli->args[i]);
		query_add(&q, buf_str(&channel));
		buf_done(&channel);
	}
	ok = client_send(cli->client, q.words, q.count);
	query_done(&q);
	return ok;
}

/* Whether a name is in a list that commas separate. */
static bool is_in_list(struct qless_str name, const char *list)
{
	while (*list != '\0') {
		size_t len = strcspn(list, ",");

		if (str_equal(name, str_make(list, len)))
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

/* An event arrives once for each channel that has it. */
static bool is_first(const struct cli *cli, struct qless_str queue, yyjson_val *event)
{
	if (cli->arg_count > 0)
		return true;
	if (queue.len == 0)
		return !answer_has(event, "jid");
	return !answer_has(event, "queue") || str_equal(answer_str(event, "queue"), queue);
}

static bool is_wanted(const struct cli *cli, yyjson_val *event)
{
	const struct cli_options *o = &cli->options;

	return (o->kinds == NULL || is_in_list(answer_str(event, "event"), o->kinds)) &&
	       (o->jid == NULL || is_in_list(answer_str(event, "jid"), o->jid));
}

/* The queue of the channel "ql:q:<queue>:events", or an empty text. */
static struct qless_str queue_of(struct qless_str channel)
{
	struct qless_str queue = STR("");

	if (str_strip_prefix(channel, STR("ql:q:"), &queue))
		str_strip_suffix(queue, STR(":events"), &queue);
	return queue;
}

static void append_padded(struct buf *out, struct qless_str text, bool is_utf8, size_t columns)
{
	size_t start = out->len;

	text_append(out, text, is_utf8);
	while (out->len - start < columns)
		buf_append_char(out, ' ');
}

static enum table_style style_of(struct qless_str event)
{
	if (str_equal(event, STR("failed")))
		return TABLE_RED;
	if (str_equal(event, STR("lock_lost")))
		return TABLE_YELLOW;
	return str_equal(event, STR("completed")) ? TABLE_GREEN : TABLE_PLAIN;
}

static void append_rest(const struct cli *cli, struct buf *out, yyjson_val *event)
{
	yyjson_obj_iter members = yyjson_obj_iter_with(event);
	yyjson_val *key;

	while ((key = yyjson_obj_iter_next(&members)) != NULL) {
		struct qless_str name = answer_str(key, NULL);
		yyjson_val *value = yyjson_obj_iter_get_val(key);

		if (!str_equal(name, STR("event")) && !str_equal(name, STR("jid")) &&
		    !str_equal(name, STR("queue")) && answer_has(value, NULL))
			cli_append_pair(cli, out, name, value);
	}
}

static void print_event(struct cli *cli, struct qless_str queue, yyjson_val *event)
{
	struct buf line = BUF_INIT(BUF_NO_MAX), name = BUF_INIT(BUF_NO_MAX);
	struct qless_str kind = answer_str(event, "event");
	bool is_utf8 = cli->look.is_utf8;

	text_append_time_of_day(&line, clock_seconds(clock_wall_us()));
	buf_append_str(&line, STR("  "));
	append_padded(&name, kind, is_utf8, EVENT_COLUMNS);
	table_append_styled(&line, &cli->look, style_of(kind), buf_str(&name));
	buf_append_char(&line, ' ');
	append_padded(&line, answer_has(event, "queue") ? answer_str(event, "queue") : queue,
		      is_utf8, QUEUE_COLUMNS);
	buf_append_char(&line, ' ');
	text_append(&line, answer_str(event, "jid"), is_utf8);
	append_rest(cli, &line, event);
	buf_append_char(&line, '\n');
	fwrite(buf_data(&line), 1, line.len, stdout);
	buf_done(&line);
	buf_done(&name);
}

static void print_event_json(struct cli *cli, struct qless_str queue, yyjson_val *event)
{
	struct buf line = BUF_INIT(BUF_NO_MAX), rest = BUF_INIT(BUF_NO_MAX);

	buf_printf(&line, "{\"time\":%.6f", clock_seconds(clock_wall_us()));
	if (queue.len > 0 && !answer_has(event, "queue")) {
		buf_append_str(&line, STR(",\"queue\":"));
		json_append_string(&line, queue);
	}
	answer_append_value(&rest, event);
	buf_append_str(&line, rest.len > 2 ? STR(",") : STR(""));
	buf_append(&line, buf_data(&rest) + 1, rest.len - 1);
	cli_print_json(cli, buf_str(&line));
	buf_done(&line);
	buf_done(&rest);
}

/* Shows the event if the reply is a message with one. Returns whether it was shown. */
static bool take(struct cli *cli, const struct client_reply *reply)
{
	const struct client_reply *message; /* channel and text */
	struct answer event = { 0 };
	struct qless_str queue;
	bool is_shown = false;

	if (reply->count == 3 && str_equal(client_reply_str(&reply->elements[0]), STR("message")))
		message = &reply->elements[1];
	else if (reply->count == 4 &&
		 str_equal(client_reply_str(&reply->elements[0]), STR("pmessage")))
		message = &reply->elements[2];
	else
		return false;
	queue = queue_of(client_reply_str(&message[0]));
	if (answer_parse(&event, client_reply_str(&message[1])) && yyjson_is_obj(event.root) &&
	    is_first(cli, queue, event.root) && is_wanted(cli, event.root)) {
		if (cli->options.json)
			print_event_json(cli, queue, event.root);
		else
			print_event(cli, queue, event.root);
		fflush(stdout);
		is_shown = true;
	}
	answer_done(&event);
	return is_shown;
}

/* Returns false after a message. */
static bool connect_again(struct cli *cli)
{
	enum cli_result before = cli->result;

	cli_complain_lost(cli);
	fputs("qless: connecting again; events until then are not shown\n", stderr);
	cli->result = before;
	if (client_connect_patiently(cli->client, 0, NULL, NULL) && subscribe(cli)) {
		fputs("qless: connected\n", stderr);
		return true;
	}
	if (client_status(cli->client) != CLIENT_INTERRUPTED)
		cli_complain_lost(cli);
	return false;
}

/* A pipe without a reader is noticed at once, not when the next event is written. */
static void watch_output(struct cli *cli)
{
	struct stat st;

	if (fstat(STDOUT_FILENO, &st) == 0 && S_ISFIFO(st.st_mode))
		client_set_interrupt(cli->client, STDOUT_FILENO);
}

void command_tail(struct cli *cli)
{
	uint64_t left = cli->options.limit > 0 ? cli->options.limit : UINT64_MAX;

	watch_output(cli);
	if (!subscribe(cli)) {
		cli_complain_lost(cli);
		return;
	}
	while (left > 0 && !cli_output_is_gone()) {
		const struct client_reply *reply = client_receive(cli->client, -1);

		if (reply == NULL && client_status(cli->client) == CLIENT_INTERRUPTED)
			return;
		if (reply == NULL) {
			if (!connect_again(cli))
				return;
		} else if (client_reply_is_error(reply)) {
			cli_complain_reply(cli, reply);
			return;
		} else if (take(cli, reply)) {
			left--;
		}
	}
}
