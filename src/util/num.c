/*
 * Fast conversions for integers and numbers with few digits, the usual ones. The C library converts
 * the others, and the fast paths give the same results.
 *
 * A double is m * 2^e with m below 2^53. Printing p digits of it rounds m * 2^e * 10^k to an
 * integer: m * 5^k shifted by e + k bits. In the range of the fast path, m * 5^k fits into 128
 * bits. So the result is exact, and ties go to the even digit as in the C library.
 */
#include "util/num.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"
#include "util/wire.h"

__extension__ typedef unsigned __int128 uint128_t;

#define ARRAY_SIZE(a) (sizeof(a) / sizeof *(a))

/* Bytes of text that are copied to the stack for strtod(); longer text goes to the heap. */
#define STACK_TEXT 128

#define MANTISSA_BITS (DBL_MANT_DIG - 1) /* stored bits, without the leading one */
#define EXPONENT_BIAS (DBL_MAX_EXP - 1)

/* Digits of a time in seconds from 2001 to 2286. */
#define SECONDS_DIGITS 10
#define SECONDS_MIN    1000000000
#define SECONDS_END    10000000000
/* Bits after the point of such a time: it is at least 2^29, and a double has 53 bits. */
#define SECONDS_FRACTION_BITS 23

#define WORD_BYTES	 8
#define EIGHT_DIGITS	 100000000 /* the first value with more than eight digits */
#define EACH_BYTE(value) (0x0101010101010101ULL * (value))

