/*
 * The values of a request, each of which becomes some arguments.
 */
#include <assert.h>
#include <string.h>

#include "http/arguments_int.h"
#include "http/body.h"
#include "util/base64.h"

/* ---- values of a body ---- */

static bool add_text(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	if (body_kind_of(value) != BODY_STRING)
		return arguments_fail_kind(a, arg, "a string", value);
	arguments_add_word(a, arg);
	arguments_add(a, arguments_decode(a, body_inside(value)));
	return true;
}

static bool add_number(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	if (body_kind_of(value) != BODY_NUMBER)
		return arguments_fail_kind(a, arg, "a number", value);
	arguments_add_word(a, arg);
	arguments_add(a, value);
	return true;
}

static bool add_scalar(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	if (body_kind_of(value) == BODY_STRING)
		return add_text(a, arg, value);
	if (body_kind_of(value) != BODY_NUMBER)
		return arguments_fail_kind(a, arg, "a string or a number", value);
	return add_number(a, arg, value);
}

static bool add_flag(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	enum body_kind kind = body_kind_of(value);

	if (kind != BODY_TRUE && kind != BODY_FALSE)
		return arguments_fail_kind(a, arg, "true or false", value);
	if (kind == BODY_TRUE)
		arguments_add_word(a, arg);
	return true;
}

static bool add_switch(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	enum body_kind kind = body_kind_of(value);

	if (kind != BODY_TRUE && kind != BODY_FALSE)
		return arguments_fail_kind(a, arg, "true or false", value);
	arguments_add_word(a, arg);
	arguments_add(a, kind == BODY_TRUE ? STR("yes") : STR("no"));
	return true;
}

static bool add_any(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	arguments_add_word(a, arg);
	arguments_add(a, value);
	return true;
}

static bool add_json_list(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	if (body_kind_of(value) != BODY_ARRAY)
		return arguments_fail_kind(a, arg, "an array of strings", value);
	return add_any(a, arg, value);
}

static bool is_raw(const struct arguments *a)
{
	for (const struct route_arg *arg = a->route->args; !route_arg_is_end(arg); arg++) {
		if (arg->kind == ROUTE_RAW || arg->kind == ROUTE_RAW_SWITCH)
			return arguments_value_of(a, arg)->is_set &&
			       body_kind_of(arguments_value_of(a, arg)->text) == BODY_TRUE;
	}
	return false;
}

/* Finds the text in {"base64": "..."}. Returns false if the value is anything else. */
static bool find_base64(struct arguments *a, struct qless_str value, struct qless_str *ret_text)
{
	struct qless_str name, text, rest = value;

	if (body_kind_of(value) != BODY_OBJECT || !body_next_member(&rest, &name, &text) ||
	    !str_equal(arguments_decode(a, name), STR("base64")) ||
	    body_kind_of(text) != BODY_STRING)
		return false;
	*ret_text = arguments_decode(a, body_inside(text));
	return !body_next_member(&rest, &name, &text);
}

static bool add_raw(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	size_t begin = a->text.start + a->text.len;
	struct qless_str text;

	if (body_kind_of(value) == BODY_STRING)
		return add_text(a, arg, value);
	if (!find_base64(a, value, &text) || !base64_append_decoded(&a->text, text))
		return arguments_fail(
			a, "BADARG",
			"The member \"%s\" of a raw job must be {\"base64\": \"...\"} or a string",
			arg->name);
	arguments_add_word(a, arg);
	arguments_add(a, str_make(a->text.mem + begin, a->text.start + a->text.len - begin));
	return true;
}

static bool add_data(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	return is_raw(a) ? add_raw(a, arg, value) : add_any(a, arg, value);
}

static bool add_result(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	return body_kind_of(value) == BODY_STRING ? add_text(a, arg, value)
						  : add_any(a, arg, value);
}

