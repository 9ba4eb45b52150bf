/*
 * The log of a group: entries with terms, replaced tails, votes, the commit index, and reading
 * entries back.
 */
#include "group_log.h"

#include "journal/repair.h"

static struct group_log_test t;
static unsigned long long rng = 5;

void setUp(void)
{
	group_init(&t);
}

void tearDown(void)
{
	group_done(&t);
}

/* Close the log, and open it again. */
static void restart(void)
{
	group_settle(&t);
	journal_close(t.journal, &t.error);
	t.journal = NULL;
	TEST_ASSERT_EQUAL_STRING("", buf_cstr(&t.error));
	group_forget(&t);
	group_must_open(&t);
}

static void crash(void)
{
	group_settle(&t);
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	group_must_open(&t);
}

static void append(int count)
{
	for (int i = 0; i < count; i++) {
		group_append(&t, RECORD_OPERATIONS, 20);
		group_flush(&t);
	}
	group_settle(&t);
}

static void commit_all(void)
{
	group_settle(&t);
	group_note_commit(&t, t.durable);
	/* The next write has a mark. */
	t.us += 1000000;
	group_settle(&t);
}

static void expect_all(const char *message)
{
	TEST_ASSERT_EQUAL_UINT64(t.model.last, journal_last_index(t.journal));
	for (size_t step = 1; step < 5000; step *= 7)
		TEST_ASSERT_TRUE_MESSAGE(group_reads_as(&t, &t.model, step), message);
}

/* ---- the beginning ---- */

static void a_group_begins_with_its_members(void)
{
	group_must_begin(&t);
	TEST_ASSERT_TRUE(journal_has_group(t.journal));
	expect_all("new");
	TEST_ASSERT_EQUAL_UINT64(1, journal_get_commit(t.journal));
	TEST_ASSERT_EQUAL_UINT64(0, journal_get_base(t.journal).index);
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	group_must_open(&t);
	TEST_ASSERT_TRUE(journal_has_group(t.journal));
	TEST_ASSERT_EQUAL_MEMORY(group_identity.group, journal_get_identity(t.journal)->group,
				 JOURNAL_GROUP_ID_BYTES);
	TEST_ASSERT_EQUAL_UINT64(2, journal_get_identity(t.journal)->node);
	TEST_ASSERT_EQUAL_UINT64(1, journal_get_vote(t.journal).term);
	group_expect_recovered(&t, "after a crash");
	TEST_ASSERT_EQUAL_UINT64(1, journal_get_commit(t.journal));
}

static void a_log_becomes_the_snapshot_of_a_group(void)
{
	struct journal_base base;
	struct journal_head head;

	group_must_open(&t);
	commit_log_append(journal_log(t.journal), STR("one;"));
	commit_log_append(journal_log(t.journal), STR("two;"));
	TEST_ASSERT_FALSE(journal_has_group(t.journal));
	journal_close(t.journal, &t.error);
	t.journal = NULL;
	group_forget(&t);
	group_must_open(&t);
	TEST_ASSERT_EQUAL_STRING("one;two;", buf_cstr(&t.state));
	TEST_ASSERT_EQUAL_INT(
		0, journal_begin_group(t.journal, &group_identity, STR("ABC"), &t.error));
	for (int i = 0; i < 2; i++) {
		TEST_ASSERT_EQUAL_UINT64(2, journal_last_index(t.journal));
		TEST_ASSERT_EQUAL_UINT64(3, journal_first_index(t.journal));
		TEST_ASSERT_EQUAL_UINT64(2, journal_get_commit(t.journal));
		base = journal_get_base(t.journal);
		TEST_ASSERT_EQUAL_UINT64(2, base.index);
		TEST_ASSERT_EQUAL_UINT64(1, base.term);
		TEST_ASSERT_EQUAL_UINT64(2, base.members_index);
		ASSERT_STR("ABC", base.members);
		TEST_ASSERT_TRUE(journal_get_head(t.journal, 2, &head));
		TEST_ASSERT_EQUAL_UINT64(1, head.term);
		TEST_ASSERT_FALSE(journal_get_head(t.journal, 1, &head));
		TEST_ASSERT_FALSE(journal_get_head(t.journal, 3, &head));
		group_kill(&t, DISK_KEEP_SYNCED, &rng);
		group_must_open(&t);
		TEST_ASSERT_EQUAL_STRING("one;two;", buf_cstr(&t.state));
	}
	TEST_ASSERT_NULL(disk_file(&t.disk, "log-00000001"));
	TEST_ASSERT_EQUAL_UINT64(3, journal_append_entry(t.journal, 4, RECORD_BARRIER, STR("")));
}

