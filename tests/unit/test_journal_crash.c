/*
 * A scripted run with several segments and rewrites. The machine stops at each of its file calls in
 * turn, and a ledger says which changes were acknowledged by then.
 */
#include "journal_fixture.h"

#include "journal/kept.h"

#define CHANGES 120
/* Number of states that a run may have: one after each change. */
#define STATES_MAX 400

struct state {
	uint64_t sequence; /* of the last record it holds */
	char *dump;
};

static struct fixture f;
static struct state states[STATES_MAX];
static int state_count;
static uint64_t acknowledged;
static unsigned keep_bases;
static bool from_log; /* snapshots are made from the files and not from memory */
static unsigned rebuilds;
static unsigned long long rng = 77;

static void begin(void)
{
	fixture_init(&f);
	if (from_log)
		fixture_rebuild(&f);
}

void setUp(void)
{
	from_log = false;
	begin();
}

void tearDown(void)
{
	fixture_done(&f);
}

static void note_state(void)
{
	TEST_ASSERT_TRUE(state_count < STATES_MAX);
	states[state_count].sequence = journal_log(f.journal)->last;
	states[state_count].dump = fixture_dump(&f);
	state_count++;
}

static void forget_states(void)
{
	while (state_count > 0)
		free(states[--state_count].dump);
}

/* The end of a turn: clients get the replies of durable changes. */
static void end_turn(void)
{
	/* After a failure, give the log time to recover. */
	if (journal_log(f.journal)->state != COMMIT_LOG_HEALTHY)
		f.us += 300000;
	fixture_flush(&f);
	if (journal_log(f.journal)->state == COMMIT_LOG_HEALTHY &&
	    journal_log(f.journal)->committed > acknowledged)
		acknowledged = journal_log(f.journal)->committed;
}

/* Run until the end or until the machine stops. Returns whether the log was opened. */
static bool run_script(unsigned long long seed, enum journal_sync sync)
{
	struct random_calls calls;
	struct journal_info info;
	int made = 0;

	random_calls_init(&calls, seed);
	f.options.segment_bytes = 2500;
	f.options.sync = sync;
	f.options.keep_bases = keep_bases;
	acknowledged = 0;
	if (fixture_start(&f) < 0)
		return false;
	note_state();
	while (made < CHANGES && !f.disk.dead) {
		if (!fixture_step(&f, &calls))
			continue;
		note_state();
		made++;
		if (made % 40 == 20)
			journal_rewrite(f.journal);
		if (random_pick(&calls, 3) != 0)
			end_turn();
	}
	end_turn();
	journal_get_info(f.journal, &info);
	rebuilds += (unsigned)info.rebuilds;
	return true;
}

/* Every kept snapshot is there, with all records up to the next one. */
static void check_kept(const char *message)
{
	uint64_t next = f.recovery.manifest.base_sequence;
	struct recovery_target no_target = { 0 };
	struct recovery_limit limit = RECOVERY_NO_LIMIT;
	struct recovery r;
	struct kept kept;
	struct manifest m;

	TEST_ASSERT_EQUAL_INT(0, kept_list(&kept, &f.disk.io, "data"));
	TEST_ASSERT_TRUE_MESSAGE(kept.count <= f.options.keep_bases, message);
	for (size_t i = kept.count; i > 0; i--) {
		TEST_ASSERT_EQUAL_INT(
			0, kept_read(&m, kept.numbers[i - 1], &f.disk.io, "data", &f.error));
		limit.sequence = next - 1;
		TEST_ASSERT_EQUAL_INT_MESSAGE(
			0, recovery_run(&r, &f.disk.io, "data", &limit, &no_target, &f.error),
			buf_cstr(&f.error));
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(m.base, r.manifest.base, message);
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(limit.sequence, r.last_sequence, message);
		next = m.base_sequence;
		recovery_done(&r);
		manifest_done(&m);
	}
	kept_done(&kept);
}