static bool add_list(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	struct qless_str element, rest = value;
	size_t counter, count = 0;

	if (body_kind_of(value) != BODY_ARRAY)
		return arguments_fail_kind(a, arg, "an array of strings", value);
	arguments_add_word(a, arg);
	counter = a->argc;
	if (arg->kind == ROUTE_COUNTED)
		arguments_add(a, STR(""));
	for (; body_next_element(&rest, &element); count++) {
		if (body_kind_of(element) != BODY_STRING)
			return arguments_fail(
				a, "BADARG",
				"The member \"%s\" must be an array of strings; found %s in it",
				arg->name, body_kind_text(body_kind_of(element)));
		arguments_add(a, arguments_decode(a, body_inside(element)));
		if (!arguments_check_count(a))
			return false;
	}
	if (count == 0)
		return arguments_fail(a, "BADARG", "The member \"%s\" must not be empty: %s",
				      arg->name, arg->help);
	if (arg->kind == ROUTE_COUNTED)
		a->argv[counter] = arguments_keep_number(a, (double)count);
	return true;
}

static bool add_fields(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	struct qless_str name, text, rest = value;

	if (body_kind_of(value) != BODY_OBJECT)
		return arguments_fail_kind(a, arg, "an object of strings", value);
	if (arg->kind == ROUTE_FIELDS)
		arguments_add_word(a, arg);
	while (body_next_member(&rest, &name, &text)) {
		if (arg->kind == ROUTE_HEADERS)
			arguments_add_word(a, arg);
		arguments_add(a, arguments_decode(a, name));
		if (body_kind_of(text) == BODY_STRING)
			text = arguments_decode(a, body_inside(text));
		arguments_add(a, text);
		if (!arguments_check_count(a))
			return false;
	}
	return true;
}

/* The jids and the data of MULTICOMPLETE. */
static bool add_job(struct arguments *a, const struct route_arg *arg, struct qless_str job)
{
	struct qless_str name, value, rest = job;
	struct arguments_value jid = { .is_set = false }, data = { .is_set = false };

	if (body_kind_of(job) != BODY_OBJECT)
		return arguments_fail_kind(a, arg, "an array of objects with jid and data", job);
	while (body_next_member(&rest, &name, &value)) {
		struct qless_str decoded = arguments_decode(a, name);
		bool is_jid = str_equal(decoded, STR("jid"));

		if (!is_jid && !str_equal(decoded, STR("data")))
			return arguments_fail(
				a, "BADARG",
				"There is no member \"%.*s\" in the elements of \"%s\"; "
				"expected jid, data",
				QUOTE(decoded), arg->name);
		if (!arguments_set(a, is_jid ? &jid : &data, decoded, value))
			return false;
	}
	if (!jid.is_set || body_kind_of(jid.text) != BODY_STRING)
		return arguments_fail(a, "BADARG", "The elements of \"%s\" need a string \"jid\"",
				      arg->name);
	if (!data.is_set)
		return arguments_fail(a, "BADARG", "The elements of \"%s\" need \"data\"",
				      arg->name);
	arguments_add(a, arguments_decode(a, body_inside(jid.text)));
	arguments_add(a, data.text);
	return true;
}

static bool add_jobs(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	struct qless_str job, rest = value;

	if (body_kind_of(value) != BODY_ARRAY)
		return arguments_fail_kind(a, arg, "an array of objects with jid and data", value);
	while (body_next_element(&rest, &job)) {
		if (!add_job(a, arg, job) || !arguments_check_count(a))
			return false;
	}
	return true;
}

static bool add_backoff(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	static const char *const names[] = { "kind", "base", "max" };
	struct arguments_value values[3] = { { .is_set = false } };
	struct qless_str name, text, rest = value;

	if (body_kind_of(value) != BODY_OBJECT)
		return arguments_fail_kind(a, arg, "an object with kind, base and max", value);
	while (body_next_member(&rest, &name, &text)) {
		struct qless_str decoded = arguments_decode(a, name);
		size_t i = 0;

		while (i < 3 && !str_equal(decoded, str_from(names[i])))
			i++;
		if (i == 3)
			return arguments_fail(
				a, "BADARG",
				"There is no member \"%.*s\" in \"%s\"; expected kind, base, max",
				QUOTE(decoded), arg->name);
		if (!arguments_set(a, &values[i], decoded, text))
			return false;
		if (body_kind_of(text) != (i == 0 ? BODY_STRING : BODY_NUMBER))
			return arguments_fail(a, "BADARG", "The member \"%s\" of \"%s\" must be %s",
					      names[i], arg->name,
					      i == 0 ? "a string" : "a number");
	}
	arguments_add_word(a, arg);
	for (size_t i = 0; i < 3; i++) {
		if (!values[i].is_set)
			return arguments_fail(a, "BADARG", "The member \"%s\" needs \"%s\"",
					      arg->name, names[i]);
		arguments_add(a, i == 0 ? arguments_decode(a, body_inside(values[i].text))
					: values[i].text);
	}
	return true;
}

