#include <math.h>

#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static const char *queue_names(void)
{
	struct qless_list names;

	qless_queues(q, &names);
	return words(&names);
}

static struct qless_queue_counts counts_of(double now, const char *queue)
{
	struct qless_queue_counts counts;

	OK(qless_queue_counts(q, now, str_from(queue), &counts));
	return counts;
}

static void queues_are_listed_by_when_they_were_first_seen(void)
{
	struct qless_str name = STR("b");

	put(2, "c", "1");
	put(1, "b", "2");
	put(2, "a", "3");
	put(9, "b", "4");
	TEST_ASSERT_EQUAL_STRING("b a c ", queue_names());
	OK(qless_queue_forget(q, 10, &name, 1));
	TEST_ASSERT_EQUAL_STRING("a c ", queue_names());
	TEST_ASSERT_EQUAL_STRING("2 ", pop(10, "b", "w", 1));
	put(11, "b", "5");
	TEST_ASSERT_EQUAL_STRING("a c b ", queue_names());
}

static void jobs_are_counted_by_state(void)
{
	struct qless_queue_counts counts;
	struct qless_recur_put recur = { .queue = STR("q"),
					 .jid = STR("r"),
					 .klass = STR("k"),
					 .data = STR("{}"),
					 .interval = 10,
					 .offset = 1000 };

	put(1, "q", "old");
	pop(1, "q", "w", 1);
	put(50, "q", "young");
	pop(50, "q", "w", 1);
	put(60, "q", "waits");
	put_delayed(60, "q", "later", 100);
	put_delayed(60, "q", "soon", 1);
	put_depending(60, "q", "depends", "waits");
	OK(qless_recur(q, 60, &recur));
	TEST_ASSERT_EQUAL_UINT64(1, advance(61, QLESS_ADVANCE_QUEUE, "q", 1000));
	counts = counts_of(61, "q");
	ASSERT_STR("q", counts.name);
	TEST_ASSERT_EQUAL_UINT64(2, counts.waiting);
	TEST_ASSERT_EQUAL_UINT64(1, counts.running);
	TEST_ASSERT_EQUAL_UINT64(1, counts.stalled);
	TEST_ASSERT_EQUAL_UINT64(1, counts.scheduled);
	TEST_ASSERT_EQUAL_UINT64(1, counts.depends);
	TEST_ASSERT_EQUAL_UINT64(1, counts.recurring);
	TEST_ASSERT_FALSE(counts.paused);
	TEST_ASSERT_EQUAL_UINT64(5, qless_queue_length(q, STR("q")));
}

#define MANY 2500 /* more than one call moves */

static void put_many_scheduled(double due)
{
	char jid[16];
	int i;

	for (i = 0; i < MANY; i++) {
		snprintf(jid, sizeof(jid), "job-%04d", i * 7 % MANY);
		put_delayed(1, "q", jid, due - 1);
	}
}

/* However many are due, one call moves a thousand of them. */
static void one_call_promotes_at_most_a_thousand_jobs(void)
{
	struct qless_queue_counts counts;
	int calls;

	put_many_scheduled(100);
	put_delayed(1, "q", "later", 1000);
	for (calls = 0; calls < 4; calls++) {
		uint64_t moved = advance(200 + calls, QLESS_ADVANCE_QUEUE, "q", 1000);

		counts = counts_of(200 + calls, "q");
		TEST_ASSERT_EQUAL_UINT64(calls < 2 ? 1000 : calls == 2 ? 500 : 0, moved);
		TEST_ASSERT_EQUAL_UINT64(MANY, counts.waiting + counts.due);
		TEST_ASSERT_EQUAL_UINT64(1, counts.scheduled - counts.due);
	}
}

