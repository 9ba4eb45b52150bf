#include "cli/text.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "cli/width.h"
#include "util/escape.h"

#define MINUTE_S 60.0
#define HOUR_S	 3600.0
#define DAY_S	 86400.0

/* The longest is \u{10ffff}. */
static void append_escape(struct buf *out, uint32_t character, char byte)
{
	char text[ESCAPE_MAX];

	if (character >= 0x80 && character != UINT32_MAX) {
		buf_printf(out, character > 0xffff ? "\\u{%x}" : "\\u%04x", (unsigned)character);
		return;
	}
	buf_append(out, text, (size_t)(escape_write(text, byte) - text));
}

void text_append(struct buf *out, struct qless_str s, bool is_utf8)
{
	size_t len;

	for (; s.len > 0; s = str_make(s.ptr + len, s.len - len)) {
		uint32_t c = width_decode(s, &len);

		if (c != UINT32_MAX && width_is_printable(c) && (is_utf8 || c < 0x80))
			buf_append(out, s.ptr, len);
		else
			append_escape(out, c, s.ptr[0]);
	}
}

void text_append_cut(struct buf *out, struct qless_str safe, size_t columns, bool is_utf8)
{
	struct qless_str ellipsis = is_utf8 ? STR("\xe2\x80\xa6") : STR("~");
	size_t used = 0, fits = 0, at = 0, len;

	while (at < safe.len) {
		used += width_of(width_decode(str_make(safe.ptr + at, safe.len - at), &len));
		if (used > columns)
			break;
		at += len;
		/* A cut leaves a column for the ellipsis. Marks stay with their letter. */
		if (used < columns)
			fits = at;
	}
	if (at == safe.len) {
		buf_append_str(out, safe);
	} else if (columns > 0) {
		buf_append(out, safe.ptr, fits);
		buf_append_str(out, ellipsis);
	}
}

void text_append_json(struct buf *out, struct qless_str json)
{
	size_t len;

	for (; json.len > 0; json = str_make(json.ptr + len, json.len - len)) {
		uint32_t c = width_decode(json, &len);

		if (c == UINT32_MAX)
			buf_printf(out, "\\u%04x", (unsigned)(unsigned char)json.ptr[0]);
		else if (width_is_printable(c))
			buf_append(out, json.ptr, len);
		else if (c <= 0xffff)
			buf_printf(out, "\\u%04x", (unsigned)c);
		else
			buf_printf(out, "\\u%04x\\u%04x", 0xd800U + ((c - 0x10000U) >> 10),
				   0xdc00U + ((c - 0x10000U) & 0x3ffU));
	}
}

/* Two units, the second one only if it is not 0. */
static void append_units(struct buf *out, double seconds, double unit, char name, double lower,
			 char lower_name)
{
	double whole = floor(seconds / unit);
	double rest = floor((seconds - whole * unit) / lower);

	buf_printf(out, "%.0f%c", whole, name);
	if (rest > 0 && whole < 10)
		buf_printf(out, "%.0f%c", rest, lower_name);
}

void text_append_duration(struct buf *out, double seconds)
{
	if (!(seconds > 0))
		seconds = 0;
	if (seconds > 1e12)
		buf_append_str(out, STR("never"));
	else if (seconds < 1 && seconds > 0)
		buf_printf(out, "%.0fms", fmin(ceil(seconds * 1000), 999));
	else if (seconds < MINUTE_S)
		buf_printf(out, "%.0fs", floor(seconds));
	else if (seconds < HOUR_S)
		append_units(out, seconds, MINUTE_S, 'm', 1, 's');
	else if (seconds < DAY_S)
		append_units(out, seconds, HOUR_S, 'h', MINUTE_S, 'm');
	else
		append_units(out, seconds, DAY_S, 'd', HOUR_S, 'h');
}

void text_append_count(struct buf *out, double count)
{
	char digits[64];
	int len = snprintf(digits, sizeof digits, "%.0f", fabs(count) < 1e30 ? count : 0);

	for (int i = 0; i < len; i++) {
		buf_append_char(out, digits[i]);
		if (digits[i] != '-' && len - i > 1 && (len - i - 1) % 3 == 0)
			buf_append_char(out, ',');
	}
}

void text_append_bytes(struct buf *out, double bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	size_t unit = 0;

	while (bytes >= 1000 && unit + 1 < sizeof units / sizeof units[0]) {
		bytes /= 1000;
		unit++;
	}
	buf_printf(out, unit > 0 && bytes < 100 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

/* Appends the time, with its date or without. */
static void append_time(struct buf *out, double seconds, bool has_date)
{
	time_t when = (time_t)seconds;
	char text[64];
	struct tm tm;
	size_t len = 0;

	if (fabs(seconds) < 1e11 && localtime_r(&when, &tm) != NULL)
		len = has_date ? strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm)
			       : strftime(text, sizeof text, "%H:%M:%S", &tm);
	if (len > 0)
		buf_append(out, text, len);
	else
		buf_printf(out, "%.0f", seconds);
}

void text_append_time(struct buf *out, double seconds)
{
	append_time(out, seconds, true);
}

void text_append_time_of_day(struct buf *out, double seconds)
{
	append_time(out, seconds, false);
}
