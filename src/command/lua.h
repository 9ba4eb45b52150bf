/*
 * The tokens of a Lua text: what is left when comments and blanks are gone.
 *
 * This is for looking at a script, not for running it: nothing is checked, numbers are not told
 * from one another, and what stands in a string is given as it was written, escapes and all.
 */
#ifndef COMMAND_LUA_H
#define COMMAND_LUA_H

#include <stdbool.h>

#include "util/str.h"

enum lua_token_type {
	LUA_END,    /* of the text, or where it stops being Lua */
	LUA_NAME,   /* a keyword, too */
	LUA_STRING, /* what is between the quotes */
	LUA_NUMBER,
	LUA_SYMBOL, /* one character, or == ~= <= >= .. ... */
};

struct lua_token {
	enum lua_token_type type;
	struct qless_str text; /* a slice of the script */
};

/* Take the next token off the front of `rest`. At the end of the text, again and again the end. */
struct lua_token lua_next(struct qless_str *rest);

bool lua_is_symbol(const struct lua_token *token, const char *symbol);
bool lua_is_name(const struct lua_token *token, const char *name);

#endif
