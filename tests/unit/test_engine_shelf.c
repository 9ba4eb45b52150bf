/*
 * Pops of one class, and the shelves that make them fast. The random test of limits compares them
 * with a slow model; here are their bounds.
 */
#include "engine/engine_int.h"
#include "engine/lane.h"
#include "engine/shelf.h"

#include "limiting.h"

#define MANY	5000
#define PORTION 1000

void setUp(void)
{
	engine_set_up();
	is_heard = false;
	set_option("heartbeat", "100000");
	set_option("grace-period", "0");
}

void tearDown(void)
{
	TEST_ASSERT_TRUE(lanes_are_sound(q));
	engine_tear_down();
}

static void put_klass(double now, const char *klass, int number, double delay, const char *limits)
{
	struct qless_str names[LIMIT_NAMES_MAX];
	struct qless_put put;
	char jid[40];

	snprintf(jid, sizeof jid, "%s-%05d", klass, number);
	put = a_limited_put("q", jid, limits, names);
	put.klass = str_from(klass);
	put.delay = delay;
	OK(qless_put(q, now, &put));
}

static void put_many(double now, const char *klass, int count, const char *limits)
{
	for (int i = 0; i < count; i++)
		put_klass(now + i * 1e-6, klass, i, 0, limits);
}

static void cancel(double now, const char *jid)
{
	struct qless_str name = str_from(jid);

	OK(qless_cancel(q, now, &name, 1));
}

/* Pops jobs of a class, and expects their jids, each with a blank after it. */
static void expect_pop(double now, const char *klass, int64_t count, const char *jids)
{
	struct buf got = BUF_INIT(BUF_NO_MAX);
	struct qless_job_info info;
	struct qless_jobs jobs;

	OK(qless_pop_class_steps(q, now, STR("q"), STR("w"), str_from(klass), count, UINT64_MAX,
				 &jobs));
	for (size_t i = 0; i < jobs.count; i++) {
		qless_job_read(jobs.items[i], &info);
		buf_printf(&got, "%.*s ", (int)info.jid.len, info.jid.ptr);
	}
	TEST_ASSERT_EQUAL_STRING(jids, buf_cstr(&got));
	buf_done(&got);
}

static bool is_poppable(double now, const char *klass)
{
	return qless_is_class_poppable(q, now, STR("q"), str_from(klass));
}

static struct shelf *shelf_of_klass(const char *klass)
{
	return shelf_find(queue_find(q, STR("q")), str_from(klass));
}

/* Returns how many calls it took to prepare the class. */
static int prepare(const char *klass)
{
	size_t left = PORTION;
	int calls = 1;

	for (; !qless_prepare_class(q, 1, STR("q"), str_from(klass), true, &left); calls++) {
		TEST_ASSERT_EQUAL_size_t(0, left);
		TEST_ASSERT_TRUE(qless_has_woken(q));
		TEST_ASSERT_LESS_THAN_INT(MANY, calls);
		left = PORTION;
	}
	return calls;
}

static void other_classes_are_left_alone(void)
{
	struct qless_jobs jobs;

	put_many(1, "a", 3, "");
	put_many(2, "b", 3, "");
	put_klass(3, "b", 3, 0, "x y");
	expect_pop(10, "b", 2, "b-00000 b-00001 ");
	expect_pop(11, "none", 2, "");
	put_klass(12, "b", 4, 0, "");
	expect_pop(13, "b", 9, "b-00002 b-00003 b-00004 ");
	TEST_ASSERT_FALSE(is_poppable(14, "b"));
	TEST_ASSERT_TRUE(is_poppable(14, "a"));
	OK(qless_pop(q, 15, STR("q"), STR("w"), 9, &jobs));
	TEST_ASSERT_EQUAL_size_t(3, jobs.count);
	TEST_ASSERT_FALSE(is_poppable(16, "a"));
}

static void an_empty_class_is_a_class(void)
{
	put_klass(1, "", 1, 0, "");
	put_klass(1, "a", 1, 0, "");
	expect_pop(2, "", 5, "-00001 ");
}

static void priorities_and_limits_count(void)
{
	struct qless_jobs jobs;

	set_concurrency(1, "x", 1);
	put_many(1, "a", 2, "x");
	put_many(2, "b", 2, "x");
	put_klass(3, "b", 7, 0, "");
	OK(qless_priority(q, 4, STR("b-00001"), 5));
	expect_pop(5, "b", 1, "b-00001 ");
	expect_pop(6, "b", 5, "b-00007 ");
	TEST_ASSERT_FALSE(is_poppable(7, "b"));
	OK(qless_pop(q, 7, STR("q"), STR("w"), 9, &jobs));
	TEST_ASSERT_EQUAL_size_t(0, jobs.count);
	cancel(8, "b-00001");
	TEST_ASSERT_TRUE(is_poppable(9, "b"));
	expect_pop(9, "b", 5, "b-00000 ");
}

