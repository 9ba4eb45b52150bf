/*
 * The index of a group's log, the terms in it, the entries in memory, and the vote as bytes.
 */
#include <errno.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "unit.h"

#include "journal/entry_cache.h"
#include "journal/log_index.h"
#include "journal/manifest.h"
#include "journal/vote.h"

static struct log_index ix;
static struct terms terms;
static struct entry_cache cache;

void setUp(void)
{
	log_index_init(&ix);
}

void tearDown(void)
{
	log_index_done(&ix);
	terms_done(&terms);
	entry_cache_done(&cache);
}

/* ---- terms ---- */

static void terms_are_found_in_runs(void)
{
	for (uint64_t index = 10; index < 100; index++)
		terms_add(&terms, index, index / 10);
	TEST_ASSERT_EQUAL_size_t(9, terms.count);
	for (uint64_t index = 10; index < 100; index++)
		TEST_ASSERT_EQUAL_UINT64(index / 10, terms_at(&terms, index));
	TEST_ASSERT_EQUAL_UINT64(0, terms_at(&terms, 9));
	terms_cut(&terms, 55);
	TEST_ASSERT_EQUAL_UINT64(5, terms_at(&terms, 54));
	/* A lower term may replace a higher one. */
	terms_add(&terms, 55, 2);
	TEST_ASSERT_EQUAL_UINT64(5, terms_at(&terms, 54));
	TEST_ASSERT_EQUAL_UINT64(2, terms_at(&terms, 55));
	terms_forget(&terms, 35);
	TEST_ASSERT_EQUAL_UINT64(0, terms_at(&terms, 34));
	TEST_ASSERT_EQUAL_UINT64(3, terms_at(&terms, 35));
	TEST_ASSERT_EQUAL_UINT64(4, terms_at(&terms, 40));
	terms_cut(&terms, 0);
	TEST_ASSERT_EQUAL_size_t(0, terms.count);
	TEST_ASSERT_EQUAL_UINT64(0, terms_at(&terms, 40));
}

/* ---- the index ---- */

static void add(uint64_t count, uint64_t term, enum record_type type)
{
	while (count-- > 0)
		log_index_add(&ix, term, type, STR("payload"));
}

/* Three segments: entries 1 to 10, 11 to 20 of which 16 to 20 are replaced, and 16 to 30. */
static void fill(void)
{
	log_index_begin_segment(&ix, 4, 111, 1);
	add(9, 1, RECORD_OPERATIONS);
	add(1, 1, RECORD_MEMBERS);
	log_index_note_written(&ix, 10, RECORD_FILE_HEADER_BYTES);
	log_index_end_segment(&ix, 1000);
	log_index_begin_segment(&ix, 5, 111, 11);
	add(7, 2, RECORD_OPERATIONS);
	add(3, 2, RECORD_MEMBERS);
	log_index_note_written(&ix, 20, RECORD_FILE_HEADER_BYTES);
	log_index_end_segment(&ix, 500);
	log_index_cut(&ix, 16);
	log_index_begin_segment(&ix, 6, 222, 16);
	add(15, 3, RECORD_BARRIER);
	log_index_note_written(&ix, 30, RECORD_FILE_HEADER_BYTES);
}

static uint64_t segment_of(uint64_t index)
{
	const struct log_segment *segment;
	const struct log_place *place = log_index_find(&ix, index, &segment);

	TEST_ASSERT_TRUE(place->index <= index && index < segment->end);
	TEST_ASSERT_EQUAL_UINT64(segment->number, place->segment);
	return segment->number;
}

static void entries_are_in_the_last_segment_that_has_them(void)
{
	uint64_t term;
	enum record_type type;

	fill();
	TEST_ASSERT_EQUAL_UINT64(1, log_index_first(&ix));
	TEST_ASSERT_EQUAL_UINT64(30, ix.last);
	for (uint64_t index = 1; index <= 30; index++) {
		TEST_ASSERT_EQUAL_UINT64(index <= 10 ? 4 : index <= 15 ? 5 : 6, segment_of(index));
		TEST_ASSERT_TRUE(log_index_get(&ix, index, &term, &type));
		TEST_ASSERT_EQUAL_UINT64(index <= 10 ? 1 : index <= 15 ? 2 : 3, term);
		TEST_ASSERT_EQUAL_INT(index == 10   ? RECORD_MEMBERS
				      : index <= 15 ? RECORD_OPERATIONS
						    : RECORD_BARRIER,
				      type);
	}
	TEST_ASSERT_FALSE(log_index_get(&ix, 31, &term, &type));
	TEST_ASSERT_FALSE(log_index_get(&ix, 0, &term, &type));
}

