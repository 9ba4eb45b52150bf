#include "util/json.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "util/block.h"
#include "util/hex.h"
#include "util/num.h"

/* The byte after the backslash in the escape of each byte: 0 if it needs none, 'u' if it is written
 * as a number. */
static const char escapes[256] = {
	'u',	     'u',	  'u',		 'u',	       'u', 'u', 'u', 'u',
	'b',	     't',	  'n',		 'u',	       'f', 'r', 'u', 'u', /* 0x00 */
	'u',	     'u',	  'u',		 'u',	       'u', 'u', 'u', 'u',
	'u',	     'u',	  'u',		 'u',	       'u', 'u', 'u', 'u', /* 0x10 */
	['"'] = '"', ['/'] = '/', ['\\'] = '\\', [0x7f] = 'u',
};

/* Bytes of the longest escape. */
#define ESCAPED_MAX 6
/* Bytes of a string that are escaped at a time. Room is made as if each needed the longest escape.
 * */
#define PIECE_BYTES ((size_t)4096)

/* The number of bytes before the first that needs an escape; BLOCK_BYTES if none does. */
static inline unsigned count_plain(block b)
{
	return block_first((block)(b < ' ') | (block)(b == '"') | (block)(b == '/') |
			   (block)(b == '\\') | (block)(b == 0x7f));
}

static char *put_escape(char *to, unsigned char c)
{
	*to++ = '\\';
	*to++ = escapes[c];
	if (escapes[c] != 'u')
		return to;
	*to++ = '0';
	*to++ = '0';
	hex_write(to, &c, 1);
	return to + 2;
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

/*
 * Read fewer bytes than a block has as one block of two overlapping parts: their first and their
 * last bytes. Copies of these fixed sizes need no call of memcpy().
 */
static inline char *put_rest(char *to, const char *text, size_t len)
{
	uint64_t first, last;
	uint32_t begin = 0, end = 0;
	block b;

	if (len >= 8) {
		memcpy(&first, text, 8);
		memcpy(&last, text + len - 8, 8);
	} else if (len >= 4) {
		memcpy(&begin, text, 4);
		memcpy(&end, text + len - 4, 4);
		first = last = begin | (uint64_t)end << 32;
	} else {
		return put_each(to, text, len);
	}
	memcpy(&b, (uint64_t[]){ first, last }, sizeof b);
	if (count_plain(b) != BLOCK_BYTES)
		return put_each(to, text, len);
	if (len >= 8) {
		memcpy(to, &first, 8);
		memcpy(to + len - 8, &last, 8);
	} else {
		memcpy(to, &begin, 4);
		memcpy(to + len - 4, &end, 4);
	}
	return to + len;
}

/* Writes up to ESCAPED_MAX bytes for each byte, and up to BLOCK_BYTES more that do not count. */
static inline char *put_escaped(char *to, const char *text, size_t len)
{
	while (len >= BLOCK_BYTES) {
		unsigned plain = count_plain(block_load(text));

		memcpy(to, text, BLOCK_BYTES);
		to += plain;
		text += plain;
		len -= plain;
		if (plain != BLOCK_BYTES) {
			to = put_escape(to, (unsigned char)*text++);
			len--;
		}
	}
	return put_rest(to, text, len);
}

char *json_put_string(struct buf *b, char *to, struct qless_str s)
{
	size_t at = 0;

	to = buf_room(b, to, 1);
	*to++ = '"';
	do {
		size_t left = s.len - at;
		size_t len = left < PIECE_BYTES ? left : PIECE_BYTES;

		to = buf_room(b, to, len * ESCAPED_MAX + BLOCK_BYTES + 1);
		if (len != 0) /* an empty slice may have a NULL pointer */
			to = put_escaped(to, s.ptr + at, len);
		at += len;
	} while (at != s.len);
	*to++ = '"';
	return to;
}

char *json_put_long_number(struct buf *b, char *to, double value)
{
	assert(!isnan(value));
	if (isinf(value))
		value = value > 0 ? DBL_MAX : -DBL_MAX;
	to = buf_room(b, to, NUM_MAX);
	return to + num_format_g14(to, value);
}

void json_append_string(struct buf *b, struct qless_str s)
{
	buf_close(b, json_put_string(b, buf_open(b), s));
}

void json_append_number(struct buf *b, double value)
{
	buf_close(b, json_put_number(b, buf_open(b), value));
}
