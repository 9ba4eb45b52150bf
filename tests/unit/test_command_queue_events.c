/*
 * Events of a queue: the payloads of ql:log that are about its jobs.
 */
#include "native.h"

static struct native_fixture f;
static struct buf events; /* "queue payload\n" of each */

static void add_event(void *arg, struct qless_str queue, struct qless_str payload)
{
	(void)arg;
	buf_append_str(&events, queue);
	buf_append_char(&events, ' ');
	buf_append_str(&events, payload);
	buf_append_char(&events, '\n');
}

void setUp(void)
{
	buf_init(&events, BUF_NO_MAX);
	native_setup_followed(&f, add_event);
}

void tearDown(void)
{
	native_teardown(&f);
	buf_done(&events);
}

static void run(const char *line)
{
	struct qless_str words[20];
	char text[200];
	int count = 0;
	const char *reply;

	snprintf(text, sizeof text, "%s", line);
	for (const char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
		words[count++] = str_from(word);
	buf_clear(&f.events);
	buf_clear(&events);
	reply = call_run_argv(&f.call, words, count);
	TEST_ASSERT_TRUE_MESSAGE(reply[0] != '-', reply);
	f.now += 1;
}

/* Runs a command, and expects its events of queues. */
static void assert_events(const char *expected, const char *line)
{
	run(line);
	TEST_ASSERT_EQUAL_STRING_MESSAGE(expected, buf_cstr(&events), line);
}

static void each_event_of_a_job_goes_to_its_queue(void)
{
	assert_events("mail {\"jid\":\"j\",\"event\":\"put\",\"queue\":\"mail\"}\n",
		      "PUT w mail j k {} 0");
	TEST_ASSERT_EQUAL_STRING("ql:log {\"jid\":\"j\",\"event\":\"put\",\"queue\":\"mail\"}\n",
				 buf_cstr(&f.events));
	assert_events("", "POP mail w 1");
	assert_events("mail {\"jid\":\"j\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n",
		      "TIMEOUT j");
	run("POP mail w 1");
	assert_events("mail {\"jid\":\"j\",\"event\":\"progress\",\"queue\":\"mail\","
		      "\"progress\":50}\n",
		      "JOB.PROGRESS j w 50");
	assert_events("mail {\"jid\":\"j\",\"event\":\"completed\",\"queue\":\"mail\"}\n",
		      "COMPLETE j w mail {}");
	run("PUT w mail i k {} 0");
	run("POP mail w 1");
	assert_events("mail {\"message\":\"m\",\"jid\":\"i\",\"group\":\"g\",\"event\":\"failed\","
		      "\"worker\":\"w\"}\n",
		      "FAIL i w g m");
	assert_events("mail {\"jid\":\"i\",\"event\":\"deleted\",\"queue\":\"mail\"}\n",
		      "JOB.DELETE i");
	run("PUT w mail i k {} 0");
	assert_events(
		"mail {\"jid\":\"i\",\"queue\":\"mail\",\"event\":\"canceled\",\"worker\":\"\"}\n",
		"CANCEL i");
	/* Nothing tells the queue of a job that is gone. */
	assert_events("", "CANCEL i");
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&f.events), "canceled"));
	assert_events("", "CONFIG.SET mail-heartbeat 5");
}

static void a_job_that_moves_on_tells_both_queues(void)
{
	run("PUT w in j k {} 0");
	run("POP in w 1");
	assert_events(
		"in {\"jid\":\"j\",\"to\":\"out\",\"event\":\"advanced\",\"queue\":\"in\"}\n"
		"out {\"jid\":\"j\",\"to\":\"out\",\"event\":\"advanced\",\"queue\":\"in\"}\n",
		"COMPLETE j w in {} next out");
	run("POP out w 1");
	assert_events(
		"out {\"jid\":\"j\",\"to\":\"out\",\"event\":\"advanced\",\"queue\":\"out\"}\n",
		"COMPLETE j w out {} next out");
}

static void a_put_to_another_queue_tells_the_old_one_about_the_lock(void)
{
	run("PUT w old j k {} 0");
	run("POP old w 1");
	assert_events("new {\"jid\":\"j\",\"event\":\"put\",\"queue\":\"new\"}\n"
		      "old {\"jid\":\"j\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n",
		      "PUT other new j k {} 0");
}

static void a_lock_that_expires_tells_the_queue(void)
{
	run("PUT w mail j k {} 0 retries 0");
	run("POP mail w 1");
	f.now += 100;
	assert_events("mail {\"jid\":\"j\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n",
		      "POP mail v 1");
	f.now += 100;
	run("POP mail v 1");
	TEST_ASSERT_EQUAL_STRING_LEN(
		"mail {\"message\":\"Job exhausted retries in queue \\\"mail\\\"\"",
		buf_cstr(&events), 40);
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&events), "\"event\":\"failed\""));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(each_event_of_a_job_goes_to_its_queue);
	RUN(a_job_that_moves_on_tells_both_queues);
	RUN(a_put_to_another_queue_tells_the_old_one_about_the_lock);
	RUN(a_lock_that_expires_tells_the_queue);
	return UNIT_RESULT();
}
