/*
 * How many lanes a search for a job with limits looks at. Lanes that share limits are passed over
 * together. A search that would have to look at very many lanes stops, and the next ones go on.
 */
#include "engine/engine_int.h"
#include "engine/lane.h"

#include "limiting.h"

#define TENANTS	 10000
#define INTERVAL 10.0 /* seconds between two jobs of a tenant */

#define OPENING 12.0 /* when all tenants open */

void setUp(void)
{
	engine_set_up();
	is_heard = false;
	set_option("heartbeat", "100000");
}

void tearDown(void)
{
	engine_tear_down();
}

static void put_of(double now, const char *kind, int tenant, const char *other)
{
	char jid[40], names[80];

	snprintf(jid, sizeof jid, "%s-%d", kind, tenant);
	snprintf(names, sizeof names, "t:%d", tenant);
	if (other != NULL)
		snprintf(names, sizeof names, "t:%d %s:%d", tenant, other, tenant);
	put_limited(now, "q", jid, names);
}

/* All tenants open at the same time. Their first jobs are shut by another limit until later. */
static void put_jobs_that_are_shut_twice(void)
{
	struct qless_jobs jobs;
	char name[40];

	set_rate(1, "t:*", 1, INTERVAL, 1);
	for (int i = 0; i < TENANTS; i++)
		put_of(1, "first", i, NULL);
	OK(qless_pop(q, OPENING - INTERVAL, STR("q"), STR("w"), TENANTS, &jobs));
	TEST_ASSERT_EQUAL_size_t(TENANTS, jobs.count);
	for (int i = 0; i < TENANTS; i++) {
		put_of(3, "shut", i, "x");
		put_of(4, "open", i, NULL);
	}
	for (int i = 0; i < TENANTS; i++) {
		snprintf(name, sizeof name, "x:%d", i);
		hold(5, name, 1000);
	}
}

static bool take_woken(void)
{
	struct qless_str name;
	bool has_woken = false;

	while (qless_take_woken(q, &name))
		has_woken = true;
	return has_woken;
}

/* Pops until a pop does not stop. Returns the number of pops. */
static int pop_until_done(double now, int64_t count, struct qless_jobs *ret_jobs)
{
	uint64_t steps;
	bool is_stopped = true;
	int pops = 0;

	while (is_stopped) {
		uint64_t tried = q->lanes_tried;

		take_woken();
		OK(qless_pop_some(q, now, STR("q"), STR("w"), count, ret_jobs, &is_stopped,
				  &steps));
		TEST_ASSERT_LESS_OR_EQUAL_UINT64(LANE_LOOKS_MAX + 1, q->lanes_tried - tried);
		if (is_stopped) {
			TEST_ASSERT_EQUAL_size_t(0, ret_jobs->count);
			TEST_ASSERT_TRUE(take_woken());
		}
		TEST_ASSERT_LESS_THAN_INT(TENANTS, pops++);
	}
	return pops;
}

static const char *jid_of(const struct qless_job *job)
{
	static char jid[40];
	struct qless_job_info info;

	qless_job_read(job, &info);
	snprintf(jid, sizeof jid, "%.*s", (int)info.jid.len, info.jid.ptr);
	return jid;
}

static void check_pops(void)
{
	struct qless_jobs jobs;

	put_jobs_that_are_shut_twice();
	TEST_ASSERT_GREATER_THAN_INT(2, pop_until_done(OPENING, 1, &jobs));
	TEST_ASSERT_EQUAL_size_t(1, jobs.count);
	TEST_ASSERT_EQUAL_STRING_LEN("open-", jid_of(jobs.items[0]), 5);
	TEST_ASSERT_EQUAL_INT(1, pop_until_done(OPENING, 1, &jobs));
	TEST_ASSERT_EQUAL_size_t(1, jobs.count);
}

static void a_pop_stops_before_it_has_looked_at_too_many_lanes(void)
{
	check_pops();
}

static void a_pop_of_a_fair_queue_stops_before_it_has_looked_at_too_many_names(void)
{
	set_option("q-order", "fair");
	check_pops();
}

#define SHARING 20 /* queues that a call pops from */