/* The state after the crash is one that the run has had, and has all acknowledged changes. */
static void check_recovery(const char *how, unsigned at)
{
	char message[256];
	char *dump;
	int i, rc;

	f.options.keep_bases = keep_bases;
	rc = fixture_start(&f);
	snprintf(message, sizeof message, "%s at call %u: %.150s", how, at, buf_cstr(&f.error));
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, message);
	dump = fixture_dump(&f);
	for (i = state_count - 1; i >= 0 && strcmp(states[i].dump, dump) != 0; i--)
		;
	TEST_ASSERT_TRUE_MESSAGE(i >= 0 || state_count == 0, message);
	if (state_count > 0 && i + 1 < state_count)
		TEST_ASSERT_TRUE_MESSAGE(states[i + 1].sequence > acknowledged, message);
	free(dump);
	check_kept(message);
}

/* Call it once for each way to make a snapshot. */
static void either_way(void (*run)(const void *arg), const void *arg)
{
	rebuilds = 0;
	run(arg);
	TEST_ASSERT_EQUAL_UINT(0, rebuilds);
	from_log = true;
	fixture_done(&f);
	begin();
	run(arg);
	TEST_ASSERT_TRUE(rebuilds > 0);
	from_log = false;
	fixture_done(&f);
	begin();
}

struct crash_run {
	const char *how;
	enum disk_crash crash;
	enum journal_sync sync;
};

static void crash_at_each_call(const void *arg)
{
	const struct crash_run *run = arg;
	unsigned stops = 0;

	for (unsigned at = 0;; at++) {
		bool stopped;

		disk_stop(&f.disk, DISK_CHANGES, at);
		run_script(31 + at % 3, run->sync);
		stopped = f.disk.dead;
		if (f.journal != NULL)
			fixture_kill(&f, run->crash, &rng);
		else
			disk_crash(&f.disk, run->crash, &rng);
		fixture_forget(&f);
		check_recovery(run->how, at);
		/* Start anew. */
		fixture_done(&f);
		begin();
		forget_states();
		if (!stopped)
			break;
		stops++;
	}
	TEST_ASSERT_TRUE(stops > 80);
}

static void crash_everywhere(const char *how, enum disk_crash crash, enum journal_sync sync)
{
	struct crash_run run = { how, crash, sync };

	either_way(crash_at_each_call, &run);
}

static void acknowledged_changes_survive_a_crash_at_each_call(void)
{
	crash_everywhere("only what was synced", DISK_KEEP_SYNCED, JOURNAL_SYNC_ALWAYS);
}

static void acknowledged_changes_survive_any_loss_of_unsynced_sectors(void)
{
	for (int i = 0; i < 4; i++)
		crash_everywhere("some of it", DISK_KEEP_SOME, JOURNAL_SYNC_ALWAYS);
}

static void kept_snapshots_survive_crashes(void)
{
	keep_bases = 2;
	crash_everywhere("keeping bases", DISK_KEEP_SOME, JOURNAL_SYNC_ALWAYS);
	crash_everywhere("keeping bases, all of it", DISK_KEEP_ALL, JOURNAL_SYNC_ALWAYS);
	keep_bases = 1;
	crash_everywhere("keeping a base", DISK_KEEP_SYNCED, JOURNAL_SYNC_ALWAYS);
	keep_bases = 0;
}

/* The machine stops while a log is created from a state from elsewhere. */
static void an_interrupted_recovery_into_an_empty_directory_can_be_repeated(void)
{
	struct random_calls calls;
	char *wanted, *dump;
	int rc;

	for (unsigned at = 0;; at++) {
		bool stopped;

		random_calls_init(&calls, 81);
		for (int i = 0; i < 100; i++)
			random_step(&calls, &f.engines, 0);
		wanted = fixture_dump(&f);
		disk_stop(&f.disk, DISK_CHANGES, at);
		f.journal = journal_open(&f.options, &f.error);
		TEST_ASSERT_NOT_NULL(f.journal);
		rc = journal_create(f.journal, 500, &f.error);
		stopped = f.disk.dead;
		TEST_ASSERT_TRUE(stopped || rc == 0);
		fixture_kill(&f, (enum disk_crash)(at % 3), &rng);
		rc = fixture_start(&f);
		if (rc == 0 && journal_log(f.journal)->last == 0) {
			/* The recovery had not begun. */
			fixture_kill(&f, DISK_KEEP_ALL, &rng);
			fixture_done(&f);
			begin();
			free(wanted);
			continue;
		}
		if (rc < 0) {
			TEST_ASSERT_NOT_NULL_MESSAGE(strstr(buf_cstr(&f.error), "unfinished"),
						     buf_cstr(&f.error));
			fixture_forget(&f);
			random_calls_init(&calls, 81);
			for (int i = 0; i < 100; i++)
				random_step(&calls, &f.engines, 0);
			f.journal = journal_open(&f.options, &f.error);
			rc = journal_create(f.journal, 500, &f.error);
			TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&f.error));
			fixture_kill(&f, DISK_KEEP_SYNCED, &rng);
			TEST_ASSERT_EQUAL_INT(0, fixture_start(&f));
		}
		dump = fixture_dump(&f);
		TEST_ASSERT_EQUAL_STRING(wanted, dump);
		TEST_ASSERT_NULL(disk_file(&f.disk, MANIFEST_UNFINISHED));
		free(wanted);
		free(dump);
		/* A log that exists is not overwritten. */
		buf_clear(&f.error);
		fixture_kill(&f, DISK_KEEP_ALL, &rng);
		f.journal = journal_open(&f.options, &f.error);
		TEST_ASSERT_TRUE(journal_create(f.journal, 500, &f.error) < 0);
		fixture_done(&f);
		begin();
		if (!stopped)
			break;
	}
}

