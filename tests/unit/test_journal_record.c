#include "unit.h"

#include "journal/record.h"
#include "util/mem.h"

#define SALT UINT64_C(0x123456789abcdef0)

static struct buf out;
static struct record record;
static size_t size;

void setUp(void)
{
	buf_init(&out, BUF_NO_MAX);
}

void tearDown(void)
{
	buf_done(&out);
}

static enum record_status decode(size_t at, size_t len)
{
	return record_decode((const unsigned char *)buf_data(&out) + at, len, SALT, &record, &size);
}

static const struct qless_str payload = STR_INIT("some operations\0or so");

/* A record of operations. */
static void append_record(uint64_t salt, uint64_t sequence)
{
	record_append(&out, salt, RECORD_OPERATIONS, sequence, payload);
}

static void a_record_comes_back_as_it_was(void)
{
	append_record(SALT, 77);
	TEST_ASSERT_EQUAL_size_t(RECORD_FRAME_BYTES + payload.len, out.len);
	TEST_ASSERT_EQUAL_INT(RECORD_OK, decode(0, out.len));
	TEST_ASSERT_EQUAL_size_t(out.len, size);
	TEST_ASSERT_EQUAL_INT(RECORD_OPERATIONS, record.type);
	TEST_ASSERT_EQUAL_UINT64(77, record.sequence);
	TEST_ASSERT_FALSE(record.after_sync);
	TEST_ASSERT_TRUE(str_equal(payload, record.payload));
}

static void an_incomplete_record_says_how_many_bytes_it_needs(void)
{
	append_record(SALT, 77);
	for (size_t len = 0; len < out.len; len++) {
		TEST_ASSERT_EQUAL_INT(RECORD_SHORT, decode(0, len));
		TEST_ASSERT_EQUAL_size_t(len < RECORD_FRAME_BYTES ? RECORD_FRAME_BYTES : out.len,
					 size);
	}
}

static void every_damaged_byte_is_noticed(void)
{
	append_record(SALT, 77);
	for (size_t i = 0; i < out.len; i++) {
		for (int bits = 1; bits < 256; bits++) {
			buf_data(&out)[i] = (char)(buf_data(&out)[i] ^ bits);
			TEST_ASSERT_NOT_EQUAL_INT(RECORD_OK, decode(0, out.len));
			buf_data(&out)[i] = (char)(buf_data(&out)[i] ^ bits);
		}
	}
}

static void a_record_of_another_log_is_invalid(void)
{
	append_record(SALT + 1, 77);
	TEST_ASSERT_EQUAL_INT(RECORD_BAD, decode(0, out.len));
}

static void an_unknown_type_is_not_damage(void)
{
	record_append(&out, SALT, (enum record_type)99, 1, STR("x"));
	TEST_ASSERT_EQUAL_INT(RECORD_ALIEN, decode(0, out.len));
}

static void marks_and_numbers_are_decoded(void)
{
	struct record_mark mark = { .durable = 12, .wall_us = -5 }, read;
	uint64_t number;

	record_append_mark(&out, SALT, 13, &mark);
	TEST_ASSERT_EQUAL_INT(RECORD_OK, decode(0, out.len));
	TEST_ASSERT_TRUE(record_decode_mark(record.payload, &read));
	TEST_ASSERT_EQUAL_UINT64(12, read.durable);
	TEST_ASSERT_EQUAL_INT64(-5, read.wall_us);
	TEST_ASSERT_FALSE(record_decode_number(record.payload, &number));

	buf_clear(&out);
	record_append_number(&out, SALT, RECORD_STATE_END, 2, UINT64_MAX);
	TEST_ASSERT_EQUAL_INT(RECORD_OK, decode(0, out.len));
	TEST_ASSERT_TRUE(record_decode_number(record.payload, &number));
	TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, number);
	TEST_ASSERT_FALSE(record_decode_mark(record.payload, &read));
}

