#include "http/response.h"

#include <stdio.h>

#include "calendar/civil.h"
#include "util/num.h"

static const struct {
	int status;
	struct qless_str text;
} reasons[] = {
	{ 100, STR_INIT("Continue") },
	{ 200, STR_INIT("OK") },
	{ 201, STR_INIT("Created") },
	{ 202, STR_INIT("Accepted") },
	{ 204, STR_INIT("No Content") },
	{ 304, STR_INIT("Not Modified") },
	{ 400, STR_INIT("Bad Request") },
	{ 401, STR_INIT("Unauthorized") },
	{ 403, STR_INIT("Forbidden") },
	{ 404, STR_INIT("Not Found") },
	{ 405, STR_INIT("Method Not Allowed") },
	{ 406, STR_INIT("Not Acceptable") },
	{ 408, STR_INIT("Request Timeout") },
	{ 409, STR_INIT("Conflict") },
	{ 412, STR_INIT("Precondition Failed") },
	{ 413, STR_INIT("Content Too Large") },
	{ 414, STR_INIT("URI Too Long") },
	{ 415, STR_INIT("Unsupported Media Type") },
	{ 417, STR_INIT("Expectation Failed") },
	{ 421, STR_INIT("Misdirected Request") },
	{ 422, STR_INIT("Unprocessable Content") },
	{ 429, STR_INIT("Too Many Requests") },
	{ 431, STR_INIT("Request Header Fields Too Large") },
	{ 500, STR_INIT("Internal Server Error") },
	{ 501, STR_INIT("Not Implemented") },
	{ 503, STR_INIT("Service Unavailable") },
	{ 505, STR_INIT("HTTP Version Not Supported") },
};

struct qless_str http_reason(int status)
{
	static const struct qless_str classes[] = {
		STR_INIT("Unknown"),  STR_INIT("Information"),	STR_INIT("Success"),
		STR_INIT("Redirect"), STR_INIT("Client Error"), STR_INIT("Server Error"),
	};

	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
		if (reasons[i].status == status)
			return reasons[i].text;
	}
	return classes[status >= 100 && status < 600 ? status / 100 : 0];
}

void http_write_status(struct chain *out, int status)
{
	struct qless_str reason = http_reason(status);
	char *to = chain_reserve(out, 64), *begin = to;

	memcpy(to, "HTTP/1.1 ", 9);
	to[9] = (char)('0' + status / 100 % 10);
	to[10] = (char)('0' + status / 10 % 10);
	to[11] = (char)('0' + status % 10);
	to[12] = ' ';
	memcpy(to + 13, reason.ptr, reason.len);
	to += 13 + reason.len;
	memcpy(to, "\r\n", 2);
	chain_commit(out, (size_t)(to + 2 - begin));
}

void http_write_field(struct chain *out, struct qless_str name, struct qless_str value)
{
	char *begin = chain_reserve(out, name.len + value.len + 4), *to = begin;

	memcpy(to, name.ptr, name.len);
	to += name.len;
	*to++ = ':';
	*to++ = ' ';
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.ptr[i];

		*to++ = c < ' ' || c == 0x7f ? ' ' : (char)c;
	}
	*to++ = '\r';
	*to++ = '\n';
	chain_commit(out, (size_t)(to - begin));
}

void http_write_length(struct chain *out, size_t len)
{
	char digits[NUM_MAX];

	http_write_field(out, STR("Content-Length"), str_make(digits, num_format_u64(digits, len)));
}

void http_write_head_end(struct chain *out)
{
	chain_append(out, "\r\n", 2);
}

void http_write_chunk_begin(struct chain *out, size_t len)
{
	char line[24];

	chain_append(out, line, (size_t)snprintf(line, sizeof line, "%zx\r\n", len));
}

void http_write_chunk_end(struct chain *out)
{
	chain_append(out, "\r\n", 2);
}

void http_write_last_chunk(struct chain *out)
{
	chain_append(out, "0\r\n\r\n", 5);
}

void http_format_date(char to[HTTP_DATE_SIZE], int64_t seconds)
{
	static const char weekdays[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int64_t max = civil_first_day(CIVIL_YEAR_MAX, 12) * CIVIL_DAY_SECONDS;
	int64_t time = seconds < 0 ? 0 : seconds < max ? seconds : max;
	int64_t day = time / CIVIL_DAY_SECONDS, rest = time % CIVIL_DAY_SECONDS;
	struct civil_date date = civil_date_of(day);

	snprintf(to, HTTP_DATE_SIZE, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
		 weekdays + 3 * civil_weekday(day), (unsigned)date.day % 32,
		 months + 3 * (date.month - 1), (unsigned)date.year % 10000,
		 (unsigned)(rest / CIVIL_HOUR_SECONDS) % 24, (unsigned)(rest / 60 % 60),
		 (unsigned)(rest % 60));
}
