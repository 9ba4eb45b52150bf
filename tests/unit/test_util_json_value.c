#include <stdlib.h>

#include "unit.h"
#include "util/hash.h"
#include "util/hex.h"
#include "util/json.h"
#include "util/json_decimal.h"
#include "util/json_value.h"
#include "util/mem.h"

static struct json_value_room room;
static unsigned char one[HASH_WIDE_BYTES], other[HASH_WIDE_BYTES];

void setUp(void)
{
}

void tearDown(void)
{
	json_value_room_done(&room);
}

/* Hash a text that ends where its memory ends, so that a sanitizer sees reads after it. */
static void hash_labelled(unsigned char *hash, struct qless_str label, struct qless_str text)
{
	char *copy = mem_alloc(text.len);

	memcpy(copy, text.ptr, text.len);
	json_hash_value(label, str_make(copy, text.len), &room, hash);
	free(copy);
}

static void hash_text(unsigned char *hash, struct qless_str text)
{
	hash_labelled(hash, STR("label"), text);
}

static bool is_same(void)
{
	return memcmp(one, other, sizeof one) == 0;
}

static bool are_equal(struct qless_str a, struct qless_str b)
{
	hash_text(one, a);
	hash_text(other, b);
	return is_same();
}

#define ASSERT_EQUAL(a, b)  TEST_ASSERT_TRUE_MESSAGE(are_equal(STR(a), STR(b)), a " and " b)
#define ASSERT_DIFFER(a, b) TEST_ASSERT_FALSE_MESSAGE(are_equal(STR(a), STR(b)), a " and " b)

#define ASSERT_NUMBER(expected, number)                                           \
	do {                                                                      \
		char text_[sizeof(number) + JSON_DECIMAL_ROOM];                   \
		char *end_ = json_decimal_put(text_, STR(number));                \
		ASSERT_STR(expected, str_make(text_, (size_t)(end_ - text_)));    \
		TEST_ASSERT_LESS_OR_EQUAL(sizeof(number) - 1 + JSON_DECIMAL_ROOM, \
					  (size_t)(end_ - text_));                \
	} while (0)

/* ---- numbers ---- */

static void a_number_has_neither_outer_zeros_nor_a_point(void)
{
	ASSERT_NUMBER("0", "0");
	ASSERT_NUMBER("7", "7");
	ASSERT_NUMBER("12", "12");
	ASSERT_NUMBER("10", "10");
	ASSERT_NUMBER("10100", "10100");
	ASSERT_NUMBER("15e-1", "1.5");
	ASSERT_NUMBER("5e-2", "0.05");
	ASSERT_NUMBER("1", "1.0");
	ASSERT_NUMBER("100", "100.00");
	ASSERT_NUMBER("100001e-3", "100.0010");
	ASSERT_NUMBER("-3", "-3");
	ASSERT_NUMBER("-3e-1", "-0.30");
}

static void an_exponent_counts_into_the_place_of_the_point(void)
{
	ASSERT_NUMBER("1", "1e0");
	ASSERT_NUMBER("1", "10e-1");
	ASSERT_NUMBER("1", "0.1E+1");
	ASSERT_NUMBER("1", "0.001e00003");
	ASSERT_NUMBER("120000", "1.2e5");
	ASSERT_NUMBER("12e-6", "1.2E-5");
	ASSERT_NUMBER("10000000000000000000", "1e19");
	ASSERT_NUMBER("1e20", "100000000000000000000");
	ASSERT_NUMBER("-10000000000000000000", "-10000000000000000000");
	ASSERT_NUMBER("-1e20", "-100000000000000000000");
	ASSERT_NUMBER("-1e400", "-1e400");
	ASSERT_NUMBER("1e-400", "0.1e-399");
}

static void zero_has_neither_sign_nor_exponent(void)
{
	ASSERT_NUMBER("0", "-0");
	ASSERT_NUMBER("0", "0.000");
	ASSERT_NUMBER("0", "-0.0e5");
	ASSERT_NUMBER("0", "0e99999999999999999999999");
}

static void no_digit_of_a_large_number_is_lost(void)
{
	ASSERT_NUMBER("9007199254740993", "9007199254740993");
	ASSERT_NUMBER("123456789012345678901234567890123456789",
		      "123456789012345678901234567890123456789");
	ASSERT_NUMBER("123456789012345678901234567890123456789e-19",
		      "12345678901234567890.1234567890123456789");
}

