/*
 * Replays recorded scenarios against the commands and the engine, without a server.
 *
 *	runner [--scenario <id>] <file.jsonl>...
 *
 * Each scenario runs on two engines with different hash seeds, which must end in the same state,
 * byte for byte. So must a third engine, into which the keys of the first are moved as from a
 * Redis. A scenario stops at its first difference, which is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "script_client.h"
#include "keyspace/keyspace.h"
#include "moved.h"
#include "qless.h"
#include "resp/writer.h"
#include "state.h"
#include "transcript.h"
#include "util/buf.h"
#include "util/chain.h"
#include "util/num.h"

/* An engine, and what is needed to call it. */
struct subject {
	struct qless *engine;
	struct databases *databases;
	struct script_client client;
	struct chunk_pool pool;
	struct chain out;
	struct reply writer;
	struct buf reply; /* the last reply as RESP */
	struct events events;
};

/* A scenario and its two engines. */
struct replay {
	struct scenario scenario;
	struct subject subjects[2];
};

/* ---- running a command ---- */

static void on_event(void *arg, struct qless_str channel, struct qless_str payload)
{
	struct subject *subject = arg;

	events_add(&subject->events, channel, payload);
}

static void subject_init(struct subject *subject, uint64_t seed)
{
	struct qless_hooks hooks = { .publish = on_event, .arg = subject, .hash_seed = seed };

	memset(subject, 0, sizeof(*subject));
	subject->databases = databases_new(1, &hooks);
	subject->engine = databases_get(subject->databases, 0)->engine;
	script_client_init(&subject->client, subject->databases);
	chunk_pool_init(&subject->pool, 4);
	chain_init(&subject->out, &subject->pool);
	resp_writer_init(&subject->writer, &subject->out, 2);
	buf_init(&subject->reply, BUF_NO_MAX);
	buf_init(&subject->events.text, BUF_NO_MAX);
}

static void subject_done(struct subject *subject)
{
	script_client_done(&subject->client);
	databases_free(subject->databases);
	chain_done(&subject->out);
	chunk_pool_done(&subject->pool);
	buf_done(&subject->reply);
	buf_done(&subject->events.text);
}

static void take_reply(struct subject *subject)
{
	struct iovec iov[64];
	int count;
	int i;

	buf_clear(&subject->reply);
	while (subject->out.len > 0) {
		count = chain_peek(&subject->out, iov, 64, subject->out.len);
		for (i = 0; i < count; i++) {
			buf_append(&subject->reply, iov[i].iov_base, iov[i].iov_len);
			chain_consume(&subject->out, iov[i].iov_len);
		}
	}
}

static void run_step(struct subject *subject, const struct scenario *s)
{
	size_t argc;
	struct qless_str *argv = step_arguments(s, &argc);

	buf_clear(&subject->events.text);
	subject->events.count = 0;
	script_client_run(&subject->client, REQUEST_SCRIPT, argv, argc, &subject->writer);
	take_reply(subject);
	free(argv);
}

/* ---- comparing the state ---- */

static void add_value(void *arg, struct qless_str value)
{
	content_add(arg, value);
}

static void add_field(void *arg, struct qless_str name, struct qless_str value)
{
	content_add(arg, name);
	content_add(arg, value);
}

static void add_node(struct content *content, const struct keyspace_key *key,
		     const struct skipnode *node)
{
	char score[NUM_MAX];
	size_t len = num_format_g17(score, node->score);

	content_add(content, key->list->member(node));
	content_add(content, str_make(score, len));
}

static void read_key(const struct subject *subject, struct qless_str name, struct content *content)
{
	const struct skipnode *node;
	struct keyspace_key key;

	content_clear(content, STR("none"));
	if (!keyspace_find(subject->engine, name, &key))
		return;
	content->type = str_from(keyspace_type_name(key.type));
	switch (key.type) {
	case KEYSPACE_HASH:
		keyspace_each_field(&key, add_field, content);
		break;
	case KEYSPACE_LIST:
		keyspace_each_element(&key, 0, keyspace_list_length(&key), add_value, content);
		break;
	case KEYSPACE_SET:
		keyspace_each_member(&key, SIZE_MAX, add_value, content);
		break;
	case KEYSPACE_ZSET:
		for (node = skiplist_first(key.list); node != NULL; node = skiplist_next(node))
			add_node(content, &key, node);
		break;
	}
}

