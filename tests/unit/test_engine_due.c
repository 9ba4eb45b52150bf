#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static void recur(double now, const char *queue, double interval, double backlog)
{
	struct qless_recur_put put = { .queue = str_from(queue),
				       .jid = STR("r"),
				       .klass = STR("k"),
				       .data = STR("{}"),
				       .interval = interval,
				       .retries = 5,
				       .backlog = backlog };

	OK(qless_recur(q, now, &put));
}

/* The names of the queues that woke since the last call. */
static const char *woken(void)
{
	static char text[256];
	struct qless_str queue;
	size_t len = 0;

	text[0] = '\0';
	while (qless_take_woken(q, &queue))
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s ", (int)queue.len,
					queue.ptr);
	return text;
}

/* The names of the queues in which something has come due by `now`. */
static const char *due(double now)
{
	static char text[256];
	struct qless_str queue;
	size_t len = 0;

	text[0] = '\0';
	while (qless_take_due(q, now, &queue))
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s ", (int)queue.len,
					queue.ptr);
	return text;
}

static void the_next_due_time_is_the_earliest_one(void)
{
	struct qless_str name = STR("q");

	TEST_ASSERT_TRUE(isinf(qless_next_due(q)));
	put(1, "q", "j");
	TEST_ASSERT_TRUE(isinf(qless_next_due(q)));
	recur(150, "p", 10, 0);
	TEST_ASSERT_TRUE(qless_next_due(q) == 150);
	pop(20, "q", "w", 1);
	TEST_ASSERT_TRUE(qless_next_due(q) == 80);
	put_delayed(20, "q", "k", 30);
	TEST_ASSERT_TRUE(qless_next_due(q) == 50);
	TEST_ASSERT_TRUE(qless_queue_next_due(q, STR("p")) == 150);
	TEST_ASSERT_TRUE(isinf(qless_queue_next_due(q, STR("nope"))));
	OK(qless_pause(q, 21, &name, 1));
	TEST_ASSERT_TRUE(qless_next_due(q) == 150);
}

static void the_next_due_time_moves_on_when_the_first_job_is_gone(void)
{
	struct qless_str jid = STR("early");

	put_delayed(0, "q", "early", 10);
	put_delayed(0, "p", "late", 20);
	TEST_ASSERT_TRUE(qless_next_due(q) == 10);
	OK(qless_cancel(q, 1, &jid, 1));
	TEST_ASSERT_TRUE(qless_next_due(q) == 20);
}

static void a_heartbeat_moves_the_next_due_time(void)
{
	double expires;

	put(0, "q", "j");
	pop(0, "q", "w", 1);
	TEST_ASSERT_TRUE(qless_next_due(q) == 60);
	set_option("heartbeat", "5");
	OK(qless_heartbeat(q, 10, STR("j"), STR("w"), NULL, &expires));
	TEST_ASSERT_TRUE(qless_next_due(q) == 15);
	set_option("heartbeat", "100");
	OK(qless_heartbeat(q, 11, STR("j"), STR("w"), NULL, &expires));
	TEST_ASSERT_TRUE(qless_next_due(q) == 111);
}

static void nothing_falls_due_in_a_paused_queue(void)
{
	struct qless_str name = STR("q");

	OK(qless_pause(q, 0, &name, 1));
	put_delayed(0, "q", "j", 10);
	TEST_ASSERT_TRUE(isinf(qless_next_due(q)));
	TEST_ASSERT_EQUAL_STRING("", due(20));
	OK(qless_unpause(q, 21, &name, 1));
	TEST_ASSERT_TRUE(qless_next_due(q) == 10);
	TEST_ASSERT_EQUAL_STRING("q ", due(21));
}

static void a_time_before_1970_never_falls_due(void)
{
	put_delayed(-500, "q", "j", 100);
	recur(-300, "q", 10, 0);
	TEST_ASSERT_TRUE(isinf(qless_next_due(q)));
	TEST_ASSERT_EQUAL_STRING("", due(1000));
}

static void a_queue_is_reported_once_for_each_time_that_something_comes_due(void)
{
	put_delayed(0, "q", "first", 10);
	put_delayed(0, "q", "second", 20);
	put_delayed(0, "p", "other", 15);
	TEST_ASSERT_EQUAL_STRING("", due(9));
	TEST_ASSERT_EQUAL_STRING("q ", due(10));
	TEST_ASSERT_EQUAL_STRING("", due(10));
	TEST_ASSERT_TRUE(qless_next_due(q) == 15);
	TEST_ASSERT_EQUAL_STRING("p q ", due(20));
	TEST_ASSERT_TRUE(isinf(qless_next_due(q)));
	/* Nothing has moved. */
	TEST_ASSERT_EQUAL_STRING("first second ", jobs_in(5, QLESS_LIST_SCHEDULED, "q"));
}