static void a_segment_is_needed_while_it_has_entries_after_the_snapshot(void)
{
	uint64_t bytes;

	fill();
	TEST_ASSERT_EQUAL_UINT64(4, log_index_first_needed(&ix, 9, &bytes));
	TEST_ASSERT_EQUAL_UINT64(0, bytes);
	TEST_ASSERT_EQUAL_UINT64(5, log_index_first_needed(&ix, 10, &bytes));
	TEST_ASSERT_EQUAL_UINT64(1000, bytes);
	TEST_ASSERT_EQUAL_UINT64(5, log_index_first_needed(&ix, 14, &bytes));
	TEST_ASSERT_EQUAL_UINT64(6, log_index_first_needed(&ix, 15, &bytes));
	TEST_ASSERT_EQUAL_UINT64(1500, bytes);
	/* The current one stays. */
	TEST_ASSERT_EQUAL_UINT64(6, log_index_first_needed(&ix, 30, &bytes));
	TEST_ASSERT_EQUAL_UINT64(1500, bytes);
}

static void forgotten_segments_take_their_entries_along(void)
{
	uint64_t term;
	enum record_type type;

	fill();
	log_index_forget_segments(&ix, 5);
	TEST_ASSERT_EQUAL_UINT64(11, log_index_first(&ix));
	TEST_ASSERT_FALSE(log_index_get(&ix, 10, &term, &type));
	for (uint64_t index = 11; index <= 30; index++)
		TEST_ASSERT_EQUAL_UINT64(index <= 15 ? 5 : 6, segment_of(index));
	TEST_ASSERT_EQUAL_size_t(15, ix.special_count);
	log_index_forget_segments(&ix, 100);
	TEST_ASSERT_EQUAL_UINT64(16, log_index_first(&ix));
	TEST_ASSERT_TRUE(log_index_get(&ix, 16, &term, &type));
	TEST_ASSERT_EQUAL_UINT64(3, term);
}

/* Members of a tail that was replaced do not count. */
static void a_snapshot_has_the_last_members_up_to_its_entry(void)
{
	struct record_group base = { 1, 3, STR("before") }, group;

	TEST_ASSERT_FALSE(log_index_describe(&ix, 0, &group));
	log_index_set_base(&ix, 3, &base);
	log_index_begin_segment(&ix, 4, 1, 4);
	add(2, 1, RECORD_OPERATIONS);
	log_index_add(&ix, 2, RECORD_MEMBERS, STR("six"));
	log_index_add(&ix, 2, RECORD_MEMBERS, STR("seven"));
	add(3, 2, RECORD_OPERATIONS);
	TEST_ASSERT_TRUE(log_index_describe(&ix, 3, &group));
	TEST_ASSERT_EQUAL_UINT64(3, group.members_index);
	ASSERT_STR("before", group.members);
	TEST_ASSERT_TRUE(log_index_describe(&ix, 5, &group));
	TEST_ASSERT_EQUAL_UINT64(1, group.term);
	ASSERT_STR("before", group.members);
	TEST_ASSERT_TRUE(log_index_describe(&ix, 6, &group));
	TEST_ASSERT_EQUAL_UINT64(2, group.term);
	ASSERT_STR("six", group.members);
	TEST_ASSERT_TRUE(log_index_describe(&ix, 10, &group));
	TEST_ASSERT_EQUAL_UINT64(7, group.members_index);
	ASSERT_STR("seven", group.members);
	TEST_ASSERT_FALSE(log_index_describe(&ix, 11, &group));
	log_index_cut(&ix, 7);
	add(4, 3, RECORD_OPERATIONS);
	TEST_ASSERT_TRUE(log_index_describe(&ix, 10, &group));
	ASSERT_STR("six", group.members);
	/* It may be made the base, although it points into the index. */
	log_index_set_base(&ix, 10, &group);
	TEST_ASSERT_TRUE(log_index_describe(&ix, 10, &group));
	ASSERT_STR("six", group.members);
	log_index_set_base(&ix, 10, &group);
	ASSERT_STR("six", buf_str(&ix.base.members));
}