static void a_shelf_is_made_in_portions(void)
{
	put_many(1, "a", MANY, "");
	put_many(2, "c", MANY, "x");
	put_klass(3, "b", 1, 0, "");
	put_klass(4, "b", 2, 0, "y");
	prepare("none");
	TEST_ASSERT_EQUAL_INT((2 * MANY + 2) / PORTION + 1, prepare("b"));
	TEST_ASSERT_EQUAL_INT(1, prepare("b"));
	expect_pop(5, "b", 5, "b-00001 b-00002 ");
	TEST_ASSERT_FALSE(is_poppable(6, "b"));
}

static void jobs_come_and_go_while_a_shelf_is_made(void)
{
	size_t left = PORTION;
	struct qless_jobs jobs;

	put_many(1, "a", MANY, "");
	put_many(2, "b", MANY, "x");
	TEST_ASSERT_FALSE(qless_prepare_class(q, 1, STR("q"), STR("a"), true, &left));
	left = PORTION;
	/* Nobody knows yet whether there is a job of that class. */
	TEST_ASSERT_TRUE(is_poppable(3, "a"));
	OK(qless_pop(q, 3, STR("q"), STR("w"), MANY - 1, &jobs));
	TEST_ASSERT_EQUAL_size_t(MANY - 1, jobs.count);
	put_klass(4, "a", MANY, 0, "x");
	TEST_ASSERT_FALSE(qless_prepare_class(q, 1, STR("q"), STR("a"), true, &left));
	put_klass(5, "a", MANY + 1, 0, "");
	TEST_ASSERT_TRUE(lanes_are_sound(q));
	prepare("a");
	expect_pop(6, "a", 9, "a-04999 a-05000 a-05001 ");
	TEST_ASSERT_FALSE(is_poppable(7, "a"));
}

/* Pops a job of the class. Returns how many pops it took. */
static int pop_until_found(double now, const char *klass)
{
	struct qless_jobs jobs = { .count = 0 };
	int pops = 0;

	for (; jobs.count == 0; pops++) {
		TEST_ASSERT_LESS_THAN_INT(MANY, pops);
		TEST_ASSERT_TRUE(is_poppable(now, klass));
		OK(qless_pop_class_steps(q, now, STR("q"), STR("v"), str_from(klass), 1, UINT64_MAX,
					 &jobs));
		if (jobs.count == 0)
			TEST_ASSERT_TRUE(qless_has_woken(q));
	}
	TEST_ASSERT_EQUAL_size_t(1, jobs.count);
	return pops;
}

/* The jobs of all classes come due in one order. */
static void jobs_that_are_due_are_moved_in_portions(void)
{
	for (int i = 0; i < MANY; i++)
		put_klass(1, "a", i, 10 + i * 1e-3, "");
	put_klass(1, "b", 1, 20, "");
	prepare("b");
	TEST_ASSERT_FALSE(is_poppable(5, "b"));
	TEST_ASSERT_GREATER_THAN_INT(2, pop_until_found(100, "b"));
}

static void recurring_jobs_make_jobs_of_their_class(void)
{
	static const char *const klasses[] = { "a", "b" };

	for (int i = 0; i < 2; i++)
		OK(qless_recur(q, 1,
			       &(struct qless_recur_put){ .queue = STR("q"),
							  .jid = str_from(klasses[i]),
							  .klass = str_from(klasses[i]),
							  .data = STR("{}"),
							  .interval = 10 }));
	expect_pop(2, "b", 5, "b-1 ");
	TEST_ASSERT_FALSE(is_poppable(3, "b"));
	TEST_ASSERT_TRUE(is_poppable(12, "b"));
	expect_pop(22, "b", 5, "b-2 b-3 ");
	expect_pop(23, "a", 1, "a-1 ");
}

static void a_paused_queue_has_nothing_of_a_class(void)
{
	static const struct qless_str queue = STR_INIT("q");

	put_klass(1, "a", 1, 0, "");
	OK(qless_pause(q, 2, &queue, 1));
	TEST_ASSERT_FALSE(is_poppable(3, "a"));
	expect_pop(3, "a", 1, "");
	OK(qless_unpause(q, 4, &queue, 1));
	expect_pop(5, "a", 1, "a-00001 ");
}

