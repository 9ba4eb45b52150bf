/*
 * A file has a header and a block of data in the format of version 1, then a header and a block
 * with times of 64 bits, then a newline, the rule and a newline. A header is
 *
 *	4 bytes	"TZif"
 *	1 byte	version: NUL, '2' or later
 *	15	unused
 *	6 times 4 bytes: the numbers of UT indicators, standard indicators, leap seconds, changes,
 *		types of local time, and bytes of names
 *
 * and a block is
 *
 *	time	of each change
 *	1 byte	for each change: its type
 *	6 bytes	for each type: 4 of the offset, a flag, the index of a name
 *	.	names
 *	.	leap seconds: a time and 4 bytes each
 *	1 byte	for each standard indicator, and for each UT indicator
 *
 * Numbers are signed, with the high byte first.
 */
#include "calendar/tzif.h"

#include "calendar/zone.h"

#define HEADER_BYTES 44
#define COUNTS_AT    20
#define TYPE_BYTES   6

/* Entries of one kind in a file. Files have a few hundred. */
#define COUNT_MAX 100000

enum {
	UT_INDICATORS,
	STANDARD_INDICATORS,
	LEAP_SECONDS,
	CHANGES,
	TYPES,
	NAME_BYTES,
	COUNTS,
};

struct block {
	size_t counts[COUNTS];
	size_t time_bytes;
	const unsigned char *data;
};

static int64_t read_signed(const unsigned char *from, size_t bytes)
{
	uint64_t value = from[0] >= 0x80 ? UINT64_MAX : 0;

	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | from[i];
	return (int64_t)value;
}

/* Take the header and the block. Returns false if the file is not long enough for them. */
static bool take_block(struct qless_str *file, size_t time_bytes, struct block *ret_block)
{
	const unsigned char *header = (const unsigned char *)file->ptr;
	const size_t *counts = ret_block->counts;
	size_t bytes;

	if (file->len < HEADER_BYTES || memcmp(header, "TZif", 4) != 0)
		return false;
	for (size_t i = 0; i < COUNTS; i++) {
		int64_t count = read_signed(header + COUNTS_AT + 4 * i, 4);

		if (count < 0 || count > COUNT_MAX)
			return false;
		ret_block->counts[i] = (size_t)count;
	}
	ret_block->time_bytes = time_bytes;
	ret_block->data = header + HEADER_BYTES;
	bytes = HEADER_BYTES + counts[CHANGES] * (time_bytes + 1) + counts[TYPES] * TYPE_BYTES +
		counts[NAME_BYTES] + counts[LEAP_SECONDS] * (time_bytes + 4) +
		counts[STANDARD_INDICATORS] + counts[UT_INDICATORS];
	if (file->len < bytes)
		return false;
	*file = str_make(file->ptr + bytes, file->len - bytes);
	return true;
}

/* Whether the rule has this offset at all times of a part of the future. */
static bool has_offset(const struct zone *zone, int64_t from, int64_t until, int64_t offset)
{
	struct zone_span span;

	for (; from < until; from = span.until) {
		span = zone_span_at(zone, from);
		if (span.offset != offset)
			return false;
	}
	return true;
}

/* Check that the rule says the same as the list, from `now` to the last change in the list. */
static bool follows_rule(const struct block *block, const struct zone *zone, int64_t now)
{
	const unsigned char *types = block->data + block->counts[CHANGES] * block->time_bytes;
	const unsigned char *offsets = types + block->counts[CHANGES];
	size_t type = 0; /* that of the time before the first change */

	for (size_t i = 0; i < block->counts[CHANGES]; i++) {
		int64_t at = read_signed(block->data + i * block->time_bytes, block->time_bytes);

		if (type >= block->counts[TYPES])
			return false;
		if (at > ZONE_INSTANT_MAX)
			break;
		if (at > now) {
			if (!has_offset(zone, now, at, read_signed(offsets + type * TYPE_BYTES, 4)))
				return false;
			now = at;
		}
		type = types[i];
	}
	/* From the last change on, the rule alone counts. */
	return type < block->counts[TYPES];
}

bool tzif_find_rule(struct qless_str file, int64_t now, struct qless_str *ret_rule,
		    struct buf *ret_error)
{
	const char *wrong = NULL;
	struct qless_str rule;
	struct block block;
	struct zone zone;

	if (now < ZONE_INSTANT_MIN)
		now = ZONE_INSTANT_MIN;
	if (file.len < HEADER_BYTES || memcmp(file.ptr, "TZif", 4) != 0)
		wrong = "it is not a zone file";
	else if (file.ptr[4] < '2')
		wrong = "it is a zone file of version 1, which has no rule";
	else if (!take_block(&file, 4, &block) || !take_block(&file, 8, &block) || file.len < 2 ||
		 file.ptr[0] != '\n' || file.ptr[file.len - 1] != '\n')
		wrong = "it is damaged";
	if (wrong != NULL) {
		buf_append_str(ret_error, str_from(wrong));
		return false;
	}
	rule = str_make(file.ptr + 1, file.len - 2);
	if (rule.len == 0) {
		buf_append_str(ret_error, STR("its zone has no rule for the future"));
		return false;
	}
	if (!zone_parse(rule, &zone, ret_error))
		return false;
	if (!follows_rule(&block, &zone, now)) {
		buf_append_str(ret_error, STR("it has changes of the clocks in the future that no "
					      "rule describes"));
		return false;
	}
	*ret_rule = rule;
	return true;
}
