#include "http/body.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "util/json.h"
#include "util/utf8.h"

#define BITS 64

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* ---- checking ---- */

struct check {
	const char *at;
	const char *end;
	const char *why; /* the error, which is at `at`; NULL until there is one */
	size_t depth;
	size_t max_depth;
	uint64_t is_object[BODY_DEPTH_MAX / BITS + 1]; /* a bit for each open array or object */
};

static bool fail(struct check *c, const char *why)
{
	c->why = c->at == c->end ? "it ends too early" : why;
	return false;
}

static void skip_blanks(struct check *c)
{
	while (c->at < c->end && is_blank(*c->at))
		c->at++;
}

static bool skip_digits(struct check *c)
{
	const char *begin = c->at;

	while (c->at < c->end && is_digit(*c->at))
		c->at++;
	return c->at != begin || fail(c, "a digit is missing");
}

static bool check_number(struct check *c)
{
	if (*c->at == '-')
		c->at++;
	if (c->at < c->end && *c->at == '0')
		c->at++;
	else if (!skip_digits(c))
		return false;
	if (c->at < c->end && *c->at == '.') {
		c->at++;
		if (!skip_digits(c))
			return false;
	}
	if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
		c->at++;
		if (c->at < c->end && (*c->at == '+' || *c->at == '-'))
			c->at++;
		return skip_digits(c);
	}
	return true;
}

static bool check_word(struct check *c, struct qless_str word)
{
	if (!str_starts_with(str_make(c->at, (size_t)(c->end - c->at)), word))
		return fail(c, "a value is expected");
	c->at += word.len;
	return true;
}

/* Reads four hexadecimal digits. Returns -1 if they are not there. */
static int read_unit(const char *at, const char *end)
{
	int unit = 0;

	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = at[i];

		if (!is_hex(c))
			return -1;
		unit = unit << 4 | (is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return unit;
}

/* After `\u`. Half a pair of surrogates is no character. */
static bool check_unicode(struct check *c)
{
	int unit = read_unit(c->at, c->end), low;

	if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff))
		return fail(c, "the escape is invalid");
	c->at += 4;
	if (unit < 0xd800 || unit > 0xdbff)
		return true;
	low = c->end - c->at >= 6 && c->at[0] == '\\' && c->at[1] == 'u'
		      ? read_unit(c->at + 2, c->end)
		      : -1;
	if (low < 0xdc00 || low > 0xdfff)
		return fail(c, "the escape is half a pair of surrogates");
	c->at += 6;
	return true;
}

static bool check_escape(struct check *c)
{
	char letter;

	if (++c->at == c->end)
		return fail(c, NULL);
	letter = *c->at++;
	if (letter == 'u')
		return check_unicode(c);
	if (letter != '\0' && strchr("\"\\/bfnrt", letter) != NULL)
		return true;
	c->at--;
	return fail(c, "the escape is invalid");
}

static bool check_string(struct check *c)
{
	if (c->at == c->end || *c->at != '"')
		return fail(c, "a string is expected");
	c->at++;
	while (c->at < c->end && *c->at != '"') {
		if ((unsigned char)*c->at < ' ')
			return fail(c, "a string has a control character");
		if (*c->at == '\\') {
			if (!check_escape(c))
				return false;
		} else {
			c->at++;
		}
	}
	if (c->at == c->end)
		return fail(c, NULL);
	c->at++;
	return true;
}

static bool in_object(const struct check *c)
{
	size_t level = c->depth - 1;

	return (c->is_object[level / BITS] >> level % BITS & 1) != 0;
}

static bool open_level(struct check *c, bool is_object)
{
	uint64_t bit = UINT64_C(1) << c->depth % BITS, *word = &c->is_object[c->depth / BITS];

	if (c->depth == c->max_depth)
		return fail(c, "arrays and objects are nested too deeply");
	*word = is_object ? *word | bit : *word & ~bit;
	c->depth++;
	c->at++;
	return true;
}

/* The name of a member and its colon. */
static bool check_name(struct check *c)
{
	skip_blanks(c);
	if (!check_string(c))
		return false;
	skip_blanks(c);
	if (c->at == c->end || *c->at != ':')
		return fail(c, "a colon is expected");
	c->at++;
	return true;
}

static bool check_scalar(struct check *c)
{
	switch (*c->at) {
	case '"':
		return check_string(c);
	case 't':
		return check_word(c, STR("true"));
	case 'f':
		return check_word(c, STR("false"));
	case 'n':
		return check_word(c, STR("null"));
	default:
		break;
	}
	if (*c->at == '-' || is_digit(*c->at))
		return check_number(c);
	return fail(c, "a value is expected");
}

/* Closes what ends after a value. Returns true if another element follows. */
static bool close_levels(struct check *c)
{
	while (c->depth != 0) {
		char end = in_object(c) ? '}' : ']';

		skip_blanks(c);
		if (c->at < c->end && *c->at == ',') {
			c->at++;
			return in_object(c) ? check_name(c) : true;
		}
		if (c->at == c->end || *c->at != end)
			return fail(c, "a comma or a closing bracket is expected");
		c->at++;
		c->depth--;
	}
	return false;
}

/* Checks what begins with a bracket. Sets *ret_empty if nothing is in it. */
static bool check_opening(struct check *c, bool *ret_empty)
{
	bool is_object = *c->at == '{';

	if (!open_level(c, is_object))
		return false;
	skip_blanks(c);
	*ret_empty = c->at < c->end && *c->at == (is_object ? '}' : ']');
	return *ret_empty || !is_object || check_name(c);
}

