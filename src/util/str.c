#include "util/str.h"

#include <stdint.h>

/* The first eight bytes as a number that sorts as they do. */
static uint64_t first_word(struct qless_str s)
{
	const unsigned char *at = (const unsigned char *)s.ptr;

	return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 | (uint64_t)at[2] << 40 |
	       (uint64_t)at[3] << 32 | (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 |
	       (uint64_t)at[6] << 8 | (uint64_t)at[7];
}

static __attribute__((noinline)) int compare_all(struct qless_str a, struct qless_str b)
{
	size_t shared = a.len < b.len ? a.len : b.len;
	int order = shared != 0 ? memcmp(a.ptr, b.ptr, shared) : 0;

	if (order != 0)
		return order;
	return (a.len > b.len) - (a.len < b.len);
}

/* Ids usually differ in their first bytes, and then no function needs to be called. */
int str_compare(struct qless_str a, struct qless_str b)
{
	uint64_t first, second;

	if (a.len < sizeof first || b.len < sizeof second)
		return compare_all(a, b);
	first = first_word(a);
	second = first_word(b);
	if (first == second)
		return compare_all(a, b);
	return first < second ? -1 : 1;
}

static unsigned char lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool str_equal_nocase(struct qless_str a, struct qless_str b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++) {
		if (lower(a.ptr[i]) != lower(b.ptr[i]))
			return false;
	}
	return true;
}

bool str_starts_with(struct qless_str s, struct qless_str prefix)
{
	return s.len >= prefix.len && str_equal(str_make(s.ptr, prefix.len), prefix);
}

static unsigned char fold(char c, bool ignore_case)
{
	return ignore_case ? lower(c) : (unsigned char)c;
}

/*
 * Match one byte against the class that begins at pattern[at], after its `[`. *ret_next is set to
 * the index after the class. A class without a `]` ends with the pattern.
 */
static bool match_class(struct qless_str pattern, size_t at, char c, bool ignore_case,
			size_t *ret_next)
{
	unsigned char byte = fold(c, ignore_case);
	bool negate = at < pattern.len && pattern.ptr[at] == '^';
	bool found = false;

	if (negate)
		at++;
	while (at < pattern.len && pattern.ptr[at] != ']') {
		unsigned char low, high;

		if (pattern.ptr[at] == '\\' && at + 1 < pattern.len)
			at++;
		low = high = fold(pattern.ptr[at], ignore_case);
		if (at + 2 < pattern.len && pattern.ptr[at + 1] == '-') {
			high = fold(pattern.ptr[at + 2], ignore_case);
			at += 2;
		}
		if (low > high) {
			unsigned char swap = low;

			low = high;
			high = swap;
		}
		found |= byte >= low && byte <= high;
		at++;
	}
	*ret_next = at < pattern.len ? at + 1 : at;
	return found != negate;
}

/* Match one byte against the element of the pattern at `at`, which is not a star. */
static bool match_one(struct qless_str pattern, size_t at, char c, bool ignore_case,
		      size_t *ret_next)
{
	switch (pattern.ptr[at]) {
	case '?':
		*ret_next = at + 1;
		return true;
	case '[':
		return match_class(pattern, at + 1, c, ignore_case, ret_next);
	case '\\':
		if (at + 1 < pattern.len)
			at++;
		break;
	default:
		break;
	}
	*ret_next = at + 1;
	return fold(pattern.ptr[at], ignore_case) == fold(c, ignore_case);
}

bool str_glob_match(struct qless_str pattern, struct qless_str s, bool ignore_case)
{
	size_t p = 0, i = 0, next;
	size_t star = 0, star_i = 0; /* after the last star, and where in s it stopped */
	bool seen_star = false;

	/* Backtracking to the last star is enough: an earlier star could only match bytes that this
	 * one can match too. */
	while (i < s.len) {
		if (p < pattern.len && pattern.ptr[p] == '*') {
			seen_star = true;
			star = ++p;
			star_i = i;
			continue;
		}
		if (p < pattern.len && match_one(pattern, p, s.ptr[i], ignore_case, &next)) {
			p = next;
			i++;
			continue;
		}
		if (!seen_star)
			return false;
		p = star;
		i = ++star_i;
	}
	while (p < pattern.len && pattern.ptr[p] == '*')
		p++;
	return p == pattern.len;
}
