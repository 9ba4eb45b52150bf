#include "http/routes.h"

#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "command/rows.h"
#include "http/arguments.h"
#include "unit.h"
#include "util/buf.h"

#define CONTEXT                                                                     \
	{                                                                           \
		.user = STR_INIT("alice"), .idempotency_prefix = STR_INIT("once:"), \
		.now = 1700000000.25, .max_json_depth = 100                         \
	}

static struct arguments arguments;
static struct http_request req;
static struct buf text;

void setUp(void)
{
	arguments_init(&arguments);
	buf_init(&text, BUF_NO_MAX);
}

void tearDown(void)
{
	arguments_done(&arguments);
	buf_done(&text);
}

static const struct route *find(enum http_method method, const char *target)
{
	unsigned allowed;

	TEST_ASSERT_EQUAL(0, http_target_parse(&req.target, str_from(target)));
	return routes_find(method, &req.target, &allowed);
}

/* The arguments with bars between them, or the error. */
static const char *make(enum http_method method, const char *target, const char *body)
{
	const struct arguments_context context = CONTEXT;
	const struct route *route = find(method, target);

	buf_clear(&text);
	if (route == NULL)
		return "no route";
	req.method = method;
	req.body = str_from(body);
	if (!arguments_make(&arguments, route, &req, &context)) {
		buf_printf(&text, "!%s ", arguments.code);
		buf_append_str(&text, buf_str(&arguments.error));
		return buf_cstr(&text);
	}
	for (size_t i = 0; i < arguments.argc; i++) {
		if (i != 0)
			buf_append_char(&text, '|');
		buf_append_str(&text, arguments.argv[i]);
	}
	return buf_cstr(&text);
}

static void check_get(const char *target, const char *expected)
{
	TEST_ASSERT_EQUAL_STRING(expected, make(HTTP_METHOD_GET, target, ""));
}

static void check_delete(const char *target, const char *expected)
{
	TEST_ASSERT_EQUAL_STRING(expected, make(HTTP_METHOD_DELETE, target, ""));
}

static void check_post(const char *target, const char *body, const char *expected)
{
	TEST_ASSERT_EQUAL_STRING(expected, make(HTTP_METHOD_POST, target, body));
}

static void check_body(const char *body, const char *expected)
{
	check_post("/v1/queues/q/jobs", body, expected);
}

/* ---- finding ---- */

static void a_route_has_a_method_and_a_path(void)
{
	TEST_ASSERT_EQUAL_STRING("get", find(HTTP_METHOD_GET, "/v1/jobs/j1")->command);
	TEST_ASSERT_EQUAL_STRING("job.delete", find(HTTP_METHOD_DELETE, "/v1/jobs/j1")->command);
	TEST_ASSERT_EQUAL_STRING("cancel", find(HTTP_METHOD_POST, "/v1/jobs/cancel")->command);
	TEST_ASSERT_EQUAL_STRING("cancel", find(HTTP_METHOD_POST, "/v1/jobs/j1/cancel")->command);
	TEST_ASSERT_NULL(find(HTTP_METHOD_GET, "/v1/jobs/j1/nothing"));
	TEST_ASSERT_NULL(find(HTTP_METHOD_GET, "/v1/jobs/"));
	TEST_ASSERT_NULL(find(HTTP_METHOD_GET, "/v1"));
	TEST_ASSERT_NULL(find(HTTP_METHOD_GET, "/v2/jobs/j1"));
	TEST_ASSERT_NULL(find(HTTP_METHOD_GET, "/v1/jobs/j1/why/x"));
}

static void the_allowed_methods_of_a_path_are_known(void)
{
	unsigned allowed;

	TEST_ASSERT_EQUAL(0, http_target_parse(&req.target, STR("/v1/limits/x")));
	TEST_ASSERT_NULL(routes_find(HTTP_METHOD_POST, &req.target, &allowed));
	TEST_ASSERT_EQUAL_HEX(
		1u << HTTP_METHOD_GET | 1u << HTTP_METHOD_PUT | 1u << HTTP_METHOD_DELETE, allowed);
	TEST_ASSERT_EQUAL(0, http_target_parse(&req.target, STR("/v1/nothing")));
	TEST_ASSERT_NULL(routes_find(HTTP_METHOD_GET, &req.target, &allowed));
	TEST_ASSERT_EQUAL_HEX(0, allowed);
}

