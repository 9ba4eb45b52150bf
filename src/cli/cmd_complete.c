/*
 * qless __complete: the words that may follow on a command line, for the completion of shells.
 *
 * The arguments are the words after "qless", up to the one that is being typed. A line of the
 * output is a candidate, and after a tab its description. The line ":files" asks for names of
 * files. A candidate that a shell or a terminal might misread is left out.
 */
#include "cli/commands.h"
#include "cli/paging.h"
#include "cli/width.h"

/* Seconds to wait for a server: a person has pressed a key. */
#define PATIENCE_S 1.0
/* Queues whose jobs are candidates, and jobs of each of them. */
#define QUEUES_MAX 20
#define JOBS_MAX   200

struct completion {
	struct cli *cli;
	const char *typed; /* the beginning of the word */
};

static bool is_plain(struct qless_str text)
{
	size_t len;

	for (; text.len > 0; text = str_make(text.ptr + len, text.len - len)) {
		uint32_t c = width_decode(text, &len);

		if (c == UINT32_MAX || !width_is_printable(c))
			return false;
	}
	return true;
}

static void offer(const struct completion *c, struct qless_str text, const char *description)
{
	if (text.len == 0 || !str_starts_with(text, str_from(c->typed)) || !is_plain(text))
		return;
	fwrite(text.ptr, 1, text.len, stdout);
	printf("%s%s\n", description != NULL ? "\t" : "", description != NULL ? description : "");
}

static void offer_words(const struct completion *c, const char *const *words)
{
	for (; *words != NULL; words++)
		offer(c, str_from(*words), NULL);
}

/* ---- names that the server has ---- */

/* No message on failure: the person is typing. */
static bool ask(const struct completion *c, const char *words, bool is_json, struct answer *ret)
{
	const struct client_reply *reply;
	struct query q = { 0 };

	query_words(&q, words);
	reply = client_call(c->cli->client, q.words, q.count);
	query_done(&q);
	if (reply == NULL || client_reply_is_error(reply))
		return false;
	if (is_json)
		return answer_parse(ret, client_reply_str(reply));
	answer_convert(ret, reply);
	return true;
}

/* The member "name" of each element of an array. */
static void offer_names(const struct completion *c, const char *words, bool is_json, bool is_page)
{
	struct answer answer = { 0 };
	yyjson_arr_iter elements;
	yyjson_val *item, *items;

	if (ask(c, words, is_json, &answer)) {
		items = is_page ? yyjson_arr_get(answer.root, 1) : answer.root;
		elements = yyjson_arr_iter_with(items);
		while ((item = yyjson_arr_iter_next(&elements)) != NULL)
			offer(c, answer_str(item, "name"), NULL);
	}
	answer_done(&answer);
}

static void offer_groups(const struct completion *c)
{
	struct answer answer = { 0 };
	yyjson_obj_iter members;
	yyjson_val *key;

	if (ask(c, "FAILED", true, &answer)) {
		members = yyjson_obj_iter_with(answer.root);
		while ((key = yyjson_obj_iter_next(&members)) != NULL)
			offer(c, answer_str(key, NULL), NULL);
	}
	answer_done(&answer);
}

static void offer_jobs_of(const struct completion *c, struct qless_str queue)
{
	const struct client_reply *reply;
	struct query q = { 0 };

	query_text(&q, "QUEUE.JOBS");
	query_add(&q, queue);
	query_text(&q, "COUNT");
	query_number(&q, JOBS_MAX);
	reply = client_call(c->cli->client, q.words, q.count);
	query_done(&q);
	if (reply == NULL || reply->count != 2)
		return;
	for (size_t i = 0; i < reply->elements[1].count; i++)
		offer(c, client_reply_str(&reply->elements[1].elements[i]), NULL);
}

static void offer_jobs(const struct completion *c)
{
	struct answer answer = { 0 };
	yyjson_arr_iter elements;
	yyjson_val *queue;

	if (ask(c, "QUEUES", true, &answer)) {
		elements = yyjson_arr_iter_with(answer.root);
		while ((queue = yyjson_arr_iter_next(&elements)) != NULL) {
			if (elements.idx <= QUEUES_MAX)
				offer_jobs_of(c, answer_str(queue, "name"));
		}
	}
	answer_done(&answer);
}

static void offer_commands(const struct completion *c)
{
	for (const struct cli_command *row = cli_commands; row->name != NULL; row++) {
		if (row->summary != NULL)
			offer(c, str_from(row->name), row->summary);
	}
}

static void offer_kind(const struct completion *c, enum cli_kind kind)
{
	switch (kind) {
	case CLI_QUEUES:
		offer_names(c, "QUEUES", true, false);
		break;
	case CLI_JIDS:
		offer_jobs(c);
		break;
	case CLI_GROUPS:
		offer_groups(c);
		break;
	case CLI_WORKERS:
		offer_names(c, "WORKERS", true, false);
		break;
	case CLI_LIMITS:
		offer_names(c, "LIMIT.LIST COUNT 1000", false, true);
		break;
	case CLI_COMMANDS:
		offer_commands(c);
		break;
	case CLI_NOTHING:
		break;
	}
}

