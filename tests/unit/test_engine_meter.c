/*
 * Monitoring: figures of queues, meters of queues and classes, and sampled memory.
 */
#include <math.h>

#include "engine.h"
#include "engine/view.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

struct wanted {
	struct qless_str name;
	struct view_queue_figures figures;
	int found;
};

static void keep_wanted(void *arg, const struct view_queue_figures *figures)
{
	struct wanted *wanted = arg;

	if (!str_equal(figures->name, wanted->name))
		return;
	wanted->figures = *figures;
	wanted->found++;
}

static struct view_queue_figures figures_of(const char *queue, double now)
{
	struct wanted wanted = { .name = str_from(queue) };

	view_each_queue(q, now, keep_wanted, &wanted);
	TEST_ASSERT_EQUAL_INT(1, wanted.found);
	return wanted.figures;
}

static void put_and_fail(double now, const char *queue, const char *jid)
{
	put(now, queue, jid);
	pop(now, queue, "w", 1);
	OK(qless_fail(q, now, str_from(jid), STR("w"), STR("group"), STR("message"), NULL));
}

static void jobs_are_counted_by_what_they_do(void)
{
	struct qless_put later = a_put("q", "later"), waits = a_put("q", "waits");
	struct qless_str jid = STR("a");
	struct qless_str name = STR("q");
	struct view_queue_figures f;

	put_and_fail(1, "q", "failed");
	put(2, "q", "a");
	put(3, "q", "b");
	put(4, "q", "c");
	pop(5, "q", "w", 1);
	pop(50, "q", "w", 1);
	later.delay = 1000;
	OK(qless_put(q, 100, &later));
	waits.depends = &jid;
	waits.depend_count = 1;
	OK(qless_put(q, 100, &waits));
	OK(qless_pause(q, 100, &name, 1));
	f = figures_of("q", 70);
	TEST_ASSERT_EQUAL_UINT64(1, f.waiting);
	TEST_ASSERT_EQUAL_UINT64(1, f.running);
	TEST_ASSERT_EQUAL_UINT64(1, f.stalled);
	TEST_ASSERT_EQUAL_UINT64(1, f.scheduled);
	TEST_ASSERT_EQUAL_UINT64(1, f.depends);
	TEST_ASSERT_EQUAL_UINT64(1, f.failed);
	TEST_ASSERT_TRUE(f.paused);
}

static void visit(void *arg, const struct view_queue_figures *figures)
{
	int *visits = arg;
	int number;

	TEST_ASSERT_EQUAL_INT(1, sscanf(figures->name.ptr, "q%d", &number));
	visits[number]++;
}

static void report(void *arg, struct qless_str finding)
{
	(void)arg;
	TEST_FAIL_MESSAGE(finding.ptr);
}

static void every_queue_is_visited_once_while_queues_come_and_go(void)
{
	enum { QUEUES = 200 };
	unsigned long long seed = 5;
	bool is_there[QUEUES] = { false };

	for (int turn = 0; turn < 3000; turn++) {
		size_t i = unit_random(&seed) % QUEUES;
		struct qless_str name;
		char text[16];

		snprintf(text, sizeof text, "q%zu", i);
		name = str_from(text);
		/* Only its being paused keeps the queue. */
		OK(is_there[i] ? qless_unpause(q, turn, &name, 1) : qless_pause(q, turn, &name, 1));
		is_there[i] = !is_there[i];
		if (turn % 100 == 0) {
			int visits[QUEUES] = { 0 };

			view_each_queue(q, turn, visit, visits);
			for (i = 0; i < QUEUES; i++)
				TEST_ASSERT_EQUAL_INT(is_there[i], visits[i]);
			TEST_ASSERT_EQUAL_size_t(0, qless_check(q, report, NULL));
		}
	}
}

