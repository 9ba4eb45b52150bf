/*
 * Any sequence of calls of the engine. Its invariants hold after each call, and a failed call has
 * no effect. Two engines with different hash seeds give the same replies and events, and end in the
 * same state.
 *
 * An input is read as calls. One byte chooses the command, one the time that passes, and one each
 * argument. Most arguments come from a short list, so that calls concern the jobs of earlier calls.
 * Some are bytes of the input.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"
#include "qless.h"
#include "resp/writer.h"
#include "util/buf.h"
#include "util/chain.h"

#define START	   1700000000.0
#define MAX_CALLS  200
#define MAX_ARGS   40
#define MAX_REPEAT 4
/* From this value on, the argument is bytes of the input, which the number of bytes precedes. */
#define LITERAL_FROM 0xf0

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

/* The arguments of a command, one letter each; see the dictionary. A `*` after the last one allows
 * to repeat it; the arguments after `?` are optional. */
static const struct {
	const char *name;
	const char *args;
} calls[] = {
	{ "put", "wqjkdnO*" },
	{ "put", "wqjkdn" },
	{ "put", "wqjkdnDJ" },
	{ "requeue", "wqjkdnO*" },
	{ "pop", "qwc" },
	{ "pop", "qwc" },
	{ "peek", "qc" },
	{ "get", "j" },
	{ "multiget", "j*" },
	{ "heartbeat", "jw?d" },
	{ "complete", "jwqd" },
	{ "complete", "jwqdE*" },
	{ "fail", "jwgm?d" },
	{ "retry", "jqw?n?g?m" },
	{ "timeout", "j*" },
	{ "cancel", "j*" },
	{ "depends", "jaj*" },
	{ "priority", "jn" },
	{ "log", "jm?d" },
	{ "jobs", "sq?n?n" },
	{ "failed", "?g?n?n" },
	{ "unfail", "qg?c" },
	{ "queues", "?q" },
	{ "length", "q" },
	{ "stats", "qn" },
	{ "pause", "q*" },
	{ "unpause", "q*" },
	{ "queue.forget", "q*" },
	{ "recur", "qjkdinnR*" },
	{ "recur.get", "j" },
	{ "recur.update", "jU*" },
	{ "recur.tag", "jt*" },
	{ "recur.untag", "jt*" },
	{ "unrecur", "j" },
	{ "workers", "?w" },
	{ "worker.deregister", "w*" },
	{ "tag", "xjt*" },
	{ "tag", "xt?n?n" },
	{ "track", "yj" },
	{ "track", "" },
	{ "config.get", "?o" },
	{ "config.set", "on" },
	{ "config.unset", "o" },
	{ "multiput", "wqnbjkd" },
	{ "multiput", "wqnObjkdjkd" },
	{ "multicomplete", "wqjdjd" },
	{ "multiheartbeat", "wj*" },
	{ "consistencycheck", "" },
	{ "consistencycheck", "r" },
};

/* An option with its value counts as two of these. */
static const struct {
	char letter;
	const char *words[16];
} dictionary[] = {
	{ 'w', { "w1", "w2", "w3", "" } },
	{ 'q', { "q1", "q2", "", "q\"3" } },
	{ 'j', { "j1", "j2", "j3", "j4", "r1", "r1-1", "r1-2", "j1-history", "", "j5" } },
	{ 'k', { "K", "", "Klass" } },
	{ 'd',
	  { "{}", "[]", "null", "false", "{\"a\":[1,{\"b\":\"\\u0000\"}]}", "\"x\"", "{", "" } },
	{ 'n',
	  { "0", "1", "10", "-1", "60", "0.5", "1e9", "-1e9", "3", "0x10", "1e300", "-0", "nan",
	    "2", "-1e300", "x" } },
	{ 'c', { "1", "2", "10", "0", "50", "-1", "0.5", "51" } },
	{ 'g', { "g1", "g2", "", "failed-retries-q1" } },
	{ 'm', { "message", "", "m\xff\"" } },
	{ 't', { "t1", "t2", "t3", "" } },
	{ 'D', { "depends" } },
	{ 'J',
	  { "[\"j1\"]", "[\"j2\",\"j3\"]", "[]", "{}", "[\"j1\",\"j1\",\"j2\"]", "[\"r1-1\"]", "1",
	    "[\"\"]", "[1]" } },
	{ 'a', { "on", "off", "all", "x" } },
	{ 's', { "complete", "running", "stalled", "scheduled", "depends", "recurring", "x" } },
	{ 'i', { "interval", "x" } },
	{ 'x', { "add", "remove", "get", "top", "y" } },
	{ 'y', { "track", "untrack", "x" } },
	{ 'o',
	  { "heartbeat", "grace-period", "stats-history", "histogram-history", "jobs-history",
	    "jobs-history-count", "max-job-history", "max-worker-age", "q1-heartbeat",
	    "q1-max-concurrency", "application", "q2-heartbeat", "" } },
	{ 'b', { "jobs", "x" } },
	{ 'r', { "resolve", "x" } },
	{ 'T', { "[\"t1\"]", "[\"t2\",\"t1\"]", "[]", "[\"t1\",\"t1\"]", "{}", "[1,2,3]" } },
};

