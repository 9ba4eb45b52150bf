/*
 * Copies of the log of a busy daemon that writes one snapshot after the other. Each copy is
 * complete, and has the state of a moment during the copying.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"
#include "unit.h"
#include "wait.h"

#define BATCH	    20
#define DATA_BYTES  3000
#define OUTPUT_MAX  4096
#define COMMAND_MAX 400
#define PAUSE_MS    1 /* between batches */

static struct qlessd q, second;
static struct tempdir dir;
static struct peer *p;
static unsigned put; /* number of jobs; all of them are acknowledged */

void setUp(void)
{
	tempdir_init(&dir);
	QLESSD_START(&q, "--dir", dir.path, "--log-segment-size", "64kb", "--rewrite-rate-limit",
		     "0");
	p = peer_connect(&q);
	put = 0;
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&second);
	qlessd_stop(&q);
	tempdir_done(&dir);
}

/* Ask for a rewrite after each batch. */
static void put_some(void)
{
	static char words[DATA_BYTES + 100];

	for (int i = 0; i < BATCH; i++) {
		int len = snprintf(words, sizeof words, "PUT w q j%u klass \"", put++);

		memset(words + len, 'x', DATA_BYTES);
		snprintf(words + len + DATA_BYTES, sizeof words - (size_t)len - DATA_BYTES, "\" 0");
		peer_send_words(p, words);
	}
	peer_send_words(p, "BGREWRITEAOF");
	peer_skip_replies(p, BATCH + 1);
}

/* Few jobs make short rewrites, which end during the copying. */
static void begin_again(void)
{
	ASK(p, "FLUSHALL", "+OK\r\n");
	put = 0;
	put_some();
}

static int64_t count_rewrites(void)
{
	return peer_ask_number(p, "INFO persistence", "aof_rewrites:");
}

/* Run a shell command while jobs are put. *ret_output is its output. Returns its exit status. */
static int run_meanwhile(const char *command, char ret_output[OUTPUT_MAX])
{
	FILE *pipe = popen(command, "r");
	struct pollfd pfd = { .events = POLLIN };
	size_t len = 0, got = 1;

	TEST_ASSERT_NOT_NULL(pipe);
	pfd.fd = fileno(pipe);
	while (got > 0) {
		while (poll(&pfd, 1, PAUSE_MS) == 0)
			put_some();
		got = fread(ret_output + len, 1, OUTPUT_MAX - 1 - len, pipe);
		len += got;
	}
	ret_output[len] = '\0';
	return WEXITSTATUS(pclose(pipe));
}

/* Check that exactly the jobs j0 to jN exist, with N in between. */
static void check_copy(struct tempdir *copy, unsigned least, unsigned most)
{
	char words[100];
	struct peer *asker;
	unsigned jobs;

	QLESSD_START(&second, "--dir", copy->path);
	TEST_ASSERT_FALSE(qlessd_has_logged(&second, "They were cut off"));
	asker = peer_connect(&second);
	/* Besides jobs and their histories there are a few keys, always the same. */
	jobs = (unsigned)strtoul(peer_ask(asker, "KEYS ql:j:*") + 1, NULL, 10) / 2;
	TEST_ASSERT_TRUE(jobs >= least && jobs <= most);
	for (unsigned i = 0; i < jobs; i++) {
		snprintf(words, sizeof words, "EXISTS ql:j:j%u", i);
		peer_send_words(asker, words);
	}
	for (unsigned i = 0; i < jobs; i++)
		peer_expect(asker, ":1\r\n");
	ASK(asker, "CONSISTENCYCHECK", "*0\r\n");
	peer_close(asker);
	qlessd_stop(&second);
}

static void a_copy_made_during_rewrites_is_complete(void)
{
	char command[COMMAND_MAX], output[OUTPUT_MAX];
	int copies = qlessd_is_sanitized() ? 5 : 20;

	for (int i = 0; i < copies; i++) {
		int64_t rewrites = count_rewrites();
		struct tempdir copy;
		unsigned least;

		begin_again();
		least = put;
		tempdir_init(&copy);
		snprintf(command, sizeof command, "'%s-check' --copy-to %s %s 2>&1",
			 getenv("QLESSD"), copy.path, dir.path);
		TEST_ASSERT_EQUAL_INT_MESSAGE(0, run_meanwhile(command, output), output);
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "copied up to sequence "), output);
		snprintf(command, sizeof command, "'%s-check' %s 2>&1", getenv("QLESSD"),
			 copy.path);
		TEST_ASSERT_EQUAL_INT_MESSAGE(0, run_meanwhile(command, output), output);
		check_copy(&copy, least, put);
		tempdir_done(&copy);
		/* On a slow disk, there may be no time for a rewrite. */
		WAIT_UNTIL(count_rewrites() > rewrites);
	}
	printf("%d copies, %lld bases written meanwhile\n", copies, (long long)count_rewrites());
}