static void an_expired_lock_is_reported_once_and_again_after_its_grace_period(void)
{
	put(0, "q", "j");
	pop(0, "q", "w", 1);
	woken();
	TEST_ASSERT_EQUAL_STRING("q ", due(60));
	TEST_ASSERT_EQUAL_STRING("q ", woken());
	TEST_ASSERT_EQUAL_STRING("", due(61));
	TEST_ASSERT_TRUE(isinf(qless_next_due(q)));
	TEST_ASSERT_EQUAL_STRING("", pop(62, "q", "v", 1));
	TEST_ASSERT_TRUE(qless_next_due(q) == 72);
	TEST_ASSERT_EQUAL_STRING("q ", due(72));
	TEST_ASSERT_EQUAL_STRING("j ", pop(72, "q", "v", 1));
}

/* With a backlog below 1, a late run is skipped. */
static void after_a_skipped_late_run_the_next_run_falls_due(void)
{
	recur(50, "q", 10, 0.5);
	TEST_ASSERT_EQUAL_STRING("q ", due(58));
	TEST_ASSERT_EQUAL_UINT64(0, advance(58, QLESS_ADVANCE_POP, "q", 10));
	TEST_ASSERT_TRUE(qless_next_due(q) == 60);
	TEST_ASSERT_EQUAL_STRING("q ", due(60));
	TEST_ASSERT_EQUAL_UINT64(1, advance(60, QLESS_ADVANCE_POP, "q", 10));
	TEST_ASSERT_TRUE(qless_next_due(q) == 70);
}

static void advancing_for_a_pop_leaves_the_rest_to_expired_locks(void)
{
	put(0, "q", "lost");
	pop(0, "q", "w", 1);
	put_delayed(0, "q", "a", 10);
	put_delayed(0, "q", "b", 10);
	recur(50, "q", 100, 0);
	TEST_ASSERT_EQUAL_UINT64(0, advance(100, QLESS_ADVANCE_POP, "q", 1));
	TEST_ASSERT_EQUAL_UINT64(3, advance(100, QLESS_ADVANCE_POP, "q", 10));
	TEST_ASSERT_EQUAL_UINT64(0, advance(100, QLESS_ADVANCE_POP, "nope", 10));
}

static void advancing_checks_how_many_it_may_move(void)
{
	struct qless_advance call = { .kind = QLESS_ADVANCE_POP, .queue = STR("q"), .max = -1 };
	struct qless_limits limits = { .max_jobs = 5 };
	uint64_t moved = 7;

	ASSERT_ERROR(QLESS_EBADARG, "advance: max must not be negative: -1",
		     qless_advance(q, 1, &call, &moved));
	qless_set_limits(q, &limits);
	call.max = 6;
	TEST_ASSERT_EQUAL_INT(QLESS_ELIMIT, qless_advance(q, 1, &call, &moved));
	TEST_ASSERT_EQUAL_UINT64(7, moved);
}

static void a_queue_wakes_once_however_many_jobs_are_put(void)
{
	TEST_ASSERT_EQUAL_STRING("", woken());
	put(0, "q", "a");
	put(0, "p", "b");
	put(0, "q", "c");
	TEST_ASSERT_EQUAL_STRING("q p ", woken());
	TEST_ASSERT_EQUAL_STRING("", woken());
	put_delayed(0, "q", "d", 10);
	TEST_ASSERT_EQUAL_STRING("", woken());
	put(0, "q", "e");
	TEST_ASSERT_EQUAL_STRING("q ", woken());
}

static void whatever_makes_a_job_ready_wakes_its_queue(void)
{
	struct qless_str jid = STR("j");
	struct qless_retry retry = { .jid = jid, .queue = STR("q"), .worker = STR("w") };
	double remaining;
	uint64_t count;

	put(0, "q", "j");
	pop(0, "q", "w", 1);
	woken();
	OK(qless_retry(q, 1, &retry, &remaining));
	TEST_ASSERT_EQUAL_STRING("q ", woken());
	pop(2, "q", "w", 1);
	OK(qless_timeout(q, 3, &jid, 1));
	TEST_ASSERT_EQUAL_STRING("q ", woken());
	pop(4, "q", "w", 1);
	OK(qless_fail(q, 5, jid, STR("w"), STR("g"), STR("m"), NULL));
	TEST_ASSERT_EQUAL_STRING("", woken());
	OK(qless_unfail(q, 6, STR("p"), STR("g"), 1, &count));
	TEST_ASSERT_EQUAL_STRING("p ", woken());
	put_delayed(7, "q", "later", 3);
	advance(10, QLESS_ADVANCE_QUEUE, "q", 1);
	TEST_ASSERT_EQUAL_STRING("q ", woken());
	recur(11, "r", 10, 0);
	TEST_ASSERT_EQUAL_STRING("r ", due(11));
	TEST_ASSERT_EQUAL_STRING("r ", woken());
}

