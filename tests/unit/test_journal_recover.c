#include "journal_fixture.h"

#include "engine/state.h"
#include "journal/repair.h"

static struct fixture f;
static unsigned long long rng = 3;

void setUp(void)
{
	fixture_init(&f);
}

void tearDown(void)
{
	fixture_done(&f);
}

/* Make `count` recorded changes in one turn. */
static void make_changes_at_once(struct random_calls *calls, int count)
{
	while (count > 0)
		count -= fixture_step(&f, calls);
}

/* Compare the state with a dump, and free the dump. */
static void check_dump(char *dump)
{
	char *now = fixture_dump(&f);

	TEST_ASSERT_EQUAL_STRING(dump, now);
	free(now);
	free(dump);
}

static void an_empty_directory_gets_a_log(void)
{
	fixture_must_start(&f);
	TEST_ASSERT_EQUAL_UINT64(0, journal_log(f.journal)->last);
	TEST_ASSERT_NOT_NULL(disk_file(&f.disk, "manifest"));
	TEST_ASSERT_EQUAL_size_t(RECORD_FILE_HEADER_BYTES, disk_file(&f.disk, "log-00000001")->len);
	fixture_restart(&f);
}

static void a_second_process_is_locked_out(void)
{
	struct journal *other;

	fixture_must_start(&f);
	other = journal_open(&f.options, &f.error);
	TEST_ASSERT_NULL(other);
	TEST_ASSERT_EQUAL_STRING("another process uses the directory data", buf_cstr(&f.error));
	buf_clear(&f.error);
}

static void removing_the_lock_file_does_not_let_a_second_process_in(void)
{
	fixture_must_start(&f);
	disk_find(f.disk.names, MANIFEST_LOCK)->file = -1;
	TEST_ASSERT_NULL(journal_open(&f.options, &f.error));
	TEST_ASSERT_EQUAL_STRING("another process uses the directory data", buf_cstr(&f.error));
	buf_clear(&f.error);
	/* The second process, which was refused, holds no lock. */
	fixture_finish(&f);
	fixture_forget(&f);
	fixture_must_start(&f);
}

static void recorded_changes_are_there_after_a_restart(void)
{
	struct random_calls calls;
	char *before, *after;

	random_calls_init(&calls, 11);
	fixture_must_start(&f);
	for (int round = 0; round < 5; round++) {
		fixture_make_changes(&f, &calls, 300);
		before = fixture_dump(&f);
		fixture_restart(&f);
		after = fixture_dump(&f);
		TEST_ASSERT_EQUAL_STRING(before, after);
		TEST_ASSERT_EQUAL_UINT64(0, f.recovery.cut_bytes);
		free(before);
		free(after);
	}
}

/* Many restarts, and rewrites at random places, some of which a restart interrupts. */
static void live_through(unsigned long long seed)
{
	struct random_calls calls;
	char *before, *after;

	random_calls_init(&calls, seed);
	f.options.segment_bytes = 1000 + random_pick(&calls, 4000);
	fixture_must_start(&f);
	for (int round = 0; round < 30; round++) {
		fixture_make_changes(&f, &calls, 20 + (int)random_pick(&calls, 60));
		if (random_pick(&calls, 3) == 0) {
			journal_rewrite(f.journal);
			fixture_make_changes(&f, &calls, (int)random_pick(&calls, 10));
		}
		before = fixture_dump(&f);
		if (random_pick(&calls, 3) == 0)
			fixture_kill(&f, DISK_KEEP_ALL, &rng);
		else
			fixture_finish(&f);
		fixture_forget(&f);
		fixture_must_start(&f);
		after = fixture_dump(&f);
		TEST_ASSERT_EQUAL_STRING(before, after);
		free(before);
		free(after);
	}
	TEST_ASSERT_TRUE(f.recovery.manifest.base != 0);
}

static void the_log_continues_over_many_segments_and_snapshots(void)
{
	for (unsigned long long seed = 100; seed < 112; seed++) {
		live_through(seed);
		fixture_done(&f);
		fixture_init(&f);
	}
}

static void snapshots_can_be_made_from_the_files(void)
{
	for (unsigned long long seed = 100; seed < 112; seed++) {
		fixture_rebuild(&f);
		live_through(seed);
		fixture_done(&f);
		fixture_init(&f);
	}
}

/* A snapshot cannot be made from the files, and is made from memory instead. */
static void rebuild_in_vain(struct random_calls *calls, const char *error)
{
	struct journal_info info;

	TEST_ASSERT_TRUE(journal_rewrite(f.journal));
	journal_wait(f.journal);
	journal_get_info(f.journal, &info);
	TEST_ASSERT_EQUAL_UINT64(1, info.rewrites);
	TEST_ASSERT_EQUAL_UINT64(0, info.rebuilds);
	TEST_ASSERT_EQUAL_UINT64(1, info.rebuild_failures);
	TEST_ASSERT_EQUAL_UINT64(0, info.rewrite_failures);
	TEST_ASSERT_FALSE(info.last_is_rebuilt);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(journal_rebuild_error(f.journal), error),
				     journal_rebuild_error(f.journal));
	/* The incomplete snapshot is gone. */
	TEST_ASSERT_NULL(disk_file(&f.disk, "base-00000003"));
	TEST_ASSERT_NOT_NULL(disk_file(&f.disk, "base-00000004"));
	fixture_make_changes(&f, calls, 50);
	fixture_restart(&f);
	/* The next one is made from the files again. */
	TEST_ASSERT_TRUE(journal_rewrite(f.journal));
	journal_wait(f.journal);
	journal_get_info(f.journal, &info);
	TEST_ASSERT_EQUAL_UINT64(1, info.rebuilds);
	TEST_ASSERT_TRUE(info.last_is_rebuilt);
	fixture_restart(&f);
}

static void a_log_that_cannot_be_read_is_rewritten_from_memory(void)
{
	struct random_calls calls;

	random_calls_init(&calls, 14);
	fixture_rebuild(&f);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 200);
	disk_fail(&f.disk, DISK_READ, 2, -EIO);
	rebuild_in_vain(&calls, "Input/output error");
}

static void a_damaged_log_is_rewritten_from_memory(void)
{
	struct random_calls calls;
	struct buf *log;

	random_calls_init(&calls, 15);
	fixture_rebuild(&f);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 200);
	log = disk_file(&f.disk, "log-00000001");
	buf_data(log)[RECORD_FILE_HEADER_BYTES + 200] ^= 1;
	rebuild_in_vain(&calls, "log-00000001 is damaged at offset");
}