/* In each queue, a pop has to look at a thousand jobs that are shut. */
static void put_jobs_in_many_queues(void)
{
	char queue[20], jid[40], names[80];

	set_rate(1, "t:*", 1, INTERVAL, 1);
	for (int i = 0; i < 1000; i++) {
		struct qless_jobs jobs;

		snprintf(jid, sizeof jid, "first-%d", i);
		snprintf(names, sizeof names, "t:%d", i);
		put_limited(1, "q", jid, names);
		OK(qless_pop(q, OPENING - INTERVAL, STR("q"), STR("w"), 1, &jobs));
		snprintf(names, sizeof names, "t:%d x:%d", i, i);
		for (int k = 0; k < SHARING; k++) {
			snprintf(queue, sizeof queue, "q%d", k);
			snprintf(jid, sizeof jid, "shut-%d-%d", k, i);
			put_limited(3, queue, jid, names);
		}
	}
	for (int i = 0; i < 1000; i++) {
		snprintf(names, sizeof names, "x:%d", i);
		hold(5, names, 1000);
	}
}

static uint64_t count_looks_of_pops(void)
{
	uint64_t tried = q->lanes_tried, steps;
	struct qless_jobs jobs;
	bool is_stopped;
	char queue[20];

	for (int k = 0; k < SHARING; k++) {
		snprintf(queue, sizeof queue, "q%d", k);
		if (qless_is_poppable(q, OPENING, str_from(queue)))
			OK(qless_pop_some(q, OPENING, str_from(queue), STR("w"), 1, &jobs,
					  &is_stopped, &steps));
	}
	return q->lanes_tried - tried;
}

static void pops_that_share_their_looks_look_at_few_jobs_each(void)
{
	uint64_t left;

	put_jobs_in_many_queues();
	take_woken();
	qless_share_looks(q, LANE_LOOKS_MAX);
	/* One look each is left to the question and to the pop, and one more finds out. */
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(LANE_LOOKS_MAX + 4 * SHARING, count_looks_of_pops());
	left = qless_share_looks(q, UINT64_MAX);
	TEST_ASSERT_EQUAL_UINT64(0, left);
	TEST_ASSERT_TRUE(take_woken());
	TEST_ASSERT_GREATER_THAN_UINT64((SHARING - 5) * 900, count_looks_of_pops());
	TEST_ASSERT_EQUAL_UINT64(0, count_looks_of_pops());
}

static void a_question_that_stops_says_that_a_pop_may_find_something(void)
{
	uint64_t tried;
	int questions = 0;

	put_jobs_that_are_shut_twice();
	do {
		take_woken();
		tried = q->lanes_tried;
		TEST_ASSERT_TRUE(qless_is_poppable(q, OPENING, STR("q")));
		TEST_ASSERT_LESS_OR_EQUAL_UINT64(LANE_LOOKS_MAX + 1, q->lanes_tried - tried);
		TEST_ASSERT_LESS_THAN_INT(TENANTS, questions++);
	} while (take_woken());
	TEST_ASSERT_GREATER_THAN_INT(2, questions);
}

/* An engine that is loaded from a snapshot of this one. */
static struct qless *copy_engine(void)
{
	struct qless *copy = qless_new(NULL);
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct qless_str left;

	TEST_ASSERT_TRUE(state_save(q, append_state, &bytes));
	left = buf_str(&bytes);
	TEST_ASSERT_EQUAL_INT(0, state_load(copy, take_state, &left));
	buf_done(&bytes);
	return copy;
}

static void expect_same_dump(const struct qless *a, const struct qless *b)
{
	struct buf x = BUF_INIT(BUF_NO_MAX), y = BUF_INIT(BUF_NO_MAX);

	qless_dump(a, append_dump, &x);
	qless_dump(b, append_dump, &y);
	TEST_ASSERT_EQUAL_STRING(buf_cstr(&x), buf_cstr(&y));
	buf_done(&x);
	buf_done(&y);
}

/* The other engine files its lanes elsewhere, so that it would find more jobs. */
static void a_pop_that_stopped_is_repeated_by_its_steps(void)
{
	struct qless_jobs jobs;
	struct qless *other;
	uint64_t steps;
	bool is_stopped;

	put_jobs_that_are_shut_twice();
	put_limited_priority(6, "q", "urgent", "y", 1);
	other = copy_engine();
	OK(qless_pop_some(q, OPENING, STR("q"), STR("w"), 5, &jobs, &is_stopped, &steps));
	TEST_ASSERT_TRUE(is_stopped);
	TEST_ASSERT_EQUAL_UINT64(1, steps);
	TEST_ASSERT_EQUAL_size_t(1, jobs.count);
	TEST_ASSERT_EQUAL_STRING("urgent", jid_of(jobs.items[0]));
	OK(qless_pop_steps(other, OPENING, STR("q"), STR("w"), 5, steps, &jobs));
	TEST_ASSERT_EQUAL_size_t(1, jobs.count);
	TEST_ASSERT_EQUAL_STRING("urgent", jid_of(jobs.items[0]));
	expect_same_dump(q, other);
	OK(qless_pop_steps(other, OPENING, STR("q"), STR("w"), 5, 0, &jobs));
	TEST_ASSERT_EQUAL_size_t(0, jobs.count);
	OK(qless_pop(other, OPENING, STR("q"), STR("w"), 5, &jobs));
	TEST_ASSERT_EQUAL_size_t(5, jobs.count);
	qless_free(other);
}