static void each_row_can_be_found_and_is_complete(void)
{
	for (size_t i = 0; i < routes_count(); i++) {
		const struct route *route = routes_row(i);
		unsigned count = 0;

		TEST_ASSERT_EQUAL_PTR(route, find(route->method, route->path));
		for (const struct route_arg *arg = route->args; !route_arg_is_end(arg); arg++) {
			count++;
			TEST_ASSERT_TRUE(arg->kind != ROUTE_WORD || arg->word != NULL);
			TEST_ASSERT_TRUE(arg->kind == ROUTE_WORD || arg->name != NULL);
			TEST_ASSERT_TRUE(arg->kind == ROUTE_WORD || arg->kind == ROUTE_SEGMENT ||
					 arg->help != NULL);
			TEST_ASSERT_TRUE(
				(arg->need != ROUTE_DEFAULT && arg->need != ROUTE_FILLED) ||
				arg->fallback != NULL);
		}
		TEST_ASSERT_LESS_OR_EQUAL(ROUTE_ARGS_MAX, count);
		TEST_ASSERT_TRUE(route->status == 200 || route->status == 201);
	}
}

/* ---- paths and queries ---- */

static void segments_and_parameters_become_arguments(void)
{
	check_get("/v1/queues", "queues");
	check_get("/v1/queues/a%2Fb", "queues|a/b");
	check_get("/v1/jobs?jid=a&jid=b%20c", "multiget|a|b c");
	check_get("/v1/queues/q/jobs", "queue.jobs|q");
	check_get(
		"/v1/queues/q/jobs?with=jid&state=running&count=5&state=failed&cursor=7&with=data",
		"queue.jobs|q|state|running|failed|cursor|7|count|5|with|jid|data");
	check_get("/v1/jobs/j/wait?timeout=2.5", "job.wait|2.5|j");
	check_get("/v1/wait?jid=a&jid=b&any=true", "job.wait|0|a|b|any");
	check_get("/v1/wait?jid=a&any=false", "job.wait|0|a");
	check_get("/v1/stats/q", "stats|q|1700000000.25");
	check_get("/v1/stats/q?day=86400", "stats|q|86400");
	check_get("/v1/config", "config|get|*");
	check_get("/v1/config?pattern=max*&pattern=port", "config|get|max*|port");
	check_get("/v1/jobs/j/meta", "job.meta|j|GET");
	check_get("/v1/search?tag=a&tag=b&data=user.id:17&data=at:%22x:y%22&prefix=p",
		  "job.search|prefix|p|tag|a|tag|b|data|user.id|17|data|at|\"x:y\"");
	check_delete("/v1/jobs/j/meta?field=a&field=b", "job.meta|j|DEL|a|b");
	check_delete("/v1/clients/17", "client|kill|ID|17");
}

static void a_value_before_a_later_one_is_filled(void)
{
	check_get("/v1/failures/g", "failed|g");
	check_get("/v1/failures/g?start=3", "failed|g|3");
	check_get("/v1/failures/g?limit=5", "failed|g|0|5");
	check_get("/v1/tags?count=5", "tag|top|0|5");
	check_get("/v1/states/complete?count=5", "jobs|complete|0|5");
	check_get("/v1/states/running?queue=q&count=5", "jobs|running|q|0|5");
}

