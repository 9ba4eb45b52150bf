#include "http/openapi.h"

#include <string.h>

#include "http/openapi_schemas.h"
#include "http/request.h"
#include "http/routes.h"
#include "util/json.h"

static void put(struct buf *b, const char *text)
{
	buf_append_str(b, str_from(text));
}

static void put_string(struct buf *b, const char *text)
{
	json_append_plain_string(b, str_from(text));
}

/* A member of an object, with a comma unless it is the first. */
static void put_name(struct buf *b, const char *name)
{
	char last = b->len != 0 ? buf_data(b)[b->len - 1] : '{';

	if (last != '{' && last != '[')
		buf_append_char(b, ',');
	put_string(b, name);
	buf_append_char(b, ':');
}

static void put_comma(struct buf *b)
{
	char last = buf_data(b)[b->len - 1];

	if (last != '{' && last != '[')
		buf_append_char(b, ',');
}

static void put_member(struct buf *b, const char *name, const char *text)
{
	put_name(b, name);
	put_string(b, text);
}

/* ---- schemas of values ---- */

static void put_array_of(struct buf *b, const char *items)
{
	put(b, "{\"type\":\"array\",\"items\":");
	put(b, items);
	put(b, "}");
}

static void put_value_schema(struct buf *b, const struct route_arg *arg)
{
	switch (arg->kind) {
	case ROUTE_WORD:
	case ROUTE_SEGMENT:
	case ROUTE_TEXT:
		put(b, TEXT);
		break;
	case ROUTE_NUMBER:
	case ROUTE_INTERVAL:
	case ROUTE_OFFSET:
		put(b, NUMBER);
		break;
	case ROUTE_SCALAR:
		put(b, "{\"oneOf\":[" TEXT "," NUMBER "]}");
		break;
	case ROUTE_FLAG:
	case ROUTE_RAW:
	case ROUTE_RAW_SWITCH:
		put(b, LOGICAL);
		break;
	case ROUTE_RESULT:
	case ROUTE_ANY:
	case ROUTE_DATA:
		put(b, "{}");
		break;
	case ROUTE_JSON:
	case ROUTE_LIST:
	case ROUTE_EACH:
	case ROUTE_PAIRS:
	case ROUTE_COUNTED:
		put(b, TEXTS);
		break;
	case ROUTE_FIELDS:
	case ROUTE_HEADERS:
		put(b, "{\"type\":\"object\",\"additionalProperties\":{}}");
		break;
	case ROUTE_JOBS:
		put_array_of(b, "{\"type\":\"object\",\"required\":[\"jid\",\"data\"],"
				"\"properties\":{\"jid\":" TEXT ",\"data\":{}},"
				"\"additionalProperties\":false}");
		break;
	case ROUTE_BACKOFF:
		put(b, "{\"type\":\"object\",\"required\":[\"kind\",\"base\",\"max\"],"
		       "\"properties\":{\"kind\":{\"type\":\"string\",\"enum\":[\"fixed\","
		       "\"linear\",\"exponential\"]},\"base\":" NUMBER ",\"max\":" NUMBER "},"
		       "\"additionalProperties\":false}");
		break;
	}
}

/* A schema with the help of the value. */
static void put_described(struct buf *b, const struct route_arg *arg)
{
	put_value_schema(b, arg);
	buf_truncate(b, b->len - 1);
	put_member(b, "description", arg->help);
	if (arg->fallback != NULL && arg->need == ROUTE_DEFAULT && arg->kind == ROUTE_TEXT)
		put_member(b, "default", arg->fallback);
	put(b, "}");
}

static bool is_in_request(const struct route_arg *arg)
{
	return arg->kind != ROUTE_WORD && arg->kind != ROUTE_SEGMENT;
}

/* ---- parameters ---- */

static void put_parameter(struct buf *b, const struct route_arg *arg)
{
	bool is_segment = arg->kind == ROUTE_SEGMENT;

	put_comma(b);
	put(b, "{");
	put_member(b, "name", arg->name);
	put_member(b, "in", is_segment ? "path" : "query");
	if (is_segment || arg->need == ROUTE_REQUIRED)
		put(b, ",\"required\":true");
	if (arg->help != NULL)
		put_member(b, "description", arg->help);
	put_name(b, "schema");
	put_value_schema(b, arg);
	put(b, "}");
}