static void an_exponent_may_have_any_number_of_digits(void)
{
	ASSERT_NUMBER("1e123456789012345678901234567890", "1e123456789012345678901234567890");
	ASSERT_NUMBER("1e123456789012345678901234567890", "10e123456789012345678901234567889");
	ASSERT_NUMBER("1e123456789012345678901234567890", "0.1e+123456789012345678901234567891");
	ASSERT_NUMBER("1e-123456789012345678901234567890", "1e-00123456789012345678901234567890");
	ASSERT_NUMBER("1e-123456789012345678901234567890", "10e-123456789012345678901234567891");
	ASSERT_NUMBER("1e1000000000000000000", "10e999999999999999999");
	ASSERT_NUMBER("1e999999999999999999", "0.1e1000000000000000000");
	ASSERT_NUMBER("1e-1000000000000000000", "0.1e-999999999999999999");
	ASSERT_NUMBER("1e-999999999999999999", "10e-1000000000000000000");
	/* On both sides of what is computed with integers. */
	ASSERT_NUMBER("1e100000000000000000", "10e99999999999999999");
	ASSERT_NUMBER("1e99999999999999999", "0.1e100000000000000000");
	ASSERT_NUMBER("1e100000000000000005", "100000e100000000000000000");
	ASSERT_NUMBER("123456e99999999999999995", "1.23456e100000000000000000");
}

/* ---- values ---- */

static void white_space_does_not_matter(void)
{
	ASSERT_EQUAL("{\"a\":[1,true],\"b\":null}",
		     " {\r\n\t\"a\" : [ 1 , true ] , \"b\" : null }\n");
	ASSERT_EQUAL("[]", "[ ]");
	ASSERT_EQUAL("{}", "{\n}");
	ASSERT_EQUAL("{\"to\":\"x y\",\"n\":-12,\"a name of some length\":3}",
		     "{\"a name of some length\" :3, \"to\": \"x y\" ,\"n\"\t:\r\n -12}");
	ASSERT_EQUAL("{\"a\":1,\"b\":2}", "{ \"b\"                    :  2,\"a\": 1 }");
	ASSERT_DIFFER("{\"a\":\"b c\"}", "{\"a\": \"bc\"}");
	ASSERT_DIFFER("{\"a\":1,\"b\":2}", "{\"a\": 2, \"b\": 1}");
	ASSERT_EQUAL("1", " 1 ");
	ASSERT_DIFFER("\"a b\"", "\"ab\"");
}

static void the_order_of_members_does_not_matter(void)
{
	ASSERT_EQUAL("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}");
	ASSERT_EQUAL("{\"to\":1,\"t\":2,\"\":3}", "{\"\":3,\"t\":2,\"to\":1}");
	ASSERT_EQUAL("{\"x\":{\"a\":1,\"b\":2},\"y\":3}", "{\"y\":3,\"x\":{\"b\":2,\"a\":1}}");
	ASSERT_DIFFER("{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}");
}

static void the_order_of_elements_matters(void)
{
	ASSERT_EQUAL("[1,2]", "[1, 2]");
	ASSERT_DIFFER("[1,2]", "[2,1]");
	ASSERT_DIFFER("[1,2]", "[12]");
	ASSERT_DIFFER("[[1],2]", "[1,[2]]");
}

static void members_of_one_name_count_once_and_the_last_wins(void)
{
	ASSERT_EQUAL("{\"a\":1,\"a\":2}", "{\"a\":2}");
	ASSERT_EQUAL("{\"a\":2,\"b\":0,\"a\":1}", "{\"b\":0,\"a\":1}");
	ASSERT_EQUAL("{\"a\":2,\"\\u0061\":1}", "{\"a\":1}");
	ASSERT_DIFFER("{\"a\":1,\"a\":2}", "{\"a\":1}");
	ASSERT_DIFFER("{\"a\":1,\"a\":2}", "{\"a\":2,\"a\":1}");
}

static void the_last_of_many_members_of_one_name_wins(void)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	buf_append_char(&text, '{');
	for (int i = 0; i < 100; i++)
		buf_printf(&text, "\"n%d\":%d,", i % 20, i);
	buf_append_str(&text, STR("\"z\":0}"));
	hash_text(one, buf_str(&text));
	buf_clear(&text);
	buf_append_char(&text, '{');
	for (int i = 99; i >= 80; i--)
		buf_printf(&text, "\"n%d\":%d,", i % 20, i);
	buf_append_str(&text, STR("\"z\":0}"));
	hash_text(other, buf_str(&text));
	TEST_ASSERT_TRUE(is_same());
	buf_done(&text);
}

