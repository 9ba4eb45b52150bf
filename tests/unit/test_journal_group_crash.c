/*
 * Random lives of the log of a group. The machine stops at each of its file calls in turn, or at
 * random. The log that is left has all that was promised, and nothing that was replaced.
 */
#include "group_log.h"

#include "journal/repair.h"
#include "journal/rescue.h"
#include "journal/salvage.h"

#define STEPS 120

static struct group_log_test t;
static unsigned long long rng;
static unsigned replaced, votes, snapshots, lost;

void setUp(void)
{
	replaced = votes = snapshots = lost = 0;
	group_init(&t);
}

void tearDown(void)
{
	group_done(&t);
}

static unsigned pick(unsigned long long *choices, unsigned count)
{
	return (unsigned)(unit_random(choices) % count);
}

static void append_some(unsigned long long *choices)
{
	static const enum record_type types[] = { RECORD_OPERATIONS, RECORD_OPERATIONS,
						  RECORD_OPERATIONS, RECORD_OPERATIONS,
						  RECORD_BARRIER,    RECORD_MEMBERS,
						  RECORD_FEATURE };

	for (unsigned count = 1 + pick(choices, 5); count > 0; count--)
		group_append(&t, types[pick(choices, 7)], pick(choices, 20));
}

static void replace_some(unsigned long long *choices)
{
	uint64_t from = t.fixed + 1;

	if (t.model.last < from)
		return;
	from += unit_random(choices) % (t.model.last - from + 1);
	if (group_replace(&t, from) < 0)
		return;
	replaced++;
	/* The entries of a leader with a lower term may replace others. */
	t.term = t.model.entries[from - 1].term + pick(choices, 3);
	if (pick(choices, 2) == 0)
		append_some(choices);
}

static void vote_once(unsigned long long *choices)
{
	votes++;
	group_vote(&t, (struct journal_vote){ t.votes[t.vote_count - 1].term + pick(choices, 2),
					      1 + pick(choices, 5) });
}

static void commit_some(unsigned long long *choices)
{
	uint64_t index = t.commit + unit_random(choices) % (t.durable - t.commit + 1);

	if (t.durable >= t.commit)
		group_note_commit(&t, index);
}

static void restart(void)
{
	journal_close(t.journal, NULL);
	t.journal = NULL;
	group_forget(&t);
	if (group_open(&t) == 0)
		group_expect_recovered(&t, "restarted");
	else
		TEST_ASSERT_TRUE_MESSAGE(t.disk.dead, buf_cstr(&t.error));
}

static void step(unsigned long long *choices)
{
	unsigned choice = pick(choices, 40);

	if (choice < 14) {
		append_some(choices);
	} else if (choice < 29) {
		group_flush(&t);
	} else if (choice < 32) {
		commit_some(choices);
	} else if (choice < 34) {
		replace_some(choices);
	} else if (choice < 36) {
		vote_once(choices);
	} else if (choice < 37) {
		snapshots += journal_rewrite(t.journal);
	} else if (choice < 38) {
		t.us += 1000000;
		group_settle(&t);
	} else if (choice < 39) {
		t.term += pick(choices, 2);
		journal_keep_from(t.journal, pick(choices, 2) == 0 ? UINT64_MAX : 1 + t.commit / 2);
	} else if (pick(choices, 3) == 0) {
		restart();
	}
}

/* Live until the machine stops. Returns false if the group did not begin. */
static bool live(unsigned long long seed, unsigned steps)
{
	unsigned long long choices = seed;

	if (t.journal == NULL && group_begin(&t) < 0)
		return false;
	for (unsigned i = 0; i < steps && !t.disk.dead; i++)
		step(&choices);
	return true;
}

static void check(enum disk_crash how, const char *message)
{
	uint64_t last = t.model.last;
	int rc;

	group_kill(&t, how, &rng);
	rc = group_open(&t);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&t.error));
	group_expect_recovered(&t, message);
	group_expect_members(&t, message);
	lost += t.model.last < last;
}

static void crash_at_each_call(enum disk_crash how, unsigned long long seed)
{
	char message[64];

	for (unsigned at = 0;; at++) {
		bool began, stopped;

		snprintf(message, sizeof message, "seed %llu, call %u", seed, at);
		group_must_begin(&t);
		disk_stop(&t.disk, DISK_CHANGES, at);
		began = live(seed, STEPS);
		TEST_ASSERT_TRUE(began);
		stopped = t.disk.dead;
		check(how, message);
		group_done(&t);
		group_init(&t);
		if (!stopped)
			break;
	}
}

