#include "util/glob.h"

#include <stdint.h>

#define WORD_BITS 64

/* Elements of a part that is compared at each position. A comparison of so few costs less than the
 * tables of the search. */
#define SHORT_ELEMENTS 32

#define BYTE_VALUES 256

/* The text, and how it is compared. */
struct text {
	struct qless_str s;
	bool ignore_case;
};

/* A part of a pattern: the elements up to the next star, or to the end. */
struct part {
	const char *begin;
	const char *end;
	size_t elements; /* each matches one byte */
};

static unsigned char fold(char c, bool ignore_case)
{
	return (unsigned char)(ignore_case && c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* Read the next byte or range of a class, whose end is not reached. */
static const char *read_range(const char *at, const char *end, bool ignore_case,
			      unsigned char *ret_low, unsigned char *ret_high)
{
	unsigned char low, high;

	if (*at == '\\' && end - at > 1)
		at++;
	low = high = fold(*at, ignore_case);
	if (end - at > 2 && at[1] == '-') {
		high = fold(at[2], ignore_case);
		at += 2;
	}
	*ret_low = low < high ? low : high;
	*ret_high = low < high ? high : low;
	return at + 1;
}

/*
 * Match one byte against the class that begins at `at`, after its `[`. *ret_next is set after the
 * class. A class without a `]` ends with the pattern.
 */
static bool match_class(const char *at, const char *end, unsigned char byte, bool ignore_case,
			const char **ret_next)
{
	bool negate = at < end && *at == '^';
	bool found = false;

	if (negate)
		at++;
	while (at < end && *at != ']') {
		unsigned char low, high;

		at = read_range(at, end, ignore_case, &low, &high);
		found |= byte >= low && byte <= high;
	}
	*ret_next = at < end ? at + 1 : at;
	return found != negate;
}

/* Match one byte, which is folded, against the element at `at`, which is not a star. */
static bool match_one(const char *at, const char *end, unsigned char byte, bool ignore_case,
		      const char **ret_next)
{
	switch (*at) {
	case '?':
		*ret_next = at + 1;
		return true;
	case '[':
		return match_class(at + 1, end, byte, ignore_case, ret_next);
	case '\\':
		if (end - at > 1)
			at++;
		break;
	default:
		break;
	}
	*ret_next = at + 1;
	return fold(*at, ignore_case) == byte;
}

static const char *skip_one(const char *at, const char *end)
{
	const char *next;

	match_one(at, end, 0, false, &next);
	return next;
}

static struct part part_at(const char *at, const char *end)
{
	struct part part = { .begin = at };

	while (at < end && *at != '*') {
		at = skip_one(at, end);
		part.elements++;
	}
	part.end = at;
	return part;
}

/* Whether the text has the part at `i`. The text is long enough. */
static bool has_part_at(const struct text *text, const struct part *part, size_t i)
{
	const char *at = part->begin;

	while (at < part->end) {
		if (!match_one(at, part->end, fold(text->s.ptr[i++], text->ignore_case),
			       text->ignore_case, &at))
			return false;
	}
	return true;
}

/* Bytes that a class matches, or does not match. */
struct byte_set {
	bool has[BYTE_VALUES];
	bool negate;
};

static void collect_class(const char *at, const char *end, bool ignore_case,
			  struct byte_set *ret_set)
{
	*ret_set = (struct byte_set){ .negate = at < end && *at == '^' };
	if (ret_set->negate)
		at++;
	while (at < end && *at != ']') {
		unsigned char low, high;

		at = read_range(at, end, ignore_case, &low, &high);
		memset(ret_set->has + low, true, (size_t)(high - low) + 1);
	}
}

/* Bit i of `masks` of a byte says whether element i of the part matches the byte, after folding. */
static void make_masks(const struct text *text, const struct part *part, size_t words,
		       uint64_t *masks)
{
	struct byte_set set;
	const char *at = part->begin;

	memset(masks, 0, BYTE_VALUES * words * sizeof *masks);
	for (size_t i = 0; at < part->end; i++) {
		const char *next = skip_one(at, part->end);
		uint64_t bit = UINT64_C(1) << (i % WORD_BITS);
		uint64_t *column = masks + i / WORD_BITS;

		if (*at != '[' && *at != '?') {
			column[fold(next[-1], text->ignore_case) * words] |= bit;
			at = next;
			continue;
		}
		if (*at == '[')
			collect_class(at + 1, next, text->ignore_case, &set);
		else
			set = (struct byte_set){ .negate = true };
		for (size_t byte = 0; byte < BYTE_VALUES; byte++)
			column[byte * words] |= set.has[byte] != set.negate ? bit : 0;
		at = next;
	}
}

/* Search for a long part: bit i of the state says that the elements up to i match the bytes that
 * end at the current one. */
static bool search_long(const struct text *text, const struct part *part, size_t from,
			size_t *ret_end)
{
	uint64_t masks[BYTE_VALUES * (GLOB_MAX_BYTES / WORD_BITS)];
	uint64_t state[GLOB_MAX_BYTES / WORD_BITS] = { 0 };
	size_t words = (part->elements + WORD_BITS - 1) / WORD_BITS;
	size_t last = part->elements - 1;

	make_masks(text, part, words, masks);
	for (size_t i = from; i < text->s.len; i++) {
		const uint64_t *mask = masks + fold(text->s.ptr[i], text->ignore_case) * words;
		uint64_t carry = 1;

		for (size_t w = 0; w < words; w++) {
			uint64_t shifted = state[w] << 1 | carry;

			carry = state[w] >> (WORD_BITS - 1);
			state[w] = shifted & mask[w];
		}
		if (state[last / WORD_BITS] >> (last % WORD_BITS) & 1) {
			*ret_end = i + 1;
			return true;
		}
	}
	return false;
}

/* Find the first place at or after `from` where the text has the part. */
static bool search(const struct text *text, const struct part *part, size_t from, size_t *ret_end)
{
	if (text->s.len - from < part->elements)
		return false;
	if (part->elements > SHORT_ELEMENTS)
		return search_long(text, part, from, ret_end);
	for (size_t i = from; i <= text->s.len - part->elements; i++) {
		if (has_part_at(text, part, i)) {
			*ret_end = i + part->elements;
			return true;
		}
	}
	return false;
}

/*
 * The first part is at the beginning of the text, and the last one at its end. Each part between
 * two stars is matched as early as possible, which leaves most of the text to the parts after it.
 */
bool glob_match(struct qless_str pattern, struct qless_str s, bool ignore_case)
{
	const struct text text = { s, ignore_case };
	const char *end;
	struct part part;
	size_t i;

	if (pattern.len > GLOB_MAX_BYTES)
		return false;
	if (pattern.len == 0)
		return s.len == 0;
	end = pattern.ptr + pattern.len;
	part = part_at(pattern.ptr, end);
	if (part.elements > s.len || (part.end == end && part.elements < s.len) ||
	    !has_part_at(&text, &part, 0))
		return false;
	i = part.elements;
	while (part.end < end) {
		part = part_at(part.end + 1, end);
		if (part.end == end)
			return s.len - i >= part.elements &&
			       has_part_at(&text, &part, s.len - part.elements);
		if (part.elements != 0 && !search(&text, &part, i, &i))
			return false;
	}
	return true;
}

struct qless_str glob_prefix(struct qless_str pattern)
{
	size_t len = 0;

	while (len < pattern.len && memchr("*?[\\", pattern.ptr[len], 4) == NULL)
		len++;
	return str_make(pattern.ptr, len);
}
