#include "cli/answer.h"

#include <math.h>
#include <stdlib.h>

#include "util/json.h"
#include "util/num.h"

void answer_done(struct answer *a)
{
	yyjson_doc_free(a->doc);
	buf_done(&a->text);
	*a = (struct answer){ .doc = NULL };
}

bool answer_parse(struct answer *a, struct qless_str json)
{
	answer_done(a);
	buf_init(&a->text, BUF_NO_MAX);
	buf_append_str(&a->text, json);
	a->doc = yyjson_read(buf_data(&a->text), a->text.len, 0);
	a->root = yyjson_doc_get_root(a->doc);
	return a->doc != NULL;
}

static void append_map(struct buf *out, const struct client_reply *reply)
{
	buf_append_char(out, '{');
	for (size_t i = 0; i + 1 < reply->count; i += 2) {
		if (i > 0)
			buf_append_char(out, ',');
		json_append_string(out, client_reply_str(&reply->elements[i]));
		buf_append_char(out, ':');
		answer_append_reply(out, &reply->elements[i + 1]);
	}
	buf_append_char(out, '}');
}

static void append_array(struct buf *out, const struct client_reply *reply)
{
	buf_append_char(out, '[');
	for (size_t i = 0; i < reply->count; i++) {
		if (i > 0)
			buf_append_char(out, ',');
		answer_append_reply(out, &reply->elements[i]);
	}
	buf_append_char(out, ']');
}

/* Numbers keep all digits of a time in microseconds. */
static void append_number(struct buf *out, double value)
{
	char text[NUM_MAX];

	if (isfinite(value))
		buf_append(out, text, num_format_g17(text, value));
	else
		buf_append_str(out, STR("null"));
}

/* Replies nest at most CLIENT_REPLY_DEPTH_MAX levels. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded */
void answer_append_reply(struct buf *out, const struct client_reply *reply)
{
	switch (reply->type) {
	case CLIENT_REPLY_NULL:
		buf_append_str(out, STR("null"));
		break;
	case CLIENT_REPLY_STRING:
	case CLIENT_REPLY_ERROR:
		json_append_string(out, client_reply_str(reply));
		break;
	case CLIENT_REPLY_INTEGER:
		buf_append_str(out, client_reply_str(reply));
		break;
	case CLIENT_REPLY_DOUBLE:
		/* The spelling of the server is the shortest, unless JSON lacks it. */
		if (isfinite(reply->number))
			buf_append_str(out, client_reply_str(reply));
		else
			buf_append_str(out, STR("null"));
		break;
	case CLIENT_REPLY_BOOL:
		json_append_bool(out, reply->integer != 0);
		break;
	case CLIENT_REPLY_MAP:
		append_map(out, reply);
		break;
	case CLIENT_REPLY_ARRAY:
	case CLIENT_REPLY_PUSH:
		append_array(out, reply);
		break;
	}
}

void answer_convert(struct answer *a, const struct client_reply *reply)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	answer_append_reply(&text, reply);
	answer_parse(a, buf_str(&text));
	buf_done(&text);
}

static void append_members(struct buf *out, yyjson_val *value)
{
	yyjson_obj_iter members = yyjson_obj_iter_with(value);
	bool is_first = true;

	for (yyjson_val *key = yyjson_obj_iter_next(&members); key != NULL;
	     key = yyjson_obj_iter_next(&members)) {
		if (!is_first)
			buf_append_char(out, ',');
		is_first = false;
		json_append_string(out, answer_str(key, NULL));
		buf_append_char(out, ':');
		answer_append_value(out, yyjson_obj_iter_get_val(key));
	}
}

/* The server limits how deep JSON is nested. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded */
void answer_append_value(struct buf *out, yyjson_val *value)
{
	if (yyjson_is_obj(value)) {
		buf_append_char(out, '{');
		append_members(out, value);
		buf_append_char(out, '}');
	} else if (yyjson_is_arr(value)) {
		buf_append_char(out, '[');
		for (size_t i = 0; i < yyjson_arr_size(value); i++) {
			if (i > 0)
				buf_append_char(out, ',');
			answer_append_value(out, yyjson_arr_get(value, i));
		}
		buf_append_char(out, ']');
	} else if (yyjson_is_str(value)) {
		json_append_string(out, answer_str(value, NULL));
	} else if (yyjson_is_real(value)) {
		append_number(out, yyjson_get_real(value));
	} else if (yyjson_is_uint(value)) {
		buf_printf(out, "%llu", (unsigned long long)yyjson_get_uint(value));
	} else if (yyjson_is_int(value)) {
		buf_printf(out, "%lld", (long long)yyjson_get_sint(value));
	} else if (yyjson_is_bool(value)) {
		json_append_bool(out, yyjson_get_bool(value));
	} else {
		buf_append_str(out, STR("null"));
	}
}

yyjson_val *answer_get(yyjson_val *object, const char *name)
{
	return name == NULL ? object : yyjson_obj_get(object, name);
}

struct qless_str answer_str(yyjson_val *object, const char *name)
{
	yyjson_val *value = answer_get(object, name);

	return yyjson_is_str(value) ? str_make(yyjson_get_str(value), yyjson_get_len(value))
				    : STR("");
}

double answer_number(yyjson_val *object, const char *name)
{
	return yyjson_get_num(answer_get(object, name));
}

bool answer_bool(yyjson_val *object, const char *name)
{
	yyjson_val *value = answer_get(object, name);

	return yyjson_get_bool(value) || (yyjson_is_num(value) && yyjson_get_num(value) != 0);
}

bool answer_has(yyjson_val *object, const char *name)
{
	yyjson_val *value = answer_get(object, name);

	return value != NULL && !yyjson_is_null(value) &&
	       !(yyjson_is_str(value) && yyjson_get_len(value) == 0);
}
