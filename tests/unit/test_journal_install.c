/*
 * Snapshots that one node of a group sends to another one.
 */
#include "group_log.h"

static struct group_log_test leader, follower;
static unsigned long long rng = 9;

static void begin_follower(void)
{
	group_init(&follower);
	TEST_ASSERT_EQUAL_INT(0, group_open(&follower));
	TEST_ASSERT_EQUAL_INT(0, journal_begin_group(follower.journal, &group_identity, STR(""),
						     &follower.error));
	follower.vote_count = 1;
}

static void append(struct group_log_test *t, int count)
{
	for (int i = 0; i < count; i++)
		group_append(t, RECORD_OPERATIONS, 20);
	group_settle(t);
}

static void make_snapshot(struct group_log_test *t)
{
	group_note_commit(t, t->durable);
	TEST_ASSERT_TRUE(journal_rewrite(t->journal));
	group_settle(t);
	TEST_ASSERT_FALSE(journal_is_rewriting(t->journal));
}

/* The leader has a snapshot of 62 entries, of which the last are in term 3. */
void setUp(void)
{
	group_init(&leader);
	group_must_begin(&leader);
	append(&leader, 50);
	leader.term = 3;
	group_append(&leader, RECORD_MEMBERS, 4);
	append(&leader, 10);
	make_snapshot(&leader);
	TEST_ASSERT_EQUAL_UINT64(62, journal_get_base(leader.journal).index);
	begin_follower();
}

void tearDown(void)
{
	group_done(&leader);
	group_done(&follower);
}

/* Send the bytes of the snapshot from an offset on. Returns the result of the last piece. */
static int send(const struct journal_base_file *file, uint64_t from, uint64_t to, size_t step)
{
	char bytes[4096];
	int rc = 0;

	while (from < to && rc == 0) {
		ssize_t got = journal_read_base(leader.journal, file, bytes,
						(size_t)min_u64(step, to - from), from);

		TEST_ASSERT_TRUE(got > 0);
		rc = journal_install_piece(follower.journal, str_make(bytes, (size_t)got));
		from += (uint64_t)got;
	}
	return rc;
}

/* Send all of the snapshot. Returns the first result that is not 0. */
static int install(size_t step)
{
	struct journal_base_file file;
	uint64_t offset;
	int rc;

	TEST_ASSERT_EQUAL_INT(0, journal_open_base(leader.journal, &file));
	rc = journal_begin_install(follower.journal, file.size, file.salt, &offset);
	if (rc == 0)
		rc = send(&file, offset, file.size, step);
	if (rc == 0)
		rc = journal_finish_install(follower.journal, &follower.error);
	journal_close_base(leader.journal, &file);
	return rc;
}

/* The follower has the log of the leader from now on. */
static void adopt(void)
{
	uint64_t index = journal_get_base(leader.journal).index;

	follower.model = leader.model;
	follower.model.last = index;
	follower.durable = follower.commit = follower.fixed = index;
	follower.term = leader.term;
	follower.texts = leader.texts + 1000;
}

static void load(void)
{
	struct recovery_target target = group_target(&follower.state);

	buf_clear(&follower.state);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, journal_load_state(follower.journal, follower.commit, &target, &follower.error),
		buf_cstr(&follower.error));
	group_expect_state(&follower, &follower.model, follower.commit, "loaded");
}

static void expect_installed(void)
{
	struct journal_base base = journal_get_base(follower.journal);

	TEST_ASSERT_EQUAL_UINT64(62, base.index);
	TEST_ASSERT_EQUAL_UINT64(3, base.term);
	TEST_ASSERT_EQUAL_UINT64(52, base.members_index);
	TEST_ASSERT_EQUAL_UINT64(62, journal_get_commit(follower.journal));
	group_expect_members(&follower, "installed");
}

static void check_after_crash(void)
{
	group_settle(&follower);
	group_kill(&follower, DISK_KEEP_SYNCED, &rng);
	group_must_open(&follower);
	group_expect_recovered(&follower, "after a crash");
	group_expect_members(&follower, "after a crash");
}

