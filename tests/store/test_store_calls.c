/*
 * Stores: opening, commands, replies and errors.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include "fixture.h"

void setUp(void)
{
	tempdir_init(&dir);
	open_store(QLESS_STORE_SYNC_EVERYSEC);
}

void tearDown(void)
{
	qless_store_close(store, NULL);
	store = NULL;
	tempdir_done(&dir);
}

/* ---- replies ---- */

static void a_command_returns_a_typed_reply(void)
{
	struct qless_reply *reply;
	const struct qless_reply *part;

	expect_answer("PONG", "PING");
	reply = ask("EXISTS nothing");
	TEST_ASSERT_EQUAL_INT(QLESS_REPLY_INTEGER, qless_reply_kind(reply));
	TEST_ASSERT_EQUAL_INT64(0, qless_reply_integer(reply));
	TEST_ASSERT_TRUE(qless_reply_number(reply) == 0);
	qless_reply_free(reply);

	reply = ask("GET nothing");
	TEST_ASSERT_EQUAL_INT(QLESS_REPLY_NULL, qless_reply_kind(reply));
	TEST_ASSERT_EQUAL_UINT64(0, qless_reply_text(reply).len);
	qless_reply_free(reply);

	reply = ask("CONFIG GET max-t*");
	TEST_ASSERT_EQUAL_INT(QLESS_REPLY_MAP, qless_reply_kind(reply));
	part = qless_reply_find(reply, "max-tags");
	TEST_ASSERT_NOT_NULL(part);
	expect_text("5000", qless_reply_text(part));
	TEST_ASSERT_NULL(qless_reply_find(reply, "max"));
	for (size_t i = 0; i < qless_reply_count(reply); i++)
		TEST_ASSERT_EQUAL_PTR(
			qless_reply_at(reply, i),
			qless_reply_find(reply, qless_reply_text(qless_reply_key(reply, i)).ptr));
	TEST_ASSERT_NULL(qless_reply_at(reply, qless_reply_count(reply)));
	TEST_ASSERT_NULL(qless_reply_key(reply, qless_reply_count(reply)));
	qless_reply_free(reply);

	reply = ask("COMMAND INFO get");
	TEST_ASSERT_EQUAL_INT(QLESS_REPLY_LIST, qless_reply_kind(reply));
	TEST_ASSERT_EQUAL_UINT64(1, qless_reply_count(reply));
	expect_text("get", qless_reply_text(qless_reply_at(qless_reply_at(reply, 0), 0)));
	qless_reply_free(reply);
}

static void an_argument_may_have_any_bytes(void)
{
	const struct qless_str bytes = { "a\0\r\n\xff", 5 };
	struct qless_str argv[] = { qless_text("ECHO"), bytes };
	struct qless_reply *reply;

	MUST(qless_store_call(store, argv, 2, NULL, &reply, &error));
	TEST_ASSERT_EQUAL_UINT64(5, qless_reply_text(reply).len);
	TEST_ASSERT_EQUAL_INT(0, memcmp(bytes.ptr, qless_reply_text(reply).ptr, 5));
	qless_reply_free(reply);
}

/* ---- errors ---- */

static void an_error_answer_is_a_word_and_a_sentence(void)
{
	struct qless_reply *reply = NULL;

	MUST_FAIL(QLESS_STORE_EREFUSED, run_words(store, "COMPLETE j1 w1 q {}", NULL, &reply));
	TEST_ASSERT_NULL(reply);
	TEST_ASSERT_EQUAL_STRING("NOJOB", error.word);
	TEST_ASSERT_EQUAL_STRING("Job j1 does not exist", error.text);
	TEST_ASSERT_FALSE(error.may_have_run);
	/* The next call is not disturbed, and clears the error. */
	expect_answer("PONG", "PING");
	TEST_ASSERT_EQUAL_INT(0, error.code);
	TEST_ASSERT_EQUAL_STRING("", error.text);
	/* It need not be asked for. */
	TEST_ASSERT_EQUAL_INT(
		QLESS_STORE_EREFUSED,
		qless_store_call(store, &(struct qless_str){ "NONSENSE", 8 }, 1, NULL, NULL, NULL));
}

static void commands_about_a_connection_are_refused(void)
{
	static const char *const lines[] = { "MULTI",
					     "select 1",
					     "SUBSCRIBE a",
					     "MONITOR",
					     "WORKER.ATTACH w1",
					     "CLIENT REPLY OFF",
					     "HELLO 2",
					     "QUIT" };

	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		MUST_FAIL(QLESS_STORE_EARGUMENT, run_words(store, lines[i], NULL, NULL));
	MUST_FAIL(QLESS_STORE_EARGUMENT, qless_store_call(store, NULL, 0, NULL, NULL, &error));
}

