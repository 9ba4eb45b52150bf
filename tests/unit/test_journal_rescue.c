/*
 * Rescue of damaged logs, compared with a slow oracle. The oracle knows where each record of the
 * whole log is. A record is intact if its bytes are, and rescue must apply exactly the intact
 * records after the snapshot that it loads.
 */
#include "disk.h"

#include "journal/journal.h"
#include "journal/rescue.h"
#include "sys/clock.h"
#include "util/mem.h"
#include "util/wire.h"

#define DAMAGES	    4000
#define RECORDS_MAX 4000
#define LIVES	    3
#define TURN_US	    INT64_C(400000)
/* A snapshot holds the number of the last record that it covers. */
#define BASE_BYTES 9
/* Where the sector begins that cannot be read, and its size. */
#define BAD_SECTOR ((uint64_t)4096)

struct place {
	char name[DISK_NAME_BYTES];
	uint64_t sequence;
	size_t offset, size;
	bool is_mark;
	char bytes[96];
};

static struct disk disk, damaged;
static struct journal *journal;
static struct journal_options options;
static struct buf error;
static int64_t begin_us, now_us;
static unsigned long long rng;
static struct place places[RECORDS_MAX]; /* of all records of the whole log */
static int place_count;
static bool is_intact[RECORDS_MAX];

/* The sequence numbers that were applied. */
static uint64_t applied[RECORDS_MAX];
static int applied_count;
static uint64_t base_sequence;
static struct rescue_tally tally;

static unsigned pick(unsigned n)
{
	return (unsigned)(unit_random(&rng) % n);
}

/* ---- a log ---- */

static void save(void *arg, struct base_writer *w)
{
	unsigned char bytes[BASE_BYTES] = { 'S' };

	(void)arg;
	wire_put_u64(bytes + 1, w->options.sequence);
	base_add_operations(w, str_make((const char *)bytes, sizeof bytes));
}

static void end_turn(void)
{
	now_us += TURN_US;
	commit_log_flush(journal_log(journal),
			 &(struct commit_log_turn){ .mono_us = now_us, .wall_us = now_us });
}

static int apply(void *arg, const struct record *record, uint64_t *ret_count, struct buf *ret_error)
{
	(void)arg;
	(void)ret_count;
	(void)ret_error;
	if (record->payload.ptr[0] == 'S') {
		base_sequence = wire_get_u64((const unsigned char *)record->payload.ptr + 1);
		return 0;
	}
	TEST_ASSERT_TRUE(applied_count < RECORDS_MAX);
	applied[applied_count++] = record->sequence;
	tally.refused += record->payload.ptr[0] == 'r';
	tally.idle += record->payload.ptr[0] == 'i';
	return 0;
}

static const struct recovery_target target = { .apply = apply };

static void start(void)
{
	struct recovery recovery;

	buf_clear(&error);
	journal = journal_open(&options, &error);
	TEST_ASSERT_NOT_NULL(journal);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, journal_recover(journal, &target, &recovery, &error),
				      buf_cstr(&error));
	recovery_done(&recovery);
}

static void change(char kind)
{
	char text[60];

	memset(text, '.', sizeof text);
	text[0] = kind;
	commit_log_append(journal_log(journal), str_make(text, 30 + pick(30)));
}

/* Write a log of several processes, with some segments and, if asked for, snapshots. */
static void make_log(int lives, unsigned keep_bases, bool with_bases)
{
	options = (struct journal_options){ .dir = "data",
					    .io = &disk.io,
					    .segment_bytes = 2000,
					    .keep_bases = keep_bases,
					    .save = save };
	for (int life = 0; life < lives; life++) {
		start();
		for (int turn = 0; turn < 40; turn++) {
			for (unsigned n = pick(5); n > 0; n--)
				change('a');
			if (with_bases && turn % 20 == 10)
				journal_rewrite(journal);
			end_turn();
		}
		journal_close(journal, NULL);
		journal = NULL;
	}
}

