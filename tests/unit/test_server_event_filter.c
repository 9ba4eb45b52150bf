#include "server/event_filter.h"

#include <stdlib.h>

#include "command/acl.h"
#include "command/table.h"
#include "server/commands.h"
#include "unit.h"
#include "util/mem.h"

static struct http_target target;
static struct event_filter filter;
static struct buf error;
static struct command_table *table;
static struct acl *acl;

void setUp(void)
{
	buf_init(&error, BUF_NO_MAX);
	table = commands_new(/* has_group= */ false);
	acl = acl_new(table);
}

void tearDown(void)
{
	buf_done(&error);
	acl_free(acl);
	command_table_free(table);
}

static bool parse(const char *text)
{
	TEST_ASSERT_EQUAL_INT(0, http_target_parse(&target, str_from(text)));
	return event_filter_parse(&target, &filter, &error);
}

/* Whether the parameters let an event pass. */
static bool passes(const char *text, struct ring_event event)
{
	bool does;

	TEST_ASSERT_TRUE(parse(text));
	does = event_filter_matches(&filter, &event);
	event_filter_done(&filter);
	return does;
}

static const struct ring_event put = { .kind = STR_INIT("put"),
				       .jid = STR_INIT("\"a \\\"b\\\"\""),
				       .queues = { STR_INIT("mail") },
				       .queue_count = 1 };
static const struct ring_event advanced = { .kind = STR_INIT("advanced"),
					    .jid = STR_INIT("\"c\""),
					    .queues = { STR_INIT("mail"), STR_INIT("video") },
					    .queue_count = 2 };
static const struct ring_event config_set = { .kind = STR_INIT("config_set") };

static void no_parameters_let_everything_pass(void)
{
	TEST_ASSERT_TRUE(parse("/v1/events"));
	TEST_ASSERT_TRUE(event_filter_is_open(&filter));
	event_filter_done(&filter);
	TEST_ASSERT_TRUE(passes("/v1/events", put));
	TEST_ASSERT_TRUE(passes("/v1/events", config_set));
}

static void an_event_matches_one_value_of_each_parameter(void)
{
	TEST_ASSERT_TRUE(passes("/e?queue=mail", put));
	TEST_ASSERT_TRUE(passes("/e?queue=video&queue=mail", put));
	TEST_ASSERT_FALSE(passes("/e?queue=video", put));
	TEST_ASSERT_TRUE(passes("/e?queue=video", advanced));
	TEST_ASSERT_TRUE(passes("/e?queue=mail", advanced));
	TEST_ASSERT_FALSE(passes("/e?queue=mail", config_set));
	TEST_ASSERT_TRUE(passes("/e?jid=a%20%22b%22", put));
	TEST_ASSERT_FALSE(passes("/e?jid=a", put));
	TEST_ASSERT_FALSE(passes("/e?jid=", config_set));
	TEST_ASSERT_TRUE(passes("/e?event=failed&event=put", put));
	TEST_ASSERT_FALSE(passes("/e?event=failed&event=put", advanced));
	TEST_ASSERT_TRUE(passes("/e?event=config_set", config_set));
	TEST_ASSERT_TRUE(passes("/e?event=put&queue=mail&jid=x&jid=a%20%22b%22", put));
	TEST_ASSERT_FALSE(passes("/e?event=put&queue=mail&jid=x", put));
}

static void other_parameters_are_refused(void)
{
	TEST_ASSERT_FALSE(parse("/e?queue=mail&color=red"));
	TEST_ASSERT_EQUAL_STRING(
		"the parameters are \"queue\", \"jid\" and \"event\"; found \"color\"",
		buf_cstr(&error));
	TEST_ASSERT_FALSE(parse("/e?event=popped"));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&error), "event must be \"advanced\""));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&error), "; found \"popped\""));
	TEST_ASSERT_FALSE(parse("/e?event="));
}

static void the_queues_are_listed_in_order(void)
{
	struct qless_str queue;
	size_t at = 0;

	TEST_ASSERT_TRUE(parse("/e?queue=b&queue=&queue=a"));
	TEST_ASSERT_TRUE(event_filter_next_queue(&filter, &at, &queue));
	ASSERT_STR("b", queue);
	TEST_ASSERT_TRUE(event_filter_next_queue(&filter, &at, &queue));
	ASSERT_STR("", queue);
	TEST_ASSERT_TRUE(event_filter_next_queue(&filter, &at, &queue));
	ASSERT_STR("a", queue);
	TEST_ASSERT_FALSE(event_filter_next_queue(&filter, &at, &queue));
	event_filter_done(&filter);
}

static const struct user *make_user(const char *keys, const char *channels)
{
	struct qless_str rules[] = { STR("reset"), STR("on"), str_from(keys), str_from(channels) };

	TEST_ASSERT_TRUE_MESSAGE(acl_set_user(acl, STR("alice"), rules, 4, &error),
				 buf_cstr(&error));
	return acl_find(acl, STR("alice"));
}

static void a_user_sees_events_of_queues_and_channels_that_it_may_use(void)
{
	const struct user *user = make_user("~*", "&*");

	TEST_ASSERT_TRUE(event_filter_may_follow_all(user));
	TEST_ASSERT_TRUE(event_filter_may_see(user, &config_set));
	user = make_user("~video", "&ql:log");
	TEST_ASSERT_FALSE(event_filter_may_follow_all(user));
	TEST_ASSERT_FALSE(event_filter_may_see(user, &put));
	TEST_ASSERT_TRUE(event_filter_may_see(user, &advanced));
	TEST_ASSERT_FALSE(event_filter_may_see(user, &config_set));
	user = make_user("~*", "&ql:q:mail:events");
	TEST_ASSERT_TRUE(event_filter_may_follow(user, STR("mail")));
	TEST_ASSERT_FALSE(event_filter_may_follow(user, STR("video")));
	TEST_ASSERT_TRUE(event_filter_may_see(user, &put));
	TEST_ASSERT_FALSE(event_filter_may_see(user, &config_set));
	user = make_user("%W~mail", "&*");
	TEST_ASSERT_FALSE(event_filter_may_see(user, &put));
	user = make_user("~mail", "resetchannels");
	TEST_ASSERT_FALSE(event_filter_may_see(user, &put));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(no_parameters_let_everything_pass);
	RUN(an_event_matches_one_value_of_each_parameter);
	RUN(other_parameters_are_refused);
	RUN(the_queues_are_listed_in_order);
	RUN(a_user_sees_events_of_queues_and_channels_that_it_may_use);
	return UNIT_RESULT();
}
