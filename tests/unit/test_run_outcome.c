#include "run/outcome.h"

#include <signal.h>
#include <stdio.h>

#include "run/answer.h"
#include "unit.h"

static struct outcome_rules rules;
static struct outcome o;
static struct job job;

void setUp(void)
{
	rules = (struct outcome_rules){
		.backoff_base_s = 10,
		.backoff_max_s = 100,
		.result_max = 20,
		.message_max = 300,
	};
	outcome_init(&o);
	TEST_ASSERT_TRUE(job_init(&job, STR("{\"jid\":\"j1\",\"klass\":\"k\",\"queue\":\"q\","
					    "\"data\":\"{}\",\"retries\":5,\"remaining\":5}")));
}

void tearDown(void)
{
	outcome_done(&o);
	job_done(&job);
}

static void decide(enum message_cause cause, int value, const char *result, const char *errors)
{
	struct outcome_run run = {
		.ended = { .cause = (uint32_t)cause, .value = value },
		.result = str_from(result),
		.errors = str_from(errors),
	};

	outcome_done(&o);
	outcome_init(&o);
	outcome_decide(&o, &rules, &job, &run);
}

static void status_0_completes(void)
{
	decide(CAUSE_EXITED, 0, "the result of all that work", "noise");
	TEST_ASSERT_EQUAL_INT(OUTCOME_COMPLETE, o.kind);
	ASSERT_STR("the result of all th", buf_str(&o.result));
}

static void status_75_retries(void)
{
	decide(CAUSE_EXITED, 75, "", "busy\n");
	TEST_ASSERT_EQUAL_INT(OUTCOME_RETRY, o.kind);
	ASSERT_STR("exit-75", buf_str(&o.group));
	ASSERT_STR("busy", buf_str(&o.message));
}

static void delay_doubles_up_to_the_maximum(void)
{
	double expected = 10;

	TEST_ASSERT_TRUE(o.delay_s == 0);
	job.retries = 100;
	for (job.remaining = 100; job.remaining > 0; job.remaining--) {
		decide(CAUSE_EXITED, 75, "", "");
		TEST_ASSERT_TRUE(o.has_delay);
		TEST_ASSERT_TRUE(o.delay_s <= expected && o.delay_s >= expected * 0.799);
		expected = expected * 2 < 100 ? expected * 2 : 100;
	}
}

static void delays_of_different_jobs_differ(void)
{
	double first;

	decide(CAUSE_EXITED, 75, "", "");
	first = o.delay_s;
	decide(CAUSE_EXITED, 75, "", "");
	TEST_ASSERT_TRUE(o.delay_s == first);
	buf_append_str(&job.jid, STR("2"));
	decide(CAUSE_EXITED, 75, "", "");
	TEST_ASSERT_TRUE(o.delay_s != first);
}

static void backoff_of_the_job_is_left_to_the_server(void)
{
	job.has_backoff = true;
	decide(CAUSE_TIMED_OUT, 0, "", "");
	TEST_ASSERT_EQUAL_INT(OUTCOME_RETRY, o.kind);
	TEST_ASSERT_FALSE(o.has_delay);
	ASSERT_STR("timed-out", buf_str(&o.group));
}

static void other_statuses_fail(void)
{
	decide(CAUSE_EXITED, 1, "", " \n");
	TEST_ASSERT_EQUAL_INT(OUTCOME_FAIL, o.kind);
	ASSERT_STR("exit-1", buf_str(&o.group));
	ASSERT_STR("the program ended with status 1", buf_str(&o.message));
}

static void signals_fail(void)
{
	decide(CAUSE_SIGNALLED, SIGKILL, "", "last words");
	TEST_ASSERT_EQUAL_INT(OUTCOME_FAIL, o.kind);
	ASSERT_STR("signal-KILL", buf_str(&o.group));
	ASSERT_STR("a signal ended the program: KILL:\nlast words", buf_str(&o.message));
	decide(CAUSE_SIGNALLED, SIGRTMIN + 3, "", "");
	TEST_ASSERT_EQUAL_INT(OUTCOME_FAIL, o.kind);
}