static void escapes_stand_for_their_characters(void)
{
	ASSERT_EQUAL("\"A\"", "\"\\u0041\"");
	ASSERT_EQUAL("\"/\"", "\"\\/\"");
	ASSERT_EQUAL("\"\\n\\t\\b\\f\\r\"", "\"\\u000a\\u0009\\u0008\\u000C\\u000D\"");
	ASSERT_EQUAL("\"\\\"\\\\\"", "\"\\u0022\\u005c\"");
	ASSERT_EQUAL("\"\xc3\xa9\"", "\"\\u00e9\"");
	ASSERT_EQUAL("\"\xe2\x82\xac\"", "\"\\u20AC\"");
	ASSERT_EQUAL("\"\xf0\x9f\x90\x9f\"", "\"\\ud83d\\uDC1F\"");
	/* Half a pair, as imported data may have. */
	ASSERT_EQUAL("\"\\ud83d\"", "\"\\uD83D\"");
	ASSERT_DIFFER("\"\\ud83d\"", "\"\\ud83e\"");
	ASSERT_EQUAL("{\"\\u0062\":1,\"a\":2}", "{\"a\":2,\"b\":1}");
	ASSERT_DIFFER("\"\\u0000\"", "\"\"");
	ASSERT_DIFFER("\"\\u0000\"", "\"0\"");
	ASSERT_DIFFER("\"\\n\"", "\"n\"");
	ASSERT_DIFFER("\"\\n\"", "\"\\\\j\"");
	ASSERT_DIFFER("\"\\\\n\"", "\"\\n\"");
}

static void characters_that_look_alike_differ(void)
{
	/* e with an acute accent, as one character and as two. */
	ASSERT_DIFFER("\"\\u00e9\"", "\"e\\u0301\"");
	ASSERT_DIFFER("\"a\"", "\"A\"");
}

static void numbers_are_compared_by_value(void)
{
	ASSERT_EQUAL("[1,100,-0]", "[1.0,1e2,0]");
	ASSERT_EQUAL("{\"n\":0.10}", "{\"n\":1e-1}");
	ASSERT_DIFFER("9007199254740993", "9007199254740992");
	ASSERT_DIFFER("1e400", "1e401");
	ASSERT_DIFFER("0.1", "0.10000000000000000001");
}

static void values_of_different_kinds_differ(void)
{
	static const char *const texts[] = { "null",	 "true",  "false", "0",	       "1",
					     "\"\"",	 "\"0\"", "\"n\"", "\"null\"", "[]",
					     "{}",	 "[0]",	  "[[]]",  "[{}]",     "[null]",
					     "{\"\":0}", "\"{}\"" };
	size_t count = sizeof texts / sizeof texts[0];

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < count; k++)
			TEST_ASSERT_EQUAL(i == k,
					  are_equal(str_from(texts[i]), str_from(texts[k])));
	}
}

static void text_within_strings_is_no_structure(void)
{
	ASSERT_DIFFER("{\"a\":\"1\",\"b\":2}", "{\"a\":\"1\\\",\\\"b\\\":2\"}");
	ASSERT_DIFFER("[\"a\",\"b\"]", "[\"a\\\",\\\"b\"]");
	ASSERT_DIFFER("{\"a\\\"1\":2}", "{\"a\":12}");
}

static void strings_of_any_length_are_compared_as_a_whole(void)
{
	char a[128], b[128];

	for (size_t len = 0; len < 100; len++) {
		memset(a, 'x', sizeof a);
		a[0] = a[len + 1] = '"';
		memcpy(b, a, sizeof b);
		TEST_ASSERT_TRUE(are_equal(str_make(a, len + 2), str_make(b, len + 2)));
		for (size_t i = 1; i <= len; i++) {
			b[i] = 'y';
			TEST_ASSERT_FALSE(are_equal(str_make(a, len + 2), str_make(b, len + 2)));
			b[i] = 'x';
		}
	}
}