static void a_node_that_joins_has_an_empty_log_and_no_vote(void)
{
	struct journal_base base;

	group_must_open(&t);
	TEST_ASSERT_EQUAL_INT(0,
			      journal_begin_group(t.journal, &group_identity, STR(""), &t.error));
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	group_must_open(&t);
	TEST_ASSERT_TRUE(journal_has_group(t.journal));
	TEST_ASSERT_EQUAL_UINT64(0, journal_last_index(t.journal));
	TEST_ASSERT_EQUAL_UINT64(0, journal_get_vote(t.journal).term);
	base = journal_get_base(t.journal);
	TEST_ASSERT_EQUAL_UINT64(0, base.index);
	TEST_ASSERT_EQUAL_size_t(0, base.members.len);
}

static void a_directory_with_records_cannot_join(void)
{
	group_must_open(&t);
	commit_log_append(journal_log(t.journal), STR("one;"));
	journal_close(t.journal, &t.error);
	t.journal = NULL;
	group_forget(&t);
	group_must_open(&t);
	TEST_ASSERT_EQUAL_INT(-EINVAL,
			      journal_begin_group(t.journal, &group_identity, STR(""), &t.error));
	TEST_ASSERT_EQUAL_STRING(
		"the directory data has a log, so it cannot join a group: use an empty one",
		buf_cstr(&t.error));
	TEST_ASSERT_FALSE(journal_has_group(t.journal));
}

static void a_directory_is_as_before_or_a_group_after_a_crash_at_each_call(void)
{
	unsigned before = 0, after = 0;

	for (unsigned at = 0;; at++) {
		bool stopped;

		group_must_open(&t);
		commit_log_append(journal_log(t.journal), STR("one;"));
		journal_close(t.journal, &t.error);
		t.journal = NULL;
		group_forget(&t);
		group_must_open(&t);
		disk_stop(&t.disk, DISK_CHANGES, at);
		journal_begin_group(t.journal, &group_identity, STR("ABC"), &t.error);
		stopped = t.disk.dead;
		group_kill(&t, DISK_KEEP_SOME, &rng);
		group_must_open(&t);
		TEST_ASSERT_EQUAL_STRING("one;", buf_cstr(&t.state));
		if (journal_has_group(t.journal))
			after++;
		else
			before++;
		group_done(&t);
		group_init(&t);
		if (!stopped)
			break;
	}
	TEST_ASSERT_TRUE(before > 5 && after > 1);
}

/* ---- entries ---- */

static void entries_of_every_type_are_read_back(void)
{
	group_must_begin(&t);
	for (int round = 0; round < 30; round++) {
		t.term += round % 3 == 0;
		group_append(&t, RECORD_BARRIER, 0);
		group_append(&t, RECORD_OPERATIONS, 3);
		group_append(&t, RECORD_MEMBERS, 5);
		group_append(&t, RECORD_FEATURE, 0);
		group_flush(&t);
		expect_all("not yet on the disk");
	}
	group_settle(&t);
	expect_all("on the disk");
	restart();
	expect_all("after a restart");
	crash();
	expect_all("after a crash");
	t.term++;
	append(3);
	expect_all("after more entries");
}

static void entries_that_memory_does_not_have_come_from_the_segments(void)
{
	struct journal_info info;

	group_must_begin(&t);
	append(200);
	journal_get_info(t.journal, &info);
	TEST_ASSERT_TRUE(info.segments > 3);
	expect_all("from the files");
	t.options.cache_bytes = 1 << 20;
	restart();
	expect_all("from the files only");
	append(20);
	expect_all("from the files and from memory");
}

static void only_entries_that_are_there_can_be_read(void)
{
	struct journal_entries entries = { 0 };

	group_must_begin(&t);
	append(5);
	TEST_ASSERT_EQUAL_INT(0, journal_read_entries(t.journal, 7, 10, 100, &entries));
	TEST_ASSERT_EQUAL_INT(0, journal_read_entries(t.journal, 3, 2, 100, &entries));
	TEST_ASSERT_EQUAL_INT(-ENOENT, journal_read_entries(t.journal, 0, 2, 100, &entries));
	TEST_ASSERT_EQUAL_INT(2, journal_read_entries(t.journal, 3, 4, 100, &entries));
	TEST_ASSERT_EQUAL_INT(1, journal_read_entries(t.journal, 3, 4, 0, &entries));
	journal_entries_done(&entries);
}

static void memory_has_the_last_entries_unless_told_otherwise(void)
{
	struct buf *log;

	t.options.cache_bytes = 0;
	t.options.segment_bytes = 1 << 20;
	group_must_begin(&t);
	append(50);
	log = disk_file(&t.disk, "log-00000002");
	memset(buf_data(log), 0, log->len);
	expect_all("from memory");
}

/* Zeros are where the entry should be. */
static void an_entry_that_was_lost_on_the_disk_is_not_read(void)
{
	struct journal_entries entries = { 0 };
	struct buf *log;

	t.options.cache_bytes = 1;
	group_must_begin(&t);
	append(5);
	log = disk_file(&t.disk, "log-00000002");
	memset(buf_data(log) + RECORD_FILE_HEADER_BYTES, 0, log->len - RECORD_FILE_HEADER_BYTES);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, journal_read_entries(t.journal, 1, 5, 100, &entries));
	journal_entries_done(&entries);
}