static void a_strange_parameter_is_refused(void)
{
	check_get("/v1/queues?x=1", "!BADARG There is no parameter \"x\" here");
	check_get("/v1/tags?ofset=1",
		  "!BADARG There is no parameter \"ofset\" here; did you mean \"offset\"?");
	check_get("/v1/tags?first=1",
		  "!BADARG There is no parameter \"first\" here; expected offset, count");
	check_get("/v1/tags?count=1&count=2",
		  "!BADARG The parameter \"count\" occurs more than once");
	check_get("/v1/queues?db=1&db=2", "!BADARG The parameter \"db\" occurs more than once");
	check_get("/v1/jobs", "!BADARG The parameter \"jid\" is missing: jids");
	check_get("/v1/wait?jid=a&any=yes",
		  "!BADARG The parameter \"any\" must be true or false; found \"yes\"");
	check_get("/v1/search?data=x",
		  "!BADARG The parameter \"data\" must be a path, a colon and a "
		  "value in JSON; found \"x\"");
	check_post(
		"/v1/queues/q/pause?x=1", "",
		"!BADARG There is no parameter \"x\" here: the body has the values, and the query "
		"only db");
}

static void a_name_with_a_nul_is_another_name(void)
{
	static const char prefix[] = "!BADARG There is no parameter \"jid";

	TEST_ASSERT_EQUAL_STRING_LEN(prefix, make(HTTP_METHOD_GET, "/v1/wait?jid%00%00=a", ""),
				     sizeof prefix - 1);
}

static void the_database_is_a_parameter_of_each_route(void)
{
	check_post("/v1/queues/q/pause?db=3", "", "pause|q");
	TEST_ASSERT_TRUE(arguments.has_db);
	ASSERT_STR("3", arguments.db);
	check_get("/v1/queues", "queues");
	TEST_ASSERT_FALSE(arguments.has_db);
}

/* ---- bodies ---- */

static void members_become_arguments(void)
{
	check_body("{\"class\":\"k\",\"data\":{\"a\" : [1, 2]}}",
		   "put|alice|q|*|k|{\"a\" : [1, 2]}|0");
	check_body("{\"jid\":\"j\\u00e9\",\"data\":null,\"class\":\"\",\"worker\":\"w\",\"delay\":"
		   "1.5}",
		   "put|w|q|j\xc3\xa9||null|1.5");
	check_body("{\"class\":\"k\",\"args\":[1,\"x\"]}", "put|alice|q|*|k|[1,\"x\"]|0");
	check_body(
		"{\"data\":1,\"class\":\"k\",\"priority\":-3,\"tags\":[\"a\"],\"retries\":0,"
		"\"limits\":[],\"depends\":[\"x\"],\"runtime\":5,\"retain\":\"ack\",\"at\":1e9,"
		"\"nx\":true,"
		"\"replace\":false,\"unique\":\"u\",\"until\":60,"
		"\"backoff\":{\"max\":60,\"base\":1,\"kind\":\"linear\"}}",
		"put|alice|q|*|k|1|0|priority|-3|tags|[\"a\"]|retries|0|limits|[]|depends|[\"x\"]|"
		"backoff|linear|1|60|runtime|5|retain|ack|unique|u|until|60|at|1e9|nx");
	check_body("{\"data\":1,\"class\":\"k\",\"unique\":\"u\",\"until\":\"popped\"}",
		   "put|alice|q|*|k|1|0|unique|u|until|popped");
	check_post("/v1/queues/q/pause", "", "pause|q");
	check_post("/v1/queues/q/pause", " {} ", "pause|q");
	check_post("/v1/jobs/j/complete", "{\"worker\":\"w\",\"queue\":\"q\"}", "complete|j|w|q");
	check_post("/v1/jobs/j/complete",
		   "{\"worker\":\"w\",\"queue\":\"q\",\"result\":{\"n\":1},\"data\":[]}",
		   "complete|j|w|q|[]|result|{\"n\":1}");
	check_post("/v1/jobs/j/complete",
		   "{\"worker\":\"w\",\"queue\":\"q\",\"result\":\"a\\nb\",\"lock\":7}",
		   "complete|j|w|q|result|a\nb|lock|7");
	check_post("/v1/jobs/j/retry",
		   "{\"worker\":\"w\",\"queue\":\"q\",\"group\":\"g\",\"message\":\"m\"}",
		   "retry|j|q|w|backoff|g|m");
	check_post("/v1/jobs/j/log", "{\"message\":\"m\"}", "log|j|m");
	check_post("/v1/jobs/j/tag", "{\"tags\":[\"a\",\"b\"]}", "tag|add|j|a|b");
	check_post("/v1/jobs/j/depends", "{\"off\":[\"all\"]}", "depends|j|off|all");
	check_post("/v1/queues/q/complete",
		   "{\"worker\":\"w\",\"jobs\":[{\"jid\":\"a\",\"data\":1},{\"data\":{},\"jid\":"
		   "\"b\"}]}",
		   "multicomplete|w|q|a|1|b|{}");
	TEST_ASSERT_EQUAL_STRING(
		"recur.update|r|data|ab|klass|k|raw|yes",
		make(HTTP_METHOD_PATCH, "/v1/recurring/r",
		     "{\"class\":\"k\",\"raw\":true,\"data\":{\"base64\":\"YWI=\"}}"));
	check_post("/v1/workers/w/release", "{\"retry\":true}", "worker.release|w|retry");
	TEST_ASSERT_EQUAL_STRING(
		"endpoint.set|e|URL|http://h/|QUEUES|2|a|b|HEADER|X-A|1|HEADER|X-B|2|secret|s",
		make(HTTP_METHOD_PUT, "/v1/endpoints/e",
		     "{\"url\":\"http://h/\",\"queues\":[\"a\",\"b\"],\"secret\":\"s\","
		     "\"headers\":{\"X-A\":\"1\",\"X-B\":\"2\"}}"));
	TEST_ASSERT_EQUAL_STRING("limit.set|x|concurrency|2",
				 make(HTTP_METHOD_PUT, "/v1/limits/x", "{\"concurrency\":2}"));
	TEST_ASSERT_EQUAL_STRING(
		"job.meta|j|SET|a|1|b|x",
		make(HTTP_METHOD_PATCH, "/v1/jobs/j/meta", "{\"fields\":{\"a\":1,\"b\":\"x\"}}"));
	TEST_ASSERT_EQUAL_STRING("config.set|heartbeat|50",
				 make(HTTP_METHOD_PUT, "/v1/options/heartbeat", "{\"value\":50}"));
}

