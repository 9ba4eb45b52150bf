#include "util/json_path.h"

#include <string.h>

#include "util/block.h"
#include "util/json.h"
#include "util/num.h"

/* ---- paths ---- */

static bool append_name(struct json_path *path, struct qless_str text, size_t *at)
{
	for (; *at < text.len && text.ptr[*at] != '.'; ++*at) {
		if (text.ptr[*at] == '\\' && ++*at == text.len)
			return false;
		buf_append_char(&path->text, text.ptr[*at]);
	}
	return true;
}

/* The buffer has room for all names, so it does not move. */
static bool split(struct json_path *path, struct qless_str text)
{
	size_t begin;

	for (size_t at = 0; at <= text.len; at++) {
		if (path->count == JSON_PATH_NAMES_MAX)
			return false;
		begin = path->text.len;
		if (!append_name(path, text, &at))
			return false;
		path->names[path->count++] =
			str_make(buf_data(&path->text) + begin, path->text.len - begin);
	}
	return true;
}

bool json_path_parse(struct qless_str text, struct json_path *ret_path)
{
	ret_path->count = 0;
	buf_init(&ret_path->text, BUF_NO_MAX);
	if (text.len != 0)
		buf_reserve(&ret_path->text, text.len);
	if (text.len == 0 || split(ret_path, text))
		return true;
	json_path_done(ret_path);
	return false;
}

void json_path_done(struct json_path *path)
{
	buf_done(&path->text);
	path->count = 0;
}

/* ---- the search ---- */

struct search {
	const struct json_path *path;
	const char *at;
	const char *end;
	bool found;
	struct qless_str value;
};

static void skip_blanks(struct search *s)
{
	while (s->at < s->end && (unsigned char)*s->at <= ' ')
		s->at++;
}

/* Moves `at` to the next quote or backslash, or to the end. */
static void skip_to_quote(struct search *s)
{
	for (; s->end - s->at >= BLOCK_BYTES; s->at += BLOCK_BYTES) {
		block b = block_load(s->at);
		unsigned marks = block_marks((block)(b == '"') | (block)(b == '\\'));

		if (marks != 0) {
			s->at += __builtin_ctz(marks);
			return;
		}
	}
	while (s->at < s->end && *s->at != '"' && *s->at != '\\')
		s->at++;
}

/* Skips a string, whose opening quote is at `at`. Returns what is between the quotes. */
static struct qless_str skip_string(struct search *s, bool *ret_has_escapes)
{
	const char *begin = ++s->at;

	*ret_has_escapes = false;
	for (;;) {
		skip_to_quote(s);
		if (s->at == s->end)
			return str_make(begin, (size_t)(s->at - begin));
		if (*s->at++ == '"')
			return str_make(begin, (size_t)(s->at - 1 - begin));
		*ret_has_escapes = true;
		if (s->at < s->end)
			s->at++;
	}
}

/* Moves `at` to the next quote, bracket or brace, or to the end. A bracket and the brace of its
 * side differ in one bit. */
static void skip_to_nesting(struct search *s)
{
	for (; s->end - s->at >= BLOCK_BYTES; s->at += BLOCK_BYTES) {
		block b = block_load(s->at), folded = b | 0x20;
		unsigned marks = block_marks((block)(b == '"') | (block)(folded == '{') |
					     (block)(folded == '}'));

		if (marks != 0) {
			s->at += __builtin_ctz(marks);
			return;
		}
	}
	while (s->at < s->end && *s->at != '"' && (*s->at | 0x20) != '{' && (*s->at | 0x20) != '}')
		s->at++;
}

static void skip_nested(struct search *s)
{
	size_t depth = 0;
	bool has_escapes;

	do {
		skip_to_nesting(s);
		if (s->at == s->end)
			return;
		if (*s->at == '"') {
			skip_string(s, &has_escapes);
			continue;
		}
		depth += (*s->at | 0x20) == '{' ? 1 : (size_t)-1;
		s->at++;
	} while (depth != 0);
}

static void skip_value(struct search *s)
{
	bool has_escapes;

	if (s->at == s->end)
		return;
	if (*s->at == '"') {
		skip_string(s, &has_escapes);
	} else if (*s->at == '{' || *s->at == '[') {
		skip_nested(s);
	} else {
		while (s->at < s->end && (unsigned char)*s->at > ' ' && *s->at != ',' &&
		       *s->at != '}' && *s->at != ']')
			s->at++;
	}
}

/* Whether the text between the quotes of a string stands for a name. */
static bool is_name(struct qless_str text, bool has_escapes, struct qless_str name)
{
	const char *at = text.ptr, *end = text.ptr + text.len;
	char character[UTF8_MAX];
	size_t len;

	if (!has_escapes)
		return str_equal(text, name);
	while (at < end) {
		if (*at != '\\') {
			character[0] = *at++;
			len = 1;
		} else {
			len = json_decode_escape(&at, character);
		}
		if (name.len < len || memcmp(name.ptr, character, len) != 0)
			return false;
		name = str_make(name.ptr + len, name.len - len);
	}
	return name.len == 0;
}

static void search_value(struct search *s, size_t level);

static void search_object(struct search *s, size_t level)
{
	struct qless_str name;
	bool has_escapes;

	s->at++;
	for (;;) {
		skip_blanks(s);
		if (s->at < s->end && *s->at == ',') {
			s->at++;
			skip_blanks(s);
		}
		if (s->at == s->end || *s->at != '"')
			break;
		name = skip_string(s, &has_escapes);
		skip_blanks(s);
		if (s->at == s->end || *s->at != ':')
			break;
		s->at++;
		if (is_name(name, has_escapes, s->path->names[level])) {
			s->found = false; /* only the last member of a name counts */
			search_value(s, level + 1);
		} else {
			skip_blanks(s);
			skip_value(s);
		}
	}
	if (s->at < s->end)
		s->at++;
}

static void search_array(struct search *s, size_t level)
{
	struct qless_str name = s->path->names[level];
	uint64_t wanted = 0;
	bool is_index = num_parse_u64(name, 0, UINT32_MAX, &wanted);
	const char *before;

	s->at++;
	for (uint64_t i = 0;; i++) {
		skip_blanks(s);
		if (s->at == s->end || *s->at == ']' || *s->at == '}')
			break;
		before = s->at;
		if (is_index && i == wanted)
			search_value(s, level + 1);
		else
			skip_value(s);
		skip_blanks(s);
		if (s->at < s->end && *s->at == ',')
			s->at++;
		if (s->at == before)
			break;
	}
	if (s->at < s->end)
		s->at++;
}

/* Skips the value at `at`, and looks for the rest of the path in it. */
static void search_value(struct search *s, size_t level) /* NOLINT(misc-no-recursion): bounded */
{
	const char *begin;

	skip_blanks(s);
	begin = s->at;
	if (level == s->path->count) {
		skip_value(s);
		s->value = str_make(begin, (size_t)(s->at - begin));
		s->found = s->value.len != 0;
	} else if (s->at < s->end && *s->at == '{') {
		search_object(s, level);
	} else if (s->at < s->end && *s->at == '[') {
		search_array(s, level);
	} else {
		skip_value(s);
	}
}

bool json_path_find(const struct json_path *path, struct qless_str text,
		    struct qless_str *ret_value)
{
	struct search s = { .path = path, .at = text.ptr, .end = text.ptr + text.len };

	search_value(&s, 0);
	if (s.found)
		*ret_value = s.value;
	return s.found;
}