static void options_of_another_version_are_understood_if_they_can_be(void)
{
	struct {
		struct qless_call_options known;
		int unknown;
	} newer = { .known = { .size = sizeof newer } };
	struct qless_call_options none = { .size = 0 };
	size_t size_alone = sizeof size_alone;
	struct qless_str ping = qless_text("PING");

	MUST(qless_store_call(store, &ping, 1, &newer.known, NULL, &error));
	newer.unknown = 1;
	MUST_FAIL(QLESS_STORE_EARGUMENT,
		  qless_store_call(store, &ping, 1, &newer.known, NULL, &error));
	MUST_FAIL(QLESS_STORE_EARGUMENT, qless_store_call(store, &ping, 1, &none, NULL, &error));
	MUST(qless_store_call(store, &ping, 1, (const void *)&size_alone, NULL, &error));
}

/* ---- opening ---- */

static int try_to_open(const char *path, const struct qless_store_options *options)
{
	struct qless_store *second = NULL;
	int rc = qless_store_open(path, options, &second, &error);

	if (rc == 0)
		qless_store_close(second, NULL);
	return rc;
}

static void a_second_opener_in_this_process_is_refused(void)
{
	MUST_FAIL(QLESS_STORE_EINUSE, try_to_open(dir.path, NULL));
	expect_in(dir.path, error.text);
	expect_in("in use", error.text);
	/* The first one goes on. */
	expect_answer("PONG", "PING");
	close_store();
	MUST(try_to_open(dir.path, NULL));
}

static void a_directory_that_cannot_be_used_is_refused(void)
{
	char path[128];

	snprintf(path, sizeof path, "%s/missing", dir.path);
	MUST_FAIL(QLESS_STORE_EOPEN, try_to_open(path, NULL));
	expect_in("No such file or directory", error.text);
	snprintf(path, sizeof path, "%s/open", dir.path);
	TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0700));
	TEST_ASSERT_EQUAL_INT(0, chmod(path, 0777));
	MUST_FAIL(QLESS_STORE_EOPEN, try_to_open(path, NULL));
	expect_in("chmod o-w", error.text);
	TEST_ASSERT_EQUAL_INT(0, rmdir(path));
	MUST_FAIL(QLESS_STORE_EARGUMENT, try_to_open(NULL, NULL));
}

static void a_damaged_log_is_refused_with_the_place(void)
{
	char path[128];
	struct stat st;
	FILE *file;

	for (int i = 0; i < 100; i++)
		put_job("mail", NULL, 0);
	close_store();
	snprintf(path, sizeof path, "%s/log-00000001", dir.path);
	TEST_ASSERT_EQUAL_INT(0, stat(path, &st));
	file = fopen(path, "r+");
	TEST_ASSERT_NOT_NULL(file);
	fseek(file, 1000, SEEK_SET);
	fputs("damage", file);
	fclose(file);
	MUST_FAIL(QLESS_STORE_EOPEN, try_to_open(dir.path, NULL));
	expect_in("log-00000001", error.text);
	expect_in("damaged", error.text);
}

static void a_program_sets_directives_about_calls_and_the_log(void)
{
	const char *limits[] = { "max-data-size", "1kb", "databases", "3" };
	const char *port[] = { "port", "7537" }, *wrong[] = { "max-tags", "many" };
	struct qless_store_options options = {
		.size = sizeof options, .database = 2, .directives = limits, .directive_count = 4
	};
	struct qless_reply *reply;

	close_store();
	MUST(qless_store_open(dir.path, &options, &store, &error));
	reply = ask("CONFIG GET max-data-size");
	expect_text("1024", qless_reply_text(qless_reply_at(reply, 0)));
	qless_reply_free(reply);
	put_job("mail", "j1", 0);
	reply = ask("INFO keyspace");
	expect_in("db2:", qless_reply_text(reply).ptr);
	qless_reply_free(reply);
	close_store();

	options.database = 3;
	MUST_FAIL(QLESS_STORE_EARGUMENT, try_to_open(dir.path, &options));
	expect_in("below 3", error.text);
	options = (struct qless_store_options){ .size = sizeof options,
						.directives = port,
						.directive_count = 2 };
	MUST_FAIL(QLESS_STORE_EARGUMENT, try_to_open(dir.path, &options));
	expect_in("port", error.text);
	options.directives = wrong;
	MUST_FAIL(QLESS_STORE_EARGUMENT, try_to_open(dir.path, &options));
	expect_in("max-tags", error.text);
	options.directive_count = 1;
	MUST_FAIL(QLESS_STORE_EARGUMENT, try_to_open(dir.path, &options));
	options = (struct qless_store_options){ .size = sizeof options,
						.sync = (enum qless_store_sync)3 };
	MUST_FAIL(QLESS_STORE_EARGUMENT, try_to_open(dir.path, &options));
}

static void take_first_line(void *arg, enum qless_store_level level, const char *line)
{
	char *first = arg;

	if (first[0] == '\0')
		snprintf(first, 200, "%d %s", (int)level, line);
}