/* The bound holds for all queues together. */
static void advancing_all_queues_moves_no_more_jobs_than_advancing_one(void)
{
	const struct qless_queue_counts *all;
	size_t count;

	put_delayed(0, "first", "early", 50);
	put_many_scheduled(100);
	put_delayed(2, "last", "other", 50);
	TEST_ASSERT_EQUAL_UINT64(1000, advance(200, QLESS_ADVANCE_KNOWN, "", 1000));
	OK(qless_all_queue_counts(q, 200, &all, &count));
	TEST_ASSERT_EQUAL_size_t(3, count);
	ASSERT_STR("first", all[0].name);
	ASSERT_STR("q", all[1].name);
	ASSERT_STR("last", all[2].name);
	TEST_ASSERT_EQUAL_UINT64(1, all[0].waiting);
	TEST_ASSERT_EQUAL_UINT64(999, all[1].waiting);
	TEST_ASSERT_EQUAL_UINT64(MANY - 999, all[1].due);
	TEST_ASSERT_EQUAL_UINT64(0, all[2].waiting);
	TEST_ASSERT_EQUAL_UINT64(1, all[2].due);
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_all_queue_counts(q, NAN, &all, &count));
}

/* Jobs before the epoch are never due, and come first. */
static void a_listing_of_jobs_that_are_not_due_leaves_out_due_ones(void)
{
	struct qless_list jids;

	put_delayed(-500, "q", "before-1", 100);
	put_delayed(-500, "q", "before-2", 200);
	put_many_scheduled(100);
	put_delayed(1, "q", "later-1", 1000);
	put_delayed(1, "q", "later-2", 2000);
	OK(qless_jobs(q, 200, QLESS_LIST_NOT_DUE, STR("q"), 0, 25, &jids));
	TEST_ASSERT_EQUAL_STRING("before-1 before-2 later-1 later-2 ", words(&jids));
	OK(qless_jobs(q, 200, QLESS_LIST_NOT_DUE, STR("q"), 1, 2, &jids));
	TEST_ASSERT_EQUAL_STRING("before-2 later-1 ", words(&jids));
	OK(qless_jobs(q, 200, QLESS_LIST_NOT_DUE, STR("q"), 3, 25, &jids));
	TEST_ASSERT_EQUAL_STRING("later-2 ", words(&jids));
	OK(qless_jobs(q, 200, QLESS_LIST_NOT_DUE, STR("q"), 4, 25, &jids));
	TEST_ASSERT_EQUAL_STRING("", words(&jids));
	TEST_ASSERT_EQUAL_UINT64(MANY, counts_of(200, "q").due);
}

static void asking_does_not_make_a_queue_known(void)
{
	TEST_ASSERT_EQUAL_UINT64(0, counts_of(1, "nope").waiting);
	pop(1, "nope", "w", 1);
	TEST_ASSERT_EQUAL_STRING("", queue_names());
}

static void pausing_needs_no_jobs(void)
{
	struct qless_str name = STR("q");

	OK(qless_pause(q, 1, &name, 1));
	TEST_ASSERT_TRUE(counts_of(1, "q").paused);
	TEST_ASSERT_EQUAL_STRING("", queue_names());
	OK(qless_unpause(q, 1, &name, 1));
	TEST_ASSERT_FALSE(counts_of(1, "q").paused);
}

