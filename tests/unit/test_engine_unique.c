/*
 * Unique keys: the jobs that hold them, and the puts that find them held.
 */
#include "engine/engine_int.h"

#include "engine.h"

#include "engine/carried.h"
#include "engine/state.h"
#include "engine/unique.h"
#include "engine/view.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

#define KEY STR("key")

static struct qless_terms with_key(const char *key, enum qless_until until, double seconds)
{
	return (struct qless_terms){
		.has_unique = true,
		.unique = { .key = str_from(key), .until = until, .seconds = seconds },
	};
}

/* Puts a job that another one with its key keeps away. Returns the jid of the job that exists. */
static const char *put_terms(double now, const char *jid, const struct qless_terms *terms)
{
	static char text[32];
	struct qless_put p = a_put("q", jid);
	struct qless_str holder;

	p.terms = terms;
	OK(qless_put(q, now, &p));
	if (qless_read_put_end(q, 0, &holder) == QLESS_PUT_DONE)
		return jid;
	TEST_ASSERT_EQUAL_INT(QLESS_PUT_HELD, qless_read_put_end(q, 0, &holder));
	snprintf(text, sizeof text, "%.*s", (int)holder.len, holder.ptr);
	return text;
}

static const char *put_until(double now, const char *jid, enum qless_until until, double seconds)
{
	struct qless_terms terms = with_key("key", until, seconds);

	return put_terms(now, jid, &terms);
}

static const char *put_unique(double now, const char *jid)
{
	return put_until(now, jid, QLESS_UNTIL_FINISHED, 0);
}

/* The jid of the job that holds the key; empty if none does. */
static const char *holder_at(double now)
{
	static char text[32];
	struct qless_str jid = STR("");

	qless_unique_holder(q, KEY, now, &jid);
	snprintf(text, sizeof text, "%.*s", (int)jid.len, jid.ptr);
	return text;
}

#define ASSERT_HOLDER(jid, now) TEST_ASSERT_EQUAL_STRING(jid, holder_at(now))

static double retry_job(double now, const char *jid)
{
	struct qless_retry r = { .jid = str_from(jid), .queue = STR("q"), .worker = STR("w") };
	double remaining;

	OK(qless_retry(q, now, &r, &remaining));
	return remaining;
}

static void cancel_job(double now, const char *jid)
{
	struct qless_str jids[] = { str_from(jid) };

	OK(qless_cancel(q, now, jids, 1));
}

static uint64_t unfail(double now, int64_t count)
{
	uint64_t moved;

	OK(qless_unfail(q, now, STR("q"), STR("group"), count, &moved));
	return moved;
}

/* ---- puts ---- */

static void a_put_that_finds_its_key_held_changes_nothing(void)
{
	uint64_t changes;

	TEST_ASSERT_EQUAL_STRING("a", put_unique(1, "a"));
	changes = qless_changes(q);
	forget_events();
	TEST_ASSERT_EQUAL_STRING("a", put_unique(2, "b"));
	TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(q));
	TEST_ASSERT_NULL(qless_get(q, STR("b")));
	TEST_ASSERT_NULL(qless_get(q, STR("")));
	ASSERT_EVENTS("");
	TEST_ASSERT_EQUAL_size_t(1, qless_unique_count(q));
}

static void a_refused_put_leaves_an_existing_job_alone(void)
{
	put_unique(1, "a");
	put(1, "other", "b");
	TEST_ASSERT_EQUAL_STRING("a", put_unique(2, "b"));
	ASSERT_STR("other", info_of("b").queue);
}

