/*
 * The three forms in which the classic commands are called. What the commands do is recorded in
 * conformance/.
 */
#include <stdlib.h>

#include "command/classic.h"
#include "unit.h"
#include "util/chain.h"

static struct qless *engine;
static struct classic classic;
static struct chunk_pool pool;
static struct chain out;
static struct resp_writer writer;
static struct buf reply;

void setUp(void)
{
	engine = qless_new(NULL);
	classic_init(&classic, engine);
	classic.sha = STR("abc");
	chunk_pool_init(&pool, 2);
	chain_init(&out, &pool);
	resp_writer_init(&writer, &out, 2);
	buf_init(&reply, BUF_NO_MAX);
}

void tearDown(void)
{
	classic_done(&classic);
	qless_free(engine);
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

static struct qless_str run_form(enum classic_form form, const char *line)
{
	struct qless_str words[32];
	char text[256];
	size_t count;

	strcpy(text, line);
	count = split(text, words);
	classic_run_script(&classic, form, words, count, &writer);
	return take_reply();
}

static struct qless_str run_native(double now, const char *line)
{
	struct qless_str words[32];
	char text[256];
	size_t count;

	strcpy(text, line);
	count = split(text, words);
	classic_run(&classic, classic_find(words[0]), CLASSIC_NATIVE, now, words + 1, count - 1,
		    &writer);
	return take_reply();
}

static void the_table_has_all_commands_in_order(void)
{
	const struct classic_command *table;
	size_t count;
	size_t i;

	table = classic_commands(&count);
	TEST_ASSERT_EQUAL_size_t(37 + 4, count); /* of the reference, and extensions */
	for (i = 1; i < count; i++)
		TEST_ASSERT_TRUE(str_compare(table[i - 1].name, table[i].name) < 0);
	for (i = 0; i < count; i++)
		TEST_ASSERT_TRUE(classic_find(table[i].name) == &table[i]);
	TEST_ASSERT_NULL(classic_find(STR("PUT")));
}

static void native_calls_have_code_words_in_errors(void)
{
	ASSERT_STR("$1\r\nj\r\n", run_native(5, "put w q j k {} 0"));
	ASSERT_STR("-NOTRUNNING Heartbeat(): Job j not currently running: waiting\r\n",
		   run_native(6, "heartbeat j w"));
	ASSERT_STR("-BADARG Queue(): no queue name provided\r\n", run_native(6, "pop"));
	ASSERT_STR("-NOJOB Complete(): Job x does not exist\r\n",
		   run_native(6, "complete x w q {}"));
	ASSERT_STR("-BADARG Put(): Arg \"klass\" missing\r\n", run_native(6, "put w q j"));
	TEST_ASSERT_TRUE(str_starts_with(run_native(6, "put w q j k [ 0"), STR("-BADJSON ")));
}

static void explicit_calls_take_the_time_and_say_err(void)
{
	ASSERT_STR("$1\r\nj\r\n", run_form(CLASSIC_EXPLICIT, "put 5 w q j k {} 0"));
	ASSERT_STR("-ERR Heartbeat(): Job j not currently running: waiting\r\n",
		   run_form(CLASSIC_EXPLICIT, "heartbeat 6 j w"));
	ASSERT_STR("-ERR Arg \"now\" missing or not a number: nil\r\n",
		   run_form(CLASSIC_EXPLICIT, "heartbeat x j w"));
	ASSERT_STR("-ERR Unknown command nope\r\n", run_form(CLASSIC_EXPLICIT, "nope 1"));
	ASSERT_STR("-ERR Must provide a command\r\n", run_form(CLASSIC_EXPLICIT, ""));
}

static void script_calls_have_the_errors_of_scripts(void)
{
	ASSERT_STR("-ERR user_script:1: Queue(): no queue name provided script: abc, on "
		   "@user_script:1.\r\n",
		   run_form(CLASSIC_SCRIPT, "pop 1"));
	ASSERT_STR("-ERR Wrong number of args calling Redis command from script script: abc, on "
		   "@user_script:1.\r\n",
		   run_form(CLASSIC_SCRIPT, "pause 1"));
}

static void an_empty_list_is_an_object_only_for_scripts(void)
{
	ASSERT_STR("$2\r\n{}\r\n", run_form(CLASSIC_SCRIPT, "pop 1 q w 1"));
	ASSERT_STR("$2\r\n[]\r\n", run_form(CLASSIC_EXPLICIT, "pop 1 q w 1"));
	ASSERT_STR("$2\r\n[]\r\n", run_native(1, "pop q w 1"));
	ASSERT_STR("$24\r\n{\"stalled\":[],\"jobs\":[]}\r\n",
		   run_form(CLASSIC_EXPLICIT, "workers 1 w"));
}

static void an_error_ends_at_a_nul_and_has_one_line(void)
{
	struct qless_str args[] = { STR_INIT("a\r\nb\0c") };

	classic_run(&classic, classic_find(STR("timeout")), CLASSIC_NATIVE, 1, args, 1, &writer);
	ASSERT_STR("-NOJOB Timeout(): Job a  b\r\n", take_reply());
}

static void a_job_is_written_with_its_members_in_order(void)
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

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_table_has_all_commands_in_order);
	RUN(native_calls_have_code_words_in_errors);
	RUN(explicit_calls_take_the_time_and_say_err);
	RUN(script_calls_have_the_errors_of_scripts);
	RUN(an_empty_list_is_an_object_only_for_scripts);
	RUN(an_error_ends_at_a_nul_and_has_one_line);
	RUN(a_job_is_written_with_its_members_in_order);
	return UNIT_RESULT();
}
