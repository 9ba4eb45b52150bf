/*
 * Parts that few jobs carry: the terms of their put, and the account of their workers.
 */
#include "limiting.h"

#include "engine/account.h"
#include "engine/carried.h"
#include "engine/terms.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static struct qless_terms backing_off(enum qless_backoff_kind kind, double base, double max)
{
	return (struct qless_terms){ .has_backoff = true, .backoff = { kind, base, max } };
}

static void put_terms(double now, const char *queue, const char *jid,
		      const struct qless_terms *terms)
{
	struct qless_put p = a_put(queue, jid);

	p.terms = terms;
	OK(qless_put(q, now, &p));
}

static void put_backoff(double now, const char *jid, enum qless_backoff_kind kind, double base,
			double max)
{
	struct qless_terms terms = backing_off(kind, base, max);

	put_terms(now, "q", jid, &terms);
}

/* Pops the only job and returns it to the queue. Returns when it is due. */
static double retry(double now, const char *jid, bool backs_off, double delay)
{
	struct qless_retry r = { .jid = str_from(jid),
				 .queue = STR("q"),
				 .worker = STR("w"),
				 .delay = delay,
				 .backs_off = backs_off };
	char popped[32];
	double remaining;

	snprintf(popped, sizeof popped, "%s ", jid);
	TEST_ASSERT_EQUAL_STRING(popped, pop(now, "q", "w", 1));
	OK(qless_retry(q, now, &r, &remaining));
	return info_of(jid).state == QLESS_SCHEDULED ? qless_next_due(q) : now;
}

static void expect_delay(double now, const char *jid, double longest)
{
	double delay = retry(now, jid, true, 0) - now;

	TEST_ASSERT_TRUE_MESSAGE(delay <= longest && delay >= 0.8 * longest, jid);
}

static struct job_terms *terms_of(const char *jid)
{
	return job_terms(qless_get(q, str_from(jid)));
}

/* ---- backoff ---- */

static void a_fixed_backoff_has_the_same_length_for_each_attempt(void)
{
	put_backoff(0, "j", QLESS_BACKOFF_FIXED, 10, 60);
	expect_delay(1, "j", 10);
	expect_delay(100, "j", 10);
	expect_delay(200, "j", 10);
}

static void a_linear_backoff_grows_by_its_base(void)
{
	put_backoff(0, "j", QLESS_BACKOFF_LINEAR, 10, 25);
	expect_delay(1, "j", 10);
	expect_delay(100, "j", 20);
	expect_delay(200, "j", 25);
}

static void an_exponential_backoff_doubles_up_to_its_maximum(void)
{
	put_backoff(0, "j", QLESS_BACKOFF_EXPONENTIAL, 10, 75);
	expect_delay(1, "j", 10);
	expect_delay(100, "j", 20);
	expect_delay(200, "j", 40);
	expect_delay(300, "j", 75);
}

static void a_delay_that_is_given_wins_over_the_backoff(void)
{
	put_backoff(0, "j", QLESS_BACKOFF_FIXED, 10, 60);
	TEST_ASSERT_EQUAL_DOUBLE(1, retry(1, "j", false, 0));
	TEST_ASSERT_EQUAL_DOUBLE(7, retry(2, "j", false, 5));
}

static void a_job_without_backoff_comes_back_at_once(void)
{
	put(0, "q", "j");
	TEST_ASSERT_EQUAL_DOUBLE(1, retry(1, "j", true, 0));
}

static void the_jitter_depends_on_the_jid_and_the_attempt_alone(void)
{
	double first, second, other;

	put_backoff(0, "a", QLESS_BACKOFF_FIXED, 10, 60);
	first = retry(0, "a", true, 0);
	second = retry(100, "a", true, 0) - 100;
	OK(qless_cancel(q, 100, &STR("a"), 1));
	put_backoff(200, "b", QLESS_BACKOFF_FIXED, 10, 60);
	other = retry(200, "b", true, 0) - 200;
	OK(qless_cancel(q, 200, &STR("b"), 1));
	TEST_ASSERT_TRUE(first != second && first != other);
	put_backoff(0, "a", QLESS_BACKOFF_FIXED, 10, 60);
	TEST_ASSERT_EQUAL_DOUBLE(first, retry(0, "a", true, 0));
}

