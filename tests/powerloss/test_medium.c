/*
 * The medium keeps what a disk keeps, and loses everything that a disk may lose.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dirs.h"
#include "medium.h"
#include "tempdir.h"
#include "unit.h"
#include "util/mem.h"

/* Images of each case: enough for every combination of a few sectors. */
#define IMAGES 400
#define SECTOR 512
/* Bytes of the description of a file. */
#define TEXT_BYTES 16

static struct medium *m;
static struct tempdir dir;
static uint64_t at; /* of the last event */

void setUp(void)
{
	tempdir_init(&dir);
	m = medium_new();
	at = 4096;
}

void tearDown(void)
{
	medium_free(m);
	tempdir_done(&dir);
}

/* ---- events ---- */

static uint64_t happen_with(struct trace_event event, const void *data, size_t len)
{
	struct trace_event *whole = mem_zalloc(sizeof event + len);
	struct buf error = BUF_INIT(1000);

	event.data_bytes = (uint32_t)len;
	memcpy(whole, &event, sizeof event);
	memcpy(whole + 1, data, len);
	at += 8;
	TEST_ASSERT_TRUE_MESSAGE(medium_apply(m, whole, at, &error), buf_cstr(&error));
	buf_done(&error);
	free(whole);
	return at;
}

static uint64_t happen(struct trace_event event, const char *text)
{
	return happen_with(event, text, strlen(text));
}

static void create(uint32_t handle, const char *name)
{
	happen((struct trace_event){ .kind = TRACE_OPEN, .handle = handle, .value = O_CREAT },
	       name);
}

/* Fill sectors with a letter. */
static void fill(uint32_t handle, size_t first, size_t count, char letter)
{
	char bytes[8 * SECTOR];

	memset(bytes, letter, sizeof bytes);
	happen_with((struct trace_event){ .kind = TRACE_WRITE,
					  .handle = handle,
					  .offset = first * SECTOR,
					  .value = count * SECTOR },
		    bytes, count * SECTOR);
}

static uint64_t begin_sync(uint32_t handle)
{
	return happen((struct trace_event){ .kind = TRACE_SYNC_BEGIN, .handle = handle }, "");
}

static void end_sync(uint32_t handle, uint64_t began, bool failed)
{
	happen((struct trace_event){ .kind = TRACE_SYNC_END,
				     .handle = handle,
				     .offset = began,
				     .value = failed },
	       "");
}

static void sync_now(uint32_t handle)
{
	end_sync(handle, begin_sync(handle), false);
}

/* ---- images ---- */

/* Different contents of a file in the images: the first letter of each sector, '.' for zeros. */
struct seen {
	char texts[64][40];
	size_t count;
};

static bool has_seen(const struct seen *seen, const char *text)
{
	for (size_t i = 0; i < seen->count; i++) {
		if (strcmp(seen->texts[i], text) == 0)
			return true;
	}
	return false;
}

static void note(struct seen *seen, const char *text)
{
	if (has_seen(seen, text))
		return;
	TEST_ASSERT_TRUE(seen->count < 64);
	snprintf(seen->texts[seen->count++], sizeof seen->texts[0], "%s", text);
}

static void describe(const char *name, char ret_text[TEXT_BYTES])
{
	struct buf content = BUF_INIT(BUF_NO_MAX);
	char path[4096];
	size_t count = 0;

	snprintf(path, sizeof path, "%s/%s", dir.path, name);
	if (dirs_read_file(path, &content) < 0) {
		snprintf(ret_text, TEXT_BYTES, "none");
	} else {
		for (size_t i = 0; i < content.len; i += SECTOR)
			ret_text[count++] =
				buf_data(&content)[i] != 0 ? buf_data(&content)[i] : '.';
		ret_text[count] = '\0';
	}
	buf_done(&content);
}

static void build(uint64_t seed, bool old_blocks)
{
	struct medium_choice choice = { .seed = seed, .old_blocks = old_blocks };

	TEST_ASSERT_EQUAL_INT(0, dirs_empty(dir.path));
	TEST_ASSERT_EQUAL_INT(0, medium_write_image(m, &choice, dir.path));
}

static struct seen look(const char *name, bool old_blocks)
{
	struct seen seen = { 0 };
	char text[TEXT_BYTES];

	for (uint64_t seed = 0; seed < IMAGES; seed++) {
		build(seed, old_blocks);
		describe(name, text);
		note(&seen, text);
	}
	return seen;
}