/* ---- options ---- */

static void offer_flags(const struct completion *c, const struct flag *rows)
{
	for (; rows->name != NULL; rows++) {
		struct buf text = BUF_INIT(BUF_NO_MAX);

		buf_printf(&text, "--%s", rows->name);
		if (rows->help != NULL)
			offer(c, buf_str(&text), rows->help);
		buf_done(&text);
	}
}

/* The value of an option: its kind follows from the name of the value in the help. */
static void offer_value(const struct completion *c, const struct flag *row)
{
	static const char *const states[] = { "waiting",  "running",   "reserved", "started",
					      "stalled",  "scheduled", "depends",  "failed",
					      "complete", NULL };
	static const char *const events[] = { "put",	    "completed",    "advanced",
					      "failed",	    "canceled",	    "lock_lost",
					      "config_set", "config_unset", NULL };
	static const char *const colours[] = { "auto", "always", "never", NULL };
	static const char *const fields[] = { "state",	"klass", "priority", "remaining",
					      "worker", "group", NULL };
	static const char *const keys[] = { "waiting", "running", "failed", "name", NULL };

	if (strcmp(row->value, "queue") == 0)
		offer_kind(c, CLI_QUEUES);
	else if (strcmp(row->value, "group") == 0)
		offer_kind(c, CLI_GROUPS);
	else if (strcmp(row->value, "limits") == 0)
		offer_kind(c, CLI_LIMITS);
	else if (strcmp(row->value, "jids") == 0)
		offer_kind(c, CLI_JIDS);
	else if (strcmp(row->value, "states") == 0)
		offer_words(c, states);
	else if (strcmp(row->name, "count-by") == 0)
		offer_words(c, fields);
	else if (strcmp(row->value, "events") == 0)
		offer_words(c, events);
	else if (strcmp(row->name, "color") == 0)
		offer_words(c, colours);
	else if (strcmp(row->name, "sort") == 0)
		offer_words(c, keys);
	else if (strcmp(row->value, "file") == 0 || strcmp(row->value, "dir") == 0 ||
		 strcmp(row->value, "path") == 0)
		puts(":files");
}

static const struct flag *find_flag(const struct cli_command *command, const char *word)
{
	const struct flag *row = command != NULL ? flags_find(command->flags, word) : NULL;

	if (row == NULL)
		row = flags_find(cli_common_flags, word);
	return row != NULL ? row : flags_find(client_options_rows, word);
}

/* Takes an option of the words that are complete. */
static int take(struct cli *cli, const struct cli_command *command, int count, int *at)
{
	struct buf error = BUF_INIT(BUF_NO_MAX);
	int taken = 0;

	if (command != NULL)
		taken = flags_take(command->flags, &cli->options, count, cli->args, at, &error);
	if (taken == 0)
		taken = flags_take(cli_common_flags, &cli->options, count, cli->args, at, &error);
	if (taken == 0)
		taken = client_options_take(&cli->server, count, cli->args, at, &error);
	buf_done(&error);
	return taken;
}

/* A client of the server that the words name, which does not wait for long. */
static void connect(struct cli *cli)
{
	cli->server.settings.connect_timeout_s = PATIENCE_S;
	cli->server.settings.timeout_s = PATIENCE_S;
	cli->server.settings.tls |= cli->server.tls;
	client_free(cli->client);
	cli->client = client_new(&cli->server.settings);
}

void command_complete(struct cli *cli)
{
	const struct cli_command *command = NULL;
	struct completion c = { .cli = cli, .typed = "" };
	int count = (int)cli->arg_count - 1, at = 0, arguments = 0;

	if (count < 0)
		return;
	c.typed = cli->args[count];
	while (at < count) {
		int taken = take(cli, command, count, &at);

		if (taken < 0) {
			const struct flag *row = find_flag(command, cli->args[count - 1]);

			connect(cli);
			if (at >= count - 1 && row != NULL && row->value != NULL)
				offer_value(&c, row);
			return;
		}
		if (taken > 0)
			continue;
		if (command != NULL)
			arguments++;
		else if ((command = cli_find_command(cli->args[at])) == NULL)
			return;
		at++;
	}
	connect(cli);
	if (c.typed[0] == '-') {
		if (command != NULL)
			offer_flags(&c, command->flags);
		offer_flags(&c, cli_common_flags);
		offer_flags(&c, client_options_rows);
	} else if (command == NULL) {
		offer_commands(&c);
	} else if (command->max < 0 || arguments < command->max) {
		/* Only the first argument of `put` is a queue. */
		if (arguments == 0 || command->max < 0)
			offer_kind(&c, command->kind);
	}
}
