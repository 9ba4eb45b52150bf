#include "engine/engine_int.h"

#include "limiting.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static uint64_t running(const char *limit)
{
	return limit_of(0, limit).running;
}

static bool is_poppable(double now, const char *queue)
{
	return qless_is_poppable(q, now, str_from(queue));
}

static double next_due(const char *queue)
{
	return qless_queue_next_due(q, str_from(queue));
}

/* The queues that woke, each followed by a blank. */
static const char *woken(void)
{
	static char text[256];
	struct qless_str queue;
	size_t len = 0;

	text[0] = '\0';
	while (qless_take_woken(q, &queue))
		len += (size_t)snprintf(text + len, sizeof text - len, "%.*s ", (int)queue.len,
					queue.ptr);
	return text;
}

/* ---- order ---- */

static void jobs_with_and_without_limits_are_in_one_order(void)
{
	put_limited(1, "q", "a", "x");
	put(2, "q", "b");
	put_limited(3, "q", "c", "y");
	put_priority(4, "q", "d", 1);
	put_limited_priority(5, "q", "e", "x", 2);
	TEST_ASSERT_EQUAL_STRING("e d a b c ", pop(10, "q", "w", 9));
}

static void equal_scores_go_by_jid_whether_limited_or_not(void)
{
	put_limited(1, "q", "a", "x");
	put(1, "q", "b");
	put_limited(1, "q", "c", "y");
	put(1, "q", "d");
	TEST_ASSERT_EQUAL_STRING("d c b a ", pop(10, "q", "w", 9));
}