/* Names of options, each with the letter of its value. */
static const struct {
	char letter;
	const char *names[8];
	const char *values;
} options[] = {
	{ 'O', { "priority", "tags", "retries", "depends", "x" }, "nTnJn" },
	{ 'E', { "next", "delay", "depends", "x" }, "qnJn" },
	{ 'R', { "priority", "tags", "retries", "backlog" }, "nTnn" },
	{ 'U',
	  { "priority", "interval", "retries", "data", "klass", "queue", "backlog" },
	  "nnndkqn" },
};

/* ---- reading the input ---- */

struct input {
	const uint8_t *at;
	const uint8_t *end;
};

static uint8_t take(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static struct qless_str take_literal(struct input *in)
{
	size_t len = take(in) % 32;
	struct qless_str s;

	if (len > (size_t)(in->end - in->at))
		len = (size_t)(in->end - in->at);
	s = str_make((const char *)in->at, len);
	in->at += len;
	return s;
}

static struct qless_str choose(const char *const *words, size_t max, uint8_t choice)
{
	size_t count = 0;

	while (count < max && words[count] != NULL)
		count++;
	return str_from(words[choice % count]);
}

static struct qless_str take_word(struct input *in, char letter)
{
	uint8_t choice = take(in);

	if (choice >= LITERAL_FROM)
		return take_literal(in);
	for (size_t i = 0; i < COUNT_OF(dictionary); i++) {
		if (dictionary[i].letter == letter)
			return choose(dictionary[i].words, COUNT_OF(dictionary[i].words), choice);
	}
	abort(); /* an unknown letter */
}

/* Adds one argument, or an option and its value. */
static size_t take_arg(struct input *in, char letter, struct qless_str *args)
{
	for (size_t i = 0; i < COUNT_OF(options); i++) {
		uint8_t choice;

		if (options[i].letter != letter)
			continue;
		choice = take(in);
		args[0] = choose(options[i].names, COUNT_OF(options[i].names), choice);
		args[1] = take_word(in, options[i].values[choice % strlen(options[i].values)]);
		return 2;
	}
	args[0] = take_word(in, letter);
	return 1;
}

static size_t take_args(struct input *in, const char *pattern, struct qless_str *args)
{
	size_t count = 0;

	for (const char *p = pattern; *p != '\0'; p++) {
		if (*p == '?') {
			if (take(in) % 2 == 0)
				break;
			continue;
		}
		if (p[1] == '*') {
			for (size_t n = take(in) % (MAX_REPEAT + 1); n > 0; n--)
				count += take_arg(in, *p, args + count);
			break;
		}
		count += take_arg(in, *p, args + count);
	}
	return count;
}

static double take_time(struct input *in)
{
	static const double steps[] = { 0,  0,	1e-6, 0.5,  1,	   5,	   30,	    61,
					75, 11, 600,  3600, 86400, 700000, 3000000, -100 };

	return steps[take(in) % COUNT_OF(steps)];
}

/* ---- engines ---- */

struct subject {
	struct qless *engine;
	struct queue_caller classic;
	struct chunk_pool pool;
	struct chain out;
	struct reply writer;
	struct buf reply;
	struct buf events;
};

static void on_event(void *arg, struct qless_str channel, struct qless_str payload)
{
	struct subject *s = arg;

	buf_append_str(&s->events, channel);
	buf_append_char(&s->events, ' ');
	buf_append_str(&s->events, payload);
	buf_append_char(&s->events, '\n');
}

static void subject_init(struct subject *s, uint64_t seed)
{
	static const struct qless_limits limits = { .max_name_bytes = 24,
						    .max_data_bytes = 40,
						    .max_tags = 4,
						    .max_dependencies = 3,
						    .max_jobs = 50 };
	struct qless_hooks hooks = { .publish = on_event, .arg = s, .hash_seed = seed };

	s->engine = qless_new(&hooks);
	qless_set_limits(s->engine, &limits);
	queue_caller_init(&s->classic, s->engine);
	s->classic.sha = STR("0123456789abcdef0123456789abcdef01234567");
	chunk_pool_init(&s->pool, 1);
	chain_init(&s->out, &s->pool);
	resp_writer_init(&s->writer, &s->out, 2);
	buf_init(&s->reply, BUF_NO_MAX);
	buf_init(&s->events, BUF_NO_MAX);
}

static void subject_done(struct subject *s)
{
	queue_caller_done(&s->classic);
	qless_free(s->engine);
	chain_done(&s->out);
	chunk_pool_done(&s->pool);
	buf_done(&s->reply);
	buf_done(&s->events);
}

static void fail_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	fprintf(stderr, "%.*s\n", (int)finding.len, finding.ptr);
	abort();
}

