#include "util/glob.h"

#include <stdint.h>

#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static bool glob(const char *pattern, const char *text)
{
	return glob_match(str_from(pattern), str_from(text), false);
}

static void globs_match_as_in_redis(void)
{
	TEST_ASSERT_TRUE(glob("*", ""));
	TEST_ASSERT_TRUE(glob("", ""));
	TEST_ASSERT_FALSE(glob("", "a"));
	TEST_ASSERT_TRUE(glob("h?llo", "hello"));
	TEST_ASSERT_FALSE(glob("h?llo", "hllo"));
	TEST_ASSERT_TRUE(glob("h[ae]llo", "hallo"));
	TEST_ASSERT_FALSE(glob("h[ae]llo", "hillo"));
	TEST_ASSERT_TRUE(glob("h[^e]llo", "hallo"));
	TEST_ASSERT_FALSE(glob("h[^e]llo", "hello"));
	TEST_ASSERT_TRUE(glob("h[a-c]llo", "hbllo"));
	TEST_ASSERT_TRUE(glob("h[c-a]llo", "hbllo"));
	TEST_ASSERT_TRUE(glob("a*b*c", "aXXbYYbc"));
	TEST_ASSERT_FALSE(glob("a*b*c", "aXXbYYbcd"));
	TEST_ASSERT_TRUE(glob("\\*", "*"));
	TEST_ASSERT_FALSE(glob("\\*", "a"));
	TEST_ASSERT_TRUE(glob("ql:*", "ql:log"));
	TEST_ASSERT_TRUE(glob("[\\]]", "]"));
	TEST_ASSERT_TRUE(glob_match(STR("MAX*"), STR("maxclients"), true));
	TEST_ASSERT_FALSE(glob_match(STR("MAX*"), STR("maxclients"), false));
}

static void broken_globs_do_no_harm(void)
{
	TEST_ASSERT_TRUE(glob("[a", "a"));
	TEST_ASSERT_FALSE(glob("[", "a"));
	TEST_ASSERT_TRUE(glob("[^", "a"));
	TEST_ASSERT_TRUE(glob("\\", "\\"));
	TEST_ASSERT_FALSE(glob("[a-", "b"));
}