/* ---- the commit index ---- */

static void only_committed_entries_are_applied_at_the_start(void)
{
	group_must_begin(&t);
	append(10);
	group_note_commit(&t, 7);
	t.us += 1000000;
	append(3);
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	group_must_open(&t);
	TEST_ASSERT_EQUAL_UINT64(7, journal_get_commit(t.journal));
	TEST_ASSERT_EQUAL_UINT64(14, journal_last_index(t.journal));
	group_expect_recovered(&t, "with a mark");
}

static void a_log_at_rest_gets_a_mark_with_the_commit_index(void)
{
	group_must_begin(&t);
	append(10);
	group_note_commit(&t, 11);
	for (int i = 0; i < 3; i++) {
		t.us += 1000000;
		group_flush(&t);
	}
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	group_must_open(&t);
	TEST_ASSERT_EQUAL_UINT64(11, journal_get_commit(t.journal));
	group_expect_recovered(&t, "at rest");
}

static void a_closed_log_has_the_commit_index(void)
{
	group_must_begin(&t);
	append(10);
	group_note_commit(&t, 9);
	restart();
	TEST_ASSERT_EQUAL_UINT64(9, journal_get_commit(t.journal));
	group_expect_recovered(&t, "closed");
}

static void a_recovery_up_to_an_index_applies_entries_that_no_mark_calls_committed(void)
{
	struct recovery_limit limit = { .sequence = 6, .wall_us = INT64_MAX, .is_committed = true };
	struct recovery_target target;
	struct recovery r;

	group_must_begin(&t);
	append(10);
	for (limit.sequence = 1; limit.sequence <= 11; limit.sequence++) {
		buf_clear(&t.state);
		target = group_target(&t.state);
		TEST_ASSERT_EQUAL_INT(
			0, recovery_run(&r, &t.disk.io, "data", &limit, &target, &t.error));
		TEST_ASSERT_EQUAL_UINT64(limit.sequence, r.last_sequence);
		recovery_done(&r);
		group_expect_state(&t, &t.model, limit.sequence, "up to the limit");
	}
}

/* ---- replaced tails ---- */

static void a_tail_is_replaced(void)
{
	group_must_begin(&t);
	append(10);
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 5));
	expect_all("cut");
	t.term = 3;
	append(3);
	expect_all("replaced");
	crash();
	expect_all("after a crash");
	commit_all();
	restart();
	group_expect_recovered(&t, "after a restart");
	TEST_ASSERT_EQUAL_UINT64(7, journal_get_commit(t.journal));
}

static void a_tail_that_was_not_replaced_yet_is_gone_after_a_crash(void)
{
	group_must_begin(&t);
	append(10);
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 5));
	for (int i = 0; i < 3; i++) {
		crash();
		TEST_ASSERT_EQUAL_UINT64(4, journal_last_index(t.journal));
		expect_all("cut");
	}
	t.term = 2;
	append(10);
	crash();
	expect_all("replaced");
}

/* A leader of a third term may have the entries of the first one. */
static void an_old_tail_may_come_back(void)
{
	struct model old;

	group_must_begin(&t);
	append(10);
	old = t.model;
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 5));
	t.term = 2;
	append(2);
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 5));
	t.term = 1;
	for (uint64_t i = 5; i <= 11; i++)
		journal_append_entry(t.journal, 1, RECORD_OPERATIONS,
				     str_make(old.entries[i].text, old.entries[i].len));
	t.model = old;
	group_settle(&t);
	expect_all("the old one");
	crash();
	expect_all("after a crash");
}

static void a_tail_of_several_segments_is_replaced(void)
{
	struct journal_info info;

	group_must_begin(&t);
	append(100);
	journal_get_info(t.journal, &info);
	TEST_ASSERT_TRUE(info.segments > 3);
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 10));
	t.term = 2;
	append(40);
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 12));
	t.term = 4;
	append(150);
	expect_all("replaced twice");
	crash();
	expect_all("after a crash");
	restart();
	expect_all("after a restart");
	commit_all();
	crash();
	group_expect_recovered(&t, "committed");
	TEST_ASSERT_EQUAL_UINT64(t.model.last, journal_get_commit(t.journal));
}

/* The records that are replaced are only in memory. */
static void a_tail_that_was_not_written_is_replaced(void)
{
	group_must_begin(&t);
	append(2);
	for (int i = 0; i < 5; i++)
		group_append(&t, RECORD_OPERATIONS, 1);
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 5));
	t.term = 2;
	group_append(&t, RECORD_OPERATIONS, 1);
	expect_all("cut");
	crash();
	expect_all("after a crash");
}

static struct record_file_header header_of(const struct buf *log)
{
	struct record_file_header header;

	TEST_ASSERT_EQUAL_INT(RECORD_OK, record_decode_header((const unsigned char *)buf_data(log),
							      RECORD_FILE_HEADER_BYTES, &header));
	return header;
}