static void a_mark_of_a_group_has_the_commit_index(void)
{
	struct record_mark mark = { .durable = 3, .wall_us = 7, .has_commit = true, .commit = 12 };
	struct record_mark read;

	record_append_mark(&out, SALT, 13, &mark);
	TEST_ASSERT_EQUAL_size_t(RECORD_FRAME_BYTES + RECORD_MARK_GROUP_BYTES, out.len);
	TEST_ASSERT_EQUAL_INT(RECORD_OK, decode(0, out.len));
	TEST_ASSERT_TRUE(record_decode_mark(record.payload, &read));
	TEST_ASSERT_EQUAL_UINT64(3, read.durable);
	TEST_ASSERT_EQUAL_INT64(7, read.wall_us);
	TEST_ASSERT_TRUE(read.has_commit);
	TEST_ASSERT_EQUAL_UINT64(12, read.commit);
	/* A server alone has none. */
	mark.has_commit = false;
	buf_clear(&out);
	record_append_mark(&out, SALT, 13, &mark);
	TEST_ASSERT_EQUAL_size_t(RECORD_FRAME_BYTES + RECORD_MARK_BYTES, out.len);
	TEST_ASSERT_EQUAL_INT(RECORD_OK, decode(0, out.len));
	TEST_ASSERT_TRUE(record_decode_mark(record.payload, &read));
	TEST_ASSERT_FALSE(read.has_commit);
	TEST_ASSERT_EQUAL_UINT64(0, read.commit);
	for (size_t len = 0; len < RECORD_MARK_GROUP_BYTES; len++)
		TEST_ASSERT_EQUAL(len == RECORD_MARK_BYTES,
				  record_decode_mark(str_make(buf_data(&out), len), &read));
}

static void the_head_of_a_groups_snapshot_is_decoded(void)
{
	struct record_group group = { 300, UINT64_MAX, STR("some members") }, read;

	record_append_group(&out, SALT, 1, &group);
	TEST_ASSERT_EQUAL_INT(RECORD_OK, decode(0, out.len));
	TEST_ASSERT_EQUAL_INT(RECORD_GROUP, record.type);
	TEST_ASSERT_TRUE(record_decode_group(record.payload, &read));
	TEST_ASSERT_EQUAL_UINT64(300, read.term);
	TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, read.members_index);
	ASSERT_STR("some members", read.members);
	/* The two numbers take 12 bytes. */
	for (size_t len = 0; len < 12; len++)
		TEST_ASSERT_FALSE(record_decode_group(str_make(record.payload.ptr, len), &read));
	TEST_ASSERT_TRUE(record_decode_group(str_make(record.payload.ptr, 12), &read));
	TEST_ASSERT_EQUAL_size_t(0, read.members.len);
}

static void types_of_a_group_are_decoded(void)
{
	static const char *const names[] = { "term", "members", "barrier", "feature", "group" };

	for (int i = 0; i < 5; i++) {
		buf_clear(&out);
		record_append(&out, SALT, (enum record_type)(RECORD_TERM + i), 9, STR("x"));
		TEST_ASSERT_EQUAL_INT(RECORD_OK, decode(0, out.len));
		TEST_ASSERT_EQUAL_STRING(names[i], record_type_name(record.type));
	}
	TEST_ASSERT_TRUE(record_is_entry(RECORD_OPERATIONS));
	TEST_ASSERT_TRUE(record_is_entry(RECORD_MEMBERS));
	TEST_ASSERT_TRUE(record_is_entry(RECORD_BARRIER));
	TEST_ASSERT_TRUE(record_is_entry(RECORD_FEATURE));
	TEST_ASSERT_FALSE(record_is_entry(RECORD_TERM));
	TEST_ASSERT_FALSE(record_is_entry(RECORD_MARK));
	TEST_ASSERT_FALSE(record_is_entry(RECORD_GROUP));
	TEST_ASSERT_FALSE(record_is_entry(RECORD_COMMANDS));
}