static void a_put_of_the_holder_itself_is_an_ordinary_put(void)
{
	put_unique(1, "a");
	TEST_ASSERT_EQUAL_STRING("a ", pop(2, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("a", put_unique(3, "a"));
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("a").state);
	ASSERT_HOLDER("a", 3);
}

static void keys_belong_to_the_database_and_not_to_a_queue(void)
{
	struct qless_terms terms = with_key("key", QLESS_UNTIL_FINISHED, 0);
	struct qless_put p = a_put("other", "b");
	struct qless_str holder;

	put_unique(1, "a");
	p.terms = &terms;
	OK(qless_put(q, 2, &p));
	TEST_ASSERT_EQUAL_INT(QLESS_PUT_HELD, qless_read_put_end(q, 0, &holder));
	ASSERT_STR("a", holder);
}

static void a_put_without_a_key_gives_the_key_away(void)
{
	put_unique(1, "a");
	put(2, "q", "a");
	ASSERT_HOLDER("", 2);
	TEST_ASSERT_EQUAL_size_t(0, qless_unique_count(q));
	TEST_ASSERT_EQUAL_STRING("b", put_unique(3, "b"));
}

static void a_put_with_another_key_gives_the_first_one_away(void)
{
	struct qless_terms terms = with_key("other", QLESS_UNTIL_FINISHED, 0);

	put_unique(1, "a");
	TEST_ASSERT_EQUAL_STRING("a", put_terms(2, "a", &terms));
	ASSERT_HOLDER("", 2);
	TEST_ASSERT_EQUAL_STRING("b", put_unique(3, "b"));
	TEST_ASSERT_EQUAL_size_t(2, qless_unique_count(q));
}

static void a_requeue_without_a_key_keeps_it(void)
{
	struct qless_put p = a_put("other", "a");

	put_unique(1, "a");
	OK(qless_requeue(q, 2, &p));
	ASSERT_HOLDER("a", 2);
}

static void several_puts_of_one_call_share_a_key_once(void)
{
	struct qless_terms terms = with_key("key", QLESS_UNTIL_FINISHED, 0);
	struct qless_put puts[3] = { a_put("q", "a"), a_put("q", "b"), a_put("q", "c") };
	struct qless_str holder;
	double until;

	puts[0].terms = puts[1].terms = &terms;
	OK(qless_put_many(q, 1, puts, 3, &until));
	TEST_ASSERT_EQUAL_INT(QLESS_PUT_DONE, qless_read_put_end(q, 0, &holder));
	TEST_ASSERT_EQUAL_INT(QLESS_PUT_HELD, qless_read_put_end(q, 1, &holder));
	ASSERT_STR("a", holder);
	TEST_ASSERT_EQUAL_INT(QLESS_PUT_DONE, qless_read_put_end(q, 2, &holder));
	TEST_ASSERT_NULL(qless_get(q, STR("b")));
	TEST_ASSERT_NOT_NULL(qless_get(q, STR("c")));
}

/* ---- until ---- */

static void a_key_until_finished_is_held_from_state_to_state(void)
{
	struct qless_terms terms = with_key("key", QLESS_UNTIL_FINISHED, 0);
	struct qless_str on = STR("other"), jids[] = { STR("a") };
	struct qless_put p = a_put("q", "a");

	set_option("grace-period", "0");
	put(0, "elsewhere", "other");
	p.terms = &terms;
	p.depends = &on;
	p.depend_count = 1;
	p.delay = 10;
	OK(qless_put(q, 0, &p));
	TEST_ASSERT_EQUAL_INT(QLESS_DEPENDS, info_of("a").state);
	ASSERT_HOLDER("a", 0);
	OK(qless_depends_off_all(q, 0, STR("a")));
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info_of("a").state);
	ASSERT_HOLDER("a", 0);
	TEST_ASSERT_EQUAL_STRING("a ", pop(11, "q", "w", 1));
	ASSERT_HOLDER("a", 11);
	OK(qless_timeout(q, 12, jids, 1));
	TEST_ASSERT_EQUAL_INT(QLESS_STALLED, info_of("a").state);
	ASSERT_HOLDER("a", 12);
	TEST_ASSERT_EQUAL_STRING("a ", pop(13, "q", "w", 1));
	/* Its lock expires, and another worker gets it. */
	TEST_ASSERT_EQUAL_STRING("a ", pop(1000, "q", "w", 1));
	ASSERT_HOLDER("a", 1000);
	retry_job(1001, "a");
	ASSERT_HOLDER("a", 1001);
	TEST_ASSERT_EQUAL_STRING("a", put_unique(1002, "b"));
}

static void a_key_until_finished_is_free_after_completion(void)
{
	put_unique(1, "a");
	pop(2, "q", "w", 1);
	complete(3, "q", "a", "w");
	ASSERT_HOLDER("", 3);
	TEST_ASSERT_EQUAL_STRING("b", put_unique(3, "b"));
}

static void a_key_until_finished_is_free_after_each_kind_of_failure(void)
{
	put_unique(1, "a");
	pop(2, "q", "w", 1);
	fail(3, "a", "w", "group");
	ASSERT_HOLDER("", 3);
	TEST_ASSERT_EQUAL_STRING("b", put_unique(4, "b"));
	/* Used up by retries. */
	pop(5, "q", "w", 1);
	while (retry_job(6, "b") >= 0)
		pop(6, "q", "w", 1);
	ASSERT_HOLDER("", 6);
	/* Used up by lost locks. */
	set_option("grace-period", "0");
	TEST_ASSERT_EQUAL_STRING("c", put_unique(7, "c"));
	for (double now = 10; info_of("c").state != QLESS_FAILED; now += 1000)
		pop(now, "q", "w", 1);
	ASSERT_HOLDER("", 100000);
}