static void a_small_state_is_rewritten_from_memory(void)
{
	struct random_calls calls;
	struct journal_info info;

	random_calls_init(&calls, 16);
	fixture_rebuild(&f);
	f.options.fork_max_bytes = 2;
	fixture_must_start(&f);
	for (int i = 0; i < 2; i++) {
		fixture_make_changes(&f, &calls, 50);
		TEST_ASSERT_TRUE(journal_rewrite(f.journal));
		journal_wait(f.journal);
		journal_get_info(f.journal, &info);
		TEST_ASSERT_EQUAL_UINT64((unsigned)i + 1, info.rewrites);
		TEST_ASSERT_EQUAL_UINT64((unsigned)i, info.rebuilds);
		journal_set_fork_max(f.journal, 0);
	}
	fixture_restart(&f);
}

static void add_extra(void *arg, struct buf *out)
{
	(void)arg;
	operation_encode(&(struct operation){ .kind = OPERATION_CONFIG_SET,
					      .now = 1,
					      .config = { STR("by-hand"), STR("7") } },
			 out);
}

static void the_snapshot_has_the_extra_operations_of_the_owner(void)
{
	struct random_calls calls;
	char *dump;

	random_calls_init(&calls, 17);
	fixture_rebuild(&f);
	f.options.save_extra = add_extra;
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 50);
	TEST_ASSERT_TRUE(journal_rewrite(f.journal));
	journal_wait(f.journal);
	fixture_finish(&f);
	fixture_forget(&f);
	fixture_must_start(&f);
	dump = fixture_dump(&f);
	TEST_ASSERT_NOT_NULL(strstr(dump, "by-hand"));
	free(dump);
}

static void a_rewrite_removes_old_files(void)
{
	struct random_calls calls;
	struct journal_info info;
	int files = 0;

	random_calls_init(&calls, 13);
	f.options.segment_bytes = 2000;
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 300);
	TEST_ASSERT_TRUE(journal_rewrite(f.journal));
	TEST_ASSERT_FALSE(journal_rewrite(f.journal));
	journal_wait(f.journal);
	journal_get_info(f.journal, &info);
	TEST_ASSERT_EQUAL_UINT64(1, info.rewrites);
	TEST_ASSERT_EQUAL_UINT64(1, info.segments);
	TEST_ASSERT_EQUAL_UINT64(RECORD_FILE_HEADER_BYTES, info.log_bytes);
	for (int i = 0; i < DISK_FILES_MAX; i++)
		files += f.disk.names[i].file >= 0;
	TEST_ASSERT_EQUAL_INT(4, files); /* manifest, lock, base, log */
}

/* ---- damage ---- */

/* The dump after each recorded change, and the offset at which its record ends. */
struct step {
	size_t end;
	char *dump;
};

#define STEPS 200
static struct step steps[STEPS + 1];

/* The policy decides whether there are zeros after the records. */
static void make_steps(struct random_calls *calls, enum journal_sync sync)
{
	struct journal_info info;
	int count = 0;

	f.options.sync = sync;
	f.options.segment_bytes = 64 * 1024;
	fixture_must_start(&f);
	steps[0] = (struct step){ RECORD_FILE_HEADER_BYTES, fixture_dump(&f) };
	while (count < STEPS) {
		if (!fixture_step(&f, calls))
			continue;
		fixture_flush(&f);
		fixture_flush(&f);
		count++;
		journal_get_info(f.journal, &info);
		steps[count].end = info.log_bytes;
		steps[count].dump = fixture_dump(&f);
	}
	TEST_ASSERT_EQUAL_UINT64(1, info.segments);
}

static void free_steps(void)
{
	for (int i = 0; i <= STEPS; i++)
		free(steps[i].dump);
}

/* Start with a copy of the disk. */
static int try_start(struct fixture *on, const struct disk *disk)
{
	fixture_init(on);
	disk_copy(&on->disk, disk);
	on->options.io = &on->disk.io;
	return fixture_start(on);
}

static void a_log_cut_anywhere_gives_the_state_after_its_last_whole_record(void)
{
	struct random_calls calls;
	struct fixture copy;
	size_t len;
	int at = STEPS;
	char *dump;

	random_calls_init(&calls, 14);
	make_steps(&calls, JOURNAL_SYNC_EVERYSEC);
	fixture_kill(&f, DISK_KEEP_ALL, &rng);
	for (len = disk_file(&f.disk, "log-00000001")->len; len >= RECORD_FILE_HEADER_BYTES;
	     len--) {
		buf_truncate(disk_file(&f.disk, "log-00000001"), len);
		while (steps[at].end > len)
			at--;
		TEST_ASSERT_EQUAL_INT(0, try_start(&copy, &f.disk));
		dump = fixture_dump(&copy);
		TEST_ASSERT_EQUAL_STRING(steps[at].dump, dump);
		free(dump);
		fixture_done(&copy);
	}
	free_steps();
}

static void a_log_with_zeros_from_anywhere_on_gives_the_state_after_its_last_whole_record(void)
{
	struct random_calls calls;
	struct fixture copy;
	struct buf *log;
	size_t len;
	int at = STEPS;
	char *dump;

	random_calls_init(&calls, 14);
	make_steps(&calls, JOURNAL_SYNC_ALWAYS);
	fixture_kill(&f, DISK_KEEP_ALL, &rng);
	log = disk_file(&f.disk, "log-00000001");
	TEST_ASSERT_EQUAL_size_t(64 * 1024, log->len);
	for (len = steps[STEPS].end; len >= RECORD_FILE_HEADER_BYTES; len--) {
		buf_data(log)[len] = 0;
		while (at > 0 && steps[at].end > len)
			at--;
		TEST_ASSERT_EQUAL_INT(0, try_start(&copy, &f.disk));
		TEST_ASSERT_TRUE(copy.recovery.tail_size >= steps[at].end);
		/* The last byte of a record may be a zero. */
		if (copy.recovery.tail_size == steps[at].end) {
			dump = fixture_dump(&copy);
			TEST_ASSERT_EQUAL_STRING(steps[at].dump, dump);
			free(dump);
		}
		fixture_done(&copy);
	}
	free_steps();
}

static void zeros_written_ahead_are_no_torn_end(void)
{
	struct random_calls calls;
	char *before, *after;

	random_calls_init(&calls, 32);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 50);
	before = fixture_dump(&f);
	fixture_kill(&f, DISK_KEEP_SYNCED, &rng);
	fixture_must_start(&f);
	after = fixture_dump(&f);
	TEST_ASSERT_EQUAL_STRING(before, after);
	TEST_ASSERT_EQUAL_UINT64(0, f.recovery.cut_bytes);
	TEST_ASSERT_EQUAL_UINT64(f.options.segment_bytes - f.recovery.tail_size,
				 f.recovery.spare_bytes);
	TEST_ASSERT_EQUAL_UINT64(0, f.recovery.damaged_file);
	free(before);
	free(after);
	/* Closing the log removes them. */
	fixture_finish(&f);
	TEST_ASSERT_TRUE(disk_file(&f.disk, "log-00000001")->len < 20000);
	fixture_forget(&f);
	fixture_must_start(&f);
	TEST_ASSERT_EQUAL_UINT64(0, f.recovery.spare_bytes);
	TEST_ASSERT_TRUE(f.recovery.sealed);
}

