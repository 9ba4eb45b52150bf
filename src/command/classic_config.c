/*
 * Classic commands about options.
 */
#include "command/classic_int.h"

#include "util/json.h"
#include "util/num.h"

/* A default is a number where it looks like one; what was set is text. */
static bool is_number(const struct qless_option *option, double *ret_number)
{
	return !option->is_set && num_parse_lua(option->value, ret_number);
}

static int reply_all(struct classic_call *call)
{
	struct buf *json = call_json_buf(call);
	struct qless_option option;
	size_t cursor = 0;
	double number;
	char before = '{';

	while (qless_config_next(call->engine, &cursor, &option)) {
		buf_append_char(json, before);
		json_append_string(json, option.name);
		buf_append_char(json, ':');
		if (is_number(&option, &number))
			json_append_number(json, number);
		else
			json_append_string(json, option.value);
		before = ',';
	}
	buf_append_char(json, '}');
	return answer_json(call);
}

int classic_config_get(struct classic_call *call)
{
	struct qless_option option;
	double number;

	if (!call_has(call, 0))
		return reply_all(call);
	if (!qless_config_get(call->engine, call->args[0], &option))
		return answer_null(call);
	if (is_number(&option, &number))
		return answer_integer(call, number);
	return answer_bulk(call, option.value);
}

int classic_config_set(struct classic_call *call)
{
	struct qless_str name;
	struct qless_str value;
	int rc = call_need(call, 0, "config.set(): Arg \"option\" missing", &name);

	if (rc == 0)
		rc = call_need(call, 1, "config.set(): Arg \"value\" missing", &value);
	if (rc == 0)
		rc = qless_config_set(call->engine, call->now, name, value);
	return rc < 0 ? rc : answer_null(call);
}

int classic_config_unset(struct classic_call *call)
{
	struct qless_str name;
	int rc = call_need(call, 0, "config.unset(): Arg \"option\" missing", &name);

	if (rc == 0)
		rc = qless_config_unset(call->engine, call->now, name);
	return rc < 0 ? rc : answer_null(call);
}
