#include "benchmark/ledger.h"

#include "unit.h"

static struct ledger l;

void setUp(void)
{
	ledger_init(&l, 1);
}

void tearDown(void)
{
	ledger_done(&l);
}

/* Puts the next job; its jid is valid until the next call. */
static struct qless_str put(void)
{
	static char jid[LEDGER_JID_BYTES];

	ledger_write_jid(&l, l.next++, jid);
	l.waiting++;
	return str_make(jid, sizeof jid);
}

static void a_job_is_found_by_its_jid(void)
{
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t number = 7777;

		TEST_ASSERT_TRUE(ledger_find(&l, put(), &number));
		TEST_ASSERT_EQUAL_UINT64(i, number);
	}
}

static void a_job_can_be_popped_once(void)
{
	struct qless_str jid = put();

	TEST_ASSERT_EQUAL_INT(LEDGER_GOOD, ledger_pop(&l, jid));
	TEST_ASSERT_EQUAL_INT64(0, l.waiting);
	TEST_ASSERT_EQUAL_INT64(1, l.running);
	TEST_ASSERT_EQUAL_INT(LEDGER_TWICE, ledger_pop(&l, jid));
	TEST_ASSERT_EQUAL_INT64(1, l.running);
}

static void a_returned_job_can_be_popped_again(void)
{
	struct qless_str jid = put();

	ledger_pop(&l, jid);
	ledger_give_back(&l, jid);
	TEST_ASSERT_EQUAL_INT64(1, l.waiting);
	TEST_ASSERT_EQUAL_INT64(0, l.running);
	TEST_ASSERT_EQUAL_INT(LEDGER_GOOD, ledger_pop(&l, jid));
}

static void jids_of_other_runs_are_unknown(void)
{
	char jid[LEDGER_JID_BYTES];
	struct ledger other;

	put();
	ledger_init(&other, 2);
	ledger_write_jid(&other, 0, jid);
	TEST_ASSERT_EQUAL_INT(LEDGER_UNKNOWN, ledger_pop(&l, str_make(jid, sizeof jid)));
	ledger_write_jid(&l, 1, jid); /* not put yet */
	TEST_ASSERT_EQUAL_INT(LEDGER_UNKNOWN, ledger_pop(&l, str_make(jid, sizeof jid)));
	TEST_ASSERT_EQUAL_INT(LEDGER_UNKNOWN, ledger_pop(&l, STR("j1")));
	TEST_ASSERT_EQUAL_INT(LEDGER_UNKNOWN,
			      ledger_pop(&l, STR("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz")));
	ledger_done(&other);
}

static void many_jobs_are_tracked(void)
{
	for (int i = 0; i < 200000; i++)
		TEST_ASSERT_EQUAL_INT(LEDGER_GOOD, ledger_pop(&l, put()));
	TEST_ASSERT_EQUAL_INT64(200000, l.running);
}

static void the_same_seed_gives_the_same_jids(void)
{
	char a[LEDGER_JID_BYTES], b[LEDGER_JID_BYTES];
	struct ledger same;

	ledger_init(&same, 1);
	ledger_write_jid(&l, 12345, a);
	ledger_write_jid(&same, 12345, b);
	TEST_ASSERT_EQUAL_MEMORY(a, b, sizeof a);
	ledger_done(&same);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_job_is_found_by_its_jid);
	RUN(a_job_can_be_popped_once);
	RUN(a_returned_job_can_be_popped_again);
	RUN(jids_of_other_runs_are_unknown);
	RUN(many_jobs_are_tracked);
	RUN(the_same_seed_gives_the_same_jids);
	return UNIT_RESULT();
}
