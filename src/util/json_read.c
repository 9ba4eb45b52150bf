#include "util/json_read.h"

#include <string.h>

#include "util/hex.h"
#include "util/json.h"
#include "util/num.h"
#include "util/utf8.h"

static const char *skip_blanks(const char *p, const char *end)
{
	while (p != end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

/* Returns the value of four hexadecimal digits, or -1. */
static int read_hex4(const char *p, const char *end)
{
	int value = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_value(p[i]);

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* The functions skip_*() return the end of what begins at `p`, or NULL if it is invalid. */

/* Surrogates come in pairs. */
static const char *skip_unicode(const char *p, const char *end)
{
	int unit = read_hex4(p, end), low;

	if (unit < 0xd800 || unit > 0xdfff)
		return unit < 0 ? NULL : p + 4;
	if (unit > 0xdbff || end - p < 6 || p[4] != '\\' || p[5] != 'u')
		return NULL;
	low = read_hex4(p + 6, end);
	return low >= 0xdc00 && low <= 0xdfff ? p + 10 : NULL;
}

static const char *skip_escape(const char *p, const char *end)
{
	if (p == end)
		return NULL;
	if (*p == 'u')
		return skip_unicode(p + 1, end);
	return memchr("\"\\/bfnrt", *p, 8) != NULL ? p + 1 : NULL;
}

static const char *skip_string(const char *p, const char *end)
{
	p++;
	while (p != end) {
		if (*p == '"')
			return p + 1;
		if ((unsigned char)*p < ' ')
			return NULL;
		if (*p == '\\') {
			p = skip_escape(p + 1, end);
			if (p == NULL)
				return NULL;
		} else if ((unsigned char)*p < 0x80) {
			p++;
		} else {
			size_t len = utf8_length(p, (size_t)(end - p));

			if (len == 0)
				return NULL;
			p += len;
		}
	}
	return NULL;
}

static const char *skip_digits(const char *p, const char *end)
{
	const char *first = p;

	while (p != end && *p >= '0' && *p <= '9')
		p++;
	return p == first ? NULL : p;
}

static const char *skip_number(const char *p, const char *end)
{
	if (*p == '-' && ++p == end)
		return NULL;
	p = *p == '0' ? p + 1 : skip_digits(p, end);
	if (p != NULL && p != end && *p == '.')
		p = skip_digits(p + 1, end);
	if (p != NULL && p != end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p != end && (*p == '+' || *p == '-'))
			p++;
		p = skip_digits(p, end);
	}
	return p;
}

static const char *skip_word(const char *p, const char *end, struct qless_str word)
{
	return str_starts_with(str_make(p, (size_t)(end - p)), word) ? p + word.len : NULL;
}

static const char *skip_value(const char *p, const char *end, int depth);

/* An array or an object, whose first byte is at `p`. */
static const char *skip_items(const char *p, const char *end, int depth)
{
	bool is_object = *p == '{';
	char closing = is_object ? '}' : ']';

	if (depth == JSON_READ_DEPTH_MAX)
		return NULL;
	p = skip_blanks(p + 1, end);
	if (p != end && *p == closing)
		return p + 1;
	for (;;) {
		if (is_object) {
			p = p != end && *p == '"' ? skip_string(p, end) : NULL;
			if (p == NULL)
				return NULL;
			p = skip_blanks(p, end);
			if (p == end || *p != ':')
				return NULL;
			p++;
		}
		p = skip_value(p, end, depth + 1);
		if (p == NULL)
			return NULL;
		p = skip_blanks(p, end);
		if (p == end)
			return NULL;
		if (*p == closing)
			return p + 1;
		if (*p != ',')
			return NULL;
		p = skip_blanks(p + 1, end);
	}
}

static const char *skip_value(const char *p, const char *end, int depth)
{
	p = skip_blanks(p, end);
	if (p == end)
		return NULL;
	switch (*p) {
	case '"':
		return skip_string(p, end);
	case '{':
	case '[':
		return skip_items(p, end, depth);
	case 't':
		return skip_word(p, end, STR("true"));
	case 'f':
		return skip_word(p, end, STR("false"));
	case 'n':
		return skip_word(p, end, STR("null"));
	default:
		return *p == '-' || (*p >= '0' && *p <= '9') ? skip_number(p, end) : NULL;
	}
}

bool json_read_check(struct qless_str text, struct qless_str *ret_value)
{
	const char *end = text.ptr + text.len, *first = skip_blanks(text.ptr, end);
	const char *last = skip_value(first, end, 0);

	if (last == NULL || skip_blanks(last, end) != end)
		return false;
	*ret_value = str_make(first, (size_t)(last - first));
	return true;
}

/* Appends what the escape at `p` stands for, and returns its end. */
static const char *append_escape(const char *p, const char *end, enum json_escapes escapes,
				 struct buf *out)
{
	char character[UTF8_MAX];

	if (escapes == JSON_ESCAPES_BYTES && p[1] == 'u') {
		int byte = read_hex4(p + 2, end);

		if (byte >= 0x80 && byte <= 0xff) {
			buf_append_char(out, (char)byte);
			return p + 6;
		}
	}
	buf_append(out, character, json_decode_escape(&p, character));
	return p;
}

bool json_read_string(struct qless_str value, enum json_escapes escapes, struct buf *out)
{
	const char *p = value.ptr + 1, *end;

	if (value.len < 2 || value.ptr[0] != '"')
		return false;
	end = value.ptr + value.len - 1;
	while (p != end) {
		const char *escape = memchr(p, '\\', (size_t)(end - p));

		buf_append(out, p, (size_t)((escape != NULL ? escape : end) - p));
		if (escape == NULL)
			break;
		p = append_escape(escape, end, escapes, out);
	}
	return true;
}

bool json_read_number(struct qless_str value, double *ret_number)
{
	if (value.len == 0 || (value.ptr[0] != '-' && (value.ptr[0] < '0' || value.ptr[0] > '9')))
		return false;
	return num_parse_double(value, ret_number);
}

bool json_read_open(struct qless_str value, struct json_items *ret_items)
{
	if (value.len < 2 || (value.ptr[0] != '{' && value.ptr[0] != '['))
		return false;
	*ret_items = (struct json_items){
		.at = value.ptr + 1,
		.end = value.ptr + value.len - 1,
		.is_object = value.ptr[0] == '{',
	};
	return true;
}

bool json_read_next(struct json_items *items, struct qless_str *ret_name,
		    struct qless_str *ret_value)
{
	const char *p = skip_blanks(items->at, items->end), *first;

	if (p == items->end)
		return false;
	*ret_name = str_make(p, 0);
	if (items->is_object) {
		first = p;
		p = skip_string(p, items->end);
		*ret_name = str_make(first, (size_t)(p - first));
		p = skip_blanks(skip_blanks(p, items->end) + 1, items->end);
	}
	first = p;
	p = skip_value(p, items->end, 0);
	*ret_value = str_make(first, (size_t)(p - first));
	p = skip_blanks(p, items->end);
	items->at = p != items->end ? p + 1 : p; /* after the comma */
	return true;
}

bool json_read_find(struct qless_str object, const char *name, struct qless_str *ret_value)
{
	struct json_items items;
	struct qless_str found, value;
	size_t len = strlen(name);

	if (!json_read_open(object, &items) || !items.is_object)
		return false;
	while (json_read_next(&items, &found, &value)) {
		if (found.len == len + 2 && memcmp(found.ptr + 1, name, len) == 0) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}
