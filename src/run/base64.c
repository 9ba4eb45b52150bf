#include "run/base64.h"

#include <stdint.h>
#include <string.h>

static int digit_value(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = c != '\0' ? strchr(digits, c) : NULL;

	return found != NULL ? (int)(found - digits) : -1;
}

bool base64_decode(struct qless_str text, struct buf *out)
{
	size_t before = out->len, padding = 0;
	uint32_t bits = 0;

	if (text.len % 4 != 0)
		return false;
	while (padding < 2 && padding < text.len && text.ptr[text.len - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < text.len; i++) {
		int value = i < text.len - padding ? digit_value(text.ptr[i]) : 0;
		char bytes[3];

		if (value < 0) {
			buf_truncate(out, before);
			return false;
		}
		bits = bits << 6 | (uint32_t)value;
		if (i % 4 != 3)
			continue;
		bytes[0] = (char)(bits >> 16);
		bytes[1] = (char)(bits >> 8);
		bytes[2] = (char)bits;
		buf_append(out, bytes, i == text.len - 1 ? 3 - padding : 3);
	}
	return true;
}
