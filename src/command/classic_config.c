/*
 * Classic commands about options.
 */
#include "command/classic_int.h"

#include "command/permit.h"
#include "util/json.h"
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

int classic_config_set(struct request *req)
{
	return request_strict_operation(req, decode_config_set, strict_config_set, answer_nothing);
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