static void names_take_turns_in_a_class(void)
{
	set_option("q-order", "fair");
	put_many(1, "a", 3, "x");
	put_many(2, "b", 3, "y");
	put_klass(3, "a", 7, 0, "y");
	put_klass(4, "a", 8, 0, "y");
	/* Jobs of other classes take turns of the same names. */
	expect_pop(5, "a", 3, "a-00000 a-00007 a-00001 ");
	expect_pop(6, "b", 1, "b-00000 ");
	expect_pop(7, "a", 2, "a-00002 a-00008 ");
}

/* All locks expire, that of the class last. */
static void locks_of_all_classes_are_treated(void)
{
	struct qless_queue_counts counts;
	struct qless_jobs jobs;

	put_many(1, "a", MANY, "");
	OK(qless_pop(q, 2, STR("q"), STR("w"), MANY, &jobs));
	put_klass(3, "b", 1, 0, "");
	OK(qless_pop(q, 3, STR("q"), STR("w"), 1, &jobs));
	TEST_ASSERT_GREATER_THAN_INT(2, pop_until_found(200000, "b"));
	OK(qless_queue_counts(q, 200000, STR("q"), &counts));
	TEST_ASSERT_EQUAL_UINT64(MANY, counts.waiting);
	TEST_ASSERT_EQUAL_UINT64(1, counts.running);
}

static void a_shelf_that_nobody_asks_for_is_dropped(void)
{
	struct qless_jobs jobs;
	double now = 10;
	int rounds = 0;

	put_many(1, "b", 100, "x");
	prepare("b");
	put_many(3, "a", 100, "");
	prepare("a");
	for (; queue_find(q, STR("q"))->shelves != NULL; rounds++, now += 10) {
		/* Somebody asks for one of them. */
		if (rounds < 200)
			prepare("a");
		TEST_ASSERT_LESS_THAN_INT(1000, rounds);
		put_many(now, "c", 100, "");
		for (int i = 0; i < 100; i++) {
			put_klass(now + 1, "b", 1000 + i, 0, i % 2 == 0 ? "" : "x");
			put_klass(now + 1, "a", 1000 + i, 0, "");
		}
		for (int i = 0; i < 30; i++)
			OK(qless_pop(q, now + 2, STR("q"), STR("w"), 10, &jobs));
		if (rounds == 199) {
			TEST_ASSERT_NOT_NULL(shelf_of_klass("a"));
			TEST_ASSERT_NULL(shelf_of_klass("b"));
		}
	}
	TEST_ASSERT_TRUE(lanes_are_sound(q));
}

/* Puts jobs of classes k0, k1 and so on. */
static void put_classes(int count)
{
	char klass[16];

	for (int i = 0; i < count; i++) {
		snprintf(klass, sizeof klass, "k%d", i);
		put_many(1 + i, klass, 3, i % 2 == 0 ? "" : "x");
	}
}

static bool is_kept(const char *klass)
{
	const struct shelf *shelf = shelf_of_klass(klass);

	return shelf != NULL && shelf->state != SHELF_DROPPING;
}

static void the_oldest_shelf_makes_room(void)
{
	char klass[16];

	put_classes(SHELVES_MAX + 1);
	for (int i = 0; i <= SHELVES_MAX; i++) {
		snprintf(klass, sizeof klass, "k%d", i);
		prepare(klass);
		if (i == SHELVES_MAX - 1)
			prepare("k0");
	}
	TEST_ASSERT_EQUAL_size_t(SHELVES_MAX, queue_find(q, STR("q"))->shelves->kept);
	TEST_ASSERT_TRUE(is_kept("k0"));
	TEST_ASSERT_FALSE(is_kept("k1"));
	prepare("k0");
	TEST_ASSERT_NULL(shelf_of_klass("k1"));
	expect_pop(100, "k1", 5, "k1-00000 k1-00001 k1-00002 ");
	expect_pop(101, "k64", 5, "k64-00000 k64-00001 k64-00002 ");
}

/* Tries each class in turn, as clients do that wait for it. Returns how many got a shelf by then.
 */
static int try_classes(double now, int count, bool can_wait, bool *are_ready)
{
	int ready = 0;

	for (int i = 0; i < count; i++) {
		size_t left = PORTION;
		char klass[16];

		snprintf(klass, sizeof klass, "k%d", i);
		if (!are_ready[i])
			are_ready[i] = qless_prepare_class(q, now, STR("q"), str_from(klass),
							   can_wait, &left);
		ready += are_ready[i];
	}
	return ready;
}