static void put_parameters(struct buf *b, const struct route *route)
{
	put_name(b, "parameters");
	put(b, "[");
	for (const struct route_arg *arg = route->args; !route_arg_is_end(arg); arg++) {
		if (arg->kind == ROUTE_SEGMENT || (is_in_request(arg) && !route_has_body(route)))
			put_parameter(b, arg);
	}
	put_comma(b);
	put(b, "{\"$ref\":\"#/components/parameters/db\"}");
	if (route->many != NULL)
		put(b, ",{\"$ref\":\"#/components/parameters/idempotencyKey\"}");
	put(b, "]");
}

/* ---- bodies ---- */

static bool is_required(const struct route_arg *arg)
{
	return is_in_request(arg) && arg->need == ROUTE_REQUIRED && arg->kind != ROUTE_DATA;
}

static bool requires_any(const struct route *route)
{
	for (const struct route_arg *arg = route->args; !route_arg_is_end(arg); arg++) {
		if (is_required(arg))
			return true;
	}
	return false;
}

static void put_required(struct buf *b, const struct route *route)
{
	if (!requires_any(route))
		return;
	put_name(b, "required");
	put(b, "[");
	for (const struct route_arg *arg = route->args; !route_arg_is_end(arg); arg++) {
		if (!is_required(arg))
			continue;
		put_comma(b);
		put_string(b, arg->name);
	}
	put(b, "]");
}

static void put_body_schema(struct buf *b, const struct route *route)
{
	put(b, "{\"type\":\"object\"");
	put_required(b, route);
	put_name(b, "properties");
	put(b, "{");
	for (const struct route_arg *arg = route->args; !route_arg_is_end(arg); arg++) {
		if (!is_in_request(arg))
			continue;
		put_name(b, arg->name);
		put_described(b, arg);
		if (arg->kind == ROUTE_DATA) {
			put_name(b, "args");
			put_array_of(b, "{}");
		}
	}
	if (route->waiting != NULL) {
		put_name(b, "timeout");
		put(b, "{\"type\":\"number\",\"description\":\"seconds to wait; 0 is no limit\"}");
	}
	put(b, "},\"additionalProperties\":false}");
}

static bool takes_values(const struct route *route)
{
	for (const struct route_arg *arg = route->args; !route_arg_is_end(arg); arg++) {
		if (is_in_request(arg))
			return true;
	}
	return false;
}

static void put_body(struct buf *b, const struct route *route)
{
	if (!route_has_body(route) || !takes_values(route))
		return;
	put_name(b, "requestBody");
	put(b, "{");
	if (requires_any(route))
		put(b, "\"required\":true,");
	put(b, "\"content\":{\"application/json\":{\"schema\":");
	if (route->many != NULL)
		put(b, "{\"oneOf\":[{\"$ref\":\"#/components/schemas/NewJob\"},{\"type\":\"array\","
		       "\"minItems\":1,\"items\":{\"$ref\":\"#/components/schemas/NewJob\"}}]}");
	else
		put_body_schema(b, route);
	put(b, "}}}");
}

/* ---- responses ---- */

