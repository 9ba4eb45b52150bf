/*
 * The tokens of a Lua text, without its comments and blanks.
 *
 * The tokens serve to look at a script, not to run it: nothing is checked, the value of a number is
 * not computed, and a string keeps its escapes.
 */
#ifndef COMMAND_LUA_H
#define COMMAND_LUA_H

#include <stdbool.h>

#include "util/str.h"

enum lua_token_type {
	LUA_END,    /* the end of the text, or the point where it stops being Lua */
	LUA_NAME,   /* a name or a keyword */
	LUA_STRING, /* the text between the quotes */
	LUA_NUMBER,
	LUA_SYMBOL, /* one character, or == ~= <= >= .. ... */
};

struct lua_token {
	enum lua_token_type type;
	struct qless_str text; /* a slice of the script */
};

/* Takes the next token off the front of `rest`. At the end of the text, every call returns the
 * end. */
struct lua_token lua_next(struct qless_str *rest);

bool lua_is_symbol(const struct lua_token *token, const char *symbol);
bool lua_is_name(const struct lua_token *token, const char *name);

#endif
