#include "util/json.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "util/block.h"
#include "util/num.h"

/* What stands behind the backslash for each byte: 0 if it needs none, 'u' if it is spelled as a
 * number. */
static const char escapes[256] = {
	'u',	     'u',	  'u',		 'u',	       'u', 'u', 'u', 'u',
	'b',	     't',	  'n',		 'u',	       'f', 'r', 'u', 'u', /* 0x00 */
	'u',	     'u',	  'u',		 'u',	       'u', 'u', 'u', 'u',
	'u',	     'u',	  'u',		 'u',	       'u', 'u', 'u', 'u', /* 0x10 */
	['"'] = '"', ['/'] = '/', ['\\'] = '\\', [0x7f] = 'u',
};

/* No byte becomes more than this many. */
#define ESCAPED_MAX 6
/* Room is made for so much of a string at once, as if all of it had to be escaped. */
#define PIECE_BYTES ((size_t)4096)

static inline bool is_plain(const char *text)
{
	block b = block_load(text);

	return block_first((block)(b < ' ') | (block)(b == '"') | (block)(b == '/') |
			   (block)(b == '\\') | (block)(b == 0x7f)) == BLOCK_BYTES;
}

static char *put_escape(char *to, unsigned char c)
{
	static const char digits[] = "0123456789abcdef";

	*to++ = '\\';
	*to++ = escapes[c];
	if (escapes[c] != 'u')
		return to;
	*to++ = '0';
	*to++ = '0';
	*to++ = digits[c >> 4];
	*to++ = digits[c & 15];
	return to;
}

static inline char *put_each(char *to, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (escapes[c] == 0)
			*to++ = text[i];
		else
			to = put_escape(to, c);
	}
	return to;
}

/* What is shorter than a block is looked at as one, with blanks behind it. As many bytes as a block
 * has may be written. */
static char *put_rest(char *to, const char *text, size_t len)
{
	char padded[BLOCK_BYTES];

	memset(padded, ' ', sizeof padded);
	memcpy(padded, text, len);
	if (!is_plain(padded))
		return put_each(to, text, len);
	memcpy(to, padded, sizeof padded);
	return to + len;
}

/* Writes up to ESCAPED_MAX bytes for each of these, and BLOCK_BYTES more which do not count. */
static char *put_escaped(char *to, const char *text, size_t len)
{
	for (; len >= BLOCK_BYTES; text += BLOCK_BYTES, len -= BLOCK_BYTES) {
		if (is_plain(text)) {
			memcpy(to, text, BLOCK_BYTES);
			to += BLOCK_BYTES;
		} else {
			to = put_each(to, text, BLOCK_BYTES);
		}
	}
	return len != 0 ? put_rest(to, text, len) : to;
}

void json_append_string(struct buf *b, struct qless_str s)
{
	size_t at = 0;
	bool is_first = true;

	do {
		size_t left = s.len - at;
		size_t len = left < PIECE_BYTES ? left : PIECE_BYTES;
		char *start = buf_reserve(b, len * ESCAPED_MAX + BLOCK_BYTES + 2), *to = start;

		if (is_first)
			*to++ = '"';
		is_first = false;
		if (len != 0) /* an empty slice may point nowhere */
			to = put_escaped(to, s.ptr + at, len);
		at += len;
		if (at == s.len)
			*to++ = '"';
		buf_commit(b, (size_t)(to - start));
	} while (at != s.len);
}

void json_append_number(struct buf *b, double value)
{
	assert(!isnan(value));
	if (isinf(value))
		value = value > 0 ? DBL_MAX : -DBL_MAX;
	buf_commit(b, num_format_g14(buf_reserve(b, NUM_MAX), value));
}