static void acknowledged_changes_survive_the_death_of_the_process(void)
{
	crash_everywhere("all of it", DISK_KEEP_ALL, JOURNAL_SYNC_ALWAYS);
	crash_everywhere("all of it, everysec", DISK_KEEP_ALL, JOURNAL_SYNC_EVERYSEC);
	crash_everywhere("all of it, no", DISK_KEEP_ALL, JOURNAL_SYNC_NO);
}

static void a_crash_without_syncs_leaves_an_earlier_state(void)
{
	/* No change is promised to survive, but the state must be one that the run has had. */
	for (unsigned at = 0; at < 150; at++) {
		disk_stop(&f.disk, DISK_CHANGES, at);
		run_script(41, JOURNAL_SYNC_EVERYSEC);
		if (f.journal != NULL)
			fixture_kill(&f, DISK_KEEP_SOME, &rng);
		else
			disk_crash(&f.disk, DISK_KEEP_SOME, &rng);
		fixture_forget(&f);
		acknowledged = 0;
		check_recovery("everysec", at);
		fixture_done(&f);
		begin();
		forget_states();
	}
}

static void acknowledged_changes_survive_a_crash_while_a_failed_log_recovers(void)
{
	unsigned stops = 0;

	for (unsigned at = 0;; at++) {
		bool stopped;

		/* A sync of a file or of the directory fails. Later the machine stops. */
		disk_fail(&f.disk, at % 2 == 0 ? DISK_SYNC : DISK_SYNC_DIR, 4, -EIO);
		f.disk.stop_kinds = DISK_CHANGES;
		f.disk.stop_after = at / 2;
		run_script(33, JOURNAL_SYNC_ALWAYS);
		stopped = f.disk.dead;
		if (f.journal != NULL)
			fixture_kill(&f, DISK_KEEP_SOME, &rng);
		else
			disk_crash(&f.disk, DISK_KEEP_SOME, &rng);
		fixture_forget(&f);
		check_recovery("failure, then", at);
		fixture_done(&f);
		begin();
		forget_states();
		if (!stopped && at % 2 == 1)
			break;
		stops += stopped;
	}
	TEST_ASSERT_TRUE(stops > 160);
}

/* The time of a turn, and the last record that was written by then. */
struct written {
	int64_t us;
	uint64_t sequence;
};

#define TURNS 150
/* Microseconds: a sync is due after a second. It begins at one turn, and another notices its end.
 */
#define EVERYSEC_LOSS_US (1000000 + 2 * 70000)

static void live_with_everysec(unsigned long long seed, struct written *turns, int count)
{
	struct random_calls calls;

	random_calls_init(&calls, seed);
	f.options.segment_bytes = 2500;
	f.options.sync = JOURNAL_SYNC_EVERYSEC;
	TEST_ASSERT_EQUAL_INT(0, fixture_start(&f));
	note_state();
	for (int i = 0; i < count; i++) {
		while (!fixture_step(&f, &calls))
			;
		note_state();
		if (random_pick(&calls, 40) == 0)
			journal_rewrite(f.journal);
		f.us += random_pick(&calls, 60000);
		fixture_flush(&f);
		turns[i] = (struct written){ f.us, journal_log(f.journal)->committed };
	}
}

