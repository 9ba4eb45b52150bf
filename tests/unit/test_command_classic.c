/*
 * The three forms of the queue commands. The recorded scenarios in conformance/ test what the
 * commands do.
 */
#include <stdlib.h>

#include "queue.h"
#include "script_client.h"
#include "resp/writer.h"
#include "unit.h"
#include "util/chain.h"

static struct databases *databases;
static struct queue_caller classic;
static struct script_client client;
static struct chunk_pool pool;
static struct chain out;
static struct reply writer;
static struct buf reply;

void setUp(void)
{
	struct qless_hooks hooks = { .hash_seed = 1 };

	databases = databases_new(1, &hooks);
	queue_caller_init_in(&classic, databases_get(databases, 0));
	script_client_init(&client, databases);
	chunk_pool_init(&pool, 2);
	chain_init(&out, &pool);
	resp_writer_init(&writer, &out, 2);
	buf_init(&reply, BUF_NO_MAX);
}

void tearDown(void)
{
	script_client_done(&client);
	queue_caller_done(&classic);
	databases_free(databases);
	chain_done(&out);
	chunk_pool_done(&pool);
	buf_done(&reply);
}

static struct qless_str take_reply(void)
{
	struct iovec iov[8];
	int count = chain_peek(&out, iov, 8, out.len);
	int i;

	buf_clear(&reply);
	for (i = 0; i < count; i++)
		buf_append(&reply, iov[i].iov_base, iov[i].iov_len);
	chain_consume(&out, out.len);
	return buf_str(&reply);
}

