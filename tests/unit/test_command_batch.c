#include "native.h"
#include "script_client.h"

static struct native_fixture f;

void setUp(void)
{
	native_setup(&f);
}

void tearDown(void)
{
	native_teardown(&f);
}

/* Expect an error that begins with this text, and an unchanged state. */
#define ASSERT_NO_EFFECT(expected, ...)                                               \
	do {                                                                          \
		uint64_t changes_ = qless_changes(native_engine(&f));                 \
                                                                                      \
		buf_clear(&f.events);                                                 \
		ASSERT_BEGINS(expected, &f, __VA_ARGS__);                             \
		TEST_ASSERT_EQUAL_UINT64(changes_, qless_changes(native_engine(&f))); \
		TEST_ASSERT_EQUAL_size_t(0, f.events.len);                            \
	} while (0)

static void assert_jids(const char *expected, const struct qless_jobs *jobs)
{
	struct buf jids = BUF_INIT(BUF_NO_MAX);

	for (size_t i = 0; i < jobs->count; i++) {
		struct qless_job_info info;

		qless_job_read(jobs->items[i], &info);
		buf_append_str(&jids, info.jid);
		buf_append_char(&jids, ' ');
	}
	TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&jids));
	buf_done(&jids);
}

static void assert_popped(const char *expected, double now)
{
	struct qless_jobs jobs;

	TEST_ASSERT_EQUAL_INT(0, qless_pop(native_engine(&f), now, STR("q"), STR("w"), 10, &jobs));
	assert_jids(expected, &jobs);
}

/* ---- multiput ---- */

static void jobs_of_a_multiput_are_popped_in_their_order(void)
{
	f.now = 1763478000.125;
	ASSERT_NATIVE("*4\r\n$1\r\nd\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\na\r\n", &f, "multiput", "w",
		      "q", "0", "jobs", "d", "k1", "1", "b", "k2", "2", "c", "k1", "3", "a", "k1",
		      "{}");
	assert_popped("d b c a ", f.now + 1);
}

static void multiput_leads_to_the_state_of_single_puts(void)
{
	char *batch;

	f.call.session.db = 0;
	f.now = 1000;
	NATIVE(&f, "qless", "multiput", "1000", "w", "q", "0", "priority", "3", "tags", "[\"t\"]",
	       "retries", "1", "depends", "[\"a\"]", "jobs", "a", "k", "1", "b", "l", "2", "a", "m",
	       "3");
	batch = mem_dup(native_dump(&f), strlen(native_dump(&f)));
	f.call.session.db = 1;
	NATIVE(&f, "qless", "put", "1000", "w", "q", "a", "k", "1", "0", "priority", "3", "tags",
	       "[\"t\"]", "retries", "1", "depends", "[\"a\"]");
	NATIVE(&f, "qless", "put", "1000.000001", "w", "q", "b", "l", "2", "0", "priority", "3",
	       "tags", "[\"t\"]", "retries", "1", "depends", "[\"a\"]");
	NATIVE(&f, "qless", "put", "1000.000002", "w", "q", "a", "m", "3", "0", "priority", "3",
	       "tags", "[\"t\"]", "retries", "1", "depends", "[\"a\"]");
	TEST_ASSERT_EQUAL_STRING(batch, native_dump(&f));
	free(batch);
}

static void the_clock_passes_the_last_job_of_a_multiput(void)
{
	NATIVE(&f, "multiput", "w", "q", "0", "jobs", "a", "k", "1");
	TEST_ASSERT_TRUE(f.passed == 0);
	NATIVE(&f, "multiput", "w", "q", "0", "jobs", "a", "k", "1", "b", "k", "1", "c", "k", "1");
	TEST_ASSERT_TRUE(f.passed == f.now + 2e-6);
	f.passed = 0;
	NATIVE(&f, "multiput", "w", "q", "0", "jobs", "a", "k", "1", "b", "k", "no");
	NATIVE(&f, "qless", "multiput", "5000", "w", "q", "0", "jobs", "a", "k", "1", "b", "k",
	       "1");
	TEST_ASSERT_TRUE(f.passed == 0);
}

static void multiput_replaces_stars_by_new_jids(void)
{
	ASSERT_NATIVE("*3\r\n$32\r\n00000000000000000000000000000001\r\n$1\r\nb\r\n"
		      "$32\r\n00000000000000000000000000000002\r\n",
		      &f, "multiput", "*", "q", "0", "jobs", "*", "k", "1", "b", "*", "2", "*", "k",
		      "3");
}

