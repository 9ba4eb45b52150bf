#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static void track(double now, const char *jid)
{
	bool is_new;

	OK(qless_track(q, now, str_from(jid), &is_new));
	forget_events();
}

static void tracking_is_announced(void)
{
	bool changed;

	ASSERT_ERROR(QLESS_ENOJOB, "track: job j does not exist",
		     qless_track(q, 1, STR("j"), &changed));
	put(1, "q", "j");
	forget_events();
	OK(qless_track(q, 2, STR("j"), &changed));
	TEST_ASSERT_TRUE(changed);
	OK(qless_track(q, 3, STR("j"), &changed));
	TEST_ASSERT_FALSE(changed);
	OK(qless_untrack(q, 4, STR("j"), &changed));
	TEST_ASSERT_TRUE(changed);
	OK(qless_untrack(q, 5, STR("j"), &changed));
	TEST_ASSERT_FALSE(changed);
	ASSERT_EVENTS("ql:track j\nql:track j\nql:untrack j\nql:untrack j\n");
}

static void events_of_tracked_jobs_have_channels_of_their_own(void)
{
	set_option("grace-period", "0");
	put_retries(1, "q", "j", 0);
	track(1, "j");
	pop(2, "q", "w", 1);
	ASSERT_EVENTS("ql:popped j\n");
	pop(62, "q", "v", 1);
	TEST_ASSERT_NOT_NULL(memmem(buf_data(&events), events.len, "ql:stalled j\n", 13));
	TEST_ASSERT_NOT_NULL(memmem(buf_data(&events), events.len, "ql:failed j\n", 12));
	forget_events();
	put(70, "q", "j");
	ASSERT_EVENTS("ql:log {\"jid\":\"j\",\"event\":\"put\",\"queue\":\"q\"}\nql:put j\n");
	pop(71, "q", "w", 1);
	forget_events();
	complete(72, "q", "j", "w");
	ASSERT_EVENTS("ql:completed j\n"
		      "ql:log {\"jid\":\"j\",\"event\":\"completed\",\"queue\":\"q\"}\n");
}

static void a_jid_stays_tracked_without_its_job(void)
{
	struct qless_str jid = STR("a");
	struct qless_list jids;
	bool changed;

	put(1, "q", "b");
	put(1, "q", "a");
	track(1, "b");
	track(2, "a");
	OK(qless_cancel(q, 3, &jid, 1));
	ASSERT_EVENTS(
		"ql:log {\"jid\":\"a\",\"queue\":\"q\",\"event\":\"canceled\",\"worker\":\"\"}\n"
		"ql:canceled a\n");
	qless_tracked(q, &jids);
	TEST_ASSERT_EQUAL_STRING("b a ", words(&jids));
	put(4, "q", "a");
	TEST_ASSERT_TRUE(info_of("a").tracked);
	OK(qless_cancel(q, 5, &jid, 1));
	OK(qless_untrack(q, 6, STR("a"), &changed));
	TEST_ASSERT_TRUE(changed);
	put(7, "q", "a");
	TEST_ASSERT_FALSE(info_of("a").tracked);
}

static void nothing_is_published_while_nobody_listens(void)
{
	put(1, "q", "j");
	track(1, "j");
	is_heard = false;
	pop(2, "q", "w", 1);
	complete(3, "q", "j", "w");
	ASSERT_EVENTS("");
	is_heard = true;
	put(4, "q", "j");
	ASSERT_EVENTS("ql:log {\"jid\":\"j\",\"event\":\"put\",\"queue\":\"q\"}\nql:put j\n");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(tracking_is_announced);
	RUN(events_of_tracked_jobs_have_channels_of_their_own);
	RUN(a_jid_stays_tracked_without_its_job);
	RUN(nothing_is_published_while_nobody_listens);
	return UNIT_RESULT();
}