static void everysec_loses_at_most_the_last_second(void)
{
	static struct written turns[TURNS];
	uint64_t lost_most = 0;

	for (unsigned long long seed = 200; seed < 260; seed++) {
		int count = 20 + (int)(unit_random(&rng) % (TURNS - 20)), safe = count;

		live_with_everysec(seed, turns, count);
		while (--safe > 0 && turns[safe].us > f.us - EVERYSEC_LOSS_US)
			;
		acknowledged = safe > 0 ? turns[safe].sequence : 0;
		fixture_kill(&f, seed % 2 == 0 ? DISK_KEEP_SYNCED : DISK_KEEP_SOME, &rng);
		check_recovery("everysec", (unsigned)seed);
		if (turns[count - 1].sequence - journal_log(f.journal)->last > lost_most)
			lost_most = turns[count - 1].sequence - journal_log(f.journal)->last;
		fixture_done(&f);
		begin();
		forget_states();
	}
	/* If nothing is lost, nothing is tested here. */
	TEST_ASSERT_TRUE(lost_most > 10);
}

/* ---- failures that the process survives ---- */

struct failing_run {
	unsigned kinds;
	int error;
	size_t written;
};

/* Make each call of those kinds fail once, in turn. The log must recover automatically and have all
 * changes that were admitted. */
static void fail_at_each_call(const void *arg)
{
	const struct failing_run *run = arg;
	unsigned failures = 0;

	for (unsigned at = 0;; at++) {
		char *live, *dump;
		bool began;
		int rc;

		disk_fail(&f.disk, run->kinds, at, run->error);
		f.disk.fail_written = run->written;
		began = run_script(51, JOURNAL_SYNC_ALWAYS);
		if (f.disk.calls <= at)
			break;
		failures++;
		if (!began) {
			TEST_ASSERT_TRUE(f.error.len > 0);
			fixture_forget(&f);
			rc = fixture_start(&f);
			TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&f.error));
		}
		for (int i = 0; i < 10; i++) {
			f.us += 1000000;
			fixture_flush(&f);
		}
		TEST_ASSERT_EQUAL_INT_MESSAGE(COMMIT_LOG_HEALTHY, journal_log(f.journal)->state,
					      commit_log_complaint(journal_log(f.journal)));
		TEST_ASSERT_TRUE(commit_log_admit(journal_log(f.journal), 100));
		TEST_ASSERT_EQUAL_UINT64(journal_log(f.journal)->last,
					 journal_log(f.journal)->committed);
		live = fixture_dump(&f);
		fixture_kill(&f, DISK_KEEP_SYNCED, &rng);
		rc = fixture_start(&f);
		TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&f.error));
		dump = fixture_dump(&f);
		TEST_ASSERT_EQUAL_STRING(live, dump);
		free(live);
		free(dump);
		fixture_done(&f);
		begin();
		forget_states();
	}
	forget_states();
	TEST_ASSERT_TRUE(failures > 3);
}

static void fail_everywhere(unsigned kinds, int error, size_t written)
{
	struct failing_run run = { kinds, error, written };

	either_way(fail_at_each_call, &run);
}

static void the_log_recovers_from_a_failed_write(void)
{
	fail_everywhere(DISK_WRITE, -EIO, 0);
}

static void the_log_recovers_from_a_full_disk(void)
{
	fail_everywhere(DISK_WRITE, -ENOSPC, 0);
	fixture_done(&f);
	begin();
	fail_everywhere(DISK_WRITE, -ENOSPC, 7);
	fixture_done(&f);
	begin();
	fail_everywhere(DISK_WRITE | DISK_TRUNCATE, -ENOSPC, 0);
}

static void the_log_recovers_from_a_failed_sync(void)
{
	fail_everywhere(DISK_SYNC, -EIO, 0);
}

static void the_log_recovers_from_a_failed_rename_or_open(void)
{
	fail_everywhere(DISK_RENAME, -EIO, 0);
	fixture_done(&f);
	begin();
	fail_everywhere(DISK_SYNC_DIR, -EIO, 0);
	fixture_done(&f);
	begin();
	fail_everywhere(DISK_OPEN, -EMFILE, 0);
}