static void an_invalid_backoff_is_refused(void)
{
	struct qless_terms terms = backing_off(QLESS_BACKOFF_FIXED, -1, 60);
	struct qless_put p = a_put("q", "j");
	struct qless_recur_put r = { .queue = STR("q"),
				     .jid = STR("r"),
				     .klass = STR("k"),
				     .data = STR("{}"),
				     .interval = 60,
				     .terms = &terms };

	p.terms = &terms;
	ASSERT_ERROR(QLESS_EBADARG, "put: base must not be negative: -1", qless_put(q, 0, &p));
	ASSERT_ERROR(QLESS_EBADARG, "recur: base must not be negative: -1", qless_recur(q, 0, &r));
	terms = backing_off(QLESS_BACKOFF_FIXED, 1, INFINITY);
	ASSERT_ERROR(QLESS_EBADARG, "put: max is not a finite number: inf", qless_put(q, 0, &p));
	TEST_ASSERT_FALSE(exists("j"));
	TEST_ASSERT_EQUAL_UINT64(0, qless_changes(q));
}

/* ---- terms of one put ---- */

static void a_job_with_a_time_is_due_exactly_then(void)
{
	struct qless_terms terms = { .has_at = true, .at = 1700000000.1 };

	put_terms(1699999999.9, "q", "j", &terms);
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info_of("j").state);
	TEST_ASSERT_TRUE(terms.at == qless_next_due(q));
	TEST_ASSERT_EQUAL_STRING("", pop(1700000000.0, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("j ", pop(1700000000.1, "q", "w", 1));
	TEST_ASSERT_FALSE(info_of("j").carries);
}

static void a_time_that_has_passed_puts_the_job_at_once(void)
{
	struct qless_terms terms = { .has_at = true, .at = -5 };

	put_terms(10, "q", "j", &terms);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("j").state);
	terms.at = 11;
	put_terms(11, "q", "k", &terms);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("k").state);
}

static void a_job_that_depends_on_others_keeps_its_time(void)
{
	struct qless_terms terms = { .has_at = true, .at = 100 };
	struct qless_put p = a_put("q", "j");
	struct qless_str on = STR("first");

	put(0, "q", "first");
	p.terms = &terms;
	p.depends = &on;
	p.depend_count = 1;
	OK(qless_put(q, 0, &p));
	TEST_ASSERT_EQUAL_INT(QLESS_DEPENDS, info_of("j").state);
	reload();
	pop(1, "q", "w", 1);
	complete(2, "q", "first", "w");
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info_of("j").state);
	TEST_ASSERT_EQUAL_DOUBLE(100, qless_next_due(q));
}

static void jobs_of_one_call_with_a_time_keep_their_order(void)
{
	struct qless_terms terms = { .has_at = true, .at = 100 };
	struct qless_put puts[3] = { a_put("q", "c"), a_put("q", "b"), a_put("q", "a") };
	double until;

	for (int i = 0; i < 3; i++)
		puts[i].terms = &terms;
	OK(qless_put_many(q, 1, puts, 3, &until));
	TEST_ASSERT_EQUAL_DOUBLE(100, qless_next_due(q));
	TEST_ASSERT_EQUAL_STRING("c b a ", pop(101, "q", "w", 5));
}

static void a_put_for_a_free_jid_leaves_an_existing_job_alone(void)
{
	struct qless_terms terms = { .is_new = true };
	struct qless_put puts[3] = { a_put("q", "a"), a_put("other", "b"), a_put("q", "a") };
	struct qless_str holder;
	uint64_t changes;
	double until;

	put(0, "q", "b");
	for (int i = 0; i < 3; i++)
		puts[i].terms = &terms;
	OK(qless_put_many(q, 1, puts, 3, &until));
	TEST_ASSERT_EQUAL_INT(QLESS_PUT_DONE, qless_read_put_end(q, 0, &holder));
	TEST_ASSERT_EQUAL_INT(QLESS_PUT_EXISTS, qless_read_put_end(q, 1, &holder));
	TEST_ASSERT_EQUAL_INT(QLESS_PUT_EXISTS, qless_read_put_end(q, 2, &holder));
	TEST_ASSERT_EQUAL_STRING("put@0 ", history_of("b"));
	ASSERT_STR("q", info_of("b").queue);
	forget_events();
	changes = qless_changes(q);
	OK(qless_put(q, 2, &puts[1]));
	TEST_ASSERT_EQUAL_INT(QLESS_PUT_EXISTS, qless_read_put_end(q, 0, &holder));
	TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(q));
	ASSERT_EVENTS("");
	put(3, "q", "b");
	TEST_ASSERT_EQUAL_INT(QLESS_PUT_DONE, qless_read_put_end(q, 0, &holder));
}

static void a_number_is_used_once(void)
{
	struct qless_terms terms = { .has_number = true, .number = 1 };

	TEST_ASSERT_EQUAL_DOUBLE(1, qless_next_number(q, 0));
	put_terms(0, "q", "1", &terms);
	TEST_ASSERT_EQUAL_DOUBLE(2, qless_next_number(q, 0));
	TEST_ASSERT_EQUAL_DOUBLE(6, qless_next_number(q, 5));
	OK(qless_cancel(q, 0, &STR("1"), 1));
	reload();
	TEST_ASSERT_EQUAL_DOUBLE(2, qless_next_number(q, 0));
}