static void a_meter_counts_the_events_of_a_queue(void)
{
	const struct meter *m;

	put(1, "q", "a");
	put(1, "q", "b");
	pop(3, "q", "w", 2);
	complete(10, "q", "a", "w");
	OK(qless_fail(q, 11, STR("b"), STR("w"), STR("g"), STR("m"), NULL));
	m = figures_of("q", 20).meter;
	TEST_ASSERT_EQUAL_UINT64(2, m->counts[METER_PUT]);
	TEST_ASSERT_EQUAL_UINT64(2, m->counts[METER_POP]);
	TEST_ASSERT_EQUAL_UINT64(1, m->counts[METER_COMPLETE]);
	TEST_ASSERT_EQUAL_UINT64(1, m->counts[METER_FAIL]);
	TEST_ASSERT_TRUE(m->wait.sum == 4);
	TEST_ASSERT_TRUE(m->run.sum == 7);
	/* 2 seconds are more than 1 and no more than 5; 7 no more than 10. */
	TEST_ASSERT_EQUAL_UINT64(2, m->wait.buckets[4]);
	TEST_ASSERT_EQUAL_UINT64(1, m->run.buckets[5]);
}

static void durations_fall_into_the_first_bucket_that_is_large_enough(void)
{
	const struct meter *m;

	put(10, "q", "a");
	pop(9, "q", "w", 1); /* by another clock */
	complete(9.01 + 1e9, "q", "a", "w");
	m = figures_of("q", 20).meter;
	TEST_ASSERT_EQUAL_UINT64(1, m->wait.buckets[0]);
	TEST_ASSERT_TRUE(m->wait.sum == 0);
	TEST_ASSERT_EQUAL_UINT64(1, m->run.buckets[METER_BOUND_COUNT]);
	TEST_ASSERT_TRUE(meter_bound(0) == 0.01);
	TEST_ASSERT_TRUE(meter_bound(METER_BOUND_COUNT) == INFINITY);
}

static float rate(enum meter_event event, enum meter_span span)
{
	return figures_of("q", 0).meter->rates[event][span];
}

static void rates_approach_the_traffic_and_fade(void)
{
	char jid[32];
	int jobs = 0;

	put(0, "q", "first");
	TEST_ASSERT_EQUAL_size_t(0, meter_tick(q, 0, 100, 1000));
	for (int second = 1; second <= 600; second++) {
		for (int i = 0; i < 10; i++) {
			snprintf(jid, sizeof jid, "j%d", jobs++);
			put(second, "q", jid);
		}
		meter_tick(q, 0, 100, 1000 + second);
	}
	TEST_ASSERT_FLOAT_WITHIN(0.1F, 10, rate(METER_PUT, METER_1M));
	TEST_ASSERT_FLOAT_WITHIN(0.1F, 10 * (1 - 0.1353F), rate(METER_PUT, METER_5M));
	TEST_ASSERT_FLOAT_WITHIN(0.1F, 10 * (1 - 0.5134F), rate(METER_PUT, METER_15M));
	TEST_ASSERT_TRUE(rate(METER_POP, METER_1M) == 0);
	/* The result is the same in one step and in many. */
	meter_tick(q, 0, 100, 1000 + 660);
	TEST_ASSERT_FLOAT_WITHIN(0.05F, 3.679F, rate(METER_PUT, METER_1M));
	meter_tick(q, 0, 100, 1000 + 1e6);
	TEST_ASSERT_TRUE(rate(METER_PUT, METER_15M) == 0);
}

static void many_queues_are_ticked_in_several_calls(void)
{
	char name[32];
	size_t cursor = 0;
	int calls = 0, ticked = 0;

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "q%d", i);
		put(1, name, name);
	}
	do {
		cursor = meter_tick(q, cursor, 100, 5);
		calls++;
	} while (cursor != 0);
	TEST_ASSERT_TRUE(calls >= 5 && calls <= 11);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "q%d", i);
		ticked += figures_of(name, 1).meter->ticked == 5;
	}
	TEST_ASSERT_EQUAL_INT(1000, ticked);
}