static void a_header_is_decoded_and_its_damage_is_noticed(void)
{
	struct record_file_header header = { .kind = RECORD_FILE_BASE,
					     .format = RECORD_FORMAT_VERSION,
					     .engine = 4,
					     .number = 5,
					     .sequence = 6,
					     .salt = SALT,
					     .created_us = 8,
					     .closed_size = 9 },
				  read;
	unsigned char bytes[RECORD_FILE_HEADER_BYTES], again[RECORD_FILE_HEADER_BYTES];

	record_encode_header(&header, bytes);
	TEST_ASSERT_EQUAL_INT(RECORD_OK, record_decode_header(bytes, sizeof bytes, &read));
	record_encode_header(&read, again);
	TEST_ASSERT_EQUAL_MEMORY(bytes, again, sizeof bytes);
	TEST_ASSERT_EQUAL_UINT64(5, read.number);
	TEST_ASSERT_EQUAL_UINT64(9, read.closed_size);
	TEST_ASSERT_EQUAL_INT(RECORD_SHORT, record_decode_header(bytes, sizeof bytes - 1, &read));
	for (size_t i = 0; i < sizeof bytes; i++) {
		bytes[i] ^= 0x10;
		TEST_ASSERT_EQUAL_INT(RECORD_BAD, record_decode_header(bytes, sizeof bytes, &read));
		bytes[i] ^= 0x10;
	}
	header.format = RECORD_FORMAT_NEWEST + 1;
	record_encode_header(&header, bytes);
	TEST_ASSERT_EQUAL_INT(RECORD_ALIEN, record_decode_header(bytes, sizeof bytes, &read));
}

static uint32_t format;

static struct record_damage examine(size_t from, uint64_t sequence)
{
	struct record_file_header header = { .format = format, .salt = SALT };
	struct record_damage damage;

	record_examine_damage((const unsigned char *)buf_data(&out) + from, out.len - from, &header,
			      sequence, &damage);
	return damage;
}

static void intact_records_after_damage_are_found(void)
{
	size_t second;

	append_record(SALT, 1);
	second = out.len;
	append_record(SALT, 2);
	TEST_ASSERT_TRUE(examine(1, 1).followed);
	TEST_ASSERT_EQUAL_size_t(second - 1, examine(1, 1).skip);
	TEST_ASSERT_EQUAL_UINT64(2, examine(1, 1).highest);
	buf_truncate(&out, second + 10);
	TEST_ASSERT_FALSE(examine(1, 1).followed);
}

static void a_mark_has_the_number_of_the_record_that_follows_it(void)
{
	record_append_mark(&out, SALT, 3, &(struct record_mark){ .durable = 1 });
	TEST_ASSERT_EQUAL_INT(RECORD_OK, decode(0, out.len));
	TEST_ASSERT_EQUAL_UINT64(3, record_next_sequence(&record, 4));
	/* In earlier versions it had a number of its own. */
	TEST_ASSERT_EQUAL_UINT64(4, record_next_sequence(&record, 3));
	TEST_ASSERT_EQUAL_UINT64(4, record_next_sequence(&record, 2));
	record.type = RECORD_OPERATIONS;
	TEST_ASSERT_EQUAL_UINT64(4, record_next_sequence(&record, 4));
	record.type = RECORD_TERM;
	TEST_ASSERT_EQUAL_UINT64(3, record_next_sequence(&record, 5));
	record.type = RECORD_BARRIER;
	TEST_ASSERT_EQUAL_UINT64(4, record_next_sequence(&record, 5));
}

/* A mark or a term after the damage does not say that the record with its number is there. */
static void the_highest_number_after_damage_is_that_of_an_entry(void)
{
	append_record(SALT, 7);
	append_record(SALT, 8);
	record_append_mark(&out, SALT, 9, &(struct record_mark){ .durable = 6 });
	record_append_number(&out, SALT, RECORD_TERM, 9, 4);
	format = RECORD_FORMAT_GROUP;
	TEST_ASSERT_TRUE(examine(1, 7).followed);
	TEST_ASSERT_EQUAL_UINT64(8, examine(1, 7).highest);
}

