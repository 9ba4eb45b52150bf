#include "command/lua.h"

#include <stddef.h>

/* The locale has no say in what a name is. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool begins_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct qless_str take(struct qless_str *rest, size_t len)
{
	struct qless_str front = str_make(rest->ptr, len);

	rest->ptr += len;
	rest->len -= len;
	return front;
}

static char at(struct qless_str s, size_t i)
{
	return i < s.len ? s.ptr[i] : '\0';
}

/* Returns the length of the opening [[ or [==[ at the front; 0 if there is none. */
static size_t long_bracket(struct qless_str s)
{
	size_t i = 1;

	if (at(s, 0) != '[')
		return 0;
	while (at(s, i) == '=')
		i++;
	return at(s, i) == '[' ? i + 1 : 0;
}

/* Takes a long string whose opening bracket has that length. Returns false if it is not closed. */
static bool take_long(struct qless_str *rest, size_t bracket, struct qless_str *ret_content)
{
	for (size_t i = bracket; i + bracket <= rest->len; i++) {
		size_t k = 1;

		if (rest->ptr[i] != ']')
			continue;
		while (k < bracket - 1 && rest->ptr[i + k] == '=')
			k++;
		if (k == bracket - 1 && rest->ptr[i + k] == ']') {
			*ret_content = str_make(rest->ptr + bracket, i - bracket);
			take(rest, i + bracket);
			return true;
		}
	}
	return false;
}

static bool take_quoted(struct qless_str *rest, struct qless_str *ret_content)
{
	char quote = rest->ptr[0];

	for (size_t i = 1; i < rest->len && rest->ptr[i] != '\n'; i++) {
		if (rest->ptr[i] == '\\') {
			i++;
		} else if (rest->ptr[i] == quote) {
			*ret_content = str_make(rest->ptr + 1, i - 1);
			take(rest, i + 1);
			return true;
		}
	}
	return false;
}

/* Returns false if a comment is not closed. */
static bool skip_blanks(struct qless_str *rest)
{
	while (rest->len > 0) {
		struct qless_str comment;
		size_t bracket;

		if (is_blank(rest->ptr[0])) {
			take(rest, 1);
			continue;
		}
		if (at(*rest, 0) != '-' || at(*rest, 1) != '-')
			return true;
		take(rest, 2);
		bracket = long_bracket(*rest);
		if (bracket != 0 && !take_long(rest, bracket, &comment))
			return false;
		while (bracket == 0 && rest->len > 0 && rest->ptr[0] != '\n')
			take(rest, 1);
	}
	return true;
}

/* The sign in 0x1p-4 or 1e+5 becomes a token of its own, which does no harm: only the presence of a
 * number matters. */
static size_t number_length(struct qless_str s)
{
	size_t len = 1;

	while (is_digit(at(s, len)) || begins_name(at(s, len)) || at(s, len) == '.')
		len++;
	return len;
}

static size_t name_length(struct qless_str s)
{
	size_t len = 1;

	while (is_digit(at(s, len)) || begins_name(at(s, len)))
		len++;
	return len;
}

static size_t symbol_length(struct qless_str s)
{
	char first = at(s, 0), second = at(s, 1);

	if (first == '.' && second == '.')
		return at(s, 2) == '.' ? 3 : 2;
	if (second == '=' && (first == '=' || first == '~' || first == '<' || first == '>'))
		return 2;
	return 1;
}

struct lua_token lua_next(struct qless_str *rest)
{
	struct lua_token token = { .type = LUA_END };
	size_t bracket;
	char first;

	if (!skip_blanks(rest) || rest->len == 0)
		goto end;
	first = rest->ptr[0];
	bracket = long_bracket(*rest);
	if (begins_name(first)) {
		token.type = LUA_NAME;
		token.text = take(rest, name_length(*rest));
	} else if (is_digit(first) || (first == '.' && is_digit(at(*rest, 1)))) {
		token.type = LUA_NUMBER;
		token.text = take(rest, number_length(*rest));
	} else if (first == '"' || first == '\'' || bracket != 0) {
		if (!(bracket != 0 ? take_long(rest, bracket, &token.text)
				   : take_quoted(rest, &token.text)))
			goto end;
		token.type = LUA_STRING;
	} else {
		token.type = LUA_SYMBOL;
		token.text = take(rest, symbol_length(*rest));
	}
	return token;

end:
	rest->len = 0;
	return token;
}

bool lua_is_symbol(const struct lua_token *token, const char *symbol)
{
	return token->type == LUA_SYMBOL && str_equal(token->text, str_from(symbol));
}

bool lua_is_name(const struct lua_token *token, const char *name)
{
	return token->type == LUA_NAME && str_equal(token->text, str_from(name));
}