static void a_pop_with_a_timeout_waits(void)
{
	check_post("/v1/queues/q/pop", "{\"worker\":\"w\"}", "mpop|w|1|q");
	check_post("/v1/queues/q/pop", "{\"worker\":\"w\",\"count\":3,\"timeout\":30}",
		   "bpop|30|w|1|q|count|3");
	check_post("/v1/pop", "{\"queues\":[\"a\",\"b\"],\"worker\":\"w\",\"timeout\":0}",
		   "bpop|0|w|2|a|b");
	check_post("/v1/pop", "{\"queues\":[\"a\"],\"worker\":\"w\",\"order\":\"roundrobin\"}",
		   "mpop|w|1|a|order|roundrobin");
}

static void raw_data_is_decoded(void)
{
	check_body("{\"class\":\"k\",\"raw\":true,\"data\":{\"base64\":\"YWI=\"}}",
		   "put|alice|q|*|k|ab|0|raw");
	check_body("{\"class\":\"k\",\"raw\":true,\"data\":\"a\\tb\"}",
		   "put|alice|q|*|k|a\tb|0|raw");
	check_body("{\"class\":\"k\",\"raw\":false,\"data\":{\"base64\":\"YWI=\"}}",
		   "put|alice|q|*|k|{\"base64\":\"YWI=\"}|0");
	check_post("/v1/jobs/j/heartbeat",
		   "{\"worker\":\"w\",\"raw\":true,\"data\":{\"base64\":\"YWI=\"}}",
		   "heartbeat|j|w|ab");
	check_body("{\"class\":\"k\",\"raw\":true,\"data\":{\"base64\":\"Y\"}}",
		   "!BADARG The member \"data\" of a raw job must be {\"base64\": \"...\"} or a "
		   "string");
	check_body("{\"class\":\"k\",\"raw\":true,\"data\":{\"base64\":\"YWI=\",\"x\":1}}",
		   "!BADARG The member \"data\" of a raw job must be {\"base64\": \"...\"} or a "
		   "string");
}