/* The memory of the key is that of the first job, which other claims must not lose. */
static void a_key_outlives_the_job_that_it_was_made_for(void)
{
	put_unique(1, "a");
	pop(2, "q", "w", 1);
	fail(3, "a", "w", "group");
	TEST_ASSERT_EQUAL_STRING("b", put_unique(4, "b"));
	cancel_job(5, "a");
	TEST_ASSERT_EQUAL_size_t(1, qless_unique_count(q));
	TEST_ASSERT_EQUAL_STRING("b", put_unique(6, "c"));
	ASSERT_HOLDER("b", 6);
	cancel_job(7, "b");
	TEST_ASSERT_EQUAL_size_t(0, qless_unique_count(q));
	/* A job that has lost its key, and what it carries, can get another one. */
	put_unique(8, "d");
	put(9, "q", "d");
	TEST_ASSERT_EQUAL_size_t(0, qless_unique_count(q));
	TEST_ASSERT_EQUAL_STRING("d", put_unique(10, "d"));
	/* The engine is freed with a key that has left its job. */
	pop(11, "q", "w", 1);
	fail(12, "d", "w", "group");
	put_unique(13, "e");
	cancel_job(14, "d");
	ASSERT_HOLDER("e", 14);
}

static void a_key_is_free_after_a_cancellation(void)
{
	put_unique(1, "a");
	cancel_job(2, "a");
	ASSERT_HOLDER("", 2);
	TEST_ASSERT_EQUAL_size_t(0, qless_unique_count(q));
	put_unique(3, "b");
	pop(4, "q", "w", 1);
	cancel_job(5, "b");
	TEST_ASSERT_EQUAL_size_t(0, qless_unique_count(q));
}

static void a_key_until_popped_is_free_from_the_pop_on(void)
{
	put_until(1, "a", QLESS_UNTIL_POPPED, 0);
	TEST_ASSERT_EQUAL_STRING("a", put_until(1, "b", QLESS_UNTIL_POPPED, 0));
	pop(2, "q", "w", 1);
	ASSERT_HOLDER("", 2);
	TEST_ASSERT_EQUAL_STRING("b", put_until(3, "b", QLESS_UNTIL_POPPED, 0));
}

static void a_key_until_popped_comes_back_with_a_retry_if_it_is_free(void)
{
	put_until(1, "a", QLESS_UNTIL_POPPED, 0);
	pop(2, "q", "w", 1);
	retry_job(3, "a");
	ASSERT_HOLDER("a", 3);
	pop(4, "q", "w", 1);
	put_until(5, "b", QLESS_UNTIL_POPPED, 0);
	retry_job(6, "a");
	ASSERT_HOLDER("b", 6);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("a").state);
}

static void a_key_until_popped_comes_back_with_a_timeout(void)
{
	struct qless_str jids[] = { STR("a") };

	put_until(1, "a", QLESS_UNTIL_POPPED, 0);
	pop(2, "q", "w", 1);
	OK(qless_timeout(q, 3, jids, 1));
	ASSERT_HOLDER("a", 3);
}

static void a_key_for_seconds_is_free_at_its_time(void)
{
	put_until(100, "a", QLESS_UNTIL_SECONDS, 10);
	ASSERT_HOLDER("a", 109.9);
	ASSERT_HOLDER("", 110);
	TEST_ASSERT_EQUAL_STRING("a", put_until(109, "b", QLESS_UNTIL_SECONDS, 10));
	TEST_ASSERT_EQUAL_STRING("b", put_until(110, "b", QLESS_UNTIL_SECONDS, 10));
	ASSERT_HOLDER("b", 119.9);
}

static void a_key_for_seconds_is_held_in_each_state(void)
{
	put_until(100, "a", QLESS_UNTIL_SECONDS, 1000);
	pop(101, "q", "w", 1);
	ASSERT_HOLDER("a", 101);
	fail(102, "a", "w", "group");
	ASSERT_HOLDER("a", 102);
	TEST_ASSERT_EQUAL_UINT64(1, unfail(103, 1));
	pop(104, "q", "w", 1);
	complete(105, "q", "a", "w");
	TEST_ASSERT_EQUAL_STRING("a", put_unique(106, "b"));
	ASSERT_HOLDER("a", 1099);
	TEST_ASSERT_EQUAL_STRING("b", put_unique(1100, "b"));
}

