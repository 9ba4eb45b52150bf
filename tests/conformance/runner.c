/*
 * Replays recorded scenarios against the commands and the engine, without a server.
 *
 *	runner [--scenario <id>] [--keep-going] <file.jsonl>...
 *
 * Each scenario is run against two engines with different hash seeds, whose state must come out
 * byte for byte the same. A scenario is stopped at its first difference, which is shown.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "command/classic.h"
#include "compare.h"
#include "keyspace/keyspace.h"
#include "qless.h"
#include "resp/writer.h"
#include "util/buf.h"
#include "util/chain.h"
#include "util/mem.h"
#include "util/num.h"

#define SHOWN_MAX      2000
#define ARGS_MAX       20000
#define WORK_TOLERANCE 1e-12

/* An engine and what it takes to talk to it. */
struct subject {
	struct qless *engine;
	struct classic classic;
	struct chunk_pool pool;
	struct chain out;
	struct resp_writer writer;
	struct buf reply;  /* of the last command, as RESP */
	struct buf events; /* channel and payload of each, lengths before them */
	size_t event_count;
};

struct scenario {
	const char *id;
	struct subject subjects[2];
	yyjson_val *step; /* the one being run */
	bool failed;
};

static const char *only_scenario;

/* ---- reporting ---- */

static void show(const char *label, struct qless_str s)
{
	printf("    %-9s%.*s%s\n", label, (int)(s.len > SHOWN_MAX ? SHOWN_MAX : s.len), s.ptr,
	       s.len > SHOWN_MAX ? " ..." : "");
}

static void show_json(const char *label, yyjson_val *value)
{
	size_t len;
	char *text = yyjson_val_write(value, YYJSON_WRITE_ESCAPE_SLASHES, &len);

	show(label, text != NULL ? str_make(text, len) : STR("(nothing)"));
	free(text);
}

/* Begin to tell of the first difference of the scenario. */
static void differ(struct scenario *s, const char *what)
{
	s->failed = true;
	printf("%s: step %lld: %s\n", s->id,
	       (long long)yyjson_get_int(yyjson_obj_get(s->step, "n")), what);
	show_json("now", yyjson_obj_get(s->step, "now"));
	show_json("command", yyjson_obj_get(s->step, "cmd"));
}

static struct qless_str text_of(yyjson_val *value)
{
	return str_make(yyjson_get_str(value), yyjson_get_len(value));
}

/* ---- running a command ---- */

static void append_text(struct buf *b, struct qless_str s)
{
	buf_append(b, &s.len, sizeof(s.len));
	buf_append_str(b, s);
}

static struct qless_str take_text(struct qless_str *from)
{
	struct qless_str s;

	memcpy(&s.len, from->ptr, sizeof(s.len));
	s.ptr = from->ptr + sizeof(s.len);
	from->ptr = s.ptr + s.len;
	from->len -= sizeof(s.len) + s.len;
	return s;
}

static void on_event(void *arg, struct qless_str channel, struct qless_str payload)
{
	struct subject *subject = arg;

	append_text(&subject->events, channel);
	append_text(&subject->events, payload);
	subject->event_count++;
}

static void subject_init(struct subject *subject, uint64_t seed)
{
	struct qless_hooks hooks = { on_event, subject, seed };

	memset(subject, 0, sizeof(*subject));
	subject->engine = qless_new(&hooks);
	classic_init(&subject->classic, subject->engine);
	subject->classic.sha = STR("0123456789abcdef0123456789abcdef01234567");
	chunk_pool_init(&subject->pool, 4);
	chain_init(&subject->out, &subject->pool);
	resp_writer_init(&subject->writer, &subject->out, 2);
	buf_init(&subject->reply, BUF_NO_MAX);
	buf_init(&subject->events, BUF_NO_MAX);
}

