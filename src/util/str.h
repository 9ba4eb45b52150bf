/*
 * Slices: bytes that another object owns.
 *
 * Everything from the network is a slice. It may contain any byte, also NUL, and no terminator
 * follows it.
 */
#ifndef UTIL_STR_H
#define UTIL_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* include/qless.h declares the same type for programs that embed the engine. */
#ifndef QLESS_STR_DEFINED
#define QLESS_STR_DEFINED
struct qless_str {
	const char *ptr;
	size_t len;
};
#endif

/* A slice of a string literal, for initialisers. */
#define STR_INIT(literal)                       \
	{                                       \
		"" literal, sizeof(literal) - 1 \
	}
#define STR(literal) ((struct qless_str)STR_INIT(literal))

static inline struct qless_str str_make(const char *ptr, size_t len)
{
	return (struct qless_str){ .ptr = ptr, .len = len };
}

static inline struct qless_str str_from(const char *text)
{
	return str_make(text, strlen(text));
}

static inline bool str_equal(struct qless_str a, struct qless_str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Compares bytes; a prefix comes first. Returns < 0, 0 or > 0. */
int str_compare(struct qless_str a, struct qless_str b);

/* Compares texts of the same length that differ. */
bool str_differ_in_case_only(struct qless_str a, struct qless_str b);

/* Ignores the case of ASCII letters, independent of the locale. The two cases of a letter differ in
 * one bit, so most texts that differ do so in the other bits of their first bytes. */
static inline bool str_equal_nocase(struct qless_str a, struct qless_str b)
{
	if (a.len != b.len)
		return false;
	if (a.len == 0)
		return true;
	if (((a.ptr[0] ^ b.ptr[0]) & ~('a' ^ 'A')) != 0)
		return false;
	return memcmp(a.ptr, b.ptr, a.len) == 0 || str_differ_in_case_only(a, b);
}

bool str_starts_with(struct qless_str s, struct qless_str prefix);

/* Return the rest of the text without its beginning or its end. Return false, and leave *ret_rest
 * alone, if the text begins or ends otherwise. */
static inline bool str_strip_prefix(struct qless_str s, struct qless_str prefix,
				    struct qless_str *ret_rest)
{
	if (!str_starts_with(s, prefix))
		return false;
	*ret_rest = str_make(s.ptr + prefix.len, s.len - prefix.len);
	return true;
}

static inline bool str_strip_suffix(struct qless_str s, struct qless_str suffix,
				    struct qless_str *ret_rest)
{
	if (s.len < suffix.len ||
	    !str_equal(str_make(s.ptr + s.len - suffix.len, suffix.len), suffix))
		return false;
	*ret_rest = str_make(s.ptr, s.len - suffix.len);
	return true;
}

#endif