static bool add_interval(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	const struct route_arg *offset = arg + 1;

	assert(offset->kind == ROUTE_OFFSET);
	if (!add_number(a, arg, value))
		return false;
	if (!arguments_value_of(a, offset)->is_set) {
		arguments_add(a, STR("0"));
		return true;
	}
	return add_number(a, offset, arguments_value_of(a, offset)->text);
}

typedef bool add_fn(struct arguments *a, const struct route_arg *arg, struct qless_str value);

/* A kind without a function has no argument of its own. */
static add_fn *const add_from_body[] = {
	[ROUTE_TEXT] = add_text,     [ROUTE_NUMBER] = add_number,   [ROUTE_SCALAR] = add_scalar,
	[ROUTE_RESULT] = add_result, [ROUTE_FLAG] = add_flag,	    [ROUTE_ANY] = add_any,
	[ROUTE_DATA] = add_data,     [ROUTE_RAW] = add_flag,	    [ROUTE_JSON] = add_json_list,
	[ROUTE_LIST] = add_list,     [ROUTE_COUNTED] = add_list,    [ROUTE_FIELDS] = add_fields,
	[ROUTE_JOBS] = add_jobs,     [ROUTE_BACKOFF] = add_backoff, [ROUTE_INTERVAL] = add_interval,
	[ROUTE_OFFSET] = NULL,	     [ROUTE_HEADERS] = add_fields,  [ROUTE_RAW_SWITCH] = add_switch,
};

bool arguments_add_from_body(struct arguments *a, const struct route_arg *arg,
			     struct qless_str value)
{
	return add_from_body[arg->kind] == NULL || add_from_body[arg->kind](a, arg, value);
}

/* ---- values of a query ---- */

static bool add_flag_text(struct arguments *a, const struct route_arg *arg, struct qless_str value)
{
	if (str_equal(value, STR("true"))) {
		arguments_add_word(a, arg);
		return true;
	}
	return str_equal(value, STR("false")) ||
	       arguments_fail_kind(a, arg, "true or false", value);
}

static bool add_pair(struct arguments *a, const struct route_arg *arg, struct qless_str pair)
{
	const char *colon = pair.len != 0 ? memchr(pair.ptr, ':', pair.len) : NULL;

	if (colon == NULL)
		return arguments_fail_kind(a, arg, "a path, a colon and a value in JSON", pair);
	arguments_add(a, str_make(pair.ptr, (size_t)(colon - pair.ptr)));
	arguments_add(a, str_make(colon + 1, (size_t)(pair.ptr + pair.len - colon - 1)));
	return true;
}

static bool add_parameters(struct arguments *a, const struct route_arg *arg)
{
	const struct http_target *target = &a->req->target;

	if (arg->kind == ROUTE_LIST)
		arguments_add_word(a, arg);
	for (size_t i = 0; i < target->parameter_count; i++) {
		const struct http_parameter *parameter = &target->parameters[i];

		if (!str_equal(parameter->name, str_from(arg->name)))
			continue;
		if (arg->kind != ROUTE_LIST)
			arguments_add_word(a, arg);
		if (arg->kind != ROUTE_PAIRS)
			arguments_add(a, parameter->value);
		else if (!add_pair(a, arg, parameter->value))
			return false;
	}
	return true;
}

bool arguments_add_from_query(struct arguments *a, const struct route_arg *arg,
			      struct qless_str value)
{
	if (arg->kind == ROUTE_FLAG)
		return add_flag_text(a, arg, value);
	if (route_arg_is_list(arg))
		return add_parameters(a, arg);
	arguments_add_word(a, arg);
	arguments_add(a, value);
	return true;
}