static void a_snapshot_takes_the_place_of_an_empty_log(void)
{
	TEST_ASSERT_EQUAL_INT(0, install(100));
	adopt();
	expect_installed();
	TEST_ASSERT_EQUAL_UINT64(62, journal_last_index(follower.journal));
	TEST_ASSERT_EQUAL_UINT64(63, journal_first_index(follower.journal));
	load();
	append(&follower, 20);
	load();
	check_after_crash();
	TEST_ASSERT_EQUAL_UINT64(82, journal_last_index(follower.journal));
}

static void a_snapshot_takes_the_place_of_another_log(void)
{
	static const int lengths[] = { 3, 30, 61, 100 };

	for (size_t i = 0; i < 4; i++) {
		group_done(&follower);
		group_init(&follower);
		group_must_begin(&follower);
		follower.term = 2;
		append(&follower, lengths[i]);
		TEST_ASSERT_EQUAL_INT(0, install(1 + 1000 * i));
		adopt();
		expect_installed();
		load();
		check_after_crash();
		append(&follower, 5);
		check_after_crash();
	}
}

/* The entries are only in memory. */
static void entries_that_were_not_written_are_dropped(void)
{
	for (int i = 0; i < 5; i++)
		group_append(&follower, RECORD_OPERATIONS, 1);
	TEST_ASSERT_EQUAL_INT(0, install(500));
	adopt();
	expect_installed();
	append(&follower, 1);
	check_after_crash();
}

/* A reader may see a later write before an earlier one. That looks like damage of synced bytes. */
static void the_state_is_loaded_while_records_are_being_written(void)
{
	struct buf late = BUF_INIT(BUF_NO_MAX);
	struct record_file_header header;
	struct buf *log;

	TEST_ASSERT_EQUAL_INT(0, install(500));
	adopt();
	for (uint64_t index = 62; index < 64; index++) {
		size_t end = RECORD_FILE_HEADER_BYTES + 500;

		log = disk_file(&follower.disk, "log-00000004");
		TEST_ASSERT_NOT_NULL(log);
		TEST_ASSERT_EQUAL_INT(RECORD_OK,
				      record_decode_header((unsigned char *)buf_data(log),
							   RECORD_FILE_HEADER_BYTES, &header));
		buf_clear(&late);
		record_append(&late, header.salt, RECORD_OPERATIONS, index + 2, STR("late"));
		record_set_after_sync(buf_data(&late), header.salt);
		while (log->len < end + late.len)
			buf_append_char(log, '\0');
		memcpy(buf_data(log) + end, buf_data(&late), late.len);
		load();
		memset(buf_data(log) + end, 0, late.len);
		append(&follower, 1);
		group_note_commit(&follower, index + 1);
	}
	buf_done(&late);
	check_after_crash();
}

static void a_snapshot_that_was_broken_off_goes_on(void)
{
	struct journal_base_file file;
	uint64_t offset;

	TEST_ASSERT_EQUAL_INT(0, journal_open_base(leader.journal, &file));
	TEST_ASSERT_EQUAL_INT(
		0, journal_begin_install(follower.journal, file.size, file.salt, &offset));
	TEST_ASSERT_EQUAL_UINT64(0, offset);
	TEST_ASSERT_EQUAL_INT(0, send(&file, 0, 1000, 300));
	TEST_ASSERT_EQUAL_INT(
		0, journal_begin_install(follower.journal, file.size, file.salt, &offset));
	TEST_ASSERT_EQUAL_UINT64(1000, offset);
	/* The leader makes another snapshot, and the file is still there. */
	append(&leader, 10);
	make_snapshot(&leader);
	TEST_ASSERT_EQUAL_INT(0, send(&file, 1000, file.size, 300));
	TEST_ASSERT_EQUAL_INT(0, journal_finish_install(follower.journal, &follower.error));
	TEST_ASSERT_EQUAL_UINT64(62, journal_get_base(follower.journal).index);
	TEST_ASSERT_EQUAL_UINT64(62, file.index);
	TEST_ASSERT_EQUAL_UINT64(3, file.term);
	TEST_ASSERT_EQUAL_UINT64(52, file.members_index);
	journal_close_base(leader.journal, &file);
}