/* A shelf that is being built does not give way, or none would ever be full. */
static void classes_take_turns_if_a_queue_has_more_than_shelves(void)
{
	const int count = 2 * SHELVES_MAX;

	put_classes(count);
	put_many(500, "other", MANY, "");
	for (int can_wait = 0; can_wait < 2; can_wait++) {
		bool are_ready[2 * SHELVES_MAX] = { false };
		double now = 1000 + 1000 * can_wait;
		int rounds = 0;

		for (; try_classes(now, count, can_wait != 0, are_ready) < count; rounds++) {
			TEST_ASSERT_LESS_OR_EQUAL_size_t(SHELVES_MAX, q->shelf_books.kept);
			TEST_ASSERT_LESS_THAN_INT(20 * count, rounds);
			now += 0.001;
		}
	}
}

/* The time between two shelves that give way grows with the queue. */
static void clients_that_wait_drop_shelves_at_a_limited_rate(void)
{
	const int count = SHELVES_MAX + 8;
	bool are_ready[SHELVES_MAX + 8] = { false };
	double pause = 5e-7 * (MANY + 3 * count);
	size_t left = PORTION;
	int ready;

	put_classes(count);
	put_many(500, "other", MANY, "");
	for (int i = 0; i < 10; i++)
		try_classes(1000, count, true, are_ready);
	for (int i = 0; i < 8; i++) {
		for (int k = 0; k < 20; k++)
			ready = try_classes(1000 + i * 0.9 * pause, count, true, are_ready);
		TEST_ASSERT_EQUAL_INT(SHELVES_MAX + 1 + i / 2, ready);
	}
	/* A shelf gives way at once for a client that does not wait. */
	TEST_ASSERT_FALSE(qless_prepare_class(q, 1001, STR("q"), STR("k0"), true, &left));
	for (int i = 0; !qless_prepare_class(q, 1001, STR("q"), STR("k1"), false, &left); i++) {
		left = PORTION;
		TEST_ASSERT_LESS_THAN_INT(MANY, i);
	}
}

static bool has_woken(void)
{
	struct qless_str queue;
	bool any = false;

	while (qless_take_woken(q, &queue))
		any = true;
	return any;
}

/* Another client may call when that time has come, before the queue is reported as due. */
static void a_client_that_waits_for_a_shelf_is_woken(void)
{
	const int count = SHELVES_MAX + 2;
	bool are_ready[SHELVES_MAX + 2] = { false };
	struct qless_str queue;
	size_t left = PORTION;
	double due;

	put_classes(count);
	put_many(500, "other", MANY, "");
	for (int other_calls = 0; other_calls < 2; other_calls++) {
		double now = 1000 + other_calls;

		memset(are_ready, 0, sizeof are_ready);
		for (int k = 0; k < 20; k++)
			try_classes(now, count, true, are_ready);
		while (qless_take_due(q, now, &queue))
			continue;
		has_woken();
		due = qless_next_due(q);
		TEST_ASSERT_TRUE(due > now && due < now + 0.5);
		if (other_calls != 0)
			TEST_ASSERT_TRUE(
				qless_prepare_class(q, due, STR("q"), STR("none"), true, &left));
		while (qless_take_due(q, due, &queue))
			continue;
		TEST_ASSERT_TRUE(has_woken());
	}
}

/* Clients may ask for what they like. */
static void a_class_without_jobs_has_no_shelf(void)
{
	put_many(1, "a", 3, "");
	TEST_ASSERT_EQUAL_INT(1, prepare("none"));
	TEST_ASSERT_FALSE(is_poppable(2, "none"));
	expect_pop(2, "none", 1, "");
	TEST_ASSERT_EQUAL_size_t(0, qless_class_index_count(q));
}

static void a_pop_of_a_class_without_jobs_moves_what_is_due(void)
{
	struct qless_queue_counts counts;

	for (int i = 0; i < MANY; i++)
		put_klass(1, "a", i, 10 + i * 1e-3, "");
	expect_pop(100, "none", 1, "");
	OK(qless_queue_counts(q, 100, STR("q"), &counts));
	TEST_ASSERT_GREATER_THAN_UINT64(0, counts.scheduled);
	TEST_ASSERT_GREATER_THAN_UINT64(999, counts.waiting);
	TEST_ASSERT_TRUE(qless_has_woken(q));
}

