#include "sys/entropy.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>

void entropy_bytes(void *to, size_t len)
{
	unsigned char *at = to;

	while (len != 0) {
		ssize_t got = getrandom(at, len, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			abort();
		at += got;
		len -= (size_t)got;
	}
}

uint64_t entropy_u64(void)
{
	uint64_t number;

	entropy_bytes(&number, sizeof number);
	return number;
}

void entropy_hex(char *to, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	/* The bytes go into the back half, where no digit overwrites one that is still needed. */
	entropy_bytes(to + len, len);
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)to[len + i];

		to[2 * i] = digits[byte >> 4];
		to[2 * i + 1] = digits[byte & 15];
	}
	to[2 * len] = '\0';
}