static void another_snapshot_begins_anew(void)
{
	struct journal_base_file file;
	uint64_t offset;

	TEST_ASSERT_EQUAL_INT(0, journal_open_base(leader.journal, &file));
	TEST_ASSERT_EQUAL_INT(
		0, journal_begin_install(follower.journal, file.size, file.salt, &offset));
	TEST_ASSERT_EQUAL_INT(0, send(&file, 0, 1000, 300));
	journal_close_base(leader.journal, &file);
	append(&leader, 10);
	make_snapshot(&leader);
	TEST_ASSERT_EQUAL_INT(0, install(300));
	TEST_ASSERT_EQUAL_UINT64(72, journal_get_base(follower.journal).index);
}

static void a_snapshot_that_is_not_needed_is_refused(void)
{
	TEST_ASSERT_EQUAL_INT(0, install(300));
	adopt();
	TEST_ASSERT_EQUAL_INT(-EALREADY, install(300));
	TEST_ASSERT_EQUAL_STRING("", buf_cstr(&follower.error));
	append(&follower, 3);
	check_after_crash();
	/* The log has the entry, and its term is the same. */
	append(&leader, 3);
	make_snapshot(&leader);
	TEST_ASSERT_EQUAL_INT(-EALREADY, install(300));
	check_after_crash();
}

static void a_damaged_snapshot_changes_nothing(void)
{
	struct journal_base_file file;
	uint64_t offset;
	char *bytes;

	TEST_ASSERT_EQUAL_INT(0, journal_open_base(leader.journal, &file));
	bytes = malloc((size_t)file.size);
	TEST_ASSERT_EQUAL_INT((int)file.size, (int)journal_read_base(leader.journal, &file, bytes,
								     (size_t)file.size, 0));
	group_append(&follower, RECORD_OPERATIONS, 5);
	group_settle(&follower);
	for (size_t at = 0; at < file.size; at++) {
		int rc;

		/* Also without the last bytes. */
		size_t len = at % 3 == 0 ? at : (size_t)file.size;

		bytes[at] ^= 0x20;
		TEST_ASSERT_EQUAL_INT(
			0, journal_begin_install(follower.journal, len, file.salt, &offset));
		rc = journal_install_piece(follower.journal, str_make(bytes, len));
		if (rc == 0)
			rc = journal_finish_install(follower.journal, &follower.error);
		else
			journal_give_up_install(follower.journal);
		TEST_ASSERT_EQUAL_INT(-EBADMSG, rc);
		bytes[at] ^= 0x20;
	}
	free(bytes);
	journal_close_base(leader.journal, &file);
	TEST_ASSERT_NULL(disk_file(&follower.disk, "incoming"));
	TEST_ASSERT_EQUAL_UINT64(1, journal_last_index(follower.journal));
	check_after_crash();
	TEST_ASSERT_EQUAL_INT(0, install(300));
}

/* A file of a server without a group has no members. */
static void the_snapshot_of_a_server_alone_is_refused(void)
{
	struct record_file_header header = { .kind = RECORD_FILE_BASE,
					     .format = RECORD_FORMAT_VERSION,
					     .engine = 1,
					     .number = 1,
					     .sequence = 5,
					     .salt = 3 };
	unsigned char bytes[RECORD_FILE_HEADER_BYTES];
	uint64_t offset;

	record_encode_header(&header, bytes);
	TEST_ASSERT_EQUAL_INT(0, journal_begin_install(follower.journal, 100, 3, &offset));
	TEST_ASSERT_EQUAL_INT(-EBADMSG,
			      journal_install_piece(follower.journal,
						    str_make((const char *)bytes, sizeof bytes)));
	journal_give_up_install(follower.journal);
}

