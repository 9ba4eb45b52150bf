#include "http/json_text.h"

#include "util/json.h"
#include "util/utf8.h"

/* Bytes of the longest number that is written as one. Longer digits are names, such as run_id. */
#define NUMBER_BYTES_MAX 20

void json_text_write(struct chain *out, struct qless_str text)
{
	struct buf b = BUF_INIT(BUF_NO_MAX);

	if (utf8_is_valid(text)) {
		chain_append_str(out, text);
		return;
	}
	json_append_text(&b, text);
	chain_append_str(out, buf_str(&b));
	buf_done(&b);
}

/* ---- pieces of a text ---- */

/* Takes the bytes before the first `end` from the front of the rest, which continues after it. */
static struct qless_str take_until(struct qless_str *rest, char end)
{
	const char *found = rest->len != 0 ? memchr(rest->ptr, end, rest->len) : NULL;
	size_t len = found != NULL ? (size_t)(found - rest->ptr) : rest->len;
	struct qless_str taken = str_make(rest->ptr, len);

	*rest = found != NULL ? str_make(found + 1, rest->len - len - 1)
			      : str_make(rest->ptr + len, 0);
	return taken;
}

static struct qless_str take_line(struct qless_str *rest)
{
	struct qless_str line = take_until(rest, '\n');

	if (line.len != 0 && line.ptr[line.len - 1] == '\r')
		line.len--;
	return line;
}

static size_t count_digits(struct qless_str s, size_t at)
{
	size_t begin = at;

	while (at < s.len && s.ptr[at] >= '0' && s.ptr[at] <= '9')
		at++;
	return at - begin;
}

/* Whether the text is a decimal number as JSON writes it, without an exponent. */
static bool is_number(struct qless_str s)
{
	size_t at = s.len != 0 && s.ptr[0] == '-' ? 1 : 0, digits = count_digits(s, at);

	if (s.len > NUMBER_BYTES_MAX || digits == 0 || (digits > 1 && s.ptr[at] == '0'))
		return false;
	at += digits;
	if (at == s.len)
		return true;
	digits = s.ptr[at] == '.' ? count_digits(s, at + 1) : 0;
	return digits != 0 && at + 1 + digits == s.len;
}

static void append_value(struct buf *b, struct qless_str value)
{
	if (is_number(value))
		buf_append_str(b, value);
	else
		json_append_plain_string(b, value);
}

static void append_name(struct buf *b, bool is_first, struct qless_str name)
{
	if (!is_first)
		buf_append_char(b, ',');
	json_append_plain_string(b, name);
	buf_append_char(b, ':');
}

/* Appends an object of the members that `end` divides. A piece without `=` is a part of the value
 * before it. */
static void append_members(struct buf *b, struct qless_str text, char end)
{
	struct qless_str rest = text;
	bool is_first = true;

	buf_append_char(b, '{');
	while (rest.len != 0) {
		struct qless_str member = take_until(&rest, end);
		struct qless_str name = take_until(&member, '=');

		while (rest.len != 0) {
			struct qless_str after = rest, piece = take_until(&after, end);

			if (memchr(piece.ptr, '=', piece.len) != NULL)
				break;
			member.len = (size_t)(piece.ptr + piece.len - member.ptr);
			rest = after;
		}
		append_name(b, is_first, name);
		append_value(b, member);
		is_first = false;
	}
	buf_append_char(b, '}');
}

/* Whether the value of a field of INFO consists of members: a name and `=` come first. */
static bool has_members(struct qless_str value)
{
	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];

		if (c == '=')
			return i != 0;
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.'))
			return false;
	}
	return false;
}

static void append_title(struct buf *b, struct qless_str title)
{
	size_t begin = b->len;

	append_name(b, true, title);
	for (char *at = buf_data(b) + begin; at < buf_data(b) + b->len; at++) {
		if (*at >= 'A' && *at <= 'Z')
			*at = (char)(*at - 'A' + 'a');
	}
}

void json_text_append_info(struct buf *b, struct qless_str text)
{
	bool in_section = false, is_first = true;

	buf_append_char(b, '{');
	while (text.len != 0) {
		struct qless_str line = take_line(&text), title, name;

		if (str_strip_prefix(line, STR("# "), &title)) {
			if (in_section)
				buf_append_str(b, STR("},"));
			append_title(b, title);
			buf_append_char(b, '{');
			in_section = is_first = true;
			continue;
		}
		if (!in_section || line.len == 0)
			continue;
		name = take_until(&line, ':');
		append_name(b, is_first, name);
		if (has_members(line))
			append_members(b, line, ',');
		else
			append_value(b, line);
		is_first = false;
	}
	buf_append_str(b, in_section ? STR("}}") : STR("}"));
}

void json_text_append_clients(struct buf *b, struct qless_str text)
{
	bool is_first = true;

	buf_append_char(b, '[');
	while (text.len != 0) {
		struct qless_str line = take_line(&text);

		if (line.len == 0)
			continue;
		if (!is_first)
			buf_append_char(b, ',');
		append_members(b, line, ' ');
		is_first = false;
	}
	buf_append_char(b, ']');
}
