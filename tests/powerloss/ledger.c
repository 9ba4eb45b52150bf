#include "ledger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp/parser.h"
#include "tokens.h"
#include "util/mem.h"

struct numbers {
	size_t *items;
	size_t count, cap;
};

struct unanswered {
	struct numbers tokens;
	/* The record of the command is the last one with its token: no later command has that. */
	bool is_last_mention;
	bool is_queued; /* in a transaction */
	bool is_exec;
	char name[24];
};

struct connection {
	struct resp_parser parser;
	struct buf in, out;
	struct unanswered *requests; /* without a reply */
	size_t first, count, cap;
	bool in_transaction; /* at the end of the requests */
	bool is_subscriber;
	struct numbers transaction; /* tokens of the requests that were queued */
	struct numbers reply;	    /* tokens of the reply that is being read */
};

struct promise {
	uint64_t at, time_us, sequence;
	size_t token;	  /* of the record with that sequence number */
	uint64_t highest; /* of this and all earlier promises */
};

struct ledger {
	const struct history *history;
	struct connection *connections; /* by handle */
	size_t connection_count, connection_cap;
	struct promise *promises;
	size_t promise_count, promise_cap;
	struct resp_request parsed;
	struct ledger_totals totals;
	bool is_unwell, is_renamed; /* after a failed sync; and then a new manifest */
};

static void add_number(void *arg, size_t number)
{
	struct numbers *numbers = arg;

	numbers->items =
		mem_grow(numbers->items, &numbers->cap, numbers->count + 1, sizeof *numbers->items);
	numbers->items[numbers->count++] = number;
}

struct ledger *ledger_new(const struct history *history)
{
	struct ledger *l = mem_zalloc(sizeof *l);

	l->history = history;
	resp_request_init(&l->parsed);
	return l;
}

void ledger_free(struct ledger *l)
{
	for (size_t i = 0; i < l->connection_count; i++) {
		struct connection *c = &l->connections[i];

		for (size_t k = c->first; k < c->count; k++)
			free(c->requests[k].tokens.items);
		free(c->requests);
		free(c->transaction.items);
		free(c->reply.items);
		buf_done(&c->in);
		buf_done(&c->out);
	}
	free(l->connections);
	free(l->promises);
	resp_request_done(&l->parsed);
	free(l);
}

static struct connection *connection_of(struct ledger *l, uint32_t handle)
{
	while (l->connection_count <= handle) {
		struct connection *c;

		l->connections = mem_grow(l->connections, &l->connection_cap,
					  l->connection_count + 1, sizeof *l->connections);
		c = &l->connections[l->connection_count++];
		*c = (struct connection){ .in = BUF_INIT(BUF_NO_MAX), .out = BUF_INIT(BUF_NO_MAX) };
	}
	return &l->connections[handle];
}

/* ---- requests ---- */

static bool is_one_of(struct qless_str name, const char *const *names)
{
	for (; *names != NULL; names++) {
		if (str_equal_nocase(name, str_from(*names)))
			return true;
	}
	return false;
}

static void take_request(struct ledger *l, struct connection *c, const struct qless_str *argv,
			 size_t argc)
{
	static const char *const removing[] = { "cancel", "unrecur", NULL };
	static const char *const reading[] = { "get",	 "multiget", "jobs", "peek",
					       "queues", "workers",  NULL };
	static const char *const subscribing[] = { "subscribe", "psubscribe", NULL };
	struct unanswered *r;

	c->requests = mem_grow(c->requests, &c->cap, c->count + 1, sizeof *c->requests);
	r = &c->requests[c->count++];
	*r = (struct unanswered){
		.is_last_mention = is_one_of(argv[0], removing) ||
				   (argc > 1 && str_equal_nocase(argv[1], STR("deluser"))),
	};
	snprintf(r->name, sizeof r->name, "%.*s", (int)argv[0].len, argv[0].ptr);
	/* The job that a client reads may have been refused. */
	for (size_t i = 1; i < argc && !is_one_of(argv[0], reading); i++)
		tokens_find(argv[i], add_number, &r->tokens);
	r->is_exec = str_equal_nocase(argv[0], STR("exec"));
	r->is_queued = c->in_transaction && !r->is_exec;
	if (str_equal_nocase(argv[0], STR("multi")))
		c->in_transaction = true;
	else if (r->is_exec)
		c->in_transaction = false;
	c->is_subscriber |= is_one_of(argv[0], subscribing);
	l->totals.requests++;
}