static void subject_done(struct subject *subject)
{
	classic_done(&subject->classic);
	qless_free(subject->engine);
	chain_done(&subject->out);
	chunk_pool_done(&subject->pool);
	buf_done(&subject->reply);
	buf_done(&subject->events);
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

static void run_step(struct subject *subject, yyjson_val *step)
{
	yyjson_val *cmd = yyjson_obj_get(step, "cmd");
	yyjson_val *now = yyjson_obj_get(step, "now");
	struct qless_str *argv = mem_realloc_array(NULL, yyjson_arr_size(cmd) + 2, sizeof(*argv));
	yyjson_arr_iter it;
	yyjson_val *arg;
	size_t argc = 0;

	yyjson_arr_iter_init(cmd, &it);
	while ((arg = yyjson_arr_iter_next(&it)) != NULL) {
		argv[argc++] = text_of(arg);
		if (argc == 1 && !yyjson_is_null(now))
			argv[argc++] = text_of(now);
	}
	buf_clear(&subject->events);
	subject->event_count = 0;
	classic_run_script(&subject->classic, CLASSIC_SCRIPT, argv, argc, &subject->writer);
	take_reply(subject);
	free(argv);
}

/* ---- comparing replies ---- */

/* One line of RESP, without its type and its end. */
static struct qless_str take_line(struct qless_str *from)
{
	const char *end = memchr(from->ptr, '\r', from->len);
	struct qless_str line = str_make(from->ptr + 1, (size_t)(end - from->ptr) - 1);

	from->len -= line.len + 3;
	from->ptr += line.len + 3;
	return line;
}

static void cut_front(struct qless_str *s, const char *prefix)
{
	if (str_starts_with(*s, str_from(prefix))) {
		s->ptr += strlen(prefix);
		s->len -= strlen(prefix);
	}
}

static void cut_behind(struct qless_str *s, const char *mark)
{
	const char *at = memmem(s->ptr, s->len, mark, strlen(mark));

	if (at != NULL)
		s->len = (size_t)(at - s->ptr);
}

/* An error in the form of the transcripts. */
static struct qless_str bare_error(struct qless_str line)
{
	cut_front(&line, "ERR ");
	cut_front(&line, "user_script:1: ");
	cut_behind(&line, " script: 0123456789abcdef");
	return line;
}

static bool match_error_text(struct qless_str expected, struct qless_str got)
{
	const char *addr = memmem(expected.ptr, expected.len, "<addr>", 6);

	if (addr != NULL)
		return str_starts_with(got, str_make(expected.ptr, (size_t)(addr - expected.ptr)));
	return str_equal(expected, got);
}

static bool match_error(yyjson_val *step, yyjson_val *expected, struct qless_str got)
{
	yyjson_val *accept = yyjson_obj_get(step, "accept");
	size_t i;

	if (!yyjson_equals_str(yyjson_obj_get(step, "errclass"), "api"))
		return true;
	if (match_error_text(text_of(expected), got))
		return true;
	for (i = 0; i < yyjson_arr_size(accept); i++) {
		if (match_error_text(text_of(yyjson_arr_get(accept, i)), got))
			return true;
	}
	return false;
}

/* Compare a reply and take it from `got`. */
static bool match_reply(yyjson_val *step, yyjson_val *expected, struct qless_str *got)
{
	char type = got->len > 0 ? got->ptr[0] : '\0';
	yyjson_val *value;
	struct qless_str line;
	struct qless_str bulk;
	int64_t number;
	size_t i;

	if (type == '\0')
		return false;
	line = take_line(got);
	value = yyjson_obj_get(expected, "err");
	if (value != NULL)
		return type == '-' && match_error(step, value, bare_error(line));
	value = yyjson_obj_get(expected, "int");
	if (value != NULL)
		return type == ':' && num_parse_i64(line, &number) &&
		       number == yyjson_get_sint(value);
	value = yyjson_obj_get(expected, "arr");
	if (value != NULL) {
		if (type != '*' || !num_parse_i64(line, &number) ||
		    (size_t)number != yyjson_arr_size(value))
			return false;
		for (i = 0; i < yyjson_arr_size(value); i++) {
			if (!match_reply(step, yyjson_arr_get(value, i), got))
				return false;
		}
		return true;
	}
	if (type != '$' || !num_parse_i64(line, &number))
		return false;
	if (yyjson_obj_get(expected, "nil") != NULL || number < 0)
		return yyjson_obj_get(expected, "nil") != NULL && number < 0;
	bulk = str_make(got->ptr, (size_t)number);
	got->ptr += number + 2;
	got->len -= (size_t)number + 2;
	return compare_texts(text_of(yyjson_obj_get(expected, "str")), bulk);
}

static void check_reply(struct scenario *s, struct subject *subject)
{
	yyjson_val *expected = yyjson_obj_get(s->step, "reply");
	struct qless_str got = buf_str(&subject->reply);

	if (match_reply(s->step, expected, &got) && got.len == 0)
		return;
	differ(s, "another reply");
	show_json("expected", expected);
	show("got", buf_str(&subject->reply));
}

static void check_events(struct scenario *s, struct subject *subject)
{
	yyjson_val *expected = yyjson_obj_get(s->step, "events");
	struct qless_str got = buf_str(&subject->events);
	bool same = yyjson_arr_size(expected) == subject->event_count;
	size_t i;

	for (i = 0; same && i < subject->event_count; i++) {
		yyjson_val *event = yyjson_arr_get(expected, i);
		struct qless_str channel = take_text(&got);
		struct qless_str payload = take_text(&got);

		same = str_equal(channel, text_of(yyjson_arr_get(event, 0))) &&
		       compare_texts(text_of(yyjson_arr_get(event, 1)), payload);
	}
	if (same)
		return;
	differ(s, "other events");
	show_json("expected", expected);
	got = buf_str(&subject->events);
	while (got.len > 0) {
		show("channel", take_text(&got));
		show("payload", take_text(&got));
	}
}

/* ---- comparing the state ---- */

struct values {
	struct buf text;
	size_t count;
};

static void collect_value(void *arg, struct qless_str value)
{
	struct values *values = arg;

	append_text(&values->text, value);
	values->count++;
}

struct hash_match {
	yyjson_val *expected;
	size_t count;
	bool same;
};

static void match_field(void *arg, struct qless_str name, struct qless_str value)
{
	struct hash_match *match = arg;
	yyjson_val *expected = yyjson_obj_getn(match->expected, name.ptr, name.len);

	match->count++;
	if (expected == NULL || !compare_fields(name, text_of(expected), value))
		match->same = false;
}

static bool match_hash(yyjson_val *expected, const struct keyspace_key *key)
{
	struct hash_match match = { expected, 0, true };

	keyspace_each_field(key, match_field, &match);
	return match.same && match.count == yyjson_obj_size(expected);
}

static double score_of(yyjson_val *value)
{
	if (yyjson_is_str(value))
		return yyjson_equals_str(value, "inf") ? (double)INFINITY : -(double)INFINITY;
	return yyjson_get_num(value);
}

static bool is_work(struct qless_str name)
{
	return str_starts_with(name, STR("ql:q:")) && name.len > 5 &&
	       memcmp(name.ptr + name.len - 5, "-work", 5) == 0;
}

static bool match_zset(struct qless_str name, yyjson_val *expected, const struct keyspace_key *key)
{
	struct skipnode *node = skiplist_first(key->list);
	size_t i;

	if (skiplist_count(key->list) != yyjson_arr_size(expected))
		return false;
	for (i = 0; node != NULL; i++, node = skiplist_next(node)) {
		yyjson_val *pair = yyjson_arr_get(expected, i);
		double score = score_of(yyjson_arr_get(pair, 1));

		if (!str_equal(text_of(yyjson_arr_get(pair, 0)), key->list->member(node)) ||
		    !compare_numbers(score, node->score))
			return false;
		if (is_work(name) && isfinite(score) && fabs(score - node->score) > WORK_TOLERANCE)
			return false;
	}
	return true;
}

static bool match_values(yyjson_val *expected, struct values *values)
{
	struct qless_str got = buf_str(&values->text);
	size_t i;

	if (values->count != yyjson_arr_size(expected))
		return false;
	for (i = 0; i < values->count; i++) {
		struct qless_str value = take_text(&got);

		if (!compare_documents(text_of(yyjson_arr_get(expected, i)), value))
			return false;
	}
	return true;
}

static bool match_key(struct qless_str name, yyjson_val *line, const struct keyspace_key *key)
{
	yyjson_val *expected = yyjson_obj_get(line, "v");
	struct values values = { .text = BUF_INIT(BUF_NO_MAX) };
	bool same = false;

	if (!yyjson_equals_str(yyjson_obj_get(line, "type"), keyspace_type_name(key->type)))
		return false;
	switch (key->type) {
	case KEYSPACE_HASH:
		return match_hash(expected, key);
	case KEYSPACE_ZSET:
		return match_zset(name, expected, key);
	case KEYSPACE_LIST:
		keyspace_each_element(key, 0, keyspace_list_length(key), collect_value, &values);
		break;
	case KEYSPACE_SET:
		keyspace_each_member(key, collect_value, &values);
		break;
	}
	same = match_values(expected, &values);
	buf_done(&values.text);
	return same;
}

static void show_field(void *arg, struct qless_str name, struct qless_str value)
{
	(void)arg;
	printf("      %.*s = %.*s\n", (int)name.len, name.ptr, (int)value.len, value.ptr);
}

static void show_value(void *arg, struct qless_str value)
{
	(void)arg;
	show("", value);
}

static void show_key(const struct keyspace_key *key)
{
	struct skipnode *node;

	switch (key->type) {
	case KEYSPACE_HASH:
		keyspace_each_field(key, show_field, NULL);
		break;
	case KEYSPACE_LIST:
		keyspace_each_element(key, 0, keyspace_list_length(key), show_value, NULL);
		break;
	case KEYSPACE_SET:
		keyspace_each_member(key, show_value, NULL);
		break;
	case KEYSPACE_ZSET:
		for (node = skiplist_first(key->list); node != NULL; node = skiplist_next(node)) {
			struct qless_str member = key->list->member(node);

			printf("      %.*s %.17g\n", (int)member.len, member.ptr, node->score);
		}
		break;
	}
}

static void check_key(struct scenario *s, struct subject *subject, yyjson_val *line)
{
	struct qless_str name = text_of(yyjson_obj_get(line, "k"));
	struct keyspace_key key;
	bool exists = keyspace_find(subject->engine, name, &key);

	if (exists && match_key(name, line, &key))
		return;
	differ(s, "another state after it");
	show("key", name);
	show_json("expected", yyjson_obj_get(line, "v"));
	printf("    got%s\n", exists ? "" : "      no such key");
	if (exists)
		show_key(&key);
}

static void check_key_count(struct scenario *s, struct subject *subject, yyjson_val *line)
{
	size_t expected = (size_t)yyjson_get_uint(yyjson_obj_get(line, "keys"));
	size_t got = keyspace_count(subject->engine);

	if (got == expected)
		return;
	differ(s, "another number of keys after it");
	printf("    expected %zu\n    got      %zu\n", expected, got);
	keyspace_each_key(subject->engine, show_value, NULL);
}

/* ---- invariants ---- */

static void report_finding(void *arg, struct qless_str finding)
{
	struct scenario *s = arg;

	differ(s, "the state is inconsistent after it");
	show("finding", finding);
}

static void append_piece(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
}

static void check_twins(struct scenario *s)
{
	struct buf dumps[2] = { BUF_INIT(BUF_NO_MAX), BUF_INIT(BUF_NO_MAX) };
	int i;

	for (i = 0; i < 2; i++)
		qless_dump(s->subjects[i].engine, append_piece, &dumps[i]);
	if (!str_equal(buf_str(&dumps[0]), buf_str(&dumps[1])))
		differ(s, "two engines differ after it");
	for (i = 0; i < 2; i++)
		buf_done(&dumps[i]);
}

/* ---- scenarios ---- */

static void scenario_begin(struct scenario *s, yyjson_val *line)
{
	memset(s, 0, sizeof(*s));
	s->id = mem_dup(yyjson_get_str(yyjson_obj_get(line, "id")),
			yyjson_get_len(yyjson_obj_get(line, "id")));
	subject_init(&s->subjects[0], 1);
	subject_init(&s->subjects[1], 0x9e3779b97f4a7c15);
}

static bool scenario_end(struct scenario *s)
{
	bool passed;

	if (!s->failed) {
		qless_check(s->subjects[0].engine, report_finding, s);
		check_twins(s);
	}
	passed = !s->failed;
	subject_done(&s->subjects[0]);
	subject_done(&s->subjects[1]);
	free((char *)(uintptr_t)s->id);
	s->id = NULL;
	return passed;
}

/* A failing call must not have changed anything, nor published. */
static void check_no_effect(struct scenario *s, struct subject *subject, uint64_t changes)
{
	if (buf_data(&subject->reply)[0] != '-' ||
	    (changes == qless_changes(subject->engine) && subject->event_count == 0))
		return;
	differ(s, "it failed, but had effects");
}

static void scenario_line(struct scenario *s, yyjson_val *line)
{
	yyjson_val *type = yyjson_obj_get(line, "t");
	uint64_t changes;

	if (yyjson_equals_str(type, "step")) {
		s->step = line;
		changes = qless_changes(s->subjects[0].engine);
		run_step(&s->subjects[0], line);
		run_step(&s->subjects[1], line);
		check_reply(s, &s->subjects[0]);
		if (!s->failed)
			check_events(s, &s->subjects[0]);
		if (!s->failed)
			check_no_effect(s, &s->subjects[0], changes);
	} else if (yyjson_equals_str(type, "state")) {
		check_key_count(s, &s->subjects[0], line);
		if (!s->failed)
			qless_check(s->subjects[0].engine, report_finding, s);
	} else if (yyjson_equals_str(type, "key")) {
		check_key(s, &s->subjects[0], line);
	}
}

struct tally {
	size_t passed;
	size_t failed;
};

static void run_file(const char *path, struct tally *tally)
{
	FILE *file = fopen(path, "r");
	struct scenario s = { 0 };
	yyjson_doc *step_doc = NULL;
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	if (file == NULL) {
		perror(path);
		exit(2);
	}
	while ((len = getline(&line, &cap, file)) > 0) {
		yyjson_doc *doc = yyjson_read(line, (size_t)len, 0);
		yyjson_val *root = yyjson_doc_get_root(doc);
		yyjson_val *type = yyjson_obj_get(root, "t");

		if (yyjson_equals_str(type, "scenario")) {
			if (s.id != NULL)
				*(scenario_end(&s) ? &tally->passed : &tally->failed) += 1;
			if (only_scenario == NULL ||
			    yyjson_equals_str(yyjson_obj_get(root, "id"), only_scenario))
				scenario_begin(&s, root);
		} else if (s.id != NULL && !s.failed) {
			scenario_line(&s, root);
		}
		/* The step is told about as long as its state is compared. */
		if (yyjson_equals_str(type, "step")) {
			yyjson_doc_free(step_doc);
			step_doc = doc;
		} else {
			yyjson_doc_free(doc);
		}
	}
	if (s.id != NULL)
		*(scenario_end(&s) ? &tally->passed : &tally->failed) += 1;
	yyjson_doc_free(step_doc);
	free(line);
	fclose(file);
}

int main(int argc, char **argv)
{
	struct tally tally = { 0, 0 };
	int i = 1;

	if (argc > 2 && strcmp(argv[1], "--scenario") == 0) {
		only_scenario = argv[2];
		i = 3;
	}
	if (i == argc) {
		fprintf(stderr, "usage: runner [--scenario <id>] <file.jsonl>...\n");
		return 2;
	}
	for (; i < argc; i++)
		run_file(argv[i], &tally);
	printf("%zu scenarios passed, %zu failed\n", tally.passed, tally.failed);
	return tally.failed > 0 || tally.passed == 0;
}