static void note_records(const char *name, const struct buf *file)
{
	const unsigned char *bytes = (const unsigned char *)buf_data(file);
	struct record_file_header header;
	struct record record;
	size_t size;

	TEST_ASSERT_EQUAL_INT(RECORD_OK, record_decode_header(bytes, file->len, &header));
	for (size_t at = RECORD_FILE_HEADER_BYTES; at < file->len; at += size) {
		struct place *p = &places[place_count++];

		TEST_ASSERT_TRUE(place_count < RECORDS_MAX);
		TEST_ASSERT_EQUAL_INT(RECORD_OK, record_decode(bytes + at, file->len - at,
							       header.salt, &record, &size));
		*p = (struct place){ .sequence = record.sequence,
				     .offset = at,
				     .size = size,
				     .is_mark = record.type == RECORD_MARK };
		snprintf(p->name, sizeof p->name, "%s", name);
		TEST_ASSERT_TRUE(size <= sizeof p->bytes);
		memcpy(p->bytes, bytes + at, size);
	}
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int names = strcmp(x->name, y->name);

	return names != 0 ? names : (x->offset > y->offset) - (x->offset < y->offset);
}

static void note_all_records(void)
{
	place_count = 0;
	for (int i = 0; i < DISK_FILES_MAX; i++) {
		const struct disk_name *name = &disk.names[i];

		if (name->file >= 0 && strncmp(name->name, "log-", 4) == 0)
			note_records(name->name, &disk.files[name->file].now);
	}
	qsort(places, (size_t)place_count, sizeof *places, compare_places);
}

/* ---- the oracle ---- */

static struct disk_name *damaged_file(const char *name)
{
	return disk_find(damaged.names, name);
}

static struct buf *damaged_bytes(const char *name)
{
	return disk_file(&damaged, name);
}

static bool has_whole_header(const char *name)
{
	struct buf *now = damaged_bytes(name), *was = disk_file(&disk, name);

	return now != NULL && now->len >= RECORD_FILE_HEADER_BYTES &&
	       memcmp(buf_data(now), buf_data(was), RECORD_FILE_HEADER_BYTES) == 0;
}

static bool has_salt(const char *name, uint64_t salt)
{
	struct buf *file = disk_file(&disk, name);

	return wire_get_u64((const unsigned char *)buf_data(file) + 32) == salt;
}

/* The salt of a file with a damaged header is known if its bytes are intact, or if another file has
 * it. */
static bool is_salt_known(const char *name)
{
	struct buf *now = damaged_bytes(name), *was = disk_file(&disk, name);
	uint64_t salt = wire_get_u64((const unsigned char *)buf_data(was) + 32);

	if (now == NULL || now->len < RECORD_FILE_HEADER_BYTES)
		return false;
	if (memcmp(buf_data(now) + 32, buf_data(was) + 32, 8) == 0)
		return true;
	for (int i = 0; i < DISK_FILES_MAX; i++) {
		const struct disk_name *other = &damaged.names[i];

		if (other->file >= 0 && strncmp(other->name, "log-", 4) == 0 &&
		    has_whole_header(other->name) && has_salt(other->name, salt))
			return true;
	}
	return false;
}

/* Bytes may be taken out before a record, so it is searched from the end of the one before it on.
 */
static void find_intact(void)
{
	size_t from = RECORD_FILE_HEADER_BYTES;

	for (int i = 0; i < place_count; i++) {
		const struct place *p = &places[i];
		struct buf *now = damaged_bytes(p->name);
		const char *found = NULL;

		if (i == 0 || strcmp(places[i - 1].name, p->name) != 0)
			from = RECORD_FILE_HEADER_BYTES;
		if (now != NULL && now->len > from && is_salt_known(p->name))
			found = memmem(buf_data(now) + from, now->len - from, p->bytes, p->size);
		is_intact[i] = found != NULL;
		if (is_intact[i])
			from = (size_t)(found - buf_data(now)) + p->size;
	}
}

/* ---- damage ---- */

static const char *pick_log(void)
{
	return places[pick((unsigned)place_count)].name;
}

static void flip(struct buf *file)
{
	buf_data(file)[pick((unsigned)file->len)] ^= (char)(1U << pick(8));
}

static void overwrite(struct buf *file, int with)
{
	size_t at = pick((unsigned)file->len), len = 1 + pick(300);

	if (len > file->len - at)
		len = file->len - at;
	for (size_t i = at; i < at + len; i++)
		buf_data(file)[i] = (char)(with >= 0 ? (unsigned)with : pick(256));
}

