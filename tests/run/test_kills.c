/*
 * qless-run is killed again and again while it works: no job is lost, none runs twice at once, and
 * neither processes nor directories are left. And what a short job costs.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "peer.h"
#include "runner.h"
#include "unit.h"
#include "wait.h"

#define KILLS 100
/* Workers at work, of which one at a time is killed. */
#define WORKERS 2
/* Runs that begin between two kills. */
#define RUNS_BETWEEN 3
#define JOBS	     200
/* A kill costs each running job a retry. */
#define RETRIES "1000"
/* Short jobs whose processor time is measured, and its bound in microseconds for each: two
 * processors run 200 jobs a second if a job takes 10,000. */
#define SHORT_JOBS   1000
#define SHORT_MAX_US 10000

static struct qlessd q;
static struct peer *p;
static struct runner workers[WORKERS];

void setUp(void)
{
	runner_begin();
	QLESSD_START(&q, NULL);
	p = peer_connect(&q);
}

void tearDown(void)
{
	for (int i = 0; i < WORKERS; i++)
		runner_stop(&workers[i]);
	peer_close_all();
	qlessd_stop(&q);
	runner_expect_no_orphans();
	runner_done();
}

static void start_worker(int i)
{
	char name[16];

	snprintf(name, sizeof name, "worker-%d", i);
	RUNNER_START(&workers[i], &q, "-q", "mail", "-c", "4", "--name", name, "--",
		     runner_handler(), "run", runner_path(""));
}

static void put_job(int i, int ms)
{
	char words[100];

	snprintf(words, sizeof words, "PUT w mail job-%d Send %d 0 retries " RETRIES, i, ms);
	peer_ask(p, words);
}

static int count_complete(int jobs)
{
	char words[100];
	int count = 0;

	for (int i = 0; i < jobs; i++) {
		snprintf(words, sizeof words, "GET job-%d", i);
		count += strstr(peer_ask(p, words), "\"state\":\"complete\"") != NULL;
	}
	return count;
}

static void kills_lose_no_job_and_leave_nothing(void)
{
	unsigned long long rng = 1;
	int jobs = 0;

	for (int i = 0; i < WORKERS; i++)
		start_worker(i);
	for (int kills = 0; kills < KILLS; kills++) {
		int runs = runner_count_lines("runs"), victim = (int)(unit_random(&rng) % WORKERS);

		/* There is always something to run: short jobs, and some that end only when they
		 * are left alone. */
		for (int i = 0; i < JOBS / KILLS + RUNS_BETWEEN; i++, jobs++)
			put_job(jobs, jobs % 20 == 0 ? 200 : (int)(unit_random(&rng) % 4));
		WAIT_UNTIL(runner_count_lines("runs") >= runs + RUNS_BETWEEN);
		kill(workers[victim].pid, SIGKILL);
		runner_wait(&workers[victim]);
		start_worker(victim);
	}
	WAIT_UNTIL(count_complete(jobs) == jobs);
	TEST_ASSERT_EQUAL_INT(0, runner_count_lines("twice"));
	for (int i = 0; i < WORKERS; i++)
		TEST_ASSERT_FALSE(runner_has_logged(&workers[i], "not-started"));
	/* A run ends once for each job, and more often only if a kill came before its report. */
	TEST_ASSERT_TRUE(runner_count_lines("ends") >= jobs);
	for (int i = 0; i < WORKERS; i++)
		runner_stop(&workers[i]);
	TEST_ASSERT_EQUAL_INT(0, runner_count_scratch());
}

/* The slots are not called qless-run. Each of them cleans up when it finds that it is alone. */
static void kill_without_a_successor_leaves_no_program(void)
{
	start_worker(0);
	for (int i = 0; i < 4; i++)
		put_job(i, 1000000);
	WAIT_UNTIL(runner_count_lines("runs") == 4);
	kill(workers[0].pid, SIGKILL);
	runner_wait(&workers[0]);
	for (int i = 0; i < 4; i++) {
		char name[32];

		/* The program and the process that it has started hold the lock. */
		snprintf(name, sizeof name, "job-%d.lock", i);
		WAIT_UNTIL(runner_is_unlocked(name));
	}
	/* A directory is left that names the worker whose jobs are to be released. A worker of
	 * another name does that. */
	TEST_ASSERT_EQUAL_INT(1, runner_count_scratch());
	start_worker(1);
	WAIT_UNTIL(runner_count_lines("runs") == 8);
	TEST_ASSERT_EQUAL_INT(0, runner_count_lines("twice"));
	TEST_ASSERT_EQUAL_INT(1, runner_count_scratch());
	for (int i = 0; i < 4; i++) {
		char words[32];

		snprintf(words, sizeof words, "CANCEL job-%d", i);
		peer_ask(p, words);
	}
}

static int64_t children_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000) +
	       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static void short_jobs_take_little_processor_time(void)
{
	int64_t before = children_us(), each;
	char text[100];

	for (int i = 0; i < SHORT_JOBS; i++)
		put_job(i, 0);
	RUNNER_START(&workers[0], &q, "-q", "mail", "-c", "2", "--", "/bin/true");
	WAIT_UNTIL(strstr(peer_ask(p, "LENGTH mail"), ":0\r\n") != NULL);
	runner_stop(&workers[0]);
	TEST_ASSERT_EQUAL_INT(SHORT_JOBS, count_complete(SHORT_JOBS));
	/* The worker with its slots and programs; the server has not ended yet. */
	each = (children_us() - before) / SHORT_JOBS;
	snprintf(text, sizeof text, "%lld us of processor time for each job", (long long)each);
	puts(text);
	if (!qlessd_is_sanitized())
		TEST_ASSERT_TRUE_MESSAGE(each < SHORT_MAX_US, text);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(kills_lose_no_job_and_leave_nothing);
	RUN(kill_without_a_successor_leaves_no_program);
	RUN(short_jobs_take_little_processor_time);
	return UNIT_RESULT();
}