static void a_reset_forgets_what_was_counted(void)
{
	put(1, "q", "a");
	meter_tick(q, 0, 100, 1);
	put(1, "q", "b");
	meter_tick(q, 0, 100, 2);
	TEST_ASSERT_TRUE(rate(METER_PUT, METER_1M) > 0);
	meter_reset_all(q);
	TEST_ASSERT_TRUE(rate(METER_PUT, METER_1M) == 0);
	TEST_ASSERT_EQUAL_UINT64(0, figures_of("q", 1).meter->counts[METER_PUT]);
}

static void memory_of_jobs_is_estimated_from_samples(void)
{
	struct view_memory all = { 0 }, some = { 0 };
	char jid[32];

	for (int i = 0; i < 1000; i++) {
		snprintf(jid, sizeof jid, "j%03d", i);
		put(i, "q", jid);
	}
	view_queue_memory(q, STR("q"), SIZE_MAX, &all);
	TEST_ASSERT_EQUAL_UINT64(1000, all.jobs);
	TEST_ASSERT_EQUAL_UINT64(1000, all.sampled);
	TEST_ASSERT_EQUAL_UINT64(6000, all.payload); /* the jid and "{}" */
	TEST_ASSERT_TRUE(all.index > 1000 * 150 && all.index < 1000 * 500);
	view_queue_memory(q, STR("q"), 10, &some);
	TEST_ASSERT_EQUAL_UINT64(1000, some.jobs);
	TEST_ASSERT_EQUAL_UINT64(10, some.sampled);
	TEST_ASSERT_EQUAL_UINT64(6000, some.payload);
	some = (struct view_memory){ 0 };
	view_queue_memory(q, STR("nosuch"), 10, &some);
	TEST_ASSERT_EQUAL_UINT64(0, some.jobs);
	OK(qless_log(q, 2000, STR("j000"), STR("a message that takes more than the room inside"),
		     NULL));
	all = (struct view_memory){ 0 };
	view_queue_memory(q, STR("q"), SIZE_MAX, &all);
	TEST_ASSERT_TRUE(all.history > 40);
}

/* Random jobs of a few priorities, against the least time among those that wait. */
static void the_oldest_waiting_job_is_found(void)
{
	enum { JOBS = 300, PRIORITIES = 6 };
	double put_at[JOBS];
	unsigned long long seed = 7;

	TEST_ASSERT_TRUE(isnan(view_oldest_waiting(q, STR("q"))));
	for (int i = 0; i < JOBS; i++)
		put_at[i] = -1;
	for (int turn = 1; turn < 3000; turn++) {
		int i = (int)(unit_random(&seed) % JOBS);
		double now = 1e9 + turn, oldest = INFINITY;
		char jid[16];

		snprintf(jid, sizeof jid, "%d", i);
		if (put_at[i] >= 0) {
			struct qless_str name = str_from(jid);

			OK(qless_cancel(q, now, &name, 1));
			put_at[i] = -1;
		} else {
			struct qless_put job = a_put("q", jid);

			job.priority = (double)(unit_random(&seed) % PRIORITIES) - 2;
			OK(qless_put(q, now, &job));
			put_at[i] = now;
		}
		for (int k = 0; k < JOBS; k++)
			oldest = put_at[k] >= 0 ? fmin(oldest, put_at[k]) : oldest;
		if (isinf(oldest))
			TEST_ASSERT_TRUE(isnan(view_oldest_waiting(q, STR("q"))));
		else
			TEST_ASSERT_EQUAL_DOUBLE(oldest, view_oldest_waiting(q, STR("q")));
	}
}

static void a_stalled_job_counts_as_waiting(void)
{
	struct qless_str jid = STR("a");

	put(100, "q", "a");
	put(200, "q", "b");
	TEST_ASSERT_EQUAL_DOUBLE(100, view_oldest_waiting(q, STR("q")));
	pop(300, "q", "w", 1);
	TEST_ASSERT_EQUAL_DOUBLE(200, view_oldest_waiting(q, STR("q")));
	OK(qless_timeout(q, 400, &jid, 1));
	TEST_ASSERT_EQUAL_DOUBLE(200, view_oldest_waiting(q, STR("q")));
	TEST_ASSERT_EQUAL_UINT64(1, figures_of("q", 400).meter->counts[METER_LOSE]);
}