static void a_long_segment_has_several_places(void)
{
	const uint64_t step = 100 * 1024;
	const struct log_segment *segment;

	log_index_begin_segment(&ix, 4, 1, 1);
	for (uint64_t i = 0; i < 50; i++) {
		add(10, 1, RECORD_OPERATIONS);
		log_index_note_written(&ix, ix.last, RECORD_FILE_HEADER_BYTES + i * step);
	}
	TEST_ASSERT_TRUE(ix.place_count > 15);
	for (uint64_t index = 1; index <= 500; index++) {
		const struct log_place *place = log_index_find(&ix, index, &segment);
		uint64_t offset = RECORD_FILE_HEADER_BYTES + (index - 1) / 10 * step;

		TEST_ASSERT_TRUE(place->index <= index && place->offset <= offset);
		TEST_ASSERT_TRUE(offset - place->offset < 400 * 1024);
	}
}

/* ---- entries in memory ---- */

static void entries_in_memory_are_dropped_at_both_ends(void)
{
	for (uint64_t index = 5; index < 1000; index++) {
		entry_cache_add(&cache, index, RECORD_OPERATIONS, STR("ten bytes!"));
		entry_cache_shrink(&cache, index - 1, 100);
		TEST_ASSERT_TRUE(cache.bytes <= 110);
		TEST_ASSERT_NOT_NULL(entry_cache_get(&cache, index));
		TEST_ASSERT_NULL(entry_cache_get(&cache, index + 1));
		if (index > 20)
			TEST_ASSERT_NULL(entry_cache_get(&cache, index - 12));
	}
	TEST_ASSERT_TRUE(cache.cap < 100);
	entry_cache_cut(&cache, 995);
	TEST_ASSERT_NULL(entry_cache_get(&cache, 995));
	TEST_ASSERT_EQUAL_MEMORY("ten bytes!", entry_cache_get(&cache, 994)->bytes, 10);
	entry_cache_add(&cache, 995, RECORD_BARRIER, STR(""));
	TEST_ASSERT_EQUAL_INT(RECORD_BARRIER, entry_cache_get(&cache, 995)->type);
	/* Entries that are not written stay, however large. */
	entry_cache_shrink(&cache, 990, 0);
	TEST_ASSERT_NOT_NULL(entry_cache_get(&cache, 991));
	TEST_ASSERT_NULL(entry_cache_get(&cache, 990));
	entry_cache_cut(&cache, 3);
	TEST_ASSERT_EQUAL_size_t(0, cache.bytes);
	entry_cache_add(&cache, 3, RECORD_OPERATIONS, STR("x"));
	TEST_ASSERT_NOT_NULL(entry_cache_get(&cache, 3));
}

/* ---- the vote as bytes ---- */

static void a_vote_is_decoded_and_its_damage_is_noticed(void)
{
	struct vote vote = { { "0123456789abcdef", 7 }, { 300, 9 }, 41 }, read;
	unsigned char bytes[VOTE_BYTES];

	vote_encode(&vote, bytes);
	TEST_ASSERT_TRUE(vote_decode(bytes, sizeof bytes, &read));
	TEST_ASSERT_EQUAL_MEMORY(vote.identity.group, read.identity.group, JOURNAL_GROUP_ID_BYTES);
	TEST_ASSERT_EQUAL_UINT64(7, read.identity.node);
	TEST_ASSERT_EQUAL_UINT64(300, read.content.term);
	TEST_ASSERT_EQUAL_UINT64(9, read.content.node);
	TEST_ASSERT_EQUAL_UINT64(41, read.counter);
	TEST_ASSERT_FALSE(vote_decode(bytes, sizeof bytes - 1, &read));
	for (size_t i = 0; i < 8 * sizeof bytes; i++) {
		bytes[i / 8] ^= (unsigned char)(1 << i % 8);
		TEST_ASSERT_FALSE(vote_decode(bytes, sizeof bytes, &read));
		bytes[i / 8] ^= (unsigned char)(1 << i % 8);
	}
}