/* Returns where the record after those with lower numbers than `sequence` begins. */
static size_t end_before(const struct buf *log, uint64_t sequence)
{
	const unsigned char *bytes = (const unsigned char *)buf_data(log);
	struct record record;
	size_t at = RECORD_FILE_HEADER_BYTES, size;

	while (record_decode(bytes + at, log->len - at, header_of(log).salt, &record, &size) ==
		       RECORD_OK &&
	       record.sequence < sequence)
		at += size;
	return at;
}

/* A sector that was not synced may hold bytes of a file that is gone: here, the entry that
 * was replaced by the one that is missing. */
static void a_replaced_entry_does_not_come_back_in_old_bytes(void)
{
	struct buf *old, *now;
	size_t from, size, to;

	group_must_begin(&t);
	append(10);
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 5));
	t.term = 2;
	append(1);
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	old = disk_file(&t.disk, "log-00000002");
	now = disk_file(&t.disk, "log-00000003");
	from = end_before(old, 6);
	size = end_before(old, 7) - from;
	to = end_before(now, 6);
	TEST_ASSERT_TRUE(size > RECORD_FRAME_BYTES && to + size < now->len);
	memcpy(buf_data(now) + to, buf_data(old) + from, size);
	group_must_open(&t);
	TEST_ASSERT_EQUAL_UINT64(5, journal_last_index(t.journal));
	expect_all("without the old entry");
}

/* The last entries before the limit were replaced after it. */
static void a_recovery_up_to_an_index_uses_the_entries_that_count(void)
{
	struct recovery_limit limit = { .sequence = 7, .wall_us = INT64_MAX, .is_committed = true };
	struct recovery_target target = group_target(&t.state);
	struct recovery r;

	group_must_begin(&t);
	append(30);
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 5));
	t.term = 2;
	append(30);
	TEST_ASSERT_EQUAL_INT(0, recovery_run(&r, &t.disk.io, "data", &limit, &target, &t.error));
	TEST_ASSERT_EQUAL_UINT64(7, r.last_sequence);
	TEST_ASSERT_TRUE(r.limited);
	recovery_done(&r);
	group_expect_state(&t, &t.model, 7, "the later ones");
}

static void a_segment_that_replaces_committed_entries_is_refused(void)
{
	struct record_file_header header;
	unsigned char *bytes;

	group_must_begin(&t);
	append(10);
	group_note_commit(&t, 6);
	t.us += 1000000;
	append(2);
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 8));
	t.term = 2;
	append(10);
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	bytes = (unsigned char *)buf_data(disk_file(&t.disk, "log-00000003"));
	TEST_ASSERT_EQUAL_INT(RECORD_OK,
			      record_decode_header(bytes, RECORD_FILE_HEADER_BYTES, &header));
	TEST_ASSERT_EQUAL_UINT64(8, header.sequence);
	header.sequence = 6;
	record_encode_header(&header, bytes);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, group_open(&t));
	TEST_ASSERT_EQUAL_STRING("log-00000003 begins with sequence 6, but the log is committed up "
				 "to 6",
				 buf_cstr(&t.error) + strlen("data/"));
}

static void a_full_disk_leaves_the_tail(void)
{
	group_must_begin(&t);
	append(10);
	t.disk.room = disk_used(&t.disk);
	TEST_ASSERT_TRUE(journal_replace_tail(t.journal, 5) < 0);
	TEST_ASSERT_EQUAL_UINT64(11, journal_last_index(t.journal));
	expect_all("nothing is dropped");
	t.disk.room = UINT64_MAX;
	t.us += 3000000;
	group_settle(&t);
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 5));
	t.term = 2;
	append(3);
	crash();
	expect_all("replaced");
}

/* ---- damage ---- */

static void the_log_of_a_group_is_not_cut_where_it_is_damaged(void)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct recovery_target none = { 0 };
	struct recovery r;

	group_must_begin(&t);
	append(10);
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	buf_data(disk_file(&t.disk, "log-00000002"))[200] ^= 1;
	TEST_ASSERT_EQUAL_INT(-EBADMSG,
			      recovery_run(&r, &t.disk.io, "data", &all, &none, &t.error));
	TEST_ASSERT_TRUE(r.damaged);
	buf_clear(&t.error);
	TEST_ASSERT_FALSE(repair_is_possible(&r, &t.error));
	TEST_ASSERT_EQUAL_STRING(
		"the log belongs to a group of servers, which may rely on what would be cut off: "
		"remove the node from its group, and let it join the group again with an empty "
		"directory",
		buf_cstr(&t.error));
	recovery_done(&r);
}

