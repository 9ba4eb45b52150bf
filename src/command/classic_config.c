/*
 * Classic commands about options.
 */
#include "command/classic_int.h"

#include "command/permit.h"
#include "util/json.h"
#include "util/nearest.h"
#include "util/num.h"

/* In some dialects a default that looks like a number is one. A value that was set is always text.
 */
static bool is_number(const struct dialect *dialect, const struct qless_option *option,
		      double *ret_number)
{
	return dialect->has_numbers && !option->is_set && num_parse_lua(option->value, ret_number);
}

static void append_option(struct buf *json, const struct dialect *dialect,
			  const struct qless_option *option)
{
	double number;

	buf_append_char(json, json->len == 0 ? '{' : ',');
	json_append_string(json, option->name);
	buf_append_char(json, ':');
	if (is_number(dialect, option, &number))
		json_append_number(json, number);
	else
		json_append_string(json, option->value);
}

static int reply_all(struct request *req)
{
	const struct dialect *dialect = req->dialect;
	const struct user *viewer = permit_viewer(req);
	struct buf *json = request_json_buf(req);
	struct qless_option option;
	size_t cursor = 0;

	for (size_t i = 0; i < dialect->option_count; i++) {
		if (dialect_find_option(dialect, req->engine, dialect->options[i].name, &option))
			append_option(json, dialect, &option);
	}
	while (qless_config_next(req->engine, &cursor, &option)) {
		if (option.is_set && !dialect_lists_option(dialect, option.name) &&
		    permit_shows_option(viewer, option.name))
			append_option(json, dialect, &option);
	}
	buf_append_str(json, json->len == 0 ? STR("{}") : STR("}"));
	return answer_json(req);
}

int classic_config_get(struct request *req)
{
	struct qless_option option;
	double number;

	if (!request_has(req, 0))
		return reply_all(req);
	if (!dialect_find_option(req->dialect, req->engine, req->args[0], &option))
		return answer_null(req);
	if (is_number(req->dialect, &option, &number))
		return answer_integer(req, number);
	return answer_bulk(req, option.value);
}

int decode_config_set(struct request *req, struct operation *op)
{
	int rc;

	op->kind = OPERATION_CONFIG_SET;
	rc = request_need(req, 0, "config.set(): Arg \"option\" missing", &op->config.name);
	if (rc == 0)
		rc = request_need(req, 1, "config.set(): Arg \"value\" missing", &op->config.value);
	return rc;
}

/* A name that begins like this is for the clients' own use. */
#define OWN_PREFIX "x-"

/* Returns whether a native command may set the option: the engine uses it, it is for clients, or it
 * is set already. */
static bool may_set(const struct request *req, struct qless_str name)
{
	struct qless_option option;
	struct qless_str queue;
	double min, max;

	return str_starts_with(name, STR(OWN_PREFIX)) || qless_option_range(name, &min, &max) ||
	       str_strip_suffix(name, STR("-order"), &queue) ||
	       qless_config_get(req->engine, name, &option);
}

/* Finds the nearest option of a queue. The queue is what is before one of the hyphens. */
static bool find_queue_option(struct qless_str name, struct qless_str *ret_queue,
			      struct qless_str *ret_option)
{
	struct nearest best = { .found = { NULL, 0 } };

	for (size_t i = 0; i + 1 < name.len; i++) {
		struct nearest nearest;

		if (name.ptr[i] != '-')
			continue;
		nearest_begin(&nearest, str_make(name.ptr + i + 1, name.len - i - 1));
		for (size_t k = 0; qless_queue_option_name(k).ptr != NULL; k++)
			nearest_try(&nearest, qless_queue_option_name(k));
		if (nearest.found.ptr == NULL ||
		    (best.found.ptr != NULL && best.distance <= nearest.distance))
			continue;
		best = nearest;
		*ret_queue = str_make(name.ptr, i);
		*ret_option = nearest.found;
	}
	return best.found.ptr != NULL;
}

static int fail_unknown(struct request *req, struct qless_str name)
{
	struct qless_str queue, option;
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; qless_option_name(i).ptr != NULL; i++)
		nearest_try(&nearest, qless_option_name(i));
	if (nearest.found.ptr != NULL)
		return request_fail(req, QLESS_EBADARG,
				    "Unknown option \"%S\"; did you mean \"%S\"?", name,
				    nearest.found);
	if (find_queue_option(name, &queue, &option))
		return request_fail(req, QLESS_EBADARG,
				    "Unknown option \"%S\"; did you mean \"%S-%S\"?", name, queue,
				    option);
	return request_fail(
		req, QLESS_EBADARG,
		"Unknown option \"%S\". CONFIG.GET lists the options, a name of your own "
		"begins with \"" OWN_PREFIX "\", and CONFIG SET sets directives of the "
		"server",
		name);
}

static int strict_set(struct request *req, const struct operation *op)
{
	struct qless_str name = op->config.name;

	if (name.len != 0 && !may_set(req, name))
		return fail_unknown(req, name);
	return strict_config_set(req, op);
}

int classic_config_set(struct request *req)
{
	return request_strict_operation(req, decode_config_set, strict_set, answer_nothing);
}

int decode_config_unset(struct request *req, struct operation *op)
{
	op->kind = OPERATION_CONFIG_UNSET;
	return request_need(req, 0, "config.unset(): Arg \"option\" missing", &op->config.name);
}

int classic_config_unset(struct request *req)
{
	return request_operation(req, decode_config_unset, answer_nothing);
}
