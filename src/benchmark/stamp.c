#include "benchmark/stamp.h"

#include <assert.h>
#include <stddef.h>

#define DECIMALS 6

void stamp_read(struct stamp *stamp, int64_t now_us)
{
	if (now_us <= stamp->us)
		return;
	stamp->us = now_us;
	for (size_t i = REQUEST_TIME_BYTES; i-- != 0;) {
		if (i == REQUEST_TIME_BYTES - DECIMALS - 1) {
			stamp->text[i] = '.';
			continue;
		}
		stamp->text[i] = (char)('0' + now_us % 10);
		now_us /= 10;
	}
}

/* Count in the text itself: nine of ten times only one digit changes. */
const char *stamp_next(struct stamp *stamp)
{
	size_t i = REQUEST_TIME_BYTES - 1;

	assert(stamp->us != 0);
	for (; stamp->text[i] == '9' || stamp->text[i] == '.'; i--) {
		if (stamp->text[i] == '9')
			stamp->text[i] = '0';
	}
	stamp->text[i]++;
	stamp->us++;
	return stamp->text;
}