static void a_job_whose_limit_is_shut_does_not_hold_up_the_others(void)
{
	set_concurrency(0, "x", 1);
	put_limited_priority(1, "q", "first", "x", 9);
	put_limited_priority(1, "q", "second", "x", 8);
	put(2, "q", "plain");
	put_limited(3, "q", "other", "y");
	TEST_ASSERT_EQUAL_STRING("first plain other ", pop(10, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("", pop(11, "q", "w", 9));
	complete(12, "q", "first", "w");
	TEST_ASSERT_EQUAL_STRING("second ", pop(13, "q", "w", 9));
}

static void a_new_priority_moves_a_job_in_its_lane(void)
{
	put_limited(1, "q", "a", "x");
	put_limited(2, "q", "b", "x");
	put_limited(3, "q", "c", "x");
	OK(qless_priority(q, 4, STR("c"), 5));
	TEST_ASSERT_EQUAL_STRING("c ", pop(5, "q", "w", 1));
	OK(qless_priority(q, 6, STR("a"), -5));
	TEST_ASSERT_EQUAL_STRING("b a ", pop(7, "q", "w", 9));
}

static void a_thousand_jobs_of_one_lane_keep_their_order(void)
{
	double last = INFINITY;

	for (int i = 0; i < 1000; i++) {
		char jid[16];

		snprintf(jid, sizeof jid, "j%d", i);
		put_limited_priority(1, "q", jid, "x", (i * 7919) % 101);
	}
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
	for (int i = 0; i < 1000; i++) {
		struct qless_jobs jobs;
		struct qless_job_info info;

		OK(qless_pop(q, 2, STR("q"), STR("w"), 1, &jobs));
		TEST_ASSERT_EQUAL_size_t(1, jobs.count);
		qless_job_read(jobs.items[0], &info);
		TEST_ASSERT_TRUE(info.priority <= last);
		last = info.priority;
	}
}

/* ---- rates ---- */

static void a_rate_spaces_the_hand_outs(void)
{
	set_rate(0, "x", 1, 10, 1);
	for (int i = 0; i < 4; i++) {
		char jid[8];

		snprintf(jid, sizeof jid, "j%d", i);
		put_limited(i, "q", jid, "x");
	}
	TEST_ASSERT_EQUAL_STRING("j0 ", pop(100, "q", "w", 9));
	TEST_ASSERT_FALSE(is_poppable(109.999, "q"));
	TEST_ASSERT_EQUAL_DOUBLE(110, next_due("q"));
	TEST_ASSERT_EQUAL_STRING("", pop(109.999, "q", "w", 9));
	TEST_ASSERT_TRUE(is_poppable(110, "q"));
	TEST_ASSERT_EQUAL_STRING("j1 ", pop(110, "q", "w", 9));
	reload();
	TEST_ASSERT_EQUAL_STRING("", pop(119, "q", "w", 9));
	/* Time that passes without a hand-out is not saved up. */
	TEST_ASSERT_EQUAL_STRING("j2 ", pop(1000, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("j3 ", pop(1010, "q", "w", 9));
}

static void a_burst_is_saved_up(void)
{
	set_rate(0, "x", 1, 10, 3);
	for (int i = 0; i < 8; i++) {
		char jid[8];

		snprintf(jid, sizeof jid, "j%d", i);
		put_limited(i, "q", jid, "x");
	}
	TEST_ASSERT_EQUAL_STRING("j0 j1 j2 ", pop(100, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("", pop(109, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("j3 ", pop(110, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("j4 j5 ", pop(130, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("j6 j7 ", pop(1000, "q", "w", 9));
}

static void tokens_are_not_returned_when_a_run_ends(void)
{
	set_rate(0, "x", 1, 10, 1);
	put_limited(1, "q", "a", "x");
	put_limited(2, "q", "b", "x");
	TEST_ASSERT_EQUAL_STRING("a ", pop(100, "q", "w", 1));
	complete(101, "q", "a", "w");
	TEST_ASSERT_EQUAL_STRING("", pop(102, "q", "w", 1));
}

static void an_earlier_time_hands_out_nothing_more(void)
{
	set_rate(0, "x", 1, 10, 1);
	put_limited(1, "q", "a", "x");
	put_limited(2, "q", "b", "x");
	TEST_ASSERT_EQUAL_STRING("a ", pop(100, "q", "w", 1));
	TEST_ASSERT_FALSE(is_poppable(50, "q"));
	TEST_ASSERT_EQUAL_STRING("", pop(50, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("", pop(105, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("b ", pop(110, "q", "w", 1));
}

static void a_step_of_the_clock_keeps_the_wait_for_a_token(void)
{
	set_rate(0, "x", 1, 10, 1);
	put_limited(1, "q", "a", "x");
	put_limited(2, "q", "b", "x");
	TEST_ASSERT_EQUAL_STRING("a ", pop(1000, "q", "w", 1));
	OK(qless_step_clock(q, 504, 1004));
	TEST_ASSERT_FALSE(is_poppable(509, "q"));
	TEST_ASSERT_EQUAL_DOUBLE(510, next_due("q"));
	TEST_ASSERT_EQUAL_STRING("b ", pop(510, "q", "w", 1));
}

static void a_pattern_gives_each_name_a_bucket_of_its_own(void)
{
	uint64_t swept;

	set_rate(0, "domain:*", 1, 10, 1);
	put_limited(1, "q", "a1", "domain:a");
	put_limited(2, "q", "a2", "domain:a");
	put_limited(3, "q", "b1", "domain:b");
	TEST_ASSERT_EQUAL_STRING("a1 b1 ", pop(100, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("", pop(101, "q", "w", 9));
	complete(102, "q", "b1", "w");
	OK(qless_cancel(q, 102, &STR("b1"), 1));
	OK(qless_config_set(q, 102, STR("jobs-history"), STR("0")));
	put(103, "other", "j");
	pop(103, "other", "w", 1);
	complete(103, "other", "j", "w");
	TEST_ASSERT_EQUAL_STRING("a2 ", pop(110, "q", "w", 9));
	complete(111, "q", "a1", "w");
	complete(111, "q", "a2", "w");
	/* The buckets are full again: nothing is left but the pattern. */
	OK(qless_limit_sweep(q, 200, 99, &swept));
	TEST_ASSERT_EQUAL_size_t(1, qless_limit_count(q));
}

/* ---- several limits ---- */

static void a_job_takes_from_all_of_its_limits_or_none(void)
{
	set_rate(0, "r", 1, 10, 1);
	set_concurrency(0, "c", 1);
	put_limited(1, "q", "a", "r c");
	put_limited(2, "q", "b", "r c");
	put_limited(3, "q", "c", "r");
	TEST_ASSERT_EQUAL_STRING("a ", pop(100, "q", "w", 9));
	/* The rate is open, but not the concurrency, so b leaves its token to c. */
	TEST_ASSERT_EQUAL_STRING("c ", pop(110, "q", "w", 9));
	complete(111, "q", "a", "w");
	TEST_ASSERT_EQUAL_STRING("", pop(112, "q", "w", 9));
	TEST_ASSERT_EQUAL_UINT64(0, running("c"));
	TEST_ASSERT_EQUAL_STRING("b ", pop(120, "q", "w", 9));
	TEST_ASSERT_EQUAL_UINT64(1, running("c"));
}

static void a_job_runs_when_the_last_of_its_limits_opens(void)
{
	put_limited(1, "q", "j", "x y z");
	hold(2, "x", 10);
	hold(2, "y", 30);
	hold(2, "z", 20);
	TEST_ASSERT_FALSE(is_poppable(3, "q"));
	TEST_ASSERT_EQUAL_DOUBLE(32, next_due("q"));
	hold(4, "y", 0);
	TEST_ASSERT_FALSE(is_poppable(5, "q"));
	TEST_ASSERT_EQUAL_DOUBLE(22, next_due("q"));
	TEST_ASSERT_EQUAL_STRING("", pop(21, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("j ", pop(22, "q", "w", 1));
}

static void limits_that_shut_in_turn_never_lose_a_job(void)
{
	set_option("heartbeat", "100000");
	for (int i = 0; i < 50; i++) {
		char jid[16], limits[32];

		snprintf(jid, sizeof jid, "j%02d", i);
		snprintf(limits, sizeof limits, "a b own%d", i);
		put_limited(i, "q", jid, limits);
	}
	for (int i = 0; i < 50; i++) {
		double now = 100 + 10 * i;
		char expected[16];

		hold(now, i % 2 == 0 ? "a" : "b", 5);
		TEST_ASSERT_EQUAL_STRING("", pop(now + 1, "q", "w", 1));
		TEST_ASSERT_EQUAL_DOUBLE(now + 5, next_due("q"));
		if (i % 7 == 0)
			reload();
		snprintf(expected, sizeof expected, "j%02d ", i);
		TEST_ASSERT_EQUAL_STRING(expected, pop(now + 5, "q", "w", 1));
	}
	TEST_ASSERT_EQUAL_UINT64(50, running("a"));
}

/* ---- concurrency over queues ---- */

static void queues_share_a_limit_and_wake_each_other(void)
{
	set_concurrency(0, "db", 2);
	put_limited(1, "q", "q1", "db");
	put_limited(2, "q", "q2", "db");
	put_limited(3, "r", "r1", "db");
	TEST_ASSERT_EQUAL_STRING("q1 q2 ", pop(10, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("", pop(11, "r", "v", 9));
	TEST_ASSERT_EQUAL_STRING("q r ", woken());
	complete(12, "q", "q1", "w");
	TEST_ASSERT_EQUAL_STRING("r ", woken());
	TEST_ASSERT_EQUAL_STRING("r1 ", pop(13, "r", "v", 9));
}

static void a_dead_holder_is_found_from_another_queue(void)
{
	set_concurrency(0, "db", 1);
	put_limited(1, "q", "dead", "db");
	put_limited(2, "r", "next", "db");
	TEST_ASSERT_EQUAL_STRING("dead ", pop(10, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("", pop(11, "r", "v", 1));
	TEST_ASSERT_EQUAL_DOUBLE(70, next_due("r"));
	/* The first pop after the expiry warns the worker. */
	TEST_ASSERT_TRUE(is_poppable(70, "r"));
	forget_events();
	TEST_ASSERT_EQUAL_STRING("", pop(70, "r", "v", 1));
	ASSERT_EVENTS("ql:w:w {\"jid\":\"dead\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n"
		      "ql:log {\"jid\":\"dead\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n");
	TEST_ASSERT_FALSE(is_poppable(79, "r"));
	TEST_ASSERT_EQUAL_DOUBLE(80, next_due("r"));
	reload();
	TEST_ASSERT_EQUAL_STRING("next ", pop(80, "r", "v", 1));
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("dead").state);
	TEST_ASSERT_EQUAL_DOUBLE(4, info_of("dead").remaining);
	TEST_ASSERT_EQUAL_UINT64(1, running("db"));
	complete(81, "r", "next", "v");
	TEST_ASSERT_EQUAL_STRING("dead ", pop(82, "q", "w", 1));
}

static void a_snapshot_keeps_the_time_at_which_the_first_holder_expires(void)
{
	set_option("a-heartbeat", "1000");
	set_concurrency(0, "db", 2);
	put_limited(1, "a", "late", "db");
	put_limited(2, "z", "early", "db");
	put_limited(3, "a", "next", "db");
	TEST_ASSERT_EQUAL_STRING("late ", pop(10, "a", "w", 1));
	TEST_ASSERT_EQUAL_STRING("early ", pop(10, "z", "w", 1));
	set_concurrency(11, "db", 1);
	TEST_ASSERT_EQUAL_STRING("", pop(12, "a", "w", 1));
	TEST_ASSERT_EQUAL_DOUBLE(70, next_due("a"));
	reload();
	TEST_ASSERT_EQUAL_DOUBLE(70, next_due("a"));
}

static void a_holder_that_renews_its_lock_keeps_its_slot(void)
{
	double expires;

	set_concurrency(0, "db", 1);
	put_limited(1, "q", "alive", "db");
	put_limited(2, "r", "next", "db");
	pop(10, "q", "w", 1);
	TEST_ASSERT_EQUAL_STRING("", pop(11, "r", "v", 1));
	OK(qless_heartbeat(q, 60, STR("alive"), STR("w"), NULL, &expires));
	TEST_ASSERT_EQUAL_STRING("", pop(70, "r", "v", 1));
	TEST_ASSERT_EQUAL_DOUBLE(120, next_due("r"));
	TEST_ASSERT_EQUAL_INT(QLESS_RUNNING, info_of("alive").state);
}

static void a_dead_holder_without_retries_fails(void)
{
	struct qless_put p = a_put("q", "dead");
	struct qless_str names[] = { STR("db") };

	set_concurrency(0, "db", 1);
	p.has_limits = true;
	p.limits = names;
	p.limit_count = 1;
	p.has_retries = true;
	OK(qless_put(q, 1, &p));
	put_limited(2, "r", "next", "db");
	pop(10, "q", "w", 1);
	TEST_ASSERT_EQUAL_STRING("", pop(70, "r", "v", 1));
	TEST_ASSERT_EQUAL_STRING("next ", pop(80, "r", "v", 1));
	TEST_ASSERT_EQUAL_INT(QLESS_FAILED, info_of("dead").state);
}

static void a_job_with_an_expired_lock_needs_its_limits_again(void)
{
	set_concurrency(0, "c", 1);
	set_rate(0, "r", 1, 1000, 1);
	put_limited(1, "q", "a", "c r");
	put_limited_priority(2, "q", "b", "c", 5);
	OK(qless_priority(q, 2, STR("a"), 9));
	TEST_ASSERT_EQUAL_STRING("a ", pop(10, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("", pop(70, "q", "v", 1));
	TEST_ASSERT_EQUAL_STRING("b ", pop(80, "q", "v", 1));
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("a").state);
	complete(81, "q", "b", "v");
	TEST_ASSERT_EQUAL_STRING("", pop(82, "q", "v", 1));
	TEST_ASSERT_EQUAL_STRING("a ", pop(1010, "q", "v", 1));
}

/* ---- rules and holds that change while jobs wait ---- */

static void a_pattern_that_comes_later_counts_the_running_jobs(void)
{
	put_limited(1, "q", "a", "db:1");
	put_limited(2, "q", "b", "db:1");
	TEST_ASSERT_EQUAL_STRING("a ", pop(10, "q", "w", 1));
	set_concurrency(11, "db:*", 1);
	TEST_ASSERT_FALSE(is_poppable(12, "q"));
	TEST_ASSERT_EQUAL_STRING("", pop(12, "q", "w", 1));
	woken();
	set_concurrency(13, "db:*", 2);
	TEST_ASSERT_EQUAL_STRING("q ", woken());
	TEST_ASSERT_EQUAL_STRING("b ", pop(14, "q", "w", 1));
}

static void deleting_the_rule_of_a_full_limit_opens_it(void)
{
	set_concurrency(0, "db", 1);
	put_limited(1, "q", "a", "db");
	put_limited(2, "q", "b", "db");
	pop(10, "q", "w", 9);
	TEST_ASSERT_FALSE(is_poppable(11, "q"));
	woken();
	TEST_ASSERT_TRUE(delete_rule(12, "db"));
	TEST_ASSERT_EQUAL_STRING("q ", woken());
	TEST_ASSERT_EQUAL_STRING("b ", pop(13, "q", "w", 9));
	TEST_ASSERT_EQUAL_UINT64(2, running("db"));
}

static void a_rule_whose_time_is_over_opens_its_limit(void)
{
	struct qless_limit_change change = {
		.name = STR("db"),
		.has_concurrency = true,
		.concurrency = -1,
		.has_ttl = true,
		.ttl = 60,
	};
	uint64_t swept;

	OK(qless_limit_set(q, 100, &change));
	put_limited(101, "q", "a", "db");
	TEST_ASSERT_FALSE(is_poppable(102, "q"));
	TEST_ASSERT_EQUAL_DOUBLE(INFINITY, next_due("q"));
	woken();
	OK(qless_limit_sweep(q, 160, 1, &swept));
	TEST_ASSERT_EQUAL_STRING("q ", woken());
	TEST_ASSERT_EQUAL_STRING("a ", pop(161, "q", "w", 1));
}

static void a_lower_concurrency_waits_until_enough_runs_have_ended(void)
{
	set_concurrency(0, "db", 3);
	for (int i = 0; i < 5; i++) {
		char jid[8];

		snprintf(jid, sizeof jid, "j%d", i);
		put_limited(i, "q", jid, "db");
	}
	TEST_ASSERT_EQUAL_STRING("j0 j1 j2 ", pop(10, "q", "w", 9));
	set_concurrency(11, "db", 1);
	complete(12, "q", "j0", "w");
	complete(12, "q", "j1", "w");
	TEST_ASSERT_EQUAL_STRING("", pop(13, "q", "w", 9));
	complete(14, "q", "j2", "w");
	TEST_ASSERT_EQUAL_STRING("j3 ", pop(15, "q", "w", 9));
}

static void a_faster_rate_opens_a_limit_earlier(void)
{
	set_option("heartbeat", "100000");
	set_rate(0, "x", 1, 3600, 1);
	put_limited(1, "q", "a", "x");
	put_limited(2, "q", "b", "x");
	pop(100, "q", "w", 9);
	TEST_ASSERT_EQUAL_DOUBLE(3700, next_due("q"));
	woken();
	set_rate(110, "x", 1, 5, 1);
	TEST_ASSERT_EQUAL_DOUBLE(115, next_due("q"));
	TEST_ASSERT_EQUAL_DOUBLE(115, qless_next_due(q));
	TEST_ASSERT_EQUAL_STRING("b ", pop(115, "q", "w", 9));
}

static void a_hold_keeps_jobs_from_running(void)
{
	struct qless_str queue;

	put_limited(1, "q", "a", "api");
	hold(2, "api", 60);
	TEST_ASSERT_EQUAL_STRING("", pop(3, "q", "w", 1));
	TEST_ASSERT_EQUAL_DOUBLE(62, next_due("q"));
	woken();
	TEST_ASSERT_FALSE(qless_take_due(q, 61, &queue));
	TEST_ASSERT_TRUE(qless_take_due(q, 62, &queue));
	ASSERT_STR("q", queue);
	TEST_ASSERT_FALSE(qless_take_due(q, 62, &queue));
	TEST_ASSERT_EQUAL_STRING("q ", woken());
	TEST_ASSERT_EQUAL_STRING("a ", pop(62, "q", "w", 1));
}

/* ---- queue:<name> ---- */

static void the_rate_of_a_queue_bounds_all_of_its_jobs(void)
{
	set_rate(0, "queue:q", 2, 10, 2);
	put(1, "q", "a");
	put_limited(2, "q", "b", "x");
	put(3, "q", "c");
	TEST_ASSERT_EQUAL_STRING("a b ", pop(100, "q", "w", 9));
	TEST_ASSERT_FALSE(is_poppable(101, "q"));
	TEST_ASSERT_EQUAL_DOUBLE(105, next_due("q"));
	reload();
	TEST_ASSERT_EQUAL_STRING("", pop(104, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("c ", pop(105, "q", "w", 9));
}

static void a_hold_of_a_queue_stops_all_of_its_jobs(void)
{
	put(1, "q", "a");
	woken();
	hold(2, "queue:q", 30);
	TEST_ASSERT_FALSE(is_poppable(31, "q"));
	TEST_ASSERT_EQUAL_STRING("", pop(31, "q", "w", 9));
	TEST_ASSERT_EQUAL_DOUBLE(32, next_due("q"));
	TEST_ASSERT_EQUAL_STRING("a ", pop(32, "q", "w", 9));
	hold(40, "queue:later", 30);
	put(41, "later", "b");
	TEST_ASSERT_EQUAL_STRING("", pop(69, "later", "w", 9));
	TEST_ASSERT_EQUAL_STRING("b ", pop(70, "later", "w", 9));
}

static void the_concurrency_of_a_queue_also_counts_jobs_with_limits(void)
{
	set_concurrency(0, "queue:q", 2);
	put_limited(1, "q", "a", "x");
	put(2, "q", "b");
	put_limited(3, "q", "c", "x");
	TEST_ASSERT_EQUAL_STRING("a b ", pop(10, "q", "w", 9));
	TEST_ASSERT_FALSE(is_poppable(11, "q"));
	TEST_ASSERT_TRUE(limit_of(11, "queue:q").is_full);
	TEST_ASSERT_EQUAL_UINT64(2, limit_of(11, "queue:q").running);
	TEST_ASSERT_EQUAL_UINT64(1, limit_of(11, "queue:q").waiting);
}

/* ---- all states ---- */

static void scheduled_and_depending_jobs_enter_their_lanes(void)
{
	struct qless_str names[] = { STR("x") }, on[] = { STR("first") };
	struct qless_put p = a_put("q", "later");

	set_concurrency(0, "x", 1);
	p.has_limits = true;
	p.limits = names;
	p.limit_count = 1;
	p.delay = 10;
	OK(qless_put(q, 1, &p));
	put(1, "q", "first");
	p.jid = STR("depending");
	p.delay = 0;
	p.depends = on;
	p.depend_count = 1;
	OK(qless_put(q, 1, &p));
	put_delayed(1, "q", "plain", 10);
	TEST_ASSERT_EQUAL_STRING("first ", pop(2, "q", "w", 9));
	complete(3, "q", "first", "w");
	reload();
	TEST_ASSERT_EQUAL_STRING("depending plain ", pop(11, "q", "w", 9));
	complete(12, "q", "depending", "w");
	TEST_ASSERT_EQUAL_STRING("later ", pop(13, "q", "w", 9));
}

/* ---- views ---- */

static void put_limited_delayed(double now, const char *queue, const char *jid, const char *limits,
				double delay)
{
	struct qless_str names[LIMIT_NAMES_MAX];
	struct qless_put p = a_limited_put(queue, jid, limits, names);

	p.delay = delay;
	OK(qless_put(q, now, &p));
}

static void a_job_that_is_due_is_found_after_those_that_are_shut(void)
{
	hold(1, "shut", 100);
	put_limited_delayed(1, "q", "a", "shut", 1);
	put_limited_delayed(1, "q", "b", "shut", 2);
	put_limited_delayed(1, "q", "c", "open", 3);
	put_delayed(1, "q", "d", 4);
	TEST_ASSERT_EQUAL_STRING("c ", pop(10, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("d ", pop(10, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("b a ", pop(101, "q", "w", 9));
}

static void counts_and_peeks_have_all_waiting_jobs(void)
{
	struct qless_queue_counts counts;
	struct qless_jobs jobs;
	struct qless_job_info info;

	set_concurrency(0, "x", -1);
	put_limited(1, "q", "a", "x");
	put(2, "q", "b");
	put_limited(3, "q", "c", "x");
	OK(qless_queue_counts(q, 4, STR("q"), &counts));
	TEST_ASSERT_EQUAL_UINT64(3, counts.waiting);
	TEST_ASSERT_EQUAL_UINT64(3, qless_queue_length(q, STR("q")));
	TEST_ASSERT_EQUAL_UINT64(2, limit_of(4, "x").waiting);
	OK(qless_peek(q, 4, STR("q"), 9, &jobs));
	TEST_ASSERT_EQUAL_size_t(3, jobs.count);
	qless_job_read(jobs.items[1], &info);
	ASSERT_STR("b", info.jid);
	TEST_ASSERT_EQUAL_STRING("b ", pop(5, "q", "w", 9));
}

static void why_names_the_limit_that_opens_last(void)
{
	struct qless_why why;

	set_concurrency(0, "c", 1);
	put_limited(1, "q", "j", "c");
	put_limited(2, "q", "k", "r c h");
	put(3, "q", "l");
	TEST_ASSERT_FALSE(qless_why(q, 4, STR("none"), &why));
	TEST_ASSERT_TRUE(qless_why(q, 4, STR("k"), &why));
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, why.state);
	TEST_ASSERT_EQUAL_UINT64(1, why.place);
	TEST_ASSERT_EQUAL_INT(QLESS_HELD_NOT, why.held);
	TEST_ASSERT_NULL(why.limit.ptr);
	pop(10, "q", "w", 1);
	TEST_ASSERT_TRUE(qless_why(q, 11, STR("k"), &why));
	TEST_ASSERT_EQUAL_INT(QLESS_HELD_CONCURRENCY, why.held);
	ASSERT_STR("c", why.limit);
	ASSERT_STR("j", why.holder);
	ASSERT_STR("w", why.holder_worker);
	TEST_ASSERT_EQUAL_DOUBLE(70, why.opens);
	TEST_ASSERT_EQUAL_UINT64(0, why.place);
	hold(12, "h", 100);
	TEST_ASSERT_TRUE(qless_why(q, 13, STR("k"), &why));
	TEST_ASSERT_EQUAL_INT(QLESS_HELD_HOLD, why.held);
	ASSERT_STR("h", why.limit);
	TEST_ASSERT_EQUAL_DOUBLE(112, why.opens);
	TEST_ASSERT_NULL(why.holder.ptr);
	set_concurrency(14, "r", -1);
	TEST_ASSERT_TRUE(qless_why(q, 15, STR("k"), &why));
	TEST_ASSERT_EQUAL_INT(QLESS_HELD_CLOSED, why.held);
	TEST_ASSERT_EQUAL_DOUBLE(INFINITY, why.opens);
	TEST_ASSERT_TRUE(qless_why(q, 15, STR("j"), &why));
	TEST_ASSERT_EQUAL_INT(QLESS_RUNNING, why.state);
	TEST_ASSERT_EQUAL_INT(QLESS_HELD_NOT, why.held);
}

static void why_tells_of_the_queue(void)
{
	struct qless_str queue = STR("q");
	struct qless_why why;

	put(1, "q", "j");
	put(2, "q", "k");
	put_depending(2, "q", "d", "k");
	put_delayed(2, "q", "s", 10);
	set_concurrency(2, "queue:q", 1);
	set_rate(2, "queue:q", 1, 10, 1);
	pop(3, "q", "w", 1);
	OK(qless_pause(q, 4, &queue, 1));
	TEST_ASSERT_TRUE(qless_why(q, 5, STR("k"), &why));
	TEST_ASSERT_TRUE(why.is_paused);
	TEST_ASSERT_TRUE(why.is_full);
	TEST_ASSERT_EQUAL_INT(QLESS_HELD_RATE, why.held);
	ASSERT_STR("queue:q", why.limit);
	TEST_ASSERT_EQUAL_DOUBLE(13, why.opens);
	TEST_ASSERT_TRUE(qless_why(q, 5, STR("d"), &why));
	TEST_ASSERT_EQUAL_UINT64(1, why.dependencies);
	TEST_ASSERT_TRUE(qless_why(q, 5, STR("s"), &why));
	TEST_ASSERT_EQUAL_DOUBLE(12, why.due);
	OK(qless_unpause(q, 6, &queue, 1));
}

/* ---- times that nobody has reported ---- */

static void a_queue_wakes_when_its_hold_is_swept_before_its_end_is_reported(void)
{
	uint64_t swept;

	hold(1, "queue:q", 10);
	put(2, "q", "a");
	woken();
	OK(qless_limit_sweep(q, 12, 9, &swept));
	TEST_ASSERT_EQUAL_UINT64(1, swept);
	TEST_ASSERT_EQUAL_STRING("q ", woken());
	TEST_ASSERT_TRUE(is_poppable(12, "q"));
}

static void a_queue_wakes_when_a_job_is_filed_again_after_its_limit_opened(void)
{
	hold(1, "x", 10);
	put_limited(2, "q", "a", "x");
	TEST_ASSERT_EQUAL_STRING("", pop(2, "q", "w", 1));
	woken();
	OK(qless_priority(q, 12, STR("a"), 3));
	TEST_ASSERT_EQUAL_STRING("q ", woken());
	TEST_ASSERT_TRUE(is_poppable(12, "q"));
}

/* After each case, the state is checked. */
static void the_burst_of_a_queue_leaves_a_consistent_due_time(void)
{
	struct qless_str name;

	set_rate(1, "queue:q", 1, 10, 2);
	put(1, "q", "a");
	put(2, "q", "b");
	TEST_ASSERT_EQUAL_STRING("a ", pop(2, "q", "w", 1));
	while (qless_take_due(q, 3, &name))
		continue;
	TEST_ASSERT_EQUAL_STRING("b ", pop(15, "q", "w", 1));
}

/* ---- cost ---- */

#define MANY 100000

/* A pop looks at one lane for each job that it hands out, whatever is shut. */
static void a_pop_never_looks_at_shut_limits(void)
{
	uint64_t tried, filed;

	set_rate(0, "domain:*", 1, 1000000, 1);
	for (int i = 0; i < MANY; i++) {
		char jid[24], name[24];

		snprintf(name, sizeof name, "domain:%d", i);
		snprintf(jid, sizeof jid, "a%d", i);
		put_limited(1, "q", jid, name);
		snprintf(jid, sizeof jid, "b%d", i);
		put_limited(2, "q", jid, name);
	}
	tried = q->lanes_tried;
	filed = q->lanes_filed;
	for (int i = 0; i < MANY; i++) {
		struct qless_jobs jobs;

		OK(qless_pop(q, 10, STR("q"), STR("w"), 1, &jobs));
		TEST_ASSERT_EQUAL_size_t(1, jobs.count);
	}
	TEST_ASSERT_EQUAL_UINT64(MANY, q->lanes_tried - tried);
	TEST_ASSERT_EQUAL_UINT64(0, q->lanes_filed - filed);
	tried = q->lanes_tried;
	TEST_ASSERT_EQUAL_STRING("", pop(11, "q", "w", 100));
	TEST_ASSERT_FALSE(is_poppable(11, "q"));
	put_limited(12, "q", "open", "other");
	TEST_ASSERT_EQUAL_STRING("open ", pop(13, "q", "w", 1));
	TEST_ASSERT_EQUAL_UINT64(1, q->lanes_tried - tried);
}

/* Many lanes under one limit that they share: the limit shuts for all of them at once. */
static void a_shared_limit_that_shuts_moves_no_lanes(void)
{
	uint64_t tried;

	set_rate(0, "tenant", 1, 1, 1);
	for (int i = 0; i < 10000; i++) {
		char jid[24], names[32];

		snprintf(jid, sizeof jid, "j%d", i);
		snprintf(names, sizeof names, "domain:%d tenant", i);
		put_limited(1, "q", jid, names);
	}
	/* The first lanes were filed before the limit was known to be shared. */
	pop(10, "q", "w", 2);
	tried = q->lanes_tried;
	for (int i = 0; i < 100; i++) {
		TEST_ASSERT_EQUAL_size_t(1, strlen(pop(20 + i, "q", "w", 5)) > 0);
		TEST_ASSERT_FALSE(is_poppable(20.5 + i, "q"));
	}
	/* A pop or a question looks at its bundles and at one lane. */
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(500, q->lanes_tried - tried);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(jobs_with_and_without_limits_are_in_one_order);
	RUN(equal_scores_go_by_jid_whether_limited_or_not);
	RUN(a_job_whose_limit_is_shut_does_not_hold_up_the_others);
	RUN(a_new_priority_moves_a_job_in_its_lane);
	RUN(a_thousand_jobs_of_one_lane_keep_their_order);
	RUN(a_rate_spaces_the_hand_outs);
	RUN(a_burst_is_saved_up);
	RUN(tokens_are_not_returned_when_a_run_ends);
	RUN(an_earlier_time_hands_out_nothing_more);
	RUN(a_step_of_the_clock_keeps_the_wait_for_a_token);
	RUN(a_pattern_gives_each_name_a_bucket_of_its_own);
	RUN(a_job_takes_from_all_of_its_limits_or_none);
	RUN(a_job_runs_when_the_last_of_its_limits_opens);
	RUN(limits_that_shut_in_turn_never_lose_a_job);
	RUN(queues_share_a_limit_and_wake_each_other);
	RUN(a_dead_holder_is_found_from_another_queue);
	RUN(a_snapshot_keeps_the_time_at_which_the_first_holder_expires);
	RUN(a_holder_that_renews_its_lock_keeps_its_slot);
	RUN(a_dead_holder_without_retries_fails);
	RUN(a_job_with_an_expired_lock_needs_its_limits_again);
	RUN(a_pattern_that_comes_later_counts_the_running_jobs);
	RUN(deleting_the_rule_of_a_full_limit_opens_it);
	RUN(a_rule_whose_time_is_over_opens_its_limit);
	RUN(a_lower_concurrency_waits_until_enough_runs_have_ended);
	RUN(a_faster_rate_opens_a_limit_earlier);
	RUN(a_hold_keeps_jobs_from_running);
	RUN(the_rate_of_a_queue_bounds_all_of_its_jobs);
	RUN(a_hold_of_a_queue_stops_all_of_its_jobs);
	RUN(the_concurrency_of_a_queue_also_counts_jobs_with_limits);
	RUN(scheduled_and_depending_jobs_enter_their_lanes);
	RUN(a_job_that_is_due_is_found_after_those_that_are_shut);
	RUN(counts_and_peeks_have_all_waiting_jobs);
	RUN(why_names_the_limit_that_opens_last);
	RUN(why_tells_of_the_queue);
	RUN(a_queue_wakes_when_its_hold_is_swept_before_its_end_is_reported);
	RUN(a_queue_wakes_when_a_job_is_filed_again_after_its_limit_opened);
	RUN(the_burst_of_a_queue_leaves_a_consistent_due_time);
	RUN(a_pop_never_looks_at_shut_limits);
	RUN(a_shared_limit_that_shuts_moves_no_lanes);
	return UNIT_RESULT();
}