/*
 * Classes
 */

static void put_class(double now, const char *jid, const char *klass)
{
	struct qless_put p = a_put("q", jid);

	p.klass = str_from(klass);
	OK(qless_put(q, now, &p));
}

static void cancel(double now, const char *jid)
{
	struct qless_str text = str_from(jid);

	OK(qless_cancel(q, now, &text, 1));
}

struct wanted_class {
	struct qless_str name;
	struct meter meter;
	int found;
	int classes;
};

static void keep_class(void *arg, const struct view_class_figures *klass)
{
	struct wanted_class *wanted = arg;

	wanted->classes++;
	if (!str_equal(klass->name, wanted->name))
		return;
	wanted->meter = *klass->meter;
	wanted->found++;
}

static struct wanted_class find_class(const char *name)
{
	struct wanted_class wanted = { .name = str_from(name) };

	view_each_class(q, keep_class, &wanted);
	TEST_ASSERT_LESS_OR_EQUAL_INT(1, wanted.found);
	return wanted;
}

static struct meter meter_of(const char *name)
{
	struct wanted_class wanted = find_class(name);

	TEST_ASSERT_EQUAL_INT(1, wanted.found);
	return wanted.meter;
}

static uint64_t puts_of(const char *name)
{
	return meter_of(name).counts[METER_PUT];
}

static void a_meter_counts_the_events_of_a_class(void)
{
	struct qless_retry retry = { .jid = STR("a"), .queue = STR("q"), .worker = STR("w") };
	struct qless_str jid = STR("a");
	double remaining;
	struct meter meter;

	put_class(100, "a", "mail");
	pop(107, "q", "w", 1);
	OK(qless_retry(q, 108, &retry, &remaining));
	pop(109, "q", "w", 1);
	OK(qless_timeout(q, 110, &jid, 1));
	pop(110, "q", "w", 1);
	complete(130, "q", "a", "w");
	put_class(200, "b", "mail");
	pop(200, "q", "w", 1);
	fail(201, "b", "w", "group");
	put_class(300, "c", "web");
	meter = meter_of("mail");
	TEST_ASSERT_EQUAL_UINT64(2, meter.counts[METER_PUT]);
	TEST_ASSERT_EQUAL_UINT64(4, meter.counts[METER_POP]);
	TEST_ASSERT_EQUAL_UINT64(1, meter.counts[METER_COMPLETE]);
	TEST_ASSERT_EQUAL_UINT64(1, meter.counts[METER_FAIL]);
	TEST_ASSERT_EQUAL_UINT64(1, meter.counts[METER_RETRY]);
	TEST_ASSERT_EQUAL_UINT64(1, meter.counts[METER_LOSE]);
	TEST_ASSERT_EQUAL_UINT64(1, meter.wait.buckets[5]); /* up to 10 seconds */
	TEST_ASSERT_EQUAL_UINT64(1, meter.run.buckets[6]);  /* up to 30 seconds */
	TEST_ASSERT_EQUAL_DOUBLE(20, meter.run.sum);
	TEST_ASSERT_EQUAL_UINT64(1, puts_of("web"));
	TEST_ASSERT_EQUAL_INT(2, find_class("mail").classes);
}

static void check_sum(double count, double seconds, struct meter_sum sum)
{
	TEST_ASSERT_EQUAL_DOUBLE(count, (double)sum.count);
	TEST_ASSERT_EQUAL_DOUBLE(seconds, sum.sum);
}

static void check_ends(const struct meter *meter)
{
	check_sum(2, 150, meter->ends[METER_TO_COMPLETE]);
	check_sum(1, 70, meter->ends[METER_TO_FAIL]);
	check_sum(1, 7, meter->ends[METER_TO_CANCEL]);
	check_sum(4, 227, meter_lifetime(meter));
}