/* ---- limits that many lanes share ---- */

static int pop_one(double now)
{
	struct qless_jobs jobs;

	OK(qless_pop(q, now, STR("q"), STR("w"), 1, &jobs));
	return (int)jobs.count;
}

static void put_sharing(const char *shared)
{
	for (int i = 0; i < TENANTS; i++) {
		char jid[40], names[80];

		snprintf(jid, sizeof jid, "j%d", i);
		snprintf(names, sizeof names, "own:%d %s", i, shared);
		put_limited(1, "q", jid, names);
	}
}

/* Each time, one of the limits shuts before the one that was shut opens. */
static void check_limits_that_shut_in_turn(void)
{
	static const char *const names[] = { "a", "b", "c" };
	uint64_t tried = q->lanes_tried;
	double now = 10;

	put_sharing("a b c");
	for (int i = 0; i < 30; i++, now += 10) {
		hold(now, names[i % 3], 11);
		TEST_ASSERT_EQUAL_INT(0, pop_one(now));
		TEST_ASSERT_EQUAL_INT(0, pop_one(now + 2));
	}
	TEST_ASSERT_EQUAL_INT(1, pop_one(now + 1));
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(500, q->lanes_tried - tried);
}

static void limits_that_shut_in_turn_move_no_lanes(void)
{
	check_limits_that_shut_in_turn();
}

static void limits_that_shut_in_turn_move_no_names_of_a_fair_queue(void)
{
	set_option("q-order", "fair");
	check_limits_that_shut_in_turn();
}

/* Each tenant waits for the same slot. */
static void a_slot_that_all_names_of_a_fair_queue_share_costs_a_pop_little(void)
{
	struct qless_jobs jobs;
	char jid[40];
	uint64_t tried;

	set_option("q-order", "fair");
	set_concurrency(1, "slot", 1);
	put_sharing("slot");
	tried = q->lanes_tried;
	for (int i = 0; i < 100; i++) {
		double now = 10 + i;

		OK(qless_pop(q, now, STR("q"), STR("w"), 1, &jobs));
		TEST_ASSERT_EQUAL_size_t(1, jobs.count);
		snprintf(jid, sizeof jid, "%s", jid_of(jobs.items[0]));
		TEST_ASSERT_EQUAL_INT(0, pop_one(now));
		complete(now, "q", jid, "w");
	}
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(1000, q->lanes_tried - tried);
}

/* ---- another order ---- */

/* A change of the order files no lane. The next searches do, as many as they may look at. */
static void another_order_is_taken_up_by_the_next_searches(void)
{
	struct qless_jobs jobs;

	put_sharing("a");
	for (int i = 0; i < 2; i++) {
		uint64_t filed = q->lanes_filed;

		set_option("q-order", i == 0 ? "fair" : "priority");
		TEST_ASSERT_EQUAL_UINT64(filed, q->lanes_filed);
		TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
		TEST_ASSERT_TRUE(qless_has_woken(q));
		TEST_ASSERT_GREATER_THAN_INT(2, pop_until_done(10, 1, &jobs));
		TEST_ASSERT_EQUAL_size_t(1, jobs.count);
		TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
		TEST_ASSERT_EQUAL_INT(1, pop_until_done(11, 1, &jobs));
	}
}

/* Jobs come and go while lanes are still to be filed, and the order changes again. */
static void jobs_come_and_go_before_another_order_is_taken_up(void)
{
	struct qless_jobs jobs;
	uint64_t steps;
	bool is_stopped;

	put_sharing("a");
	for (int i = 0; i < 6; i++) {
		struct qless_str name;
		char jid[40];

		set_option("q-order", i % 2 == 0 ? "fair" : "priority");
		OK(qless_pop_some(q, 10, STR("q"), STR("w"), 1, &jobs, &is_stopped, &steps));
		TEST_ASSERT_TRUE(is_stopped);
		for (int k = i; k < TENANTS; k += 7) {
			snprintf(jid, sizeof jid, "j%d", k);
			name = str_from(jid);
			OK(qless_cancel(q, 2, &name, 1));
			put_limited(2, "q", jid, k % 2 == 0 ? "own:1 a" : "b a");
		}
		TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
		if (i == 3)
			reload();
	}
	OK(qless_pop(q, 10, STR("q"), STR("w"), TENANTS, &jobs));
	TEST_ASSERT_EQUAL_size_t(TENANTS, jobs.count);
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
}

