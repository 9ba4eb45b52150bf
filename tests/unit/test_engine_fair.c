#include "engine/engine_int.h"
#include "engine/fair.h"
#include "engine/queue.h"

#include "limiting.h"

#define QUEUE "q"

void setUp(void)
{
	engine_set_up();
	set_option("q-order", "fair");
	set_option("heartbeat", "100000");
}

void tearDown(void)
{
	engine_tear_down();
}

static double now;

/* Put jobs with a name, or without limits if that is empty. */
static void put_some(const char *name, int count)
{
	static int number;

	for (int i = 0; i < count; i++) {
		char jid[24];

		snprintf(jid, sizeof jid, "%s%d", name[0] != '\0' ? name : "plain", number++);
		put_limited(now += 0.001, QUEUE, jid, name);
	}
}

/* The first letters of the names of the jobs that are handed out next, one at a time. */
static const char *take(int count)
{
	static char text[256];
	int i = 0;

	TEST_ASSERT_LESS_THAN_INT(sizeof text, count);
	while (i < count) {
		const char *jid = pop(now += 0.001, QUEUE, "w", 1);

		if (jid[0] == '\0')
			break;
		text[i++] = jid[0];
	}
	text[i] = '\0';
	return text;
}

static int count_of(const char *text, char letter)
{
	int count = 0;

	for (; *text != '\0'; text++)
		count += *text == letter;
	return count;
}

static void set_weight(const char *name, double weight)
{
	struct qless_limit_change change = {
		.name = str_from(name),
		.has_weight = true,
		.weight = weight,
	};

	OK(qless_limit_set(q, now, &change));
}

static void names_take_turns(void)
{
	put_some("a", 4);
	put_some("b", 2);
	put_some("c", 3);
	TEST_ASSERT_EQUAL_STRING("abcabcaca", take(20));
}

static void a_pop_of_many_jobs_takes_turns_too(void)
{
	put_limited(1, QUEUE, "a1", "a");
	put_limited(2, QUEUE, "a2", "a");
	put_limited(3, QUEUE, "b1", "b");
	put_limited(4, QUEUE, "b2", "b");
	TEST_ASSERT_EQUAL_STRING("a1 b1 a2 b2 ", pop(5, QUEUE, "w", 9));
}

static void a_large_tenant_does_not_hold_up_small_ones(void)
{
	char name[2] = "a";
	int small = 0;

	put_some("a", 20000);
	for (name[0] = 'b'; name[0] <= 'k'; name[0]++)
		put_some(name, 10);
	for (int i = 0; i < 220; i++)
		small += pop(now += 0.001, QUEUE, "w", 1)[0] != 'a';
	TEST_ASSERT_EQUAL_INT(100, small);
}

static void a_weight_gives_more_turns(void)
{
	const char *taken;

	set_weight("a", 3);
	put_some("a", 100);
	put_some("b", 100);
	taken = take(40);
	TEST_ASSERT_INT_WITHIN(1, 30, count_of(taken, 'a'));
	set_weight("a", 0.5);
	taken = take(30);
	TEST_ASSERT_INT_WITHIN(1, 10, count_of(taken, 'a'));
}

static void jobs_without_limits_are_one_more_name(void)
{
	put_some("a", 3);
	put_some("", 3);
	put_some("b", 1);
	TEST_ASSERT_EQUAL_STRING("apbapap", take(20));
}

static void a_higher_priority_goes_before_turns(void)
{
	put_some("a", 3);
	put_some("b", 3);
	put_priority(now, QUEUE, "urgent", 1);
	TEST_ASSERT_EQUAL_STRING("uab", take(3));
	OK(qless_priority(q, now, STR("urgent"), 1));
	put_priority(now, QUEUE, "later", -1);
	TEST_ASSERT_EQUAL_STRING("ababl", take(20));
}

static void a_name_saves_up_no_turns_while_nothing_of_it_waits(void)
{
	put_some("a", 50);
	put_some("b", 1);
	take(21);
	put_some("b", 10);
	put_some("", 10);
	TEST_ASSERT_INT_WITHIN(1, 5, count_of(take(15), 'b'));
	TEST_ASSERT_EQUAL_STRING("", take(0));
}

static void a_name_that_was_served_waits_for_the_others_even_if_it_was_empty(void)
{
	put_some("a", 1);
	put_some("b", 3);
	TEST_ASSERT_EQUAL_STRING("a", take(1));
	put_some("a", 3);
	TEST_ASSERT_EQUAL_STRING("bbabaa", take(20));
}

