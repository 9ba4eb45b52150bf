#include "util/escape.h"

#include <string.h>

/* The bytes that have a letter, and their letters in the same order. */
static const char bytes[] = "\a\b\n\r\t";
static const char letters[] = "abnrt";

char *escape_write(char to[ESCAPE_MAX], char c)
{
	const char *found = c != '\0' ? strchr(bytes, c) : NULL;

	if (found == NULL && c != '"' && c != '\\')
		return escape_hex(to, c);
	to[0] = '\\';
	to[1] = found != NULL ? letters[found - bytes] : c;
	return to + 2;
}

char escape_read(const char *at, const char *end, const char **ret_next)
{
	const char *found;

	if (*at == 'x' && end - at >= 3) {
		int high = hex_value(at[1]), low = hex_value(at[2]);

		if (high >= 0 && low >= 0) {
			*ret_next = at + 3;
			return (char)(high << 4 | low);
		}
	}
	*ret_next = at + 1;
	found = *at != '\0' ? strchr(letters, *at) : NULL;
	return found != NULL ? bytes[found - letters] : *at;
}