static void take_out(struct buf *file)
{
	size_t at = pick((unsigned)file->len), len = 1 + pick(300);

	if (len > file->len - at)
		len = file->len - at;
	memmove(buf_data(file) + at, buf_data(file) + at + len, file->len - at - len);
	buf_truncate(file, file->len - len);
}

static void damage_once(void)
{
	const char *name = pick_log();
	struct buf *file = damaged_bytes(name);

	if (file == NULL || file->len == 0)
		return;
	switch (pick(9)) {
	case 0:
	case 1:
	case 2:
		flip(file);
		break;
	case 3:
		overwrite(file, -1);
		break;
	case 4:
		overwrite(file, 0);
		break;
	case 5:
		take_out(file);
		break;
	case 6:
		buf_truncate(file, pick((unsigned)file->len));
		break;
	case 7:
		buf_data(file)[pick(RECORD_FILE_HEADER_BYTES) % file->len] ^= 1;
		break;
	case 8:
		if (pick(3) == 0)
			damaged_file(name)->file = -1;
		break;
	}
}

/* ---- comparing ---- */

static void clear(void *arg)
{
	(void)arg;
	applied_count = 0;
	base_sequence = 0;
}

/* The second sector of the log cannot be read. */
static ssize_t read_badly(void *arg, int fd, void *to, size_t len, uint64_t offset)
{
	if (offset < 2 * BAD_SECTOR && offset + len > BAD_SECTOR)
		return -EIO;
	return disk_read(arg, fd, to, len, offset);
}

static void rescue(struct rescue *r, const struct recovery_limit *limit)
{
	struct rescue_owner owner = { .target = target, .clear = clear, .tally = &tally };
	int rc;

	clear(NULL);
	tally = (struct rescue_tally){ 0 };
	buf_clear(&error);
	rc = rescue_run(r, &damaged.io, "data", limit, &owner, &error);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&error));
}

/* The numbers that were not applied are those of the gaps, and no others. After the last record,
 * there may be numbers that no record ever had. */
static void check_gaps(const struct rescue *r, const char *message)
{
	uint64_t next = base_sequence + 1;
	size_t gap = 0;

	for (int i = 0; i < applied_count; i++) {
		for (; gap < r->gap_count && r->gaps[gap].first <= next; gap++) {
			const struct rescue_gap *g = &r->gaps[gap];

			if (g->last < g->first || g->is_continued)
				continue;
			TEST_ASSERT_EQUAL_UINT64_MESSAGE(next, g->first, message);
			TEST_ASSERT_TRUE_MESSAGE(g->last < applied[i], message);
			next = g->last + 1;
		}
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(next, applied[i], message);
		next++;
	}
}

static void check_rescue(int number)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	uint64_t last = 0, lost = 0;
	char message[64];
	struct rescue r;
	int expected = 0;

	snprintf(message, sizeof message, "damage %d", number);
	find_intact();
	rescue(&r, &all);
	for (int i = 0; i < place_count; i++) {
		const struct place *p = &places[i];

		if (p->is_mark || p->sequence <= base_sequence)
			continue;
		lost += !is_intact[i];
		if (!is_intact[i])
			continue;
		TEST_ASSERT_TRUE_MESSAGE(expected < applied_count, message);
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(p->sequence, applied[expected], message);
		TEST_ASSERT_TRUE_MESSAGE(p->sequence > last, message);
		last = p->sequence;
		expected++;
	}
	TEST_ASSERT_EQUAL_INT_MESSAGE(expected, applied_count, message);
	TEST_ASSERT_TRUE_MESSAGE(lost == 0 || rescue_is_incomplete(&r), message);
	check_gaps(&r, message);
	rescue_done(&r);
}

static void damage_and_check(void)
{
	note_all_records();
	for (int i = 0; i < DAMAGES; i++) {
		disk_copy(&damaged, &disk);
		for (unsigned n = 1 + pick(i % 2 == 0 ? 2 : 12); n > 0; n--)
			damage_once();
		check_rescue(i);
		disk_done(&damaged);
	}
}

void setUp(void)
{
	buf_init(&error, 4096);
	rng = 77;
	disk_init(&disk);
	/* A journal reads the clock of the system when it is opened. */
	begin_us = now_us = clock_wall_us();
}

void tearDown(void)
{
	journal_close(journal, NULL);
	journal = NULL;
	buf_done(&error);
	disk_done(&disk);
}

/* ---- cases ---- */