static void what_was_promised_survives_a_crash_at_each_call(void)
{
	for (unsigned long long seed = 1; seed <= 6; seed++)
		crash_at_each_call(DISK_KEEP_SYNCED, seed);
	TEST_ASSERT_TRUE(replaced > 300 && votes > 300 && snapshots > 100 && lost > 50);
}

static void what_was_promised_survives_the_death_of_the_process_at_each_call(void)
{
	for (unsigned long long seed = 11; seed <= 14; seed++)
		crash_at_each_call(DISK_KEEP_ALL, seed);
}

static void what_was_promised_survives_any_loss_of_unsynced_sectors(void)
{
	for (unsigned long long seed = 21; seed <= 26; seed++)
		crash_at_each_call(DISK_KEEP_SOME, seed);
	TEST_ASSERT_TRUE(replaced > 300 && lost > 50);
}

/* Sectors may also hold zeros, garbage, or bytes of segments that were removed. */
static void what_was_promised_survives_sectors_with_old_bytes(void)
{
	for (unsigned long long seed = 31; seed <= 36; seed++)
		crash_at_each_call(DISK_KEEP_ANY, seed);
	TEST_ASSERT_TRUE(replaced > 300 && lost > 50);
}

/* ---- repairs ---- */

static void close_log(void)
{
	group_settle(&t);
	journal_close(t.journal, &t.error);
	t.journal = NULL;
	TEST_ASSERT_EQUAL_STRING("", buf_cstr(&t.error));
	group_forget(&t);
}

static void clear_state(void *arg)
{
	buf_clear(arg);
}

/* A rescue finds nothing missing in a log that is whole, and uses all entries that count. */
static void check_rescue(const char *message)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct rescue_tally tally = { 0 };
	struct rescue_owner owner = { .target = group_target(&t.state),
				      .clear = clear_state,
				      .tally = &tally };
	struct rescue r;

	TEST_ASSERT_EQUAL_INT_MESSAGE(0, rescue_run(&r, &t.disk.io, "data", &all, &owner, &t.error),
				      message);
	TEST_ASSERT_FALSE_MESSAGE(rescue_is_incomplete(&r), message);
	TEST_ASSERT_EQUAL_STRING("", buf_cstr(&r.notes));
	group_expect_state(&t, &t.model, t.model.last, message);
	rescue_done(&r);
	group_forget(&t);
}

/* A lost manifest is made again from the other files. */
static void check_salvage(const char *message)
{
	struct buf kept = BUF_INIT(BUF_NO_MAX), unreadable = BUF_INIT(BUF_NO_MAX);
	struct recovery found;

	disk_remove(&t.disk, MANIFEST_NAME);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, salvage_find(&found, &t.disk.io, "data", &unreadable, &t.error),
		buf_cstr(&t.error));
	TEST_ASSERT_EQUAL_INT(0, repair_manifest(&t.disk.io, "data", &found, &kept, &t.error));
	recovery_done(&found);
	buf_done(&kept);
	buf_done(&unreadable);
	group_must_open(&t);
	TEST_ASSERT_TRUE(journal_has_group(t.journal));
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(t.model.last, journal_last_index(t.journal), message);
	group_expect_recovered(&t, message);
}

/* The same directory lives through many crashes. */
static void what_was_promised_survives_many_crashes(void)
{
	static const enum disk_crash ways[] = { DISK_KEEP_SYNCED, DISK_KEEP_ALL, DISK_KEEP_SOME,
						DISK_KEEP_ANY };
	char message[64];

	for (unsigned long long seed = 100; seed < 160; seed++) {
		unsigned long long choices = seed;

		rng = seed;
		group_must_begin(&t);
		for (unsigned life = 0; life < 12; life++) {
			snprintf(message, sizeof message, "seed %llu, life %u", seed, life);
			disk_stop(&t.disk, DISK_CHANGES, pick(&choices, 120));
			live(seed * 1000 + life, STEPS);
			check(ways[pick(&choices, 4)], message);
		}
		close_log();
		check_rescue(message);
		check_salvage(message);
		group_done(&t);
		group_init(&t);
	}
	TEST_ASSERT_TRUE(replaced > 300 && votes > 300 && snapshots > 100 && lost > 100);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(what_was_promised_survives_a_crash_at_each_call);
	RUN(what_was_promised_survives_the_death_of_the_process_at_each_call);
	RUN(what_was_promised_survives_any_loss_of_unsynced_sectors);
	RUN(what_was_promised_survives_sectors_with_old_bytes);
	RUN(what_was_promised_survives_many_crashes);
	return UNIT_RESULT();
}
