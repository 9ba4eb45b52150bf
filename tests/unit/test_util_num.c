#include "util/num.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#ifdef __SANITIZE_ADDRESS__
#define ROUNDS 10000
#else
#define ROUNDS 30000
#endif

void setUp(void)
{
}

void tearDown(void)
{
}

/* Fails, with the number in the message, unless all formats agree with printf. */
static void check_formats(double value)
{
	char out[NUM_F20_MAX], expected[NUM_F20_MAX];
	int len;

	len = snprintf(expected, sizeof expected, "%.14g", value);
	if (num_format_g14(out, value) != (size_t)len || strcmp(out, expected) != 0)
		TEST_ASSERT_EQUAL_STRING(expected, out);
	len = snprintf(expected, sizeof expected, "%.17g", value);
	if (num_format_g17(out, value) != (size_t)len || strcmp(out, expected) != 0)
		TEST_ASSERT_EQUAL_STRING(expected, out);
	len = snprintf(expected, sizeof expected, "%.20f", value);
	if (num_format_f20(out, value) != (size_t)len || strcmp(out, expected) != 0)
		TEST_ASSERT_EQUAL_STRING(expected, out);
}

static double from_bits(unsigned long long bits)
{
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

static void special_numbers_are_formatted_as_printf_does(void)
{
	static const double values[] = {
		0.0,
		-0.0,
		1,
		-1,
		0.1,
		0.5,
		1e-4,
		9.9999e-5,
		1e14,
		1e15,
		1e17,
		1e18,
		1e22,
		DBL_MAX,
		-DBL_MAX,
		DBL_MIN,
		4.9406564584124654e-324,
		INFINITY,
		-INFINITY,
		NAN,
		99999999999999.9,
		99999999999999.5,
		0.00009999999999999999,
		12345678901234.5,
		12345678901235.5,
		0.99999999999999989,
		9007199254740993.0,
		9007199254740992.0,
		18014398509481984.0,
		2.5,
		1234567890.1235,
	};

	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		check_formats(values[i]);
	check_formats(-(double)NAN);
}

static void numbers_next_to_powers_of_ten_are_formatted_as_printf_does(void)
{
	for (int power = -25; power <= 25; power++) {
		double at = pow(10, power);

		for (int i = 0; i < 20; i++)
			at = nextafter(at, 0);
		for (int i = 0; i < 40; i++) {
			check_formats(at);
			check_formats(-at);
			at = nextafter(at, INFINITY);
		}
	}
}

static void random_numbers_of_all_kinds_are_formatted_as_printf_does(void)
{
	unsigned long long state = 1;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned long long r = unit_random(&state), q = unit_random(&state);
		double now = 1.7e9 + (double)(q % 1000000000) / 1e6;
		double whole = (double)(long long)(r >> (q % 63));

		check_formats(from_bits(r));
		check_formats(whole);
		check_formats(-whole - 0.5);
		check_formats(now);
		check_formats((double)(r % 20) - now / 1e10);
		/* Halfway between two numbers of 14 digits, where printf rounds to even. */
		check_formats((double)(long long)(r % 100000000000000) + 0.5);
		check_formats((double)(long long)(r % 1000000) / (double)(1 << q % 20));
		check_formats(ldexp((double)(r >> 11), -(int)(q % 120)));
	}
}

static void times_in_seconds_are_formatted_as_printf_does(void)
{
	static const double edges[] = { 1e9, 9999999998.0, 9999999999.0, 1e10 };
	unsigned long long state = 5;

	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
		for (int part = -64; part <= 64; part++)
			check_formats(edges[i] + part / 64.0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		double seconds;

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		seconds = 1e9 + (double)((state >> 30) % 9000000000ULL);
		check_formats(seconds);
		/* A half of the last decimal is a multiple of 1/32. */
		check_formats(seconds + (double)(state >> 59) / 32);
		check_formats(seconds + (double)(state >> 41) / (1 << 23));
		check_formats(seconds + (double)(state % 1000) / 1000);
		check_formats(seconds + 1 - 1.0 / (1 << 19));
	}
}