struct made_call {
	const struct command *command;
	enum request_form form;
	double now;
	struct qless_str args[MAX_ARGS];
	size_t count;
};

static void subject_run(struct subject *s, const struct made_call *r)
{
	uint64_t changes = qless_changes(s->engine);
	struct iovec piece;
	int rc;

	buf_clear(&s->events);
	buf_clear(&s->reply);
	rc = queue_run(&s->classic, r->command, r->form, r->now, r->args, r->count, &s->writer);
	while (chain_peek(&s->out, &piece, 1, SIZE_MAX) > 0) {
		buf_append(&s->reply, piece.iov_base, piece.iov_len);
		chain_consume(&s->out, piece.iov_len);
	}
	assert(s->reply.len > 0 && (buf_data(&s->reply)[0] == '-') == (rc < 0));
	if (rc < 0)
		assert(qless_changes(s->engine) == changes && s->events.len == 0);
}

static void append_piece(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
}

static void compare_states(struct subject *a, struct subject *b)
{
	struct buf x = BUF_INIT(BUF_NO_MAX), y = BUF_INIT(BUF_NO_MAX);

	qless_dump(a->engine, append_piece, &x);
	qless_dump(b->engine, append_piece, &y);
	assert(str_equal(buf_str(&x), buf_str(&y)));
	buf_done(&x);
	buf_done(&y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	struct subject a, b;
	struct made_call r = { .now = START };

	subject_init(&a, 1);
	subject_init(&b, 0x9e3779b97f4a7c15);
	for (int i = 0; i < MAX_CALLS && in.at < in.end; i++) {
		uint8_t choice = take(&in);

		r.now += take_time(&in);
		if (choice == 0xff) {
			qless_maintain(a.engine);
			qless_maintain(b.engine);
		} else {
			size_t call = choice % COUNT_OF(calls);

			r.command = queue_command_find(str_from(calls[call].name));
			assert(r.command != NULL);
			r.form = choice / COUNT_OF(calls) % 3;
			r.count = take_args(&in, calls[call].args, r.args);
			subject_run(&a, &r);
			subject_run(&b, &r);
			assert(str_equal(buf_str(&a.reply), buf_str(&b.reply)));
			assert(str_equal(buf_str(&a.events), buf_str(&b.events)));
		}
		assert(qless_changes(a.engine) == qless_changes(b.engine));
		qless_check(a.engine, fail_finding, NULL);
	}
	compare_states(&a, &b);
	subject_done(&a);
	subject_done(&b);
	return 0;
}