static void a_failed_segment_is_never_synced_again(void)
{
	struct random_calls calls;
	struct journal_info info;

	random_calls_init(&calls, 61);
	TEST_ASSERT_EQUAL_INT(0, fixture_start(&f));
	while (!fixture_step(&f, &calls))
		;
	disk_fail(&f.disk, DISK_SYNC, 0, -EIO);
	fixture_flush(&f);
	fixture_flush(&f);
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_FAILED, journal_log(f.journal)->state);
	TEST_ASSERT_EQUAL_STRING("Input/output error (syncing log-00000001)",
				 commit_log_complaint(journal_log(f.journal)));
	TEST_ASSERT_FALSE(commit_log_admit(journal_log(f.journal), 1));
	TEST_ASSERT_TRUE(journal_log(f.journal)->committed < journal_log(f.journal)->last);
	for (int i = 0; i < 5; i++)
		fixture_flush(&f);
	TEST_ASSERT_EQUAL_UINT(1, f.disk.calls);
	f.us += 2000000;
	for (int i = 0; i < 5; i++)
		fixture_flush(&f);
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_HEALTHY, journal_log(f.journal)->state);
	TEST_ASSERT_EQUAL_STRING("", commit_log_complaint(journal_log(f.journal)));
	journal_get_info(f.journal, &info);
	TEST_ASSERT_EQUAL_UINT64(1, info.failures);
	TEST_ASSERT_EQUAL_UINT64(1, info.rewrites);
	TEST_ASSERT_NULL(disk_file(&f.disk, "log-00000001"));
}

static void the_next_start_writes_again_what_a_failed_sync_lost(void)
{
	struct random_calls calls;
	char *live, *dump;

	random_calls_init(&calls, 65);
	TEST_ASSERT_EQUAL_INT(0, fixture_start(&f));
	for (int i = 0; i < 10; i++) {
		while (!fixture_step(&f, &calls))
			;
		fixture_flush(&f);
	}
	disk_fail(&f.disk, DISK_SYNC, 0, -EIO);
	fixture_flush(&f);
	fixture_flush(&f);
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_FAILED, journal_log(f.journal)->state);
	/* The process ends before the log recovers. The next one reads bytes that never reached the
	 * disk. */
	fixture_kill(&f, DISK_KEEP_MEMORY, &rng);
	TEST_ASSERT_EQUAL_INT(0, fixture_start(&f));
	for (int i = 0; i < 10; i++) {
		while (!fixture_step(&f, &calls))
			;
		fixture_flush(&f);
	}
	fixture_flush(&f);
	TEST_ASSERT_EQUAL_UINT64(journal_log(f.journal)->last, journal_log(f.journal)->committed);
	live = fixture_dump(&f);
	fixture_kill(&f, DISK_KEEP_SYNCED, &rng);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, fixture_start(&f), buf_cstr(&f.error));
	dump = fixture_dump(&f);
	TEST_ASSERT_EQUAL_STRING(live, dump);
	free(live);
	free(dump);
}

static void a_full_disk_is_noticed_before_a_command_runs(void)
{
	struct random_calls calls;

	random_calls_init(&calls, 62);
	TEST_ASSERT_EQUAL_INT(0, fixture_start(&f));
	for (int i = 0; i < 30; i++) {
		TEST_ASSERT_TRUE(commit_log_admit(journal_log(f.journal), 500));
		TEST_ASSERT_EQUAL_INT(COMMIT_LOG_HEALTHY, journal_log(f.journal)->state);
		fixture_step(&f, &calls);
		fixture_flush(&f);
	}
	f.disk.room = disk_used(&f.disk);
	TEST_ASSERT_FALSE(commit_log_admit(journal_log(f.journal), 8 << 20));
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_FULL, journal_log(f.journal)->state);
	TEST_ASSERT_EQUAL_STRING("No space left on device (making room for the log)",
				 commit_log_complaint(journal_log(f.journal)));
	/* Smaller commands would find space in what was reserved, and the next large one would not.
	 * The log does not become healthy and full again every second. */
	for (int i = 0; i < 3; i++) {
		f.us += 2000000;
		fixture_flush(&f);
		TEST_ASSERT_EQUAL_INT(COMMIT_LOG_FULL, journal_log(f.journal)->state);
		TEST_ASSERT_FALSE(commit_log_admit(journal_log(f.journal), 500));
	}
	f.disk.room = UINT64_MAX;
	f.us += 2000000;
	fixture_flush(&f);
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_HEALTHY, journal_log(f.journal)->state);
	TEST_ASSERT_TRUE(commit_log_admit(journal_log(f.journal), 8 << 20));
}

