#include "http/openapi.h"

#include <stdio.h>
#include <string.h>

#include "http/body.h"
#include "http/routes.h"
#include "unit.h"

static struct buf text;

void setUp(void)
{
	buf_init(&text, BUF_NO_MAX);
	openapi_append(&text, STR("1.2.3"));
}

void tearDown(void)
{
	buf_done(&text);
}

/* Finds a member of an object. */
static struct qless_str member(struct qless_str object, const char *wanted)
{
	struct qless_str name, value;

	while (body_next_member(&object, &name, &value)) {
		char decoded[256];

		TEST_ASSERT_LESS_OR_EQUAL_size_t(sizeof decoded, name.len);
		if (str_equal(str_make(decoded, body_decode(name, decoded)), str_from(wanted)))
			return value;
	}
	TEST_FAIL_MESSAGE(wanted);
	return STR("{}");
}

static size_t count_members(struct qless_str object)
{
	struct qless_str name, value;
	size_t count = 0;

	while (body_next_member(&object, &name, &value))
		count++;
	return count;
}

static void the_description_is_json(void)
{
	char error[BODY_ERROR_SIZE];

	if (!body_check(buf_str(&text), 100, error))
		TEST_FAIL_MESSAGE(error);
	ASSERT_STR("\"3.0.3\"", member(buf_str(&text), "openapi"));
	ASSERT_STR("\"1.2.3\"", member(member(buf_str(&text), "info"), "version"));
}

/* Operations that run no command: events, login, logout and me. */
#define OWN_OPERATIONS 4

static void each_route_is_one_operation(void)
{
	struct qless_str paths = member(buf_str(&text), "paths"), rest = paths, name, value;
	size_t operations = 0;

	for (size_t i = 0; i < routes_count(); i++) {
		const struct route *route = routes_row(i);
		struct qless_str method = http_method_name(route->method);
		char lower[16] = "";

		for (size_t j = 0; j < method.len; j++)
			lower[j] = (char)(method.ptr[j] | 0x20);
		member(member(member(paths, route->path), lower), "responses");
	}
	while (body_next_member(&rest, &name, &value))
		operations += count_members(value);
	TEST_ASSERT_EQUAL_size_t(routes_count() + OWN_OPERATIONS, operations);
}

static void values_of_a_body_have_schemas(void)
{
	struct qless_str schemas = member(member(buf_str(&text), "components"), "schemas");
	struct qless_str job = member(schemas, "NewJob");

	ASSERT_STR("[\"class\"]", member(job, "required"));
	ASSERT_STR("\"number\"", member(member(member(job, "properties"), "priority"), "type"));
	ASSERT_STR("false", member(job, "additionalProperties"));
}

static void each_name_of_a_schema_is_defined(void)
{
	struct qless_str schemas = member(member(buf_str(&text), "components"), "schemas");
	static const char prefix[] = "#/components/schemas/";
	const char *at = buf_cstr(&text);

	while ((at = strstr(at, prefix)) != NULL) {
		char name[64];

		at += strlen(prefix);
		snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
		member(schemas, name);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--print") == 0) {
		setUp();
		fwrite(buf_data(&text), 1, text.len, stdout);
		tearDown();
		return 0;
	}
	UNITY_BEGIN();
	RUN(the_description_is_json);
	RUN(each_route_is_one_operation);
	RUN(values_of_a_body_have_schemas);
	RUN(each_name_of_a_schema_is_defined);
	return UNIT_RESULT();
}