static void numbers_that_are_jids_are_skipped(void)
{
	char jid[16];
	double number;

	for (int i = 1; i <= 3; i++) {
		snprintf(jid, sizeof jid, "%d", i);
		put(0, "q", jid);
	}
	TEST_ASSERT_EQUAL_DOUBLE(4, qless_next_number(q, 0));
	for (int i = 4; i <= 5000; i++) {
		snprintf(jid, sizeof jid, "%d", i);
		put(0, "q", jid);
	}
	number = qless_next_number(q, 0);
	TEST_ASSERT_TRUE(number > 5000 && number < 20000);
}

static void invalid_terms_of_one_put_are_refused(void)
{
	struct qless_terms terms = { .has_at = true, .at = INFINITY };
	struct qless_put p = a_put("q", "j");

	p.terms = &terms;
	ASSERT_ERROR(QLESS_EBADARG, "put: at is not a finite number: inf", qless_put(q, 0, &p));
	terms = (struct qless_terms){ .has_number = true, .number = 0.5 };
	ASSERT_ERROR(QLESS_EBADARG, "put: number is not an integer: 0.5", qless_put(q, 0, &p));
	TEST_ASSERT_EQUAL_UINT64(0, qless_changes(q));
}

static void each_put_says_whether_its_data_is_raw(void)
{
	struct qless_terms terms = { .is_raw = true };
	struct qless_put p = a_put("q", "j");

	p.terms = &terms;
	p.data = STR("\0\xff bytes");
	OK(qless_put(q, 0, &p));
	TEST_ASSERT_TRUE(info_of("j").is_raw);
	reload();
	TEST_ASSERT_TRUE(info_of("j").is_raw);
	TEST_ASSERT_TRUE(str_equal(STR("\0\xff bytes"), info_of("j").data));
	put(1, "q", "j");
	TEST_ASSERT_FALSE(info_of("j").is_raw);
	TEST_ASSERT_FALSE(info_of("j").carries);
	OK(qless_requeue(q, 2, &p));
	TEST_ASSERT_TRUE(info_of("j").is_raw);
	terms = backing_off(QLESS_BACKOFF_FIXED, 10, 25);
	OK(qless_requeue(q, 3, &p));
	TEST_ASSERT_FALSE(info_of("j").is_raw);
}

/* ---- what a job carries ---- */

static void a_job_keeps_its_terms_until_others_are_given(void)
{
	put_backoff(0, "j", QLESS_BACKOFF_LINEAR, 10, 25);
	put(1, "q", "j");
	TEST_ASSERT_EQUAL_INT(QLESS_BACKOFF_LINEAR, terms_of("j")->backoff.kind);
	put_backoff(2, "j", QLESS_BACKOFF_FIXED, 3, 4);
	TEST_ASSERT_EQUAL_INT(QLESS_BACKOFF_FIXED, terms_of("j")->backoff.kind);
	TEST_ASSERT_EQUAL_DOUBLE(3, terms_of("j")->backoff.base);
}

static void a_job_whose_terms_are_taken_away_carries_nothing(void)
{
	put_backoff(0, "j", QLESS_BACKOFF_FIXED, 10, 25);
	TEST_ASSERT_TRUE(info_of("j").carries);
	put_backoff(0, "j", QLESS_BACKOFF_NONE, 0, 0);
	TEST_ASSERT_FALSE(info_of("j").carries);
	TEST_ASSERT_NULL(job_extra(qless_get(q, STR("j"))));
}

static void terms_and_limits_come_and_go_in_any_order(void)
{
	static const struct qless_str names[] = { STR_INIT("a") };
	struct qless_terms some = backing_off(QLESS_BACKOFF_FIXED, 10, 25);
	struct qless_terms none = backing_off(QLESS_BACKOFF_NONE, 0, 0);

	for (int step = 0; step < 32; step++) {
		struct qless_put p = a_put("q", "j");
		/* A Gray code: each step changes the limits, the terms or the tags. */
		int code = step ^ (step >> 1);

		p.has_limits = true;
		p.limits = names;
		p.limit_count = (code & 1) != 0;
		p.terms = (code & 2) != 0 ? &some : &none;
		p.has_tags = true;
		p.tags = names;
		p.tag_count = (code & 4) != 0;
		OK(qless_put(q, step, &p));
		TEST_ASSERT_EQUAL_INT((code & 1) != 0, info_of("j").has_limits);
		TEST_ASSERT_EQUAL_INT((code & 2) != 0, info_of("j").carries);
		TEST_ASSERT_EQUAL_INT((code & 4) != 0, info_of("j").has_lists);
		TEST_ASSERT_EQUAL_INT((code & 6) != 0, job_extra(qless_get(q, STR("j"))) != NULL);
		TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
		reload();
	}
}

