/*
 * The age of the oldest record that is not synced. The disk of the fixture syncs when the next turn
 * ends.
 */
#include "journal_fixture.h"

#define SECOND INT64_C(1000000)

static struct fixture f;
static struct random_calls calls;

void setUp(void)
{
	fixture_init(&f);
	random_calls_init(&calls, 5);
}

void tearDown(void)
{
	fixture_done(&f);
}

static void start(enum journal_sync sync)
{
	f.options.sync = sync;
	TEST_ASSERT_EQUAL_INT(0, fixture_start(&f));
}

/* Append one record at least. */
static void change(void)
{
	uint64_t last = journal_log(f.journal)->last;

	while (journal_log(f.journal)->last == last)
		fixture_step(&f, &calls);
}

/* A turn with a change. Returns its time. */
static int64_t change_at(int64_t us)
{
	f.us = us;
	change();
	fixture_flush(&f);
	return f.us;
}

static int64_t since(void)
{
	return journal_unsynced_since_us(f.journal);
}

static uint64_t durable(void)
{
	struct journal_info info;

	journal_get_info(f.journal, &info);
	return info.durable_sequence;
}

static uint64_t last(void)
{
	return journal_log(f.journal)->last;
}

static void a_new_log_is_synced(void)
{
	start(JOURNAL_SYNC_EVERYSEC);
	TEST_ASSERT_EQUAL_INT64(INT64_MAX, since());
	TEST_ASSERT_EQUAL_UINT64(last(), durable());
}

static void the_oldest_record_counts_until_a_sync_ends(void)
{
	int64_t first, second;
	uint64_t sequence;

	start(JOURNAL_SYNC_EVERYSEC);
	first = change_at(f.us + SECOND); /* a sync begins */
	sequence = last();
	TEST_ASSERT_EQUAL_INT64(first, since());
	TEST_ASSERT_EQUAL_UINT64(0, durable());
	second = change_at(f.us); /* that sync has ended, and the next one is not due */
	TEST_ASSERT_EQUAL_INT64(second, since());
	TEST_ASSERT_EQUAL_UINT64(sequence, durable());
	change_at(f.us);
	TEST_ASSERT_EQUAL_INT64(second, since());
	f.us += SECOND;
	fixture_flush(&f); /* the second sync begins */
	TEST_ASSERT_EQUAL_INT64(second, since());
	fixture_flush(&f);
	TEST_ASSERT_EQUAL_INT64(INT64_MAX, since());
	TEST_ASSERT_EQUAL_UINT64(last(), durable());
}

static void acknowledged_records_are_not_durable_before_a_sync(void)
{
	start(JOURNAL_SYNC_NO);
	change_at(f.us);
	fixture_flush(&f);
	TEST_ASSERT_EQUAL_UINT64(last(), journal_log(f.journal)->committed);
	TEST_ASSERT_EQUAL_UINT64(0, durable());
}

static void with_always_a_record_ages_while_its_sync_runs(void)
{
	int64_t first, second;

	start(JOURNAL_SYNC_ALWAYS);
	first = change_at(f.us);
	TEST_ASSERT_EQUAL_INT64(first, since());
	second = change_at(f.us); /* its sync begins in the same turn as that of the first ends */
	TEST_ASSERT_EQUAL_INT64(second, since());
	fixture_flush(&f);
	TEST_ASSERT_EQUAL_INT64(INT64_MAX, since());
}

static void a_record_ages_while_syncs_fail(void)
{
	int64_t first;

	start(JOURNAL_SYNC_EVERYSEC);
	first = change_at(f.us + SECOND);
	disk_fail(&f.disk, DISK_SYNC, 0, -EIO);
	fixture_flush(&f);
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_FAILED, journal_log(f.journal)->state);
	TEST_ASSERT_EQUAL_INT64(first, since());
}

static void a_new_snapshot_covers_records_whose_sync_failed(void)
{
	start(JOURNAL_SYNC_EVERYSEC);
	change_at(f.us + SECOND);
	disk_fail(&f.disk, DISK_SYNC, 0, -EIO);
	for (int i = 0; i < 10; i++) {
		f.us += SECOND;
		fixture_flush(&f);
	}
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_HEALTHY, journal_log(f.journal)->state);
	TEST_ASSERT_EQUAL_INT64(INT64_MAX, since());
	TEST_ASSERT_EQUAL_UINT64(last(), durable());
}

static void a_rewrite_syncs_the_records_before_it(void)
{
	start(JOURNAL_SYNC_NO);
	change_at(f.us);
	TEST_ASSERT_TRUE(since() < INT64_MAX);
	journal_rewrite(f.journal);
	for (int i = 0; i < 10; i++)
		fixture_flush(&f);
	TEST_ASSERT_FALSE(journal_is_rewriting(f.journal));
	TEST_ASSERT_EQUAL_INT64(INT64_MAX, since());
	TEST_ASSERT_EQUAL_UINT64(last(), durable());
}

static void after_a_start_all_records_are_synced(void)
{
	unsigned long long rng = 1;

	start(JOURNAL_SYNC_NO);
	change_at(f.us);
	fixture_kill(&f, DISK_KEEP_ALL, &rng);
	start(JOURNAL_SYNC_NO);
	TEST_ASSERT_TRUE(last() > 0);
	TEST_ASSERT_EQUAL_INT64(INT64_MAX, since());
	TEST_ASSERT_EQUAL_UINT64(last(), durable());
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_new_log_is_synced);
	RUN(the_oldest_record_counts_until_a_sync_ends);
	RUN(acknowledged_records_are_not_durable_before_a_sync);
	RUN(with_always_a_record_ages_while_its_sync_runs);
	RUN(a_record_ages_while_syncs_fail);
	RUN(a_new_snapshot_covers_records_whose_sync_failed);
	RUN(a_rewrite_syncs_the_records_before_it);
	RUN(after_a_start_all_records_are_synced);
	return UNIT_RESULT();
}