/* ---- the manifest of a group ---- */

static void a_manifest_names_its_group(void)
{
	struct buf text = BUF_INIT(BUF_NO_MAX), error = BUF_INIT(1000);
	struct manifest m = { .has_group = true,
			      .group = { 0x01, 0xab, 0xff, 0, 0x7f },
			      .base = 3,
			      .base_sequence = 9 },
			read, copy;

	manifest_add_log(&m, 5);
	manifest_format(&m, &text);
	TEST_ASSERT_NOT_NULL(
		strstr(buf_cstr(&text), "\ngroup 01abff007f0000000000000000000000\nbase base-"));
	TEST_ASSERT_EQUAL_INT(0, manifest_parse(&read, buf_str(&text), &error));
	manifest_copy(&copy, &read);
	TEST_ASSERT_TRUE(copy.has_group);
	TEST_ASSERT_EQUAL_MEMORY(m.group, copy.group, sizeof m.group);
	TEST_ASSERT_EQUAL_UINT64(9, copy.base_sequence);
	manifest_done(&read);
	manifest_done(&copy);
	m.has_group = false;
	buf_clear(&text);
	manifest_format(&m, &text);
	TEST_ASSERT_NULL(strstr(buf_cstr(&text), "group"));
	manifest_done(&m);
	buf_done(&text);
	buf_done(&error);
}

/* Returns the result of reading these lines with a correct checksum. */
static int parse_lines(const char *lines)
{
	struct buf text = BUF_INIT(BUF_NO_MAX), error = BUF_INIT(1000);
	struct manifest m;
	int rc;

	buf_printf(&text, "qlessd-manifest 1\n%s", lines);
	buf_printf(&text, "checksum %016llx\n",
		   (unsigned long long)XXH3_64bits(buf_data(&text), text.len));
	rc = manifest_parse(&m, buf_str(&text), &error);
	manifest_done(&m);
	buf_done(&text);
	buf_done(&error);
	return rc;
}

#define GROUP_LINE "group 0123456789abcdef0123456789abcdef\n"

static void the_line_of_the_group_is_the_second_one_and_has_32_digits(void)
{
	TEST_ASSERT_EQUAL_INT(0, parse_lines(GROUP_LINE "log log-00000001\n"));
	TEST_ASSERT_EQUAL_INT(0, parse_lines("log log-00000001\n"));
	TEST_ASSERT_EQUAL_INT(-EBADMSG, parse_lines("log log-00000001\n" GROUP_LINE));
	TEST_ASSERT_EQUAL_INT(
		-EBADMSG, parse_lines("base base-00000001 3\n" GROUP_LINE "log log-00000002\n"));
	TEST_ASSERT_EQUAL_INT(-EBADMSG, parse_lines(GROUP_LINE GROUP_LINE "log log-00000001\n"));
	TEST_ASSERT_EQUAL_INT(-EBADMSG, parse_lines("group 0123\nlog log-00000001\n"));
	TEST_ASSERT_EQUAL_INT(-EBADMSG, parse_lines("group g123456789abcdef0123456789abcdef\n"
						    "log log-00000001\n"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(terms_are_found_in_runs);
	RUN(entries_are_in_the_last_segment_that_has_them);
	RUN(a_segment_is_needed_while_it_has_entries_after_the_snapshot);
	RUN(forgotten_segments_take_their_entries_along);
	RUN(a_snapshot_has_the_last_members_up_to_its_entry);
	RUN(a_long_segment_has_several_places);
	RUN(entries_in_memory_are_dropped_at_both_ends);
	RUN(a_vote_is_decoded_and_its_damage_is_noticed);
	RUN(a_manifest_names_its_group);
	RUN(the_line_of_the_group_is_the_second_one_and_has_32_digits);
	return UNIT_RESULT();
}