static const char *schema_of_word(const char *word, size_t len)
{
	static const struct {
		const char *word;
		const char *schema;
	} rows[] = {
		{ "string", TEXT },	{ "number", NUMBER }, { "integer", WHOLE },
		{ "boolean", LOGICAL }, { "object", OBJECT }, { "any", "{}" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (strlen(rows[i].word) == len && memcmp(rows[i].word, word, len) == 0)
			return rows[i].schema;
	}
	return NULL;
}

static void put_named_schema(struct buf *b, const char *word, size_t len)
{
	const char *schema = schema_of_word(word, len);

	if (schema != NULL) {
		put(b, schema);
		return;
	}
	put(b, "{\"$ref\":\"#/components/schemas/");
	buf_append(b, word, len);
	put(b, "\"}");
}

static void put_reply_schema(struct buf *b, const char *reply)
{
	size_t len = strlen(reply);
	bool is_array = len > 2 && strcmp(reply + len - 2, "[]") == 0;

	if (is_array)
		put(b, "{\"type\":\"array\",\"items\":");
	put_named_schema(b, reply, is_array ? len - 2 : len);
	if (is_array)
		put(b, "}");
}

/* The reply is an array of two, whose elements become members. */
static void put_two_members(struct buf *b, const char *names)
{
	const char *blank = strchr(names, ' ');

	put(b, "{\"type\":\"object\",\"required\":[\"");
	buf_append(b, names, (size_t)(blank - names));
	put(b, "\",\"");
	put(b, blank + 1);
	put(b, "\"],\"properties\":{\"");
	buf_append(b, names, (size_t)(blank - names));
	put(b, "\":" TEXT ",\"");
	put(b, blank + 1);
	put(b, strcmp(names, "seconds microseconds") == 0
		       ? "\":" TEXT "}}"
		       : "\":{\"type\":\"array\",\"items\":{}}}}");
}

static void put_wrapped(struct buf *b, const char *wrap, const char *reply)
{
	put(b, "{\"type\":\"object\",\"required\":[");
	put_string(b, wrap);
	put(b, "],\"properties\":{");
	put_string(b, wrap);
	put(b, ":");
	put_reply_schema(b, reply);
	put(b, "}}");
}

static void put_success_schema(struct buf *b, const struct route *route)
{
	if (route->many != NULL)
		put(b, "{\"oneOf\":[");
	if (route->reply[0] == '\0')
		put_wrapped(b, "ok", "boolean");
	else if (strchr(route->wrap, ' ') != NULL)
		put_two_members(b, route->wrap);
	else if (route->wrap[0] != '\0')
		put_wrapped(b, route->wrap, route->reply);
	else
		put_reply_schema(b, route->reply);
	if (route->many != NULL) {
		put(b,
		    ",{\"type\":\"object\",\"required\":[\"jids\",\"outcomes\"],\"properties\":{"
		    "\"jids\":{\"type\":\"array\",\"description\":\"the jid of each job, or of the "
		    "job that holds its unique key, or null if its jid is taken\",\"items\":"
		    "{\"type\":\"string\",\"nullable\":true}},"
		    "\"outcomes\":{\"type\":\"array\",\"description\":\"what became of each job\","
		    "\"items\":{\"type\":\"string\",\"enum\":[\"put\",\"held\",\"exists\"]}}}}"
		    "]}");
	}
}

static void put_response(struct buf *b, const struct route *route, const char *status,
			 const char *description)
{
	put_name(b, status);
	put(b, "{");
	put_member(b, "description", description);
	put(b, ",\"content\":{\"application/json\":{\"schema\":");
	put_success_schema(b, route);
	put(b, "}}}");
}

static void put_responses(struct buf *b, const struct route *route)
{
	put_name(b, "responses");
	put(b, "{");
	if (route->many != NULL)
		put_response(b, route, "200",
			     "Nothing was put: other jobs hold the unique keys, or have the jids");
	put_response(b, route, route->status == 201 ? "201" : "200", "The request succeeded");
	put_name(b, "default");
	put(b, "{\"$ref\":\"#/components/responses/Error\"}}");
}

/* ---- operations ---- */

/* postQueuesByQueueJobs: the method and the segments, with `By` before those in braces. */
static void put_operation_id(struct buf *b, const struct route *route)
{
	struct qless_str method = http_method_name(route->method);
	bool is_first_letter = true;

	put_name(b, "operationId");
	buf_append_char(b, '"');
	for (size_t i = 0; i < method.len; i++)
		buf_append_char(b, (char)(method.ptr[i] | 0x20));
	for (const char *at = route->path + strlen("/v1"); *at != '\0'; at++) {
		if (*at == '{')
			put(b, "By");
		if (*at == '/' || *at == '{' || *at == '}') {
			is_first_letter = true;
			continue;
		}
		buf_append_char(b, is_first_letter && *at >= 'a' ? (char)(*at & ~0x20) : *at);
		is_first_letter = false;
	}
	buf_append_char(b, '"');
}

/* The first segment after the version. */
static void put_tag(struct buf *b, const struct route *route)
{
	const char *begin = route->path + strlen("/v1/");

	put_name(b, "tags");
	put(b, "[\"");
	buf_append(b, begin, strcspn(begin, "/"));
	put(b, "\"]");
}

/* The commands that the route may run. */
static void put_commands(struct buf *b, const struct route *route)
{
	put_name(b, "x-commands");
	put(b, "[");
	put_string(b, route->command);
	if (route->waiting != NULL) {
		put_comma(b);
		put_string(b, route->waiting);
	}
	if (route->many != NULL) {
		put_comma(b);
		put_string(b, route->many);
	}
	put(b, "]");
}

static void put_operation(struct buf *b, const struct route *route)
{
	struct qless_str method = http_method_name(route->method);

	put_comma(b);
	buf_append_char(b, '"');
	for (size_t i = 0; i < method.len; i++)
		buf_append_char(b, (char)(method.ptr[i] | 0x20));
	put(b, "\":{");
	put_operation_id(b, route);
	put_tag(b, route);
	put_member(b, "summary", route->summary);
	put_commands(b, route);
	put_parameters(b, route);
	put_body(b, route);
	put_responses(b, route);
	put(b, "}");
}

static bool is_first_of_path(size_t row)
{
	for (size_t i = 0; i < row; i++) {
		if (strcmp(routes_row(i)->path, routes_row(row)->path) == 0)
			return false;
	}
	return true;
}

static void put_paths(struct buf *b)
{
	put_name(b, "paths");
	put(b, "{");
	for (size_t i = 0; i < routes_count(); i++) {
		if (!is_first_of_path(i))
			continue;
		put_name(b, routes_row(i)->path);
		put(b, "{");
		for (size_t j = i; j < routes_count(); j++) {
			if (strcmp(routes_row(j)->path, routes_row(i)->path) == 0)
				put_operation(b, routes_row(j));
		}
		put(b, "}");
	}
	put_comma(b);
	put(b, OPENAPI_OWN_PATHS);
	put(b, "}");
}

/* ---- components ---- */

static void put_schemas(struct buf *b)
{
	put(b, "\"schemas\":{");
#define SCHEMA(name, schema) \
	put_name(b, name);   \
	put(b, schema);
	OPENAPI_SCHEMAS(SCHEMA)
#undef SCHEMA
	for (size_t i = 0; i < routes_count(); i++) {
		if (routes_row(i)->many == NULL)
			continue;
		put_name(b, "NewJob");
		put_body_schema(b, routes_row(i));
	}
	put(b, "}");
}

static void put_components(struct buf *b)
{
	put_name(b, "components");
	put(b, "{");
	put_schemas(b);
	put(b, ",\"parameters\":{\"db\":{\"name\":\"db\",\"in\":\"query\",\"description\":"
	       "\"the database, 0 by default\",\"schema\":" WHOLE "},"
	       "\"idempotencyKey\":{\"name\":\"Idempotency-Key\",\"in\":\"header\",\"description\":"
	       "\"for a day, a job with the same key is not put again\",\"schema\":" TEXT "}},"
	       "\"responses\":{\"Error\":{\"description\":\"The request failed\",\"content\":{"
	       "\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/Error\"}}}}},"
	       "\"securitySchemes\":{\"basic\":{\"type\":\"http\",\"scheme\":\"basic\"},"
	       "\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"}}}");
}

void openapi_append(struct buf *b, struct qless_str version)
{
	put(b, "{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"qlessd\",\"description\":"
	       "\"Job queues with locks, retries, schedules and dependencies\",\"version\":");
	json_append_plain_string(b, version);
	put(b, "},\"servers\":[{\"url\":\"/\"}],\"security\":[{},{\"basic\":[]},{\"bearer\":[]}]");
	put_paths(b);
	put_components(b);
	put(b, "}");
}