static void the_life_of_a_job_begins_with_its_first_put(void)
{
	struct qless_retry retry = { .jid = STR("a"), .queue = STR("q"), .worker = STR("w") };
	struct meter meter;
	double remaining;

	/* The job is put again and given back before it completes. */
	put_class(1000, "a", "mail");
	put_class(1040, "a", "mail");
	pop(1050, "q", "w", 1);
	OK(qless_retry(q, 1060, &retry, &remaining));
	pop(1070, "q", "w", 1);
	complete(1100, "q", "a", "w");
	put_class(2000, "b", "mail");
	pop(2000, "q", "w", 1);
	complete(2050, "q", "b", "w");
	/* The job fails before it is canceled, so it ends only once. */
	put_class(3000, "c", "mail");
	put_class(3030, "c", "mail");
	pop(3050, "q", "w", 1);
	fail(3070, "c", "w", "group");
	cancel(3100, "c");
	put_class(4000, "d", "mail");
	cancel(4007, "d");
	put_class(4000, "e", "mail"); /* keeps the class */
	meter = meter_of("mail");
	check_ends(&meter);
	meter = *figures_of("q", 4007).meter;
	check_ends(&meter);
}

static void a_job_that_goes_on_to_another_queue_has_not_ended(void)
{
	struct qless_complete on = { .jid = STR("a"),
				     .worker = STR("w"),
				     .queue = STR("q"),
				     .data = STR("{}"),
				     .next = &STR("r") };
	enum qless_state state;

	put_class(1000, "a", "mail");
	pop(1000, "q", "w", 1);
	OK(qless_complete(q, 1050, &on, &state));
	check_sum(0, 0, meter_lifetime(figures_of("q", 1050).meter));
	pop(1060, "r", "w", 1);
	complete(1100, "r", "a", "w");
	check_sum(0, 0, meter_lifetime(figures_of("q", 1100).meter));
	check_sum(1, 100, figures_of("r", 1100).meter->ends[METER_TO_COMPLETE]);
}

/* Times that are not written in the usual number of bytes, and clocks that disagree. */
static void any_time_of_a_first_put_is_read(void)
{
	static const double times[] = { 0,     -0.0,   -5,     1,    63,   1e5,	  1.3e8, 1.4e8,
					1.6e9, 1.7e10, 1.8e10, 1e12, 4e18, 1e300, -1e300 };
	size_t count = 0;

	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
		put_class(times[i], "a", "mail");
		cancel(times[i], "a");
		put_class(times[i], "a", "mail");
		cancel(times[i] - 10, "a");
		count += 2;
		check_sum((double)count, 0, figures_of("q", 0).meter->ends[METER_TO_CANCEL]);
	}
	/* A put, and one whose history has grown out of its place in the job. */
	put_class(1.6e9, "a", "mail");
	cancel(1.6e9 + 5, "a");
	put_class(1.6e9, "a", "mail");
	put_class(1.6e9 + 1, "a", "mail");
	cancel(1.6e9 + 7, "a");
	check_sum((double)count + 2, 12, figures_of("q", 0).meter->ends[METER_TO_CANCEL]);
}

static void attempts_are_the_hand_outs_of_completed_jobs(void)
{
	struct qless_retry retry = { .jid = STR("a"), .queue = STR("q"), .worker = STR("w") };
	struct meter meter;
	double remaining;

	put_class(1000, "a", "mail");
	pop(1050, "q", "w", 1);
	OK(qless_retry(q, 1060, &retry, &remaining));
	pop(1070, "q", "w", 1);
	complete(1100, "q", "a", "w");
	put_class(2000, "b", "mail");
	pop(2000, "q", "w", 1);
	complete(2050, "q", "b", "w");
	meter = meter_of("mail");
	TEST_ASSERT_EQUAL_DOUBLE(3, meter.attempts);
	TEST_ASSERT_EQUAL_DOUBLE(3, figures_of("q", 2050).meter->attempts);
}