static void pass_seconds(int seconds)
{
	for (int i = 0; i < 2 * seconds; i++) {
		f.us += 500000;
		fixture_flush(&f);
	}
}

static void check_that_nothing_is_lost(void)
{
	char *live = fixture_dump(&f), *dump;

	TEST_ASSERT_EQUAL_UINT64(journal_log(f.journal)->last, journal_log(f.journal)->committed);
	fixture_kill(&f, DISK_KEEP_SYNCED, &rng);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, fixture_start(&f), buf_cstr(&f.error));
	dump = fixture_dump(&f);
	TEST_ASSERT_EQUAL_STRING(live, dump);
	free(live);
	free(dump);
}

static void check_that_nothing_is_lost_after(int seconds)
{
	pass_seconds(seconds);
	check_that_nothing_is_lost();
}

/* The disk has space for `room` more bytes. It gets full in the middle of a write that exceeds the
 * zeros. */
static void run_into_a_full_disk(struct random_calls *calls, uint64_t room)
{
	f.options.segment_bytes = 8 * 1024;
	TEST_ASSERT_EQUAL_INT(0, fixture_start(&f));
	for (int i = 0; i < 50; i++) {
		fixture_step(&f, calls);
		fixture_flush(&f);
	}
	f.disk.room = disk_used(&f.disk) + room;
	for (int i = 0; i < 300; i++)
		fixture_step(&f, calls);
	fixture_flush(&f);
	fixture_flush(&f);
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_FULL, journal_log(f.journal)->state);
}

static void a_rewrite_waits_while_the_disk_is_full(void)
{
	struct random_calls calls;
	struct journal_info info;

	random_calls_init(&calls, 71);
	run_into_a_full_disk(&calls, 300);
	TEST_ASSERT_TRUE(journal_rewrite(f.journal));
	pass_seconds(3);
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_FULL, journal_log(f.journal)->state);
	TEST_ASSERT_TRUE(journal_is_rewriting(f.journal));
	f.disk.room = UINT64_MAX;
	pass_seconds(3);
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_HEALTHY, journal_log(f.journal)->state);
	TEST_ASSERT_FALSE(journal_is_rewriting(f.journal));
	journal_get_info(f.journal, &info);
	TEST_ASSERT_EQUAL_UINT64(1, info.rewrites);
	TEST_ASSERT_EQUAL_UINT64(0, info.rewrite_failures);
	check_that_nothing_is_lost();
}

static void run_out_of_space_for_a_snapshot(void)
{
	struct random_calls calls;
	struct journal_info info;

	random_calls_init(&calls, 72);
	TEST_ASSERT_EQUAL_INT(0, fixture_start(&f));
	for (int i = 0; i < 100; i++) {
		fixture_step(&f, &calls);
		fixture_flush(&f);
	}
	pass_seconds(1);
	/* Enough for the log and the manifest. */
	f.disk.room = disk_used(&f.disk) + 1500;
	TEST_ASSERT_TRUE(journal_rewrite(f.journal));
	pass_seconds(2);
	journal_get_info(f.journal, &info);
	TEST_ASSERT_EQUAL_INT(-ENOSPC, info.last_rewrite_rc);
	TEST_ASSERT_EQUAL_UINT64(1, info.rewrite_failures);
	TEST_ASSERT_EQUAL_UINT64(0, info.rebuild_failures);
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_HEALTHY, journal_log(f.journal)->state);
	TEST_ASSERT_NULL(disk_file(&f.disk, "base-00000003"));
	while (!fixture_step(&f, &calls))
		;
	pass_seconds(1);
	check_that_nothing_is_lost();
	f.disk.room = UINT64_MAX;
	TEST_ASSERT_TRUE(journal_rewrite(f.journal));
	pass_seconds(2);
	journal_get_info(f.journal, &info);
	TEST_ASSERT_EQUAL_UINT64(1, info.rewrites);
	check_that_nothing_is_lost();
}