static void zeros_before_a_later_segment_are_damage(void)
{
	static const char zeros[100];
	struct random_calls calls;

	random_calls_init(&calls, 33);
	f.options.segment_bytes = 2000;
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 100);
	fixture_finish(&f);
	buf_append(disk_file(&f.disk, "log-00000001"), zeros, sizeof zeros);
	fixture_forget(&f);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, fixture_start(&f));
	TEST_ASSERT_TRUE(f.recovery.damaged);
}

static void a_group_comes_back_whole_or_not_at_all(void)
{
	struct random_calls calls;
	struct fixture copy;
	size_t len;
	char *dump;
	int at = 0;

	random_calls_init(&calls, 27);
	f.options.sync = JOURNAL_SYNC_EVERYSEC;
	fixture_must_start(&f);
	steps[0] = (struct step){ RECORD_FILE_HEADER_BYTES, fixture_dump(&f) };
	while (at < 20) {
		uint64_t last = journal_log(f.journal)->last;

		commit_log_begin_group(journal_log(f.journal));
		for (int i = 0; i < 3; i++) {
			commit_log_begin_group(journal_log(f.journal));
			while (!fixture_step(&f, &calls))
				;
			commit_log_end_group(journal_log(f.journal));
		}
		commit_log_end_group(journal_log(f.journal));
		TEST_ASSERT_TRUE(journal_log(f.journal)->last <= last + 2); /* one may be a mark */
		fixture_flush(&f);
		at++;
		steps[at].end = disk_file(&f.disk, "log-00000001")->len;
		steps[at].dump = fixture_dump(&f);
	}
	fixture_kill(&f, DISK_KEEP_ALL, &rng);
	for (len = disk_file(&f.disk, "log-00000001")->len; len >= RECORD_FILE_HEADER_BYTES;
	     len--) {
		buf_truncate(disk_file(&f.disk, "log-00000001"), len);
		while (steps[at].end > len)
			free(steps[at--].dump);
		TEST_ASSERT_EQUAL_INT(0, try_start(&copy, &f.disk));
		dump = fixture_dump(&copy);
		TEST_ASSERT_EQUAL_STRING(steps[at].dump, dump);
		free(dump);
		fixture_done(&copy);
	}
	free(steps[0].dump);
}

static void a_batch_takes_few_records(void)
{
	struct random_calls calls;
	uint64_t before;
	size_t from, size;
	char *dump;

	random_calls_init(&calls, 29);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 10);
	before = journal_log(f.journal)->last;
	from = disk_file(&f.disk, "log-00000001")->len;
	commit_log_begin_batch(journal_log(f.journal));
	make_changes_at_once(&calls, 5);
	TEST_ASSERT_EQUAL_UINT64(before, journal_log(f.journal)->last);
	commit_log_end_batch(journal_log(f.journal));
	TEST_ASSERT_EQUAL_UINT64(before + 1, journal_log(f.journal)->last);
	fixture_flush(&f);
	fixture_flush(&f);

	before = journal_log(f.journal)->last;
	commit_log_begin_batch(journal_log(f.journal));
	make_changes_at_once(&calls, 400);
	commit_log_end_batch(journal_log(f.journal));
	fixture_flush(&f);
	fixture_flush(&f);
	size = disk_file(&f.disk, "log-00000001")->len - from;
	TEST_ASSERT_GREATER_THAN_UINT64(before + size / 8192, journal_log(f.journal)->last);
	TEST_ASSERT_LESS_THAN_UINT64(before + 200, journal_log(f.journal)->last);

	dump = fixture_dump(&f);
	fixture_kill(&f, DISK_KEEP_ALL, &rng);
	fixture_must_start(&f);
	check_dump(dump);
}

/* Even in a batch, and longer than the records of a batch. */
static void a_group_in_a_batch_is_one_record(void)
{
	struct random_calls calls;
	uint64_t before;
	char *dump;

	random_calls_init(&calls, 30);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 10);
	before = journal_log(f.journal)->last;
	commit_log_begin_batch(journal_log(f.journal));
	make_changes_at_once(&calls, 1);
	commit_log_begin_group(journal_log(f.journal));
	make_changes_at_once(&calls, 400);
	TEST_ASSERT_EQUAL_UINT64(before, journal_log(f.journal)->last);
	commit_log_end_group(journal_log(f.journal));
	TEST_ASSERT_EQUAL_UINT64(before + 1, journal_log(f.journal)->last);
	before = journal_log(f.journal)->last;
	make_changes_at_once(&calls, 1);
	TEST_ASSERT_EQUAL_UINT64(before, journal_log(f.journal)->last);
	commit_log_end_batch(journal_log(f.journal));
	TEST_ASSERT_EQUAL_UINT64(before + 1, journal_log(f.journal)->last);
	dump = fixture_dump(&f);
	fixture_finish(&f);
	fixture_forget(&f);
	fixture_must_start(&f);
	check_dump(dump);
}

static void a_group_without_changes_is_no_record(void)
{
	fixture_must_start(&f);
	commit_log_begin_group(journal_log(f.journal));
	commit_log_end_group(journal_log(f.journal));
	commit_log_begin_batch(journal_log(f.journal));
	commit_log_end_batch(journal_log(f.journal));
	fixture_flush(&f);
	/* There is not even a mark, which would need a sync. */
	TEST_ASSERT_EQUAL_UINT64(0, journal_log(f.journal)->last);
}

static void a_record_may_be_larger_than_a_segment(void)
{
	struct random_calls calls;
	struct qless_str argv[] = { STR("put"), STR("w"),    STR("q"), STR("large"),
				    STR("k"),	{ NULL, 0 }, STR("0") };
	struct buf data = BUF_INIT(BUF_NO_MAX);
	char *before, *after;

	random_calls_init(&calls, 28);
	f.options.segment_bytes = 1000;
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 30);
	buf_printf(&data, "[");
	for (int i = 0; i < 20000; i++)
		buf_printf(&data, "%d,", i);
	buf_printf(&data, "0]");
	argv[5] = buf_str(&data);
	TEST_ASSERT_EQUAL_INT(0, engines_run(&f.engines, 0, calls.now, argv, 7));
	fixture_flush(&f);
	fixture_make_changes(&f, &calls, 30);
	before = fixture_dump(&f);
	fixture_restart(&f);
	after = fixture_dump(&f);
	TEST_ASSERT_EQUAL_STRING(before, after);
	free(before);
	free(after);
	buf_done(&data);
}

