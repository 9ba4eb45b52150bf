/*
 * How qless-run ends programs, and itself.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "runner.h"
#include "textfile.h"
#include "unit.h"
#include "wait.h"

static struct qlessd q;
static struct peer *p;
static struct runner r;

void setUp(void)
{
	runner_begin();
	QLESSD_START(&q, NULL);
	p = peer_connect(&q);
}

void tearDown(void)
{
	runner_stop(&r);
	peer_close_all();
	qlessd_stop(&q);
	runner_expect_no_orphans();
	runner_done();
}

#define START(...) RUNNER_START(&r, &q, "-q", "mail", __VA_ARGS__)

static bool has(const char *words, const char *text)
{
	return strstr(peer_ask(p, words), text) != NULL;
}

/* A job that runs until its program is ended, or until runner_touch("go"). */
static void start_holding(const char *mode, const char *option, const char *value)
{
	START(option, value, "--", runner_handler(), mode, runner_path(""));
	peer_ask(p, "PUT w mail j1 Send {} 0");
	WAIT_UNTIL(runner_count_lines("runs") == 1);
}

/* The kernel frees the lock when the program and its detached process are gone. */
static void expect_end_of(int runs)
{
	WAIT_UNTIL(runner_is_unlocked("j1.lock"));
	TEST_ASSERT_EQUAL_INT(runs, runner_count_lines("runs"));
	TEST_ASSERT_EQUAL_INT(0, runner_count_lines("twice"));
}

static void canceled_job_ends_its_program(void)
{
	start_holding("hold", "--kill-after", "86400");
	peer_ask(p, "CANCEL j1");
	expect_end_of(1);
	TEST_ASSERT_EQUAL_INT(0, runner_count_lines("ends"));
	WAIT_UNTIL(runner_has_logged(&r, "a job is lost"));
}

static void program_that_ignores_term_is_killed(void)
{
	start_holding("deaf", "--kill-after", "0.1");
	peer_ask(p, "CANCEL j1");
	expect_end_of(1);
}

static void lost_lock_ends_the_program_before_the_job_runs_again(void)
{
	START("-c", "2", "--kill-after", "86400", "--", runner_handler(), "deaf", runner_path(""));
	peer_ask(p, "PUT w mail j1 Send {} 0");
	WAIT_UNTIL(runner_count_lines("runs") == 1);
	/* The other slot gets the job at once. The first program ignores TERM, and would run on. */
	peer_ask(p, "TIMEOUT j1");
	WAIT_UNTIL(runner_count_lines("runs") == 2);
	TEST_ASSERT_EQUAL_INT(0, runner_count_lines("twice"));
	runner_touch("go");
	WAIT_UNTIL(has("GET j1", "\"state\":\"complete\""));
}

static void time_limit_ends_the_program_and_tries_again(void)
{
	start_holding("hold", "--timeout", "0.05");
	WAIT_UNTIL(runner_count_lines("runs") == 2);
	TEST_ASSERT_EQUAL_INT(0, runner_count_lines("twice"));
	peer_ask(p, "CANCEL j1");
	WAIT_UNTIL(runner_is_unlocked("j1.lock"));
}

static void time_limit_of_the_job_ends_the_program(void)
{
	START("--kill-after", "0.1", "--", runner_handler(), "deaf", runner_path(""));
	peer_ask(p, "PUT w mail j1 Send {} 0 retries 0 runtime 0.2");
	WAIT_UNTIL(has("GET j1", "\"group\":\"timed-out\""));
	expect_end_of(1);
}

static void job_without_retries_fails_at_its_time_limit(void)
{
	START("--timeout", "0.05", "--", runner_handler(), "hold", runner_path(""));
	peer_ask(p, "PUT w mail j1 Send {} 0 retries 0");
	WAIT_UNTIL(has("GET j1", "\"group\":\"timed-out\""));
	expect_end_of(1);
}

static void detached_processes_end_with_their_program(void)
{
	START("--", runner_handler(), "orphan", runner_path(""));
	peer_ask(p, "PUT w mail j1 Send {} 0");
	WAIT_UNTIL(has("GET j1", "\"state\":\"complete\""));
	/* They are gone before the job is complete. */
	TEST_ASSERT_TRUE(runner_is_unlocked("j1.lock"));
}

static void term_finishes_the_jobs(void)
{
	start_holding("hold", "-c", "2");
	runner_signal(&r, SIGTERM);
	WAIT_UNTIL(runner_has_logged(&r, "takes no more jobs"));
	peer_ask(p, "PUT w mail j2 Send {} 0");
	TEST_ASSERT_FALSE(runner_is_unlocked("j1.lock"));
	runner_touch("go");
	TEST_ASSERT_EQUAL_INT(0, runner_wait(&r));
	ASK_HAS(p, "GET j1", "\"state\":\"complete\"");
	ASK_HAS(p, "GET j2", "\"state\":\"waiting\"");
}