static void a_snapshot_that_does_not_fit_leaves_the_log_unchanged(void)
{
	run_out_of_space_for_a_snapshot();
}

/* A snapshot from memory would not fit either. */
static void a_snapshot_from_the_files_that_does_not_fit_is_not_tried_from_memory(void)
{
	fixture_rebuild(&f);
	run_out_of_space_for_a_snapshot();
}

static void a_full_log_that_fails_recovers_with_a_snapshot(void)
{
	struct random_calls calls;

	random_calls_init(&calls, 73);
	run_into_a_full_disk(&calls, 100);
	f.disk.room = UINT64_MAX;
	disk_fail(&f.disk, DISK_WRITE, 0, -EIO);
	pass_seconds(1);
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_FAILED, journal_log(f.journal)->state);
	pass_seconds(5);
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_HEALTHY, journal_log(f.journal)->state);
	check_that_nothing_is_lost();
}

static void changes_by_reads_are_kept_while_the_log_has_failed(void)
{
	struct random_calls calls;
	char *live, *dump;

	random_calls_init(&calls, 63);
	TEST_ASSERT_EQUAL_INT(0, fixture_start(&f));
	while (!fixture_step(&f, &calls))
		;
	disk_fail(&f.disk, DISK_SYNC, 0, -EIO);
	fixture_flush(&f);
	fixture_flush(&f);
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_FAILED, journal_log(f.journal)->state);
	f.us += 2000000;
	for (int i = 0; i < 4; i++) {
		while (!fixture_step(&f, &calls))
			;
		fixture_flush(&f);
	}
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_HEALTHY, journal_log(f.journal)->state);
	fixture_flush(&f);
	fixture_flush(&f);
	live = fixture_dump(&f);
	fixture_kill(&f, DISK_KEEP_SYNCED, &rng);
	TEST_ASSERT_EQUAL_INT(0, fixture_start(&f));
	dump = fixture_dump(&f);
	TEST_ASSERT_EQUAL_STRING(live, dump);
	free(live);
	free(dump);
}

static void one_sync_covers_all_turns_since_the_last_one(void)
{
	struct random_calls calls;
	uint64_t first, last;

	random_calls_init(&calls, 64);
	TEST_ASSERT_EQUAL_INT(0, fixture_start(&f));
	while (!fixture_step(&f, &calls))
		;
	fixture_flush(&f); /* written, and a sync has begun */
	first = journal_log(f.journal)->last;
	TEST_ASSERT_TRUE(journal_log(f.journal)->committed < first);
	while (!fixture_step(&f, &calls))
		;
	last = journal_log(f.journal)->last;
	fixture_flush(&f); /* the first sync is done, and a second one has begun */
	TEST_ASSERT_EQUAL_UINT64(first, journal_log(f.journal)->committed);
	fixture_flush(&f);
	TEST_ASSERT_EQUAL_UINT64(last, journal_log(f.journal)->committed);
}

/* Start with zeros on the disk, ahead of the records. */
static void start_with_zeros(struct random_calls *calls)
{
	random_calls_init(calls, 74);
	TEST_ASSERT_EQUAL_INT(0, fixture_start(&f));
	note_state();
	while (!fixture_step(&f, calls))
		;
	note_state();
	for (int i = 0; i < 3; i++)
		end_turn();
	TEST_ASSERT_EQUAL_UINT64(journal_log(f.journal)->last, acknowledged);
}

static void an_unsynced_write_over_zeros_may_be_torn_anywhere(void)
{
	unsigned with_holes = 0, whole = 0, none = 0;

	for (unsigned at = 0; at < 300; at++) {
		struct random_calls calls;
		uint64_t before;

		acknowledged = 0;
		start_with_zeros(&calls);
		before = journal_log(f.journal)->last;
		/* When the machine stops, some sectors of these replace zeros. */
		for (int made = 0; made < 40;) {
			if (!fixture_step(&f, &calls))
				continue;
			note_state();
			made++;
		}
		fixture_flush(&f);
		disk_stop(&f.disk, DISK_SYNC, 0);
		fixture_flush(&f);
		fixture_kill(&f, at == 0 ? DISK_KEEP_SYNCED : DISK_KEEP_SOME, &rng);
		check_recovery("among zeros", at);
		with_holes += f.recovery.cut_bytes > 0;
		none += journal_log(f.journal)->last == before;
		whole += journal_log(f.journal)->last == states[state_count - 1].sequence;
		fixture_done(&f);
		begin();
		forget_states();
	}
	TEST_ASSERT_TRUE(with_holes > 100 && none > 0 && whole > 0);
}