/* ---- bundles that open while a search stops ---- */

#define OF_A_BUNDLE 100

static void put_of_bundle(const char *shared)
{
	char jid[40], names[80];

	for (int i = 0; i < OF_A_BUNDLE; i++) {
		snprintf(jid, sizeof jid, "%s-%d", shared, i);
		snprintf(names, sizeof names, "own:%d %s", i, shared);
		put_limited(1, "q", jid, names);
	}
}

/* The names of two bundles open before the limits that they share. Some of the searches stop when
 * they have seen that a bundle is open, but none of its names. */
static void a_search_that_stops_in_a_bundle_knows_when_it_opened(void)
{
	struct qless_jobs jobs;
	uint64_t steps;
	bool is_stopped = true;
	char name[40];

	set_option("q-order", "fair");
	put_of_bundle("a");
	put_of_bundle("b");
	for (int i = 0; i < OF_A_BUNDLE; i++) {
		snprintf(name, sizeof name, "own:%d", i);
		hold(2, name, 9);
	}
	TEST_ASSERT_EQUAL_INT(0, pop_one(3));
	hold(4, "a", 8);
	hold(4, "b", 8);
	TEST_ASSERT_EQUAL_INT(0, pop_one(11.5));
	for (q->looks_max = 1; is_stopped; q->looks_max++) {
		OK(qless_pop_some(q, 12, STR("q"), STR("w"), 1, &jobs, &is_stopped, &steps));
		TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
	}
	TEST_ASSERT_GREATER_THAN_UINT64(2, q->looks_max);
	TEST_ASSERT_EQUAL_size_t(1, jobs.count);
}

/* ---- rules of patterns ---- */

static void put_for_tenants(double now, const char *kind)
{
	for (int i = 0; i < TENANTS; i++)
		put_of(now + i / (10.0 * TENANTS), kind, i, NULL);
}

/* A rule that opens the limits of all tenants gives no group of lanes a new key. The next searches
 * do, as many as they may look at, and find the best job. */
static void check_pattern_that_opens(void)
{
	struct qless_jobs jobs;

	set_concurrency(1, "t:*", -1);
	put_for_tenants(2, "job");
	TEST_ASSERT_EQUAL_INT(0, pop_one(3));
	for (int i = 0; i < 2; i++) {
		take_woken();
		if (i == 0)
			set_concurrency(4, "t:*", 1);
		else
			TEST_ASSERT_TRUE(delete_rule(6, "t:*"));
		TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
		TEST_ASSERT_TRUE(qless_has_woken(q));
		TEST_ASSERT_GREATER_THAN_INT(2, pop_until_done(7, 1, &jobs));
		TEST_ASSERT_EQUAL_size_t(1, jobs.count);
		TEST_ASSERT_EQUAL_STRING(i == 0 ? "job-0" : "job-1", jid_of(jobs.items[0]));
		TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
		if (i == 0)
			set_concurrency(5, "t:*", -1);
		TEST_ASSERT_EQUAL_INT(i, pop_one(8));
		TEST_ASSERT_EQUAL_INT(i, pop_one(9));
	}
	OK(qless_pop(q, 10, STR("q"), STR("w"), TENANTS, &jobs));
	TEST_ASSERT_EQUAL_size_t(TENANTS - 4, jobs.count);
}

static void a_pattern_that_opens_many_limits_is_taken_up_by_the_next_searches(void)
{
	check_pattern_that_opens();
}

static void a_pattern_that_opens_many_names_of_a_fair_queue_is_taken_up_by_the_next_searches(void)
{
	set_option("q-order", "fair");
	check_pattern_that_opens();
}

