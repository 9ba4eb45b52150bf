#include "run/job.h"

#include <stdio.h>

#include "run/environment.h"
#include "unit.h"

static struct job job;
static bool has_job;

void setUp(void)
{
}

void tearDown(void)
{
	if (has_job)
		job_done(&job);
	has_job = false;
}

static bool read_job(const char *json)
{
	has_job = job_init(&job, str_from(json));
	return has_job;
}

static void job_is_read(void)
{
	TEST_ASSERT_TRUE(read_job("{\"jid\":\"j\\u0000\\u00ff\",\"klass\":\"k\",\"queue\":\"q\","
				  "\"data\":\"{\\\"a\\\":1}\",\"retries\":5,\"remaining\":3,"
				  "\"lock\":9007199254740991,\"tags\":[\"t\"],\"runtime\":2.5,"
				  "\"backoff\":{\"kind\":\"fixed\"}}"));
	ASSERT_STR("j\0\xff", buf_str(&job.jid));
	ASSERT_STR("{\"a\":1}", buf_str(&job.data));
	ASSERT_STR("[\"t\"]", job.tags);
	TEST_ASSERT_EQUAL_UINT64(9007199254740991, job.lock);
	TEST_ASSERT_EQUAL_INT64(3, job_attempt(&job));
	TEST_ASSERT_TRUE(job.runtime_s == 2.5);
	TEST_ASSERT_TRUE(job.has_backoff);
	TEST_ASSERT_FALSE(job.is_raw);
}

static void data_of_a_raw_job_is_decoded(void)
{
	static const struct {
		const char *base64;
		struct qless_str bytes;
	} cases[] = {
		{ "", STR_INIT("") },
		{ "/w==", STR_INIT("\xff") },
		{ "AP8=", STR_INIT("\0\xff") },
		{ "Zm9v", STR_INIT("foo") },
		{ "Zm9vYg==", STR_INIT("foob") },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char json[200];

		snprintf(json, sizeof json,
			 "{\"jid\":\"j\",\"klass\":\"k\",\"queue\":\"q\",\"raw\":true,"
			 "\"data\":\"{\\\"base64\\\":\\\"%s\\\"}\"}",
			 cases[i].base64);
		TEST_ASSERT_TRUE_MESSAGE(read_job(json), json);
		TEST_ASSERT_TRUE(job.is_raw);
		TEST_ASSERT_TRUE_MESSAGE(str_equal(buf_str(&job.data), cases[i].bytes), json);
		tearDown();
	}
}

static void texts_that_are_no_job_are_refused(void)
{
	static const char *const bad[] = {
		"[]",
		"{}",
		"{\"jid\":1,\"klass\":\"k\",\"queue\":\"q\",\"data\":\"\"}",
		"{\"jid\":\"j\",\"klass\":\"k\",\"queue\":\"q\"}",
		"{\"jid\":\"j\",\"klass\":\"k\",\"queue\":\"q\",\"raw\":true,\"data\":\"{}\"}",
		"{\"jid\":\"j\",\"klass\":\"k\",\"queue\":\"q\",\"raw\":true,"
		"\"data\":\"{\\\"base64\\\":\\\"a\\\"}\"}",
		"{\"jid\":\"j\",\"klass\":\"k\",\"queue\":\"q\",\"raw\":true,"
		"\"data\":\"{\\\"base64\\\":\\\"a=bc\\\"}\"}",
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		TEST_ASSERT_FALSE_MESSAGE(read_job(bad[i]), bad[i]);
}

static void values_that_no_variable_can_have_are_named(void)
{
	char *from[] = { (char *)(uintptr_t) "A=1", (char *)(uintptr_t) "QLESS_JID=old",
			 (char *)(uintptr_t) "QLESSD_URL=redis://:secret@host",
			 (char *)(uintptr_t) "NOTIFY_SOCKET=x", NULL };
	struct environment e;

	TEST_ASSERT_TRUE(read_job("{\"jid\":\"\\u0000\",\"klass\":\"k\",\"queue\":\"q\","
				  "\"data\":\"12345\"}"));
	environment_init(&e, from);
	TEST_ASSERT_EQUAL_size_t(1, e.inherited);
	environment_set_job(&e, &job, "/tmp/x", STR("me"), 4);
	TEST_ASSERT_NULL(environment_get(&e, "QLESS_JID"));
	TEST_ASSERT_EQUAL_STRING("k", environment_get(&e, "QLESS_CLASS"));
	TEST_ASSERT_EQUAL_STRING("QLESS_JID QLESS_DATA QLESS_SCRATCH TMPDIR",
				 environment_get(&e, "QLESS_OMITTED"));
	environment_set_job(&e, NULL, NULL, STR("me"), 4);
	TEST_ASSERT_NULL(environment_get(&e, "QLESS_CLASS"));
	TEST_ASSERT_EQUAL_STRING("me", environment_get(&e, "QLESS_WORKER"));
	environment_done(&e);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(job_is_read);
	RUN(data_of_a_raw_job_is_decoded);
	RUN(texts_that_are_no_job_are_refused);
	RUN(values_that_no_variable_can_have_are_named);
	return UNIT_RESULT();
}
