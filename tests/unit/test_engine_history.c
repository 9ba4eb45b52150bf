#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static void log_at(double now, const char *message)
{
	OK(qless_log(q, now, STR("j"), str_from(message), NULL));
}

static void entries_tell_what_happened_when_and_by_whom(void)
{
	struct qless_str item = STR("{ \"a\" : 1 }");
	struct qless_event event;
	size_t cursor = 0;

	put(1.9, "q", "j");
	pop(2, "q", "w", 1);
	OK(qless_log(q, 3, STR("j"), STR("half way"), &item));
	fail(4, "j", "w", "g");
	TEST_ASSERT_TRUE(qless_job_next_event(qless_get(q, STR("j")), &cursor, &event));
	TEST_ASSERT_EQUAL_INT(QLESS_EVENT_PUT, event.kind);
	TEST_ASSERT_TRUE(event.when == 1);
	ASSERT_STR("q", event.queue);
	TEST_ASSERT_TRUE(qless_job_next_event(qless_get(q, STR("j")), &cursor, &event));
	TEST_ASSERT_EQUAL_INT(QLESS_EVENT_POPPED, event.kind);
	ASSERT_STR("w", event.worker);
	TEST_ASSERT_TRUE(qless_job_next_event(qless_get(q, STR("j")), &cursor, &event));
	TEST_ASSERT_EQUAL_INT(QLESS_EVENT_LOG, event.kind);
	ASSERT_STR("half way", event.what);
	ASSERT_STR("{ \"a\" : 1 }", event.item);
	TEST_ASSERT_TRUE(qless_job_next_event(qless_get(q, STR("j")), &cursor, &event));
	TEST_ASSERT_EQUAL_INT(QLESS_EVENT_FAILED, event.kind);
	ASSERT_STR("g", event.group);
	ASSERT_STR("w", event.worker);
	TEST_ASSERT_FALSE(qless_job_next_event(qless_get(q, STR("j")), &cursor, &event));
}

static void times_of_any_size_are_kept(void)
{
	static const double times[] = { 0,    -1,   63,	   64,	 -64,	-65,  1e9,    1700000000,
					1e15, 1e18, -1e18, 4e18, -4e18, 1e19, -1e300, 1.7e308 };
	struct qless_event event;
	size_t cursor = 0;
	size_t i;

	put(0, "q", "j");
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		log_at(times[i], "x");
	qless_job_next_event(qless_get(q, STR("j")), &cursor, &event);
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		TEST_ASSERT_TRUE(qless_job_next_event(qless_get(q, STR("j")), &cursor, &event));
		TEST_ASSERT_TRUE(event.when == times[i]);
	}
}

static void the_first_entry_and_the_last_ones_stay(void)
{
	set_option("max-job-history", "4");
	put(1, "q", "j");
	log_at(2, "a");
	log_at(3, "b");
	log_at(4, "c");
	TEST_ASSERT_EQUAL_STRING("put@1 a@2 b@3 c@4 ", history_of("j"));
	log_at(5, "d");
	TEST_ASSERT_EQUAL_STRING("put@1 b@3 c@4 d@5 ", history_of("j"));
	set_option("max-job-history", "3");
	log_at(6, "e");
	TEST_ASSERT_EQUAL_STRING("put@1 d@5 e@6 ", history_of("j"));
}

static void the_limits_1_and_2_behave_as_in_the_reference(void)
{
	put(1, "q", "j");
	set_option("max-job-history", "1");
	log_at(2, "a");
	log_at(3, "b");
	TEST_ASSERT_EQUAL_STRING("put@1 b@3 ", history_of("j"));
	set_option("max-job-history", "2");
	log_at(4, "c");
	TEST_ASSERT_EQUAL_STRING("put@1 b@3 c@4 ", history_of("j"));
	set_option("max-job-history", "0");
	log_at(5, "d");
	TEST_ASSERT_EQUAL_STRING("put@1 b@3 c@4 d@5 ", history_of("j"));
	set_option("max-job-history", "1");
	log_at(6, "e");
	TEST_ASSERT_EQUAL_STRING("put@1 c@4 d@5 e@6 ", history_of("j"));
}

static void the_default_is_a_hundred_entries(void)
{
	struct qless_event event;
	size_t cursor = 0;
	int count = 0;
	int i;

	put(0, "q", "j");
	for (i = 1; i < 300; i++)
		log_at(i, "x");
	while (qless_job_next_event(qless_get(q, STR("j")), &cursor, &event))
		count++;
	TEST_ASSERT_EQUAL_INT(100, count);
	TEST_ASSERT_TRUE(event.when == 299);
}

static void a_log_entry_needs_a_job(void)
{
	ASSERT_ERROR(QLESS_ENOJOB, "log: job j does not exist",
		     qless_log(q, 1, STR("j"), STR("x"), NULL));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(entries_tell_what_happened_when_and_by_whom);
	RUN(times_of_any_size_are_kept);
	RUN(the_first_entry_and_the_last_ones_stay);
	RUN(the_limits_1_and_2_behave_as_in_the_reference);
	RUN(the_default_is_a_hundred_entries);
	RUN(a_log_entry_needs_a_job);
	return UNIT_RESULT();
}