static void a_schedule_is_an_interval_or_cron(void)
{
	check_post("/v1/queues/q/recurring", "{\"class\":\"k\",\"data\":{},\"interval\":60}",
		   "recur|q|*|k|{}|interval|60|0");
	check_post("/v1/queues/q/recurring",
		   "{\"class\":\"k\",\"data\":{},\"jid\":\"r\",\"offset\":5,\"interval\":60,"
		   "\"backlog\":2}",
		   "recur|q|r|k|{}|interval|60|5|backlog|2");
	check_post("/v1/queues/q/recurring",
		   "{\"class\":\"k\",\"data\":{},\"cron\":\"0 4 * * *\",\"tz\":\"UTC\"}",
		   "recur|q|*|k|{}|cron|0 4 * * *|tz|UTC");
	check_post("/v1/queues/q/recurring", "{\"class\":\"k\",\"data\":{}}",
		   "!BADARG The body needs either \"interval\" or \"cron\"; found neither");
	check_post("/v1/queues/q/recurring",
		   "{\"class\":\"k\",\"data\":{},\"interval\":1,\"cron\":\"@daily\"}",
		   "!BADARG The body needs either \"interval\" or \"cron\"; found both");
}

static void a_strange_body_is_refused(void)
{
	check_body("", "!BADARG The member \"class\" is missing: the class");
	check_body("{\"class\":\"k\"}",
		   "!BADARG The member \"data\" is missing: the data; or an array `args`");
	check_body("[",
		   "!BADJSON The body must be JSON, at most max-json-depth levels deep: it ends "
		   "too early at byte 1");
	check_body("17", "!BADARG The body must be an object; found a number");
	check_body("{\"class\":\"k\",\"data\":1,\"prioritty\":1}",
		   "!BADARG There is no member \"prioritty\" here; did you mean \"priority\"?");
	check_body("{\"class\":\"k\",\"cl\\u0061ss\":\"k\"}",
		   "!BADARG The member \"class\" occurs more than once");
	check_body("{\"class\":5}",
		   "!BADARG The member \"class\" must be a string; found a number");
	check_body("{\"class\":\"k\",\"data\":1,\"delay\":\"5\"}",
		   "!BADARG The member \"delay\" must be a number; found a string");
	check_body("{\"class\":\"k\",\"data\":1,\"tags\":\"a\"}",
		   "!BADARG The member \"tags\" must be an array of strings; found a string");
	check_body("{\"class\":\"k\",\"data\":1,\"nx\":1}",
		   "!BADARG The member \"nx\" must be true or false; found a number");
	check_body("{\"class\":\"k\",\"data\":1,\"until\":[]}",
		   "!BADARG The member \"until\" must be a string or a number; found an array");
	check_body("{\"class\":\"k\",\"args\":{}}",
		   "!BADARG The member \"args\" must be an array; found an object");
	check_body("{\"class\":\"k\",\"args\":[],\"data\":1}",
		   "!BADARG The members \"data\" and \"args\" exclude each other");
	check_body("{\"class\":\"k\",\"data\":1,\"backoff\":{\"kind\":\"fixed\"}}",
		   "!BADARG The member \"backoff\" needs \"base\"");
	check_body("{\"class\":\"k\",\"data\":1,\"backoff\":{\"kinds\":\"fixed\"}}",
		   "!BADARG There is no member \"kinds\" in \"backoff\"; expected kind, base, max");
	check_post("/v1/jobs/j/tag", "{\"tags\":[]}",
		   "!BADARG The member \"tags\" must not be empty: tags");
	check_post("/v1/jobs/j/tag", "{\"tags\":[1]}",
		   "!BADARG The member \"tags\" must be an array of strings; found a number in it");
	check_post(
		"/v1/jobs/j/retry", "{\"worker\":\"w\",\"message\":\"m\"}",
		"!BADARG The member \"group\" is missing: the group of the failure when no retries "
		"are left");
	check_post("/v1/queues/q/pop", "{\"worker\":\"w\",\"timeout\":\"1\"}",
		   "!BADARG The member \"timeout\" must be a number; found a string");
	TEST_ASSERT_EQUAL_STRING("!BADARG A GET request of this path has no body",
				 make(HTTP_METHOD_GET, "/v1/queues", "{}"));
}