static void labels_keep_equal_values_apart(void)
{
	static const char *const texts[] = { "{}", "[1]", "\"b\"", "17" };

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		hash_labelled(one, STR("a"), str_from(texts[i]));
		hash_labelled(other, STR("a"), str_from(texts[i]));
		TEST_ASSERT_TRUE(is_same());
		hash_labelled(other, STR("b"), str_from(texts[i]));
		TEST_ASSERT_FALSE(is_same());
		hash_labelled(other, STR(""), str_from(texts[i]));
		TEST_ASSERT_FALSE(is_same());
	}
	/* The label ends where it ends. */
	hash_labelled(one, STR("a1"), STR("7"));
	hash_labelled(other, STR("a"), STR("17"));
	TEST_ASSERT_FALSE(is_same());
}

/* The first byte of its length marks a hash elsewhere. */
static void a_label_may_have_any_length(void)
{
	char label[300];

	memset(label, 'x', sizeof label);
	for (size_t len = 0; len < sizeof label; len++) {
		hash_labelled(one, str_make(label, len), STR("7"));
		hash_labelled(other, str_make(label, len), STR("8"));
		TEST_ASSERT_FALSE(is_same());
		hash_labelled(one, str_make(label, len), STR("{\"b\":1,\"a\":2}"));
		hash_labelled(other, str_make(label, len), STR("{\"a\":2,\"b\":1}"));
		TEST_ASSERT_TRUE(is_same());
	}
}

/* The hashes are in logs and snapshots, so they must never change. */
static void the_hash_of_a_value_never_changes(void)
{
	static const char text[] = "{\"to\":[1,{\"b\":null,\"a\":true}],\"s\":\"x\"}";
	unsigned char bytes[64], hash[HASH_WIDE_BYTES];
	char hex[2 * HASH_WIDE_BYTES];

	hash_bytes_wide(STR("{\"a\":t\"b\":n"), hash);
	memcpy(bytes, "[1,#", 4);
	memcpy(bytes + 4, hash, sizeof hash);
	hash_bytes_wide(str_make((char *)bytes, 4 + sizeof hash), hash);
	memcpy(bytes, "\5\0\0\0label{\"s\":\"x\"\"to\":#", 23);
	memcpy(bytes + 23, hash, sizeof hash);
	hash_bytes_wide(str_make((char *)bytes, 23 + sizeof hash), hash);
	hash_text(one, str_from(text));
	TEST_ASSERT_EQUAL_MEMORY(hash, one, sizeof hash);
	hex_write(hex, hash, sizeof hash);
	ASSERT_STR("1471181dc9f295d053cf1a9cf8f8c6ff", str_make(hex, sizeof hex));
}

/* A text that is read in one go, and one that is not because of the escape in its first name. */
static void plain_objects_have_the_values_of_other_spellings(void)
{
	struct buf plain = BUF_INIT(BUF_NO_MAX), escaped = BUF_INIT(BUF_NO_MAX);

	for (int members = 1; members < 16; members++) {
		for (int len = 0; len < 60; len++) {
			buf_clear(&plain);
			buf_clear(&escaped);
			buf_append_str(&plain, STR("{\"first\":-17"));
			buf_append_str(&escaped, STR("{\"\\u0066irst\":-17"));
			for (int i = members; i > 0; i--) {
				buf_printf(&plain, ",\"n%d\":\"%*d\",\"m%d\":%d", i, len, i, i, i);
				buf_printf(&escaped, ",\"n%d\":\"%*d\",\"m%d\":%d", i, len, i, i,
					   i);
			}
			buf_append_char(&plain, '}');
			buf_append_char(&escaped, '}');
			TEST_ASSERT_TRUE(are_equal(buf_str(&plain), buf_str(&escaped)));
			plain.mem[plain.len - 2]++;
			TEST_ASSERT_FALSE(are_equal(buf_str(&plain), buf_str(&escaped)));
		}
	}
	buf_done(&plain);
	buf_done(&escaped);
}

static void deep_nesting_is_hashed_in_linear_time_and_memory(void)
{
	size_t depth = 100000;
	struct buf text = BUF_INIT(BUF_NO_MAX);

	for (size_t i = 0; i < depth; i++)
		buf_append_str(&text, i % 2 == 0 ? STR("[") : STR("{\"a\":"));
	buf_append_char(&text, '1');
	for (size_t i = depth; i > 0; i--)
		buf_append_char(&text, (i - 1) % 2 == 0 ? ']' : '}');
	hash_text(one, buf_str(&text));
	text.mem[strlen("[{\"a\":") * depth / 2] = '2';
	hash_text(other, buf_str(&text));
	TEST_ASSERT_FALSE(is_same());
	/* A large text does not keep memory. */
	TEST_ASSERT_NULL(room.levels);
	buf_done(&text);
}

