#include "command/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "util/json.h"
#include "util/mem.h"

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

bool json_read_strings(struct qless_str text, bool objects, struct json_strings *ret_strings)
{
	yyjson_read_err err;
	yyjson_doc *doc = read_doc(text, &err);
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct json_strings strings = { .doc = doc };
	yyjson_arr_iter it;
	yyjson_val *value;

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

static void append_text_value(struct buf *b, yyjson_val *value)
{
	json_append_string(b, str_make(yyjson_get_str(value), yyjson_get_len(value)));
}

/* Appends a value that has no members. */
static void append_leaf(struct buf *b, yyjson_val *value)
{
	switch (yyjson_get_type(value)) {
	case YYJSON_TYPE_NULL:
		buf_append_str(b, STR("null"));
		break;
	case YYJSON_TYPE_BOOL:
		json_append_bool(b, yyjson_is_true(value));
		break;
	case YYJSON_TYPE_STR:
		append_text_value(b, value);
		break;
	case YYJSON_TYPE_ARR:
		buf_append_str(b, STR("[]"));
		break;
	case YYJSON_TYPE_OBJ:
		buf_append_str(b, STR("{}"));
		break;
	default:
		buf_append(b, yyjson_get_raw(value), yyjson_get_len(value));
		break;
	}
}

/* An array or object whose end has not been written yet. */
struct open_value {
	size_t left; /* values to come; a member of an object counts as two */
	bool is_object;
};

/* Documents can be nested more deeply than recursion allows, so this keeps a stack on the heap. */
static void append_value(struct buf *b, yyjson_val *value)
{
	struct open_value *open = NULL;
	size_t depth = 0;
	size_t cap = 0;

	do {
		if (yyjson_is_ctn(value) && yyjson_get_len(value) > 0) {
			bool is_object = yyjson_is_obj(value);

			open = mem_grow(open, &cap, depth + 1, sizeof(*open));
			open[depth++] = (struct open_value){
				.left = yyjson_get_len(value) * (is_object ? 2 : 1),
				.is_object = is_object,
			};
			buf_append_char(b, is_object ? '{' : '[');
			value = unsafe_yyjson_get_first(value);
			continue;
		}
		append_leaf(b, value);
		value = unsafe_yyjson_get_next(value);
		while (depth > 0 && --open[depth - 1].left == 0)
			buf_append_char(b, open[--depth].is_object ? '}' : ']');
		if (depth > 0)
			buf_append_char(b, open[depth - 1].is_object && open[depth - 1].left % 2
						   ? ':'
						   : ',');
	} while (depth > 0);
	free(open);
}

void json_append_item_members(struct buf *b, struct qless_str item)
{
	yyjson_read_err err;
	yyjson_doc *doc = read_doc(item, &err);
	yyjson_obj_iter it;
	yyjson_val *key;

	yyjson_obj_iter_init(yyjson_doc_get_root(doc), &it);
	while ((key = yyjson_obj_iter_next(&it)) != NULL) {
		if (yyjson_equals_str(key, "when") || yyjson_equals_str(key, "what"))
			continue;
		append_text_value(b, key);
		buf_append_char(b, ':');
		append_value(b, yyjson_obj_iter_get_val(key));
		buf_append_char(b, ',');
	}
	yyjson_doc_free(doc);
}