static void multiput_replaces_many_stars(void)
{
	struct qless_str argv[5 + 3 * 200] = { STR("multiput"), STR("w"), STR("q"), STR("0"),
					       STR("jobs") };
	const size_t argc = sizeof argv / sizeof *argv;
	struct qless_jobs jobs;

	for (size_t i = 5; i < argc; i += 3) {
		argv[i] = STR("*");
		argv[i + 1] = STR("k");
		argv[i + 2] = STR("1");
	}
	TEST_ASSERT_EQUAL_MEMORY("*200\r\n$32\r\n", call_run_argv(&f.call, argv, (int)argc), 11);
	TEST_ASSERT_EQUAL_INT(0,
			      qless_pop(native_engine(&f), 2000, STR("q"), STR("w"), 500, &jobs));
	TEST_ASSERT_EQUAL_size_t(200, jobs.count);
}

static void multiput_applies_its_options_to_each_job(void)
{
	struct qless_job_info info;

	NATIVE(&f, "multiput", "w", "q", "60", "priority", "7", "retries", "2", "tags", "[\"t\"]",
	       "jobs", "a", "k", "1", "b", "k", "2");
	for (int i = 0; i < 2; i++) {
		qless_job_read(qless_get(native_engine(&f), i == 0 ? STR("a") : STR("b")), &info);
		TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info.state);
		TEST_ASSERT_TRUE(info.priority == 7 && info.retries == 2);
	}
	ASSERT_NATIVE("$28\r\n{\"jobs\":[\"a\",\"b\"],\"total\":2}\r\n", &f, "tag", "get", "t");
}

static void an_invalid_multiput_puts_no_job(void)
{
	ASSERT_NO_EFFECT("-BADARG Unknown option \"tag\"; did you mean \"tags\"? (expected: MULTI",
			 "multiput", "w", "q", "0", "tag", "[]", "jobs", "a", "k", "1");
	ASSERT_NO_EFFECT(
		"-BADARG The word \"jobs\" is missing, and the jobs after it (expected: MULTI",
		"multiput", "w", "q", "0", "tags", "[]", "retries", "1");
	ASSERT_NO_EFFECT("-BADARG Option \"priority\" has no value (expected: MULTI", "multiput",
			 "w", "q", "0", "tags", "[]", "retries", "jobs", "priority");
	ASSERT_NO_EFFECT(
		"-BADARG Each job needs a jid, a klass and data; found 4 arguments for them (expec",
		"multiput", "w", "q", "0", "jobs", "a", "k", "1", "b");
	ASSERT_NO_EFFECT(
		"-BADARG Each job needs a jid, a klass and data; found 0 arguments for them (expec",
		"multiput", "w", "q", "0", "tags", "[]", "priority", "1", "jobs");
	ASSERT_NO_EFFECT(
		"-BADARG delay must be a number from 0 to 1e+15; found \"soon\" (expected: MULTI",
		"multiput", "w", "q", "soon", "jobs", "a", "k", "1");
	ASSERT_NO_EFFECT(
		"-BADARG data of job \"b\" must be JSON other than false; found \"false\" (exp",
		"multiput", "w", "q", "0", "jobs", "a", "k", "1", "b", "k", "false");
	ASSERT_NO_EFFECT("-BADJSON data of job \"b\" must be JSON; found \"{\" (expected: MULTI",
			 "multiput", "w", "q", "0", "jobs", "a", "k", "1", "b", "k", "{");
	ASSERT_NO_EFFECT(
		"-BADARG tags must be a JSON array of strings; found \"1\" (expected: MULTI",
		"multiput", "w", "q", "0", "tags", "1", "jobs", "a", "k", "1");
	ASSERT_NO_EFFECT(
		"-BADARG retries must be a whole number from 0 to 1e+15; found \"x\" (expected",
		"multiput", "w", "q", "0", "retries", "x", "jobs", "a", "k", "1");
	ASSERT_NO_EFFECT("-ERR wrong number of arguments", "multiput", "w", "q", "0", "jobs", "a",
			 "k");
	ASSERT_NO_EFFECT("-ERR Multiput(): Arg \"worker\" missing\r\n", "qless", "multiput", "1");
	ASSERT_NO_EFFECT("-ERR Multiput(): Arg \"queue\" missing\r\n", "qless", "multiput", "1",
			 "w");
	ASSERT_NO_EFFECT("-ERR Multiput(): Arg \"delay\" not a number: nil\r\n", "qless",
			 "multiput", "1", "w", "q");
}

/* ---- multicomplete ---- */

static void multicomplete_replies_for_each_job(void)
{
	NATIVE(&f, "multiput", "w", "q", "0", "jobs", "a", "k", "1", "b", "k", "1", "c", "k", "1");
	NATIVE(&f, "put", "w", "other", "d", "k", "1", "0");
	NATIVE(&f, "pop", "q", "w", "2");
	NATIVE(&f, "pop", "q", "v", "1");
	NATIVE(&f, "pop", "other", "w", "1");
	ASSERT_NATIVE("*7\r\n"
		      "$8\r\ncomplete\r\n"
		      "-NOTRUNNING Job a is not running: its state is complete\r\n"
		      "-NOTOWNER Job c is held by another worker: v\r\n"
		      "-WRONGQUEUE Job d is in another queue: other\r\n"
		      "-NOJOB Job e does not exist\r\n"
		      "-BADARG data must be JSON other than false; found \"false\"\r\n"
		      "$8\r\ncomplete\r\n",
		      &f, "multicomplete", "w", "q", "a", "1", "a", "1", "c", "1", "d", "1", "e",
		      "1", "b", "false", "b", "2");
}

