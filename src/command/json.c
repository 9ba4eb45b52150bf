#include "command/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "util/base64.h"
#include "util/json.h"
#include "util/mem.h"
#include "util/utf8.h"

/* ---- reading ---- */

bool json_is_deeper(struct qless_str text, size_t max)
{
	bool in_string = false;
	size_t depth = 0;
	size_t i;

	/* Most texts are too short to be nested that deeply. */
	if (text.len <= max)
		return false;
	for (i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '[' || c == '{') {
			if (++depth > max)
				return true;
		} else if ((c == ']' || c == '}') && depth > 0) {
			depth--;
		}
	}
	return false;
}

const char *json_library(void)
{
	return "yyjson " YYJSON_VERSION_STRING;
}

static yyjson_doc *read_doc(struct qless_str text, yyjson_read_err *ret_err)
{
	/* yyjson writes to the text only with YYJSON_READ_INSITU. */
	return yyjson_read_opts((char *)(uintptr_t)text.ptr, text.len, YYJSON_READ_NUMBER_AS_RAW,
				NULL, ret_err);
}

static enum json_kind kind_of(yyjson_val *value)
{
	switch (yyjson_get_type(value)) {
	case YYJSON_TYPE_NULL:
		return JSON_NULL;
	case YYJSON_TYPE_BOOL:
		return yyjson_is_true(value) ? JSON_TRUE : JSON_FALSE;
	case YYJSON_TYPE_STR:
		return JSON_STRING;
	case YYJSON_TYPE_ARR:
		return JSON_ARRAY;
	case YYJSON_TYPE_OBJ:
		return JSON_OBJECT;
	default:
		return JSON_NUMBER;
	}
}

