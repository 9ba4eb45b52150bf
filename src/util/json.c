#include "util/json.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "util/block.h"
#include "util/hex.h"
#include "util/num.h"
#include "util/utf8.h"
#include "util/wire.h"

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
/* Bytes of a string that are escaped at a time. */
#define PIECE_BYTES ((size_t)4096)
/* Room for an escaped piece: as if each byte needed the longest escape, a block that does not
 * count, and two quotes. */
#define PIECE_ROOM(len) ((len)*ESCAPED_MAX + BLOCK_BYTES + 2)

typedef signed char signed_block __attribute__((vector_size(BLOCK_BYTES)));

/* Marks the bytes that need an escape or are not ASCII: bit 0 is the first byte. As signed numbers,
 * bytes from 0x80 are less than a blank, too. */
static inline unsigned mark_special(block b)
{
	return block_marks((block)((signed_block)b < ' ') | (block)(b == '"') | (block)(b == '/') |
			   (block)(b == '\\') | (block)(b == 0x7f));
}

/* Marks the bytes that are not ASCII. */
static inline unsigned mark_high(block b)
{
	return block_marks((block)((signed_block)b < 0));
}

static inline bool is_high(char c)
{
	return (unsigned char)c >= 0x80;
}

/* Write a byte as \u00xx. */
static char *put_hex(char *to, unsigned char c)
{
	memcpy(to, "\\u00", 4);
	hex_write(to + 4, &c, 1);
	return to + ESCAPED_MAX;
}

static inline char *put_escape(char *to, unsigned char c)
{
	if (escapes[c] == 'u')
		return put_hex(to, c);
	to[0] = '\\';
	to[1] = escapes[c];
	return to + 2;
}

/* The end of what was written, and the number of bytes that were read for it. */
struct progress {
	char *to;
	size_t used;
};

/* Write a run of bytes from 0x80: characters as they are, and other bytes escaped. */
static struct progress put_high(char *to, const char *text, size_t len)
{
	size_t used = 0;

	while (used < len && is_high(text[used])) {
		size_t bytes = utf8_length(text + used, len - used);

		if (bytes == 0) {
			to = put_hex(to, (unsigned char)text[used++]);
			continue;
		}
		memcpy(to, text + used, bytes);
		to += bytes;
		used += bytes;
	}
	return (struct progress){ to, used };
}

/* Write a few bytes, of which any may be special. */
static __attribute__((noinline)) char *put_few(char *to, const char *text, size_t len)
{
	size_t i = 0;

	while (i < len) {
		unsigned char c = (unsigned char)text[i];

		if (is_high(text[i])) {
			struct progress high = put_high(to, text + i, len - i);

			to = high.to;
			i += high.used;
			continue;
		}
		if (escapes[c] == 0)
			*to++ = text[i];
		else
			to = put_escape(to, c);
		i++;
	}
	return to;
}

/* Write the first `ascii` bytes, which are ASCII, and the run of others after them. */
static __attribute__((noinline)) struct progress put_to_ascii(char *to, const char *text,
							      size_t len, size_t ascii)
{
	struct progress high;

	to = put_few(to, text, ascii);
	high = put_high(to, text + ascii, len - ascii);
	return (struct progress){ high.to, ascii + high.used };
}

static inline char *put_each(char *to, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (is_high(text[i]) || escapes[c] != 0)
			return put_few(to, text + i, len - i);
		*to++ = text[i];
	}
	return to;
}

/*
 * Writes up to a block of bytes, of which `marks` need an escape. The plain bytes before each mark
 * are copied as a whole block, so BLOCK_BYTES are read after each escaped byte.
 */
static inline char *put_marked(char *to, const char *text, size_t len, unsigned marks)
{
	const char *begin = text, *end = text + len;

	do {
		const char *next = begin + __builtin_ctz(marks);

		memcpy(to, text, BLOCK_BYTES);
		to = put_escape(to + (next - text), (unsigned char)*next);
		text = next + 1;
		marks &= marks - 1;
	} while (marks != 0);
	memcpy(to, text, BLOCK_BYTES);
	return to + (end - text);
}

/* Writes the last bytes of a text, up to a block, if some of them need an escape. Nothing after the
 * text is read. */
static __attribute__((noinline)) char *put_last(char *to, const char *text, size_t len)
{
	char copy[2 * BLOCK_BYTES];

	assert(len <= BLOCK_BYTES);
	wire_put_bytes((unsigned char *)copy, (const unsigned char *)text, len);
	if ((mark_high(block_load(copy)) & ((1u << len) - 1)) != 0)
		return put_few(to, text, len);
	return put_marked(to, copy, len, mark_special(block_load(copy)) & ((1u << len) - 1));
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
	if (mark_special(b) != 0)
		return put_last(to, text, len);
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
		struct progress done = { to, BLOCK_BYTES };
		block b = block_load(text);
		unsigned marks = mark_special(b), high;

		if (marks == 0) {
			memcpy(to, text, BLOCK_BYTES);
			done.to = to + BLOCK_BYTES;
		} else if (__builtin_expect((high = mark_high(b)) != 0, 0)) {
			done = put_to_ascii(to, text, len, (size_t)__builtin_ctz(high));
		} else if (len >= 2 * BLOCK_BYTES) {
			done.to = put_marked(to, text, BLOCK_BYTES, marks);
		} else {
			done.to = put_last(to, text, BLOCK_BYTES);
		}
		to = done.to;
		text += done.used;
		len -= done.used;
	}
	return put_rest(to, text, len);
}