static void each_error_of_a_multicomplete_is_about_its_own_job(void)
{
	NATIVE(&f, "multiput", "w", "q", "0", "jobs", "a", "k", "1");
	NATIVE(&f, "pop", "q", "w", "1");
	ASSERT_NATIVE("*3\r\n"
		      "-ERR Complete(): Arg \"data\" missing or not JSON: false\r\n"
		      "-ERR Complete(): Job e does not exist\r\n"
		      "$8\r\ncomplete\r\n",
		      &f, "qless", "multicomplete", "2000", "w", "q", "a", "false", "e", "1", "a",
		      "1");
}

static void multicomplete_needs_data_for_each_job(void)
{
	NATIVE(&f, "put", "w", "q", "a", "k", "1", "0");
	NATIVE(&f, "pop", "q", "w", "1");
	ASSERT_NO_EFFECT(
		"-BADARG Each job needs a jid and data; found 3 arguments for them (expected",
		"multicomplete", "w", "q", "a", "1", "b");
	ASSERT_NO_EFFECT("-ERR Multicomplete(): Each job needs a jid and data\r\n", "qless",
			 "multicomplete", "1", "w", "q");
	ASSERT_NO_EFFECT("-ERR Multicomplete(): Arg \"queue\" missing\r\n", "qless",
			 "multicomplete", "1", "w");
	ASSERT_NO_EFFECT("-ERR Multicomplete(): Arg \"worker\" missing\r\n", "qless",
			 "multicomplete", "1");
}

/* ---- multiheartbeat ---- */

static void multiheartbeat_replies_for_each_job(void)
{
	NATIVE(&f, "multiput", "w", "q", "0", "jobs", "a", "k", "1", "b", "k", "1");
	NATIVE(&f, "pop", "q", "w", "1");
	f.now = 1010;
	ASSERT_NATIVE("*4\r\n:1070\r\n"
		      "-NOTRUNNING Job b is not running: its state is waiting\r\n"
		      "-NOJOB Job c does not exist\r\n"
		      ":1070\r\n",
		      &f, "multiheartbeat", "w", "a", "b", "c", "a");
	ASSERT_NATIVE("*1\r\n-NOTOWNER Job a is held by another worker: w\r\n", &f,
		      "multiheartbeat", "v", "a");
	ASSERT_NO_EFFECT("-ERR Multiheartbeat(): Arg \"jid\" missing\r\n", "qless",
			 "multiheartbeat", "1", "w");
	ASSERT_NO_EFFECT("-ERR Multiheartbeat(): Arg \"worker\" missing\r\n", "qless",
			 "multiheartbeat", "1");
}

/* ---- forms ---- */

static const char *run_script(const char *name)
{
	const struct qless_str argv[] = { str_from(name), STR("1000"), STR("w"), STR("a") };
	struct script_client client;
	struct iovec piece;

	script_client_init(&client, f.call.env.databases);
	script_client_run(&client, REQUEST_SCRIPT, argv, 4, &f.call.writer);
	script_client_done(&client);
	buf_clear(&f.call.reply);
	while (chain_peek(&f.call.out, &piece, 1, SIZE_MAX) > 0) {
		buf_append(&f.call.reply, piece.iov_base, piece.iov_len);
		chain_consume(&f.call.out, piece.iov_len);
	}
	return buf_cstr(&f.call.reply);
}

static void scripts_do_not_know_the_extensions(void)
{
	TEST_ASSERT_NOT_NULL(strstr(run_script("multiput"), ": Unknown command multiput "));
	TEST_ASSERT_NOT_NULL(
		strstr(run_script("multicomplete"), ": Unknown command multicomplete "));
	TEST_ASSERT_NOT_NULL(
		strstr(run_script("multiheartbeat"), ": Unknown command multiheartbeat "));
	TEST_ASSERT_EQUAL_STRING("$2\r\n{}\r\n", run_script("multiget"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(jobs_of_a_multiput_are_popped_in_their_order);
	RUN(multiput_leads_to_the_state_of_single_puts);
	RUN(the_clock_passes_the_last_job_of_a_multiput);
	RUN(multiput_replaces_stars_by_new_jids);
	RUN(multiput_replaces_many_stars);
	RUN(multiput_applies_its_options_to_each_job);
	RUN(an_invalid_multiput_puts_no_job);
	RUN(multicomplete_replies_for_each_job);
	RUN(each_error_of_a_multicomplete_is_about_its_own_job);
	RUN(multicomplete_needs_data_for_each_job);
	RUN(multiheartbeat_replies_for_each_job);
	RUN(scripts_do_not_know_the_extensions);
	return UNIT_RESULT();
}
