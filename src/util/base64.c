#include "util/base64.h"

#include <stddef.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_append(struct buf *b, struct qless_str bytes)
{
	const unsigned char *at = (const unsigned char *)bytes.ptr;
	size_t left = bytes.len;
	char *to = buf_room(b, buf_open(b), (left + 2) / 3 * 4);

	while (left > 0) {
		unsigned bits = (unsigned)at[0] << 16;

		bits |= left > 1 ? (unsigned)at[1] << 8 : 0;
		bits |= left > 2 ? (unsigned)at[2] : 0;
		*to++ = digits[bits >> 18];
		*to++ = digits[bits >> 12 & 63];
		*to++ = left > 1 ? digits[bits >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[bits & 63] : '=';
		at += left > 3 ? 3 : left;
		left -= left > 3 ? 3 : left;
	}
	buf_close(b, to);
}

/* The value of a digit; 64 if it is none. */
static unsigned value_of(char digit)
{
	if (digit >= 'A' && digit <= 'Z')
		return (unsigned)(digit - 'A');
	if (digit >= 'a' && digit <= 'z')
		return (unsigned)(digit - 'a') + 26;
	if (digit >= '0' && digit <= '9')
		return (unsigned)(digit - '0') + 52;
	return digit == '+' ? 62 : digit == '/' ? 63 : 64;
}

/* Append the bytes of four digits, of which the last `padding` are filled up with `=`. */
static bool append_group(struct buf *b, const char *group, unsigned padding)
{
	unsigned bits = 0;
	char bytes[3];

	for (unsigned i = 0; i < 4; i++) {
		unsigned value = i < 4 - padding ? value_of(group[i]) : 0;

		if (value > 63)
			return false;
		bits = bits << 6 | value;
	}
	/* Each sequence of bytes has one text. */
	if ((padding > 0 && (bits & 0xff) != 0) || (padding > 1 && (bits & 0xffff) != 0))
		return false;
	bytes[0] = (char)(bits >> 16);
	bytes[1] = (char)(bits >> 8);
	bytes[2] = (char)bits;
	buf_append(b, bytes, 3 - padding);
	return true;
}

bool base64_append_decoded(struct buf *b, struct qless_str text)
{
	size_t before = b->len;

	if (text.len % 4 != 0)
		return false;
	for (size_t i = 0; i < text.len; i += 4) {
		bool is_last = i + 4 == text.len;
		unsigned padding = 0;

		if (is_last && text.ptr[i + 3] == '=')
			padding = text.ptr[i + 2] == '=' ? 2 : 1;
		if (!append_group(b, text.ptr + i, padding)) {
			buf_truncate(b, before);
			return false;
		}
	}
	return true;
}

void base64_append_json(struct buf *b, struct qless_str bytes)
{
	buf_append_str(b, STR("{\"base64\":\""));
	base64_append(b, bytes);
	buf_append_str(b, STR("\"}"));
}