static void a_key_for_seconds_goes_with_its_job(void)
{
	set_option("jobs-history-count", "0");
	put_until(100, "a", QLESS_UNTIL_SECONDS, 1e6);
	pop(101, "q", "w", 1);
	complete(105, "q", "a", "w");
	TEST_ASSERT_NULL(qless_get(q, STR("a")));
	ASSERT_HOLDER("", 106);
	TEST_ASSERT_EQUAL_size_t(0, qless_unique_count(q));
}

/* ---- coming back ---- */

static void a_job_that_comes_back_takes_its_key_again_if_it_is_free(void)
{
	put_unique(1, "a");
	pop(2, "q", "w", 1);
	fail(3, "a", "w", "group");
	unfail(4, 1);
	ASSERT_HOLDER("a", 4);
	TEST_ASSERT_EQUAL_STRING("a", put_unique(5, "b"));
}

static void a_job_that_comes_back_goes_on_without_a_key_that_is_held(void)
{
	put_unique(1, "a");
	pop(2, "q", "w", 1);
	fail(3, "a", "w", "group");
	put_unique(4, "b");
	unfail(5, 1);
	ASSERT_HOLDER("b", 5);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("a").state);
	/* It takes the key at a change of its state, once the key is free. */
	TEST_ASSERT_EQUAL_STRING("b a ", pop(6, "q", "w", 2));
	complete(7, "q", "b", "w");
	ASSERT_HOLDER("", 7);
	retry_job(8, "a");
	ASSERT_HOLDER("a", 8);
}

static void a_finished_job_that_is_requeued_takes_its_key_again(void)
{
	struct qless_put p = a_put("q", "a");

	put_unique(1, "a");
	pop(2, "q", "w", 1);
	complete(3, "q", "a", "w");
	OK(qless_requeue(q, 4, &p));
	ASSERT_HOLDER("a", 4);
}

/* ---- replacing ---- */

static void replace(double now, const char *data, double delay, bool has_priority, double priority)
{
	struct qless_terms terms = with_key("key", QLESS_UNTIL_FINISHED, 0);
	struct qless_put p = a_put("elsewhere", "new");
	struct qless_str holder;

	terms.unique.replace = true;
	p.terms = &terms;
	p.data = str_from(data);
	p.delay = delay;
	p.has_priority = has_priority;
	p.priority = priority;
	OK(qless_put(q, now, &p));
	TEST_ASSERT_EQUAL_INT(QLESS_PUT_HELD, qless_read_put_end(q, 0, &holder));
	ASSERT_STR("a", holder);
	TEST_ASSERT_NULL(qless_get(q, STR("new")));
}

static void a_replacing_put_postpones_a_scheduled_job(void)
{
	struct qless_terms terms = with_key("key", QLESS_UNTIL_FINISHED, 0);
	struct qless_put p = a_put("q", "a");

	p.terms = &terms;
	p.delay = 10;
	OK(qless_put(q, 0, &p));
	replace(5, "{\"n\":2}", 10, true, 7);
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info_of("a").state);
	ASSERT_STR("{\"n\":2}", info_of("a").data);
	ASSERT_STR("q", info_of("a").queue);
	TEST_ASSERT_TRUE(info_of("a").priority == 7);
	TEST_ASSERT_EQUAL_STRING("", pop(14, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("a ", pop(15, "q", "w", 1));
}

static void a_replacing_put_without_a_priority_leaves_it_alone(void)
{
	struct qless_terms terms = with_key("key", QLESS_UNTIL_FINISHED, 0);
	struct qless_put p = a_put("q", "a");

	p.terms = &terms;
	p.has_priority = true;
	p.priority = 3;
	OK(qless_put(q, 0, &p));
	replace(1, "[]", 0, false, 0);
	TEST_ASSERT_TRUE(info_of("a").priority == 3);
	ASSERT_STR("[]", info_of("a").data);
}

static void a_replacing_put_lets_a_waiting_job_keep_its_place(void)
{
	put_unique(1, "a");
	put(2, "q", "b");
	replace(3, "[]", 0, false, 0);
	TEST_ASSERT_EQUAL_STRING("a b ", pop(4, "q", "w", 2));
}

static void a_replacing_put_moves_a_waiting_job_by_its_priority(void)
{
	put_unique(1, "a");
	put(2, "q", "b");
	replace(3, "[]", 0, true, -1);
	TEST_ASSERT_EQUAL_STRING("b a ", pop(4, "q", "w", 2));
}

static void a_replacing_put_can_schedule_a_waiting_job(void)
{
	put_unique(1, "a");
	replace(2, "[]", 10, false, 0);
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info_of("a").state);
	ASSERT_HOLDER("a", 2);
	replace(3, "[]", 0, false, 0);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("a").state);
	ASSERT_HOLDER("a", 3);
}

