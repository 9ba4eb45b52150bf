#include "push/verdict.h"

#include <math.h>

#include "calendar/civil.h"
#include "util/hash.h"
#include "util/num.h"
#include "util/utf8.h"

enum verdict_kind push_verdict(int status)
{
	if (status >= 200 && status <= 299)
		return PUSH_COMPLETE;
	if (status == 0 || status == 408 || status == 425 || status == 429 ||
	    (status >= 500 && status <= 599))
		return PUSH_RETRY;
	return PUSH_FAIL;
}

bool push_is_trouble(int status)
{
	return status == 0 || status == 429 || (status >= 500 && status <= 599);
}

/* ---- Retry-After ---- */

static bool take(struct qless_str *text, struct qless_str prefix)
{
	return str_strip_prefix(*text, prefix, text);
}

/* Takes exactly `digits` digits. */
static bool take_number(struct qless_str *text, size_t digits, int *ret_number)
{
	int number = 0;

	if (text->len < digits)
		return false;
	for (size_t i = 0; i < digits; i++) {
		if (text->ptr[i] < '0' || text->ptr[i] > '9')
			return false;
		number = number * 10 + (text->ptr[i] - '0');
	}
	*text = str_make(text->ptr + digits, text->len - digits);
	*ret_number = number;
	return true;
}

static bool take_word(struct qless_str *text, const char *words, int count, int *ret_index)
{
	for (int i = 0; i < count; i++) {
		if (take(text, str_make(words + (size_t)3 * (size_t)i, 3))) {
			*ret_index = i;
			return true;
		}
	}
	return false;
}

/* `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that servers may send today. */
static bool read_date(struct qless_str text, int64_t *ret_seconds)
{
	int weekday, day, month, year, hour, minute, second;

	if (!take_word(&text, "SunMonTueWedThuFriSat", 7, &weekday) || !take(&text, STR(", ")) ||
	    !take_number(&text, 2, &day) || !take(&text, STR(" ")) ||
	    !take_word(&text, "JanFebMarAprMayJunJulAugSepOctNovDec", 12, &month) ||
	    !take(&text, STR(" ")) || !take_number(&text, 4, &year) || !take(&text, STR(" ")) ||
	    !take_number(&text, 2, &hour) || !take(&text, STR(":")) ||
	    !take_number(&text, 2, &minute) || !take(&text, STR(":")) ||
	    !take_number(&text, 2, &second) || !str_equal(text, STR(" GMT")))
		return false;
	if (year < CIVIL_YEAR_MIN || day < 1 || day > civil_month_days(year, month + 1) ||
	    hour > 23 || minute > 59 || second > 60)
		return false;
	*ret_seconds = (civil_first_day(year, month + 1) + day - 1) * CIVIL_DAY_SECONDS +
		       hour * CIVIL_HOUR_SECONDS + minute * 60 + second;
	return true;
}

static struct qless_str trim(struct qless_str text)
{
	while (text.len != 0 && (*text.ptr == ' ' || *text.ptr == '\t'))
		text = str_make(text.ptr + 1, text.len - 1);
	while (text.len != 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
		text.len--;
	return text;
}

static bool is_digits(struct qless_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
	}
	return text.len != 0;
}

double push_read_retry_after(struct qless_str value, int64_t now_s, double max)
{
	struct qless_str text = trim(value);
	int64_t at;
	double seconds = 0;

	if (is_digits(text)) {
		for (size_t i = 0; i < text.len && seconds <= max; i++)
			seconds = seconds * 10 + (text.ptr[i] - '0');
		return fmin(seconds, max);
	}
	if (!read_date(text, &at))
		return -1;
	return fmin(fmax(0, (double)(at - now_s)), max);
}

/* ---- delays ---- */

double push_backoff(struct qless_str jid, unsigned attempt)
{
	unsigned doublings = attempt > 1 ? attempt - 1 : 0;
	double delay = doublings < 12 ? VERDICT_BACKOFF_BASE * (double)(1U << doublings)
				      : VERDICT_BACKOFF_MAX;
	double jitter = (double)(hash_bytes(attempt, jid) % 1000) / 1000;

	return fmin(delay, VERDICT_BACKOFF_MAX) * (1 - jitter / 5);
}

/* ---- texts ---- */

void push_append_text(struct buf *out, struct qless_str body, size_t max)
{
	static const struct qless_str replacement = STR_INIT("\xEF\xBF\xBD");
	size_t end = out->len + max;

	for (size_t i = 0; i < body.len;) {
		size_t len = utf8_length(body.ptr + i, body.len - i);
		struct qless_str piece = len != 0 ? str_make(body.ptr + i, len) : replacement;

		if (out->len + piece.len > end)
			return;
		buf_append_str(out, piece);
		i += len != 0 ? len : 1;
	}
}