static void the_old_log_or_the_snapshot_is_there_after_a_crash_at_each_call(void)
{
	static const enum disk_crash ways[] = { DISK_KEEP_SYNCED, DISK_KEEP_ALL, DISK_KEEP_SOME,
						DISK_KEEP_ANY };
	unsigned before = 0, after = 0;

	for (unsigned at = 0;; at++) {
		struct model old;
		bool stopped;

		group_done(&follower);
		group_init(&follower);
		group_must_begin(&follower);
		follower.term = 2;
		append(&follower, 80);
		old = follower.model;
		disk_stop(&follower.disk, DISK_CHANGES, at / 4);
		install(300);
		stopped = follower.disk.dead;
		group_kill(&follower, ways[at % 4], &rng);
		group_must_open(&follower);
		TEST_ASSERT_NULL(disk_file(&follower.disk, "incoming"));
		if (journal_get_base(follower.journal).index > 0) {
			adopt();
			after++;
		} else {
			follower.model = old;
			before++;
		}
		group_expect_recovered(&follower, "interrupted");
		append(&follower, 3);
		check_after_crash();
		if (!stopped)
			break;
	}
	TEST_ASSERT_TRUE(before > 20 && after > 4);
}

static void a_rewrite_is_given_up_for_a_snapshot(void)
{
	group_append(&follower, RECORD_OPERATIONS, 5);
	group_settle(&follower);
	TEST_ASSERT_TRUE(journal_rewrite(follower.journal));
	group_flush(&follower);
	TEST_ASSERT_EQUAL_INT(0, install(300));
	TEST_ASSERT_FALSE(journal_is_rewriting(follower.journal));
	adopt();
	expect_installed();
	check_after_crash();
	append(&follower, 10);
	make_snapshot(&follower);
	check_after_crash();
}

/* ---- payloads ---- */

static void a_payload_is_read_in_pieces(void)
{
	struct buf large = BUF_INIT(BUF_NO_MAX), out = BUF_INIT(BUF_NO_MAX);
	struct journal *j = leader.journal;
	size_t size;

	for (int i = 0; i < 5000; i++)
		buf_printf(&large, "%d,", i);
	journal_append_entry(j, 3, RECORD_OPERATIONS, buf_str(&large));
	leader.model.last++;
	for (int round = 0; round < 2; round++) {
		size = 1;
		buf_clear(&out);
		while (out.len < size)
			TEST_ASSERT_EQUAL_INT(
				0, journal_read_payload(j, 63, out.len, 999, &out, &size));
		TEST_ASSERT_EQUAL_size_t(large.len, size);
		TEST_ASSERT_EQUAL_STRING(buf_cstr(&large), buf_cstr(&out));
		TEST_ASSERT_EQUAL_INT(0, journal_read_payload(j, 63, size, 999, &out, &size));
		TEST_ASSERT_EQUAL_size_t(large.len, out.len);
		/* The next entries push it out of memory. */
		append(&leader, 30);
	}
	TEST_ASSERT_EQUAL_INT(-ENOENT, journal_read_payload(j, 5, 0, 10, &out, &size));
	TEST_ASSERT_EQUAL_INT(-ENOENT, journal_read_payload(j, 1000, 0, 10, &out, &size));
	buf_done(&large);
	buf_done(&out);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_snapshot_takes_the_place_of_an_empty_log);
	RUN(a_snapshot_takes_the_place_of_another_log);
	RUN(entries_that_were_not_written_are_dropped);
	RUN(the_state_is_loaded_while_records_are_being_written);
	RUN(a_snapshot_that_was_broken_off_goes_on);
	RUN(another_snapshot_begins_anew);
	RUN(a_snapshot_that_is_not_needed_is_refused);
	RUN(a_damaged_snapshot_changes_nothing);
	RUN(the_snapshot_of_a_server_alone_is_refused);
	RUN(the_old_log_or_the_snapshot_is_there_after_a_crash_at_each_call);
	RUN(a_rewrite_is_given_up_for_a_snapshot);
	RUN(a_payload_is_read_in_pieces);
	return UNIT_RESULT();
}