static void a_replacing_put_changes_when_a_depending_job_is_due(void)
{
	struct qless_terms terms = with_key("key", QLESS_UNTIL_FINISHED, 0);
	struct qless_str on = STR("other");
	struct qless_put p = a_put("q", "a");

	put(0, "elsewhere", "other");
	p.terms = &terms;
	p.depends = &on;
	p.depend_count = 1;
	OK(qless_put(q, 0, &p));
	replace(5, "[]", 10, false, 0);
	TEST_ASSERT_EQUAL_INT(QLESS_DEPENDS, info_of("a").state);
	OK(qless_depends_off_all(q, 6, STR("a")));
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info_of("a").state);
	TEST_ASSERT_EQUAL_STRING("", pop(14, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("a ", pop(15, "q", "w", 1));
}

static void a_replacing_put_leaves_a_running_job_alone(void)
{
	uint64_t changes;

	put_unique(1, "a");
	pop(2, "q", "w", 1);
	changes = qless_changes(q);
	replace(3, "[]", 10, true, 5);
	TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(q));
	ASSERT_STR("{}", info_of("a").data);
	TEST_ASSERT_TRUE(info_of("a").priority == 0);
}

/* ---- next queues, recurring jobs ---- */

static enum qless_state move_on(double now, const char *jid, const struct qless_terms *terms)
{
	struct qless_str next = STR("next");
	struct qless_complete c = { .jid = str_from(jid),
				    .worker = STR("w"),
				    .queue = STR("q"),
				    .data = STR("{\"moved\":1}"),
				    .next = &next,
				    .terms = terms };
	enum qless_state state;

	OK(qless_complete(q, now, &c, &state));
	return state;
}

static void a_job_keeps_its_key_in_its_next_queue(void)
{
	put_unique(1, "a");
	pop(2, "q", "w", 1);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, move_on(3, "a", NULL));
	ASSERT_HOLDER("a", 3);
}

static void a_job_may_get_a_key_for_its_next_queue(void)
{
	struct qless_terms terms = with_key("key", QLESS_UNTIL_FINISHED, 0);

	put(1, "q", "a");
	pop(2, "q", "w", 1);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, move_on(3, "a", &terms));
	ASSERT_HOLDER("a", 3);
}

static void a_job_whose_next_key_is_held_is_complete_for_good(void)
{
	struct qless_terms terms = with_key("key", QLESS_UNTIL_FINISHED, 0);

	put(1, "q", "b");
	put_unique(2, "a");
	TEST_ASSERT_EQUAL_STRING("b ", pop(3, "q", "w", 1));
	terms.unique.replace = true;
	TEST_ASSERT_EQUAL_INT(QLESS_COMPLETE, move_on(4, "b", &terms));
	ASSERT_HOLDER("a", 4);
	ASSERT_STR("{\"moved\":1}", info_of("a").data);
	/* The holder has this data already, but the job that is completed does not. */
	put_priority(5, "q", "c", 9);
	TEST_ASSERT_EQUAL_STRING("c ", pop(6, "q", "w", 1));
	TEST_ASSERT_EQUAL_INT(QLESS_COMPLETE, move_on(7, "c", &terms));
	TEST_ASSERT_FALSE(qless_kept_data(q));
}

static void recur(double now, double interval, const struct qless_terms *terms)
{
	struct qless_recur_put r = { .queue = STR("q"),
				     .jid = STR("r"),
				     .klass = STR("Klass"),
				     .data = STR("{}"),
				     .interval = interval,
				     .terms = terms };

	OK(qless_recur(q, now, &r));
}

