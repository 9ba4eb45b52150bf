#include "limiting.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

/* ---- limits of jobs ---- */

static void a_job_names_limits_in_the_order_in_which_they_are_given(void)
{
	put_limited(1, "q", "j", "tenant:b domain:a tenant:b");
	TEST_ASSERT_EQUAL_STRING("tenant:b domain:a ", limits_of("j"));
	TEST_ASSERT_TRUE(info_of("j").has_limits);
	put(1, "q", "other");
	TEST_ASSERT_EQUAL_STRING("", limits_of("other"));
	TEST_ASSERT_FALSE(info_of("other").has_limits);
}

static void a_job_keeps_its_limits_until_it_gets_others(void)
{
	put_limited(1, "q", "j", "a b");
	put(2, "r", "j");
	TEST_ASSERT_EQUAL_STRING("a b ", limits_of("j"));
	put_limited(3, "q", "j", "c");
	TEST_ASSERT_EQUAL_STRING("c ", limits_of("j"));
	TEST_ASSERT_FALSE(has_limit("a"));
	put_limited(4, "q", "j", "");
	TEST_ASSERT_EQUAL_STRING("", limits_of("j"));
	TEST_ASSERT_FALSE(info_of("j").has_limits);
	TEST_ASSERT_EQUAL_size_t(0, qless_limit_count(q));
}

static void limits_come_and_go_without_touching_other_members_of_a_job(void)
{
	struct qless_put p = a_put("q", "j");
	struct qless_str tags[] = { STR("t") };

	put(1, "q", "first");
	p.has_tags = true;
	p.tags = tags;
	p.tag_count = 1;
	p.depends = &STR("first");
	p.depend_count = 1;
	OK(qless_put(q, 1, &p));
	put_limited(2, "q", "j", "a");
	TEST_ASSERT_EQUAL_INT(QLESS_DEPENDS, info_of("j").state);
	TEST_ASSERT_TRUE(info_of("j").has_lists);
	put_limited(3, "q", "j", "");
	TEST_ASSERT_EQUAL_INT(QLESS_DEPENDS, info_of("j").state);
	TEST_ASSERT_TRUE(info_of("j").has_lists);
}

static void a_limit_of_a_job_has_a_name_of_its_own(void)
{
	struct qless_str names[] = { STR("fine"), STR("domain:*") };
	struct qless_put p = a_put("q", "j");

	p.has_limits = true;
	p.limits = names;
	p.limit_count = 2;
	ASSERT_ERROR(QLESS_EBADARG, "put: a limit of a job must not be a pattern, \"domain:*\"",
		     qless_put(q, 1, &p));
	names[1] = STR("queue:q");
	ASSERT_ERROR(QLESS_EBADARG,
		     "put: a limit of a job must not be a limit of a queue, \"queue:q\"",
		     qless_put(q, 1, &p));
	names[1] = STR("");
	ASSERT_ERROR(QLESS_EBADARG, "put: a limit of a job must not be empty", qless_put(q, 1, &p));
	TEST_ASSERT_FALSE(exists("j"));
	TEST_ASSERT_EQUAL_size_t(0, qless_limit_count(q));
}

static void a_job_has_at_most_max_limits_per_job(void)
{
	struct qless_str names[] = { STR("a"), STR("b"), STR("a"), STR("c") };
	struct qless_limits limits = { .max_limits = 2 };
	struct qless_put p = a_put("q", "j");

	qless_set_limits(q, &limits);
	p.has_limits = true;
	p.limits = names;
	p.limit_count = 3;
	OK(qless_put(q, 1, &p));
	p.limit_count = 4;
	ASSERT_ERROR(QLESS_ELIMIT,
		     "put: the job would have more limits than max-limits-per-job (2)",
		     qless_put(q, 1, &p));
	TEST_ASSERT_EQUAL_STRING("a b ", limits_of("j"));
}

