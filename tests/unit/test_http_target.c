#include "http/target.h"

#include "unit.h"
#include "util/buf.h"

static struct http_target target;
static struct buf text;

void setUp(void)
{
	buf_init(&text, BUF_NO_MAX);
}

void tearDown(void)
{
	buf_done(&text);
}

/* Segments in brackets, parameters in braces. */
static const char *describe(struct qless_str s)
{
	int rc = http_target_parse(&target, s);

	buf_clear(&text);
	if (rc < 0) {
		buf_printf(&text, "!%s", http_target_error_text(rc));
		return buf_cstr(&text);
	}
	for (size_t i = 0; i < target.segment_count; i++) {
		buf_append_char(&text, '[');
		buf_append_str(&text, target.segments[i]);
		buf_append_char(&text, ']');
	}
	for (size_t i = 0; i < target.parameter_count; i++) {
		buf_append_char(&text, '{');
		buf_append_str(&text, target.parameters[i].name);
		buf_append_char(&text, '=');
		buf_append_str(&text, target.parameters[i].value);
		buf_append_char(&text, '}');
	}
	return buf_cstr(&text);
}

static void check(const char *target_text, const char *expected)
{
	TEST_ASSERT_EQUAL_STRING(expected, describe(str_from(target_text)));
}

static void a_path_is_split_at_slashes(void)
{
	check("/", "");
	check("/v1", "[v1]");
	check("/v1/queues/mail/jobs", "[v1][queues][mail][jobs]");
	check("/v1/", "[v1][]");
	check("//v1", "[][v1]");
	check("/../a/./b", "[..][a][.][b]");
}

static void a_segment_is_decoded_after_the_split(void)
{
	check("/a%2Fb/c%2fd", "[a/b][c/d]");
	check("/%61%20b/+", "[a b][+]");
	check("/%25%32%35", "[%25]");
	check("/a%3Fb?c", "[a?b]{c=}");
	describe(STR("/a%00b"));
	TEST_ASSERT_EQUAL_size_t(1, target.segment_count);
	ASSERT_STR("a\0b", target.segments[0]);
}

static void a_query_has_parameters(void)
{
	check("/a?", "[a]");
	check("/?a=1&b=2&a=3", "{a=1}{b=2}{a=3}");
	check("/?&a&&b=&=c&", "{a=}{b=}{=c}");
	check("/?a=b=c&d=e?f/g", "{a=b=c}{d=e?f/g}");
	check("/?x+y=%26+%3d&%61=+", "{x y=& =}{a= }");
	TEST_ASSERT_NOT_NULL(http_target_parameter(&target, STR("a")));
	ASSERT_STR(" ", http_target_parameter(&target, STR("a"))->value);
	TEST_ASSERT_NULL(http_target_parameter(&target, STR("b")));
	ASSERT_STR("/", target.path);
	ASSERT_STR("x+y=%26+%3d&%61=+", target.query);
}

static void a_bad_escape_is_refused(void)
{
	static const char *const bad[] = { "/%",  "/%4",    "/%4/1",   "/%zz",
					   "/?%", "/?a=%4", "/?%g0=1", "/% 1" };

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		check(bad[i], "!the target has a % without two hexadecimal digits after it");
}

static void a_target_is_a_path(void)
{
	check("", "!the target must be a path that begins with /");
	check("*", "!the target must be a path that begins with /");
	check("?a", "!the target must be a path that begins with /");
}

static void a_target_has_limits(void)
{
	struct buf long_target = BUF_INIT(BUF_NO_MAX);

	for (int i = 0; i < HTTP_TARGET_SEGMENTS_MAX; i++)
		buf_append_str(&long_target, STR("/a"));
	TEST_ASSERT_EQUAL(0, http_target_parse(&target, buf_str(&long_target)));
	buf_append_str(&long_target, STR("/"));
	TEST_ASSERT_EQUAL(HTTP_TARGET_SEGMENTS, http_target_parse(&target, buf_str(&long_target)));

	buf_clear(&long_target);
	buf_append_str(&long_target, STR("/?"));
	for (int i = 0; i < HTTP_TARGET_PARAMETERS_MAX; i++)
		buf_append_str(&long_target, STR("&a"));
	TEST_ASSERT_EQUAL(0, http_target_parse(&target, buf_str(&long_target)));
	buf_append_str(&long_target, STR("&a"));
	TEST_ASSERT_EQUAL(HTTP_TARGET_PARAMETERS,
			  http_target_parse(&target, buf_str(&long_target)));

	buf_clear(&long_target);
	buf_append_str(&long_target, STR("/"));
	while (long_target.len < HTTP_TARGET_MAX)
		buf_append_char(&long_target, '+');
	TEST_ASSERT_EQUAL(0, http_target_parse(&target, buf_str(&long_target)));
	buf_append_char(&long_target, 'a');
	TEST_ASSERT_EQUAL(HTTP_TARGET_LONG, http_target_parse(&target, buf_str(&long_target)));
	buf_done(&long_target);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_path_is_split_at_slashes);
	RUN(a_segment_is_decoded_after_the_split);
	RUN(a_query_has_parameters);
	RUN(a_bad_escape_is_refused);
	RUN(a_target_is_a_path);
	RUN(a_target_has_limits);
	return UNIT_RESULT();
}