static void check_key_of(struct scenario *s, const struct subject *subject, yyjson_val *line)
{
	struct content content = { .texts = BUF_INIT(BUF_NO_MAX) };

	read_key(subject, state_key_name(line), &content);
	check_key(s, line, &content);
	buf_done(&content.texts);
}

static void show_name(void *arg, struct qless_str name, enum keyspace_type type)
{
	(void)arg;
	(void)type;
	show_text("", name);
}

static void check_state(struct scenario *s, const struct subject *subject, yyjson_val *line)
{
	if (!check_key_count(s, line, keyspace_count(subject->engine)))
		keyspace_each_key(subject->engine, STR(""), show_name, NULL);
}

/* ---- invariants ---- */

static void report_finding(void *arg, struct qless_str finding)
{
	struct scenario *s = arg;

	scenario_differ(s, "the state is inconsistent after it");
	show_text("finding", finding);
}

static void append_piece(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
}

static void check_twins(struct replay *replay)
{
	struct buf dumps[2] = { BUF_INIT(BUF_NO_MAX), BUF_INIT(BUF_NO_MAX) };
	int i;

	for (i = 0; i < 2; i++)
		qless_dump(replay->subjects[i].engine, append_piece, &dumps[i]);
	if (!str_equal(buf_str(&dumps[0]), buf_str(&dumps[1])))
		scenario_differ(&replay->scenario, "two engines differ after it");
	for (i = 0; i < 2; i++)
		buf_done(&dumps[i]);
}

static void check_move(struct replay *replay)
{
	struct buf difference = BUF_INIT(BUF_NO_MAX);

	if (!moved_is_same(replay->subjects[0].engine, &difference)) {
		scenario_differ(&replay->scenario, "it is not the same after a move");
		show_text("moved", buf_str(&difference));
	}
	buf_done(&difference);
}

/* ---- scenarios ---- */

static void scenario_begin(void *arg)
{
	struct replay *replay = arg;

	subject_init(&replay->subjects[0], 1);
	subject_init(&replay->subjects[1], 0x9e3779b97f4a7c15);
}

static void scenario_end(void *arg)
{
	struct replay *replay = arg;

	if (!replay->scenario.failed) {
		qless_check(replay->subjects[0].engine, report_finding, &replay->scenario);
		check_twins(replay);
		check_move(replay);
	}
	subject_done(&replay->subjects[0]);
	subject_done(&replay->subjects[1]);
}

/* A failing call must not have changed anything, nor published. */
static void check_no_effect(struct scenario *s, struct subject *subject, uint64_t changes)
{
	if (buf_data(&subject->reply)[0] != '-' ||
	    (changes == qless_changes(subject->engine) && subject->events.count == 0))
		return;
	scenario_differ(s, "it failed, but had effects");
}

static void scenario_line(void *arg, yyjson_val *line)
{
	struct replay *replay = arg;
	struct scenario *s = &replay->scenario;
	struct subject *subject = &replay->subjects[0];
	yyjson_val *type = yyjson_obj_get(line, "t");
	uint64_t changes;

	if (yyjson_equals_str(type, "step")) {
		changes = qless_changes(subject->engine);
		run_step(subject, s);
		run_step(&replay->subjects[1], s);
		check_reply(s, buf_str(&subject->reply));
		if (!s->failed)
			check_events(s, &subject->events);
		if (!s->failed)
			check_no_effect(s, subject, changes);
	} else if (yyjson_equals_str(type, "state")) {
		check_state(s, subject, line);
		if (!s->failed)
			qless_check(subject->engine, report_finding, s);
	} else if (yyjson_equals_str(type, "key")) {
		check_key_of(s, subject, line);
	}
}

int main(int argc, char **argv)
{
	static const struct transcript_ops ops = { scenario_begin, scenario_line, scenario_end };
	struct tally tally = { 0, 0 };
	struct replay replay = { 0 };
	const char *only = NULL;
	int i = 1;

	if (argc > 2 && strcmp(argv[1], "--scenario") == 0) {
		only = argv[2];
		i = 3;
	}
	if (i == argc) {
		fprintf(stderr, "usage: runner [--scenario <id>] <file.jsonl>...\n");
		return 2;
	}
	for (; i < argc; i++)
		transcript_run(argv[i], only, &replay.scenario, &ops, &replay, &tally);
	printf("%zu scenarios passed, %zu failed\n", tally.passed, tally.failed);
	return tally.failed > 0 || tally.passed == 0;
}