/* Words separated by blanks. */
static size_t split(char *text, struct qless_str *ret_words)
{
	size_t count = 0;
	char *word;

	for (word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
		ret_words[count++] = str_from(word);
	return count;
}

static struct qless_str run_form(enum request_form form, const char *line)
{
	struct qless_str words[32];
	char text[256];
	size_t count;

	strcpy(text, line);
	count = split(text, words);
	script_client_run(&client, form, words, count, &writer);
	return take_reply();
}

static struct qless_str run_native(double now, const char *line)
{
	struct qless_str words[32];
	char text[256];
	size_t count;

	strcpy(text, line);
	count = split(text, words);
	queue_run(&classic, queue_command_find(words[0]), REQUEST_NATIVE, now, words + 1, count - 1,
		  &writer);
	return take_reply();
}

static void the_queue_commands_are_in_order(void)
{
	const struct command *rows = queue_command_rows.rows;

	TEST_ASSERT_EQUAL_size_t(37 + 36, queue_command_rows.count); /* qless's, and ours */
	for (size_t i = 1; i < queue_command_rows.count; i++)
		TEST_ASSERT_LESS_THAN(0, strcmp(rows[i - 1].name, rows[i].name));
	for (size_t i = 0; i < queue_command_rows.count; i++)
		TEST_ASSERT_TRUE(queue_command_find(str_from(rows[i].name)) == &rows[i]);
	TEST_ASSERT_NULL(queue_command_find(STR("PUT")));
}

/* The beginning is enough: options come and go. */
#define PUT_EXPECTED "(expected: PUT worker queue jid klass data delay [<'priority' n | "

#define ASSERT_STARTS(expected, text)                                                      \
	do {                                                                               \
		struct qless_str text_ = (text);                                           \
                                                                                           \
		if (!str_starts_with(text_, STR(expected)))                                \
			ASSERT_STR(expected, text_);                                       \
		TEST_ASSERT_TRUE(                                                          \
			str_equal(str_make(text_.ptr + text_.len - 4, 4), STR("])\r\n"))); \
	} while (0)

static void native_errors_begin_with_a_code(void)
{
	ASSERT_STR("$1\r\nj\r\n", run_native(5, "put w q j k {} 0"));
	ASSERT_STR("-NOTRUNNING Job j is not running: its state is waiting\r\n",
		   run_native(6, "heartbeat j w"));
	ASSERT_STR("-NOJOB Job x does not exist\r\n", run_native(6, "complete x w q {}"));
	TEST_ASSERT_TRUE(str_starts_with(run_native(6, "put w q j k [ 0"), STR("-BADJSON ")));
}

/* Errors name the argument, its value, and the expected arguments. */
static void native_errors_show_the_expected_arguments(void)
{
	ASSERT_STARTS(
		"-BADARG delay must be a number from 0 to 1e+15; found \"mail\" " PUT_EXPECTED,
		run_native(5, "put q j k w {} mail"));
	ASSERT_STARTS("-BADARG Option \"tags\" has no value " PUT_EXPECTED,
		      run_native(5, "put w q j k {} 0 tags"));
	ASSERT_STARTS(
		"-BADARG retries must be a whole number from 0 to 1e+15; found \"x\" " PUT_EXPECTED,
		run_native(5, "put w q j k {} 0 retries x"));
	ASSERT_STARTS(
		"-BADARG delay must be a number from 0 to 1e+15; found \"x\" (expected: COMPLETE "
		"jid worker queue [data] [<'result' text | 'next' queue | ",
		run_native(5, "complete j w q {} next q delay x"));
	ASSERT_STR("-BADARG start must be a whole number from -1e+15 to 1e+15; found \"0.5\" "
		   "(expected: FAILED [group [start [limit]]])\r\n",
		   run_native(5, "failed g 0.5"));
	ASSERT_STR("-BADARG jid is missing (expected: TAG <'add' jid [tag ...] | "
		   "'remove' jid [tag ...] | 'get' tag [offset [count]] | "
		   "'top' [offset [count]]>)\r\n",
		   run_native(5, "tag add"));
	/* An error of the engine. */
	ASSERT_STR("-BADARG value must be a number; found \"x\" (expected: CONFIG.SET option "
		   "value)\r\n",
		   run_native(5, "config.set heartbeat x"));
}

static void other_forms_have_the_errors_of_the_reference(void)
{
	ASSERT_STR("-ERR Odd number of additional args: table: 0x0\r\n",
		   run_form(REQUEST_QLESS, "put 5 w q j k {} 0 tags"));
	ASSERT_STR("-ERR assertion failed!\r\n",
		   run_form(REQUEST_QLESS, "complete 5 j w q {} next q delay x"));
	ASSERT_STR("-ERR bad argument #1 to 'decode' (string expected, got nil)\r\n",
		   run_form(REQUEST_QLESS, "complete 5 j w q"));
	ASSERT_STR("-ERR value is not an integer or out of range\r\n",
		   run_form(REQUEST_QLESS, "failed 5 g 0.5"));
}

static void qless_takes_the_time_and_its_errors_begin_with_err(void)
{
	ASSERT_STR("$1\r\nj\r\n", run_form(REQUEST_QLESS, "put 5 w q j k {} 0"));
	ASSERT_STR("-ERR Heartbeat(): Job j not currently running: waiting\r\n",
		   run_form(REQUEST_QLESS, "heartbeat 6 j w"));
	ASSERT_STR("-ERR Arg \"now\" missing or not a number: nil\r\n",
		   run_form(REQUEST_QLESS, "heartbeat x j w"));
	ASSERT_STR("-ERR Unknown command nope\r\n", run_form(REQUEST_QLESS, "nope 1"));
	ASSERT_STR("-ERR wrong number of arguments for 'qless' command (expected: QLESS command "
		   "[now [arg [arg ...]]])\r\n",
		   run_form(REQUEST_QLESS, ""));
}

static void script_errors_look_like_those_of_the_script(void)
{
	ASSERT_STR("-ERR user_script:1: Queue(): no queue name provided script: " SCRIPT_CLIENT_SHA
		   ", on "
		   "@user_script:1.\r\n",
		   run_form(REQUEST_SCRIPT, "pop 1"));
	ASSERT_STR("-ERR Wrong number of args calling Redis command from script "
		   "script: " SCRIPT_CLIENT_SHA ", on "
		   "@user_script:1.\r\n",
		   run_form(REQUEST_SCRIPT, "pause 1"));
}

static void only_scripts_get_an_object_for_an_empty_list(void)
{
	ASSERT_STR("$2\r\n{}\r\n", run_form(REQUEST_SCRIPT, "pop 1 q w 1"));
	ASSERT_STR("$2\r\n[]\r\n", run_form(REQUEST_QLESS, "pop 1 q w 1"));
	ASSERT_STR("$2\r\n[]\r\n", run_native(1, "pop q w 1"));
	ASSERT_STR("$24\r\n{\"stalled\":[],\"jobs\":[]}\r\n",
		   run_form(REQUEST_QLESS, "workers 1 w"));
}

static void an_error_is_one_line_that_ends_at_a_nul(void)
{
	struct qless_str args[] = { STR_INIT("a\r\nb\0c") };

	queue_run(&classic, queue_command_find(STR("timeout")), REQUEST_NATIVE, 1, args, 1,
		  &writer);
	ASSERT_STR("-NOJOB Job a  b\r\n", take_reply());
}

static void a_job_has_its_members_in_order(void)
{
	run_native(5, "put w q j k {\"a/b\":1} 0 tags [\"t\"]");
	run_native(6, "log j said {\"what\":1,\"x\":[2.50]}");
	ASSERT_STR("$319\r\n{\"jid\":\"j\",\"retries\":5,\"data\":\"{\\\"a\\/"
		   "b\\\":1}\",\"failure\":{},"
		   "\"expires\":0,\"remaining\":5,\"spawned_from_jid\":false,\"dependencies\":[],"
		   "\"klass\":\"k\",\"tracked\":false,\"tags\":[\"t\"],\"queue\":\"q\","
		   "\"state\":\"waiting\",\"history\":[{\"when\":5,\"q\":\"q\",\"what\":\"put\"},"
		   "{\"x\":[2.50],\"when\":6,\"what\":\"said\"}],\"dependents\":[],\"priority\":0,"
		   "\"worker\":\"\"}\r\n",
		   run_native(7, "get j"));
}

struct notes {
	struct buf bytes; /* of all operations */
	struct buf lines; /* one for each */
};

static void note(void *arg, const struct operation *op)
{
	struct notes *notes = arg;

	operation_encode(op, &notes->bytes);
	buf_printf(&notes->lines, "%g ", op->now);
	operation_describe(op, &notes->lines);
	buf_append_char(&notes->lines, '\n');
}

/* Run the noted operations on an empty engine. */
static void run_again(struct qless *q, struct qless_str bytes)
{
	struct operation_room room = { 0 };
	struct buf error = BUF_INIT(4096);
	struct operation_outcome outcome;
	struct operation op;

	while (bytes.len > 0) {
		TEST_ASSERT_EQUAL_INT(0, operation_decode(&bytes, &room, &op, &error));
		TEST_ASSERT_EQUAL_INT(0, operation_run(q, &op, &outcome));
		TEST_ASSERT_TRUE(outcome.changed);
	}
	operation_room_done(&room);
	buf_done(&error);
}

static void append_dump(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
}

static void unchanged_data_is_not_recorded_again(void)
{
	struct notes notes = { BUF_INIT(BUF_NO_MAX), BUF_INIT(BUF_NO_MAX) };
	struct buf live = BUF_INIT(BUF_NO_MAX), again = BUF_INIT(BUF_NO_MAX);
	struct operation_recorder recorder = { .record = note, .arg = &notes };
	struct qless *engine2 = qless_new(NULL);

	databases_set_recorder(databases, &recorder);
	run_native(1, "put w q j k {\"a\":1} 0");
	run_native(2, "put w q j2 k {} 0");
	run_native(3, "pop q w 2");
	run_native(4, "heartbeat j w {\"a\":1}");
	run_native(5, "heartbeat j w {\"a\":2}");
	run_native(6, "heartbeat j w");
	run_native(7, "fail j w g m {\"a\":2}");
	run_native(8, "fail j2 w g m {\"b\":1}");
	run_native(9, "put w q j k {\"a\":2} 0");
	run_native(10, "pop q w 1");
	run_native(11, "complete j w q {\"a\":2} next q2");
	run_native(12, "pop q2 w 1");
	run_native(13, "complete j w q2 {\"a\":3}");
	TEST_ASSERT_EQUAL_STRING(
		"1 db0 put worker=\"w\" queue=\"q\" jid=\"j\" klass=\"k\" data=\"{\\\"a\\\":1}\"\n"
		"2 db0 put worker=\"w\" queue=\"q\" jid=\"j2\" klass=\"k\" data=\"{}\"\n"
		"3 db0 pop queue=\"q\" worker=\"w\" count=2\n"
		"4 db0 heartbeat jid=\"j\" worker=\"w\" keeps-data\n"
		"5 db0 heartbeat jid=\"j\" worker=\"w\" data=\"{\\\"a\\\":2}\"\n"
		"6 db0 heartbeat jid=\"j\" worker=\"w\"\n"
		"7 db0 fail jid=\"j\" worker=\"w\" group=\"g\" message=\"m\" keeps-data\n"
		"8 db0 fail jid=\"j2\" worker=\"w\" group=\"g\" message=\"m\" "
		"data=\"{\\\"b\\\":1}\"\n"
		"9 db0 put worker=\"w\" queue=\"q\" jid=\"j\" klass=\"k\" data=\"{\\\"a\\\":2}\"\n"
		"10 db0 pop queue=\"q\" worker=\"w\" count=1\n"
		"11 db0 complete jid=\"j\" worker=\"w\" queue=\"q\" keeps-data next=\"q2\"\n"
		"12 db0 pop queue=\"q2\" worker=\"w\" count=1\n"
		"13 db0 complete jid=\"j\" worker=\"w\" queue=\"q2\" data=\"{\\\"a\\\":3}\"\n",
		buf_cstr(&notes.lines));
	run_again(engine2, buf_str(&notes.bytes));
	qless_dump(databases_peek(databases, 0), append_dump, &live);
	qless_dump(engine2, append_dump, &again);
	TEST_ASSERT_EQUAL_STRING(buf_cstr(&live), buf_cstr(&again));
	qless_free(engine2);
	buf_done(&notes.bytes);
	buf_done(&notes.lines);
	buf_done(&live);
	buf_done(&again);
}

/* The record has the jobs that the engine refused, because replay lets the engine refuse them
 * again. It does not have the jobs that the decoder refused. */
static void a_batch_is_recorded_once_without_invalid_json(void)
{
	struct notes notes = { BUF_INIT(BUF_NO_MAX), BUF_INIT(BUF_NO_MAX) };
	struct operation_recorder recorder = { .record = note, .arg = &notes };

	run_native(1, "put w q j1 k {} 0");
	run_native(1, "put w q j2 k {} 0");
	run_native(2, "pop q w 2");
	databases_set_recorder(databases, &recorder);
	run_native(3, "multiheartbeat w nobody j1 j2");
	run_native(4, "multicomplete w q j1 {} j2 { nobody {}");
	run_native(5, "multiheartbeat w j1");
	TEST_ASSERT_EQUAL_STRING(
		"3 db0 heartbeat-many worker=\"w\" jids=[\"nobody\",\"j1\",\"j2\"]\n"
		"4 db0 complete-many worker=\"w\" queue=\"q\" "
		"jobs=[\"j1\",\"{}\",\"nobody\",\"{}\"]\n",
		buf_cstr(&notes.lines));
	buf_done(&notes.bytes);
	buf_done(&notes.lines);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_queue_commands_are_in_order);
	RUN(native_errors_begin_with_a_code);
	RUN(native_errors_show_the_expected_arguments);
	RUN(other_forms_have_the_errors_of_the_reference);
	RUN(qless_takes_the_time_and_its_errors_begin_with_err);
	RUN(script_errors_look_like_those_of_the_script);
	RUN(only_scripts_get_an_object_for_an_empty_list);
	RUN(an_error_is_one_line_that_ends_at_a_nul);
	RUN(a_job_has_its_members_in_order);
	RUN(unchanged_data_is_not_recorded_again);
	RUN(a_batch_is_recorded_once_without_invalid_json);
	return UNIT_RESULT();
}