static void classes_beyond_the_maximum_count_together(void)
{
	meter_set_max_classes(q, 2);
	put_class(100, "a", "one");
	put_class(100, "b", "two");
	put_class(100, "c", "three");
	put_class(100, "d", "four");
	TEST_ASSERT_EQUAL_UINT64(1, puts_of("one"));
	TEST_ASSERT_EQUAL_UINT64(2, puts_of("other"));
	TEST_ASSERT_EQUAL_INT(3, find_class("one").classes);
	/* The class goes with its last job. Its counts stay, and another class has room. */
	cancel(101, "a");
	TEST_ASSERT_EQUAL_INT(0, find_class("one").found);
	TEST_ASSERT_EQUAL_UINT64(3, puts_of("other"));
	put_class(102, "e", "three");
	TEST_ASSERT_EQUAL_UINT64(1, puts_of("three"));
	meter_set_max_classes(q, 0);
	TEST_ASSERT_EQUAL_INT(1, find_class("other").classes);
	TEST_ASSERT_EQUAL_UINT64(5, puts_of("other"));
	meter_set_max_classes(q, 1000);
	put_class(103, "f", "two");
	TEST_ASSERT_EQUAL_UINT64(1, puts_of("two"));
	meter_reset_all(q);
	TEST_ASSERT_EQUAL_UINT64(0, puts_of("two"));
	TEST_ASSERT_EQUAL_INT(0, find_class("other").found);
}

static void a_class_named_other_counts_with_the_others(void)
{
	meter_set_max_classes(q, 1);
	put_class(100, "a", "other");
	put_class(100, "b", "one");
	put_class(100, "c", "two");
	TEST_ASSERT_EQUAL_UINT64(2, puts_of("other"));
	TEST_ASSERT_EQUAL_UINT64(1, puts_of("one"));
}

static void a_class_keeps_its_meter_while_anything_names_it(void)
{
	put_class(100, "a", "mail");
	put_class(100, "b", "mail");
	cancel(101, "a");
	TEST_ASSERT_EQUAL_UINT64(2, puts_of("mail"));
	put_class(102, "b", "web");
	TEST_ASSERT_EQUAL_INT(0, find_class("mail").found);
	TEST_ASSERT_EQUAL_UINT64(1, puts_of("web"));
	TEST_ASSERT_EQUAL_UINT64(2, puts_of("other"));
}

static void rates_of_classes_are_updated_after_those_of_queues(void)
{
	size_t cursor = 0, calls = 0;

	put_class(100, "a", "mail");
	for (double now = 1; now <= 2; now++) {
		do {
			cursor = meter_tick(q, cursor, 1, now);
			calls++;
		} while (cursor != 0);
		put_class(100 + now, "a", "mail");
	}
	TEST_ASSERT_EQUAL_size_t(6, calls); /* one queue, one class, and the others */
	TEST_ASSERT_FLOAT_WITHIN(0.001F, 0.0331F, meter_of("mail").rates[METER_PUT][METER_1M]);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(jobs_are_counted_by_what_they_do);
	RUN(every_queue_is_visited_once_while_queues_come_and_go);
	RUN(a_meter_counts_the_events_of_a_queue);
	RUN(durations_fall_into_the_first_bucket_that_is_large_enough);
	RUN(rates_approach_the_traffic_and_fade);
	RUN(many_queues_are_ticked_in_several_calls);
	RUN(a_reset_forgets_what_was_counted);
	RUN(memory_of_jobs_is_estimated_from_samples);
	RUN(the_oldest_waiting_job_is_found);
	RUN(a_stalled_job_counts_as_waiting);
	RUN(a_meter_counts_the_events_of_a_class);
	RUN(the_life_of_a_job_begins_with_its_first_put);
	RUN(a_job_that_goes_on_to_another_queue_has_not_ended);
	RUN(any_time_of_a_first_put_is_read);
	RUN(attempts_are_the_hand_outs_of_completed_jobs);
	RUN(classes_beyond_the_maximum_count_together);
	RUN(a_class_named_other_counts_with_the_others);
	RUN(a_class_keeps_its_meter_while_anything_names_it);
	RUN(rates_of_classes_are_updated_after_those_of_queues);
	return UNITY_END() != 0;
}
