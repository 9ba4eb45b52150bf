#include "sys/entropy.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>

#include "util/hex.h"

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
	entropy_bytes(to + len, len);
	hex_write(to, to + len, len);
	to[2 * len] = '\0';
}