/* Every byte of the entries counts, replaced or not: segments that others follow were synced. */
static void damage_is_noticed_in_replaced_entries_too(void)
{
	group_must_begin(&t);
	append(6);
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 4));
	t.term = 2;
	append(3);
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	for (size_t at = 0; at < disk_file(&t.disk, "log-00000002")->len; at += 3) {
		struct disk whole = t.disk;

		disk_copy(&t.disk, &whole);
		t.options.io = &t.disk.io;
		buf_data(disk_file(&t.disk, "log-00000002"))[at] ^= 1;
		TEST_ASSERT_EQUAL_INT(-EBADMSG, group_open(&t));
		group_forget(&t);
		disk_done(&t.disk);
		t.disk = whole;
		t.options.io = &t.disk.io;
	}
	group_must_open(&t);
	expect_all("whole");
}

/* An entry without a term, or with one that is lower than that of the entry before it. */
static void wrong_terms_are_noticed(void)
{
	static const char *const errors[] = { "has an entry without a term", "has a wrong term",
					      "has a wrong term", "has a wrong term" };
	static const uint64_t terms[][2] = { { 0, 0 }, { 3, 2 }, { 3, 0 }, { 0, 1 } };

	for (int i = 0; i < 4; i++) {
		struct record_file_header header;
		struct buf *log;

		group_must_begin(&t);
		group_kill(&t, DISK_KEEP_SYNCED, &rng);
		log = disk_file(&t.disk, "log-00000002");
		TEST_ASSERT_EQUAL_INT(RECORD_OK,
				      record_decode_header((unsigned char *)buf_data(log),
							   RECORD_FILE_HEADER_BYTES, &header));
		buf_truncate(log, RECORD_FILE_HEADER_BYTES);
		for (uint64_t n = 0; n < 2; n++) {
			if (i > 0)
				record_append_number(log, header.salt, RECORD_TERM, n + 1,
						     terms[i][n]);
			record_append(log, header.salt, RECORD_OPERATIONS, n + 1, STR("x"));
		}
		TEST_ASSERT_EQUAL_INT(-EBADMSG, group_open(&t));
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(buf_cstr(&t.error), errors[i]),
					     buf_cstr(&t.error));
		group_done(&t);
		group_init(&t);
	}
}

/* ---- a rescue ---- */

static const struct journal_identity new_identity = { "the rescued one.", 7 };

static void rescue(void)
{
	t.options.rescue = true;
	group_must_open(&t);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, journal_rescue_group(t.journal, &new_identity, STR("only me"), &t.error),
		buf_cstr(&t.error));
}

/* Nothing says of the last entries that they are committed, but their clients may know. */
static void a_rescue_uses_all_entries_of_the_node(void)
{
	group_must_begin(&t);
	append(10);
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 8));
	t.term = 6;
	append(10);
	group_vote(&t, (struct journal_vote){ 9, 3 });
	group_settle(&t);
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	rescue();
	for (int i = 0; i < 2; i++) {
		group_expect_state(&t, &t.model, 17, "rescued");
		TEST_ASSERT_EQUAL_UINT64(17, journal_get_commit(t.journal));
		TEST_ASSERT_EQUAL_UINT64(17, journal_get_base(t.journal).index);
		TEST_ASSERT_EQUAL_UINT64(6, journal_get_base(t.journal).term);
		TEST_ASSERT_EQUAL_UINT64(17, journal_get_base(t.journal).members_index);
		ASSERT_STR("only me", journal_get_base(t.journal).members);
		TEST_ASSERT_EQUAL_MEMORY(new_identity.group, journal_get_identity(t.journal)->group,
					 JOURNAL_GROUP_ID_BYTES);
		TEST_ASSERT_EQUAL_UINT64(7, journal_get_identity(t.journal)->node);
		/* Another vote in the old term would be a second one. */
		TEST_ASSERT_EQUAL_UINT64(10, journal_get_vote(t.journal).term);
		TEST_ASSERT_EQUAL_UINT64(0, journal_get_vote(t.journal).node);
		group_kill(&t, DISK_KEEP_SYNCED, &rng);
		t.options.rescue = false;
		group_must_open(&t);
	}
	t.term = 10;
	append(5);
	TEST_ASSERT_EQUAL_UINT64(22, journal_last_index(t.journal));
}

static void a_rescue_does_without_a_vote(void)
{
	group_must_begin(&t);
	append(3);
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	disk_remove(&t.disk, "vote-1");
	disk_remove(&t.disk, "vote-2");
	rescue();
	group_expect_state(&t, &t.model, 4, "rescued");
	TEST_ASSERT_EQUAL_UINT64(2, journal_get_vote(t.journal).term);
}

static void a_rescue_can_be_repeated_after_a_crash_at_each_call(void)
{
	for (unsigned at = 0;; at++) {
		bool stopped;

		group_must_begin(&t);
		append(6);
		group_kill(&t, DISK_KEEP_SYNCED, &rng);
		t.options.rescue = true;
		disk_stop(&t.disk, DISK_CHANGES, at);
		if (group_open(&t) == 0)
			journal_rescue_group(t.journal, &new_identity, STR("only me"), &t.error);
		stopped = t.disk.dead;
		group_kill(&t, DISK_KEEP_SOME, &rng);
		rescue();
		group_expect_state(&t, &t.model, 7, "rescued");
		TEST_ASSERT_EQUAL_UINT64(7, journal_get_base(t.journal).index);
		group_kill(&t, DISK_KEEP_SYNCED, &rng);
		t.options.rescue = false;
		group_must_open(&t);
		group_expect_state(&t, &t.model, 7, "after a crash");
		group_done(&t);
		group_init(&t);
		if (!stopped)
			break;
	}
}