static void a_completed_job_takes_terms_to_its_next_queue(void)
{
	struct qless_terms terms = backing_off(QLESS_BACKOFF_FIXED, 10, 60);
	struct qless_str next = STR("q");
	struct qless_complete c = { .jid = STR("j"),
				    .worker = STR("w"),
				    .queue = STR("q"),
				    .data = STR("{}"),
				    .next = &next,
				    .terms = &terms };
	enum qless_state state;

	put(0, "q", "j");
	pop(0, "q", "w", 1);
	OK(qless_complete(q, 1, &c, &state));
	expect_delay(2, "j", 10);
}

static void jobs_of_a_recurring_job_have_its_terms(void)
{
	struct qless_terms terms = backing_off(QLESS_BACKOFF_FIXED, 10, 60);
	struct qless_recur_put r = { .queue = STR("q"),
				     .jid = STR("r"),
				     .klass = STR("k"),
				     .data = STR("{}"),
				     .interval = 1000,
				     .retries = 5,
				     .terms = &terms };
	struct qless_recur_info info;

	OK(qless_recur(q, 0, &r));
	reload();
	qless_recur_read(qless_recur_get(q, STR("r")), &info);
	TEST_ASSERT_NOT_NULL(info.terms);
	TEST_ASSERT_EQUAL_DOUBLE(10, info.terms->backoff.base);
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(0, "q", "w", 1));
	TEST_ASSERT_EQUAL_DOUBLE(10, terms_of("r-1")->backoff.base);
	terms.backoff.kind = QLESS_BACKOFF_NONE;
	OK(qless_recur(q, 1, &r));
	reload();
	qless_recur_read(qless_recur_get(q, STR("r")), &info);
	TEST_ASSERT_NULL(info.terms);
}

static void a_snapshot_has_what_jobs_carry(void)
{
	struct qless_str result = STR("done \0 and dusted");
	struct qless_job *job;

	put_backoff(0, "a", QLESS_BACKOFF_EXPONENTIAL, 0.5, 3600);
	put_limited(0, "q", "b", "x y");
	put_backoff(0, "b", QLESS_BACKOFF_LINEAR, 1, 2);
	put(0, "q", "c");
	put_backoff(0, "c", QLESS_BACKOFF_FIXED, 3, 4);
	pop(1, "q", "w", 1);
	job = (struct qless_job *)(uintptr_t)qless_get(q, STR("c"));
	account_set_result(q, job, &result);
	reload();
	TEST_ASSERT_EQUAL_DOUBLE(3600, terms_of("a")->backoff.max);
	TEST_ASSERT_EQUAL_INT(QLESS_BACKOFF_LINEAR, terms_of("b")->backoff.kind);
	job = (struct qless_job *)(uintptr_t)qless_get(q, STR("c"));
	ASSERT_STR("done \0 and dusted", account_str(&job_account(job)->result));
	account_set_result(q, job, NULL);
	TEST_ASSERT_NOT_NULL(terms_of("c"));
	TEST_ASSERT_NULL(job_account(qless_get(q, STR("c"))));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(a_fixed_backoff_has_the_same_length_for_each_attempt);
	RUN_TEST(a_linear_backoff_grows_by_its_base);
	RUN_TEST(an_exponential_backoff_doubles_up_to_its_maximum);
	RUN_TEST(a_delay_that_is_given_wins_over_the_backoff);
	RUN_TEST(a_job_without_backoff_comes_back_at_once);
	RUN_TEST(the_jitter_depends_on_the_jid_and_the_attempt_alone);
	RUN_TEST(an_invalid_backoff_is_refused);
	RUN_TEST(a_job_with_a_time_is_due_exactly_then);
	RUN_TEST(a_time_that_has_passed_puts_the_job_at_once);
	RUN_TEST(a_job_that_depends_on_others_keeps_its_time);
	RUN_TEST(jobs_of_one_call_with_a_time_keep_their_order);
	RUN_TEST(a_put_for_a_free_jid_leaves_an_existing_job_alone);
	RUN_TEST(a_number_is_used_once);
	RUN_TEST(numbers_that_are_jids_are_skipped);
	RUN_TEST(invalid_terms_of_one_put_are_refused);
	RUN_TEST(each_put_says_whether_its_data_is_raw);
	RUN_TEST(a_job_keeps_its_terms_until_others_are_given);
	RUN_TEST(a_job_whose_terms_are_taken_away_carries_nothing);
	RUN_TEST(terms_and_limits_come_and_go_in_any_order);
	RUN_TEST(a_completed_job_takes_terms_to_its_next_queue);
	RUN_TEST(jobs_of_a_recurring_job_have_its_terms);
	RUN_TEST(a_snapshot_has_what_jobs_carry);
	return UNITY_END();
}