static void setting_the_clock_back_does_no_harm(void)
{
	struct random_calls calls;
	struct recovery_target no_target = { 0 };
	struct recovery_limit limit;
	struct recovery r;
	char *before, *after;
	int64_t early_us;

	random_calls_init(&calls, 29);
	f.options.segment_bytes = 2000;
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 30);
	f.us -= INT64_C(86400) * 1000000;
	early_us = f.us;
	fixture_make_changes(&f, &calls, 30);
	before = fixture_dump(&f);
	fixture_restart(&f);
	after = fixture_dump(&f);
	TEST_ASSERT_EQUAL_STRING(before, after);
	free(before);
	free(after);
	fixture_finish(&f);
	/* Marks have the times of the clock, so a recovery up to the early time stops at the late
	 * one. */
	limit = (struct recovery_limit){ .sequence = UINT64_MAX, .wall_us = early_us };
	TEST_ASSERT_EQUAL_INT(0,
			      recovery_run(&r, &f.disk.io, "data", &limit, &no_target, &f.error));
	TEST_ASSERT_TRUE(r.limited);
	recovery_done(&r);
}

static void each_flipped_byte_of_a_closed_log_is_noticed(void)
{
	struct random_calls calls;
	struct fixture copy;
	struct buf *log;

	random_calls_init(&calls, 15);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 60);
	fixture_finish(&f);
	log = disk_file(&f.disk, "log-00000001");
	for (size_t i = 0; i < log->len; i++) {
		buf_data(log)[i] ^= 0x20;
		TEST_ASSERT_EQUAL_INT(-EBADMSG, try_start(&copy, &f.disk));
		TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&copy.error), "log-00000001"));
		fixture_done(&copy);
		buf_data(log)[i] ^= 0x20;
	}
}

static void a_closed_log_that_was_cut_anywhere_is_refused(void)
{
	struct random_calls calls;
	struct fixture copy;
	struct buf *log;
	uint64_t size;

	random_calls_init(&calls, 15);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 60);
	fixture_finish(&f);
	log = disk_file(&f.disk, "log-00000001");
	size = log->len;
	while (log->len > RECORD_FILE_HEADER_BYTES) {
		char bytes[64];

		buf_truncate(log, log->len - 1);
		TEST_ASSERT_EQUAL_INT(-EBADMSG, try_start(&copy, &f.disk));
		TEST_ASSERT_TRUE(copy.recovery.damaged);
		TEST_ASSERT_EQUAL_UINT64(1, copy.recovery.damaged_file);
		/* The message says what is missing if no part of a record is left. */
		if (copy.recovery.damaged_offset == log->len) {
			snprintf(bytes, sizeof bytes, "was %llu bytes long when the log was closed",
				 (unsigned long long)size);
			TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&copy.error), bytes));
		}
		/* Cutting makes the rest usable. */
		if (log->len % 50 == 0) {
			struct buf kept = BUF_INIT(BUF_NO_MAX);

			TEST_ASSERT_EQUAL_INT(0, repair_cut(&copy.disk.io, "data", &copy.recovery,
							    &kept, &copy.error));
			fixture_forget(&copy);
			TEST_ASSERT_EQUAL_INT(0, fixture_start(&copy));
			buf_done(&kept);
		}
		fixture_done(&copy);
	}
}

/* A log that goes on after it was closed may have a torn end again. */
static void a_log_that_continues_is_no_longer_closed(void)
{
	struct random_calls calls;
	struct journal_info info;
	char *dump;

	random_calls_init(&calls, 36);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 20);
	fixture_restart(&f);
	TEST_ASSERT_TRUE(f.recovery.closed);
	dump = fixture_dump(&f);
	fixture_make_changes(&f, &calls, 1);
	journal_get_info(f.journal, &info);
	fixture_kill(&f, DISK_KEEP_ALL, &rng);
	buf_truncate(disk_file(&f.disk, "log-00000001"), info.log_bytes - 1);
	fixture_must_start(&f);
	TEST_ASSERT_TRUE(f.recovery.cut_bytes > 0);
	TEST_ASSERT_FALSE(f.recovery.closed);
	check_dump(dump);
}

/* Old bytes of the disk may come back where a record was lost. They must not be taken for a record
 * that got the same number later. */
static void a_log_that_was_not_closed_continues_in_a_segment_with_another_salt(void)
{
	struct random_calls calls;
	uint64_t salt;

	random_calls_init(&calls, 37);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 20);
	fixture_restart(&f);
	TEST_ASSERT_EQUAL_size_t(1, f.recovery.manifest.log_count);
	salt = f.recovery.tail.salt;
	fixture_make_changes(&f, &calls, 20);
	fixture_kill(&f, DISK_KEEP_ALL, &rng);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 5);
	fixture_restart(&f);
	TEST_ASSERT_EQUAL_size_t(2, f.recovery.manifest.log_count);
	TEST_ASSERT_TRUE(f.recovery.tail.salt != salt);
	TEST_ASSERT_EQUAL_UINT64(41, f.recovery.tail.sequence);
	/* Processes that die without a change leave no segments. */
	for (int i = 0; i < 3; i++) {
		fixture_kill(&f, DISK_KEEP_ALL, &rng);
		fixture_must_start(&f);
	}
	TEST_ASSERT_EQUAL_size_t(2 + 1, f.recovery.manifest.log_count);
}

/* When nothing has changed for a second, a mark vouches for the last records, too. */
static void each_flipped_byte_of_a_log_at_rest_is_noticed(void)
{
	static const enum journal_sync policies[] = { JOURNAL_SYNC_ALWAYS, JOURNAL_SYNC_EVERYSEC };

	for (int policy = 0; policy < 2; policy++) {
		struct random_calls calls;
		struct journal_info info;
		struct fixture copy;
		uint64_t end, syncs;
		struct buf *log;

		random_calls_init(&calls, 38);
		f.options.sync = policies[policy];
		fixture_must_start(&f);
		fixture_make_changes(&f, &calls, 20);
		make_changes_at_once(&calls, 20);
		fixture_flush(&f);
		fixture_flush(&f);
		journal_get_info(f.journal, &info);
		end = info.log_bytes;
		for (int i = 0; i < 8; i++) {
			f.us += 500000;
			fixture_flush(&f);
		}
		journal_get_info(f.journal, &info);
		syncs = info.syncs;
		TEST_ASSERT_EQUAL_UINT64(end + RECORD_FRAME_BYTES + RECORD_MARK_BYTES,
					 info.log_bytes);
		/* One mark is enough. */
		for (int i = 0; i < 8; i++) {
			f.us += 500000;
			fixture_flush(&f);
		}
		journal_get_info(f.journal, &info);
		TEST_ASSERT_EQUAL_UINT64(syncs, info.syncs);
		fixture_kill(&f, DISK_KEEP_SYNCED, &rng);
		log = disk_file(&f.disk, "log-00000001");
		for (size_t i = 0; i < end; i += 7) {
			buf_data(log)[i] ^= 0x20;
			TEST_ASSERT_EQUAL_INT(-EBADMSG, try_start(&copy, &f.disk));
			fixture_done(&copy);
			buf_data(log)[i] ^= 0x20;
		}
		tearDown();
		setUp();
	}
}