static void every_intact_record_is_used(void)
{
	make_log(LIVES, 0, false);
	damage_and_check();
}

static void every_intact_record_after_a_snapshot_is_used(void)
{
	make_log(LIVES, 0, true);
	damage_and_check();
}

static void a_whole_log_has_no_gaps(void)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct rescue r;

	make_log(LIVES, 1, true);
	note_all_records();
	disk_copy(&damaged, &disk);
	rescue(&r, &all);
	TEST_ASSERT_EQUAL_size_t(0, r.gap_count);
	TEST_ASSERT_EQUAL_size_t(0, r.notes.len);
	TEST_ASSERT_EQUAL_UINT64(places[place_count - 1].sequence - 1, r.recovery.last_sequence);
	rescue_done(&r);
	disk_done(&damaged);
}

/* Returns the name of the newest snapshot. */
static const char *newest_base(void)
{
	const char *newest = NULL;

	for (int i = 0; i < DISK_FILES_MAX; i++) {
		const struct disk_name *name = &damaged.names[i];

		if (name->file >= 0 && strncmp(name->name, "base-", 5) == 0 &&
		    (newest == NULL || strcmp(name->name, newest) > 0))
			newest = name->name;
	}
	return newest;
}

static void a_damaged_snapshot_is_replaced_by_an_older_one_and_the_log(void)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct rescue r;
	uint64_t newest;

	make_log(LIVES, 2, true);
	note_all_records();
	disk_copy(&damaged, &disk);
	rescue(&r, &all);
	newest = base_sequence;
	rescue_done(&r);
	buf_data(damaged_bytes(newest_base()))[RECORD_FILE_HEADER_BYTES + 5] ^= 1;
	rescue(&r, &all);
	TEST_ASSERT_TRUE(base_sequence > 0 && base_sequence < newest);
	TEST_ASSERT_FALSE(rescue_is_incomplete(&r));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&r.notes), "a snapshot was left out: "));
	TEST_ASSERT_EQUAL_UINT64(places[place_count - 1].sequence - 1, applied[applied_count - 1]);
	TEST_ASSERT_EQUAL_UINT64(applied[applied_count - 1] - base_sequence, applied_count);
	rescue_done(&r);
	disk_done(&damaged);
}

static void without_any_snapshot_the_log_after_it_is_used(void)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct rescue r;

	make_log(LIVES, 0, true);
	note_all_records();
	disk_copy(&damaged, &disk);
	damaged_file(newest_base())->file = -1;
	rescue(&r, &all);
	TEST_ASSERT_EQUAL_size_t(1, r.gap_count);
	TEST_ASSERT_EQUAL_UINT64(1, r.gaps[0].first);
	TEST_ASSERT_EQUAL_UINT64(applied[0] - 1, r.gaps[0].last);
	rescue_done(&r);
	disk_done(&damaged);
}

/* The snapshot covers the first records of the segment, whose header does not tell where it begins.
 */
static void a_segment_without_a_header_is_not_taken_for_damaged(void)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct rescue r;

	make_log(LIVES, 0, true);
	note_all_records();
	disk_copy(&damaged, &disk);
	buf_data(damaged_bytes(places[0].name))[16] ^= 1;
	rescue(&r, &all);
	TEST_ASSERT_EQUAL_size_t(0, r.gap_count);
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&r.notes), "the header of log-"));
	TEST_ASSERT_EQUAL_UINT64(places[place_count - 1].sequence - 1, applied[applied_count - 1]);
	rescue_done(&r);
	disk_done(&damaged);
}

static void a_damaged_manifest_is_not_needed(void)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct rescue r;

	make_log(LIVES, 0, true);
	disk_copy(&damaged, &disk);
	flip(damaged_bytes("manifest"));
	rescue(&r, &all);
	TEST_ASSERT_FALSE(rescue_is_incomplete(&r));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&r.notes), "the manifest is damaged"));
	rescue_done(&r);
	disk_done(&damaged);
}

