#include "state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "util/num.h"

#define WORK_TOLERANCE 1e-12

void content_clear(struct content *content, struct qless_str type)
{
	content->type = type;
	buf_clear(&content->texts);
	content->count = 0;
}

void content_add(struct content *content, struct qless_str text)
{
	append_text(&content->texts, text);
	content->count++;
}

struct qless_str state_key_name(yyjson_val *line)
{
	return json_text(yyjson_obj_get(line, "k"));
}

static bool match_hash(yyjson_val *expected, const struct content *got)
{
	struct qless_str texts = buf_str(&got->texts);

	if (got->count != 2 * yyjson_obj_size(expected))
		return false;
	for (size_t i = 0; i < got->count; i += 2) {
		struct qless_str name = take_text(&texts);
		struct qless_str value = take_text(&texts);
		yyjson_val *field = yyjson_obj_getn(expected, name.ptr, name.len);

		if (field == NULL || !compare_fields(name, json_text(field), value))
			return false;
	}
	return true;
}

static double score_of(yyjson_val *value)
{
	if (yyjson_is_str(value))
		return yyjson_equals_str(value, "inf") ? (double)INFINITY : -(double)INFINITY;
	return yyjson_get_num(value);
}

static bool is_work(struct qless_str name)
{
	return str_starts_with(name, STR("ql:q:")) && name.len > 5 &&
	       memcmp(name.ptr + name.len - 5, "-work", 5) == 0;
}

static bool match_zset(struct qless_str name, yyjson_val *expected, const struct content *got)
{
	struct qless_str texts = buf_str(&got->texts);

	if (got->count != 2 * yyjson_arr_size(expected))
		return false;
	for (size_t i = 0; i < got->count / 2; i++) {
		yyjson_val *pair = yyjson_arr_get(expected, i);
		double recorded = score_of(yyjson_arr_get(pair, 1)), score;
		struct qless_str member = take_text(&texts);

		if (!num_parse_lua(take_text(&texts), &score) ||
		    !str_equal(json_text(yyjson_arr_get(pair, 0)), member) ||
		    !compare_numbers(recorded, score))
			return false;
		if (is_work(name) && isfinite(recorded) && fabs(recorded - score) > WORK_TOLERANCE)
			return false;
	}
	return true;
}

static bool match_elements(yyjson_val *expected, const struct content *got)
{
	struct qless_str texts = buf_str(&got->texts);

	if (got->count != yyjson_arr_size(expected))
		return false;
	for (size_t i = 0; i < got->count; i++) {
		if (!compare_documents(json_text(yyjson_arr_get(expected, i)), take_text(&texts)))
			return false;
	}
	return true;
}

static bool match_key(yyjson_val *line, const struct content *got)
{
	yyjson_val *expected = yyjson_obj_get(line, "v");

	if (!str_equal(json_text(yyjson_obj_get(line, "type")), got->type))
		return false;
	if (str_equal(got->type, STR("hash")))
		return match_hash(expected, got);
	if (str_equal(got->type, STR("zset")))
		return match_zset(state_key_name(line), expected, got);
	return match_elements(expected, got);
}

void check_key(struct scenario *s, yyjson_val *line, const struct content *got)
{
	struct qless_str texts = buf_str(&got->texts);

	if (match_key(line, got))
		return;
	scenario_differ(s, "another state after it");
	show_text("key", state_key_name(line));
	show_json("expected", yyjson_obj_get(line, "v"));
	show_text("got", got->type);
	for (size_t i = 0; i < got->count; i++)
		show_text("", take_text(&texts));
}

bool check_key_count(struct scenario *s, yyjson_val *line, size_t got)
{
	size_t expected = (size_t)yyjson_get_uint(yyjson_obj_get(line, "keys"));

	if (got == expected)
		return true;
	scenario_differ(s, "another number of keys after it");
	printf("    expected %zu\n    got      %zu\n", expected, got);
	return false;
}
