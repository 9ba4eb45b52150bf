#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static void options_have_defaults(void)
{
	struct qless_option option;

	TEST_ASSERT_TRUE(qless_config_get(q, STR("heartbeat"), &option));
	ASSERT_STR("60", option.value);
	TEST_ASSERT_FALSE(option.is_set);
	TEST_ASSERT_TRUE(qless_config_get(q, STR("max-job-history"), &option));
	ASSERT_STR("100", option.value);
	TEST_ASSERT_FALSE(qless_config_get(q, STR("nope"), &option));
}

static void the_text_of_an_option_is_kept(void)
{
	struct qless_option option;

	OK(qless_config_set(q, 0, STR("heartbeat"), STR(" 0x10 ")));
	ASSERT_EVENTS("ql:log {\"option\":\"heartbeat\",\"event\":\"config_set\","
		      "\"value\":\" 0x10 \"}\n");
	TEST_ASSERT_TRUE(qless_config_get(q, STR("heartbeat"), &option));
	ASSERT_STR(" 0x10 ", option.value);
	TEST_ASSERT_TRUE(option.is_set);
	put(1, "q", "j");
	pop(10, "q", "w", 1);
	TEST_ASSERT_TRUE(info_of("j").expires == 26);
	OK(qless_config_unset(q, 0, STR("heartbeat")));
	TEST_ASSERT_TRUE(qless_config_get(q, STR("heartbeat"), &option));
	ASSERT_STR("60", option.value);
}

static void options_the_engine_uses_are_checked(void)
{
	struct qless_option option;

	ASSERT_ERROR(QLESS_EBADARG, "config_set: value is not a finite number: x",
		     qless_config_set(q, 0, STR("heartbeat"), STR("x")));
	ASSERT_ERROR(QLESS_EBADARG, "config_set: value is not a finite number: inf",
		     qless_config_set(q, 0, STR("q-heartbeat"), STR("inf")));
	ASSERT_ERROR(QLESS_EBADARG, "config_set: value is not an integer: 1.5",
		     qless_config_set(q, 0, STR("q-max-concurrency"), STR("1.5")));
	ASSERT_ERROR(QLESS_EBADARG, "config_set: value is not an integer: 1.5",
		     qless_config_set(q, 0, STR("max-job-history"), STR("1.5")));
	ASSERT_EVENTS("");
	TEST_ASSERT_FALSE(qless_config_get(q, STR("q-heartbeat"), &option));
	OK(qless_config_set(q, 0, STR("anything"), STR("goes")));
	OK(qless_config_set(q, 0, STR("application"), STR("x")));
}

static void unsetting_is_announced_even_if_nothing_was_set(void)
{
	uint64_t changes = qless_changes(q);

	OK(qless_config_unset(q, 0, STR("nope")));
	ASSERT_EVENTS("ql:log {\"event\":\"config_unset\",\"option\":\"nope\"}\n");
	TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(q));
}

static void all_options_are_listed_once(void)
{
	struct qless_option option;
	char names[512] = "";
	size_t cursor = 0;

	set_option("zebra", "1");
	set_option("heartbeat", "30");
	set_option("max-job-history", "50");
	while (qless_config_next(q, &cursor, &option)) {
		strncat(names, option.name.ptr, option.name.len);
		strcat(names, option.is_set ? "! " : " ");
	}
	TEST_ASSERT_EQUAL_STRING("application grace-period stats-history jobs-history heartbeat! "
				 "jobs-history-count histogram-history max-job-history! zebra! ",
				 names);
}

static void an_option_of_a_queue_waits_for_the_queue(void)
{
	set_option("later-heartbeat", "7");
	put(1, "later", "j");
	pop(1, "later", "w", 1);
	TEST_ASSERT_TRUE(info_of("j").expires == 8);
}

static void many_options_are_found(void)
{
	struct qless_option option;
	char name[16];
	int i;

	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "o%d", i * 7 % 300);
		set_option(name, name);
	}
	for (i = 0; i < 300; i += 2) {
		snprintf(name, sizeof(name), "o%d", i);
		OK(qless_config_unset(q, 0, str_from(name)));
	}
	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "o%d", i);
		TEST_ASSERT_EQUAL_INT(i % 2, qless_config_get(q, str_from(name), &option));
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(options_have_defaults);
	RUN(the_text_of_an_option_is_kept);
	RUN(options_the_engine_uses_are_checked);
	RUN(unsetting_is_announced_even_if_nothing_was_set);
	RUN(all_options_are_listed_once);
	RUN(an_option_of_a_queue_waits_for_the_queue);
	RUN(many_options_are_found);
	return UNIT_RESULT();
}