static void only_jobs_that_may_run_take_turns(void)
{
	struct qless_put p = a_put(QUEUE, "a-urgent");
	struct qless_str names[] = { STR("a"), STR("db") };

	set_concurrency(now, "db", -1);
	p.has_limits = true;
	p.limits = names;
	p.limit_count = 2;
	p.has_priority = true;
	p.priority = 9;
	OK(qless_put(q, now, &p));
	put_some("b", 2);
	put_some("a", 2);
	p.jid = STR("b-urgent");
	p.priority = 8;
	names[0] = STR("b");
	OK(qless_put(q, now, &p));
	TEST_ASSERT_EQUAL_STRING("baba", take(20));
	TEST_ASSERT_FALSE(qless_is_poppable(q, now, STR(QUEUE)));
	set_concurrency(now, "db", 0);
	TEST_ASSERT_EQUAL_STRING("a-urgent b-urgent ", pop(now, QUEUE, "w", 9));
}

static void a_shut_name_is_passed_over_until_it_opens(void)
{
	double opens;

	put_some("a", 3);
	put_some("b", 3);
	hold(now, "a", 100);
	opens = now + 100;
	TEST_ASSERT_EQUAL_STRING("bbb", take(20));
	TEST_ASSERT_EQUAL_DOUBLE(opens, qless_queue_next_due(q, STR(QUEUE)));
	TEST_ASSERT_EQUAL_DOUBLE(opens, qless_next_due(q));
	now += 100;
	TEST_ASSERT_EQUAL_STRING("aaa", take(20));
}

static void turns_survive_a_snapshot(void)
{
	put_some("a", 20);
	put_some("b", 1);
	take(11);
	put_some("c", 5);
	put_some("", 5);
	reload();
	take(7);
	reload();
	TEST_ASSERT_EQUAL_INT(13, (int)strlen(take(20)));
	reload();
}

static void the_order_can_change_while_jobs_wait(void)
{
	set_option("q-order", "priority");
	put_some("a", 3);
	put_some("b", 3);
	TEST_ASSERT_EQUAL_STRING("aa", take(2));
	set_option("q-order", "fair");
	put_some("a", 3);
	TEST_ASSERT_EQUAL_STRING("abba", take(4));
	OK(qless_config_unset(q, 0, STR("q-order")));
	TEST_ASSERT_EQUAL_STRING("baa", take(20));
}

static void an_order_that_is_unknown_is_by_priority(void)
{
	set_option("q-order", "alphabetical");
	put_some("a", 2);
	put_some("b", 1);
	TEST_ASSERT_EQUAL_STRING("aab", take(20));
}

/* A dead worker has the only slot of a limit, which is found in the midst of a search. */
static void a_dead_holder_is_found_in_a_fair_queue(void)
{
	set_option("heartbeat", "60");
	set_concurrency(0, "db", 1);
	put_limited(0, QUEUE, "dead", "a db");
	TEST_ASSERT_EQUAL_STRING("dead ", pop(1, QUEUE, "w", 1));
	put_limited(2, QUEUE, "next", "b db");
	now = 100;
	put_some("c", 1);
	TEST_ASSERT_EQUAL_STRING("c", take(20));
	now = 200;
	TEST_ASSERT_EQUAL_STRING("n", take(1));
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("dead").state);
	reload();
}

/* Only the job that is handed out next looks for a dead holder. */
static void a_dead_holder_is_left_alone_while_another_name_is_next(void)
{
	set_concurrency(1, "x", 1);
	put_limited(1, "other", "holder", "x");
	set_option("heartbeat", "10");
	TEST_ASSERT_EQUAL_STRING("holder ", pop(1, "other", "dead", 1));
	set_option("grace-period", "0");
	hold(1, "z", 100);
	put_limited_priority(2, QUEUE, "shut", "x z", 9);
	put_limited_priority(3, QUEUE, "first", "x", 0);
	put_limited_priority(4, QUEUE, "second", "y", 1);
	TEST_ASSERT_EQUAL_STRING("second ", pop(20, QUEUE, "w", 1));
	TEST_ASSERT_EQUAL_INT(QLESS_RUNNING, info_of("holder").state);
	TEST_ASSERT_EQUAL_STRING("first ", pop(20, QUEUE, "w", 1));
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("holder").state);
}

static void a_job_that_timed_out_follows_its_new_priority(void)
{
	struct qless_str jid = STR("a");

	put_limited_priority(1, QUEUE, "a", "x", 0);
	TEST_ASSERT_EQUAL_STRING("a ", pop(1, QUEUE, "w", 1));
	OK(qless_timeout(q, 2, &jid, 1));
	OK(qless_priority(q, 3, jid, 0));
	put_limited_priority(4, QUEUE, "b", "y", 1);
	TEST_ASSERT_EQUAL_STRING("b a ", pop(5, QUEUE, "w", 2));
}

static void a_worker_that_waits_sleeps_until_a_limit_opens(void)
{
	hold(1, "x", 10);
	put_limited(2, QUEUE, "a", "x");
	TEST_ASSERT_EQUAL_STRING("", pop(2, QUEUE, "w", 1));
	TEST_ASSERT_TRUE(qless_next_due(q) == 11);
	TEST_ASSERT_EQUAL_STRING("a ", pop(11, QUEUE, "w", 1));
}

#define HELD_NAMES 1000