static void a_database_has_max_class_indexes(void)
{
	char queue[16];

	qless_set_limits(q, &(struct qless_limits){ .max_class_indexes = 3 });
	put_many(1, "a", 3, "");
	for (int i = 0; i < 300; i++) {
		struct qless_put put = a_put("q", "j");
		size_t left = PORTION;

		snprintf(queue, sizeof queue, "q%d", i);
		put.queue = put.jid = str_from(queue);
		put.klass = STR("a");
		OK(qless_put(q, 2, &put));
		prepare("a");
		while (!qless_prepare_class(q, 3, put.queue, STR("a"), false, &left))
			left = PORTION;
		TEST_ASSERT_LESS_OR_EQUAL_size_t(4, qless_class_index_count(q));
		/* It was asked for between all others. */
		TEST_ASSERT_TRUE(is_kept("a"));
	}
}

static void a_repair_drops_shelves_in_portions(void)
{
	size_t left = PORTION;
	int calls = 1;

	put_many(1, "a", MANY, "");
	put_many(2, "b", MANY, "x");
	prepare("a");
	prepare("b");
	TEST_ASSERT_EQUAL_size_t(2, qless_class_index_count(q));
	TEST_ASSERT_EQUAL_size_t(MANY, qless_class_entry_count(q));
	for (; !qless_drop_classes(q, &left); calls++) {
		size_t none = PORTION;

		TEST_ASSERT_EQUAL_size_t(0, left);
		left = PORTION;
		/* Nobody begins anew before the repair. */
		TEST_ASSERT_FALSE(qless_prepare_class(q, 3, STR("q"), STR("b"), true, &none));
	}
	TEST_ASSERT_GREATER_OR_EQUAL_INT(MANY / PORTION, calls);
	TEST_ASSERT_EQUAL_size_t(0, qless_class_index_count(q));
	TEST_ASSERT_EQUAL_size_t(0, qless_class_entry_count(q));
	expect_pop(4, "b", 1, "b-00000 ");
}

static void a_queue_with_shelves_is_freed(void)
{
	static const struct qless_str queue = STR_INIT("q");

	put_many(1, "a", 3, "x");
	expect_pop(3, "a", 6, "a-00000 a-00001 a-00002 ");
	TEST_ASSERT_NOT_NULL(shelf_of_klass("a"));
	for (int i = 0; i < 3; i++) {
		char jid[16];

		snprintf(jid, sizeof jid, "a-%05d", i);
		cancel(4, jid);
	}
	OK(qless_queue_forget(q, 5, &queue, 1));
}

static void a_repair_puts_shelves_aside(void)
{
	struct qless_repair limits = { .kind = QLESS_REPAIR_LIMITS };

	put_many(1, "a", 3, "x");
	put_many(2, "b", 3, "");
	prepare("a");
	prepare("b");
	TEST_ASSERT_EQUAL_size_t(0, qless_repair(q, 3, &limits, 1));
	TEST_ASSERT_NULL(queue_find(q, STR("q"))->shelves);
	expect_pop(4, "a", 1, "a-00000 ");
	expect_pop(4, "b", 1, "b-00000 ");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(other_classes_are_left_alone);
	RUN(an_empty_class_is_a_class);
	RUN(priorities_and_limits_count);
	RUN(a_shelf_is_made_in_portions);
	RUN(jobs_come_and_go_while_a_shelf_is_made);
	RUN(jobs_that_are_due_are_moved_in_portions);
	RUN(recurring_jobs_make_jobs_of_their_class);
	RUN(a_paused_queue_has_nothing_of_a_class);
	RUN(names_take_turns_in_a_class);
	RUN(locks_of_all_classes_are_treated);
	RUN(a_shelf_that_nobody_asks_for_is_dropped);
	RUN(the_oldest_shelf_makes_room);
	RUN(classes_take_turns_if_a_queue_has_more_than_shelves);
	RUN(clients_that_wait_drop_shelves_at_a_limited_rate);
	RUN(a_client_that_waits_for_a_shelf_is_woken);
	RUN(a_class_without_jobs_has_no_shelf);
	RUN(a_pop_of_a_class_without_jobs_moves_what_is_due);
	RUN(a_database_has_max_class_indexes);
	RUN(a_repair_drops_shelves_in_portions);
	RUN(a_queue_with_shelves_is_freed);
	RUN(a_repair_puts_shelves_aside);
	return UNIT_RESULT();
}