/* ---- random values, each in two spellings ---- */

#define RANDOM_VALUES 20000
#define DEPTH_MAX     4
#define PARTS_MAX     5

struct speller {
	struct buf *out;
	unsigned long long shape;    /* decides the value */
	unsigned long long spelling; /* decides how it is written; 0: in one way */
};

static unsigned pick(unsigned long long *state, unsigned count)
{
	return (unsigned)(unit_random(state) % count);
}

static void spell_blanks(struct speller *s)
{
	if (s->spelling == 0)
		return;
	for (unsigned count = pick(&s->spelling, 3); count > 0; count--)
		buf_append_char(s->out, " \t\r\n"[pick(&s->spelling, 4)]);
}

static void spell_number(struct speller *s)
{
	static const char *const numbers[][4] = {
		{ "0", "-0", "0.0", "0e7" },
		{ "1", "1.0", "10e-1", "0.1e1" },
		{ "-1", "-1.0", "-1e0", "-0.01e2" },
		{ "100", "1e2", "1E+2", "0.1e3" },
		{ "0.25", "25e-2", "2.5e-1", "0.2500" },
		{ "12345678901234567890123", "12345678901234567890123.0",
		  "1234567890123456789012.3e1", "123456789012345678901230e-1" },
		{ "12345678901234567890124", "12345678901234567890124e0",
		  "1234567890123456789012.4e1", "123456789012345678901240e-1" },
	};
	unsigned number = pick(&s->shape, sizeof numbers / sizeof numbers[0]);
	unsigned way = s->spelling != 0 ? pick(&s->spelling, 4) : 0;

	buf_append_str(s->out, str_from(numbers[number][way]));
}

static void spell_character(struct speller *s)
{
	static const struct {
		const char *plain, *escape, *other;
	} characters[] = { { "a", "\\u0061", "\\u0061" },
			   { "\\\"", "\\u0022", "\\\"" },
			   { "\\\\", "\\u005C", "\\u005c" },
			   { "/", "\\/", "\\u002f" },
			   { "\\n", "\\u000a", "\\u000A" },
			   { "\\u0000", "\\u0000", "\\u0000" },
			   { "{", "\\u007b", "\\u007B" },
			   { "\xc3\xa9", "\\u00e9", "\\u00E9" },
			   { "\xf0\x9f\x90\x9f", "\\ud83d\\udc1f", "\\uD83D\\uDC1F" } };
	unsigned i = pick(&s->shape, sizeof characters / sizeof characters[0]);
	unsigned way = s->spelling != 0 ? pick(&s->spelling, 3) : 0;

	buf_append_str(s->out, str_from(way == 0   ? characters[i].plain
					: way == 1 ? characters[i].escape
						   : characters[i].other));
}

static void spell_string(struct speller *s)
{
	buf_append_char(s->out, '"');
	for (unsigned count = pick(&s->shape, 4) * pick(&s->shape, 8); count > 0; count--)
		spell_character(s);
	buf_append_char(s->out, '"');
}

static void spell_value(struct speller *s, unsigned depth);

static void spell_array(struct speller *s, unsigned depth)
{
	unsigned count = pick(&s->shape, PARTS_MAX);

	buf_append_char(s->out, '[');
	spell_blanks(s);
	for (unsigned i = 0; i < count; i++) {
		if (i > 0)
			buf_append_char(s->out, ',');
		spell_value(s, depth);
	}
	buf_append_char(s->out, ']');
}

static void spell_member(struct speller *s, unsigned name, unsigned long long shape, unsigned depth)
{
	struct speller member = { s->out, shape, s->spelling };

	if (buf_data(s->out)[s->out->len - 1] != '{')
		buf_append_char(s->out, ',');
	spell_blanks(&member);
	buf_append_char(s->out, '"');
	if (s->spelling != 0 && pick(&member.spelling, 2) == 0)
		buf_printf(s->out, "\\u%04x", 'a' + name);
	else
		buf_append_char(s->out, (char)('a' + name));
	buf_append_char(s->out, '"');
	spell_blanks(&member);
	buf_append_char(s->out, ':');
	spell_value(&member, depth);
	s->spelling = member.spelling;
}