static void integers_are_formatted_at_both_ends_of_their_range(void)
{
	char out[NUM_MAX];

	TEST_ASSERT_EQUAL_size_t(20, num_format_i64(out, INT64_MIN));
	TEST_ASSERT_EQUAL_STRING("-9223372036854775808", out);
	num_format_i64(out, INT64_MAX);
	TEST_ASSERT_EQUAL_STRING("9223372036854775807", out);
	TEST_ASSERT_EQUAL_size_t(1, num_format_i64(out, 0));
	TEST_ASSERT_EQUAL_STRING("0", out);
	num_format_i64(out, -1);
	TEST_ASSERT_EQUAL_STRING("-1", out);
	TEST_ASSERT_EQUAL_size_t(20, num_format_u64(out, UINT64_MAX));
	TEST_ASSERT_EQUAL_STRING("18446744073709551615", out);
}

static void random_integers_are_formatted_and_read_back(void)
{
	unsigned long long state = 2;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned long long r = unit_random(&state);
		int64_t value = (int64_t)r >> (r % 64), back = 0;
		char out[NUM_MAX], expected[NUM_MAX];
		size_t len = num_format_i64(out, value);

		snprintf(expected, sizeof expected, "%lld", (long long)value);
		TEST_ASSERT_EQUAL_STRING(expected, out);
		TEST_ASSERT_TRUE(num_parse_i64(str_make(out, len), &back));
		TEST_ASSERT_TRUE(back == value);
	}
}

#define ASSERT_LUA(expected, text)                                               \
	do {                                                                     \
		double got_ = 77;                                                \
		TEST_ASSERT_TRUE_MESSAGE(num_parse_lua(STR(text), &got_), text); \
		TEST_ASSERT_TRUE_MESSAGE(got_ == (expected), text);              \
	} while (0)

#define REFUSE_LUA(text)                                                          \
	do {                                                                      \
		double got_ = 77;                                                 \
		TEST_ASSERT_FALSE_MESSAGE(num_parse_lua(STR(text), &got_), text); \
		TEST_ASSERT_TRUE_MESSAGE(got_ == 77, text);                       \
	} while (0)

static void numbers_of_lua_are_numbers(void)
{
	double value;

	ASSERT_LUA(5, "5");
	ASSERT_LUA(5, "+5");
	ASSERT_LUA(-5, "-5");
	ASSERT_LUA(0.5, ".5");
	ASSERT_LUA(1, "1.");
	ASSERT_LUA(1000, "1e3");
	ASSERT_LUA(0.001, "1E-3");
	ASSERT_LUA(5, " 5 ");
	ASSERT_LUA(5, "\t\n\v\f\r5\t\n\v\f\r");
	ASSERT_LUA(16, "0x10");
	ASSERT_LUA(31, "0X1F");
	ASSERT_LUA(-16, "-0x10");
	ASSERT_LUA(8, "0x1p3");
	ASSERT_LUA(INFINITY, "inf");
	ASSERT_LUA(-INFINITY, "-INFINITY");
	ASSERT_LUA(INFINITY, "1e400");
	ASSERT_LUA(0, "1e-400");
	ASSERT_LUA(5, "5\0junk");
	ASSERT_LUA(5, "5 \0junk");
	ASSERT_LUA(7, "007");
	ASSERT_LUA(9007199254740993.0, "9007199254740993");
	ASSERT_LUA(0.1, "0.1");
	ASSERT_LUA(1234567890.1234567, "1234567890.1234567");
	TEST_ASSERT_TRUE(num_parse_lua(STR("-0"), &value) && value == 0 && signbit(value));
	TEST_ASSERT_TRUE(num_parse_lua(STR("nan"), &value) && isnan(value));
	TEST_ASSERT_TRUE(num_parse_lua(STR("nan(1)"), &value) && isnan(value));
}

static void other_texts_are_not_numbers(void)
{
	REFUSE_LUA("");
	REFUSE_LUA(" ");
	REFUSE_LUA("\0"
		   "5");
	REFUSE_LUA(" \0"
		   "5");
	REFUSE_LUA(".");
	REFUSE_LUA("-");
	REFUSE_LUA("+");
	REFUSE_LUA("-.");
	REFUSE_LUA("1e");
	REFUSE_LUA("0x");
	REFUSE_LUA("0b1");
	REFUSE_LUA("1_0");
	REFUSE_LUA("1,5");
	REFUSE_LUA("1.2.3");
	REFUSE_LUA("5 x");
	REFUSE_LUA("5 5");
	REFUSE_LUA("--5");
	REFUSE_LUA("- 5");
	REFUSE_LUA("5\xc2\xa0");
	REFUSE_LUA("abc");
}

