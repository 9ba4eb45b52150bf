/*
 * Flat JSON objects, whose members json_flat_read() finds. tests/unit/test_command_json.c compares
 * it with yyjson.
 */
#include <stdlib.h>

#include "unit.h"
#include "util/buf.h"
#include "util/json_flat.h"
#include "util/mem.h"

static struct json_flat flat;

void setUp(void)
{
}

void tearDown(void)
{
}

/* Read a text that ends where its memory ends, so that a sanitizer sees reads after it. */
static bool reads(bool (*read)(struct qless_str text, struct json_flat *ret_flat),
		  struct qless_str text)
{
	char *copy = mem_alloc(text.len);
	bool ok;

	memcpy(copy, text.ptr, text.len);
	ok = read(str_make(copy, text.len), &flat);
	free(copy);
	return ok;
}

#define ASSERT_FLAT(text)	 TEST_ASSERT_TRUE(reads(json_flat_read, STR(text)))
#define ASSERT_NOT_FLAT(text)	 TEST_ASSERT_FALSE(reads(json_flat_read, STR(text)))
#define ASSERT_VALID_FLAT(text)	 TEST_ASSERT_TRUE(reads(json_flat_read_valid, STR(text)))
#define ASSERT_VALID_OTHER(text) TEST_ASSERT_FALSE(reads(json_flat_read_valid, STR(text)))

static void check_member(unsigned i, const char *text, const char *name, const char *value)
{
	const struct json_flat_member *m = &flat.members[i];

	TEST_ASSERT_TRUE(
		str_equal(str_from(name), str_make(text + m->name, (size_t)m->name_end - m->name)));
	TEST_ASSERT_TRUE(str_equal(str_from(value),
				   str_make(text + m->value, (size_t)m->value_end - m->value)));
}

static void every_member_is_found(void)
{
	static const char text[] =
		"{\"to\":\"a\", \"\" : -12 ,\"x\":true,\"y\": false, \"n\":null}";

	TEST_ASSERT_TRUE(reads(json_flat_read, str_from(text)));
	TEST_ASSERT_EQUAL_UINT(5, flat.count);
	TEST_ASSERT_FALSE(flat.has_fraction);
	check_member(0, text, "\"to\"", "\"a\"");
	check_member(1, text, "\"\"", "-12");
	check_member(2, text, "\"x\"", "true");
	check_member(3, text, "\"y\"", "false");
	check_member(4, text, "\"n\"", "null");
}

static void a_number_may_have_a_fraction(void)
{
	ASSERT_FLAT("{\"number\":0.250,\"other\":1}");
	TEST_ASSERT_TRUE(flat.has_fraction);
	ASSERT_NOT_FLAT("{\"number\":1.,\"other\":1}");
	ASSERT_NOT_FLAT("{\"number\":01,\"other\":1}");
	ASSERT_NOT_FLAT("{\"number\":-,\"other\":1}");
	ASSERT_NOT_FLAT("{\"number\":1e5,\"other\":1}");
	ASSERT_NOT_FLAT("{\"number\":.5,\"other\":1}");
}

static void invalid_json_is_not_flat(void)
{
	ASSERT_NOT_FLAT("{\"a long name\" 1}");
	ASSERT_NOT_FLAT("{\"a long name\":}");
	ASSERT_NOT_FLAT("{\"a long name\":1,}");
	ASSERT_NOT_FLAT("{\"a long name\":1}}");
	ASSERT_NOT_FLAT("{\"a long name\":1 }x}");
	ASSERT_NOT_FLAT("{\"a long name\":\"x}");
	ASSERT_NOT_FLAT("{\"a long name\":\"x\"\"}");
	ASSERT_NOT_FLAT("{\"a long name\":tru}");
	ASSERT_NOT_FLAT("{\"a long name\":truer}");
	ASSERT_NOT_FLAT("{a long name :\"x\"}");
	ASSERT_NOT_FLAT("{              }");
	ASSERT_NOT_FLAT("{\"a\tlong name\":1}");
	ASSERT_NOT_FLAT("\"a string that is long\"");
}

static void other_objects_are_not_flat(void)
{
	ASSERT_NOT_FLAT("{\"a\":1}"); /* shorter than a block */
	ASSERT_NOT_FLAT("{\"a long name\":[]}");
	ASSERT_NOT_FLAT("{\"a long name\":{}}");
	ASSERT_NOT_FLAT("{\"a long name\":\"\\n\"}");
	ASSERT_NOT_FLAT("{\"a long name\":\n1}");
	ASSERT_NOT_FLAT(" {\"a long name\":1}");
	ASSERT_NOT_FLAT("{\"a long name\":\"\xc3\xa9\"}");
}

static void valid_text_may_have_any_characters(void)
{
	ASSERT_VALID_FLAT("{\"a long name\":\"\xc3\xa9\"}");
	check_member(0, "{\"a long name\":\"\xc3\xa9\"}", "\"a long name\"", "\"\xc3\xa9\"");
	ASSERT_VALID_OTHER("{\"a long name\":\"\\n\"}");
	ASSERT_VALID_OTHER("{\"a long name\":\n1}");
}

/* Append an object of `count` members, with a string of `len` bytes in each. */
static void append_object(struct buf *text, unsigned count, unsigned len)
{
	buf_clear(text);
	for (unsigned i = 0; i < count; i++)
		buf_printf(text, "%c\"%u\":\"%*u\"", i == 0 ? '{' : ',', i, (int)len, i);
	buf_append_char(text, '}');
}

static void strings_of_any_length_are_found(void)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	for (unsigned len = 8; len < JSON_FLAT_BYTES; len++) {
		for (unsigned count = 1; count <= 3; count++) {
			append_object(&text, count, len);
			TEST_ASSERT_EQUAL(text.len <= JSON_FLAT_BYTES,
					  reads(json_flat_read, buf_str(&text)));
			if (text.len > JSON_FLAT_BYTES)
				continue;
			TEST_ASSERT_EQUAL_UINT(count, flat.count);
			TEST_ASSERT_EQUAL_UINT(text.len - 1, flat.members[count - 1].value_end);
		}
	}
	buf_done(&text);
}

static void an_object_has_few_members(void)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	append_object(&text, JSON_FLAT_MEMBERS, 2);
	TEST_ASSERT_TRUE(reads(json_flat_read, buf_str(&text)));
	TEST_ASSERT_EQUAL_UINT(JSON_FLAT_MEMBERS, flat.count);
	append_object(&text, JSON_FLAT_MEMBERS + 1, 2);
	TEST_ASSERT_FALSE(reads(json_flat_read, buf_str(&text)));
	buf_done(&text);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(every_member_is_found);
	RUN(a_number_may_have_a_fraction);
	RUN(invalid_json_is_not_flat);
	RUN(other_objects_are_not_flat);
	RUN(valid_text_may_have_any_characters);
	RUN(strings_of_any_length_are_found);
	RUN(an_object_has_few_members);
	return UNIT_RESULT();
}