static void a_flipped_byte_never_gives_a_wrong_state(void)
{
	struct random_calls calls;
	struct fixture copy;
	struct buf *log;
	unsigned cut = 0, refused = 0;

	random_calls_init(&calls, 16);
	make_steps(&calls, JOURNAL_SYNC_ALWAYS);
	fixture_kill(&f, DISK_KEEP_ALL, &rng);
	log = disk_file(&f.disk, "log-00000001");
	for (size_t i = 0; i < steps[STEPS].end; i += 3) {
		char *dump;
		int at;

		buf_data(log)[i] ^= 0x01;
		if (try_start(&copy, &f.disk) == 0) {
			dump = fixture_dump(&copy);
			for (at = STEPS; steps[at].end > copy.recovery.tail_size && at > 0;)
				at--;
			TEST_ASSERT_EQUAL_STRING(steps[at].dump, dump);
			TEST_ASSERT_TRUE(copy.recovery.cut_bytes > 0);
			/* Only the last record is cut, and no acknowledged one before it. */
			TEST_ASSERT_TRUE(at >= STEPS - 1);
			free(dump);
			cut++;
		} else {
			refused++;
		}
		fixture_done(&copy);
		buf_data(log)[i] ^= 0x01;
	}
	TEST_ASSERT_TRUE(cut > 0 && refused > cut);
	free_steps();
}

static void damage_of_a_manifest_or_a_snapshot_is_refused(void)
{
	static const char *const names[] = { "manifest", "base-00000003" };
	struct random_calls calls;
	struct fixture copy;

	random_calls_init(&calls, 17);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 100);
	journal_rewrite(f.journal);
	journal_wait(f.journal);
	fixture_finish(&f);
	for (int n = 0; n < 2; n++) {
		struct buf *file = disk_file(&f.disk, names[n]);

		TEST_ASSERT_NOT_NULL(file);
		for (size_t i = 0; i < file->len; i++) {
			buf_data(file)[i] ^= 0x04;
			TEST_ASSERT_EQUAL_INT(-EBADMSG, try_start(&copy, &f.disk));
			TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&copy.error), names[n]));
			fixture_done(&copy);
			buf_data(file)[i] ^= 0x04;
		}
	}
}

static void damage_before_a_later_segment_is_refused_with_its_place(void)
{
	struct random_calls calls;

	random_calls_init(&calls, 18);
	f.options.segment_bytes = 2000;
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 100);
	fixture_finish(&f);
	buf_truncate(disk_file(&f.disk, "log-00000001"),
		     disk_file(&f.disk, "log-00000001")->len - 1);
	fixture_forget(&f);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, fixture_start(&f));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&f.error), "data/log-00000001 is damaged at offset "));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&f.error), "qlessd-check data"));
	TEST_ASSERT_TRUE(f.recovery.damaged);
}

static void a_missing_file_is_named(void)
{
	struct random_calls calls;

	random_calls_init(&calls, 19);
	f.options.segment_bytes = 2000;
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 100);
	fixture_finish(&f);
	disk_find(f.disk.names, "log-00000002")->file = -1;
	fixture_forget(&f);
	TEST_ASSERT_EQUAL_INT(-ENOENT, fixture_start(&f));
	TEST_ASSERT_EQUAL_STRING("cannot read data/log-00000002: No such file or directory. The "
				 "manifest names this file. If the manifest is an old one, make a "
				 "new one from the other files: qlessd-check --fix data",
				 buf_cstr(&f.error));
}

static void segments_without_a_manifest_are_no_empty_directory(void)
{
	struct random_calls calls;

	random_calls_init(&calls, 20);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 10);
	fixture_finish(&f);
	disk_find(f.disk.names, "manifest")->file = -1;
	fixture_forget(&f);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, fixture_start(&f));
	TEST_ASSERT_NOT_NULL(disk_file(&f.disk, "log-00000001"));
}

static void a_hole_that_a_crash_left_is_cut(void)
{
	static const char zeros[32];
	struct random_calls calls;
	struct buf *log;

	random_calls_init(&calls, 21);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 3);
	/* One turn with many records, which take several sectors and are not synced yet. */
	f.disk.stop = true;
	while (journal_log(f.journal)->last < 80)
		fixture_step(&f, &calls);
	disk_fail(&f.disk, DISK_SYNC, 0, -EIO);
	f.disk.stop = true;
	fixture_flush(&f);
	fixture_flush(&f);
	log = disk_file(&f.disk, "log-00000001");
	TEST_ASSERT_TRUE(log->len > 4096 + sizeof zeros &&
			 memcmp(buf_data(log) + 4096, zeros, sizeof zeros) != 0);
	memset(buf_data(log) + 1024, 0, 512);
	fixture_kill(&f, DISK_KEEP_ALL, &rng);
	fixture_must_start(&f);
	TEST_ASSERT_TRUE(f.recovery.cut_bytes > 3000);
	TEST_ASSERT_TRUE(f.recovery.tail_size > 500 && f.recovery.tail_size <= 1024);
}

static void a_hole_in_synced_records_is_refused(void)
{
	struct random_calls calls;
	struct journal_info info;

	random_calls_init(&calls, 22);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 60);
	journal_get_info(f.journal, &info);
	TEST_ASSERT_TRUE(info.log_bytes > 2048);
	fixture_kill(&f, DISK_KEEP_ALL, &rng);
	memset(buf_data(disk_file(&f.disk, "log-00000001")) + 1024, 0, 512);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, fixture_start(&f));
	TEST_ASSERT_TRUE(f.recovery.damaged);
}

/* ---- earlier formats ---- */

static void append_to_version_3(struct buf *log, uint64_t sequence)
{
	static const char set[] = "\0" /* database */
				  "12345678"
				  "\3"
				  "\12config.set"
				  "\5by-v3"
				  "\1"
				  "7";

	record_append(log, 1, RECORD_COMMANDS, sequence, str_make(set, sizeof set - 1));
}

/* Marks of version 3 have sequence numbers: mark 1, command 2, mark 3, command 4. */
static void make_log_of_version_3(void)
{
	struct record_file_header header = { .kind = RECORD_FILE_LOG,
					     .format = 3,
					     .engine = STATE_VERSION,
					     .number = 1,
					     .sequence = 1,
					     .salt = 1,
					     .created_us = f.us };
	struct record_mark mark = { .wall_us = f.us };
	unsigned char bytes[RECORD_FILE_HEADER_BYTES];
	struct buf *log;

	fixture_must_start(&f);
	fixture_finish(&f);
	fixture_forget(&f);
	log = disk_file(&f.disk, "log-00000001");
	record_encode_header(&header, bytes);
	buf_clear(log);
	buf_append(log, bytes, sizeof bytes);
	record_append_mark(log, 1, 1, &mark);
	append_to_version_3(log, 2);
	mark.durable = 2;
	record_append_mark(log, 1, 3, &mark);
	append_to_version_3(log, 4);
}

