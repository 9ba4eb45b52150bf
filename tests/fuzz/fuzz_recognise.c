/*
 * Any text as a script. Looking at the text must neither crash nor read past its end. Tokens and
 * names must lie inside it, tokens in order. A comment before the text must not change its kind.
 */
#include <assert.h>
#include <stdint.h>

#include "command/recognise.h"
#include "command/lua.h"
#include "util/buf.h"
#include "util/mem.h"

static void check_tokens(struct qless_str script)
{
	struct qless_str rest = script;
	const char *at = script.ptr;
	struct lua_token token;

	while ((token = lua_next(&rest)).type != LUA_END) {
		assert(token.text.ptr >= at);
		at = token.text.ptr + token.text.len;
		assert(at <= script.ptr + script.len);
		assert(rest.ptr >= at && rest.ptr + rest.len == script.ptr + script.len);
	}
	assert(rest.len == 0);
}

static void check_names(const struct script_names *names, struct qless_str script)
{
	assert(names->count <= SCRIPT_NAMES_MAX);
	for (size_t i = 0; i < names->count; i++) {
		assert(names->items[i].len <= SCRIPT_NAME_BYTES_MAX);
		assert(names->items[i].ptr >= script.ptr);
		assert(names->items[i].ptr + names->items[i].len <= script.ptr + script.len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Exactly as long as the text, so that a sanitizer reports a read after its end. */
	char *copy = mem_alloc(size + (size == 0));
	struct qless_str script = str_make(copy, size);
	struct buf wrapped = BUF_INIT(BUF_NO_MAX);
	struct script_parts parts;
	enum script_kind kind;

	if (size != 0)
		memcpy(copy, data, size);
	check_tokens(script);
	recognise_parts(script, &parts);
	check_names(&parts.commands, script);
	check_names(&parts.put_options, script);
	kind = recognise_script(script);
	if (kind != SCRIPT_UNKNOWN) {
		buf_append_str(&wrapped, STR("\t--[==[ \n]]--]==]\n"));
		buf_append_str(&wrapped, script);
		assert(recognise_script(buf_str(&wrapped)) == kind);
		buf_done(&wrapped);
	}
	free(copy);
	return 0;
}
