#include "run/capture.h"

#include <assert.h>
#include <string.h>

#include "util/utf8.h"

/* U+FFFD REPLACEMENT CHARACTER. */
#define REPLACEMENT STR("\xef\xbf\xbd")

void capture_init(struct capture *c, enum capture_end end, size_t max)
{
	*c = (struct capture){ .max = max, .end = end };
	buf_init(&c->bytes, BUF_NO_MAX);
}

void capture_done(struct capture *c)
{
	buf_done(&c->bytes);
}

static void keep_first(struct capture *c, struct qless_str bytes)
{
	size_t room = c->max - c->bytes.len;

	c->is_cut |= bytes.len > room;
	buf_append(&c->bytes, bytes.ptr, bytes.len < room ? bytes.len : room);
}

/* The buffer holds up to twice the maximum, so that bytes are not moved each time. */
static void keep_last(struct capture *c, struct qless_str bytes)
{
	if (bytes.len > c->max) {
		bytes = str_make(bytes.ptr + bytes.len - c->max, c->max);
		buf_clear(&c->bytes);
		c->is_cut = true;
	}
	buf_append_str(&c->bytes, bytes);
	if (c->bytes.len > 2 * c->max)
		buf_consume(&c->bytes, c->bytes.len - c->max);
	c->is_cut |= c->bytes.len > c->max;
}

void capture_add(struct capture *c, struct qless_str bytes)
{
	if (c->end == CAPTURE_FIRST)
		keep_first(c, bytes);
	else
		keep_last(c, bytes);
}

void capture_clear(struct capture *c)
{
	buf_clear(&c->bytes);
	c->is_cut = false;
}

struct qless_str capture_bytes(const struct capture *c)
{
	struct qless_str all = buf_str(&c->bytes);

	if (all.len <= c->max)
		return all;
	return str_make(all.ptr + all.len - c->max, c->max);
}

/* The next character of the text that `bytes` stand for; *ret_len is the number of bytes it takes
 * there. */
static struct qless_str next_character(struct qless_str bytes, size_t *ret_len)
{
	size_t len = utf8_length(bytes.ptr, bytes.len);

	*ret_len = len != 0 ? len : 1;
	return len != 0 ? str_make(bytes.ptr, len) : REPLACEMENT;
}

void capture_append_text(struct buf *out, struct qless_str bytes, size_t max)
{
	size_t limit = out->len + max, len;

	while (bytes.len != 0) {
		struct qless_str character = next_character(bytes, &len);

		if (out->len + character.len > limit)
			return;
		buf_append_str(out, character);
		bytes = str_make(bytes.ptr + len, bytes.len - len);
	}
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}

/* The position in `text` from which its last `max` bytes are characters and, if possible, lines. */
static size_t find_last_lines(struct qless_str text, bool is_cut, size_t max)
{
	size_t from = text.len > max ? text.len - max : 0;
	const char *newline;

	if (from == 0 && !is_cut)
		return 0;
	while (from < text.len && ((unsigned char)text.ptr[from] & 0xc0) == 0x80)
		from++;
	if (from != 0 && text.ptr[from - 1] == '\n')
		return from;
	newline = memchr(text.ptr + from, '\n', text.len - from);
	return newline != NULL && newline + 1 != text.ptr + text.len
		       ? (size_t)(newline + 1 - text.ptr)
		       : from;
}

void capture_append_last_lines(struct buf *out, struct qless_str bytes, bool is_cut, size_t max)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct qless_str all;
	size_t from;

	while (bytes.len != 0 && is_blank(bytes.ptr[bytes.len - 1]))
		bytes.len--;
	/* A character that was cut in two leaves bytes that are none. */
	while (is_cut && bytes.len != 0 && ((unsigned char)bytes.ptr[0] & 0xc0) == 0x80)
		bytes = str_make(bytes.ptr + 1, bytes.len - 1);
	capture_append_text(&text, bytes, BUF_NO_MAX - 1);
	all = buf_str(&text);
	from = find_last_lines(all, is_cut, max);
	assert(all.len - from <= max);
	buf_append(out, all.ptr + from, all.len - from);
	buf_done(&text);
}
