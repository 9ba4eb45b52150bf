#include "cli/selection.h"

#include <stdlib.h>

#include "cli/paging.h"
#include "util/mem.h"

/* Jobs that one request lists, and requests that are under way at once. */
#define PAGE  500
#define BATCH 200

static void add(struct selection *s, struct qless_str jid)
{
	s->jids = mem_grow(s->jids, &s->cap, s->count + 1, sizeof *s->jids);
	s->jids[s->count++] = str_make(mem_dup(jid.ptr, jid.len), jid.len);
}

void selection_done(struct selection *s)
{
	for (size_t i = 0; i < s->count; i++)
		free((void *)(uintptr_t)s->jids[i].ptr);
	free(s->jids);
	*s = (struct selection){ .jids = NULL };
}

static void add_listed(void *arg, const struct client_reply *fields)
{
	add(arg, paging_field(fields, "jid"));
}

static bool select_queue(struct cli *cli, struct selection *s, const char *default_states)
{
	const struct cli_options *o = &cli->options;
	struct paging paging = {
		.queue = o->queue,
		.states = o->states != NULL ? o->states : default_states,
		.klass = o->klass,
		.fields = "jid klass",
		.limit = o->limit,
		.each = add_listed,
		.arg = s,
	};

	return paging_run(cli, &paging);
}

/* Pages of a command that replies with {"jobs": [jid ...], "total": n}. */
static bool select_listed(struct cli *cli, struct selection *s, const char *command,
			  const char *name)
{
	uint64_t limit = cli->options.limit > 0 ? cli->options.limit : UINT64_MAX;
	size_t found;

	do {
		struct answer page = { 0 };
		struct query q = { 0 };
		yyjson_arr_iter elements;
		yyjson_val *jid;
		bool ok;

		query_words(&q, command);
		query_text(&q, name);
		query_number(&q, (double)s->count);
		query_number(&q, limit - s->count < PAGE ? (double)(limit - s->count) : PAGE);
		ok = cli_ask_json(cli, &page, &q);
		query_done(&q);
		found = ok ? yyjson_arr_size(answer_get(page.root, "jobs")) : 0;
		elements = yyjson_arr_iter_with(answer_get(page.root, "jobs"));
		while ((jid = yyjson_arr_iter_next(&elements)) != NULL)
			add(s, answer_str(jid, NULL));
		answer_done(&page);
		if (!ok)
			return false;
	} while (found > 0 && s->count < limit);
	return true;
}

/* Options that would be ignored are refused, because they were meant to spare jobs. */
static bool check_filters(struct cli *cli, size_t named)
{
	const struct cli_options *o = &cli->options;
	int filters = (o->queue != NULL) + (o->group != NULL) + (o->tag != NULL);

	if (named > 0 && (filters > 0 || o->states != NULL || o->klass != NULL || o->limit > 0))
		cli_complain(cli, CLI_USAGE, "give either jobs, or options that select jobs");
	else if (named == 0 && filters == 0)
		cli_complain(cli, CLI_USAGE,
			     "give jobs, or select them by --queue, --group or --tag");
	else if (filters > 1)
		cli_complain(cli, CLI_USAGE, "give only one of --queue, --group and --tag");
	else if (o->queue == NULL && (o->states != NULL || o->klass != NULL))
		cli_complain(cli, CLI_USAGE, "--state and --class need --queue");
	else
		return true;
	return false;
}

bool selection_make(struct cli *cli, struct selection *s, size_t named, const char *default_states)
{
	*s = (struct selection){ .is_named = named > 0 };
	if (!check_filters(cli, named))
		return false;
	for (size_t i = 0; i < named; i++)
		add(s, str_from(cli->args[i]));
	if (named > 0)
		return true;
	if (cli->options.queue != NULL)
		return select_queue(cli, s, default_states);
	if (cli->options.group != NULL)
		return select_listed(cli, s, "FAILED", cli->options.group);
	return select_listed(cli, s, "TAG get", cli->options.tag);
}

/* Sends the requests of a batch. Returns the end of the batch, or SIZE_MAX if the connection is
 * lost. `sent` tells which jobs have a request. */
static size_t send_batch(struct cli *cli, const struct selection *s, size_t start,
			 selection_make_fn *make, void *arg, bool sent[BATCH])
{
	size_t end = start;

	for (; end < s->count && end - start < BATCH; end++) {
		struct query q = { 0 };
		bool ok = true;

		make(arg, end, &q);
		sent[end - start] = q.count > 0;
		if (q.count > 0)
			ok = client_send(cli->client, q.words, q.count);
		query_done(&q);
		if (!ok)
			return SIZE_MAX;
	}
	return end;
}

size_t selection_run(struct cli *cli, const struct selection *s, selection_make_fn *make,
		     selection_take_fn *take, void *arg)
{
	double timeout_s = cli->server.settings.timeout_s;
	size_t changed = 0, start = 0;
	bool sent[BATCH];

	while (start < s->count) {
		size_t end = send_batch(cli, s, start, make, arg, sent);

		for (; start < end && end != SIZE_MAX; start++) {
			const struct client_reply *reply;

			if (!sent[start % BATCH])
				continue;
			reply = client_receive(cli->client, timeout_s > 0 ? timeout_s : -1);
			if (reply == NULL)
				end = SIZE_MAX;
			else if (take(arg, start, reply))
				changed++;
		}
		if (end == SIZE_MAX) {
			cli_complain_lost(cli);
			break;
		}
	}
	return changed;
}

const char *selection_text(size_t count, char text[SELECTION_TEXT_MAX])
{
	snprintf(text, SELECTION_TEXT_MAX, "%zu job%s", count, count == 1 ? "" : "s");
	return text;
}
