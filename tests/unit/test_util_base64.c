#include "util/base64.h"

#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
}

/* The vectors of RFC 4648. */
static const char *const pairs[][2] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
};

static void bytes_are_written_as_in_the_standard(void)
{
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct buf b = BUF_INIT(BUF_NO_MAX);

		base64_append(&b, str_from(pairs[i][0]));
		TEST_ASSERT_TRUE(str_equal(str_from(pairs[i][1]), buf_str(&b)));
		buf_clear(&b);
		TEST_ASSERT_TRUE(base64_append_decoded(&b, str_from(pairs[i][1])));
		TEST_ASSERT_TRUE(str_equal(str_from(pairs[i][0]), buf_str(&b)));
		buf_done(&b);
	}
}

static void every_byte_comes_back(void)
{
	struct buf text = BUF_INIT(BUF_NO_MAX), back = BUF_INIT(BUF_NO_MAX);
	char bytes[3 * 256];

	for (size_t len = 0; len <= sizeof bytes; len++) {
		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)(i * 7 + len);
		buf_clear(&text);
		buf_clear(&back);
		base64_append(&text, str_make(bytes, len));
		TEST_ASSERT_TRUE(base64_append_decoded(&back, buf_str(&text)));
		TEST_ASSERT_TRUE(str_equal(str_make(bytes, len), buf_str(&back)));
	}
	buf_done(&text);
	buf_done(&back);
}

static void other_texts_are_refused_and_append_nothing(void)
{
	static const char *const wrong[] = {
		"Z",	"Zg",	"Zg=",	"Zg=a",	  "====", "Z===",    "Zg==Zg==", "Zm9*",
		"Zm 9", "Zh==", "Zm9=", "Zm9v\n", "Zm-v", "Zm9vZg=", "=m9v"
	};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct buf b = BUF_INIT(BUF_NO_MAX);

		buf_append_str(&b, STR("x"));
		TEST_ASSERT_FALSE_MESSAGE(base64_append_decoded(&b, str_from(wrong[i])), wrong[i]);
		ASSERT_STR("x", buf_str(&b));
		buf_done(&b);
	}
}

static void bytes_become_an_object_in_json(void)
{
	struct buf b = BUF_INIT(BUF_NO_MAX);

	base64_append_json(&b, STR("\xff\0"));
	ASSERT_STR("{\"base64\":\"/wA=\"}", buf_str(&b));
	buf_done(&b);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(bytes_are_written_as_in_the_standard);
	RUN_TEST(every_byte_comes_back);
	RUN_TEST(other_texts_are_refused_and_append_nothing);
	RUN_TEST(bytes_become_an_object_in_json);
	return UNITY_END();
}