/* Each member has a shape of its own, so that the order does not matter. */
static void spell_object(struct speller *s, unsigned depth)
{
	unsigned names = pick(&s->shape, 1u << PARTS_MAX);
	unsigned long long shape = unit_random(&s->shape);
	unsigned first = s->spelling != 0 ? pick(&s->spelling, PARTS_MAX) : 0;

	buf_append_char(s->out, '{');
	for (unsigned i = 0; i < PARTS_MAX; i++) {
		unsigned name = (first + i) % PARTS_MAX;

		if ((names >> name & 1) == 0)
			continue;
		/* A member that does not count, before the one that does. */
		if (s->spelling != 0 && pick(&s->spelling, 4) == 0)
			spell_member(s, name, unit_random(&s->spelling), depth);
		spell_member(s, name, shape + name, depth);
	}
	buf_append_char(s->out, '}');
}

static void spell_value(struct speller *s, unsigned depth)
{
	static const char *const words[] = { "null", "true", "false" };
	unsigned kind = pick(&s->shape, depth == 0 ? 3 : 6);

	spell_blanks(s);
	if (kind == 0)
		buf_append_str(s->out, str_from(words[pick(&s->shape, 3)]));
	else if (kind == 1)
		spell_number(s);
	else if (kind == 2)
		spell_string(s);
	else if (kind == 3)
		spell_array(s, depth - 1);
	else
		spell_object(s, depth - 1);
	spell_blanks(s);
}

static void spell(struct buf *out, unsigned long long shape, unsigned long long spelling)
{
	struct speller s = { out, shape, spelling };

	buf_clear(out);
	spell_value(&s, DEPTH_MAX);
}

/* The spelling 0 is the model: values are equal if they are written in the same way. */
static void random_texts_are_equal_if_their_values_are(void)
{
	struct buf plain = BUF_INIT(BUF_NO_MAX), last = BUF_INIT(BUF_NO_MAX);
	struct buf spelled = BUF_INIT(BUF_NO_MAX);
	unsigned long long random = 1;
	unsigned same = 0;

	for (unsigned i = 0; i < RANDOM_VALUES; i++) {
		unsigned long long shape = unit_random(&random);

		spell(&plain, shape, 0);
		spell(&spelled, shape, unit_random(&random) | 1);
		TEST_ASSERT_TRUE_MESSAGE(are_equal(buf_str(&plain), buf_str(&spelled)),
					 buf_cstr(&spelled));
		if (last.len == 0)
			buf_append_str(&last, STR("null"));
		TEST_ASSERT_EQUAL_MESSAGE(str_equal(buf_str(&plain), buf_str(&last)),
					  are_equal(buf_str(&plain), buf_str(&last)),
					  buf_cstr(&plain));
		same += str_equal(buf_str(&plain), buf_str(&last));
		buf_clear(&last);
		buf_append_str(&last, buf_str(&plain));
	}
	/* Small values come up again. */
	TEST_ASSERT_GREATER_THAN(0, same);
	buf_done(&plain);
	buf_done(&last);
	buf_done(&spelled);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_number_has_neither_outer_zeros_nor_a_point);
	RUN(an_exponent_counts_into_the_place_of_the_point);
	RUN(zero_has_neither_sign_nor_exponent);
	RUN(no_digit_of_a_large_number_is_lost);
	RUN(an_exponent_may_have_any_number_of_digits);
	RUN(white_space_does_not_matter);
	RUN(the_order_of_members_does_not_matter);
	RUN(the_order_of_elements_matters);
	RUN(members_of_one_name_count_once_and_the_last_wins);
	RUN(the_last_of_many_members_of_one_name_wins);
	RUN(escapes_stand_for_their_characters);
	RUN(characters_that_look_alike_differ);
	RUN(numbers_are_compared_by_value);
	RUN(values_of_different_kinds_differ);
	RUN(text_within_strings_is_no_structure);
	RUN(strings_of_any_length_are_compared_as_a_whole);
	RUN(labels_keep_equal_values_apart);
	RUN(a_label_may_have_any_length);
	RUN(the_hash_of_a_value_never_changes);
	RUN(plain_objects_have_the_values_of_other_spellings);
	RUN(deep_nesting_is_hashed_in_linear_time_and_memory);
	RUN(random_texts_are_equal_if_their_values_are);
	return UNIT_RESULT();
}