static void an_array_puts_many(void)
{
	check_body("[{\"class\":\"k\",\"data\":1},{\"class\":\"l\",\"args\":[2],\"jid\":\"j\"}]",
		   "multiput|alice|q|0|jobs|*|k|1|j|l|[2]");
	TEST_ASSERT_EQUAL_size_t(2, arguments.job_count);
	check_body("[{\"class\":\"k\",\"data\":1,\"priority\":5,\"delay\":9},"
		   "{\"delay\":9,\"priority\":5,\"class\":\"k\",\"data\":2}]",
		   "multiput|alice|q|9|priority|5|jobs|*|k|1|*|k|2");
	check_body("[]", "!BADARG The array of jobs must not be empty");
	check_body("[1]", "!BADARG Element 1 of the body: A job must be an object; found a number");
	check_body("[{\"class\":\"k\",\"data\":1},{\"class\":\"k\"}]",
		   "!BADARG Element 2 of the body: The member \"data\" is missing: the data; or an "
		   "array `args`");
	check_body(
		"[{\"class\":\"k\",\"data\":1},{\"class\":\"k\",\"data\":1,\"priority\":1}]",
		"!BADARG Element 2 of the body: The member \"priority\" must be that of the first "
		"element, because it is for all jobs: only \"jid\", \"class\", \"data\" and "
		"\"args\" may differ");
	check_body("[{\"class\":\"k\",\"data\":1},{\"class\":\"k\",\"data\":1,\"prio\":1}]",
		   "!BADARG Element 2 of the body: There is no member \"prio\" here; did you mean "
		   "\"priority\"?");
	check_post("/v1/queues/q/pop", "[]", "!BADARG The body must be an object; found an array");
}

static void the_server_learns_what_only_it_can_add(void)
{
	check_post("/v1/jobs/j/requeue", "{\"queue\":\"r\"}", "requeue|alice|r|j|||0");
	TEST_ASSERT_EQUAL_size_t(2, arguments.gap_count);
	TEST_ASSERT_EQUAL(ARGUMENTS_GAP_CLASS, arguments.gaps[0].kind);
	TEST_ASSERT_EQUAL_size_t(4, arguments.gaps[0].at);
	TEST_ASSERT_EQUAL(ARGUMENTS_GAP_DATA, arguments.gaps[1].kind);
	TEST_ASSERT_EQUAL_size_t(5, arguments.gaps[1].at);
	check_post("/v1/jobs/j/complete", "{\"worker\":\"w\"}", "complete|j|w|");
	TEST_ASSERT_EQUAL(ARGUMENTS_GAP_QUEUE, arguments.gaps[0].kind);
}

static void an_idempotency_key_is_a_unique_key_of_the_user(void)
{
	req.fields[HTTP_FIELD_IDEMPOTENCY_KEY] = STR("k1");
	check_body("{\"class\":\"k\",\"data\":1}",
		   "put|alice|q|*|k|1|0|unique|once:5:alice:k1|until|86400");
	TEST_ASSERT_TRUE(arguments.is_keyed);
	TEST_ASSERT_TRUE(arguments.is_idempotent);
	check_body("{\"class\":\"k\",\"data\":1,\"unique\":\"u\"}",
		   "!BADARG The member \"unique\" and an Idempotency-Key exclude each other");
	check_body("[{\"class\":\"k\",\"data\":1}]",
		   "!BADARG An array of jobs cannot have an Idempotency-Key");
	check_post("/v1/queues/q/pause", "", "pause|q");
	req.fields[HTTP_FIELD_IDEMPOTENCY_KEY] = STR("");
	check_body("{\"class\":\"k\",\"data\":1}", "!BADARG The Idempotency-Key must not be empty");
	req.fields[HTTP_FIELD_IDEMPOTENCY_KEY] = str_make(NULL, 0);
	check_body("{\"class\":\"k\",\"data\":1}", "put|alice|q|*|k|1|0");
	TEST_ASSERT_FALSE(arguments.is_keyed);
	TEST_ASSERT_FALSE(arguments.is_idempotent);
}

/* ---- commands ---- */

