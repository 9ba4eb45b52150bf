/*
 * A store whose disk refuses writes, and one whose log grows.
 *
 * A limit on the size of files stands in for a disk that fails: a write beyond it is refused.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fixture.h"

/* Bytes that a file may have when the disk fails. The log is larger before. */
#define FILE_MAX ((rlim_t)16 * 1024)
/* Puts that make the log larger. */
#define PUTS 300

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	TEST_ASSERT_EQUAL_INT(0, setrlimit(RLIMIT_FSIZE, &limit));
}

void setUp(void)
{
	tempdir_init(&dir);
}

void tearDown(void)
{
	limit_files(RLIM_INFINITY);
	qless_store_close(store, NULL);
	store = NULL;
	tempdir_done(&dir);
}

static int try_to_put(const char *jid)
{
	struct qless_store_put put = { .size = sizeof put,
				       .queue = qless_text("mail"),
				       .jid = qless_text(jid),
				       .klass = qless_text("Send") };

	return qless_store_put(store, &put, NULL, &error);
}

static void put_many(const char *prefix)
{
	char jid[32];

	for (int i = 0; i < PUTS; i++) {
		snprintf(jid, sizeof jid, "%s-%d", prefix, i);
		put_job("mail", jid, 0);
	}
}

static void fail_and_recover(enum qless_store_sync sync)
{
	open_store(sync);
	put_many("first");
	limit_files(FILE_MAX);
	/* The call that finds out, or the one after it, may have lost its answer. */
	WAIT_UNTIL(try_to_put("unsure") == QLESS_STORE_EREFUSED);
	TEST_ASSERT_EQUAL_STRING("MISCONF", error.word);
	expect_in("writing", error.text);
	for (int i = 0; i < 20; i++)
		TEST_ASSERT_EQUAL_INT(QLESS_STORE_EREFUSED, try_to_put("refused"));
	/* Reads go on. */
	expect_state("waiting", "first-0");
	expect_answer("PONG", "PING");

	limit_files(RLIM_INFINITY);
	WAIT_UNTIL(try_to_put("after") == 0);
	put_many("second");
	TEST_ASSERT_EQUAL_INT(-1, waitpid(-1, NULL, WNOHANG));
	close_store();

	open_store(sync);
	expect_state("waiting", "after");
	expect_state("waiting", "first-299");
	expect_state("waiting", "second-299");
	TEST_ASSERT_EQUAL_INT(0, qless_store_get(store, qless_text("refused"),
						 &(struct qless_store_job *){ NULL }, &error));
}

static void a_disk_that_fails_is_an_error_with_everysec(void)
{
	fail_and_recover(QLESS_STORE_SYNC_EVERYSEC);
}

static void a_disk_that_fails_is_an_error_with_always(void)
{
	fail_and_recover(QLESS_STORE_SYNC_ALWAYS);
}

static void a_lost_answer_says_that_the_command_may_have_run(void)
{
	int rc;

	open_store(QLESS_STORE_SYNC_ALWAYS);
	put_many("first");
	limit_files(FILE_MAX);
	do {
		rc = try_to_put("unsure");
	} while (rc == 0);
	if (rc == QLESS_STORE_ELOST) {
		TEST_ASSERT_TRUE(error.may_have_run);
		expect_in("the answer was lost", error.text);
	} else {
		TEST_ASSERT_EQUAL_INT(QLESS_STORE_EREFUSED, rc);
	}
}

static void closing_a_store_reports_what_could_not_be_written(void)
{
	open_store(QLESS_STORE_SYNC_EVERYSEC);
	put_many("first");
	limit_files(FILE_MAX);
	WAIT_UNTIL(try_to_put("unsure") == QLESS_STORE_EREFUSED);
	TEST_ASSERT_EQUAL_INT(QLESS_STORE_EOPEN, qless_store_close(store, &error));
	expect_in("was not closed cleanly", error.text);
	store = NULL;
}

/* ---- rewriting ---- */

static void the_log_is_rewritten_when_it_grows(void)
{
	const char *const directives[] = { "auto-rewrite-min-size", "16kb",
					   "auto-rewrite-percentage", "100" };
	struct qless_store_options options = { .size = sizeof options,
					       .directives = directives,
					       .directive_count = 4 };
	struct qless_store_worker *worker;
	struct qless_store_job *job;

	MUST(qless_store_open(dir.path, &options, &store, &error));
	worker = start_worker("w1");
	put_many("kept");
	for (int i = 0; i < PUTS; i++) {
		job = next_job(worker, "mail");
		MUST(qless_store_complete(job, NULL, &error));
		qless_store_job_free(job);
	}
	WAIT_UNTIL(read_figure("aof_rewrites_from_log") >= 1);
	TEST_ASSERT_EQUAL_INT(-1, waitpid(-1, NULL, WNOHANG));
	put_many("late");
	end_worker(worker);
	close_store();
	open_store(QLESS_STORE_SYNC_EVERYSEC);
	expect_state("complete", "kept-299");
	expect_state("waiting", "late-299");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_disk_that_fails_is_an_error_with_everysec);
	RUN(a_disk_that_fails_is_an_error_with_always);
	RUN(a_lost_answer_says_that_the_command_may_have_run);
	RUN(closing_a_store_reports_what_could_not_be_written);
	RUN(the_log_is_rewritten_when_it_grows);
	return UNIT_RESULT();
}