static void a_tick_that_finds_the_key_held_makes_no_job(void)
{
	struct qless_terms terms = with_key("key", QLESS_UNTIL_FINISHED, 0);

	recur(1000, 10, &terms);
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(1000, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("", pop(1010, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("", pop(1020, "q", "w", 9));
	complete(1025, "q", "r-1", "w");
	TEST_ASSERT_EQUAL_STRING("", pop(1026, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("r-2 ", pop(1030, "q", "w", 9));
}

static void overdue_ticks_of_a_unique_job_make_one_job(void)
{
	struct qless_terms terms = with_key("key", QLESS_UNTIL_FINISHED, 0);

	recur(1000, 1, &terms);
	/* As many ticks as would take minutes if each were looked at. */
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(1e12, "q", "w", 9));
	complete(1e12, "q", "r-1", "w");
	TEST_ASSERT_EQUAL_STRING("", pop(1e12, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("r-2 ", pop(1e12 + 1, "q", "w", 9));
}

static void the_key_of_a_recurring_job_can_change(void)
{
	struct qless_terms terms = with_key("key", QLESS_UNTIL_FINISHED, 0);
	struct qless_recur_change change = { .field = QLESS_RECUR_UNIQUE, .text = STR("other") };
	struct qless_recur_info info;

	recur(1000, 10, &terms);
	OK(qless_recur_update(q, 1000, STR("r"), &change, 1));
	qless_recur_read(qless_recur_get(q, STR("r")), &info);
	ASSERT_STR("other", info.terms->unique.key);
	put_unique(1000, "a");
	TEST_ASSERT_EQUAL_STRING("r-1 a ", pop(1001, "q", "w", 9));
	change.text = STR("");
	ASSERT_ERROR(QLESS_EBADARG, "recur_update: unique must not be empty",
		     qless_recur_update(q, 1002, STR("r"), &change, 1));
}

/* ---- bad input ---- */

#define ASSERT_REFUSED(code, text, key, until, seconds)                    \
	do {                                                               \
		struct qless_terms terms_ = with_key(key, until, seconds); \
		struct qless_put put_ = a_put("q", "bad");                 \
		uint64_t changes_ = qless_changes(q);                      \
                                                                           \
		put_.terms = &terms_;                                      \
		ASSERT_ERROR(code, text, qless_put(q, 1, &put_));          \
		TEST_ASSERT_EQUAL_UINT64(changes_, qless_changes(q));      \
	} while (0)

static void invalid_keys_and_times_are_refused(void)
{
	struct qless_limits limits = { .is_strict = true, .max_name_bytes = 8 };

	qless_set_limits(q, &limits);
	ASSERT_REFUSED(QLESS_EBADARG, "put: unique must not be empty", "", QLESS_UNTIL_FINISHED, 0);
	ASSERT_REFUSED(QLESS_ELIMIT, "put: unique key is longer than max-name-length (8 bytes)",
		       "123456789", QLESS_UNTIL_FINISHED, 0);
	ASSERT_REFUSED(QLESS_EBADARG, "put: unique key is not UTF-8: \"\\u00ff\"", "\xff",
		       QLESS_UNTIL_FINISHED, 0);
	ASSERT_REFUSED(QLESS_EBADARG, "put: until must be greater than 0: 0", "k",
		       QLESS_UNTIL_SECONDS, 0);
	ASSERT_REFUSED(QLESS_EBADARG, "put: until must be greater than 0: -1", "k",
		       QLESS_UNTIL_SECONDS, -1);
	ASSERT_REFUSED(QLESS_EBADARG, "put: until is not a finite number: nan", "k",
		       QLESS_UNTIL_SECONDS, (double)NAN);
}

static void keys_of_class_and_data_are_taken_whatever_the_limits(void)
{
	struct qless_limits limits = { .is_strict = true, .max_name_bytes = 8 };
	struct qless_args_room *room = qless_args_room_new();
	char one[QLESS_ARGS_KEY_BYTES], other[QLESS_ARGS_KEY_BYTES];
	struct qless_terms terms = { .has_unique = true };

	qless_set_limits(q, &limits);
	qless_args_key(room, STR("Klass"), STR("{\"a\":1,\"b\":[2.0]}"), one);
	qless_args_key(room, STR("Klass"), STR("{ \"b\": [2], \"a\": 1 }"), other);
	TEST_ASSERT_EQUAL_MEMORY(one, other, sizeof one);
	qless_args_key(room, STR("Other"), STR("{\"a\":1,\"b\":[2.0]}"), other);
	TEST_ASSERT_TRUE(memcmp(one, other, sizeof one) != 0);
	terms.unique.key = str_make(one, sizeof one);
	TEST_ASSERT_TRUE(qless_is_args_key(terms.unique.key));
	TEST_ASSERT_EQUAL_STRING("a", put_terms(1, "a", &terms));
	TEST_ASSERT_EQUAL_STRING("a", put_terms(1, "b", &terms));
	qless_args_room_free(room);
}

/* ---- memory, snapshots, repairs ---- */

static void a_job_without_a_key_has_no_memory_for_one(void)
{
	put_unique(1, "a");
	put(2, "q", "a");
	TEST_ASSERT_FALSE(qless_get(q, STR("a"))->flags & JOB_CARRIES);
	TEST_ASSERT_NULL(job_extra(qless_get(q, STR("a"))));
}

static bool save_piece(void *arg, struct qless_str piece)
{
	return buf_append_str(arg, piece);
}

static struct qless_str give_all(void *arg)
{
	struct qless_str *left = arg, all = *left;

	*left = STR("");
	return all;
}

static void a_snapshot_has_keys_claims_and_holders(void)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX), before = BUF_INIT(BUF_NO_MAX),
		   after = BUF_INIT(BUF_NO_MAX);
	struct qless_terms terms = with_key("timed", QLESS_UNTIL_SECONDS, 60);
	struct qless_hooks hooks = { .hash_seed = 7 };
	struct qless *loaded = qless_new(&hooks);
	struct qless_str left, holder;

	put_unique(1, "a");
	pop(2, "q", "w", 1);
	fail(3, "a", "w", "group");
	put_until(4, "b", QLESS_UNTIL_POPPED, 0);
	unfail(5, 1);
	put_terms(6, "c", &terms);
	terms.unique.replace = true;
	recur(1000, 10, &terms);
	qless_dump(q, append_piece, &before);
	TEST_ASSERT_TRUE(state_save(q, save_piece, &bytes));
	left = buf_str(&bytes);
	OK(state_load(loaded, give_all, &left));
	qless_dump(loaded, append_piece, &after);
	TEST_ASSERT_EQUAL_STRING(buf_cstr(&before), buf_cstr(&after));
	TEST_ASSERT_TRUE(qless_unique_holder(loaded, KEY, 7, &holder));
	ASSERT_STR("b", holder);
	TEST_ASSERT_TRUE(qless_unique_holder(loaded, STR("timed"), 65.9, &holder));
	TEST_ASSERT_FALSE(qless_unique_holder(loaded, STR("timed"), 66, &holder));
	TEST_ASSERT_EQUAL_size_t(0, qless_check(loaded, on_finding, NULL));
	qless_free(loaded);
	buf_done(&bytes);
	buf_done(&before);
	buf_done(&after);
}

static struct unique_key *key_of(const char *jid)
{
	return job_carried(qless_get(q, str_from(jid)))->unique.key;
}

static size_t count_findings(void)
{
	return qless_check(q, NULL, NULL);
}

static void damage_of_the_table_is_found_and_repaired(void)
{
	put_unique(1, "a");
	pop(2, "q", "w", 1);
	fail(3, "a", "w", "group");
	put(4, "q", "b");
	/* A failed job holds a key. */
	key_of("a")->holder = (struct qless_job *)(uintptr_t)qless_get(q, STR("a"));
	TEST_ASSERT_EQUAL_size_t(1, count_findings());
	TEST_ASSERT_EQUAL_size_t(1, qless_resolve(q, 5));
	TEST_ASSERT_NULL(key_of("a")->holder);
	/* A job holds a key that it does not claim. */
	key_of("a")->holder = (struct qless_job *)(uintptr_t)qless_get(q, STR("b"));
	TEST_ASSERT_EQUAL_size_t(1, count_findings());
	TEST_ASSERT_EQUAL_size_t(1, qless_resolve(q, 5));
	TEST_ASSERT_NULL(key_of("a")->holder);
	/* Claims are miscounted. */
	key_of("a")->claims = 7;
	TEST_ASSERT_EQUAL_size_t(1, count_findings());
	TEST_ASSERT_EQUAL_size_t(1, qless_resolve(q, 5));
	TEST_ASSERT_EQUAL_UINT32(1, key_of("a")->claims);
	/* The table lacks a key. */
	hash_remove(&q->unique_keys, &key_of("a")->hash);
	TEST_ASSERT_EQUAL_size_t(1, count_findings());
	TEST_ASSERT_EQUAL_size_t(1, qless_resolve(q, 5));
	TEST_ASSERT_EQUAL_size_t(0, count_findings());
	unfail(6, 1);
	ASSERT_HOLDER("a", 6);
}

static void on_repair(void *arg, const struct qless_repair *repair, size_t weight)
{
	struct qless_repair *found = arg;

	TEST_ASSERT_EQUAL_size_t(1, weight);
	TEST_ASSERT_EQUAL_UINT(0, found->kind);
	*found = *repair;
}

static void a_repair_of_the_table_is_made_once(void)
{
	struct qless_repair repair = { .kind = 0 };

	put_unique(1, "a");
	key_of("a")->claims = 2;
	TEST_ASSERT_TRUE(qless_find_repairs(q, 2, on_repair, &repair));
	TEST_ASSERT_EQUAL_UINT(QLESS_REPAIR_UNIQUE, repair.kind);
	key_of("a")->claims = 2;
	TEST_ASSERT_EQUAL_size_t(1, qless_repair(q, 2, &repair, 1));
	TEST_ASSERT_EQUAL_size_t(0, qless_repair(q, 2, &repair, 1));
	ASSERT_HOLDER("a", 2);
}

static uint64_t index_bytes(const char *key)
{
	struct qless_terms terms = with_key(key, QLESS_UNTIL_FINISHED, 0);
	struct view_memory memory = { 0 };

	put_terms(0, "a", &terms);
	view_queue_memory(q, STR("q"), SIZE_MAX, &memory);
	TEST_ASSERT_EQUAL_UINT64(1, memory.jobs);
	return memory.index;
}

static void the_memory_of_a_job_has_its_key(void)
{
	TEST_ASSERT_EQUAL_UINT64(index_bytes("k") + 20, index_bytes("k-and-20-more-letters"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_put_that_finds_its_key_held_changes_nothing);
	RUN(a_refused_put_leaves_an_existing_job_alone);
	RUN(a_put_of_the_holder_itself_is_an_ordinary_put);
	RUN(keys_belong_to_the_database_and_not_to_a_queue);
	RUN(a_put_without_a_key_gives_the_key_away);
	RUN(a_put_with_another_key_gives_the_first_one_away);
	RUN(a_requeue_without_a_key_keeps_it);
	RUN(several_puts_of_one_call_share_a_key_once);
	RUN(a_key_until_finished_is_held_from_state_to_state);
	RUN(a_key_until_finished_is_free_after_completion);
	RUN(a_key_until_finished_is_free_after_each_kind_of_failure);
	RUN(a_key_outlives_the_job_that_it_was_made_for);
	RUN(a_key_is_free_after_a_cancellation);
	RUN(a_key_until_popped_is_free_from_the_pop_on);
	RUN(a_key_until_popped_comes_back_with_a_retry_if_it_is_free);
	RUN(a_key_until_popped_comes_back_with_a_timeout);
	RUN(a_key_for_seconds_is_free_at_its_time);
	RUN(a_key_for_seconds_is_held_in_each_state);
	RUN(a_key_for_seconds_goes_with_its_job);
	RUN(a_job_that_comes_back_takes_its_key_again_if_it_is_free);
	RUN(a_job_that_comes_back_goes_on_without_a_key_that_is_held);
	RUN(a_finished_job_that_is_requeued_takes_its_key_again);
	RUN(a_replacing_put_postpones_a_scheduled_job);
	RUN(a_replacing_put_without_a_priority_leaves_it_alone);
	RUN(a_replacing_put_lets_a_waiting_job_keep_its_place);
	RUN(a_replacing_put_moves_a_waiting_job_by_its_priority);
	RUN(a_replacing_put_can_schedule_a_waiting_job);
	RUN(a_replacing_put_changes_when_a_depending_job_is_due);
	RUN(a_replacing_put_leaves_a_running_job_alone);
	RUN(a_job_keeps_its_key_in_its_next_queue);
	RUN(a_job_may_get_a_key_for_its_next_queue);
	RUN(a_job_whose_next_key_is_held_is_complete_for_good);
	RUN(a_tick_that_finds_the_key_held_makes_no_job);
	RUN(overdue_ticks_of_a_unique_job_make_one_job);
	RUN(the_key_of_a_recurring_job_can_change);
	RUN(invalid_keys_and_times_are_refused);
	RUN(keys_of_class_and_data_are_taken_whatever_the_limits);
	RUN(a_job_without_a_key_has_no_memory_for_one);
	RUN(a_snapshot_has_keys_claims_and_holders);
	RUN(damage_of_the_table_is_found_and_repaired);
	RUN(a_repair_of_the_table_is_made_once);
	RUN(the_memory_of_a_job_has_its_key);
	return UNIT_RESULT();
}
