/*
 * Files that the manifest does not name, and manifests that are damaged, lost or old ones.
 */
#include "journal_fixture.h"

#include "journal/repair.h"
#include "journal/salvage.h"

static struct fixture f;

void setUp(void)
{
	fixture_init(&f);
}

void tearDown(void)
{
	fixture_done(&f);
}

/* ---- stray files ---- */

/* Live with two segments, and go back to the manifest from before the second one. */
static void go_back_to_an_old_manifest(struct random_calls *calls)
{
	struct buf old = BUF_INIT(BUF_NO_MAX), *manifest;
	unsigned segments = 0;

	f.options.segment_bytes = 2000;
	fixture_must_start(&f);
	buf_append_str(&old, buf_str(disk_file(&f.disk, "manifest")));
	while (disk_file(&f.disk, "log-00000002") == NULL)
		fixture_make_changes(&f, calls, 1);
	fixture_make_changes(&f, calls, 5);
	fixture_finish(&f);
	fixture_forget(&f);
	manifest = disk_file(&f.disk, "manifest");
	buf_clear(manifest);
	buf_append_str(manifest, buf_str(&old));
	buf_done(&old);
	for (int i = 0; i < DISK_FILES_MAX; i++)
		segments +=
			f.disk.names[i].file >= 0 && strncmp(f.disk.names[i].name, "log-", 4) == 0;
	TEST_ASSERT_EQUAL_UINT(2, segments);
}

static void a_segment_that_an_old_manifest_does_not_name_stops_the_start(void)
{
	struct random_calls calls;

	random_calls_init(&calls, 41);
	go_back_to_an_old_manifest(&calls);
	for (int i = 0; i < 2; i++) {
		TEST_ASSERT_EQUAL_INT(-EBADMSG, fixture_start(&f));
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(buf_cstr(&f.error),
						    "the manifest of data is an old one: it does "
						    "not name log-00000002, which has records "
						    "from sequence "),
					     buf_cstr(&f.error));
		fixture_forget(&f);
		/* Nor if a part of it is damaged. */
		buf_data(disk_file(&f.disk, "log-00000002"))[RECORD_FILE_HEADER_BYTES + 10] ^= 1;
	}
	TEST_ASSERT_NOT_NULL(disk_file(&f.disk, "log-00000002"));
	TEST_ASSERT_FALSE(disk_file(&f.disk, "log-00000001")->len == 0);
}

/* Take back the manifest of before a rewrite. The old files were kept. */
static void a_snapshot_that_an_old_manifest_does_not_name_is_set_aside(void)
{
	struct buf old = BUF_INIT(BUF_NO_MAX), base = BUF_INIT(BUF_NO_MAX), *manifest;
	struct random_calls calls;

	random_calls_init(&calls, 42);
	f.options.keep_bases = 1;
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 50);
	buf_append_str(&old, buf_str(disk_file(&f.disk, "manifest")));
	TEST_ASSERT_TRUE(journal_rewrite(f.journal));
	journal_wait(f.journal);
	fixture_finish(&f);
	fixture_forget(&f);
	/* The old log has lost its end, so the snapshot is newer. */
	manifest = disk_file(&f.disk, "manifest");
	buf_clear(manifest);
	buf_append_str(manifest, buf_str(&old));
	buf_truncate(disk_file(&f.disk, "log-00000001"), 1000);
	buf_append_str(&base, buf_str(disk_file(&f.disk, "base-00000003")));
	fixture_must_start(&f);
	TEST_ASSERT_EQUAL_STRING("base-00000003.orphan\n", buf_cstr(&f.recovery.orphans));
	TEST_ASSERT_NULL(disk_file(&f.disk, "base-00000003"));
	TEST_ASSERT_EQUAL_size_t(base.len, disk_file(&f.disk, "base-00000003.orphan")->len);
	/* No new file gets its number. */
	TEST_ASSERT_TRUE(journal_rewrite(f.journal));
	journal_wait(f.journal);
	TEST_ASSERT_NULL(disk_file(&f.disk, "base-00000003"));
	fixture_restart(&f);
	TEST_ASSERT_EQUAL_size_t(0, f.recovery.orphans.len);
	TEST_ASSERT_NOT_NULL(disk_file(&f.disk, "base-00000003.orphan"));
	buf_done(&base);
	buf_done(&old);
}