static void a_segment_that_was_never_used_does_not_hide_records(void)
{
	struct record_file_header header = { .kind = RECORD_FILE_LOG,
					     .format = RECORD_FORMAT_VERSION,
					     .engine = 1,
					     .number = 99,
					     .sequence = 5 };
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	unsigned char bytes[RECORD_FILE_HEADER_BYTES];
	struct rescue r;
	size_t written;
	int fd;

	make_log(1, 0, false);
	note_all_records();
	disk_copy(&damaged, &disk);
	record_encode_header(&header, bytes);
	fd = journal_create_file(&damaged.io, "data/log-00000099");
	TEST_ASSERT_EQUAL_INT(0,
			      journal_write_all(&damaged.io, fd, bytes, sizeof bytes, 0, &written));
	damaged.io.close(&damaged, fd);
	rescue(&r, &all);
	TEST_ASSERT_EQUAL_size_t(0, r.gap_count);
	TEST_ASSERT_EQUAL_UINT64(places[place_count - 1].sequence - 1, applied[applied_count - 1]);
	rescue_done(&r);
	disk_done(&damaged);
}

/* Returns the index of the n-th record that is no mark. */
static int nth_record(int n)
{
	int i = 0;

	while (places[i].is_mark || n-- > 0)
		i++;
	return i;
}

static void a_gap_tells_its_place_its_numbers_and_what_followed(void)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct rescue_gap *gap;
	struct rescue r;
	int lost;

	options = (struct journal_options){
		.dir = "data", .io = &disk.io, .segment_bytes = 1 << 20, .save = save
	};
	start();
	for (int i = 0; i < 20; i++) {
		change(i < 10 ? 'a' : i < 12 ? 'r' : 'i');
		end_turn();
		end_turn();
		end_turn();
	}
	journal_close(journal, NULL);
	journal = NULL;
	note_all_records();
	disk_copy(&damaged, &disk);
	lost = nth_record(5);
	buf_data(damaged_bytes(places[lost].name))[places[lost].offset] ^= 1;
	rescue(&r, &all);
	TEST_ASSERT_EQUAL_size_t(1, r.gap_count);
	gap = &r.gaps[0];
	TEST_ASSERT_EQUAL_UINT64(1, gap->file);
	TEST_ASSERT_EQUAL_UINT64(places[lost].offset, gap->offset);
	TEST_ASSERT_EQUAL_UINT64(places[lost].size, gap->bytes);
	TEST_ASSERT_EQUAL_UINT64(6, gap->first);
	TEST_ASSERT_EQUAL_UINT64(6, gap->last);
	TEST_ASSERT_TRUE(gap->after_us >= begin_us && gap->after_us < gap->before_us &&
			 gap->before_us <= begin_us + 9 * 3 * TURN_US);
	TEST_ASSERT_EQUAL_UINT64(2, gap->refused);
	TEST_ASSERT_EQUAL_UINT64(8, gap->idle);
	rescue_done(&r);
	disk_done(&damaged);
}

/* A sector that the disk cannot read costs the records in it, and no others. */
static void a_sector_that_cannot_be_read_is_a_gap(void)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct rescue r;

	options = (struct journal_options){
		.dir = "data", .io = &disk.io, .segment_bytes = 1 << 20, .save = save
	};
	start();
	for (int i = 0; i < 200; i++) {
		change('a');
		end_turn();
	}
	journal_close(journal, NULL);
	journal = NULL;
	note_all_records();
	disk_copy(&damaged, &disk);
	TEST_ASSERT_TRUE(damaged_bytes("log-00000001")->len > 3 * BAD_SECTOR);
	damaged.io.read = read_badly;
	rescue(&r, &all);
	TEST_ASSERT_EQUAL_size_t(1, r.gap_count);
	TEST_ASSERT_TRUE(applied_count > 100 && applied_count < 200);
	TEST_ASSERT_EQUAL_UINT64(200, applied[applied_count - 1]);
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&r.notes), "the disk failed to read"));
	check_gaps(&r, "bad sector");
	rescue_done(&r);
	disk_done(&damaged);
}

static void a_limit_leaves_out_what_is_after_it(void)
{
	struct recovery_limit limit = { .sequence = 50, .wall_us = INT64_MAX };
	struct rescue r;

	make_log(1, 0, false);
	note_all_records();
	disk_copy(&damaged, &disk);
	buf_data(damaged_bytes(places[nth_record(9)].name))[places[nth_record(9)].offset] ^= 1;
	buf_data(damaged_bytes(places[nth_record(60)].name))[places[nth_record(60)].offset] ^= 1;
	rescue(&r, &limit);
	TEST_ASSERT_EQUAL_UINT64(50, applied[applied_count - 1]);
	TEST_ASSERT_EQUAL_INT(49, applied_count);
	TEST_ASSERT_EQUAL_size_t(1, r.gap_count);
	rescue_done(&r);
	disk_done(&damaged);
}