static void int_returns_the_jobs(void)
{
	start_holding("hold", "-c", "2");
	runner_signal(&r, SIGINT);
	TEST_ASSERT_EQUAL_INT(0, runner_wait(&r));
	expect_end_of(1);
	ASK_HAS(p, "GET j1", "\"state\":\"waiting\"");
	ASK_HAS(p, "GET j1", "\"remaining\":5");
	ASK_HAS(p, "WORKER.LIST", "\r\n[]\r\n");
}

static void second_term_returns_the_jobs(void)
{
	start_holding("hold", "-c", "2");
	runner_signal(&r, SIGTERM);
	WAIT_UNTIL(runner_has_logged(&r, "takes no more jobs"));
	runner_signal(&r, SIGTERM);
	TEST_ASSERT_EQUAL_INT(0, runner_wait(&r));
	ASK_HAS(p, "GET j1", "\"state\":\"waiting\"");
}

static void time_to_stop_is_limited(void)
{
	start_holding("hold", "--stop-timeout", "1");
	runner_signal(&r, SIGTERM);
	TEST_ASSERT_EQUAL_INT(0, runner_wait(&r));
	ASK_HAS(p, "GET j1", "\"state\":\"waiting\"");
}

static void usr1_takes_no_more_jobs_and_cont_takes_them_again(void)
{
	start_holding("hold", "-c", "2");
	runner_signal(&r, SIGUSR1);
	WAIT_UNTIL(runner_has_logged(&r, "takes no more jobs, until SIGCONT"));
	WAIT_UNTIL(has("INFO clients", "blocked_clients:0\r\n"));
	peer_ask(p, "PUT w mail j2 Send {} 0");
	runner_touch("j1");
	WAIT_UNTIL(has("GET j1", "\"state\":\"complete\""));
	ASK_HAS(p, "GET j2", "\"state\":\"waiting\"");
	runner_signal(&r, SIGCONT);
	WAIT_UNTIL(has("GET j2", "\"state\":\"running\""));
	runner_touch("go");
	WAIT_UNTIL(has("GET j2", "\"state\":\"complete\""));
}

/* The only slot is the only child of the worker. */
static pid_t find_slot(void)
{
	char path[64], *text;
	long pid;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)r.pid, (int)r.pid);
	text = textfile_read(path);
	pid = strtol(text, NULL, 10);
	free(text);
	TEST_ASSERT_TRUE(pid > 0);
	return (pid_t)pid;
}

static void killed_slot_is_replaced_and_its_job_tried_again(void)
{
	start_holding("hold", "--backoff", "0");
	TEST_ASSERT_EQUAL_INT(0, kill(find_slot(), SIGKILL));
	WAIT_UNTIL(runner_count_lines("runs") == 2);
	TEST_ASSERT_EQUAL_INT(0, runner_count_lines("twice"));
	runner_touch("go");
	WAIT_UNTIL(has("GET j1", "\"state\":\"complete\""));
}

static void second_worker_of_the_same_name_does_not_start(void)
{
	struct runner second;

	START("--name", "me", "--", "/bin/true");
	WAIT_UNTIL(has("WORKER.LIST", "\"name\":\"me\""));
	RUNNER_START(&second, &q, "-q", "mail", "--name", "me", "--", "/bin/true");
	TEST_ASSERT_EQUAL_INT(1 << 8, runner_wait(&second));
	TEST_ASSERT_TRUE(runner_has_logged(&second, "another qless-run has the name me"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(canceled_job_ends_its_program);
	RUN(program_that_ignores_term_is_killed);
	RUN(lost_lock_ends_the_program_before_the_job_runs_again);
	RUN(time_limit_ends_the_program_and_tries_again);
	RUN(time_limit_of_the_job_ends_the_program);
	RUN(job_without_retries_fails_at_its_time_limit);
	RUN(detached_processes_end_with_their_program);
	RUN(term_finishes_the_jobs);
	RUN(int_returns_the_jobs);
	RUN(second_term_returns_the_jobs);
	RUN(time_to_stop_is_limited);
	RUN(usr1_takes_no_more_jobs_and_cont_takes_them_again);
	RUN(killed_slot_is_replaced_and_its_job_tried_again);
	RUN(second_worker_of_the_same_name_does_not_start);
	return UNIT_RESULT();
}