bool json_check(struct qless_str text, enum json_kind *ret_kind, struct buf *error)
{
	yyjson_read_err err;
	yyjson_doc *doc;

	buf_clear(error);
	if (text.len == 0) {
		buf_append_str(error, STR("Expected value but found T_END at character 1"));
		return false;
	}
	doc = read_doc(text, &err);
	if (doc == NULL) {
		buf_printf(error, "Invalid JSON: %s at character %zu", err.msg, err.pos + 1);
		return false;
	}
	*ret_kind = kind_of(yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	return true;
}

/* Read a long text that is no array of strings. yyjson would take long if it is deeply nested.
 * Returns false if it may be such an array. */
static bool read_other(struct qless_str text, bool objects, bool *ret_ok)
{
	static const struct json_bounds flat = { 1, SIZE_MAX };
	struct buf error = BUF_INIT(BUF_NO_MAX);
	struct json_shape shape;
	bool is_flat = json_walk(text, &flat, &shape, &error);

	buf_done(&error);
	*ret_ok = shape.kind == JSON_OBJECT && (objects || (is_flat && shape.elements == 0));
	return shape.kind != JSON_ARRAY || !is_flat;
}

bool json_read_strings(struct qless_str text, bool objects, struct json_strings *ret_strings)
{
	struct json_strings strings = { 0 };
	yyjson_read_err err;
	yyjson_arr_iter it;
	yyjson_val *root, *value;
	bool ok;

	if (text.len > JSON_LONG_BYTES && read_other(text, objects, &ok)) {
		*ret_strings = strings;
		return ok;
	}
	strings.doc = read_doc(text, &err);
	root = yyjson_doc_get_root(strings.doc);
	if (yyjson_is_obj(root) && (objects || yyjson_obj_size(root) == 0)) {
		*ret_strings = strings;
		return true;
	}
	if (!yyjson_is_arr(root))
		goto fail;
	strings.items = mem_realloc_array(NULL, yyjson_arr_size(root) + 1, sizeof(*strings.items));
	yyjson_arr_iter_init(root, &it);
	while ((value = yyjson_arr_iter_next(&it)) != NULL) {
		if (!yyjson_is_str(value) && !yyjson_is_raw(value))
			goto fail;
		strings.has_numbers |= yyjson_is_raw(value);
		strings.items[strings.count++] =
			yyjson_is_str(value)
				? str_make(yyjson_get_str(value), yyjson_get_len(value))
				: str_make(yyjson_get_raw(value), yyjson_get_len(value));
	}
	*ret_strings = strings;
	return true;

fail:
	json_strings_done(&strings);
	return false;
}

void json_strings_done(struct json_strings *strings)
{
	if (strings->doc == NULL && strings->items == NULL)
		return;
	yyjson_doc_free(strings->doc);
	free(strings->items);
	memset(strings, 0, sizeof(*strings));
}

bool json_read_base64(struct qless_str text, struct buf *bytes)
{
	yyjson_read_err err;
	yyjson_doc *doc = read_doc(text, &err);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *value = yyjson_obj_get(root, "base64");
	bool ok = yyjson_obj_size(root) == 1 && yyjson_is_str(value) &&
		  base64_append_decoded(bytes,
					str_make(yyjson_get_str(value), yyjson_get_len(value)));

	yyjson_doc_free(doc);
	return ok;
}

/* ---- writing ---- */

size_t json_begin_list(struct buf *b)
{
	buf_append_char(b, '[');
	return b->len;
}

void json_next_item(struct buf *b, size_t begin)
{
	if (b->len > begin)
		buf_append_char(b, ',');
}

void json_end_list(struct buf *b, size_t begin, enum json_empty empty)
{
	if (b->len == begin && empty == JSON_EMPTY_OBJECT) {
		buf_truncate(b, begin - 1);
		buf_append_str(b, STR("{}"));
		return;
	}
	buf_append_char(b, ']');
}

void json_append_list(struct buf *b, const struct qless_list *list, enum json_empty empty)
{
	size_t begin = json_begin_list(b);
	size_t i;

	for (i = 0; i < list->count; i++) {
		json_next_item(b, begin);
		json_append_string(b, list->items[i]);
	}
	json_end_list(b, begin, empty);
}

/*
 * The functions below copy valid JSON without blanks, and with strings in our spelling. `at` is in
 * the text of an item, which ends with a brace, so they need not look for the end of the text.
 * yyjson would build a document for each reader of the job, which takes long if it is deeply
 * nested.
 */

static const char *skip_blanks(const char *at)
{
	while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
		at++;
	return at;
}

/* Returns the text of the string at `at`, and the address after it. Escapes are decoded into
 * `decoded`. */
static struct qless_str read_string(const char *at, struct buf *decoded, const char **ret_after)
{
	const char *begin = at + 1;
	const char *run = begin;

	for (at = begin; *at != '"' && *at != '\\'; at++)
		;
	*ret_after = at + 1;
	if (*at == '"')
		return str_make(begin, (size_t)(at - begin));
	buf_clear(decoded);
	while (*at != '"') {
		char character[UTF8_MAX];

		buf_append(decoded, run, (size_t)(at - run));
		buf_append(decoded, character, json_decode_escape(&at, character));
		for (run = at; *at != '"' && *at != '\\'; at++)
			;
	}
	buf_append(decoded, run, (size_t)(at - run));
	*ret_after = at + 1;
	return buf_str(decoded);
}

/* Copies the value of a member. Returns the address of the comma or brace after it. */
static const char *copy_value(struct buf *b, const char *at, const char *end, struct buf *decoded)
{
	size_t depth = 0;
	char *to = buf_reserve(b, (size_t)(end - at));

	for (;; at++) {
		at = skip_blanks(at);
		if (*at == '"') {
			struct qless_str text;
			const char *after;

			buf_commit(b, (size_t)(to - (buf_data(b) + b->len)));
			text = read_string(at, decoded, &after);
			json_append_string(b, text);
			at = after - 1;
			to = buf_reserve(b, (size_t)(end - at));
			continue;
		}
		if (depth == 0 && (*at == ',' || *at == '}'))
			break;
		if (*at == '[' || *at == '{')
			depth++;
		else if (*at == ']' || *at == '}')
			depth--;
		*to++ = *at;
	}
	buf_commit(b, (size_t)(to - (buf_data(b) + b->len)));
	return at;
}

void json_append_item_members(struct buf *b, struct qless_str item)
{
	static const struct json_bounds widest = { JSON_DEPTH_MAX, SIZE_MAX };
	const char *end = item.ptr + item.len;
	struct buf decoded = BUF_INIT(BUF_NO_MAX);
	struct json_shape shape;
	const char *at;

	/* A snapshot from elsewhere may hold anything. */
	if (!json_walk(item, &widest, &shape, &decoded) || shape.kind != JSON_OBJECT) {
		buf_done(&decoded);
		return;
	}
	at = skip_blanks(item.ptr) + 1;
	for (at = skip_blanks(at); *at != '}';) {
		size_t before = b->len;
		struct qless_str name = read_string(at, &decoded, &at);
		bool is_ours = str_equal(name, STR("when")) || str_equal(name, STR("what"));

		json_append_string(b, name);
		buf_append_char(b, ':');
		at = copy_value(b, skip_blanks(at) + 1, end, &decoded);
		buf_append_char(b, ',');
		if (is_ours)
			buf_truncate(b, before);
		at = skip_blanks(*at == ',' ? at + 1 : at);
	}
	buf_done(&decoded);
}