static void take_requests(struct ledger *l, struct connection *c, struct qless_str bytes)
{
	static const struct resp_limits limits = RESP_LIMITS_DEFAULT;

	buf_append_str(&c->in, bytes);
	while (c->in.len > 0 && resp_parse(&c->parser, &limits, buf_data(&c->in), c->in.len,
					   &l->parsed) == RESP_REQUEST) {
		if (l->parsed.argc > 0)
			take_request(l, c, l->parsed.argv, l->parsed.argc);
		buf_consume(&c->in, l->parsed.consumed);
	}
}

/* ---- replies ---- */

struct reply {
	size_t bytes;
	bool has_error, is_empty;
};

static size_t find_line(const char *bytes, size_t len)
{
	const char *end = memchr(bytes, '\n', len);

	return end != NULL ? (size_t)(end - bytes) + 1 : 0;
}

/* Read one reply. Returns its size, or 0 if it is not complete. */
static size_t read_reply(const char *bytes, size_t len, struct reply *reply)
{
	size_t at = find_line(bytes, len), size;
	long count;

	if (at == 0)
		return 0;
	count = strtol(bytes + 1, NULL, 10);
	reply->has_error |= bytes[0] == '-';
	switch (bytes[0]) {
	case '$':
		reply->is_empty = count < 0 || (count == 2 && len >= at + 2 &&
						(bytes[at] == '[' || bytes[at] == '{'));
		if (count < 0)
			return at;
		return len >= at + (size_t)count + 2 ? at + (size_t)count + 2 : 0;
	case '*':
		for (long i = 0; i < count; i++) {
			size = read_reply(bytes + at, len - at, reply);
			if (size == 0)
				return 0;
			at += size;
		}
		reply->is_empty = count <= 0;
		return at;
	default:
		return at;
	}
}

/* The record of a token. */
struct found {
	uint64_t sequence; /* 0: there is none */
	size_t token;
};

static void promise(struct ledger *l, const struct trace_event *event, uint64_t at,
		    struct found found)
{
	uint64_t before = l->promise_count > 0 ? l->promises[l->promise_count - 1].highest : 0;

	if (found.sequence <= history_begin(l->history))
		return;
	l->promises =
		mem_grow(l->promises, &l->promise_cap, l->promise_count + 1, sizeof *l->promises);
	l->promises[l->promise_count++] = (struct promise){
		.at = at,
		.time_us = event->time_us,
		.sequence = found.sequence,
		.token = found.token,
		.highest = found.sequence > before ? found.sequence : before,
	};
}

static void note_newer(struct found *found, uint64_t sequence, size_t token)
{
	if (sequence > found->sequence)
		*found = (struct found){ sequence, token };
}

/* Returns the newest record that these tokens tell of. */
static struct found newest(const struct ledger *l, const struct numbers *tokens)
{
	struct found found = { 0 };

	for (size_t i = 0; i < tokens->count; i++)
		note_newer(&found, history_first_with(l->history, tokens->items[i]),
			   tokens->items[i]);
	return found;
}

/* Returns the record of a command that was answered. */
static struct found find_record(const struct ledger *l, const struct unanswered *r,
				const struct numbers *tokens, struct buf *findings)
{
	struct found found = { 0 };

	for (size_t i = 0; i < tokens->count; i++) {
		size_t token = tokens->items[i];
		uint64_t sequence = r->is_last_mention ? history_last_with(l->history, token)
						       : history_first_with(l->history, token);

		if (history_is_old(l->history, token))
			continue;
		if (sequence == 0)
			buf_printf(findings,
				   "%s with token %zu was answered, and no record has it\n",
				   r->name, token);
		if (r->is_exec && found.sequence != 0 && sequence != found.sequence)
			buf_printf(findings,
				   "a transaction is in record %" PRIu64 " and in record %" PRIu64
				   "\n",
				   found.sequence, sequence);
		note_newer(&found, sequence, token);
	}
	return found;
}