static void a_log_of_version_3_continues_in_a_segment_of_the_current_version(void)
{
	struct random_calls calls;
	char *dump;

	make_log_of_version_3();
	fixture_must_start(&f);
	TEST_ASSERT_EQUAL_UINT64(2, f.recovery.operations);
	TEST_ASSERT_EQUAL_UINT64(4, journal_log(f.journal)->last);
	random_calls_init(&calls, 34);
	fixture_make_changes(&f, &calls, 10);
	dump = fixture_dump(&f);
	TEST_ASSERT_NOT_NULL(strstr(dump, "by-v3"));
	fixture_restart(&f);
	TEST_ASSERT_EQUAL_UINT64(14, journal_log(f.journal)->last);
	TEST_ASSERT_EQUAL_UINT32(RECORD_FORMAT_VERSION, f.recovery.tail.format);
	check_dump(dump);
}

/* Zeros up to the end of the sector and one more sector of them, in front of what is there. */
static void put_hole(struct buf *log, size_t at)
{
	size_t zeros = 512 - at % 512 + 512, rest = log->len - at;

	buf_reserve(log, zeros);
	buf_commit(log, zeros);
	memmove(buf_data(log) + at + zeros, buf_data(log) + at, rest);
	memset(buf_data(log) + at, 0, zeros);
}

static void a_log_of_version_3_is_cut_as_before(void)
{
	struct buf *log;

	/* The last command is torn: its mark is the last record that counts. */
	make_log_of_version_3();
	log = disk_file(&f.disk, "log-00000001");
	buf_truncate(log, log->len - 1);
	fixture_must_start(&f);
	TEST_ASSERT_TRUE(f.recovery.cut_bytes > 0);
	TEST_ASSERT_EQUAL_UINT64(3, journal_log(f.journal)->last);
	fixture_finish(&f);
	fixture_forget(&f);

	/* A hole where command 2 was is damage, because mark 3 vouches for it. */
	make_log_of_version_3();
	log = disk_file(&f.disk, "log-00000001");
	put_hole(log, RECORD_FILE_HEADER_BYTES + RECORD_FRAME_BYTES + RECORD_MARK_BYTES);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, fixture_start(&f));
	TEST_ASSERT_EQUAL_UINT64(2, f.recovery.damaged_sequence);
}

/* ---- space and syncs ---- */

static void sequence_numbers_count_records_but_no_marks(void)
{
	struct random_calls calls;

	random_calls_init(&calls, 35);
	fixture_must_start(&f);
	for (int round = 1; round <= 3; round++) {
		fixture_make_changes(&f, &calls, 200);
		f.us += 2000000;
		TEST_ASSERT_EQUAL_UINT64(200 * (unsigned)round, journal_log(f.journal)->last);
		fixture_restart(&f);
		TEST_ASSERT_EQUAL_UINT64(200 * (unsigned)round, journal_log(f.journal)->last);
		TEST_ASSERT_TRUE(f.recovery.records > f.recovery.operations);
	}
}

static void syncs_take_no_space_in_the_log(void)
{
	struct journal_info before, after;
	struct random_calls calls;
	int64_t begin_us;

	random_calls_init(&calls, 23);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 1);
	journal_get_info(f.journal, &before);
	begin_us = f.us;
	fixture_make_changes(&f, &calls, 500);
	journal_get_info(f.journal, &after);
	TEST_ASSERT_TRUE(after.syncs - before.syncs >= 500);
	fixture_finish(&f);
	fixture_forget(&f);
	fixture_must_start(&f);
	/* The others are marks: one a second, and one at each end. */
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(f.recovery.operations + 2 +
						 (uint64_t)(f.us - begin_us) / 1000000 + 1,
					 f.recovery.records);
}

/* Put a job with `size` bytes of data. */
static void record_large(const char *jid, size_t size)
{
	struct qless_str argv[] = { STR("put"), STR("w"),	STR("q"), str_from(jid),
				    STR("k"),	{ NULL, size }, STR("0") };
	char *data = malloc(size);

	memset(data, '1', size);
	argv[5].ptr = data;
	TEST_ASSERT_EQUAL_INT(0, engines_run(&f.engines, 0, (double)f.us / 1e6, argv, 7));
	free(data);
}

/* Put such a job in a turn of its own. */
static void put_large(const char *jid, size_t size)
{
	record_large(jid, size);
	fixture_flush(&f);
}

static void many_pending_bytes_want_a_flush_before_the_end_of_the_turn(void)
{
	fixture_must_start(&f);
	TEST_ASSERT_FALSE(commit_log_wants_flush(journal_log(f.journal)));
	record_large("little", 1000);
	TEST_ASSERT_FALSE(commit_log_wants_flush(journal_log(f.journal)));
	record_large("much", 100000);
	TEST_ASSERT_TRUE(commit_log_wants_flush(journal_log(f.journal)));
	fixture_flush(&f);
	TEST_ASSERT_FALSE(commit_log_wants_flush(journal_log(f.journal)));
	disk_fail(&f.disk, DISK_SYNC, 0, -EIO);
	record_large("while it is broken", 100000);
	fixture_flush(&f);
	fixture_flush(&f);
	TEST_ASSERT_NOT_EQUAL(COMMIT_LOG_HEALTHY, journal_log(f.journal)->state);
	TEST_ASSERT_FALSE(commit_log_wants_flush(journal_log(f.journal)));
}

static void everysec_wants_no_flush_before_the_end_of_the_turn(void)
{
	f.options.sync = JOURNAL_SYNC_EVERYSEC;
	fixture_must_start(&f);
	record_large("much", 100000);
	TEST_ASSERT_FALSE(commit_log_wants_flush(journal_log(f.journal)));
}

/* Returns the number of bytes after the records of the last segment. */
static size_t count_spare_bytes(const char *name)
{
	struct journal_info info;
	uint64_t file_bytes = 0;
	char path[32];

	journal_get_info(f.journal, &info);
	for (unsigned number = 1; number <= info.segments; number++) {
		snprintf(path, sizeof path, "log-%08u", number);
		file_bytes += disk_file(&f.disk, path)->len;
	}
	TEST_ASSERT_NOT_NULL(disk_file(&f.disk, name));
	return (size_t)(file_bytes - info.log_bytes);
}

