#include "util/hex.h"

const char hex_digits[16] = { '0', '1', '2', '3', '4', '5', '6', '7',
			      '8', '9', 'a', 'b', 'c', 'd', 'e', 'f' };

int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static int lower_value(char c)
{
	return c >= 'A' && c <= 'F' ? -1 : hex_value(c);
}

bool hex_read(void *to, const char *from, size_t len)
{
	unsigned char *bytes = to;

	for (size_t i = 0; i < len; i++) {
		int high = lower_value(from[2 * i]), low = lower_value(from[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}