/* ---- the vote ---- */

static void a_vote_is_stored_by_one_of_the_next_flushes(void)
{
	group_must_begin(&t);
	group_vote(&t, (struct journal_vote){ 5, 3 });
	TEST_ASSERT_FALSE(journal_is_vote_stored(t.journal));
	for (int i = 0; i < 3 && !journal_is_vote_stored(t.journal); i++)
		group_flush(&t);
	TEST_ASSERT_TRUE(journal_is_vote_stored(t.journal));
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	group_must_open(&t);
	TEST_ASSERT_EQUAL_UINT64(5, journal_get_vote(t.journal).term);
	TEST_ASSERT_EQUAL_UINT64(3, journal_get_vote(t.journal).node);
}

static void a_vote_goes_before_the_entries_that_follow(void)
{
	group_must_begin(&t);
	group_vote(&t, (struct journal_vote){ 5, 3 });
	group_append(&t, RECORD_OPERATIONS, 1);
	for (int i = 0; i < 5; i++) {
		group_flush(&t);
		if (!journal_is_vote_stored(t.journal))
			TEST_ASSERT_EQUAL_UINT64(1, journal_durable_index(t.journal));
	}
	TEST_ASSERT_EQUAL_UINT64(2, journal_durable_index(t.journal));
}

static void the_last_of_several_votes_is_stored(void)
{
	group_must_begin(&t);
	for (uint64_t term = 2; term < 6; term++)
		group_vote(&t, (struct journal_vote){ term, term + 1 });
	group_flush(&t);
	group_vote(&t, (struct journal_vote){ 6, 7 });
	TEST_ASSERT_FALSE(journal_is_vote_stored(t.journal));
	group_settle(&t);
	TEST_ASSERT_TRUE(journal_is_vote_stored(t.journal));
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	group_must_open(&t);
	TEST_ASSERT_EQUAL_UINT64(6, journal_get_vote(t.journal).term);
}

static void a_vote_that_cannot_be_written_fails_the_log(void)
{
	group_must_begin(&t);
	disk_fail(&t.disk, DISK_SYNC, 0, -EIO);
	journal_store_vote(t.journal, (struct journal_vote){ 9, 1 });
	for (int i = 0; i < 5; i++) {
		t.us += 3000000;
		commit_log_flush(journal_log(t.journal),
				 &(struct commit_log_turn){ .mono_us = t.us, .wall_us = t.us });
	}
	TEST_ASSERT_FALSE(journal_is_vote_stored(t.journal));
	TEST_ASSERT_EQUAL_INT(COMMIT_LOG_FAILED, journal_log(t.journal)->state);
	TEST_ASSERT_EQUAL_STRING("Input/output error (writing the vote)",
				 commit_log_complaint(journal_log(t.journal)));
}

static void the_loss_of_one_file_of_the_vote_does_no_harm(void)
{
	static const char *const names[] = { "vote-1", "vote-2" };

	group_must_begin(&t);
	for (int i = 0; i < 4; i++) {
		struct journal_vote vote = { 10 + (uint64_t)i, 3 };
		struct buf *file;

		group_vote(&t, vote);
		group_settle(&t);
		group_kill(&t, DISK_KEEP_SYNCED, &rng);
		file = disk_file(&t.disk, names[i % 2]);
		if (i < 2)
			buf_data(file)[50] ^= 1;
		else
			disk_remove(&t.disk, names[i % 2]);
		group_must_open(&t);
		TEST_ASSERT_EQUAL_UINT64(vote.term, journal_get_vote(t.journal).term);
		TEST_ASSERT_EQUAL_UINT64(3, journal_get_vote(t.journal).node);
		/* The start has made it again. */
		TEST_ASSERT_EQUAL_MEMORY(buf_data(disk_file(&t.disk, "vote-1")),
					 buf_data(disk_file(&t.disk, "vote-2")), VOTE_BYTES);
	}
}

static void a_node_that_has_lost_its_vote_does_not_start(void)
{
	group_must_begin(&t);
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	buf_truncate(disk_file(&t.disk, "vote-1"), 71);
	buf_data(disk_file(&t.disk, "vote-2"))[3]++;
	TEST_ASSERT_EQUAL_INT(-EBADMSG, group_open(&t));
	TEST_ASSERT_EQUAL_STRING("vote-1 and vote-2 in data are both damaged. The node no longer "
				 "knows how it has voted. Remove it from its group, and let it "
				 "join the group again with an empty directory",
				 buf_cstr(&t.error));
	group_forget(&t);
	disk_remove(&t.disk, "vote-1");
	disk_remove(&t.disk, "vote-2");
	TEST_ASSERT_EQUAL_INT(-ENOENT, group_open(&t));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&t.error), "data has neither vote-1 nor vote-2"));
}