static void take_reply(struct ledger *l, struct connection *c, const struct trace_event *event,
		       uint64_t at, const struct reply *reply, struct buf *findings)
{
	struct unanswered *r = &c->requests[c->first];
	struct found found = { 0 };

	l->totals.replies++;
	l->totals.errors += reply->has_error;
	l->totals.transactions += r->is_exec;
	if (r->is_queued) {
		for (size_t i = 0; i < r->tokens.count; i++)
			add_number(&c->transaction, r->tokens.items[i]);
	} else if (!reply->has_error && !reply->is_empty) {
		found = find_record(l, r, r->is_exec ? &c->transaction : &r->tokens, findings);
	}
	promise(l, event, at, found);
	if (r->is_exec)
		c->transaction.count = 0;
	free(r->tokens.items);
	c->first++;
}

static void take_replies(struct ledger *l, struct connection *c, const struct trace_event *event,
			 uint64_t at, struct buf *findings)
{
	struct reply reply = { 0 };

	buf_append(&c->out, event + 1, event->data_bytes);
	while ((reply.bytes = read_reply(buf_data(&c->out), c->out.len, &reply)) > 0) {
		if (!reply.has_error && !l->is_unwell) {
			c->reply.count = 0;
			tokens_find(str_make(buf_data(&c->out), reply.bytes), add_number,
				    &c->reply);
			promise(l, event, at, newest(l, &c->reply));
		}
		if (!c->is_subscriber && c->first < c->count)
			take_reply(l, c, event, at, &reply, findings);
		buf_consume(&c->out, reply.bytes);
		reply = (struct reply){ 0 };
	}
}

void ledger_read(struct ledger *l, const struct trace_event *event, uint64_t at,
		 struct buf *findings)
{
	const char *data = (const char *)(event + 1);
	static const char manifest[] = "/manifest";
	size_t len = sizeof manifest - 1;

	switch ((enum trace_kind)event->kind) {
	case TRACE_RECEIVE:
		take_requests(l, connection_of(l, event->handle),
			      str_make(data, event->data_bytes));
		break;
	case TRACE_SEND:
		take_replies(l, connection_of(l, event->handle), event, at, findings);
		break;
	case TRACE_RENAME:
		l->is_renamed = event->data_bytes >= len &&
				memcmp(data + event->data_bytes - len, manifest, len) == 0;
		break;
	case TRACE_START:
		l->is_unwell = false;
		break;
	case TRACE_SYNC_END:
		if (event->value != 0) {
			l->is_unwell = true;
			l->is_renamed = false;
		} else if (event->handle == TRACE_DIRECTORY && l->is_renamed) {
			l->is_unwell = false;
		}
		break;
	default:
		break;
	}
}

/* ---- demands ---- */

/* Returns the number of promises that were made before the cut. */
static size_t promises_before(const struct ledger *l, uint64_t cut)
{
	size_t low = 0, high = l->promise_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->promises[middle].at < cut)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether nobody was told of the record before. */
static bool is_news(const struct ledger *l, size_t index)
{
	return index == 0 || l->promises[index].sequence > l->promises[index - 1].highest;
}

struct ledger_demand ledger_demand(const struct ledger *l, uint64_t cut, uint64_t recovered)
{
	size_t count = promises_before(l, cut);
	struct ledger_demand demand = { .broken_us = -1 };
	uint64_t newest_us = 0;

	if (count > 0)
		demand.sequence = l->promises[count - 1].highest;
	/* Earlier promises are older, and none before the last one that could be kept is broken. */
	for (size_t i = count; i > 0 && l->promises[i - 1].highest > recovered; i--) {
		if (l->promises[i - 1].sequence <= recovered)
			continue;
		if (newest_us == 0 && is_news(l, i - 1))
			newest_us = l->promises[i - 1].time_us;
		if (newest_us != 0)
			demand.broken_us = (int64_t)(newest_us - l->promises[i - 1].time_us);
		demand.broken_at = l->promises[i - 1].at;
		demand.broken_token = l->promises[i - 1].token;
		demand.broken++;
	}
	return demand;
}

struct ledger_totals ledger_totals(const struct ledger *l)
{
	return l->totals;
}