/* If the mark that is after the limit is lost, the records after it may be too late. */
static void records_of_an_unknown_time_are_not_applied_under_a_limit(void)
{
	struct recovery_limit limit = { .sequence = UINT64_MAX };
	uint64_t whole;
	struct rescue r;
	int mark = 0;

	make_log(1, 0, false);
	note_all_records();
	disk_copy(&damaged, &disk);
	limit.wall_us = begin_us + 20 * TURN_US;
	rescue(&r, &limit);
	whole = applied[applied_count - 1];
	TEST_ASSERT_TRUE(whole > 10 && whole < places[place_count - 1].sequence - 20);
	TEST_ASSERT_EQUAL_UINT64(0, r.untimed_sequence);
	rescue_done(&r);
	while (!places[mark].is_mark || places[mark].sequence != whole + 1)
		mark++;
	buf_data(damaged_bytes(places[mark].name))[places[mark].offset] ^= 1;
	rescue(&r, &limit);
	TEST_ASSERT_EQUAL_UINT64(whole, applied[applied_count - 1]);
	TEST_ASSERT_EQUAL_UINT64(whole + 1, r.untimed_sequence);
	rescue_done(&r);
	disk_done(&damaged);
}

/* Each frame in these bytes seems to begin a long record, and to check them all takes hours. */
static void bytes_that_look_like_records_do_not_take_forever(void)
{
	size_t len = 16 * 1024 * 1024;
	unsigned char *bytes = mem_alloc(len);

	memset(bytes, 0, len);
	for (size_t at = 0; at + RECORD_FRAME_BYTES < len; at += RECORD_FRAME_BYTES) {
		wire_put_u64(bytes + at + 8, 7);
		wire_put_u32(bytes + at + 16, (uint32_t)(len - at - RECORD_FRAME_BYTES));
	}
	TEST_ASSERT_EQUAL_size_t(len, record_find(bytes, len, 0, 1, 7, 8));
	free(bytes);
}

static void limits_are_numbers_and_times(void)
{
	struct recovery_limit limit = RECOVERY_NO_LIMIT;

	TEST_ASSERT_TRUE(recovery_parse_limit("17", &limit));
	TEST_ASSERT_EQUAL_UINT64(17, limit.sequence);
	TEST_ASSERT_TRUE(recovery_parse_limit("@1795000000.5", &limit));
	TEST_ASSERT_EQUAL_INT64(1795000000500000, limit.wall_us);
	TEST_ASSERT_TRUE(recovery_parse_limit("2026-11-18T14:00:00Z", &limit));
	TEST_ASSERT_EQUAL_INT64(1795010400000000, limit.wall_us);
	TEST_ASSERT_FALSE(recovery_parse_limit("", &limit));
	TEST_ASSERT_FALSE(recovery_parse_limit("0", &limit));
	TEST_ASSERT_FALSE(recovery_parse_limit("@-1", &limit));
	TEST_ASSERT_FALSE(recovery_parse_limit("2026-11-18", &limit));
	TEST_ASSERT_FALSE(recovery_parse_limit("2026-11-18T14:00:00+01:00", &limit));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(every_intact_record_is_used);
	RUN(every_intact_record_after_a_snapshot_is_used);
	RUN(a_whole_log_has_no_gaps);
	RUN(a_damaged_snapshot_is_replaced_by_an_older_one_and_the_log);
	RUN(without_any_snapshot_the_log_after_it_is_used);
	RUN(a_segment_without_a_header_is_not_taken_for_damaged);
	RUN(a_damaged_manifest_is_not_needed);
	RUN(a_segment_that_was_never_used_does_not_hide_records);
	RUN(a_gap_tells_its_place_its_numbers_and_what_followed);
	RUN(a_limit_leaves_out_what_is_after_it);
	RUN(a_sector_that_cannot_be_read_is_a_gap);
	RUN(records_of_an_unknown_time_are_not_applied_under_a_limit);
	RUN(bytes_that_look_like_records_do_not_take_forever);
	RUN(limits_are_numbers_and_times);
	return UNIT_RESULT();
}
