#include "compare.h"

#include <math.h>
#include <stdlib.h>

#include <yyjson.h>

#include "util/num.h"

#define RELATIVE     1e-9
#define ABSOLUTE_MAX 0.0005
#define TIMES_BELOW  1e10
#define SAME	     1e-12

static bool compare_values(yyjson_val *a, yyjson_val *b, bool is_unordered);

bool compare_numbers(double a, double b)
{
	double diff = fabs(a - b);
	double magnitude = fmax(fabs(a), fabs(b));

	if (a == b || diff <= SAME)
		return true;
	if (magnitude < TIMES_BELOW && diff > ABSOLUTE_MAX)
		return false;
	return diff <= RELATIVE * magnitude;
}

static struct qless_str text_of(yyjson_val *value)
{
	return str_make(yyjson_get_str(value), yyjson_get_len(value));
}

static bool is_empty(yyjson_val *value)
{
	return yyjson_is_ctn(value) && yyjson_get_len(value) == 0;
}

static bool compare_arrays(yyjson_val *a, yyjson_val *b)
{
	size_t i;

	if (yyjson_arr_size(a) != yyjson_arr_size(b))
		return false;
	for (i = 0; i < yyjson_arr_size(a); i++) {
		if (!compare_values(yyjson_arr_get(a, i), yyjson_arr_get(b, i), false))
			return false;
	}
	return true;
}

/* Compare as multisets, which are short. */
static bool compare_unordered(yyjson_val *a, yyjson_val *b)
{
	size_t count = yyjson_arr_size(a);
	bool *used = calloc(count + 1, sizeof(*used));
	size_t matched = 0;
	size_t i;
	size_t k;

	for (i = 0; i < count && count == yyjson_arr_size(b); i++) {
		for (k = 0; k < count; k++) {
			if (used[k] ||
			    !compare_values(yyjson_arr_get(a, i), yyjson_arr_get(b, k), false))
				continue;
			used[k] = true;
			matched++;
			break;
		}
	}
	free(used);
	return matched == count && count == yyjson_arr_size(b);
}

static bool compare_members(struct qless_str name, yyjson_val *a, yyjson_val *b)
{
	if (str_equal(name, STR("data")) && yyjson_is_str(a) && yyjson_is_str(b))
		return compare_documents(text_of(a), text_of(b));
	return compare_values(a, b,
			      str_equal(name, STR("dependents")) ||
				      str_equal(name, STR("dependencies")) ||
				      str_equal(name, STR("failures")));
}

static bool compare_objects(yyjson_val *a, yyjson_val *b)
{
	yyjson_obj_iter it;
	yyjson_val *key;

	if (yyjson_obj_size(a) != yyjson_obj_size(b))
		return false;
	yyjson_obj_iter_init(a, &it);
	while ((key = yyjson_obj_iter_next(&it)) != NULL) {
		struct qless_str name = text_of(key);
		yyjson_val *other = yyjson_obj_getn(b, name.ptr, name.len);

		if (other == NULL || !compare_members(name, yyjson_obj_iter_get_val(key), other))
			return false;
	}
	return true;
}

static bool compare_values(yyjson_val *a, yyjson_val *b, bool is_unordered)
{
	if (is_empty(a) && is_empty(b))
		return true;
	if (yyjson_get_type(a) != yyjson_get_type(b))
		return false;
	switch (yyjson_get_type(a)) {
	case YYJSON_TYPE_NULL:
		return true;
	case YYJSON_TYPE_BOOL:
		return yyjson_get_bool(a) == yyjson_get_bool(b);
	case YYJSON_TYPE_NUM:
		return compare_numbers(yyjson_get_num(a), yyjson_get_num(b));
	case YYJSON_TYPE_STR:
		return str_equal(text_of(a), text_of(b));
	case YYJSON_TYPE_ARR:
		return is_unordered ? compare_unordered(a, b) : compare_arrays(a, b);
	case YYJSON_TYPE_OBJ:
		return compare_objects(a, b);
	default:
		return false;
	}
}

bool compare_documents(struct qless_str a, struct qless_str b)
{
	yyjson_doc *doc_a;
	yyjson_doc *doc_b;
	bool result;

	if (str_equal(a, b))
		return true;
	doc_a = yyjson_read(a.ptr, a.len, 0);
	doc_b = yyjson_read(b.ptr, b.len, 0);
	result = doc_a != NULL && doc_b != NULL &&
		 compare_values(yyjson_doc_get_root(doc_a), yyjson_doc_get_root(doc_b), false);
	yyjson_doc_free(doc_a);
	yyjson_doc_free(doc_b);
	return result;
}

static bool begins_like_json(struct qless_str s)
{
	return s.len > 0 && (s.ptr[0] == '{' || s.ptr[0] == '[');
}

bool compare_texts(struct qless_str a, struct qless_str b)
{
	if (str_equal(a, b))
		return true;
	return begins_like_json(a) && begins_like_json(b) && compare_documents(a, b);
}

bool compare_fields(struct qless_str name, struct qless_str a, struct qless_str b)
{
	double number_a;
	double number_b;

	if (str_equal(a, b))
		return true;
	if (num_parse_double(a, &number_a) && num_parse_double(b, &number_b))
		return compare_numbers(number_a, number_b);
	return (str_equal(name, STR("tags")) || str_equal(name, STR("failure")) ||
		str_equal(name, STR("throttles")) || str_equal(name, STR("data"))) &&
	       compare_documents(a, b);
}
