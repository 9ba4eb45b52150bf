#include "http/target.h"

#include <string.h>

#include "util/hex.h"

/* Where the next decoded byte of a target goes. */
struct text {
	char *to;
	bool plus_is_blank; /* in a query */
};

/* Returns the value of the escape at `at`, or -1. */
static int read_escape(const char *at, const char *end)
{
	int high, low;

	if (end - at < 3)
		return -1;
	high = hex_value(at[1]);
	low = hex_value(at[2]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static bool is_plain(struct qless_str s, const struct text *text)
{
	return s.len == 0 || (memchr(s.ptr, '%', s.len) == NULL &&
			      (!text->plus_is_blank || memchr(s.ptr, '+', s.len) == NULL));
}

/* The text of the target has room for all of it, because decoding only makes it shorter. */
static bool decode(struct text *text, struct qless_str s, struct qless_str *ret_s)
{
	const char *at = s.ptr, *end = s.ptr + s.len;
	char *begin = text->to;

	if (is_plain(s, text)) {
		*ret_s = s;
		return true;
	}
	while (at != end) {
		int byte = (unsigned char)*at;

		if (byte == '%') {
			byte = read_escape(at, end);
			if (byte < 0)
				return false;
			at += 3;
		} else {
			if (byte == '+' && text->plus_is_blank)
				byte = ' ';
			at++;
		}
		*text->to++ = (char)byte;
	}
	*ret_s = str_make(begin, (size_t)(text->to - begin));
	return true;
}

/* Cuts the text at the first `separator`, and leaves the rest after it in *rest. Returns false
 * after the last part. */
static bool next_part(struct qless_str *rest, char separator, struct qless_str *ret_part)
{
	const char *end;

	if (rest->ptr == NULL)
		return false;
	end = rest->len != 0 ? memchr(rest->ptr, separator, rest->len) : NULL;
	if (end == NULL) {
		*ret_part = *rest;
		*rest = str_make(NULL, 0);
		return true;
	}
	*ret_part = str_make(rest->ptr, (size_t)(end - rest->ptr));
	*rest = str_make(end + 1, rest->len - ret_part->len - 1);
	return true;
}

static int split_path(struct http_target *t, struct text *text)
{
	struct qless_str rest = str_make(t->path.ptr + 1, t->path.len - 1), part;

	if (rest.len == 0)
		return 0;
	while (next_part(&rest, '/', &part)) {
		if (t->segment_count == HTTP_TARGET_SEGMENTS_MAX)
			return HTTP_TARGET_SEGMENTS;
		if (!decode(text, part, &t->segments[t->segment_count]))
			return HTTP_TARGET_BAD_ESCAPE;
		t->segment_count++;
	}
	return 0;
}

static int add_parameter(struct http_target *t, struct text *text, struct qless_str part)
{
	struct http_parameter *p = &t->parameters[t->parameter_count];
	struct qless_str name;

	if (t->parameter_count == HTTP_TARGET_PARAMETERS_MAX)
		return HTTP_TARGET_PARAMETERS;
	next_part(&part, '=', &name);
	if (part.ptr == NULL)
		part = str_make(name.ptr + name.len, 0);
	if (!decode(text, name, &p->name) || !decode(text, part, &p->value))
		return HTTP_TARGET_BAD_ESCAPE;
	t->parameter_count++;
	return 0;
}

static int split_query(struct http_target *t, struct text *text)
{
	struct qless_str rest = t->query, part;

	text->plus_is_blank = true;
	while (next_part(&rest, '&', &part)) {
		int rc = part.len != 0 ? add_parameter(t, text, part) : 0;

		if (rc < 0)
			return rc;
	}
	return 0;
}

int http_target_parse(struct http_target *t, struct qless_str text)
{
	struct text decoded = { .to = t->text };
	struct qless_str rest = text;
	int rc;

	t->segment_count = t->parameter_count = 0;
	if (text.len > sizeof t->text)
		return HTTP_TARGET_LONG;
	if (text.len == 0 || text.ptr[0] != '/')
		return HTTP_TARGET_NOT_A_PATH;
	next_part(&rest, '?', &t->path);
	t->query = rest.ptr != NULL ? rest : str_make(text.ptr + text.len, 0);
	rc = split_path(t, &decoded);
	return rc < 0 ? rc : split_query(t, &decoded);
}

const char *http_target_error_text(int error)
{
	switch (error) {
	case HTTP_TARGET_BAD_ESCAPE:
		return "the target has a % without two hexadecimal digits after it";
	case HTTP_TARGET_LONG:
		return "the target is longer than 8192 bytes";
	case HTTP_TARGET_SEGMENTS:
		return "the path has more than 16 segments";
	case HTTP_TARGET_PARAMETERS:
		return "the query has more than 64 parameters";
	default:
		return "the target must be a path that begins with /";
	}
}

const struct http_parameter *http_target_parameter(const struct http_target *t,
						   struct qless_str name)
{
	for (size_t i = 0; i < t->parameter_count; i++) {
		if (str_equal(t->parameters[i].name, name))
			return &t->parameters[i];
	}
	return NULL;
}