static void fast_writes_without_syncs_find_zeros_ahead(void)
{
	static const enum journal_sync policies[] = { JOURNAL_SYNC_EVERYSEC, JOURNAL_SYNC_NO };
	char jid[32], *before, *after;
	size_t spare_max;

	for (int policy = 0; policy < 2; policy++) {
		spare_max = 0;
		f.options.sync = policies[policy];
		f.options.segment_bytes = 4 << 20;
		fixture_must_start(&f);
		put_large("first", 100000);
		fixture_flush(&f);
		TEST_ASSERT_EQUAL_size_t(0, count_spare_bytes("log-00000001"));
		for (int i = 0; i < 70; i++) {
			size_t spare;

			snprintf(jid, sizeof jid, "%d", i);
			put_large(jid, 100000);
			spare = count_spare_bytes("log-00000001");
			spare_max = spare > spare_max ? spare : spare_max;
		}
		TEST_ASSERT_TRUE(spare_max >= 1 << 20);
		before = fixture_dump(&f);
		TEST_ASSERT_TRUE(count_spare_bytes("log-00000002") > 0);
		fixture_kill(&f, DISK_KEEP_ALL, &rng);
		fixture_must_start(&f);
		after = fixture_dump(&f);
		TEST_ASSERT_EQUAL_STRING(before, after);
		TEST_ASSERT_EQUAL_UINT64(0, f.recovery.cut_bytes);
		TEST_ASSERT_TRUE(f.recovery.spare_bytes > 0);
		free(before);
		free(after);
		tearDown();
		setUp();
	}
}

/* ---- cutting ---- */

static void cutting_repairs_a_log_and_keeps_the_cut_bytes(void)
{
	struct buf kept = BUF_INIT(BUF_NO_MAX), was = BUF_INIT(BUF_NO_MAX), *second, *rest;
	struct random_calls calls;
	char name[64];
	size_t size;

	random_calls_init(&calls, 25);
	f.options.segment_bytes = 2000;
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 100);
	fixture_finish(&f);
	second = disk_file(&f.disk, "log-00000002");
	size = second->len;
	buf_data(second)[1000] ^= 1;
	buf_append_str(&was, buf_str(second));
	fixture_forget(&f);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, fixture_start(&f));
	buf_clear(&f.error);
	TEST_ASSERT_TRUE(repair_is_possible(&f.recovery, &f.error));
	TEST_ASSERT_EQUAL_INT(0, repair_cut(&f.disk.io, "data", &f.recovery, &kept, &f.error));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&kept), "data/log-00000002.cut-"));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&kept), "data/log-00000003.cut-0\n"));
	TEST_ASSERT_NOT_NULL(disk_file(&f.disk, "log-00000003.cut-0"));
	TEST_ASSERT_NULL(disk_file(&f.disk, "log-00000003"));
	TEST_ASSERT_TRUE(second->len <= 1000 && second->len < size);
	/* Nothing is lost: the cut segment and the kept bytes together are the old segment. */
	snprintf(name, sizeof name, "log-00000002.cut-%zu", second->len);
	rest = disk_file(&f.disk, name);
	TEST_ASSERT_NOT_NULL(rest);
	TEST_ASSERT_EQUAL_size_t(size, second->len + rest->len);
	TEST_ASSERT_EQUAL_MEMORY(buf_data(&was) + RECORD_FILE_HEADER_BYTES,
				 buf_data(second) + RECORD_FILE_HEADER_BYTES,
				 second->len - RECORD_FILE_HEADER_BYTES);
	TEST_ASSERT_EQUAL_MEMORY(buf_data(&was) + second->len, buf_data(rest), rest->len);
	fixture_forget(&f);
	fixture_must_start(&f);
	TEST_ASSERT_EQUAL_UINT64(0, f.recovery.cut_bytes);
	fixture_make_changes(&f, &calls, 5);
	fixture_restart(&f);
	TEST_ASSERT_NOT_NULL(disk_file(&f.disk, "log-00000003.cut-0"));
	buf_done(&kept);
	buf_done(&was);
}

static void damage_that_cutting_does_not_repair_is_left_alone(void)
{
	struct random_calls calls;

	random_calls_init(&calls, 26);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 30);
	fixture_finish(&f);
	buf_data(disk_file(&f.disk, "manifest"))[3] ^= 1;
	fixture_forget(&f);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, fixture_start(&f));
	TEST_ASSERT_FALSE(repair_is_possible(&f.recovery, &f.error));
}

/* ---- earlier states ---- */

static void the_state_as_of_a_sequence_number_is_recovered(void)
{
	struct random_calls calls;
	struct fixture copy;
	struct recovery r;
	struct recovery_target target;

	random_calls_init(&calls, 22);
	make_steps(&calls, JOURNAL_SYNC_ALWAYS);
	fixture_finish(&f);
	for (int i = 0; i <= STEPS; i += 25) {
		struct recovery_limit limit = RECOVERY_NO_LIMIT;
		char *dump;

		/* Find the sequence number up to which that step went. */
		fixture_init(&copy);
		target = fixture_target(&copy);
		limit.sequence = 0;
		for (uint64_t seq = 1; limit.sequence == 0 && i > 0; seq++) {
			struct recovery_limit to = { .sequence = seq, .wall_us = INT64_MAX };
			struct recovery_target no_target = { 0 };

			TEST_ASSERT_EQUAL_INT(0, recovery_run(&r, &f.disk.io, "data", &to,
							      &no_target, &copy.error));
			if (r.tail_size >= steps[i].end)
				limit.sequence = seq;
			recovery_done(&r);
		}
		TEST_ASSERT_EQUAL_INT(
			0, recovery_run(&r, &f.disk.io, "data", &limit, &target, &copy.error));
		TEST_ASSERT_EQUAL_UINT64(limit.sequence, r.last_sequence);
		TEST_ASSERT_TRUE(r.limited);
		recovery_done(&r);
		dump = fixture_dump(&copy);
		TEST_ASSERT_EQUAL_STRING(steps[i].dump, dump);
		free(dump);
		fixture_done(&copy);
	}
	free_steps();
}

/* Three snapshots are kept besides the current one, and each moment of the run is recovered. */
static void kept_snapshots_lead_to_earlier_states(void)
{
	struct {
		uint64_t sequence;
		char *dump;
	} moments[STEPS];
	struct recovery_limit limit = RECOVERY_NO_LIMIT;
	struct random_calls calls;
	uint64_t oldest = UINT64_MAX;
	unsigned found = 0;

	random_calls_init(&calls, 30);
	f.options.segment_bytes = 1500;
	f.options.keep_bases = 3;
	fixture_must_start(&f);
	for (int i = 0; i < STEPS; i++) {
		fixture_make_changes(&f, &calls, 1);
		moments[i].sequence = journal_log(f.journal)->last;
		moments[i].dump = fixture_dump(&f);
		if (i % 25 == 24) {
			journal_rewrite(f.journal);
			journal_wait(f.journal);
		}
		if (i % 70 == 69)
			fixture_restart(&f);
	}
	fixture_finish(&f);
	for (int i = 0; i < STEPS; i++) {
		struct fixture copy;
		struct recovery_target target;
		struct recovery r;
		char *dump;
		int rc;

		fixture_init(&copy);
		target = fixture_target(&copy);
		limit.sequence = moments[i].sequence;
		rc = recovery_run(&r, &f.disk.io, "data", &limit, &target, &copy.error);
		if (rc == 0) {
			dump = fixture_dump(&copy);
			TEST_ASSERT_EQUAL_STRING(moments[i].dump, dump);
			free(dump);
			found++;
			if (moments[i].sequence < oldest)
				oldest = moments[i].sequence;
		} else {
			TEST_ASSERT_EQUAL_INT(-ERANGE, rc);
			TEST_ASSERT_EQUAL_UINT(0, found);
		}
		recovery_done(&r);
		fixture_done(&copy);
		free(moments[i].dump);
	}
	/* Four snapshots, with 25 moments after each but the last. */
	TEST_ASSERT_EQUAL_UINT(3 * 25 + 1, found);
}