/* All powers of ten that a double represents exactly, and the powers of five for scaling. */
static const double pow10_exact[] = {
	1e0,  1e1,  1e2,  1e3,	1e4,  1e5,  1e6,  1e7,	1e8,  1e9,  1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

static const uint64_t pow5[] = {
	1,
	5,
	25,
	125,
	625,
	3125,
	15625,
	78125,
	390625,
	1953125,
	9765625,
	48828125,
	244140625,
	1220703125,
	6103515625,
	30517578125,
	152587890625,
	762939453125,
	3814697265625,
	19073486328125,
	95367431640625,
	476837158203125,
};

static const uint64_t pow10_integer[] = {
	1,
	10,
	100,
	1000,
	10000,
	100000,
	1000000,
	10000000,
	100000000,
	1000000000,
	10000000000ULL,
	100000000000ULL,
	1000000000000ULL,
	10000000000000ULL,
	100000000000000ULL,
	1000000000000000ULL,
	10000000000000000ULL,
	100000000000000000ULL,
	1000000000000000000ULL,
	10000000000000000000ULL,
};

static const char digit_pairs[] = "00010203040506070809"
				  "10111213141516171819"
				  "20212223242526272829"
				  "30313233343536373839"
				  "40414243444546474849"
				  "50515253545556575859"
				  "60616263646566676869"
				  "70717273747576777879"
				  "80818283848586878889"
				  "90919293949596979899";

/*
 * The eight digits of a value below 10^8 as text, the first in the lowest byte. Halves, then pairs,
 * then digits are split all at once, each in the upper part of the lane that it came from. The
 * products round down exactly for the few digits of a lane.
 */
static uint64_t eight_digits(uint32_t value)
{
	uint64_t halves = value / 10000 | (uint64_t)(value % 10000) << 32;
	uint64_t upper = (halves * 10486 >> 20) & 0x0000007f0000007fULL;
	uint64_t pairs = upper | (halves - upper * 100) << 16;
	uint64_t digits;

	upper = (pairs * 103 >> 10) & 0x000f000f000f000fULL;
	digits = upper | (pairs - upper * 10) << 8;
	return digits + EACH_BYTE('0');
}

/* Write the digits so that they end before `end`. Returns where they begin. */
static char *put_digits(char *end, uint64_t value)
{
	while (value >= EIGHT_DIGITS) {
		end -= WORD_BYTES;
		wire_put_u64((unsigned char *)end, eight_digits((uint32_t)(value % EIGHT_DIGITS)));
		value /= EIGHT_DIGITS;
	}
	while (value >= 100) {
		end -= 2;
		memcpy(end, &digit_pairs[value % 100 * 2], 2);
		value /= 100;
	}
	if (value >= 10) {
		end -= 2;
		memcpy(end, &digit_pairs[value * 2], 2);
	} else {
		*--end = (char)('0' + value);
	}
	return end;
}

/* Write the digits with leading zeros, `width` characters in all, so that they end before `end`. */
static void put_padded(char *end, uint64_t value, size_t width)
{
	char *begin = put_digits(end, value);

	while (begin > end - width)
		*--begin = '0';
}

/* 1233 / 4096 approximates log10(2), so the number of bits gives the number of digits, or one less.
 * */
static size_t count_digits(uint64_t value)
{
	size_t bits = 64 - (size_t)__builtin_clzll(value | 1);
	size_t digits = bits * 1233 / 4096 + 1;

	return digits - (digits > 1 && value < pow10_integer[digits - 1]);
}

/* Write the ten digits of a time in seconds. */
static inline void put_seconds(char *out, uint64_t seconds)
{
	memcpy(out, &digit_pairs[seconds / EIGHT_DIGITS * 2], 2);
	wire_put_u64((unsigned char *)out + 2, eight_digits((uint32_t)(seconds % EIGHT_DIGITS)));
}

static size_t format_integer(char *out, bool negative, uint64_t value)
{
	size_t digits;

	if (negative)
		*out++ = '-';
	/* Most integers of more than two digits are times. */
	if (value - SECONDS_MIN < SECONDS_END - SECONDS_MIN) {
		put_seconds(out, value);
		out[SECONDS_DIGITS] = '\0';
		return SECONDS_DIGITS + negative;
	}
	digits = count_digits(value);
	out[digits] = '\0';
	put_digits(out + digits, value);
	return digits + negative;
}

size_t num_format_u64(char out[NUM_MAX], uint64_t value)
{
	return format_integer(out, false, value);
}

size_t num_format_i64(char out[NUM_MAX], int64_t value)
{
	return format_integer(out, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static uint64_t double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

/* The exponent of the largest power of two that is not above a positive, normal value. */
static int binary_exponent(double value)
{
	return (int)(double_bits(value) >> MANTISSA_BITS) - EXPONENT_BIAS;
}

/* A power of two. The exponent is that of a normal number. */
static inline double power_of_two(int exponent)
{
	uint64_t bits = (uint64_t)(EXPONENT_BIAS + exponent) << MANTISSA_BITS;
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

/* value * 10^decimals rounded to an integer. The value is positive and normal, and the result is
 * below 10^38. */
static uint128_t scale_and_round(double value, unsigned decimals)
{
	uint64_t one = (uint64_t)1 << MANTISSA_BITS;
	uint64_t mantissa = (double_bits(value) & (one - 1)) | one;
	int shift = binary_exponent(value) - MANTISSA_BITS + (int)decimals;
	uint128_t product, result, rest, half;

	assert(decimals < ARRAY_SIZE(pow5));
	product = (uint128_t)mantissa * pow5[decimals];
	if (shift >= 0)
		return product << shift;
	if (shift <= -128)
		return 0;
	result = product >> -shift;
	rest = product - (result << -shift);
	half = (uint128_t)1 << (-shift - 1);
	if (rest > half || (rest == half && (result & 1) != 0))
		result++;
	return result;
}

/* Write `whole`, a point, and `fraction` with `decimals` digits. */
static size_t format_scaled(char *out, bool negative, uint64_t whole, uint64_t fraction,
			    size_t decimals)
{
	size_t len = format_integer(out, negative, whole);

	out[len++] = '.';
	put_padded(out + len + decimals, fraction, decimals);
	len += decimals;
	out[len] = '\0';
	return len;
}

/*
 * Write a value from 1e-4 to 10^digits that is not an integer, with `digits` significant digits and
 * without trailing zeros. Returns 0 if rounding gives 10^digits.
 */
static size_t format_significant(char *out, bool negative, double value, int digits)
{
	/* A lower bound of log10: 1233 / 4096 is just below log10(2), and the offset makes the
	 * division round down. It is at most one too low, and rounding up may add one more. */
	int exponent = (binary_exponent(value) * 1233 + 32 * 4096) / 4096 - 32;
	uint64_t limit = (uint64_t)pow10_exact[digits];
	uint64_t scaled, unit;
	unsigned decimals;

	for (;; exponent++) {
		if (exponent == digits)
			return 0;
		decimals = (unsigned)(digits - 1 - exponent);
		scaled = (uint64_t)scale_and_round(value, decimals);
		if (scaled < limit)
			break;
	}
	while (decimals != 0 && scaled % 10 == 0) {
		scaled /= 10;
		decimals--;
	}
	if (decimals == 0)
		return format_integer(out, negative, scaled);
	if (exponent < 0)
		return format_scaled(out, negative, 0, scaled, decimals);
	unit = (uint64_t)pow10_exact[decimals];
	return format_scaled(out, negative, scaled / unit, scaled % unit, decimals);
}

/*
 * Write a time from 2001 to 2286 in seconds with 14 significant digits: ten digits, and up to four
 * decimals. Nearly all numbers with more than one digit in replies are such times.
 *
 * A double has at most SECONDS_FRACTION_BITS bits after the point of such a value. So the fraction
 * times 10^4 is exact in 64 bits, and rounds as in the C library: ties go to the even digit.
 * Returns 0 for any other value.
 */
static inline size_t format_seconds(char *out, double value)
{
	const uint64_t one = (uint64_t)1 << SECONDS_FRACTION_BITS;
	uint64_t seconds, fraction;
	uint32_t decimals;
	size_t len = SECONDS_DIGITS;

	/* Below the limit, rounding up does not add a digit. */
	if (!(value >= SECONDS_MIN && value < SECONDS_END - 1))
		return 0;
	seconds = (uint64_t)(int64_t)value;
	fraction = (uint64_t)(int64_t)((value - (double)(int64_t)seconds) * (double)one);
	fraction *= 10000;
	decimals = (uint32_t)((fraction + one / 2 - 1 + (fraction >> SECONDS_FRACTION_BITS & 1)) >>
			      SECONDS_FRACTION_BITS);
	if (decimals == 10000) {
		seconds++;
		decimals = 0;
	}
	put_seconds(out, seconds);
	if (decimals != 0) {
		out[len] = '.';
		memcpy(out + len + 1, &digit_pairs[decimals / 100 * 2], 2);
		memcpy(out + len + 3, &digit_pairs[decimals % 100 * 2], 2);
		len += 5;
		while (out[len - 1] == '0')
			len--;
	}
	out[len] = '\0';
	return len;
}

static size_t format_general(char out[NUM_MAX], double value, int digits)
{
	double magnitude = fabs(value), limit = pow10_exact[digits];
	bool negative = signbit(value) != 0;
	size_t len = 0;

	if (magnitude < limit && magnitude == (double)(uint64_t)magnitude)
		return format_integer(out, negative, (uint64_t)magnitude);
	if (magnitude >= 1e-4 && magnitude < limit)
		len = format_significant(out, negative, magnitude, digits);
	if (len == 0)
		len = (size_t)snprintf(out, NUM_MAX, "%.*g", digits, value);
	return len;
}

size_t num_format_g14(char out[NUM_MAX], double value)
{
	size_t len = format_seconds(out, value);

	return len != 0 ? len : format_general(out, value, 14);
}

size_t num_format_g17(char out[NUM_MAX], double value)
{
	return format_general(out, value, 17);
}

size_t num_format_f20(char out[NUM_F20_MAX], double value)
{
	double magnitude = fabs(value), fraction;
	uint64_t whole, ten_digits = 10000000000;
	uint128_t scaled = 0;
	size_t len;

	if (!(magnitude < 1e18))
		return (size_t)snprintf(out, NUM_F20_MAX, "%.20f", value);
	whole = (uint64_t)magnitude;
	fraction = magnitude - (double)whole;
	/* The largest fraction is 2^-53 below 1 and does not round up to it. */
	if (fraction >= DBL_MIN)
		scaled = scale_and_round(fraction, 20);
	len = format_scaled(out, signbit(value) != 0, whole, (uint64_t)(scaled / ten_digits), 10);
	put_padded(out + len + 10, (uint64_t)(scaled % ten_digits), 10);
	len += 10;
	out[len] = '\0';
	return len;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Append digits to a number that does not overflow. Returns where they end. */
static inline const char *read_digits(const char *at, const char *end, uint64_t *number)
{
	uint64_t value = *number;

	for (; at < end; at++) {
		unsigned digit = (unsigned)(unsigned char)*at - '0';

		if (digit > 9)
			break;
		value = value * 10 + digit;
	}
	*number = value;
	return at;
}

/*
 * Read a decimal number without an exponent whose result is exact: up to 2^53 as an integer,
 * divided by an exact power of ten. The division is the only step that rounds, so strtod() gives
 * the same result. Returns false for other texts, which may still be numbers.
 */
static bool parse_simple(struct qless_str text, double *ret_value)
{
	bool negative = text.len != 0 && text.ptr[0] == '-';
	const char *at = text.ptr + negative, *end = text.ptr + text.len;
	const char *whole = at, *fraction;
	uint64_t number = 0;
	size_t digits, decimals = 0;
	double value;

	/* 19 digits and a point cannot overflow. */
	if (end - at > 20)
		return false;
	at = read_digits(at, end, &number);
	digits = (size_t)(at - whole);
	if (at < end && *at == '.') {
		fraction = at + 1;
		at = read_digits(fraction, end, &number);
		decimals = (size_t)(at - fraction);
		digits += decimals;
	}
	if (at != end || digits == 0 || digits > 19 || number > (uint64_t)1 << DBL_MANT_DIG)
		return false;
	/* Signed, because processors have an instruction to convert signed integers. */
	value = (double)(int64_t)number;
	if (decimals != 0)
		value /= pow10_exact[decimals];
	*ret_value = negative ? -value : value;
	return true;
}

/* The number of eight digits. Each byte has a value from 0 to 9, and the lowest byte is the first
 * digit. Digits are joined to four numbers of two digits, then two of four, then one. */
static inline uint64_t join_digits(uint64_t digits)
{
	uint64_t pairs = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ff;
	uint64_t fours = (pairs * 100 + (pairs >> 16)) & 0x0000ffff0000ffff;

	return (uint32_t)(fours * 10000 + (fours >> 32));
}

/* Marks the bytes that are not digits: the highest bit of each of the eight bytes is 0 for a digit.
 * */
static inline uint64_t mark_others(uint64_t digits)
{
	return digits | (digits + EACH_BYTE(0x7f - 9));
}

/*
 * Read the time of a client, which every call of a script has: ten digits of seconds, a point, and
 * one to eight decimals. Returns false for any other text.
 *
 * The seconds have 30 to 34 bits, which leave 19 to 23 of the 53 bits for the fraction. The
 * fraction is read as eight digits: a number below 2^27, in units of 10^-8 seconds. Shifted by the
 * bits that are left it still fits into 64 bits, so it is rounded in integers. There are no ties:
 * half of 10^8 has fewer factors of two than the shifted number.
 */
static inline bool parse_seconds(struct qless_str text, double *ret_value)
{
	const unsigned char *at = (const unsigned char *)text.ptr;
	size_t decimals = text.len - (SECONDS_DIGITS + 1);
	uint64_t head, tail, fraction, seconds, mantissa;
	unsigned shift;

	if (decimals - 1 >= WORD_BYTES || at[SECONDS_DIGITS] != '.')
		return false;
	head = wire_get_u64(at) ^ EACH_BYTE('0');
	tail = wire_get_u64(at + SECONDS_DIGITS - WORD_BYTES) ^ EACH_BYTE('0');
	/* Load the last eight bytes, shift out those before the fraction, and fill up with zeros.
	 * */
	fraction = wire_get_u64(at + text.len - WORD_BYTES) ^ EACH_BYTE('0');
	fraction >>= 8 * (WORD_BYTES - decimals);
	if (((mark_others(head) | mark_others(tail) | mark_others(fraction)) & EACH_BYTE(0x80)) !=
		    0 ||
	    (head & 0xff) == 0)
		return false;
	seconds = ((head & 0xff) * 10 + (head >> 8 & 0xff)) * 100000000 + join_digits(tail);
	shift = (unsigned)__builtin_clzll(seconds) - (64 - DBL_MANT_DIG);
	fraction = join_digits(fraction) << shift;
	mantissa = (seconds << shift) + fraction / 100000000;
	mantissa += 2 * (fraction % 100000000) > 100000000;
	*ret_value = (double)(int64_t)mantissa * power_of_two(-(int)shift);
	return true;
}

/* Read all that strtod() reads, if it ends with the text. *ret_range is set if the result was out
 * of range. */
static bool parse_any(struct qless_str text, double *ret_value, bool *ret_range)
{
	char small[STACK_TEXT], *copy = small, *end;
	int saved_errno;
	bool whole;

	*ret_range = false;
	if (parse_simple(text, ret_value))
		return true;
	if (text.len == 0 || text.len > NUM_TEXT_MAX || is_blank(text.ptr[0]))
		return false;
	if (text.len >= sizeof small)
		copy = mem_alloc(text.len + 1);
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	saved_errno = errno;
	errno = 0;
	*ret_value = strtod(copy, &end);
	*ret_range = errno == ERANGE;
	errno = saved_errno;
	whole = end == copy + text.len;
	if (copy != small)
		free(copy);
	return whole;
}

/* Read any number that is not the time of a client. */
static __attribute__((noinline)) bool parse_lua(struct qless_str text, double *ret_value)
{
	const char *nul;
	bool range;
	double value;

	if (parse_simple(text, ret_value))
		return true;
	nul = text.len != 0 ? memchr(text.ptr, '\0', text.len) : NULL;
	if (nul != NULL)
		text.len = (size_t)(nul - text.ptr);
	while (text.len != 0 && is_blank(text.ptr[0])) {
		text.ptr++;
		text.len--;
	}
	while (text.len != 0 && is_blank(text.ptr[text.len - 1]))
		text.len--;
	if (!parse_any(text, &value, &range))
		return false;
	*ret_value = value;
	return true;
}

bool num_parse_lua(struct qless_str text, double *ret_value)
{
	return parse_seconds(text, ret_value) || parse_lua(text, ret_value);
}

/* Digits up to which every whole number is exact. */
#define EXACT_DIGITS 15

/* Read a number of few digits and nothing else, as nearly all are. */
static bool parse_few_digits(struct qless_str text, double *ret_value)
{
	int64_t value = 0;

	if (text.len == 0 || text.len > EXACT_DIGITS)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!is_digit(text.ptr[i]))
			return false;
		value = value * 10 + (text.ptr[i] - '0');
	}
	*ret_value = (double)value;
	return true;
}

bool num_parse_decimal(struct qless_str text, double *ret_value)
{
	if (parse_few_digits(text, ret_value))
		return true;
	for (size_t i = 0; i < text.len; i++) {
		if (memchr("0123456789+-.eE", text.ptr[i], 15) == NULL)
			return false;
	}
	return num_parse_double(text, ret_value);
}

bool num_parse_double(struct qless_str text, double *ret_value)
{
	bool range;
	double value;

	if (!parse_any(text, &value, &range) || isnan(value))
		return false;
	if (range && (isinf(value) || value == 0))
		return false;
	*ret_value = value;
	return true;
}

/* Read digits without leading zeros, up to `max`. */
static bool parse_digits(struct qless_str text, uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (text.len == 0 || (text.ptr[0] == '0' && text.len != 1))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!is_digit(text.ptr[i]) || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text.ptr[i] - '0'), &value))
			return false;
	}
	if (value > max)
		return false;
	*ret_value = value;
	return true;
}