static bool check_document(struct check *c)
{
	bool more = true;

	while (more) {
		bool is_empty = true;

		skip_blanks(c);
		if (c->at == c->end)
			return fail(c, NULL);
		if (*c->at == '{' || *c->at == '[') {
			if (!check_opening(c, &is_empty))
				return false;
			if (!is_empty)
				continue;
			c->at++;
			c->depth--;
		} else if (!check_scalar(c)) {
			return false;
		}
		more = close_levels(c);
	}
	skip_blanks(c);
	return c->why == NULL && (c->at == c->end || fail(c, "something follows the value"));
}

bool body_check(struct qless_str text, size_t max_depth, char ret_error[BODY_ERROR_SIZE])
{
	/* Levels that are not open need no bits, and are not cleared. */
	struct check c;

	c.at = text.ptr;
	c.end = text.ptr + text.len;
	c.why = NULL;
	c.depth = 0;
	c.max_depth = max_depth < BODY_DEPTH_MAX ? max_depth : BODY_DEPTH_MAX;
	if (!utf8_is_valid(text)) {
		snprintf(ret_error, BODY_ERROR_SIZE, "it is not UTF-8");
		return false;
	}
	if (check_document(&c))
		return true;
	snprintf(ret_error, BODY_ERROR_SIZE, "%s at byte %zu", c.why, (size_t)(c.at - text.ptr));
	return false;
}

/* ---- taking apart ---- */

enum body_kind body_kind_of(struct qless_str value)
{
	switch (value.ptr[0]) {
	case '{':
		return BODY_OBJECT;
	case '[':
		return BODY_ARRAY;
	case '"':
		return BODY_STRING;
	case 't':
		return BODY_TRUE;
	case 'f':
		return BODY_FALSE;
	case 'n':
		return BODY_NULL;
	default:
		return BODY_NUMBER;
	}
}

const char *body_kind_text(enum body_kind kind)
{
	static const char *const texts[] = {
		[BODY_NULL] = "null",	     [BODY_FALSE] = "false",	 [BODY_TRUE] = "true",
		[BODY_NUMBER] = "a number",  [BODY_STRING] = "a string", [BODY_ARRAY] = "an array",
		[BODY_OBJECT] = "an object",
	};

	return texts[kind];
}

static size_t count_blanks(struct qless_str text)
{
	size_t count = 0;

	while (count < text.len && is_blank(text.ptr[count]))
		count++;
	return count;
}

static void skip(struct qless_str *rest, size_t count)
{
	*rest = str_make(rest->ptr + count, rest->len - count);
}

struct qless_str body_trim(struct qless_str text)
{
	skip(&text, count_blanks(text));
	while (text.len != 0 && is_blank(text.ptr[text.len - 1]))
		text.len--;
	return text;
}

/* Returns the length of the string at the front, with its quotes. */
static size_t string_length(struct qless_str text)
{
	size_t at = 1;

	while (text.ptr[at] != '"')
		at += text.ptr[at] == '\\' ? 2 : 1;
	return at + 1;
}

/* Returns the length of the value at the front. */
static size_t value_length(struct qless_str text)
{
	size_t at = 0, depth = 0;

	do {
		char c = text.ptr[at];

		if (c == '"') {
			at += string_length(str_make(text.ptr + at, text.len - at));
			continue;
		}
		if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			depth--;
		else if (depth == 0)
			break;
		at++;
	} while (depth != 0);
	if (at != 0)
		return at;
	while (at < text.len && !is_blank(text.ptr[at]) && strchr(",]}", text.ptr[at]) == NULL)
		at++;
	return at;
}

/* Goes to the next element: after the opening bracket or a comma. Returns false at the end. */
static bool go_to_next(struct qless_str *rest)
{
	skip(rest, count_blanks(*rest));
	if (rest->len == 0 || rest->ptr[0] == ']' || rest->ptr[0] == '}')
		return false;
	skip(rest, 1);
	skip(rest, count_blanks(*rest));
	return rest->ptr[0] != ']' && rest->ptr[0] != '}';
}

static struct qless_str take_value(struct qless_str *rest)
{
	struct qless_str value = str_make(rest->ptr, value_length(*rest));

	skip(rest, value.len);
	return value;
}

bool body_next_element(struct qless_str *rest, struct qless_str *ret_value)
{
	if (!go_to_next(rest))
		return false;
	*ret_value = take_value(rest);
	return true;
}

bool body_next_member(struct qless_str *rest, struct qless_str *ret_name,
		      struct qless_str *ret_value)
{
	if (!go_to_next(rest))
		return false;
	*ret_name = body_inside(take_value(rest));
	skip(rest, count_blanks(*rest));
	assert(rest->ptr[0] == ':');
	skip(rest, 1);
	skip(rest, count_blanks(*rest));
	*ret_value = take_value(rest);
	return true;
}

size_t body_decode(struct qless_str inside, char *to)
{
	const char *at = inside.ptr, *end = inside.ptr + inside.len;
	char *begin = to;

	while (at < end) {
		const char *escape = memchr(at, '\\', (size_t)(end - at));
		const char *stop = escape != NULL ? escape : end;
		char character[UTF8_MAX];
		size_t len = (size_t)(stop - at);

		memcpy(to, at, len);
		to += len;
		at = stop;
		if (at == end)
			break;
		len = json_decode_escape(&at, character);
		memcpy(to, character, len);
		to += len;
	}
	return (size_t)(to - begin);
}