static void a_job_that_is_complete_wakes_the_queues_of_its_dependents(void)
{
	struct qless_put put_dependent = a_put("p", "dependent");
	struct qless_str on = STR("j");

	put(0, "q", "j");
	put_dependent.depends = &on;
	put_dependent.depend_count = 1;
	OK(qless_put(q, 0, &put_dependent));
	TEST_ASSERT_EQUAL_STRING("q ", woken());
	pop(1, "q", "w", 1);
	complete(2, "q", "j", "w");
	TEST_ASSERT_EQUAL_STRING("p ", woken());
}

static void a_paused_queue_wakes_when_it_is_unpaused(void)
{
	struct qless_str name = STR("q");

	put(0, "q", "a");
	woken();
	OK(qless_pause(q, 1, &name, 1));
	put(2, "q", "b");
	TEST_ASSERT_EQUAL_STRING("", woken());
	OK(qless_unpause(q, 3, &name, 1));
	TEST_ASSERT_EQUAL_STRING("q ", woken());
}

static void a_queue_with_a_limit_wakes_when_a_run_ends_or_the_limit_changes(void)
{
	set_option("q-max-concurrency", "1");
	put(0, "q", "a");
	put(0, "q", "b");
	pop(0, "q", "w", 2);
	woken();
	set_option("q-max-concurrency", "2");
	TEST_ASSERT_EQUAL_STRING("q ", woken());
	complete(1, "q", "b", "w");
	TEST_ASSERT_EQUAL_STRING("q ", woken());
}

static void a_freed_queue_does_not_wake(void)
{
	struct qless_str name = STR("q");
	struct qless_str jid = STR("j");

	put(0, "p", "before");
	put(0, "q", "j");
	put(0, "r", "after");
	OK(qless_cancel(q, 1, &jid, 1));
	OK(qless_queue_forget(q, 1, &name, 1));
	TEST_ASSERT_EQUAL_STRING("p r ", woken());
}

static bool is_poppable(double now)
{
	return qless_is_poppable(q, now, STR("q"));
}

static void a_queue_is_poppable_if_a_pop_would_find_something(void)
{
	struct qless_str name = STR("q");

	TEST_ASSERT_FALSE(is_poppable(0));
	put_delayed(0, "q", "later", 10);
	TEST_ASSERT_FALSE(is_poppable(9));
	TEST_ASSERT_TRUE(is_poppable(10));
	pop(10, "q", "w", 1);
	TEST_ASSERT_FALSE(is_poppable(69));
	TEST_ASSERT_TRUE(is_poppable(70));
	/* The pop warns the worker, and there is nothing more to do before the grace period ends.
	 */
	pop(70, "q", "w", 1);
	TEST_ASSERT_FALSE(is_poppable(79));
	TEST_ASSERT_TRUE(is_poppable(80));
	OK(qless_pause(q, 80, &name, 1));
	TEST_ASSERT_FALSE(is_poppable(80));
}

static void a_queue_at_its_limit_is_not_poppable(void)
{
	set_option("q-max-concurrency", "1");
	put(0, "q", "a");
	put(1, "q", "b");
	TEST_ASSERT_TRUE(is_poppable(1));
	pop(1, "q", "w", 1);
	TEST_ASSERT_FALSE(is_poppable(1));
	complete(2, "q", "a", "w");
	TEST_ASSERT_TRUE(is_poppable(1));
}

static void a_queue_that_woke_can_be_taken(void)
{
	TEST_ASSERT_FALSE(qless_has_woken(q));
	put(0, "q", "j");
	TEST_ASSERT_TRUE(qless_has_woken(q));
	TEST_ASSERT_EQUAL_STRING("q ", woken());
	TEST_ASSERT_FALSE(qless_has_woken(q));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_next_due_time_is_the_earliest_one);
	RUN(the_next_due_time_moves_on_when_the_first_job_is_gone);
	RUN(a_heartbeat_moves_the_next_due_time);
	RUN(nothing_falls_due_in_a_paused_queue);
	RUN(a_time_before_1970_never_falls_due);
	RUN(a_queue_is_reported_once_for_each_time_that_something_comes_due);
	RUN(an_expired_lock_is_reported_once_and_again_after_its_grace_period);
	RUN(after_a_skipped_late_run_the_next_run_falls_due);
	RUN(advancing_for_a_pop_leaves_the_rest_to_expired_locks);
	RUN(advancing_checks_how_many_it_may_move);
	RUN(a_queue_wakes_once_however_many_jobs_are_put);
	RUN(whatever_makes_a_job_ready_wakes_its_queue);
	RUN(a_job_that_is_complete_wakes_the_queues_of_its_dependents);
	RUN(a_paused_queue_wakes_when_it_is_unpaused);
	RUN(a_queue_with_a_limit_wakes_when_a_run_ends_or_the_limit_changes);
	RUN(a_freed_queue_does_not_wake);
	RUN(a_queue_is_poppable_if_a_pop_would_find_something);
	RUN(a_queue_at_its_limit_is_not_poppable);
	RUN(a_queue_that_woke_can_be_taken);
	return UNIT_RESULT();
}