static void an_urgent_flush_syncs_at_once(void)
{
	struct random_calls calls;

	start_with_zeros(&calls);
	while (!fixture_step(&f, &calls))
		;
	fixture_flush_urgently(&f);
	TEST_ASSERT_EQUAL_UINT64(journal_log(f.journal)->last, journal_log(f.journal)->committed);
	/* That was for one flush only. */
	while (!fixture_step(&f, &calls))
		;
	fixture_flush(&f);
	TEST_ASSERT_TRUE(journal_log(f.journal)->committed < journal_log(f.journal)->last);
	check_that_nothing_is_lost_after(2);
}

static void an_urgent_sync_that_fails_fails_the_log(void)
{
	struct random_calls calls;

	start_with_zeros(&calls);
	while (!fixture_step(&f, &calls))
		;
	disk_fail(&f.disk, DISK_SYNC, 0, -EIO);
	fixture_flush_urgently(&f);
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_FAILED, journal_log(f.journal)->state);
	TEST_ASSERT_TRUE(journal_log(f.journal)->committed < journal_log(f.journal)->last);
	check_that_nothing_is_lost_after(3);
}

static void the_sync_policy_can_change_while_the_helper_writes(void)
{
	static const enum journal_sync policies[] = { JOURNAL_SYNC_EVERYSEC, JOURNAL_SYNC_ALWAYS,
						      JOURNAL_SYNC_NO };
	struct random_calls calls;

	f.options.segment_bytes = 3000;
	start_with_zeros(&calls);
	for (int i = 0; i < 200; i++) {
		while (!fixture_step(&f, &calls))
			;
		if (random_pick(&calls, 3) == 0)
			journal_set_sync(f.journal, policies[random_pick(&calls, 3)]);
		fixture_flush(&f);
	}
	journal_set_sync(f.journal, JOURNAL_SYNC_ALWAYS);
	check_that_nothing_is_lost_after(1);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(acknowledged_changes_survive_a_crash_at_each_call);
	RUN(acknowledged_changes_survive_any_loss_of_unsynced_sectors);
	RUN(kept_snapshots_survive_crashes);
	RUN(an_interrupted_recovery_into_an_empty_directory_can_be_repeated);
	RUN(acknowledged_changes_survive_the_death_of_the_process);
	RUN(a_crash_without_syncs_leaves_an_earlier_state);
	RUN(acknowledged_changes_survive_a_crash_while_a_failed_log_recovers);
	RUN(everysec_loses_at_most_the_last_second);
	RUN(a_rewrite_waits_while_the_disk_is_full);
	RUN(a_snapshot_that_does_not_fit_leaves_the_log_unchanged);
	RUN(a_snapshot_from_the_files_that_does_not_fit_is_not_tried_from_memory);
	RUN(a_full_log_that_fails_recovers_with_a_snapshot);
	RUN(the_log_recovers_from_a_failed_write);
	RUN(the_log_recovers_from_a_full_disk);
	RUN(the_log_recovers_from_a_failed_sync);
	RUN(the_log_recovers_from_a_failed_rename_or_open);
	RUN(a_failed_segment_is_never_synced_again);
	RUN(the_next_start_writes_again_what_a_failed_sync_lost);
	RUN(a_full_disk_is_noticed_before_a_command_runs);
	RUN(changes_by_reads_are_kept_while_the_log_has_failed);
	RUN(an_unsynced_write_over_zeros_may_be_torn_anywhere);
	RUN(an_urgent_flush_syncs_at_once);
	RUN(an_urgent_sync_that_fails_fails_the_log);
	RUN(the_sync_policy_can_change_while_the_helper_writes);
	RUN(one_sync_covers_all_turns_since_the_last_one);
	return UNIT_RESULT();
}
