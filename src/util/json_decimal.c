#include "util/json_decimal.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/num.h"

/* Digits of an exponent that is computed with integers. The point moves it by less than that. */
#define SMALL_DIGITS 17

/* The parts of a number. The value is the digits, read as one whole number, times ten to the power
 * of the exponent plus `shift`. */
struct parts {
	bool is_negative;
	struct qless_str whole;
	struct qless_str fraction;
	bool is_exponent_negative;
	struct qless_str exponent; /* without leading zeros */
	int64_t shift;
};

static struct qless_str take_digits(const char **at, const char *end)
{
	const char *begin = *at;

	while (*at < end && **at >= '0' && **at <= '9')
		++*at;
	return str_make(begin, (size_t)(*at - begin));
}

static void skip_zeros(struct qless_str *digits)
{
	while (digits->len > 0 && *digits->ptr == '0') {
		digits->ptr++;
		digits->len--;
	}
}

/* Drops zeros at the end. Returns their number. */
static size_t drop_zeros(struct qless_str *digits)
{
	size_t len = digits->len;

	while (digits->len > 0 && digits->ptr[digits->len - 1] == '0')
		digits->len--;
	return len - digits->len;
}

static struct parts take_apart(struct qless_str number)
{
	struct parts parts = { .fraction = STR(""), .exponent = STR("") };
	const char *at = number.ptr, *end = at + number.len;

	if (*at == '-') {
		parts.is_negative = true;
		at++;
	}
	parts.whole = take_digits(&at, end);
	if (at < end && *at == '.') {
		at++;
		parts.fraction = take_digits(&at, end);
	}
	if (at < end) {
		at++;
		parts.is_exponent_negative = *at == '-';
		at += *at == '-' || *at == '+';
		parts.exponent = take_digits(&at, end);
	}
	assert(at == end);
	drop_zeros(&parts.fraction);
	parts.shift = -(int64_t)parts.fraction.len;
	skip_zeros(&parts.whole);
	if (parts.fraction.len == 0)
		parts.shift = (int64_t)drop_zeros(&parts.whole);
	else if (parts.whole.len == 0)
		skip_zeros(&parts.fraction);
	skip_zeros(&parts.exponent);
	return parts;
}

static char *put(char *to, struct qless_str text)
{
	if (text.len > 0)
		memcpy(to, text.ptr, text.len);
	return to + text.len;
}

/* Writes the sum of a number, as digits, and `by`, which has a smaller absolute value. */
static char *put_sum(char *to, struct qless_str digits, int64_t by)
{
	char *begin = to + 1, *end = begin + digits.len, *first;
	int carry = by < 0 ? -1 : 1;
	uint64_t left = by < 0 ? (uint64_t)-by : (uint64_t)by;
	int digit = 0;

	*to = '0';
	put(begin, digits);
	for (char *at = end; left > 0; left /= 10) {
		at--;
		digit = *at - '0' + carry * (int)(left % 10);
		*at = (char)('0' + (digit + 10) % 10);
		for (char *next = at; digit < 0 || digit > 9;
		     *next = (char)('0' + (digit + 10) % 10))
			digit = *--next - '0' + carry;
	}
	for (first = to; *first == '0'; first++)
		continue;
	memmove(to, first, (size_t)(end - first));
	return to + (end - first);
}

static char *put_small_exponent(char *to, const struct parts *parts)
{
	size_t digits = parts->whole.len + parts->fraction.len;
	int64_t exponent = 0;
	char text[NUM_MAX];

	for (size_t i = 0; i < parts->exponent.len; i++)
		exponent = exponent * 10 + (parts->exponent.ptr[i] - '0');
	exponent = (parts->is_exponent_negative ? -exponent : exponent) + parts->shift;
	if (exponent >= 0 && exponent <= JSON_DECIMAL_WHOLE - (int64_t)digits) {
		memset(to, '0', (size_t)exponent);
		return to + exponent;
	}
	if (exponent == 0)
		return to;
	*to++ = 'e';
	return put(to, str_make(text, num_format_i64(text, exponent)));
}

/* Writes an exponent with more digits than SMALL_DIGITS: the shift does not change its sign. */
static char *put_large_exponent(char *to, const struct parts *parts)
{
	*to++ = 'e';
	if (parts->is_exponent_negative)
		*to++ = '-';
	return put_sum(to, parts->exponent,
		       parts->is_exponent_negative ? -parts->shift : parts->shift);
}

static __attribute__((noinline)) char *put_parts(char *to, const struct parts *parts)
{
	if (parts->whole.len + parts->fraction.len == 0) {
		*to++ = '0';
		return to;
	}
	if (parts->is_negative)
		*to++ = '-';
	to = put(put(to, parts->whole), parts->fraction);
	if (parts->exponent.len <= SMALL_DIGITS)
		return put_small_exponent(to, parts);
	return put_large_exponent(to, parts);
}

/* Whether the number is written as json_decimal_put() writes it. Most numbers are small whole
 * numbers. */
static bool is_usual(struct qless_str number)
{
	if (number.ptr[0] == '-' ||
	    (number.len > JSON_DECIMAL_WHOLE && number.ptr[number.len - 1] == '0'))
		return false;
	for (size_t i = 0; i < number.len; i++) {
		if (number.ptr[i] < '0' || number.ptr[i] > '9')
			return false;
	}
	return true;
}

char *json_decimal_put(char *to, struct qless_str number)
{
	struct parts parts;

	if (is_usual(number))
		return put(to, number);
	parts = take_apart(number);
	return put_parts(to, &parts);
}