static void a_file_that_cannot_be_read_is_set_aside(void)
{
	struct buf *log;

	fixture_must_start(&f);
	fixture_finish(&f);
	fixture_forget(&f);
	log = &f.disk.files[disk_add_name(f.disk.names, "log-00000007", disk_new_file(&f.disk))
				    ->file]
		       .now;
	buf_append(log, "it may be anything", 18);
	/* The number in its name is not that in its header. */
	disk_add_name(f.disk.names, "log-00000008", disk_new_file(&f.disk));
	buf_append_str(disk_file(&f.disk, "log-00000008"),
		       buf_str(disk_file(&f.disk, "log-00000001")));
	disk_add_name(f.disk.names, "log-00000007.orphan", disk_new_file(&f.disk));
	fixture_must_start(&f);
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&f.recovery.orphans), "log-00000007.orphan-2\n"));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&f.recovery.orphans), "log-00000008.orphan\n"));
	TEST_ASSERT_EQUAL_size_t(18, disk_file(&f.disk, "log-00000007.orphan-2")->len);
}

static void stray_files_without_newer_records_are_removed(void)
{
	struct random_calls calls;
	static const char zeros[4096];

	random_calls_init(&calls, 43);
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 30);
	fixture_finish(&f);
	fixture_forget(&f);
	/* A segment that was never synced, and a snapshot of which only the name is there. */
	disk_add_name(f.disk.names, "log-00000002", disk_new_file(&f.disk));
	buf_append(disk_file(&f.disk, "log-00000002"), zeros, sizeof zeros);
	disk_add_name(f.disk.names, "base-00000003", disk_new_file(&f.disk));
	fixture_must_start(&f);
	TEST_ASSERT_EQUAL_size_t(0, f.recovery.orphans.len);
	TEST_ASSERT_NULL(disk_file(&f.disk, "log-00000002"));
	TEST_ASSERT_NULL(disk_file(&f.disk, "base-00000003"));
}

/* ---- manifests ---- */

/* Make the manifest again, and start. Returns the state, which the caller frees. */
static char *salvage(void)
{
	struct buf kept = BUF_INIT(BUF_NO_MAX), unreadable = BUF_INIT(BUF_NO_MAX);
	struct recovery found;
	int rc = salvage_find(&found, &f.disk.io, "data", &unreadable, &f.error);

	TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&f.error));
	TEST_ASSERT_EQUAL_size_t(0, unreadable.len);
	TEST_ASSERT_EQUAL_INT(0, repair_manifest(&f.disk.io, "data", &found, &kept, &f.error));
	recovery_done(&found);
	buf_done(&kept);
	buf_done(&unreadable);
	fixture_forget(&f);
	fixture_must_start(&f);
	return fixture_dump(&f);
}

/* Live with many segments and several snapshots. Returns the state, which the caller frees. */
static char *live_long(unsigned long long seed, unsigned keep_bases)
{
	struct random_calls calls;
	char *dump;

	random_calls_init(&calls, seed);
	f.options.segment_bytes = 1500;
	f.options.keep_bases = keep_bases;
	fixture_must_start(&f);
	for (int i = 0; i < 4; i++) {
		fixture_make_changes(&f, &calls, 40);
		if (i > 0) {
			TEST_ASSERT_TRUE(journal_rewrite(f.journal));
			journal_wait(f.journal);
		}
		if (i % 2 == 0)
			fixture_restart(&f);
	}
	fixture_make_changes(&f, &calls, 60);
	dump = fixture_dump(&f);
	fixture_finish(&f);
	fixture_forget(&f);
	return dump;
}

static void check_salvage(const char *wanted, const struct buf *manifest)
{
	char *dump = salvage();

	TEST_ASSERT_EQUAL_STRING(wanted, dump);
	TEST_ASSERT_EQUAL_size_t(0, f.recovery.orphans.len);
	if (manifest != NULL)
		TEST_ASSERT_EQUAL_MEMORY(buf_data(manifest),
					 buf_data(disk_file(&f.disk, "manifest")), manifest->len);
	free(dump);
}

