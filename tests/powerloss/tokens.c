#include "tokens.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define PREFIX	     "tk"
#define PREFIX_BYTES 2
#define TOKEN_BYTES  (PREFIX_BYTES + TOKEN_DIGITS + 1)

static bool read_token(const char *at, size_t *ret_number)
{
	*ret_number = 0;
	if (memcmp(at, PREFIX, PREFIX_BYTES) != 0 || at[TOKEN_BYTES - 1] != 'z')
		return false;
	for (int i = PREFIX_BYTES; i < PREFIX_BYTES + TOKEN_DIGITS; i++) {
		if (!isdigit((unsigned char)at[i]))
			return false;
		*ret_number = 10 * *ret_number + (size_t)(at[i] - '0');
	}
	return *ret_number < TOKENS_MAX;
}

void tokens_find(struct qless_str text, token_fn *each, void *arg)
{
	const char *at = text.ptr, *end = text.ptr + text.len;
	size_t number;

	while ((size_t)(end - at) >= TOKEN_BYTES) {
		at = memchr(at, PREFIX[0], (size_t)(end - at));
		if (at == NULL || (size_t)(end - at) < TOKEN_BYTES)
			break;
		if (read_token(at, &number))
			each(arg, number);
		at++;
	}
}