static void the_vote_of_another_group_is_refused(void)
{
	struct vote vote = { .identity = { "another group!!!", 2 }, .counter = 1 };

	group_must_begin(&t);
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	TEST_ASSERT_EQUAL_INT(0, vote_write(&vote, &t.disk.io, "data"));
	TEST_ASSERT_EQUAL_INT(-EBADMSG, group_open(&t));
	TEST_ASSERT_EQUAL_STRING(
		"vote-1 and vote-2 in data belong to another group than the manifest",
		buf_cstr(&t.error));
}

/* ---- snapshots ---- */

static void rewrite(void)
{
	TEST_ASSERT_TRUE(journal_rewrite(t.journal));
	for (int i = 0; i < 20 && journal_is_rewriting(t.journal); i++)
		group_flush(&t);
}

static void a_snapshot_has_its_term_and_members(void)
{
	group_must_begin(&t);
	append(10);
	t.term = 2;
	group_append(&t, RECORD_MEMBERS, 4);
	append(10);
	commit_all();
	rewrite();
	TEST_ASSERT_FALSE(journal_is_rewriting(t.journal));
	TEST_ASSERT_EQUAL_UINT64(22, journal_get_base(t.journal).index);
	TEST_ASSERT_EQUAL_UINT64(2, journal_get_base(t.journal).term);
	group_expect_members(&t, "live");
	append(5);
	expect_all("after the snapshot");
	crash();
	group_expect_recovered(&t, "after a crash");
	group_expect_members(&t, "after a crash");
	/* The next snapshot has the members of the one before. */
	append(5);
	commit_all();
	rewrite();
	TEST_ASSERT_EQUAL_UINT64(12, journal_get_base(t.journal).members_index);
	group_expect_members(&t, "the second one");
	crash();
	group_expect_recovered(&t, "the second one");
	group_expect_members(&t, "the second one");
}

static void a_snapshot_waits_until_its_entries_are_committed(void)
{
	group_must_begin(&t);
	append(10);
	rewrite();
	TEST_ASSERT_TRUE(journal_is_rewriting(t.journal));
	TEST_ASSERT_EQUAL_UINT64(0, journal_get_base(t.journal).index);
	group_note_commit(&t, 10);
	group_settle(&t);
	TEST_ASSERT_TRUE(journal_is_rewriting(t.journal));
	group_note_commit(&t, 11);
	group_settle(&t);
	TEST_ASSERT_FALSE(journal_is_rewriting(t.journal));
	TEST_ASSERT_EQUAL_UINT64(11, journal_get_base(t.journal).index);
}

static void a_snapshot_that_waits_leaves_out_a_tail_that_is_replaced(void)
{
	group_must_begin(&t);
	append(10);
	rewrite();
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 5));
	t.term = 2;
	append(10);
	group_note_commit(&t, 6);
	group_settle(&t);
	TEST_ASSERT_FALSE(journal_is_rewriting(t.journal));
	TEST_ASSERT_EQUAL_UINT64(4, journal_get_base(t.journal).index);
	expect_all("live");
	crash();
	group_expect_recovered(&t, "after a crash");
}

static void segments_stay_while_their_entries_are_needed(void)
{
	group_must_begin(&t);
	append(100);
	commit_all();
	journal_keep_from(t.journal, 40);
	rewrite();
	TEST_ASSERT_EQUAL_UINT64(101, journal_get_base(t.journal).index);
	TEST_ASSERT_TRUE(journal_first_index(t.journal) <= 40);
	TEST_ASSERT_TRUE(journal_first_index(t.journal) > 1);
	expect_all("kept");
	crash();
	TEST_ASSERT_TRUE(journal_first_index(t.journal) <= 40);
	group_expect_recovered(&t, "kept");
	append(5);
	commit_all();
	rewrite();
	TEST_ASSERT_TRUE(journal_first_index(t.journal) > 101);
	crash();
	group_expect_recovered(&t, "gone");
}

/* Its last entries have numbers after the end of the log. */
static void a_segment_that_comes_back_with_replaced_entries_is_removed_again(void)
{
	struct buf segment = BUF_INIT(BUF_NO_MAX);
	int file;

	group_must_begin(&t);
	append(10);
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 5));
	t.term = 2;
	append(3);
	commit_all();
	buf_append_str(&segment, buf_str(disk_file(&t.disk, "log-00000002")));
	rewrite();
	TEST_ASSERT_EQUAL_UINT64(7, journal_get_base(t.journal).index);
	TEST_ASSERT_NULL(disk_file(&t.disk, "log-00000002"));
	expect_all("live");
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	file = disk_new_file(&t.disk);
	t.disk.files[file].now = segment;
	disk_add_name(t.disk.names, "log-00000002", file);
	group_must_open(&t);
	TEST_ASSERT_NULL(disk_file(&t.disk, "log-00000002"));
	group_expect_recovered(&t, "with an old file");
}

