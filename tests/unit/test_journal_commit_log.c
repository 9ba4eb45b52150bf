/*
 * Groups and batches, on a log that keeps its records in memory.
 */
#include "unit.h"

#include "journal/commit_log.h"

#define RECORDS_MAX 16

static struct commit_log memory;
static struct buf records[RECORDS_MAX];
static unsigned flushes;

static void fake_append(struct commit_log *l, struct qless_str operations)
{
	TEST_ASSERT_TRUE(l->last < RECORDS_MAX);
	buf_append_str(&records[l->last++], operations);
}

static void fake_flush(struct commit_log *l, const struct commit_log_turn *turn)
{
	TEST_ASSERT_EQUAL_INT64(5, turn->mono_us);
	l->committed = l->last;
	flushes++;
}

static const struct commit_log_ops ops = { .append = fake_append, .flush = fake_flush };

void setUp(void)
{
	commit_log_init(&memory, &ops);
	for (int i = 0; i < RECORDS_MAX; i++)
		buf_init(&records[i], BUF_NO_MAX);
	flushes = 0;
}

void tearDown(void)
{
	commit_log_done(&memory);
	for (int i = 0; i < RECORDS_MAX; i++)
		buf_done(&records[i]);
}

static void append(const char *operation)
{
	commit_log_append(&memory, str_from(operation));
}

/* The records are these, separated by blanks. */
static void expect(const char *wanted)
{
	struct buf all = BUF_INIT(BUF_NO_MAX);

	for (uint64_t i = 0; i < memory.last; i++)
		buf_printf(&all, "%s%s", i > 0 ? " " : "", buf_cstr(&records[i]));
	TEST_ASSERT_EQUAL_STRING(wanted, buf_cstr(&all));
	buf_done(&all);
}

static void an_operation_alone_is_a_record(void)
{
	append("a");
	append("b");
	expect("a b");
}

static void a_group_is_one_record(void)
{
	append("a");
	commit_log_begin_group(&memory);
	append("b");
	append("c");
	expect("a");
	commit_log_end_group(&memory);
	append("d");
	expect("a bc d");
}

static void a_group_in_a_group_ends_with_the_outer_one(void)
{
	commit_log_begin_group(&memory);
	append("a");
	commit_log_begin_group(&memory);
	append("b");
	commit_log_end_group(&memory);
	append("c");
	expect("");
	commit_log_end_group(&memory);
	expect("abc");
}

static void an_empty_group_is_no_record(void)
{
	commit_log_begin_group(&memory);
	commit_log_end_group(&memory);
	commit_log_begin_batch(&memory);
	commit_log_split_batch(&memory);
	commit_log_end_batch(&memory);
	expect("");
}

static void a_batch_is_one_record_until_it_is_split(void)
{
	commit_log_begin_batch(&memory);
	append("a");
	append("b");
	expect("");
	commit_log_split_batch(&memory);
	expect("ab");
	append("c");
	commit_log_end_batch(&memory);
	expect("ab c");
}

static void a_group_is_not_split(void)
{
	commit_log_begin_batch(&memory);
	append("a");
	commit_log_begin_group(&memory);
	append("b");
	commit_log_split_batch(&memory);
	append("c");
	expect("");
	commit_log_end_group(&memory);
	commit_log_end_batch(&memory);
	expect("abc");
}

/* A record of a batch ends after 4 kB. */
static void a_long_batch_is_several_records(void)
{
	static char half[2049];

	memset(half, 'x', sizeof half - 1);
	commit_log_begin_batch(&memory);
	for (int i = 0; i < 5; i++)
		append(half);
	commit_log_end_batch(&memory);
	TEST_ASSERT_EQUAL_UINT64(3, memory.last);
	TEST_ASSERT_EQUAL_size_t(2 * (sizeof half - 1), records[0].len);
	TEST_ASSERT_EQUAL_size_t(2 * (sizeof half - 1), records[1].len);
	TEST_ASSERT_EQUAL_size_t(sizeof half - 1, records[2].len);
}

static void a_long_group_is_one_record_even_in_a_batch(void)
{
	static char half[2049];

	memset(half, 'x', sizeof half - 1);
	commit_log_begin_batch(&memory);
	commit_log_begin_group(&memory);
	for (int i = 0; i < 5; i++)
		append(half);
	commit_log_end_group(&memory);
	commit_log_end_batch(&memory);
	TEST_ASSERT_EQUAL_UINT64(1, memory.last);
}

/* A long operation would only be copied once more. */
static void a_long_operation_at_the_start_of_a_batch_is_a_record(void)
{
	static char whole[4097];

	memset(whole, 'x', sizeof whole - 1);
	commit_log_begin_batch(&memory);
	append(whole);
	TEST_ASSERT_EQUAL_UINT64(1, memory.last);
	append("a");
	append(whole);
	commit_log_end_batch(&memory);
	TEST_ASSERT_EQUAL_UINT64(2, memory.last);
	TEST_ASSERT_EQUAL_size_t(sizeof whole, records[1].len);
}

static void a_flush_commits(void)
{
	append("a");
	commit_log_flush(&memory, &(struct commit_log_turn){ .mono_us = 5 });
	TEST_ASSERT_EQUAL_UINT(1, flushes);
	TEST_ASSERT_EQUAL_UINT64(1, memory.committed);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_operation_alone_is_a_record);
	RUN(a_group_is_one_record);
	RUN(a_group_in_a_group_ends_with_the_outer_one);
	RUN(an_empty_group_is_no_record);
	RUN(a_batch_is_one_record_until_it_is_split);
	RUN(a_group_is_not_split);
	RUN(a_long_batch_is_several_records);
	RUN(a_long_group_is_one_record_even_in_a_batch);
	RUN(a_long_operation_at_the_start_of_a_batch_is_a_record);
	RUN(a_flush_commits);
	return UNIT_RESULT();
}