static void long_text_is_a_number_up_to_a_limit(void)
{
	size_t size = 2 * NUM_TEXT_MAX;
	char *text = malloc(size);
	double value = 0;

	memset(text, '0', size);
	text[NUM_TEXT_MAX - 1] = '5';
	TEST_ASSERT_TRUE(num_parse_lua(str_make(text, NUM_TEXT_MAX), &value));
	TEST_ASSERT_TRUE(value == 5);
	TEST_ASSERT_FALSE(num_parse_lua(str_make(text, NUM_TEXT_MAX + 1), &value));
	memset(text, ' ', size);
	memset(text + size / 2, '9', 400);
	TEST_ASSERT_TRUE(num_parse_lua(str_make(text, size), &value));
	TEST_ASSERT_TRUE(isinf(value));
	for (size_t len = 120; len < 140; len++) {
		memset(text, '0', len);
		text[len - 1] = '7';
		TEST_ASSERT_TRUE(num_parse_double(str_make(text, len), &value));
		TEST_ASSERT_TRUE(value == 7);
	}
	free(text);
}

/* Like Lua 5.1, on a string with a NUL at its end. */
static bool model_lua(const char *text, double *ret_value, bool *ret_range)
{
	char *end;

	errno = 0;
	*ret_value = strtod(text, &end);
	*ret_range = errno == ERANGE;
	return end != text && end[strspn(end, " \t\n\v\f\r")] == '\0';
}

static bool same_double(double a, double b)
{
	return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void check_parsers(const char *text, size_t len)
{
	char *exact = malloc(len != 0 ? len : 1); /* so that reading past the end is noticed */
	char copy[64];
	double expected, got;
	struct qless_str s = str_make(exact, len);
	bool is_number, range;

	memcpy(exact, text, len);
	memcpy(copy, text, len);
	copy[len] = '\0';
	is_number = model_lua(copy, &expected, &range);
	if (num_parse_lua(s, &got) != is_number || (is_number && !same_double(expected, got)))
		TEST_FAIL_MESSAGE(copy);
	is_number = is_number && strlen(copy) == len && strpbrk(copy, " \t\n\v\f\r") == NULL &&
		    !isnan(expected) && !(range && (isinf(expected) || expected == 0));
	if (num_parse_double(s, &got) != is_number || (is_number && !same_double(expected, got)))
		TEST_FAIL_MESSAGE(copy);
	free(exact);
}

static void random_text_is_read_as_lua_does(void)
{
	static const char bytes[] = "00112345678999..ee++--xXpP \t\nnaif()\0_,";
	unsigned long long state = 3;

	for (int i = 0; i < ROUNDS * 5; i++) {
		char text[32];
		size_t len = (size_t)(unit_random(&state) % 12);

		for (size_t k = 0; k < len; k++)
			text[k] = bytes[unit_random(&state) % sizeof bytes];
		check_parsers(text, len);
	}
}

static void random_decimals_are_read_as_strtod_does(void)
{
	unsigned long long state = 4;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned long long r = unit_random(&state), q = unit_random(&state);
		char text[64];
		int len = 0;

		switch (q % 4) {
		case 0:
			len = snprintf(text, sizeof text, "%.17g", from_bits(r));
			break;
		case 1:
			len = snprintf(text, sizeof text, "%llu", r >> (q >> 8) % 64);
			break;
		case 2:
			len = snprintf(text, sizeof text, "-%llu.%llu", r >> (q >> 8) % 64,
				       q >> (r >> 8) % 64);
			break;
		default:
			len = snprintf(text, sizeof text, "%.*f", (int)(q >> 8) % 9,
				       (double)r / 1e10);
		}
		check_parsers(text, (size_t)len);
	}
}