static void events_go_to_the_program(void)
{
	char first[200] = "";
	struct qless_store_options options = { .size = sizeof options,
					       .log = take_first_line,
					       .log_arg = first };

	put_job("mail", "j1", 0);
	close_store();
	MUST(qless_store_open(dir.path, &options, &store, &error));
	expect_in("0 loaded up to sequence 1", first);
}

static void what_was_put_is_there_again(void)
{
	put_job("mail", "j1", 0);
	close_store();
	open_store(QLESS_STORE_SYNC_ALWAYS);
	expect_state("waiting", "j1");
	put_job("mail", "j2", 0);
	close_store();
	open_store(QLESS_STORE_SYNC_NO);
	expect_state("waiting", "j1");
	expect_state("waiting", "j2");
}

/* Users in the log are for servers. Whoever can open the directory owns it. */
static void users_of_the_log_do_not_lock_the_program_out(void)
{
	tell("ACL SETUSER default on >secret -@all");
	close_store();
	open_store(QLESS_STORE_SYNC_EVERYSEC);
	put_job("mail", "j1", 0);
	expect_state("waiting", "j1");
}

static void a_store_that_was_shut_down_says_so(void)
{
	int rc = run_words(store, "SHUTDOWN", NULL, NULL);

	TEST_ASSERT_TRUE(rc == QLESS_STORE_ELOST || rc == QLESS_STORE_ECLOSED);
	WAIT_UNTIL(run_words(store, "PING", NULL, NULL) == QLESS_STORE_ECLOSED);
	MUST_FAIL(QLESS_STORE_ECLOSED, run_words(store, "PING", NULL, NULL));
}

/* ---- producers ---- */

static void put_takes_every_option_of_put(void)
{
	const struct qless_str words[] = { qless_text("priority"), qless_text("7"),
					   qless_text("tags"), qless_text("[\"eu\"]") };
	struct qless_store_put put = { .size = sizeof put,
				       .queue = qless_text("mail"),
				       .klass = qless_text("Send"),
				       .words = words,
				       .word_count = 4 };
	struct qless_reply *jid;
	struct qless_store_job *job;

	MUST(qless_store_put(store, &put, &jid, &error));
	TEST_ASSERT_EQUAL_UINT64(32, qless_reply_text(jid).len);
	MUST_FIND(qless_store_get(store, qless_reply_text(jid), &job, &error));
	expect_in("\"priority\":7", qless_store_job_json(job).ptr);
	expect_in("\"tags\":[\"eu\"]", qless_store_job_json(job).ptr);
	expect_text("mail", qless_store_job_queue(job));
	expect_text("Send", qless_store_job_klass(job));
	expect_text("{}", qless_store_job_data(job));
	expect_text("waiting", qless_store_job_state(job));
	expect_text(qless_reply_text(jid).ptr, qless_store_job_jid(job));
	TEST_ASSERT_EQUAL_INT64(5, qless_store_job_retries_left(job));
	qless_store_job_free(job);
	qless_reply_free(jid);
	put.word_count = 3;
	MUST_FAIL(QLESS_STORE_EREFUSED, qless_store_put(store, &put, NULL, &error));
	TEST_ASSERT_EQUAL_STRING("BADARG", error.word);
}

static void a_job_that_does_not_exist_is_not_found(void)
{
	struct qless_store_job *job = NULL;

	TEST_ASSERT_EQUAL_INT(0, qless_store_get(store, qless_text("j1"), &job, &error));
	TEST_ASSERT_NULL(job);
}

/* ---- waiting ---- */

static void a_call_that_waits_ends_when_its_time_is_over(void)
{
	struct qless_call_options options = { .size = sizeof options, .timeout_s = 0.05 };

	MUST_FAIL(QLESS_STORE_ESTOPPED, run_words(store, "BPOP 0 w1 1 mail", &options, NULL));
	TEST_ASSERT_FALSE(error.may_have_run);
	TEST_ASSERT_FALSE(somebody_waits());
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_command_returns_a_typed_reply);
	RUN(an_argument_may_have_any_bytes);
	RUN(an_error_answer_is_a_word_and_a_sentence);
	RUN(commands_about_a_connection_are_refused);
	RUN(options_of_another_version_are_understood_if_they_can_be);
	RUN(a_second_opener_in_this_process_is_refused);
	RUN(a_directory_that_cannot_be_used_is_refused);
	RUN(a_damaged_log_is_refused_with_the_place);
	RUN(a_program_sets_directives_about_calls_and_the_log);
	RUN(events_go_to_the_program);
	RUN(what_was_put_is_there_again);
	RUN(users_of_the_log_do_not_lock_the_program_out);
	RUN(a_store_that_was_shut_down_says_so);
	RUN(put_takes_every_option_of_put);
	RUN(a_job_that_does_not_exist_is_not_found);
	RUN(a_call_that_waits_ends_when_its_time_is_over);
	return UNIT_RESULT();
}
