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

bool str_differ_in_case_only(struct qless_str a, struct qless_str b)
{
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
