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

size_t utf8_encode(uint32_t point, char ret_character[UTF8_MAX])
{
	size_t len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
	static const unsigned char heads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = len - 1; i > 0; i--, point >>= 6)
		ret_character[i] = (char)(0x80 | (point & 0x3f));
	ret_character[0] = (char)(heads[len] | point);
	return len;
}