/* Digits with a point at any place, or without one; some with one other byte. */
static void random_digits_are_read_as_strtod_does(void)
{
	static const char others[] = "..-+eE \0/:x\xb0\xff";
	unsigned long long state = 5;

	for (int i = 0; i < ROUNDS * 40; i++) {
		unsigned long long r = unit_random(&state), digits = unit_random(&state);
		size_t len = 1 + (size_t)(r % 22), point = (size_t)(r >> 8) % 32;
		char text[32];

		for (size_t k = 0; k < len; k++) {
			text[k] = (char)('0' + digits % 10);
			digits /= 10;
		}
		if (point < len)
			text[point] = '.';
		if ((r >> 16) % 4 == 0)
			text[(r >> 24) % len] = others[(r >> 32) % sizeof others];
		check_parsers(text, len);
	}
}

/* The form with its own fast path, and texts that nearly have this form. */
static void times_of_clients_are_read_as_strtod_does(void)
{
	static const unsigned long long limits[] = {
		999999999,  1000000000, 1073741823, 1073741824,
		4294967295, 4294967296, 8589934591, 9999999999
	};
	unsigned long long state = 6;

	for (int i = 0; i < ROUNDS * 30; i++) {
		unsigned long long r = unit_random(&state), fraction = unit_random(&state);
		unsigned long long seconds = i % 4 == 0 ? limits[r % 8] : r % 10000000000;
		int decimals = 1 + (int)((r >> 40) % 9), len;
		unsigned long long unit = 1;
		char text[64];

		for (int k = 0; k < decimals; k++)
			unit *= 10;
		len = snprintf(text, sizeof text, "%llu.%0*llu", seconds, decimals,
			       fraction % unit);
		if (i % 16 == 3)
			text[(r >> 48) % (unsigned)len] = (char)(r >> 56);
		check_parsers(text, (size_t)len);
	}
}

static void a_float_argument_is_stricter(void)
{
	static const struct qless_str refused[] = {
		STR_INIT(""),	  STR_INIT(" 5"),    STR_INIT("5 "),	 STR_INIT("nan"),
		STR_INIT("-nan"), STR_INIT("1e400"), STR_INIT("1e-400"), STR_INIT("5\0"),
		STR_INIT("5x"),	  STR_INIT("\n5"),
	};
	double value = 77;

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		TEST_ASSERT_FALSE(num_parse_double(refused[i], &value));
	TEST_ASSERT_TRUE(value == 77);
	TEST_ASSERT_TRUE(num_parse_double(STR("-inf"), &value) && value == -INFINITY);
	TEST_ASSERT_TRUE(num_parse_double(STR("+1.5e2"), &value) && value == 150);
	TEST_ASSERT_TRUE(num_parse_double(STR("1e-320"), &value) && value > 0);
}

static void a_decimal_argument_has_neither_letters_nor_blanks(void)
{
	static const struct qless_str refused[] = {
		STR_INIT(""),	 STR_INIT("0x10"),  STR_INIT("inf"),   STR_INIT("-Infinity"),
		STR_INIT("nan"), STR_INIT("1_000"), STR_INIT(" 5"),    STR_INIT("5 "),
		STR_INIT("e"),	 STR_INIT("1e"),    STR_INIT("1e400"), STR_INIT("1p3"),
		STR_INIT("."),	 STR_INIT("5\0"),   STR_INIT("1.2.3"), STR_INIT("1,5"),
	};
	double value = 77;

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		TEST_ASSERT_FALSE(num_parse_decimal(refused[i], &value));
	TEST_ASSERT_TRUE(value == 77);
	TEST_ASSERT_TRUE(num_parse_decimal(STR("+1.5E+2"), &value) && value == 150);
	TEST_ASSERT_TRUE(num_parse_decimal(STR("-.5e-1"), &value) && value == -0.05);
	TEST_ASSERT_TRUE(num_parse_decimal(STR("007"), &value) && value == 7);
}

static void an_integer_argument_has_one_spelling(void)
{
	static const struct qless_str refused[] = {
		STR_INIT(""),
		STR_INIT("-"),
		STR_INIT("-0"),
		STR_INIT("+1"),
		STR_INIT("01"),
		STR_INIT("-01"),
		STR_INIT(" 1"),
		STR_INIT("1 "),
		STR_INIT("1\0"),
		STR_INIT("1.0"),
		STR_INIT("0x1"),
		STR_INIT("--1"),
		STR_INIT("1e3"),
		STR_INIT("9223372036854775808"),
		STR_INIT("-9223372036854775809"),
		STR_INIT("18446744073709551616"),
		STR_INIT("100000000000000000000000000000"),
	};
	int64_t value = 77;

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		TEST_ASSERT_FALSE(num_parse_i64(refused[i], &value));
	TEST_ASSERT_TRUE(value == 77);
	TEST_ASSERT_TRUE(num_parse_i64(STR("0"), &value) && value == 0);
	TEST_ASSERT_TRUE(num_parse_i64(STR("9223372036854775807"), &value) && value == INT64_MAX);
	TEST_ASSERT_TRUE(num_parse_i64(STR("-9223372036854775808"), &value) && value == INT64_MIN);
}