/* A file of three sectors with the letter a, which is safe. */
static void make_safe_file(void)
{
	create(2, "f");
	fill(2, 0, 3, 'a');
	sync_now(2);
	sync_now(TRACE_DIRECTORY);
}

/* ---- sectors ---- */

static void a_synced_file_is_in_every_image(void)
{
	struct seen seen;

	make_safe_file();
	seen = look("f", false);
	TEST_ASSERT_EQUAL_size_t(1, seen.count);
	TEST_ASSERT_TRUE(has_seen(&seen, "aaa"));
}

static void each_sector_reaches_the_disk_or_not(void)
{
	struct seen seen;

	make_safe_file();
	fill(2, 0, 3, 'b');
	seen = look("f", false);
	TEST_ASSERT_EQUAL_size_t(8, seen.count);
	TEST_ASSERT_TRUE(has_seen(&seen, "bab"));
	TEST_ASSERT_TRUE(has_seen(&seen, "aba"));
}

static void a_sector_may_have_a_content_between_the_first_and_the_last(void)
{
	struct seen seen;

	make_safe_file();
	fill(2, 0, 1, 'b');
	fill(2, 0, 1, 'c');
	seen = look("f", false);
	TEST_ASSERT_EQUAL_size_t(3, seen.count);
	TEST_ASSERT_TRUE(has_seen(&seen, "baa"));
}

static void a_sync_covers_only_what_was_written_before_it_began(void)
{
	struct seen seen;
	uint64_t began;

	make_safe_file();
	fill(2, 0, 1, 'b');
	began = begin_sync(2);
	fill(2, 1, 1, 'c');
	end_sync(2, began, false);
	seen = look("f", false);
	TEST_ASSERT_EQUAL_size_t(2, seen.count);
	TEST_ASSERT_TRUE(has_seen(&seen, "baa"));
	TEST_ASSERT_TRUE(has_seen(&seen, "bca"));
}

static void a_sync_that_has_not_ended_covers_nothing(void)
{
	struct seen seen;

	make_safe_file();
	fill(2, 0, 1, 'b');
	begin_sync(2);
	seen = look("f", false);
	TEST_ASSERT_TRUE(has_seen(&seen, "aaa"));
}

/* ---- failed syncs ---- */

static void the_sync_after_a_failed_one_does_not_write_what_that_one_lost(void)
{
	struct seen seen;

	make_safe_file();
	fill(2, 0, 1, 'b');
	end_sync(2, begin_sync(2), true);
	fill(2, 1, 1, 'c');
	sync_now(2);
	seen = look("f", false);
	TEST_ASSERT_EQUAL_size_t(2, seen.count);
	TEST_ASSERT_TRUE(has_seen(&seen, "aca"));
	TEST_ASSERT_TRUE(has_seen(&seen, "bca"));
}

static void a_sector_that_is_written_again_after_a_failed_sync_is_synced_again(void)
{
	struct seen seen;

	make_safe_file();
	fill(2, 0, 1, 'b');
	end_sync(2, begin_sync(2), true);
	fill(2, 0, 1, 'b');
	sync_now(2);
	seen = look("f", false);
	TEST_ASSERT_EQUAL_size_t(1, seen.count);
	TEST_ASSERT_TRUE(has_seen(&seen, "baa"));
}

/* ---- sizes ---- */

static void the_size_and_the_sectors_reach_the_disk_in_any_order(void)
{
	struct seen seen;

	make_safe_file();
	fill(2, 3, 1, 'b');
	seen = look("f", false);
	TEST_ASSERT_EQUAL_size_t(3, seen.count);
	TEST_ASSERT_TRUE(has_seen(&seen, "aaa"));
	TEST_ASSERT_TRUE(has_seen(&seen, "aaa."));
	TEST_ASSERT_TRUE(has_seen(&seen, "aaab"));
}

static void a_cut_is_safe_after_a_sync(void)
{
	struct seen before, after;

	make_safe_file();
	happen((struct trace_event){ .kind = TRACE_TRUNCATE, .handle = 2, .value = SECTOR }, "");
	before = look("f", false);
	sync_now(2);
	after = look("f", false);
	TEST_ASSERT_TRUE(has_seen(&before, "aaa"));
	TEST_ASSERT_TRUE(has_seen(&before, "a"));
	TEST_ASSERT_EQUAL_size_t(1, after.count);
	TEST_ASSERT_TRUE(has_seen(&after, "a"));
}