static void kept_snapshots_are_removed_when_fewer_are_to_be_kept(void)
{
	struct random_calls calls;
	int files = 0;

	random_calls_init(&calls, 31);
	f.options.segment_bytes = 1500;
	f.options.keep_bases = 3;
	fixture_must_start(&f);
	for (int i = 0; i < 5; i++) {
		fixture_make_changes(&f, &calls, 30);
		journal_rewrite(f.journal);
		journal_wait(f.journal);
	}
	for (int i = 0; i < DISK_FILES_MAX; i++)
		files += f.disk.names[i].file >= 0 &&
			 strncmp(f.disk.names[i].name, "manifest-", 9) == 0;
	TEST_ASSERT_EQUAL_INT(3, files);
	f.options.keep_bases = 0;
	fixture_restart(&f);
	for (int i = 0, left = 0; i < DISK_FILES_MAX; i++) {
		left += f.disk.names[i].file >= 0;
		TEST_ASSERT_TRUE(left <= 4); /* manifest, lock, base, log */
	}
}

static void a_state_before_the_oldest_snapshot_is_refused(void)
{
	struct recovery_limit limit = { .sequence = 5, .wall_us = INT64_MAX };
	struct recovery_target no_target = { 0 };
	struct random_calls calls;
	struct recovery r;

	random_calls_init(&calls, 23);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 50);
	journal_rewrite(f.journal);
	journal_wait(f.journal);
	TEST_ASSERT_EQUAL_INT(-ERANGE,
			      recovery_run(&r, &f.disk.io, "data", &limit, &no_target, &f.error));
	recovery_done(&r);
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&f.error),
				    "the oldest state that can be recovered from "
				    "data is that of sequence "));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&f.error), " UTC, in base-00000003. "));
	buf_clear(&f.error);
	limit = (struct recovery_limit){ .sequence = UINT64_MAX,
					 .wall_us = f.us - INT64_C(3600000000) };
	TEST_ASSERT_EQUAL_INT(-ERANGE,
			      recovery_run(&r, &f.disk.io, "data", &limit, &no_target, &f.error));
	recovery_done(&r);
	buf_clear(&f.error);
}

static void a_log_can_begin_with_a_state_from_elsewhere(void)
{
	struct random_calls calls;
	char *before, *after;

	random_calls_init(&calls, 24);
	for (int i = 0; i < 200; i++)
		random_step(&calls, &f.engines, 0);
	f.journal = journal_open(&f.options, &f.error);
	TEST_ASSERT_EQUAL_INT(0, journal_create(f.journal, 4711, &f.error));
	TEST_ASSERT_EQUAL_UINT64(4711, journal_log(f.journal)->last);
	fixture_begin_recording(&f);
	fixture_make_changes(&f, &calls, 20);
	before = fixture_dump(&f);
	fixture_restart(&f);
	after = fixture_dump(&f);
	TEST_ASSERT_EQUAL_STRING(before, after);
	TEST_ASSERT_TRUE(journal_log(f.journal)->last > 4730);
	free(before);
	free(after);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_empty_directory_gets_a_log);
	RUN(a_second_process_is_locked_out);
	RUN(removing_the_lock_file_does_not_let_a_second_process_in);
	RUN(recorded_changes_are_there_after_a_restart);
	RUN(the_log_continues_over_many_segments_and_snapshots);
	RUN(snapshots_can_be_made_from_the_files);
	RUN(a_log_that_cannot_be_read_is_rewritten_from_memory);
	RUN(a_damaged_log_is_rewritten_from_memory);
	RUN(a_small_state_is_rewritten_from_memory);
	RUN(the_snapshot_has_the_extra_operations_of_the_owner);
	RUN(a_rewrite_removes_old_files);
	RUN(a_log_cut_anywhere_gives_the_state_after_its_last_whole_record);
	RUN(a_log_with_zeros_from_anywhere_on_gives_the_state_after_its_last_whole_record);
	RUN(zeros_written_ahead_are_no_torn_end);
	RUN(zeros_before_a_later_segment_are_damage);
	RUN(a_group_comes_back_whole_or_not_at_all);
	RUN(a_batch_takes_few_records);
	RUN(a_group_in_a_batch_is_one_record);
	RUN(a_group_without_changes_is_no_record);
	RUN(a_record_may_be_larger_than_a_segment);
	RUN(setting_the_clock_back_does_no_harm);
	RUN(each_flipped_byte_of_a_closed_log_is_noticed);
	RUN(a_closed_log_that_was_cut_anywhere_is_refused);
	RUN(a_log_that_continues_is_no_longer_closed);
	RUN(a_log_that_was_not_closed_continues_in_a_segment_with_another_salt);
	RUN(each_flipped_byte_of_a_log_at_rest_is_noticed);
	RUN(a_flipped_byte_never_gives_a_wrong_state);
	RUN(damage_of_a_manifest_or_a_snapshot_is_refused);
	RUN(damage_before_a_later_segment_is_refused_with_its_place);
	RUN(a_missing_file_is_named);
	RUN(segments_without_a_manifest_are_no_empty_directory);
	RUN(a_hole_that_a_crash_left_is_cut);
	RUN(a_hole_in_synced_records_is_refused);
	RUN(a_log_of_version_3_continues_in_a_segment_of_the_current_version);
	RUN(a_log_of_version_3_is_cut_as_before);
	RUN(sequence_numbers_count_records_but_no_marks);
	RUN(syncs_take_no_space_in_the_log);
	RUN(many_pending_bytes_want_a_flush_before_the_end_of_the_turn);
	RUN(everysec_wants_no_flush_before_the_end_of_the_turn);
	RUN(fast_writes_without_syncs_find_zeros_ahead);
	RUN(cutting_repairs_a_log_and_keeps_the_cut_bytes);
	RUN(damage_that_cutting_does_not_repair_is_left_alone);
	RUN(the_state_as_of_a_sequence_number_is_recovered);
	RUN(kept_snapshots_lead_to_earlier_states);
	RUN(kept_snapshots_are_removed_when_fewer_are_to_be_kept);
	RUN(a_state_before_the_oldest_snapshot_is_refused);
	RUN(a_log_can_begin_with_a_state_from_elsewhere);
	return UNIT_RESULT();
}
