/*
 * The rebuilder: snapshots from the files, made by a thread of a program that is never forked.
 */
#include "journal/rebuilder.h"

#include <poll.h>
#include <semaphore.h>
#include <sys/wait.h>

#include "journal_fixture.h"
#include "tempdir.h"
#include "wait.h"

#define CHANGES 300

static struct tempdir dir;
static struct fixture f;
static sem_t held;

void setUp(void)
{
	tempdir_init(&dir);
	fixture_init(&f);
	sem_init(&held, 0, 0);
}

void tearDown(void)
{
	fixture_done(&f);
	sem_destroy(&held);
	tempdir_done(&dir);
}

static void start_journal(void)
{
	fixture_rebuild(&f);
	f.options.dir = dir.path;
	f.options.io = NULL;
	f.options.threads = true;
	f.options.no_processes = true;
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, fixture_start(&f), buf_cstr(&f.error));
}

static void make_changes(struct random_calls *calls)
{
	for (int i = 0; i < CHANGES; i++) {
		if (fixture_step(&f, calls))
			fixture_flush(&f);
	}
}

static struct journal_info rewrite(struct random_calls *calls)
{
	struct journal_info info;

	TEST_ASSERT_TRUE(journal_rewrite(f.journal));
	make_changes(calls);
	journal_wait(f.journal);
	journal_get_info(f.journal, &info);
	return info;
}

static void expect_no_child(void)
{
	TEST_ASSERT_EQUAL_INT(-1, waitpid(-1, NULL, WNOHANG));
	TEST_ASSERT_EQUAL_INT(ECHILD, errno);
}

static void a_thread_makes_the_snapshots_of_a_journal(void)
{
	struct random_calls calls;
	struct journal_info info;

	random_calls_init(&calls, 3);
	start_journal();
	for (unsigned i = 1; i <= 3; i++) {
		make_changes(&calls);
		info = rewrite(&calls);
		TEST_ASSERT_EQUAL_STRING("", journal_rebuild_error(f.journal));
		TEST_ASSERT_EQUAL_UINT64(i, info.rewrites);
		TEST_ASSERT_EQUAL_UINT64(i, info.rebuilds);
		TEST_ASSERT_EQUAL_UINT64(0, info.forks);
		expect_no_child();
	}
	fixture_expect_same_after_restart(&f);
	TEST_ASSERT_TRUE(f.recovery.manifest.base != 0);
}

/* A database that does not exist. */
static struct qless *no_engine(void *arg, unsigned db)
{
	(void)arg;
	(void)db;
	return NULL;
}

static struct recovery_target begin_without_engines(void *arg)
{
	struct recovery_target target = fixture_begin_second(arg);

	target.engine = no_engine;
	return target;
}

static void a_snapshot_that_fails_is_made_from_memory_without_a_fork(void)
{
	struct random_calls calls;
	struct journal_info info;

	random_calls_init(&calls, 5);
	start_journal();
	make_changes(&calls);
	info = rewrite(&calls);
	TEST_ASSERT_EQUAL_UINT64(1, info.rebuilds);
	/* Now there is a snapshot to load, which needs engines. */
	f.rebuild.begin = begin_without_engines;
	info = rewrite(&calls);
	TEST_ASSERT_EQUAL_UINT64(1, info.rebuild_failures);
	TEST_ASSERT_TRUE(journal_rebuild_error(f.journal)[0] != '\0');
	TEST_ASSERT_EQUAL_UINT64(2, info.rewrites);
	TEST_ASSERT_FALSE(info.last_is_rebuilt);
	TEST_ASSERT_EQUAL_UINT64(0, info.forks);
	expect_no_child();
	fixture_expect_same_after_restart(&f);
	TEST_ASSERT_TRUE(f.recovery.manifest.base != 0);
}

/* Waits until the test lets it begin. */
static struct recovery_target begin_when_let(void *arg)
{
	while (sem_wait(&held) < 0)
		;
	return fixture_begin_second(arg);
}

static void a_cancelled_thread_ends_with_its_next_read(void)
{
	struct base_options base = { .dir = dir.path, .number = 9, .wall_us = 1 };
	struct random_calls calls;
	struct rebuilder *r;
	int result = 0;

	random_calls_init(&calls, 4);
	start_journal();
	make_changes(&calls);
	journal_wait(f.journal);
	base.sequence = journal_log(f.journal)->last;
	f.rebuild.begin = begin_when_let;
	r = rebuilder_start(&f.rebuild, &base, STR(""));
	TEST_ASSERT_NOT_NULL(r);
	TEST_ASSERT_FALSE(rebuilder_is_over(r, &result));
	rebuilder_cancel(r);
	sem_post(&held);
	TEST_ASSERT_EQUAL_INT(1, poll(&(struct pollfd){ .fd = rebuilder_fd(r), .events = POLLIN },
				      1, WAIT_MAX_MS));
	TEST_ASSERT_TRUE(rebuilder_is_over(r, &result));
	TEST_ASSERT_EQUAL_INT(-ECANCELED, result);
	rebuilder_free(r);
}

static void closing_the_journal_ends_the_thread(void)
{
	struct random_calls calls;

	random_calls_init(&calls, 6);
	start_journal();
	make_changes(&calls);
	f.rebuild.begin = begin_when_let;
	TEST_ASSERT_TRUE(journal_rewrite(f.journal));
	WAIT_UNTIL((fixture_flush(&f), journal_rewrite_fd(f.journal) >= 0));
	sem_post(&held);
	fixture_expect_same_after_restart(&f);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_thread_makes_the_snapshots_of_a_journal);
	RUN(a_snapshot_that_fails_is_made_from_memory_without_a_fork);
	RUN(a_cancelled_thread_ends_with_its_next_read);
	RUN(closing_the_journal_ends_the_thread);
	return UNIT_RESULT();
}