static void a_mark_vouches_for_the_records_up_to_its_number(void)
{
	for (format = RECORD_FORMAT_OLDEST; format <= RECORD_FORMAT_NEWEST; format++) {
		buf_clear(&out);
		append_record(SALT, 7);
		record_append_mark(&out, SALT, 8, &(struct record_mark){ .durable = 6 });
		TEST_ASSERT_FALSE(examine(1, 7).was_synced);
		record_append_mark(&out, SALT, 9, &(struct record_mark){ .durable = 7 });
		TEST_ASSERT_TRUE(examine(1, 7).was_synced);
	}
}

static void a_record_can_vouch_for_everything_before_it(void)
{
	size_t second, len;

	format = RECORD_FORMAT_VERSION;
	append_record(SALT, 7);
	TEST_ASSERT_EQUAL_INT(RECORD_OK, decode(0, out.len));
	TEST_ASSERT_FALSE(record.after_sync);
	second = len = out.len;
	append_record(SALT, 8);
	TEST_ASSERT_FALSE(examine(1, 7).was_synced);
	/* Setting it twice changes nothing. */
	for (int i = 0; i < 2; i++) {
		record_set_after_sync(buf_data(&out) + second, SALT);
		TEST_ASSERT_EQUAL_size_t(2 * len, out.len);
		TEST_ASSERT_EQUAL_INT(RECORD_OK, decode(second, out.len - second));
		TEST_ASSERT_TRUE(record.after_sync);
		TEST_ASSERT_EQUAL_INT(RECORD_OPERATIONS, record.type);
		TEST_ASSERT_EQUAL_UINT64(8, record.sequence);
	}
	TEST_ASSERT_TRUE(examine(1, 7).was_synced);
}

/* The damaged bytes are a mark in front of a record with the same number. */
static void a_record_vouches_for_the_mark_before_it_since_version_4(void)
{
	size_t second;

	record_append_mark(&out, SALT, 7, &(struct record_mark){ .durable = 6 });
	second = out.len;
	append_record(SALT, 7);
	record_set_after_sync(buf_data(&out) + second, SALT);
	format = 4;
	TEST_ASSERT_TRUE(examine(1, 7).was_synced);
	format = 3;
	TEST_ASSERT_FALSE(examine(1, 7).was_synced);
}

static void a_record_with_a_lower_number_does_not_count(void)
{
	append_record(SALT, 7);
	append_record(SALT, 6);
	record_set_after_sync(buf_data(&out) + out.len / 2, SALT);
	TEST_ASSERT_FALSE(examine(1, 7).followed);
	TEST_ASSERT_FALSE(examine(1, 7).was_synced);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_record_comes_back_as_it_was);
	RUN(an_incomplete_record_says_how_many_bytes_it_needs);
	RUN(every_damaged_byte_is_noticed);
	RUN(a_record_of_another_log_is_invalid);
	RUN(an_unknown_type_is_not_damage);
	RUN(marks_and_numbers_are_decoded);
	RUN(a_mark_of_a_group_has_the_commit_index);
	RUN(the_head_of_a_groups_snapshot_is_decoded);
	RUN(types_of_a_group_are_decoded);
	RUN(the_highest_number_after_damage_is_that_of_an_entry);
	RUN(a_header_is_decoded_and_its_damage_is_noticed);
	RUN(intact_records_after_damage_are_found);
	RUN(a_mark_has_the_number_of_the_record_that_follows_it);
	RUN(a_mark_vouches_for_the_records_up_to_its_number);
	RUN(a_record_can_vouch_for_everything_before_it);
	RUN(a_record_vouches_for_the_mark_before_it_since_version_4);
	RUN(a_record_with_a_lower_number_does_not_count);
	return UNIT_RESULT();
}