/* The manifest is an old one: the disk lost the last change of it. */
static void a_log_whose_last_replacement_is_not_in_the_manifest_is_refused(void)
{
	struct buf old = BUF_INIT(BUF_NO_MAX);
	struct buf *manifest;

	group_must_begin(&t);
	append(10);
	buf_append_str(&old, buf_str(disk_file(&t.disk, MANIFEST_NAME)));
	TEST_ASSERT_EQUAL_INT(0, group_replace(&t, 5));
	t.term = 2;
	append(3);
	group_kill(&t, DISK_KEEP_SYNCED, &rng);
	manifest = disk_file(&t.disk, MANIFEST_NAME);
	buf_clear(manifest);
	buf_append_str(manifest, buf_str(&old));
	buf_done(&old);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, group_open(&t));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(buf_cstr(&t.error),
					    "it does not name log-00000003, which has records from "
					    "sequence 5 to 7, and the log ends with sequence 11"),
				     buf_cstr(&t.error));
}

static void a_group_without_a_way_to_read_its_files_makes_no_snapshots(void)
{
	t.options.rebuild = NULL;
	group_must_begin(&t);
	append(3);
	TEST_ASSERT_FALSE(journal_rewrite(t.journal));
}

static void the_sync_policy_of_a_group_does_not_change(void)
{
	t.options.sync = JOURNAL_SYNC_NO;
	group_must_begin(&t);
	for (int i = 0; i < 2; i++) {
		journal_set_sync(t.journal, JOURNAL_SYNC_EVERYSEC);
		append(1);
		TEST_ASSERT_EQUAL_UINT64(t.model.last, t.durable);
		crash();
		TEST_ASSERT_EQUAL_UINT64(t.model.last, journal_last_index(t.journal));
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_group_begins_with_its_members);
	RUN(a_log_becomes_the_snapshot_of_a_group);
	RUN(a_node_that_joins_has_an_empty_log_and_no_vote);
	RUN(a_directory_with_records_cannot_join);
	RUN(a_directory_is_as_before_or_a_group_after_a_crash_at_each_call);
	RUN(entries_of_every_type_are_read_back);
	RUN(entries_that_memory_does_not_have_come_from_the_segments);
	RUN(memory_has_the_last_entries_unless_told_otherwise);
	RUN(only_entries_that_are_there_can_be_read);
	RUN(an_entry_that_was_lost_on_the_disk_is_not_read);
	RUN(only_committed_entries_are_applied_at_the_start);
	RUN(a_log_at_rest_gets_a_mark_with_the_commit_index);
	RUN(a_closed_log_has_the_commit_index);
	RUN(a_recovery_up_to_an_index_applies_entries_that_no_mark_calls_committed);
	RUN(a_tail_is_replaced);
	RUN(a_tail_that_was_not_replaced_yet_is_gone_after_a_crash);
	RUN(an_old_tail_may_come_back);
	RUN(a_tail_of_several_segments_is_replaced);
	RUN(a_tail_that_was_not_written_is_replaced);
	RUN(a_replaced_entry_does_not_come_back_in_old_bytes);
	RUN(a_recovery_up_to_an_index_uses_the_entries_that_count);
	RUN(a_segment_that_replaces_committed_entries_is_refused);
	RUN(a_full_disk_leaves_the_tail);
	RUN(the_log_of_a_group_is_not_cut_where_it_is_damaged);
	RUN(damage_is_noticed_in_replaced_entries_too);
	RUN(wrong_terms_are_noticed);
	RUN(a_rescue_uses_all_entries_of_the_node);
	RUN(a_rescue_does_without_a_vote);
	RUN(a_rescue_can_be_repeated_after_a_crash_at_each_call);
	RUN(a_vote_is_stored_by_one_of_the_next_flushes);
	RUN(a_vote_goes_before_the_entries_that_follow);
	RUN(the_last_of_several_votes_is_stored);
	RUN(a_vote_that_cannot_be_written_fails_the_log);
	RUN(the_loss_of_one_file_of_the_vote_does_no_harm);
	RUN(a_node_that_has_lost_its_vote_does_not_start);
	RUN(the_vote_of_another_group_is_refused);
	RUN(a_snapshot_has_its_term_and_members);
	RUN(a_snapshot_waits_until_its_entries_are_committed);
	RUN(a_snapshot_that_waits_leaves_out_a_tail_that_is_replaced);
	RUN(segments_stay_while_their_entries_are_needed);
	RUN(a_segment_that_comes_back_with_replaced_entries_is_removed_again);
	RUN(a_log_whose_last_replacement_is_not_in_the_manifest_is_refused);
	RUN(a_group_without_a_way_to_read_its_files_makes_no_snapshots);
	RUN(the_sync_policy_of_a_group_does_not_change);
	return UNIT_RESULT();
}