static void unwritten_sectors_have_old_blocks_only_if_asked_for(void)
{
	struct seen with, without;

	make_safe_file();
	happen((struct trace_event){ .kind = TRACE_UNLINK }, "f");
	sync_now(TRACE_DIRECTORY);
	create(3, "g");
	sync_now(TRACE_DIRECTORY);
	fill(3, 0, 1, 'b');
	with = look("g", true);
	without = look("g", false);
	TEST_ASSERT_TRUE(has_seen(&with, "a"));
	TEST_ASSERT_FALSE(has_seen(&without, "a"));
}

/* ---- names ---- */

static void a_synced_file_has_no_name_until_the_directory_is_synced(void)
{
	struct seen before, after;

	create(2, "f");
	fill(2, 0, 1, 'a');
	sync_now(2);
	before = look("f", false);
	sync_now(TRACE_DIRECTORY);
	after = look("f", false);
	TEST_ASSERT_TRUE(has_seen(&before, "none"));
	TEST_ASSERT_EQUAL_size_t(1, after.count);
	TEST_ASSERT_TRUE(has_seen(&after, "a"));
}

static void a_rename_happens_as_a_whole(void)
{
	struct seen together = { 0 };
	char text[40], old_name[TEXT_BYTES], new_name[TEXT_BYTES];

	make_safe_file();
	create(3, "new");
	fill(3, 0, 1, 'b');
	sync_now(3);
	sync_now(TRACE_DIRECTORY);
	happen((struct trace_event){ .kind = TRACE_RENAME }, "new/f");
	for (uint64_t seed = 0; seed < IMAGES; seed++) {
		build(seed, false);
		describe("f", old_name);
		describe("new", new_name);
		snprintf(text, sizeof text, "%s %s", old_name, new_name);
		note(&together, text);
	}
	TEST_ASSERT_EQUAL_size_t(2, together.count);
	TEST_ASSERT_TRUE(has_seen(&together, "aaa b"));
	TEST_ASSERT_TRUE(has_seen(&together, "b none"));
}

static void names_change_in_any_order(void)
{
	struct seen f, g;

	make_safe_file();
	create(3, "g");
	fill(3, 0, 1, 'b');
	sync_now(3);
	happen((struct trace_event){ .kind = TRACE_UNLINK }, "f");
	f = look("f", false);
	g = look("g", false);
	TEST_ASSERT_TRUE(has_seen(&f, "none"));
	TEST_ASSERT_TRUE(has_seen(&f, "aaa"));
	TEST_ASSERT_TRUE(has_seen(&g, "none"));
	TEST_ASSERT_TRUE(has_seen(&g, "b"));
}

/* ---- replay ---- */

static void the_same_choice_builds_the_same_image(void)
{
	char first[TEXT_BYTES], second[TEXT_BYTES];

	make_safe_file();
	fill(2, 0, 3, 'b');
	for (uint64_t seed = 0; seed < 20; seed++) {
		build(seed, false);
		describe("f", first);
		build(seed, false);
		describe("f", second);
		TEST_ASSERT_EQUAL_STRING(first, second);
	}
}

static void a_call_that_the_model_does_not_know_is_refused(void)
{
	static const struct trace_event event = { .kind = TRACE_UNKNOWN };
	struct buf error = BUF_INIT(1000);

	TEST_ASSERT_FALSE(medium_apply(m, &event, 8, &error));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&error), "does not know"));
	buf_done(&error);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_synced_file_is_in_every_image);
	RUN(each_sector_reaches_the_disk_or_not);
	RUN(a_sector_may_have_a_content_between_the_first_and_the_last);
	RUN(a_sync_covers_only_what_was_written_before_it_began);
	RUN(a_sync_that_has_not_ended_covers_nothing);
	RUN(the_sync_after_a_failed_one_does_not_write_what_that_one_lost);
	RUN(a_sector_that_is_written_again_after_a_failed_sync_is_synced_again);
	RUN(the_size_and_the_sectors_reach_the_disk_in_any_order);
	RUN(a_cut_is_safe_after_a_sync);
	RUN(unwritten_sectors_have_old_blocks_only_if_asked_for);
	RUN(a_synced_file_has_no_name_until_the_directory_is_synced);
	RUN(a_rename_happens_as_a_whole);
	RUN(names_change_in_any_order);
	RUN(the_same_choice_builds_the_same_image);
	RUN(a_call_that_the_model_does_not_know_is_refused);
	return UNIT_RESULT();
}