static void jobs_of_a_recurring_job_name_its_limits(void)
{
	struct qless_str names[] = { STR("a"), STR("b") };
	struct qless_recur_put recur = {
		.queue = STR("q"),
		.jid = STR("r"),
		.klass = STR("K"),
		.data = STR("{}"),
		.interval = 10,
		.limits = names,
		.limit_count = 2,
	};
	struct qless_str name;
	size_t cursor = 0;

	OK(qless_recur(q, 0, &recur));
	TEST_ASSERT_TRUE(qless_recur_next_limit(qless_recur_get(q, STR("r")), &cursor, &name));
	ASSERT_STR("a", name);
	reload();
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(5, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("a b ", limits_of("r-1"));
	recur.limit_count = 0;
	OK(qless_recur(q, 20, &recur));
	TEST_ASSERT_EQUAL_STRING("r-2 ", pop(20, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("", limits_of("r-2"));
}

static void an_update_changes_the_limits_of_later_jobs(void)
{
	struct qless_str names[] = { STR("a"), STR("b"), STR("a") };
	const struct qless_str pattern = STR("c*");
	struct qless_recur_change change = { QLESS_RECUR_LIMITS, .limits = names,
					     .limit_count = 3 };
	struct qless_recur_put recur = {
		.queue = STR("q"),
		.jid = STR("r"),
		.klass = STR("k"),
		.data = STR("{}"),
		.interval = 10,
	};

	OK(qless_recur(q, 0, &recur));
	OK(qless_recur_update(q, 1, STR("r"), &change, 1));
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(2, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("a b ", limits_of("r-1"));
	change.limits = &pattern;
	change.limit_count = 1;
	ASSERT_ERROR(QLESS_EBADARG, "recur_update: a limit of a job must not be a pattern, \"c*\"",
		     qless_recur_update(q, 3, STR("r"), &change, 1));
	change.limit_count = 0;
	OK(qless_recur_update(q, 3, STR("r"), &change, 1));
	TEST_ASSERT_EQUAL_STRING("r-2 ", pop(12, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("", limits_of("r-2"));
}

static void a_job_that_moves_on_keeps_its_limits_or_gets_others(void)
{
	struct qless_str next = STR("r"), names[] = { STR("b") };
	struct qless_complete call = {
		.jid = STR("j"),
		.worker = STR("w"),
		.queue = STR("q"),
		.data = STR("{}"),
		.next = &next,
	};
	enum qless_state state;

	put_limited(1, "q", "j", "a");
	pop(1, "q", "w", 1);
	OK(qless_complete(q, 2, &call, &state));
	TEST_ASSERT_EQUAL_STRING("a ", limits_of("j"));
	pop(2, "r", "w", 1);
	call.queue = STR("r");
	call.has_limits = true;
	call.limits = names;
	call.limit_count = 1;
	OK(qless_complete(q, 3, &call, &state));
	TEST_ASSERT_EQUAL_STRING("b ", limits_of("j"));
	TEST_ASSERT_FALSE(has_limit("a"));
}

/* ---- rules ---- */

static void a_rule_keeps_the_values_that_are_not_given(void)
{
	struct qless_limit_change change = { .name = STR("a"), .has_weight = true, .weight = 3 };
	struct qless_limit_info info;

	set_rate(1, "a", 5, 60, 2);
	set_concurrency(1, "a", 7);
	OK(qless_limit_set(q, 1, &change));
	info = limit_of(1, "a");
	ASSERT_STR("a", info.rule);
	TEST_ASSERT_EQUAL_INT64(7, info.concurrency);
	TEST_ASSERT_EQUAL_DOUBLE(5, info.rate);
	TEST_ASSERT_EQUAL_DOUBLE(60, info.per);
	TEST_ASSERT_EQUAL_DOUBLE(2, info.burst);
	TEST_ASSERT_EQUAL_DOUBLE(3, info.weight);
	set_rate(2, "a", 0, 0, 1);
	TEST_ASSERT_EQUAL_DOUBLE(0, limit_of(2, "a").rate);
	TEST_ASSERT_EQUAL_INT64(7, limit_of(2, "a").concurrency);
	reload();
	TEST_ASSERT_EQUAL_INT64(7, limit_of(2, "a").concurrency);
	TEST_ASSERT_TRUE(delete_rule(3, "a"));
	TEST_ASSERT_FALSE(delete_rule(3, "a"));
	TEST_ASSERT_FALSE(has_limit("a"));
}

static void the_same_rule_again_changes_nothing(void)
{
	uint64_t changes;

	set_rate(1, "a", 5, 60, 2);
	changes = qless_changes(q);
	set_rate(2, "a", 5, 60, 2);
	TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(q));
}

static void an_exact_name_wins_and_a_longer_pattern_beats_a_shorter_one(void)
{
	set_concurrency(1, "*", 1);
	set_concurrency(1, "domain:*", 2);
	set_concurrency(1, "domain:a*", 3);
	set_concurrency(1, "domain:abc", 4);
	TEST_ASSERT_EQUAL_INT64(1, limit_of(1, "x").concurrency);
	TEST_ASSERT_EQUAL_INT64(2, limit_of(1, "domain:").concurrency);
	TEST_ASSERT_EQUAL_INT64(2, limit_of(1, "domain:b").concurrency);
	TEST_ASSERT_EQUAL_INT64(3, limit_of(1, "domain:ab").concurrency);
	TEST_ASSERT_EQUAL_INT64(4, limit_of(1, "domain:abc").concurrency);
	ASSERT_STR("domain:a*", limit_of(1, "domain:ab").rule);
	delete_rule(2, "domain:a*");
	TEST_ASSERT_EQUAL_INT64(2, limit_of(1, "domain:ab").concurrency);
	delete_rule(2, "domain:*");
	delete_rule(2, "*");
	TEST_ASSERT_FALSE(has_limit("domain:ab"));
	TEST_ASSERT_EQUAL_INT64(4, limit_of(1, "domain:abc").concurrency);
}

static void a_name_that_nothing_mentions_is_closed_if_its_pattern_is(void)
{
	set_concurrency(1, "a*", -1);
	TEST_ASSERT_TRUE(limit_of(1, "ab").is_full);
	TEST_ASSERT_EQUAL_DOUBLE(INFINITY, limit_of(1, "ab").opens);
	set_concurrency(1, "a*", 1);
	TEST_ASSERT_FALSE(limit_of(1, "ab").is_full);
	TEST_ASSERT_EQUAL_DOUBLE(-INFINITY, limit_of(1, "ab").opens);
}

static void a_new_pattern_takes_over_limits_of_shorter_ones_only(void)
{
	put_limited(1, "q", "j", "abcd");
	put_limited(1, "q", "k", "abxx");
	set_concurrency(1, "abc*", 3);
	set_concurrency(1, "a*", 1);
	TEST_ASSERT_EQUAL_INT64(3, limit_of(1, "abcd").concurrency);
	TEST_ASSERT_EQUAL_INT64(1, limit_of(1, "abxx").concurrency);
	set_concurrency(1, "ab*", 2);
	TEST_ASSERT_EQUAL_INT64(3, limit_of(1, "abcd").concurrency);
	TEST_ASSERT_EQUAL_INT64(2, limit_of(1, "abxx").concurrency);
	set_concurrency(1, "ab*", 5);
	TEST_ASSERT_EQUAL_INT64(5, limit_of(1, "abxx").concurrency);
	reload();
	delete_rule(1, "abc*");
	TEST_ASSERT_EQUAL_INT64(5, limit_of(1, "abcd").concurrency);
	delete_rule(1, "ab*");
	TEST_ASSERT_EQUAL_INT64(1, limit_of(1, "abcd").concurrency);
	TEST_ASSERT_EQUAL_INT64(1, limit_of(1, "abxx").concurrency);
}

static void limits_that_exist_follow_patterns_that_come_and_go(void)
{
	put_limited(1, "q", "j", "domain:a");
	TEST_ASSERT_EQUAL_INT64(0, limit_of(1, "domain:a").concurrency);
	set_concurrency(2, "domain:*", 2);
	TEST_ASSERT_EQUAL_INT64(2, limit_of(2, "domain:a").concurrency);
	set_concurrency(2, "domain:*", 3);
	TEST_ASSERT_EQUAL_INT64(3, limit_of(2, "domain:a").concurrency);
	reload();
	TEST_ASSERT_EQUAL_INT64(3, limit_of(2, "domain:a").concurrency);
	set_concurrency(3, "domain:a", 1);
	delete_rule(4, "domain:*");
	TEST_ASSERT_EQUAL_INT64(1, limit_of(4, "domain:a").concurrency);
	delete_rule(4, "domain:a");
	TEST_ASSERT_EQUAL_INT64(0, limit_of(4, "domain:a").concurrency);
	TEST_ASSERT_NULL(limit_of(4, "domain:a").rule.ptr);
}

static void invalid_rules_are_refused_and_change_nothing(void)
{
	struct qless_limit_change change = { .name = STR("a"), .has_rate = true, .rate = 1 };

	ASSERT_ERROR(QLESS_EBADARG, "limit_set: per must be from 0.001 to 1e+15: 0",
		     qless_limit_set(q, 1, &change));
	change.per = 1;
	change.rate = -1;
	ASSERT_ERROR(QLESS_EBADARG, "limit_set: rate must be 0, or from 0.000001 to 1e+15: -1",
		     qless_limit_set(q, 1, &change));
	change.rate = 1;
	change.has_burst = true;
	change.burst = 1.5;
	ASSERT_ERROR(QLESS_EBADARG, "limit_set: burst must be a whole number from 1 to 1e+15: 1.5",
		     qless_limit_set(q, 1, &change));
	change.burst = 1;
	change.has_weight = true;
	ASSERT_ERROR(QLESS_EBADARG, "limit_set: weight must be from 0.001 to 1e+15: 0",
		     qless_limit_set(q, 1, &change));
	change.weight = NAN;
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_limit_set(q, 1, &change));
	change.weight = 1;
	change.has_ttl = true;
	change.ttl = -1;
	ASSERT_ERROR(QLESS_EBADARG, "limit_set: ttl must be from 0 to 1e+15: -1",
		     qless_limit_set(q, 1, &change));
	change.ttl = 0;
	change.name = STR("");
	ASSERT_ERROR(QLESS_EBADARG, "limit_set: the name of a limit must not be empty",
		     qless_limit_set(q, 1, &change));
	change.name = STR("queue:*");
	ASSERT_ERROR(QLESS_EBADARG,
		     "limit_set: the name of a limit must not be a pattern of queues, \"queue:*\"",
		     qless_limit_set(q, 1, &change));
	TEST_ASSERT_EQUAL_size_t(0, qless_limit_count(q));
	TEST_ASSERT_EQUAL_UINT64(0, qless_changes(q));
}

static void a_rule_goes_when_its_time_is_over(void)
{
	struct qless_limit_change change = {
		.name = STR("a*"),
		.has_concurrency = true,
		.concurrency = 3,
		.has_ttl = true,
		.ttl = 60,
	};
	uint64_t swept;

	OK(qless_limit_set(q, 100, &change));
	put_limited(100, "q", "j", "ab");
	TEST_ASSERT_EQUAL_DOUBLE(160, limit_of(100, "ab").expires);
	TEST_ASSERT_EQUAL_DOUBLE(160, qless_next_limit_sweep(q));
	OK(qless_limit_sweep(q, 159, 10, &swept));
	TEST_ASSERT_EQUAL_UINT64(0, swept);
	reload();
	change.has_ttl = false;
	OK(qless_limit_set(q, 159, &change));
	TEST_ASSERT_EQUAL_DOUBLE(160, qless_next_limit_sweep(q));
	OK(qless_limit_sweep(q, 160, 10, &swept));
	TEST_ASSERT_EQUAL_UINT64(1, swept);
	TEST_ASSERT_EQUAL_INT64(0, limit_of(160, "ab").concurrency);
	TEST_ASSERT_FALSE(has_limit("a*"));
	TEST_ASSERT_EQUAL_DOUBLE(INFINITY, qless_next_limit_sweep(q));
}

static void only_a_sweep_deletes_the_rule_of_a_pattern(void)
{
	struct qless_limit_change change = { .name = STR("a*"), .has_ttl = true, .ttl = 60 };
	uint64_t swept;

	OK(qless_limit_set(q, 100, &change));
	hold(100, "b", 10);
	put_limited(110, "q", "j", "ab");
	TEST_ASSERT_FALSE(has_limit("b"));
	put_limited(170, "q", "j", "ab");
	TEST_ASSERT_TRUE(has_limit("a*"));
	OK(qless_limit_sweep(q, 170, 1, &swept));
	TEST_ASSERT_FALSE(has_limit("a*"));
}

static void a_rule_without_a_time_to_live_stays(void)
{
	struct qless_limit_change change = { .name = STR("a"), .has_ttl = true, .ttl = 60 };

	OK(qless_limit_set(q, 100, &change));
	change.ttl = 0;
	OK(qless_limit_set(q, 101, &change));
	TEST_ASSERT_EQUAL_DOUBLE(INFINITY, qless_next_limit_sweep(q));
	TEST_ASSERT_EQUAL_DOUBLE(INFINITY, limit_of(101, "a").expires);
}

/* ---- queues ---- */

static void the_concurrency_of_a_queue_is_its_option(void)
{
	struct qless_option option;

	set_concurrency(1, "queue:q", 5);
	TEST_ASSERT_TRUE(qless_config_get(q, STR("q-max-concurrency"), &option));
	ASSERT_STR("5", option.value);
	OK(qless_config_set(q, 2, STR("q-max-concurrency"), STR("6")));
	TEST_ASSERT_EQUAL_INT64(6, limit_of(2, "queue:q").concurrency);
	set_concurrency(3, "queue:q", 0);
	TEST_ASSERT_FALSE(qless_config_get(q, STR("q-max-concurrency"), &option));
	TEST_ASSERT_FALSE(has_limit("queue:q"));
	set_concurrency(4, "queue:q", 2);
	TEST_ASSERT_TRUE(delete_rule(5, "queue:q"));
	TEST_ASSERT_FALSE(qless_config_get(q, STR("q-max-concurrency"), &option));
}

static void a_queue_cannot_be_closed_by_its_concurrency(void)
{
	struct qless_limit_change change = {
		.name = STR("queue:q"),
		.has_concurrency = true,
		.concurrency = -1,
		.has_rate = true,
		.rate = 1,
		.per = 1,
	};

	ASSERT_ERROR(QLESS_EBADARG, "limit_set: concurrency must be from 0 to 1e+15: -1",
		     qless_limit_set(q, 1, &change));
	TEST_ASSERT_FALSE(has_limit("queue:q"));
}

static void patterns_do_not_apply_to_queues(void)
{
	set_rate(1, "*", 1, 10, 1);
	set_rate(1, "q*", 1, 10, 1);
	put(1, "q", "j");
	TEST_ASSERT_FALSE(has_limit("queue:q"));
	set_rate(1, "queue:q", 1, 60, 1);
	TEST_ASSERT_EQUAL_DOUBLE(60, limit_of(1, "queue:q").per);
}

static void the_limit_of_a_queue_goes_with_its_time(void)
{
	struct qless_limit_change change = {
		.name = STR("queue:q"),
		.has_concurrency = true,
		.concurrency = 3,
		.has_ttl = true,
		.ttl = 60,
	};
	uint64_t swept;

	OK(qless_limit_set(q, 100, &change));
	OK(qless_limit_sweep(q, 160, 1, &swept));
	TEST_ASSERT_EQUAL_UINT64(1, swept);
	TEST_ASSERT_FALSE(has_limit("queue:q"));
}

/* ---- holds, slots, and what limits leave ---- */

static void a_hold_ends_by_itself_or_by_a_call(void)
{
	uint64_t swept;
	double until;

	hold(100, "a", 30);
	TEST_ASSERT_EQUAL_DOUBLE(130, limit_of(100, "a").held_until);
	TEST_ASSERT_EQUAL_DOUBLE(130, limit_of(100, "a").opens);
	reload();
	TEST_ASSERT_EQUAL_DOUBLE(130, qless_next_limit_sweep(q));
	TEST_ASSERT_EQUAL_DOUBLE(0, limit_of(130, "a").held_until);
	OK(qless_limit_sweep(q, 130, 1, &swept));
	TEST_ASSERT_EQUAL_UINT64(1, swept);
	TEST_ASSERT_FALSE(has_limit("a"));
	hold(200, "a", 30);
	hold(201, "a", 0);
	TEST_ASSERT_FALSE(has_limit("a"));
	ASSERT_ERROR(QLESS_EBADARG, "limit_hold: the name of a limit must not be a pattern, \"a*\"",
		     qless_limit_hold(q, 1, STR("a*"), 1, &until));
	ASSERT_ERROR(QLESS_EBADARG, "limit_hold: seconds must be from 0 to 1e+15: -1",
		     qless_limit_hold(q, 1, STR("a"), -1, &until));
}

static void a_limit_tells_how_many_tokens_it_has(void)
{
	set_rate(100, "a", 1, 10, 3);
	TEST_ASSERT_EQUAL_DOUBLE(3, limit_of(100, "a").tokens);
	set_concurrency(100, "b", 1);
	TEST_ASSERT_EQUAL_DOUBLE(0, limit_of(100, "b").tokens);
}

static void a_full_queue_opens_when_its_first_lock_expires(void)
{
	set_concurrency(100, "queue:q", 1);
	put_limited(100, "q", "j", "");
	TEST_ASSERT_EQUAL_STRING("j ", pop(100, "q", "w", 1));
	TEST_ASSERT_TRUE(limit_of(101, "queue:q").is_full);
	TEST_ASSERT_EQUAL_DOUBLE(160, limit_of(101, "queue:q").opens);
}

static void a_running_job_has_a_slot_of_each_of_its_limits(void)
{
	struct qless_limit_holder holder;
	const void *cursor = NULL;

	put_limited(1, "q", "j", "a b");
	put_limited(2, "r", "k", "b");
	pop(10, "q", "w", 1);
	pop(20, "r", "v", 1);
	TEST_ASSERT_EQUAL_UINT64(1, limit_of(20, "a").running);
	TEST_ASSERT_EQUAL_UINT64(2, limit_of(20, "b").running);
	reload();
	TEST_ASSERT_TRUE(qless_limit_next_holder(q, STR("b"), &cursor, &holder));
	ASSERT_STR("j", holder.jid);
	ASSERT_STR("q", holder.queue);
	ASSERT_STR("w", holder.worker);
	TEST_ASSERT_EQUAL_DOUBLE(70, holder.expires);
	TEST_ASSERT_TRUE(qless_limit_next_holder(q, STR("b"), &cursor, &holder));
	ASSERT_STR("k", holder.jid);
	TEST_ASSERT_FALSE(qless_limit_next_holder(q, STR("b"), &cursor, &holder));
	complete(30, "q", "j", "w");
	TEST_ASSERT_EQUAL_UINT64(1, limit_of(30, "b").running);
	TEST_ASSERT_EQUAL_UINT64(0, limit_of(30, "a").running);
}

static void a_renewed_lock_renews_the_slots(void)
{
	struct qless_limit_holder holder;
	const void *cursor = NULL;
	double expires;

	put_limited(1, "q", "j", "a");
	put_limited(2, "q", "k", "a");
	pop(10, "q", "w", 2);
	OK(qless_heartbeat(q, 30, STR("j"), STR("w"), NULL, &expires));
	TEST_ASSERT_TRUE(qless_limit_next_holder(q, STR("a"), &cursor, &holder));
	ASSERT_STR("k", holder.jid);
	TEST_ASSERT_TRUE(qless_limit_next_holder(q, STR("a"), &cursor, &holder));
	TEST_ASSERT_EQUAL_DOUBLE(90, holder.expires);
	reload();
}

static void collect(void *arg, struct qless_str name)
{
	struct qless_list *list = arg;

	(void)name;
	list->count++;
}

static void a_scan_visits_rules_and_limits_of_jobs_once(void)
{
	struct qless_list seen = { .count = 0 };
	uint32_t cursor = 0;

	set_concurrency(1, "a*", 1);
	for (int i = 0; i < 100; i++) {
		char jid[16], name[16];

		snprintf(jid, sizeof jid, "j%d", i);
		snprintf(name, sizeof name, "a%d", i);
		put_limited(1, "q", jid, name);
	}
	do {
		cursor = qless_limit_scan(q, cursor, collect, &seen);
	} while (cursor != 0);
	TEST_ASSERT_EQUAL_size_t(101, seen.count);
	TEST_ASSERT_EQUAL_size_t(101, qless_limit_count(q));
}

static void a_step_of_the_clock_keeps_what_is_left_of_a_hold(void)
{
	hold(1000, "a", 100);
	hold(1000, "past", 1);
	OK(qless_step_clock(q, 510, 1010));
	TEST_ASSERT_EQUAL_DOUBLE(600, limit_of(510, "a").held_until);
	OK(qless_step_clock(q, 5000, 520));
	TEST_ASSERT_EQUAL_DOUBLE(5080, limit_of(5000, "a").held_until);
	reload();
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_job_names_limits_in_the_order_in_which_they_are_given);
	RUN(a_job_keeps_its_limits_until_it_gets_others);
	RUN(limits_come_and_go_without_touching_other_members_of_a_job);
	RUN(a_limit_of_a_job_has_a_name_of_its_own);
	RUN(a_job_has_at_most_max_limits_per_job);
	RUN(jobs_of_a_recurring_job_name_its_limits);
	RUN(an_update_changes_the_limits_of_later_jobs);
	RUN(a_job_that_moves_on_keeps_its_limits_or_gets_others);
	RUN(a_rule_keeps_the_values_that_are_not_given);
	RUN(the_same_rule_again_changes_nothing);
	RUN(an_exact_name_wins_and_a_longer_pattern_beats_a_shorter_one);
	RUN(a_name_that_nothing_mentions_is_closed_if_its_pattern_is);
	RUN(a_new_pattern_takes_over_limits_of_shorter_ones_only);
	RUN(limits_that_exist_follow_patterns_that_come_and_go);
	RUN(invalid_rules_are_refused_and_change_nothing);
	RUN(a_rule_goes_when_its_time_is_over);
	RUN(only_a_sweep_deletes_the_rule_of_a_pattern);
	RUN(a_rule_without_a_time_to_live_stays);
	RUN(the_concurrency_of_a_queue_is_its_option);
	RUN(a_queue_cannot_be_closed_by_its_concurrency);
	RUN(patterns_do_not_apply_to_queues);
	RUN(the_limit_of_a_queue_goes_with_its_time);
	RUN(a_hold_ends_by_itself_or_by_a_call);
	RUN(a_limit_tells_how_many_tokens_it_has);
	RUN(a_full_queue_opens_when_its_first_lock_expires);
	RUN(a_running_job_has_a_slot_of_each_of_its_limits);
	RUN(a_renewed_lock_renews_the_slots);
	RUN(a_scan_visits_rules_and_limits_of_jobs_once);
	RUN(a_step_of_the_clock_keeps_what_is_left_of_a_hold);
	return UNIT_RESULT();
}