/* Any other copy is complete, or qlessd-check says that it is not. */
static void a_copy_made_by_other_means_is_complete_or_rejected(void)
{
	char command[COMMAND_MAX], output[OUTPUT_MAX];
	int good = 0;

	for (int i = 0; i < 10; i++) {
		struct tempdir copy;
		unsigned least;

		begin_again();
		least = put;
		tempdir_init(&copy);
		snprintf(command, sizeof command,
			 "cd %s && cp manifest %s/ 2>&1 && cp [bl]*-* %s/ 2>&1", dir.path,
			 copy.path, copy.path);
		run_meanwhile(command, output);
		snprintf(command, sizeof command, "'%s-check' %s 2>&1", getenv("QLESSD"),
			 copy.path);
		run_meanwhile(command, output);
		if (strstr(output, "the log is whole") != NULL) {
			check_copy(&copy, least, put);
			good++;
		}
		tempdir_done(&copy);
	}
	printf("%d of 10 were whole\n", good);
}

static void a_copy_that_was_cut_short_is_rejected(void)
{
	char command[COMMAND_MAX], output[OUTPUT_MAX];
	struct tempdir copy;

	begin_again();
	tempdir_init(&copy);
	snprintf(command, sizeof command,
		 "'%s-check' --copy-to %s %s && cd %s && truncate -s -40 $(ls log-* | tail -1)",
		 getenv("QLESSD"), copy.path, dir.path, copy.path);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, run_meanwhile(command, output), output);
	snprintf(command, sizeof command, "'%s-check' %s 2>&1", getenv("QLESSD"), copy.path);
	TEST_ASSERT_EQUAL_INT_MESSAGE(1, run_meanwhile(command, output), output);
	/* Less than its header is left of a log segment that has just begun. */
	TEST_ASSERT_TRUE_MESSAGE(strstr(output, "the log was closed") != NULL ||
					 strstr(output, "the header of ") != NULL,
				 output);
	tempdir_done(&copy);
}

static void a_copy_does_not_overwrite_another_log(void)
{
	char command[COMMAND_MAX], output[OUTPUT_MAX];

	snprintf(command, sizeof command, "'%s-check' --copy-to %s %s 2>&1", getenv("QLESSD"),
		 dir.path, dir.path);
	TEST_ASSERT_EQUAL_INT(2, run_meanwhile(command, output));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "there is a log in "), output);
	snprintf(command, sizeof command, "'%s-check' --copy-to %s/no/such %s 2>&1",
		 getenv("QLESSD"), dir.path, dir.path);
	TEST_ASSERT_EQUAL_INT(2, run_meanwhile(command, output));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "cannot make "), output);
}

static int64_t ask_copy_time(void)
{
	return peer_ask_number(p, "INFO persistence", "log_last_copy_time:");
}

/* The server looks at most once a minute, so the test starts another one. */
static void the_server_shows_when_it_was_last_copied(void)
{
	char command[COMMAND_MAX], output[OUTPUT_MAX];
	int64_t begin_s = (int64_t)time(NULL);
	struct tempdir copy;

	put_some();
	TEST_ASSERT_EQUAL_INT64(0, ask_copy_time());
	tempdir_init(&copy);
	snprintf(command, sizeof command, "'%s-check' --copy-to %s %s 2>&1", getenv("QLESSD"),
		 copy.path, dir.path);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, run_meanwhile(command, output), output);
	peer_close_all();
	qlessd_stop(&q);
	QLESSD_START(&q, "--dir", dir.path);
	p = peer_connect(&q);
	WAIT_UNTIL(ask_copy_time() != 0);
	TEST_ASSERT_TRUE(ask_copy_time() >= begin_s && ask_copy_time() <= (int64_t)time(NULL));
	/* The copy itself has never been copied. */
	QLESSD_START(&second, "--dir", copy.path);
	TEST_ASSERT_FALSE(access(tempdir_file(&copy, "last-copy"), F_OK) == 0);
	qlessd_stop(&second);
	tempdir_done(&copy);
}

/* A directory in the place of the new marker makes it impossible to write. */
static void a_copy_succeeds_where_its_time_cannot_be_noted(void)
{
	char command[COMMAND_MAX], output[OUTPUT_MAX];
	struct tempdir copy;

	put_some();
	tempdir_init(&copy);
	TEST_ASSERT_EQUAL_INT(0, mkdir(tempdir_file(&dir, "last-copy.new"), 0700));
	snprintf(command, sizeof command, "'%s-check' --copy-to %s %s 2>&1", getenv("QLESSD"),
		 copy.path, dir.path);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, run_meanwhile(command, output), output);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "warning: the copy is complete"), output);
	TEST_ASSERT_EQUAL_INT(0, rmdir(tempdir_file(&dir, "last-copy.new")));
	check_copy(&copy, BATCH, put);
	tempdir_done(&copy);
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_copy_made_during_rewrites_is_complete);
	RUN(a_copy_made_by_other_means_is_complete_or_rejected);
	RUN(a_copy_that_was_cut_short_is_rejected);
	RUN(a_copy_does_not_overwrite_another_log);
	RUN(the_server_shows_when_it_was_last_copied);
	RUN(a_copy_succeeds_where_its_time_cannot_be_noted);
	return UNIT_RESULT();
}