static void listings_page_as_ranges_or_as_limits(void)
{
	struct qless_list jids;
	char jid[8];
	int i;

	for (i = 0; i < 4; i++) {
		snprintf(jid, sizeof(jid), "s%d", i);
		put_delayed(i, "q", jid, 100);
		snprintf(jid, sizeof(jid), "j%d", i);
		put(i, "p", jid);
	}
	pop(10, "p", "w", 4);
	OK(qless_jobs(q, 10, QLESS_LIST_SCHEDULED, STR("q"), 1, 2, &jids));
	TEST_ASSERT_EQUAL_STRING("s1 s2 ", words(&jids));
	OK(qless_jobs(q, 10, QLESS_LIST_SCHEDULED, STR("q"), 0, 0, &jids));
	TEST_ASSERT_EQUAL_STRING("s0 s1 s2 s3 ", words(&jids));
	OK(qless_jobs(q, 10, QLESS_LIST_SCHEDULED, STR("q"), 0, -1, &jids));
	TEST_ASSERT_EQUAL_STRING("s0 s1 s2 ", words(&jids));
	OK(qless_jobs(q, 10, QLESS_LIST_SCHEDULED, STR("q"), -2, 2, &jids));
	TEST_ASSERT_EQUAL_STRING("s2 s3 ", words(&jids));
	OK(qless_jobs(q, 10, QLESS_LIST_SCHEDULED, STR("q"), -2, 3, &jids));
	TEST_ASSERT_EQUAL_STRING("", words(&jids));
	OK(qless_jobs(q, 10, QLESS_LIST_SCHEDULED, STR("q"), INT64_MAX, INT64_MAX, &jids));
	TEST_ASSERT_EQUAL_STRING("", words(&jids));
	OK(qless_jobs(q, 10, QLESS_LIST_RUNNING, STR("p"), 1, 2, &jids));
	TEST_ASSERT_EQUAL_STRING("j1 j2 ", words(&jids));
	OK(qless_jobs(q, 10, QLESS_LIST_RUNNING, STR("p"), 0, -1, &jids));
	TEST_ASSERT_EQUAL_STRING("j0 j1 j2 j3 ", words(&jids));
	OK(qless_jobs(q, 10, QLESS_LIST_RUNNING, STR("p"), -1, 2, &jids));
	TEST_ASSERT_EQUAL_STRING("", words(&jids));
	OK(qless_jobs(q, 10, QLESS_LIST_RUNNING, STR("p"), 0, 0, &jids));
	TEST_ASSERT_EQUAL_STRING("", words(&jids));
}

static void reading_does_not_move_due_jobs(void)
{
	struct qless_recur_put recur = { .queue = STR("q"),
					 .jid = STR("r"),
					 .klass = STR("k"),
					 .data = STR("{}"),
					 .interval = 10 };
	double later = 10000000;
	struct qless_queue_counts counts;
	struct qless_workers workers;
	struct qless_list jids, stalled;
	struct qless_jobs jobs;
	uint64_t changes;

	put_delayed(1, "q", "due", 5);
	put(1, "p", "held");
	pop(1, "p", "w", 1);
	OK(qless_recur(q, 1, &recur));
	changes = qless_changes(q);
	counts = counts_of(later, "q");
	TEST_ASSERT_EQUAL_UINT64(0, counts.waiting);
	TEST_ASSERT_EQUAL_UINT64(1, counts.scheduled);
	TEST_ASSERT_EQUAL_UINT64(1, counts.due);
	OK(qless_jobs(q, later, QLESS_LIST_SCHEDULED, STR("q"), 0, 10, &jids));
	TEST_ASSERT_EQUAL_STRING("due ", words(&jids));
	OK(qless_jobs(q, later, QLESS_LIST_NOT_DUE, STR("q"), 0, 10, &jids));
	TEST_ASSERT_EQUAL_STRING("", words(&jids));
	OK(qless_peek(q, later, STR("q"), 10, &jobs));
	TEST_ASSERT_EQUAL_size_t(0, jobs.count);
	OK(qless_workers(q, later, &workers));
	TEST_ASSERT_EQUAL_size_t(1, workers.count);
	OK(qless_worker_jobs(q, later, STR("w"), &jids, &stalled));
	TEST_ASSERT_EQUAL_STRING("held ", words(&stalled));
	TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(q));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(queues_are_listed_by_when_they_were_first_seen);
	RUN(jobs_are_counted_by_state);
	RUN(one_call_promotes_at_most_a_thousand_jobs);
	RUN(advancing_all_queues_moves_no_more_jobs_than_advancing_one);
	RUN(a_listing_of_jobs_that_are_not_due_leaves_out_due_ones);
	RUN(asking_does_not_make_a_queue_known);
	RUN(pausing_needs_no_jobs);
	RUN(listings_page_as_ranges_or_as_limits);
	RUN(reading_does_not_move_due_jobs);
	return UNIT_RESULT();
}