/* Commands about jobs without a route. */
static const struct {
	const char *command;
	const char *reason;
} without_route[] = {
	{ "pop", "a pop from one queue is MPOP" },
	{ "worker.attach", "a worker is attached to a connection, and HTTP has none that lasts" },
	{ "worker.detach", "the same" },
};

static bool has_route(const char *command)
{
	for (size_t i = 0; i < routes_count(); i++) {
		const struct route *route = routes_row(i);

		if (strcmp(route->command, command) == 0 ||
		    (route->waiting != NULL && strcmp(route->waiting, command) == 0) ||
		    (route->many != NULL && strcmp(route->many, command) == 0))
			return true;
	}
	for (size_t i = 0; i < sizeof without_route / sizeof *without_route; i++) {
		if (strcmp(without_route[i].command, command) == 0)
			return true;
	}
	return false;
}

static void each_command_about_jobs_has_a_route(void)
{
	const struct command_rows queue_rows = queue_command_rows;

	for (size_t i = 0; i < queue_rows.count; i++) {
		if (!has_route(queue_rows.rows[i].name))
			TEST_FAIL_MESSAGE(queue_rows.rows[i].name);
	}
}

static bool route_has_word(const struct route *route, struct qless_str word)
{
	for (const struct route_arg *arg = route->args; !route_arg_is_end(arg); arg++) {
		if (arg->word != NULL && str_equal_nocase(word, str_from(arg->word)))
			return true;
		if (arg->fallback != NULL && str_equal(word, str_from(arg->fallback)))
			return true;
	}
	return false;
}

/* In a synopsis, the words of options are in quotes. */
static void check_options(const struct route *route, const char *synopsis)
{
	const char *begin = synopsis, *end;

	while ((begin = strchr(begin, '\'')) != NULL && (end = strchr(begin + 1, '\'')) != NULL) {
		struct qless_str word = str_make(begin + 1, (size_t)(end - begin - 1));

		if (!route_has_word(route, word)) {
			buf_printf(&text, "%s lacks %.*s", route->path, (int)word.len, word.ptr);
			TEST_FAIL_MESSAGE(buf_cstr(&text));
		}
		begin = end + 1;
	}
}

static void each_option_of_a_put_has_a_member(void)
{
	static const char *const commands[] = { "put",	 "requeue",	 "complete",
						"fail",	 "retry",	 "heartbeat",
						"recur", "recur.update", "job.progress" };
	const struct command_rows queue_rows = queue_command_rows;
	size_t found = 0;

	for (size_t i = 0; i < queue_rows.count; i++) {
		for (size_t j = 0; j < sizeof commands / sizeof *commands; j++) {
			if (strcmp(queue_rows.rows[i].name, commands[j]) != 0)
				continue;
			for (size_t k = 0; k < routes_count(); k++) {
				if (strcmp(routes_row(k)->command, commands[j]) != 0)
					continue;
				check_options(routes_row(k), queue_rows.rows[i].arguments);
				found++;
			}
		}
	}
	TEST_ASSERT_EQUAL_size_t(sizeof commands / sizeof *commands, found);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_route_has_a_method_and_a_path);
	RUN(the_allowed_methods_of_a_path_are_known);
	RUN(each_row_can_be_found_and_is_complete);
	RUN(segments_and_parameters_become_arguments);
	RUN(a_value_before_a_later_one_is_filled);
	RUN(a_strange_parameter_is_refused);
	RUN(a_name_with_a_nul_is_another_name);
	RUN(the_database_is_a_parameter_of_each_route);
	RUN(members_become_arguments);
	RUN(a_pop_with_a_timeout_waits);
	RUN(raw_data_is_decoded);
	RUN(a_schedule_is_an_interval_or_cron);
	RUN(a_strange_body_is_refused);
	RUN(an_array_puts_many);
	RUN(the_server_learns_what_only_it_can_add);
	RUN(an_idempotency_key_is_a_unique_key_of_the_user);
	RUN(each_command_about_jobs_has_a_route);
	RUN(each_option_of_a_put_has_a_member);
	return UNIT_RESULT();
}
