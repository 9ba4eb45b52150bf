#include "util/utf8.h"

size_t utf8_length(const char *text, size_t left)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t len = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;

	if ((*p >= 0x80 && (*p < 0xc2 || *p > 0xf4)) || len > left)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

bool utf8_check_each(struct qless_str s)
{
	size_t at = 0, len;

	while (at < s.len) {
		if ((unsigned char)s.ptr[at] < 0x80) {
			at++;
			continue;
		}
		len = utf8_length(s.ptr + at, s.len - at);
		if (len == 0)
			return false;
		at += len;
	}
	return true;
}