bool num_parse_i64(struct qless_str text, int64_t *ret_value)
{
	uint64_t value;

	if (text.len == 1 && is_digit(text.ptr[0])) {
		*ret_value = text.ptr[0] - '0';
		return true;
	}
	if (text.len != 0 && text.ptr[0] == '-') {
		text = str_make(text.ptr + 1, text.len - 1);
		if (!parse_digits(text, (uint64_t)INT64_MAX + 1, &value) || value == 0)
			return false;
		*ret_value = -(int64_t)(value - 1) - 1;
		return true;
	}
	if (!parse_digits(text, INT64_MAX, &value))
		return false;
	*ret_value = (int64_t)value;
	return true;
}

bool num_parse_u64(struct qless_str text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	uint64_t value;

	if (!parse_digits(text, max, &value) || value < min)
		return false;
	*ret_value = value;
	return true;
}

bool num_parse_bytes(struct qless_str text, uint64_t *ret_value)
{
	static const struct {
		struct qless_str name;
		uint64_t bytes;
	} units[] = {
		{ STR_INIT(""), 1 },	       { STR_INIT("b"), 1 },
		{ STR_INIT("k"), 1000 },       { STR_INIT("kb"), 1024 },
		{ STR_INIT("m"), 1000000 },    { STR_INIT("mb"), 1 << 20 },
		{ STR_INIT("g"), 1000000000 }, { STR_INIT("gb"), 1 << 30 },
	};
	struct qless_str unit;
	uint64_t value;
	size_t digits = 0;

	while (digits < text.len && is_digit(text.ptr[digits]))
		digits++;
	unit = str_make(text.ptr + digits, text.len - digits);
	if (!parse_digits(str_make(text.ptr, digits), UINT64_MAX, &value))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!str_equal_nocase(unit, units[i].name))
			continue;
		if (value > UINT64_MAX / units[i].bytes)
			return false;
		*ret_value = value * units[i].bytes;
		return true;
	}
	return false;
}