/* Another rule lets the tenants open earlier, but not at once. */
static void after_the_searches_it_is_known_when_a_pattern_opens_its_limits(void)
{
	struct qless_jobs jobs;
	struct qless_str name;

	set_rate(1, "t:*", 1, 1000, 1);
	put_for_tenants(1, "first");
	OK(qless_pop(q, 2, STR("q"), STR("w"), TENANTS, &jobs));
	TEST_ASSERT_EQUAL_size_t(TENANTS, jobs.count);
	put_for_tenants(3, "second");
	TEST_ASSERT_EQUAL_INT(0, pop_one(4));
	take_woken();
	set_rate(5, "t:*", 1, 20, 1);
	TEST_ASSERT_TRUE(qless_has_woken(q));
	TEST_ASSERT_GREATER_THAN_INT(2, pop_until_done(6, 1, &jobs));
	TEST_ASSERT_EQUAL_size_t(0, jobs.count);
	TEST_ASSERT_FALSE(take_woken());
	TEST_ASSERT_EQUAL_DOUBLE(25, qless_next_due(q));
	TEST_ASSERT_TRUE(qless_take_due(q, 25, &name));
	OK(qless_pop(q, 25, STR("q"), STR("w"), TENANTS, &jobs));
	TEST_ASSERT_EQUAL_size_t(TENANTS, jobs.count);
}

/* A question goes on where another one stopped. */
static void questions_take_up_a_pattern_that_opens_many_limits(void)
{
	int questions = 0;

	set_concurrency(1, "t:*", -1);
	put_for_tenants(2, "job");
	TEST_ASSERT_FALSE(qless_is_poppable(q, 3, STR("q")));
	take_woken();
	set_concurrency(4, "t:*", 1);
	while (take_woken()) {
		TEST_ASSERT_TRUE(qless_is_poppable(q, 5, STR("q")));
		TEST_ASSERT_LESS_THAN_INT(TENANTS, questions++);
	}
	TEST_ASSERT_GREATER_THAN_INT(2, questions);
	TEST_ASSERT_EQUAL_INT(1, pop_one(6));
}

/* Jobs, rules and orders come and go before the searches have taken up the first rule. */
static void jobs_come_and_go_before_a_pattern_is_taken_up(void)
{
	struct qless_jobs jobs;
	struct qless_str name;
	uint64_t steps;
	bool is_stopped;
	char jid[40];

	set_concurrency(1, "t:*", -1);
	put_for_tenants(2, "job");
	TEST_ASSERT_EQUAL_INT(0, pop_one(3));
	for (int i = 0; i < 6; i++) {
		set_concurrency(4, "t:*", i % 3 == 2 ? -1 : 1 + i);
		q->looks_max = 100;
		OK(qless_pop_some(q, 5, STR("q"), STR("w"), 1, &jobs, &is_stopped, &steps));
		TEST_ASSERT_TRUE(is_stopped);
		TEST_ASSERT_EQUAL_size_t(0, jobs.count);
		for (int k = i; k < TENANTS; k += 7) {
			snprintf(jid, sizeof jid, "job-%d", k);
			name = str_from(jid);
			OK(qless_cancel(q, 6, &name, 1));
			if (k % 2 == 0)
				put_of(6, "job", k, NULL);
			else
				put_limited(6, "q", jid, "t:1 a");
		}
		if (i == 1)
			set_option("q-order", "fair");
		TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
		if (i == 2)
			reload();
	}
	TEST_ASSERT_TRUE(delete_rule(7, "t:*"));
	OK(qless_pop(q, 8, STR("q"), STR("w"), TENANTS, &jobs));
	TEST_ASSERT_EQUAL_size_t(TENANTS, jobs.count);
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_pop_stops_before_it_has_looked_at_too_many_lanes);
	RUN(a_pop_of_a_fair_queue_stops_before_it_has_looked_at_too_many_names);
	RUN(a_question_that_stops_says_that_a_pop_may_find_something);
	RUN(pops_that_share_their_looks_look_at_few_jobs_each);
	RUN(a_pop_that_stopped_is_repeated_by_its_steps);
	RUN(limits_that_shut_in_turn_move_no_lanes);
	RUN(limits_that_shut_in_turn_move_no_names_of_a_fair_queue);
	RUN(a_slot_that_all_names_of_a_fair_queue_share_costs_a_pop_little);
	RUN(another_order_is_taken_up_by_the_next_searches);
	RUN(jobs_come_and_go_before_another_order_is_taken_up);
	RUN(a_search_that_stops_in_a_bundle_knows_when_it_opened);
	RUN(a_pattern_that_opens_many_limits_is_taken_up_by_the_next_searches);
	RUN(a_pattern_that_opens_many_names_of_a_fair_queue_is_taken_up_by_the_next_searches);
	RUN(after_the_searches_it_is_known_when_a_pattern_opens_its_limits);
	RUN(questions_take_up_a_pattern_that_opens_many_limits);
	RUN(jobs_come_and_go_before_a_pattern_is_taken_up);
	return UNIT_RESULT();
}
