/*
 * Programs that run several jobs: they read jobs as lines, and answer by lines.
 */
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "runner.h"
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

static bool has(const char *words, const char *text)
{
	return strstr(peer_ask(p, words), text) != NULL;
}

static void start(void)
{
	RUNNER_START(&r, &q, "-q", "mail", "--lines", "--backoff", "0", "--kill-after", "0.2", "--",
		     runner_handler(), "lines");
}

/* The text is JSON: what the program does with the job. */
static void put(const char *jid, const char *task, const char *options)
{
	char words[200];

	snprintf(words, sizeof words, "PUT w mail %s Send \"%s\" 0%s", jid, task, options);
	peer_ask(p, words);
}

static void expect_state(const char *jid, const char *state)
{
	char words[100], text[100];

	snprintf(words, sizeof words, "GET %s", jid);
	snprintf(text, sizeof text, "\"state\":\"%s\"", state);
	WAIT_UNTIL(has(words, text));
}

static void one_program_runs_all_jobs(void)
{
	start();
	put("j1", "ok", "");
	put("j2", "ok", "");
	put("j3", "ok", "");
	expect_state("j1", "complete");
	expect_state("j2", "complete");
	expect_state("j3", "complete");
	TEST_ASSERT_TRUE(runner_find_process(&r, "j1") > 0);
	TEST_ASSERT_EQUAL_INT64(runner_find_process(&r, "j1"), runner_find_process(&r, "j2"));
	TEST_ASSERT_EQUAL_INT64(runner_find_process(&r, "j1"), runner_find_process(&r, "j3"));
}

static void answer_may_have_a_result(void)
{
	start();
	put("j1", "object", "");
	put("j2", "ok", "");
	expect_state("j1", "complete");
	ASK_HAS(p, "GET j1", "\"result\":\"{\\\"a\\\": [1]}\"");
	expect_state("j2", "complete");
	/* The program could write to the directory of the job. */
	ASK_HAS(p, "GET j2", " in dir\"");
}

static void answer_may_fail_the_job(void)
{
	start();
	put("j1", "fail", "");
	expect_state("j1", "failed");
	ASK_HAS(p, "GET j1", "\"group\":\"bad\"");
	ASK_HAS(p, "GET j1", "\"message\":\"no \xc3\xbc\"");
}

static void answer_may_retry_the_job(void)
{
	start();
	put("j1", "retry", "");
	expect_state("j1", "scheduled");
	ASK_HAS(p, "GET j1", "\"remaining\":4");
}

static void job_goes_on_after_progress(void)
{
	start();
	put("j1", "progress", "");
	expect_state("j1", "complete");
	ASK_HAS(p, "GET j1", "\"progress\":50");
	ASK_HAS(p, "GET j1", "\"note\":\"half\"");
}

static void line_that_is_no_answer_fails_the_job(void)
{
	start();
	put("j1", "nonsense", "");
	put("j2", "ok", "");
	expect_state("j1", "failed");
	ASK_HAS(p, "GET j1", "\"group\":\"bad-answer\"");
	ASK_HAS(p, "GET j1", "is no answer: hello");
	expect_state("j2", "complete");
}

static void program_that_crashes_fails_its_job_and_is_started_again(void)
{
	start();
	put("j1", "crash", "");
	put("j2", "ok", "");
	expect_state("j1", "failed");
	ASK_HAS(p, "GET j1", "\"group\":\"exit-3\"");
	ASK_HAS(p, "GET j1", "\"message\":\"got crash\"");
	expect_state("j2", "complete");
}

static void job_without_an_answer_is_tried_again(void)
{
	start();
	put("j1", "leave", " retries 2");
	expect_state("j1", "failed");
	ASK_HAS(p, "GET j1", "\"group\":\"no-answer\"");
	ASK_HAS(p, "GET j1", "\"remaining\":-1");
}

static void canceled_job_ends_the_program(void)
{
	start();
	put("j1", "wait", "");
	WAIT_UNTIL(runner_has_logged(&r, "job started"));
	peer_ask(p, "CANCEL j1");
	put("j2", "ok", "");
	expect_state("j2", "complete");
}

static void examples_do_what_the_manual_says(void)
{
	static const char *const options[][2] = { { "--verbose", "handler.sh" },
						  { "--lines", "handler.py" } };

	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
		char path[500];

		snprintf(path, sizeof path, "%s/%s", getenv("EXAMPLES"), options[i][1]);
		peer_ask(p, "FLUSHALL");
		RUNNER_START(&r, &q, "-q", "mail", options[i][0], "--", path);
		peer_ask(p, "PUT w mail good Send {\"name\":\"ann\"} 0");
		peer_ask(p, "PUT w mail bad Send {} 0");
		expect_state("good", "complete");
		expect_state("bad", "failed");
		ASK_HAS(p, "GET bad", "\"message\":\"there is no name");
		runner_stop(&r);
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(one_program_runs_all_jobs);
	RUN(answer_may_have_a_result);
	RUN(answer_may_fail_the_job);
	RUN(answer_may_retry_the_job);
	RUN(job_goes_on_after_progress);
	RUN(line_that_is_no_answer_fails_the_job);
	RUN(program_that_crashes_fails_its_job_and_is_started_again);
	RUN(job_without_an_answer_is_tried_again);
	RUN(canceled_job_ends_the_program);
	RUN(examples_do_what_the_manual_says);
	return UNIT_RESULT();
}