static void a_manifest_is_made_again_after_any_bit_was_flipped(void)
{
	for (unsigned keep_bases = 0; keep_bases < 2; keep_bases++) {
		char *wanted = live_long(51, keep_bases);
		struct buf old = BUF_INIT(BUF_NO_MAX);

		buf_append_str(&old, buf_str(disk_file(&f.disk, "manifest")));
		for (size_t bit = 0; bit < 8 * old.len; bit += 5) {
			struct fixture before = f;

			disk_copy(&f.disk, &before.disk);
			f.options.io = &f.disk.io;
			buf_data(disk_file(&f.disk, "manifest"))[bit / 8] ^= (char)(1 << bit % 8);
			TEST_ASSERT_EQUAL_INT(-EBADMSG, fixture_start(&f));
			TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&f.error), "qlessd-check --fix data"));
			buf_clear(&f.error);
			check_salvage(wanted, &old);
			TEST_ASSERT_NOT_NULL(disk_file(&f.disk, "manifest.cut-0"));
			fixture_finish(&f);
			fixture_forget(&f);
			disk_done(&f.disk);
			f.disk = before.disk;
		}
		buf_done(&old);
		free(wanted);
		tearDown();
		setUp();
	}
}

static void a_lost_manifest_is_made_again(void)
{
	char *wanted = live_long(52, 2);

	disk_find(f.disk.names, "manifest")->file = -1;
	TEST_ASSERT_EQUAL_INT(-EBADMSG, fixture_start(&f));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&f.error), "qlessd-check --fix data"));
	buf_clear(&f.error);
	check_salvage(wanted, NULL);
	free(wanted);
}

static void an_old_manifest_is_replaced_by_one_that_names_all_segments(void)
{
	struct random_calls calls;
	char *dump;

	random_calls_init(&calls, 53);
	go_back_to_an_old_manifest(&calls);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, fixture_start(&f));
	buf_clear(&f.error);
	dump = salvage();
	TEST_ASSERT_EQUAL_size_t(2, f.recovery.manifest.log_count);
	TEST_ASSERT_TRUE(f.recovery.last_sequence > 5);
	free(dump);
}

static void a_kept_snapshot_replaces_a_damaged_one(void)
{
	char *wanted = live_long(54, 1);
	uint64_t base;
	char name[32];

	fixture_must_start(&f);
	base = f.recovery.manifest.base;
	fixture_finish(&f);
	fixture_forget(&f);
	snprintf(name, sizeof name, "base-%08llu", (unsigned long long)base);
	buf_data(disk_file(&f.disk, name))[200] ^= 1;
	TEST_ASSERT_EQUAL_INT(-EBADMSG, fixture_start(&f));
	buf_clear(&f.error);
	check_salvage(wanted, NULL);
	TEST_ASSERT_TRUE(f.recovery.manifest.base < base);
	free(wanted);
}

/* Without a manifest, nothing else says that a segment in the middle is missing. */
static void a_missing_segment_is_not_passed_over(void)
{
	struct buf unreadable = BUF_INIT(BUF_NO_MAX);
	struct random_calls calls;
	struct recovery found;

	random_calls_init(&calls, 55);
	f.options.segment_bytes = 1500;
	fixture_must_start(&f);
	fixture_make_changes(&f, &calls, 100);
	fixture_finish(&f);
	fixture_forget(&f);
	disk_find(f.disk.names, "manifest")->file = -1;
	disk_find(f.disk.names, "log-00000002")->file = -1;
	TEST_ASSERT_EQUAL_INT(-EBADMSG,
			      salvage_find(&found, &f.disk.io, "data", &unreadable, &f.error));
	TEST_ASSERT_FALSE(found.damaged);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(buf_cstr(&f.error), "log-00000003 begins with"),
				     buf_cstr(&f.error));
	recovery_done(&found);
	/* A file that cannot be read is named, because it may hold what is missing. */
	disk_add_name(f.disk.names, "log-00000002", disk_new_file(&f.disk));
	buf_append(disk_file(&f.disk, "log-00000002"), "?", 1);
	salvage_find(&found, &f.disk.io, "data", &unreadable, &f.error);
	TEST_ASSERT_EQUAL_STRING("log-00000002\n", buf_cstr(&unreadable));
	recovery_done(&found);
	buf_done(&unreadable);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_segment_that_an_old_manifest_does_not_name_stops_the_start);
	RUN(a_snapshot_that_an_old_manifest_does_not_name_is_set_aside);
	RUN(a_file_that_cannot_be_read_is_set_aside);
	RUN(stray_files_without_newer_records_are_removed);
	RUN(a_manifest_is_made_again_after_any_bit_was_flipped);
	RUN(a_lost_manifest_is_made_again);
	RUN(an_old_manifest_is_replaced_by_one_that_names_all_segments);
	RUN(a_kept_snapshot_replaces_a_damaged_one);
	RUN(a_missing_segment_is_not_passed_over);
	return UNIT_RESULT();
}