static void many_stars_do_not_take_exponential_time(void)
{
	char text[5001];

	memset(text, 'a', 5000);
	text[5000] = '\0';
	TEST_ASSERT_FALSE(glob("a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

/* ---- a slow model ---- */

static unsigned char lower(char c, bool ignore_case)
{
	return (unsigned char)(ignore_case && c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* The length of the class whose `[` is before p, with its `]`. */
static size_t model_class(struct qless_str p, char c, bool ignore_case, bool *ret_matches)
{
	size_t i = p.len != 0 && p.ptr[0] == '^';
	bool negate = i != 0, found = false;

	for (; i < p.len && p.ptr[i] != ']'; i++) {
		unsigned char a, b;

		i += p.ptr[i] == '\\' && i + 1 < p.len;
		a = b = lower(p.ptr[i], ignore_case);
		if (i + 2 < p.len && p.ptr[i + 1] == '-') {
			b = lower(p.ptr[i + 2], ignore_case);
			i += 2;
		}
		for (unsigned v = a < b ? a : b; v <= (a < b ? b : a); v++)
			found |= v == lower(c, ignore_case);
	}
	*ret_matches = found != negate;
	return i < p.len ? i + 1 : i;
}

static struct qless_str after(struct qless_str s, size_t count)
{
	return str_make(s.ptr + count, s.len - count);
}

static bool model(struct qless_str p, struct qless_str s, bool ignore_case)
{
	size_t used = 1;
	bool matches;

	if (p.len == 0)
		return s.len == 0;
	if (p.ptr[0] == '*')
		return model(after(p, 1), s, ignore_case) ||
		       (s.len != 0 && model(p, after(s, 1), ignore_case));
	if (s.len == 0)
		return false;
	if (p.ptr[0] == '?') {
		matches = true;
	} else if (p.ptr[0] == '[') {
		used += model_class(after(p, 1), s.ptr[0], ignore_case, &matches);
	} else {
		used += p.ptr[0] == '\\' && p.len > 1;
		matches = lower(p.ptr[used - 1], ignore_case) == lower(s.ptr[0], ignore_case);
	}
	return matches && model(after(p, used), after(s, 1), ignore_case);
}

static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

static size_t make(uint32_t *state, const char *letters, size_t max, char *to)
{
	size_t len = next(state) % (max + 1);

	for (size_t i = 0; i < len; i++)
		to[i] = letters[next(state) % strlen(letters)];
	return len;
}

static void random_globs_match_like_the_model(void)
{
	uint32_t state = 1;
	unsigned matches = 0;
	char p[16], s[16];

	for (int i = 0; i < 300000; i++) {
		struct qless_str pattern = str_make(p, make(&state, "aabB*?[]^-\\", 12, p));
		struct qless_str text = str_make(s, make(&state, "aabB]^", 8, s));
		bool ignore_case = next(&state) % 2;
		bool expected = model(pattern, text, ignore_case);

		TEST_ASSERT_EQUAL_INT(expected, glob_match(pattern, text, ignore_case));
		matches += expected;
	}
	TEST_ASSERT_GREATER_THAN_UINT(5000, matches);
}

/* Forty more elements make the part long enough to be searched for with tables. */
static void random_globs_in_long_parts_match_like_the_model(void)
{
	uint32_t state = 3;
	unsigned matches = 0;
	char p[64], s[64];

	for (int i = 0; i < 50000; i++) {
		size_t p_len = 41, s_len = 40 + next(&state) % 3;
		bool ignore_case = next(&state) % 2;
		bool expected;

		memset(p, '?', p_len);
		p[0] = '*';
		p_len += make(&state, "aabB*?[]^-\\", 10, p + p_len);
		p[p_len++] = '*';
		memset(s, 'a', s_len);
		s_len += make(&state, "aabB]^", 8, s + s_len);
		expected = model(str_make(p, p_len), str_make(s, s_len), ignore_case);
		TEST_ASSERT_EQUAL_INT(
			expected, glob_match(str_make(p, p_len), str_make(s, s_len), ignore_case));
		matches += expected;
	}
	TEST_ASSERT_GREATER_THAN_UINT(5000, matches);
}

/* More than a word of elements between two stars, which are searched for with tables. */
static void long_parts_are_found_wherever_they_are(void)
{
	uint32_t state = 7;
	char p[600], s[600];

	for (int round = 0; round < 3000; round++) {
		size_t elements = 33 + next(&state) % 120, at = next(&state) % 200;
		size_t len = 0, last = 0;
		bool ignore_case = next(&state) % 2;
		size_t text_len = at + elements + next(&state) % 100;

		for (size_t i = 0; i < text_len; i++)
			s[i] = "abAB"[next(&state) % 4];
		p[len++] = '*';
		for (size_t i = at; i < at + elements; i++) {
			static const char *const forms[] = { "?", "[a-b]", "[^c]", "[A-B]", "\\" };
			unsigned form = next(&state) % 8;
			bool fits = form != 1 || s[i] >= 'a' || ignore_case;

			last = len;
			fits = fits && (form != 3 || s[i] < 'a' || ignore_case);
			if (form < 4 && fits) {
				memcpy(p + len, forms[form], strlen(forms[form]));
				len += strlen(forms[form]);
			} else {
				p[len++] = s[i];
			}
		}
		p[len++] = '*';
		TEST_ASSERT_TRUE(glob_match(str_make(p, len), str_make(s, text_len), ignore_case));
		p[last] = 'c';
		p[last + 1] = '*';
		len = last + 2;
		TEST_ASSERT_FALSE(glob_match(str_make(p, len), str_make(s, text_len), ignore_case));
	}
}

static void a_long_part_of_a_long_text_is_found_in_linear_time(void)
{
	static char p[GLOB_MAX_BYTES], s[4 * 1024 * 1024];

	memset(s, 'a', sizeof s);
	memset(p, 'a', sizeof p);
	p[0] = '*';
	p[sizeof p - 2] = 'b';
	p[sizeof p - 1] = '*';
	/* A comparison at each position would take 16 thousand million steps. */
	TEST_ASSERT_FALSE(glob_match(str_make(p, sizeof p), str_make(s, sizeof s), false));
	s[sizeof s - 2] = 'b';
	TEST_ASSERT_TRUE(glob_match(str_make(p, sizeof p), str_make(s, sizeof s), false));
}

static void a_pattern_that_is_too_long_matches_nothing(void)
{
	static char p[GLOB_MAX_BYTES + 1];

	memset(p, '*', sizeof p);
	TEST_ASSERT_TRUE(glob_match(str_make(p, GLOB_MAX_BYTES), STR("a"), false));
	TEST_ASSERT_FALSE(glob_match(str_make(p, sizeof p), STR("a"), false));
}

static void the_prefix_ends_before_the_first_special_byte(void)
{
	TEST_ASSERT_EQUAL_UINT64(3, glob_prefix(STR("ql:*")).len);
	TEST_ASSERT_EQUAL_UINT64(0, glob_prefix(STR("[a]b")).len);
	TEST_ASSERT_EQUAL_UINT64(1, glob_prefix(STR("a\\b")).len);
	TEST_ASSERT_EQUAL_UINT64(4, glob_prefix(STR("news")).len);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(globs_match_as_in_redis);
	RUN(broken_globs_do_no_harm);
	RUN(many_stars_do_not_take_exponential_time);
	RUN(random_globs_match_like_the_model);
	RUN(random_globs_in_long_parts_match_like_the_model);
	RUN(long_parts_are_found_wherever_they_are);
	RUN(a_long_part_of_a_long_text_is_found_in_linear_time);
	RUN(a_pattern_that_is_too_long_matches_nothing);
	RUN(the_prefix_ends_before_the_first_special_byte);
	return UNIT_RESULT();
}