/* The length of a piece of a longer text. No character is in two pieces. */
static size_t piece_length(const char *text)
{
	size_t len = PIECE_BYTES;

	while (len > PIECE_BYTES - UTF8_MAX && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

static __attribute__((noinline)) char *put_long_string(struct buf *b, char *to, struct qless_str s)
{
	to = buf_room(b, to, 1);
	*to++ = '"';
	while (s.len > PIECE_BYTES) {
		size_t len = piece_length(s.ptr);

		to = buf_room(b, to, PIECE_ROOM(len));
		to = put_escaped(to, s.ptr, len);
		s = str_make(s.ptr + len, s.len - len);
	}
	to = buf_room(b, to, PIECE_ROOM(s.len));
	to = put_escaped(to, s.ptr, s.len);
	*to++ = '"';
	return to;
}

/* Most strings are short names. For them the compiler need not save any register. */
char *json_put_string(struct buf *b, char *to, struct qless_str s)
{
	if (s.len >= BLOCK_BYTES)
		return put_long_string(b, to, s);
	to = buf_room(b, to, PIECE_ROOM(s.len));
	*to++ = '"';
	if (s.len != 0) /* an empty slice may have a NULL pointer */
		to = put_rest(to, s.ptr, s.len);
	*to++ = '"';
	return to;
}

size_t json_format_number(char out[NUM_MAX], double value)
{
	assert(!isnan(value));
	if (isinf(value))
		value = value > 0 ? DBL_MAX : -DBL_MAX;
	return num_format_g14(out, value);
}

char *json_put_long_number(struct buf *b, char *to, double value)
{
	to = buf_room(b, to, NUM_MAX);
	return to + json_format_number(to, value);
}

void json_append_string(struct buf *b, struct qless_str s)
{
	buf_close(b, json_put_string(b, buf_open(b), s));
}

void json_append_text(struct buf *b, struct qless_str text)
{
	size_t at = 0;

	while (at < text.len) {
		struct progress high = { NULL, 0 };
		size_t ascii = at;
		char *to;

		while (ascii < text.len && !is_high(text.ptr[ascii]))
			ascii++;
		buf_append(b, text.ptr + at, ascii - at);
		/* One character at a time: room for the longest spelling of a byte. */
		if (ascii < text.len) {
			size_t left = text.len - ascii;

			to = buf_open(b);
			to = buf_room(b, to, UTF8_MAX * ESCAPED_MAX);
			high = put_high(to, text.ptr + ascii, left < UTF8_MAX ? left : UTF8_MAX);
			buf_close(b, high.to);
		}
		at = ascii + high.used;
	}
}

/* The text is divided at each `/`, which is no part of a longer character. */
void json_append_plain_string(struct buf *b, struct qless_str s)
{
	size_t at = 0;

	buf_append_char(b, '"');
	while (at < s.len) {
		const char *slash = memchr(s.ptr + at, '/', s.len - at);
		size_t len = slash != NULL ? (size_t)(slash - s.ptr) - at : s.len - at;
		char *to = buf_open(b);

		to = buf_room(b, to, PIECE_ROOM(len));
		buf_close(b, put_few(to, s.ptr + at, len));
		if (slash != NULL)
			buf_append_char(b, '/');
		at += len + (slash != NULL);
	}
	buf_append_char(b, '"');
}

void json_append_stored_string(struct buf *b, struct qless_str s)
{
	buf_append_char(b, '"');
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		char escaped[ESCAPED_MAX];

		if (escapes[c] == 0)
			buf_append_char(b, s.ptr[i]);
		else
			buf_append(b, escaped, (size_t)(put_escape(escaped, c) - escaped));
	}
	buf_append_char(b, '"');
}

void json_append_number(struct buf *b, double value)
{
	buf_close(b, json_put_number(b, buf_open(b), value));
}

static uint32_t read_unit(const char *at)
{
	uint32_t unit = 0;

	for (int i = 0; i < 4; i++)
		unit = unit << 4 | (uint32_t)hex_value(at[i]);
	return unit;
}

static bool is_first_of_pair(uint32_t unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_second_of_pair(uint32_t unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

size_t json_decode_escape(const char **at, char ret_character[UTF8_MAX])
{
	static const char names[] = "\"\\/bfnrt";
	static const char bytes[] = "\"\\/\b\f\n\r\t";
	const char *escape = *at;
	uint32_t point;

	if (escape[1] != 'u') {
		ret_character[0] = bytes[strchr(names, escape[1]) - names];
		*at = escape + 2;
		return 1;
	}
	point = read_unit(escape + 2);
	*at = escape + 6;
	if (is_first_of_pair(point) && escape[6] == '\\' && escape[7] == 'u' &&
	    is_second_of_pair(read_unit(escape + 8))) {
		point = 0x10000 + ((point - 0xd800) << 10) + (read_unit(escape + 8) - 0xdc00);
		*at = escape + 12;
	}
	return utf8_encode(point, ret_character);
}