/* The best job of each name is held, and would precede every job that may run. */
static void put_held_and_open_jobs(void)
{
	for (int i = 0; i < HELD_NAMES; i++) {
		char jid[24], names[32];

		snprintf(names, sizeof names, "d%d H", i);
		snprintf(jid, sizeof jid, "held%04d", i);
		put_limited_priority(1, QUEUE, jid, names, 9);
		snprintf(names, sizeof names, "d%d", i);
		snprintf(jid, sizeof jid, "open%04d", i);
		put_limited(2, QUEUE, jid, names);
	}
}

static void better_jobs_that_are_shut_cost_a_pop_nothing(void)
{
	uint64_t tried;

	hold(1, "H", 1000);
	put_held_and_open_jobs();
	TEST_ASSERT_EQUAL_STRING_LEN("open", pop(3, QUEUE, "w", 1), 4);
	tried = q->lanes_tried;
	for (int i = 1; i < 500; i++)
		TEST_ASSERT_EQUAL_STRING_LEN("open", pop(3, QUEUE, "w", 1), 4);
	/* Each pop looks at a lane, and at the bundles that its name is in. */
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(1500, q->lanes_tried - tried);
	/* The hold ends: its jobs come first again, and no name is looked at before its turn. */
	tried = q->lanes_tried;
	for (int i = 0; i < 500; i++)
		TEST_ASSERT_EQUAL_STRING_LEN("held", pop(2000, QUEUE, "w", 1), 4);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(1600, q->lanes_tried - tried);
}

/* A question counts limits as open at its time. They may be shut for the next pop. */
static void a_question_about_a_later_time_opens_nothing(void)
{
	hold(1, "x", 100);
	put_limited(2, QUEUE, "held", "a x");
	put_limited(2, QUEUE, "open", "b");
	TEST_ASSERT_TRUE(qless_is_poppable(q, 200, STR(QUEUE)));
	TEST_ASSERT_EQUAL_STRING("open ", pop(3, QUEUE, "w", 2));
	TEST_ASSERT_TRUE(qless_is_poppable(q, 200, STR(QUEUE)));
	TEST_ASSERT_FALSE(qless_is_poppable(q, 4, STR(QUEUE)));
	TEST_ASSERT_EQUAL_STRING("held ", pop(101, QUEUE, "w", 2));
}

static size_t count_names(void)
{
	return hash_count(&queue_find(q, STR(QUEUE))->fair->table);
}

static void idle_names_are_forgotten_a_few_at_a_time(void)
{
	size_t before;

	for (int i = 0; i < 1000; i++) {
		char jid[24], name[24];

		snprintf(name, sizeof name, "n%d", i);
		snprintf(jid, sizeof jid, "j%d", i);
		put_limited(now += 0.001, QUEUE, jid, name);
	}
	TEST_ASSERT_EQUAL_INT(200, (int)strlen(take(200)));
	while (*take(1) != '\0')
		continue;
	before = count_names();
	TEST_ASSERT_EQUAL_size_t(1000, before);
	put_some("a", 2);
	/* With the second job of a name, the pass of the queue rises to that of all others. */
	TEST_ASSERT_EQUAL_STRING("aa", take(2));
	TEST_ASSERT_GREATER_OR_EQUAL_size_t(before - 20, count_names());
	reload();
	put_some("a", 200);
	TEST_ASSERT_EQUAL_INT(200, (int)strlen(take(200)));
	put_some("a", 200);
	TEST_ASSERT_EQUAL_INT(200, (int)strlen(take(200)));
	TEST_ASSERT_EQUAL_size_t(1, count_names());
	reload();
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(names_take_turns);
	RUN(a_pop_of_many_jobs_takes_turns_too);
	RUN(a_large_tenant_does_not_hold_up_small_ones);
	RUN(a_weight_gives_more_turns);
	RUN(jobs_without_limits_are_one_more_name);
	RUN(a_higher_priority_goes_before_turns);
	RUN(a_name_saves_up_no_turns_while_nothing_of_it_waits);
	RUN(a_name_that_was_served_waits_for_the_others_even_if_it_was_empty);
	RUN(only_jobs_that_may_run_take_turns);
	RUN(a_shut_name_is_passed_over_until_it_opens);
	RUN(turns_survive_a_snapshot);
	RUN(the_order_can_change_while_jobs_wait);
	RUN(an_order_that_is_unknown_is_by_priority);
	RUN(a_dead_holder_is_found_in_a_fair_queue);
	RUN(a_dead_holder_is_left_alone_while_another_name_is_next);
	RUN(a_job_that_timed_out_follows_its_new_priority);
	RUN(a_worker_that_waits_sleeps_until_a_limit_opens);
	RUN(better_jobs_that_are_shut_cost_a_pop_nothing);
	RUN(a_question_about_a_later_time_opens_nothing);
	RUN(idle_names_are_forgotten_a_few_at_a_time);
	return UNIT_RESULT();
}