static void run_that_was_ended_on_request_has_no_outcome(void)
{
	decide(CAUSE_ORDERED, 0, "", "");
	TEST_ASSERT_EQUAL_INT(OUTCOME_NONE, o.kind);
}

static void messages_are_bounded(void)
{
	static char errors[10000];

	memset(errors, 'x', sizeof errors - 1);
	decide(CAUSE_EXITED, 1, "", errors);
	TEST_ASSERT_TRUE(o.message.len <= rules.message_max);
	decide(CAUSE_SIGNALLED, SIGKILL, "", errors);
	TEST_ASSERT_TRUE(o.message.len <= rules.message_max);
	decide(CAUSE_NONSENSE, 0, errors, errors);
	TEST_ASSERT_TRUE(o.message.len <= rules.message_max);
}

static void answers_decide(void)
{
	rules.is_by_lines = true;
	decide(CAUSE_ANSWERED, 0, "{\"status\":\"complete\",\"result\":[1, 2]}", "");
	TEST_ASSERT_EQUAL_INT(OUTCOME_COMPLETE, o.kind);
	ASSERT_STR("[1, 2]", buf_str(&o.result));
	decide(CAUSE_ANSWERED, 0, "{\"status\":\"retry\",\"delay\":7}", "");
	TEST_ASSERT_EQUAL_INT(OUTCOME_RETRY, o.kind);
	TEST_ASSERT_TRUE(o.has_delay && o.delay_s == 7);
	decide(CAUSE_ANSWERED, 0, "{\"status\":\"fail\"}", "");
	TEST_ASSERT_EQUAL_INT(OUTCOME_FAIL, o.kind);
	ASSERT_STR("answer", buf_str(&o.group));
	decide(CAUSE_EXITED, 0, "", "");
	TEST_ASSERT_EQUAL_INT(OUTCOME_RETRY, o.kind);
	ASSERT_STR("no-answer", buf_str(&o.group));
}

static void answers_are_checked(void)
{
	static const char *const bad[] = {
		"",
		"hello",
		"[]",
		"{}",
		"{\"status\":\"done\"}",
		"{\"status\":1}",
		"{\"status\":\"complete\",\"jid\":\"j2\"}",
		"{\"status\":\"complete\",\"jid\":1}",
		"{\"status\":\"retry\",\"delay\":-1}",
		"{\"status\":\"retry\",\"delay\":\"1\"}",
		"{\"status\":\"retry\",\"delay\":1e99}",
		"{\"status\":\"fail\",\"message\":1}",
		"{\"status\":\"fail\",\"group\":null}",
		"{\"status\":\"progress\"}",
		"{\"status\":\"progress\",\"percent\":101}",
		"{\"status\":\"progress\",\"percent\":1,\"note\":2}",
	};
	struct answer a;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		TEST_ASSERT_NOT_NULL_MESSAGE(answer_init(&a, str_from(bad[i]), STR("j1")), bad[i]);
	TEST_ASSERT_NULL(
		answer_init(&a, STR("{\"status\":\"complete\",\"jid\":\"j1\"}"), STR("j1")));
	TEST_ASSERT_FALSE(a.has_result);
	answer_done(&a);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(status_0_completes);
	RUN(status_75_retries);
	RUN(delay_doubles_up_to_the_maximum);
	RUN(delays_of_different_jobs_differ);
	RUN(backoff_of_the_job_is_left_to_the_server);
	RUN(other_statuses_fail);
	RUN(signals_fail);
	RUN(run_that_was_ended_on_request_has_no_outcome);
	RUN(messages_are_bounded);
	RUN(answers_decide);
	RUN(answers_are_checked);
	return UNIT_RESULT();
}