static void an_unsigned_argument_is_held_to_its_range(void)
{
	uint64_t value = 77;

	TEST_ASSERT_FALSE(num_parse_u64(STR("9"), 10, 20, &value));
	TEST_ASSERT_FALSE(num_parse_u64(STR("21"), 10, 20, &value));
	TEST_ASSERT_FALSE(num_parse_u64(STR("-1"), 0, 20, &value));
	TEST_ASSERT_FALSE(num_parse_u64(STR("18446744073709551616"), 0, UINT64_MAX, &value));
	TEST_ASSERT_TRUE(value == 77);
	TEST_ASSERT_TRUE(num_parse_u64(STR("10"), 10, 20, &value) && value == 10);
	TEST_ASSERT_TRUE(num_parse_u64(STR("20"), 10, 20, &value) && value == 20);
	TEST_ASSERT_TRUE(num_parse_u64(STR("18446744073709551615"), 0, UINT64_MAX, &value) &&
			 value == UINT64_MAX);
}

static void sizes_take_the_units_of_a_configuration_file(void)
{
	static const struct {
		struct qless_str text;
		uint64_t bytes;
	} good[] = {
		{ STR_INIT("0"), 0 },
		{ STR_INIT("100"), 100 },
		{ STR_INIT("100b"), 100 },
		{ STR_INIT("1k"), 1000 },
		{ STR_INIT("1kb"), 1024 },
		{ STR_INIT("5M"), 5000000 },
		{ STR_INIT("5Mb"), 5242880 },
		{ STR_INIT("1g"), 1000000000 },
		{ STR_INIT("1GB"), 1073741824 },
		{ STR_INIT("17179869183gb"), 17179869183u * UINT64_C(1073741824) },
	};
	static const struct qless_str bad[] = {
		STR_INIT(""),
		STR_INIT("k"),
		STR_INIT("1t"),
		STR_INIT("1kk"),
		STR_INIT("1 k"),
		STR_INIT("-1k"),
		STR_INIT("1k "),
		STR_INIT("1.5k"),
		STR_INIT("17179869184gb"),
		STR_INIT("18446744073709551616"),
	};
	uint64_t bytes;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		TEST_ASSERT_TRUE(num_parse_bytes(good[i].text, &bytes));
		TEST_ASSERT_TRUE(bytes == good[i].bytes);
	}
	bytes = 77;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		TEST_ASSERT_FALSE(num_parse_bytes(bad[i], &bytes));
	TEST_ASSERT_TRUE(bytes == 77);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(special_numbers_are_formatted_as_printf_does);
	RUN(numbers_next_to_powers_of_ten_are_formatted_as_printf_does);
	RUN(random_numbers_of_all_kinds_are_formatted_as_printf_does);
	RUN(times_in_seconds_are_formatted_as_printf_does);
	RUN(integers_are_formatted_at_both_ends_of_their_range);
	RUN(random_integers_are_formatted_and_read_back);
	RUN(numbers_of_lua_are_numbers);
	RUN(other_texts_are_not_numbers);
	RUN(long_text_is_a_number_up_to_a_limit);
	RUN(random_text_is_read_as_lua_does);
	RUN(random_decimals_are_read_as_strtod_does);
	RUN(random_digits_are_read_as_strtod_does);
	RUN(times_of_clients_are_read_as_strtod_does);
	RUN(a_float_argument_is_stricter);
	RUN(a_decimal_argument_has_neither_letters_nor_blanks);
	RUN(an_integer_argument_has_one_spelling);
	RUN(an_unsigned_argument_is_held_to_its_range);
	RUN(sizes_take_the_units_of_a_configuration_file);
	return UNIT_RESULT();
}
