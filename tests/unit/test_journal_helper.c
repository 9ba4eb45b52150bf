/*
 * The helper thread, and when it gives way to other threads.
 */
#include "journal/helper.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "unit.h"
#include "wait.h"

#include "journal/yielding.h"

/* Busy threads on one processor: one of them at least has a whole time slice before the helper. */
#define CROWD 10

#define LATE (YIELDING_LATE_US + 1)

static atomic_int policy; /* of the helper, in its last task */
static atomic_bool is_over;

void setUp(void)
{
	policy = -1;
	is_over = false;
}

void tearDown(void)
{
}

static int note_policy(void *arg, int fd)
{
	(void)arg;
	(void)fd;
	policy = sched_getscheduler(0);
	return 0;
}

static const struct journal_io io = { .sync = note_policy };

/* Run a task in the helper. Returns the policy that it had. */
static int policy_of_task(struct helper *h)
{
	struct disk_task task = { .kind = DISK_TASK_NONE };

	disk_task_init_sync(&task, 0, &(struct disk_write){ .offset = 0 });
	helper_start(h, &task);
	helper_wait(h);
	TEST_ASSERT_EQUAL_PTR(&task, helper_take(h));
	disk_task_done(&task, &io);
	return policy;
}

static void the_helper_gives_way_while_tasks_begin_early(void)
{
	struct yielding y = { 0 };

	TEST_ASSERT_TRUE(yielding_note(&y, 0, 100));
	TEST_ASSERT_TRUE(yielding_note(&y, YIELDING_LATE_US, 200));
}

static void a_late_task_ends_that_for_a_while(void)
{
	int64_t late_us = 1000000;
	struct yielding y = { 0 };

	TEST_ASSERT_FALSE(yielding_note(&y, LATE, late_us));
	TEST_ASSERT_FALSE(yielding_note(&y, 0, late_us + YIELDING_AGAIN_US - 1));
	TEST_ASSERT_TRUE(yielding_note(&y, 0, late_us + YIELDING_AGAIN_US));
}

static void the_while_begins_again_with_each_late_task(void)
{
	int64_t late_us = 1000000;
	struct yielding y = { 0 };

	yielding_note(&y, LATE, late_us);
	TEST_ASSERT_FALSE(yielding_note(&y, LATE, late_us + YIELDING_AGAIN_US));
	TEST_ASSERT_FALSE(yielding_note(&y, 0, late_us + 2 * YIELDING_AGAIN_US - 1));
	TEST_ASSERT_TRUE(yielding_note(&y, 0, late_us + 2 * YIELDING_AGAIN_US));
}

static void *be_busy(void *arg)
{
	(void)arg;
	while (!is_over)
		;
	return NULL;
}

static void the_helper_competes_on_a_crowded_processor(void)
{
	pthread_t crowd[CROWD];
	cpu_set_t one, before;
	struct helper *h;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	TEST_ASSERT_EQUAL_INT(0, sched_getaffinity(0, sizeof before, &before));
	TEST_ASSERT_EQUAL_INT(0, sched_setaffinity(0, sizeof one, &one));
	h = helper_new(&io, ".", true, NULL, NULL);
	for (int i = 0; i < CROWD; i++)
		TEST_ASSERT_EQUAL_INT(0, pthread_create(&crowd[i], NULL, be_busy, NULL));
	WAIT_UNTIL(policy_of_task(h) == SCHED_OTHER);
	is_over = true;
	for (int i = 0; i < CROWD; i++)
		pthread_join(crowd[i], NULL);
	helper_free(h);
	sched_setaffinity(0, sizeof before, &before);
}

static void a_new_helper_gives_way(void)
{
	struct helper *h = helper_new(&io, ".", true, NULL, NULL);

	/* The machine that runs the tests may be crowded for a while. */
	WAIT_UNTIL(policy_of_task(h) == SCHED_BATCH);
	helper_free(h);
}

static void without_a_thread_the_policy_stays(void)
{
	struct helper *h = helper_new(&io, ".", false, NULL, NULL);

	TEST_ASSERT_EQUAL_INT(sched_getscheduler(0), policy_of_task(h));
	helper_free(h);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_helper_gives_way_while_tasks_begin_early);
	RUN(a_late_task_ends_that_for_a_while);
	RUN(the_while_begins_again_with_each_late_task);
	RUN(the_helper_competes_on_a_crowded_processor);
	RUN(a_new_helper_gives_way);
	RUN(without_a_thread_the_policy_stays);
	return UNIT_RESULT();
}
