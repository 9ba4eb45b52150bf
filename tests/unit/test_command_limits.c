#include "native.h"

#include "command/json.h"

#define LONG_NAME  "a-name-of-17-byte"
#define LONG_DATA  "\"a text of 33 bytes, quotes incl.\""
#define NAME_LIMIT " is longer than max-name-length (16 bytes)\r\n"
#define DATA_LIMIT " is longer than max-data-size (32 bytes)\r\n"
#define JSON_DATA  "-LIMIT A JSON text" DATA_LIMIT

static struct native_fixture f;

static const struct databases_limits narrow = {
	.engine = { .max_name_bytes = 16,
		    .max_data_bytes = 32,
		    .max_tags = 3,
		    .max_dependencies = 2,
		    .max_jobs = 5,
		    .max_dependents = 3 },
	.max_json_depth = 3,
};

void setUp(void)
{
	native_setup(&f);
	databases_set_limits(f.call.env.databases, &narrow);
}

void tearDown(void)
{
	native_teardown(&f);
}

/* Expect a refusal, and an unchanged state. */
#define ASSERT_REFUSED(expected, ...)                                                 \
	do {                                                                          \
		uint64_t changes_ = qless_changes(native_engine(&f));                 \
                                                                                      \
		buf_clear(&f.events);                                                 \
		ASSERT_NATIVE(expected, &f, __VA_ARGS__);                             \
		TEST_ASSERT_EQUAL_UINT64(changes_, qless_changes(native_engine(&f))); \
		TEST_ASSERT_EQUAL_size_t(0, f.events.len);                            \
	} while (0)

static void put(const char *jid)
{
	ASSERT_BEGINS("$", &f, "put", "w", "q", jid, "k", "{}", "0");
}

static void run_one(const char *jid)
{
	put(jid);
	ASSERT_BEGINS("$", &f, "pop", "q", "w", "1");
}

static void put_refuses_long_names_and_data(void)
{
	ASSERT_REFUSED("-LIMIT The worker" NAME_LIMIT, "put", LONG_NAME, "q", "j", "k", "{}", "0");
	ASSERT_REFUSED("-LIMIT The queue" NAME_LIMIT, "put", "w", LONG_NAME, "j", "k", "{}", "0");
	ASSERT_REFUSED("-LIMIT The jid" NAME_LIMIT, "put", "w", "q", LONG_NAME, "k", "{}", "0");
	ASSERT_REFUSED("-LIMIT The class" NAME_LIMIT, "put", "w", "q", "j", LONG_NAME, "{}", "0");
	ASSERT_REFUSED("-LIMIT A tag" NAME_LIMIT, "put", "w", "q", "j", "k", "{}", "0", "tags",
		       "[\"" LONG_NAME "\"]");
	ASSERT_REFUSED(JSON_DATA, "put", "w", "q", "j", "k", LONG_DATA, "0");
	ASSERT_REFUSED(JSON_DATA, "put", "w", "q", "j", "k", "{}", "0", "tags", LONG_DATA);
	ASSERT_REFUSED(JSON_DATA, "put", "w", "q", "j", "k", "{}", "0", "depends", LONG_DATA);
	put("j");
	ASSERT_REFUSED("-LIMIT The queue" NAME_LIMIT, "requeue", "w", LONG_NAME, "j", "k", "{}",
		       "0");
}

static void names_and_data_at_the_limit_are_accepted(void)
{
	ASSERT_BEGINS("$16\r\n", &f, "put", "0123456789abcdef", "0123456789abcdef",
		      "0123456789abcdef", "0123456789abcdef", "\"a text of 32 bytes, quotes in\"",
		      "0", "tags", "[\"a\",\"b\",\"c\"]");
	ASSERT_BEGINS("$", &f, "pop", "0123456789abcdef", "0123456789abcdef", "5");
}

static void a_job_cannot_exceed_max_tags(void)
{
	ASSERT_REFUSED("-LIMIT A job would have more tags than max-tags (3)\r\n", "put", "w", "q",
		       "j", "k", "{}", "0", "tags", "[1,2,3,4]");
	put("j");
	NATIVE(&f, "tag", "add", "j", "a", "b");
	ASSERT_REFUSED("-LIMIT A job would have more tags than max-tags (3)\r\n", "tag", "add", "j",
		       "c", "d");
	ASSERT_NATIVE("$13\r\n[\"a\",\"b\",\"c\"]\r\n", &f, "tag", "add", "j", "a", "b", "c");
	ASSERT_NATIVE("$13\r\n[\"a\",\"b\",\"c\"]\r\n", &f, "tag", "add", "j", "a", "b", "c", "a");
	ASSERT_REFUSED("-LIMIT A tag" NAME_LIMIT, "tag", "add", "j", LONG_NAME);
	ASSERT_NATIVE("$13\r\n[\"a\",\"b\",\"c\"]\r\n", &f, "tag", "remove", "j", LONG_NAME);
}

static void a_job_cannot_exceed_max_dependencies(void)
{
	put("a");
	put("b");
	put("c");
	ASSERT_REFUSED("-LIMIT A job would have more dependencies than max-dependencies (2)\r\n",
		       "put", "w", "q", "j", "k", "{}", "0", "depends", "[1,2,3]");
	ASSERT_BEGINS("$", &f, "put", "w", "q", "j", "k", "{}", "0", "depends", "[\"a\"]");
	ASSERT_REFUSED("-LIMIT A job would have more dependencies than max-dependencies (2)\r\n",
		       "depends", "j", "on", "b", "c");
	/* Jobs that cannot be dependencies, or already are, do not count. */
	ASSERT_NATIVE(":1\r\n", &f, "depends", "j", "on", "a", "none", "b");
	ASSERT_NATIVE(":1\r\n", &f, "depends", "j", "on", "a", "b", LONG_NAME);
	ASSERT_NATIVE(":1\r\n", &f, "depends", "j", "off", LONG_NAME);
	NATIVE(&f, "pop", "q", "w", "1");
	ASSERT_REFUSED("-LIMIT A job would have more dependencies than max-dependencies (2)\r\n",
		       "complete", "a", "w", "q", "{}", "next", "q", "depends", "[1,2,3]");
}

static void recur_has_the_limits_of_put(void)
{
	ASSERT_REFUSED("-LIMIT The queue" NAME_LIMIT, "recur", LONG_NAME, "r", "k", "{}",
		       "interval", "1", "0");
	ASSERT_REFUSED("-LIMIT The jid" NAME_LIMIT, "recur", "q", LONG_NAME, "k", "{}", "interval",
		       "1", "0");
	ASSERT_REFUSED("-LIMIT The class" NAME_LIMIT, "recur", "q", "r", LONG_NAME, "{}",
		       "interval", "1", "0");
	ASSERT_REFUSED(JSON_DATA, "recur", "q", "r", "k", LONG_DATA, "interval", "1", "0");
	ASSERT_REFUSED("-LIMIT A tag" NAME_LIMIT, "recur", "q", "r", "k", "{}", "interval", "1",
		       "0", "tags", "[\"" LONG_NAME "\"]");
	ASSERT_REFUSED("-LIMIT A job would have more tags than max-tags (3)\r\n", "recur", "q", "r",
		       "k", "{}", "interval", "1", "0", "tags", "[1,2,3,4]");

	NATIVE(&f, "recur", "q", "r", "k", "{}", "interval", "60", "0", "tags", "[1,2]");
	ASSERT_REFUSED("-LIMIT A job would have more tags than max-tags (3)\r\n", "recur.tag", "r",
		       "3", "4");
	ASSERT_NATIVE("$13\r\n[\"1\",\"2\",\"3\"]\r\n", &f, "recur.tag", "r", "1", "2", "3");
	ASSERT_NATIVE("$13\r\n[\"1\",\"2\",\"3\"]\r\n", &f, "recur.tag", "r", "1", "2", "3");
	ASSERT_REFUSED("-LIMIT A tag" NAME_LIMIT, "recur.tag", "r", LONG_NAME);
	ASSERT_REFUSED("-LIMIT The queue" NAME_LIMIT, "recur.update", "r", "queue", LONG_NAME);
	ASSERT_REFUSED("-LIMIT The class" NAME_LIMIT, "recur.update", "r", "klass", LONG_NAME);
	ASSERT_REFUSED(JSON_DATA, "recur.update", "r", "data", LONG_DATA);
}

static void reports_about_running_jobs_obey_the_limits(void)
{
	run_one("j");
	ASSERT_REFUSED(JSON_DATA, "heartbeat", "j", "w", LONG_DATA);
	ASSERT_REFUSED(JSON_DATA, "complete", "j", "w", "q", LONG_DATA);
	ASSERT_REFUSED("-LIMIT The next queue" NAME_LIMIT, "complete", "j", "w", "q", "{}", "next",
		       LONG_NAME);
	ASSERT_REFUSED("-LIMIT The group" NAME_LIMIT, "fail", "j", "w", LONG_NAME, "m");
	ASSERT_REFUSED("-LIMIT The message" DATA_LIMIT, "fail", "j", "w", "g", LONG_DATA);
	ASSERT_REFUSED(JSON_DATA, "fail", "j", "w", "g", "m", LONG_DATA);
	ASSERT_REFUSED("-LIMIT The queue" NAME_LIMIT, "retry", "j", LONG_NAME, "w");
	ASSERT_REFUSED("-LIMIT The group" NAME_LIMIT, "retry", "j", "q", "w", "0", LONG_NAME, "m");
	ASSERT_REFUSED("-LIMIT The message" DATA_LIMIT, "retry", "j", "q", "w", "0", "g",
		       LONG_DATA);
	ASSERT_REFUSED("-LIMIT The message" DATA_LIMIT, "log", "j", LONG_DATA);
	ASSERT_REFUSED(JSON_DATA, "log", "j", "m", LONG_DATA);
}

static void a_call_cannot_exceed_max_jobs_per_call(void)
{
	ASSERT_REFUSED("-LIMIT More jobs in one call than max-jobs-per-call (5)\r\n", "multiput",
		       "w", "q", "0", "jobs", "1", "k", "1", "2", "k", "1", "3", "k", "1", "4", "k",
		       "1", "5", "k", "1", "6", "k", "1");
	ASSERT_REFUSED("-LIMIT More jobs in one call than max-jobs-per-call (5)\r\n", "pop", "q",
		       "w", "6");
	ASSERT_REFUSED("-LIMIT More jobs in one call than max-jobs-per-call (5)\r\n", "peek", "q",
		       "1e10");
	ASSERT_REFUSED("-LIMIT More jobs in one call than max-jobs-per-call (5)\r\n", "unfail", "q",
		       "g", "25");
	ASSERT_NATIVE(":0\r\n", &f, "unfail", "q", "g", "5");
}

static void a_command_cannot_name_more_jobs_than_max_jobs_per_call(void)
{
	static const char refusal[] = "-LIMIT More jobs in one call than max-jobs-per-call (5)\r\n";

	run_one("1");
	ASSERT_REFUSED(refusal, "cancel", "1", "2", "3", "4", "5", "6");
	ASSERT_REFUSED(refusal, "timeout", "1", "1", "1", "1", "1", "1");
	ASSERT_REFUSED(refusal, "multiget", "1", "2", "3", "4", "5", "6");
	ASSERT_REFUSED(refusal, "multiheartbeat", "w", "1", "2", "3", "4", "5", "6");
	ASSERT_REFUSED(refusal, "multicomplete", "w", "q", "1", "{}", "2", "{}", "3", "{}", "4",
		       "{}", "5", "{}", "6", "{}");
	NATIVE(&f, "put", "w", "q", "d", "k", "{}", "0", "depends", "[1]");
	ASSERT_REFUSED(refusal, "depends", "d", "on", "1", "2", "3", "4", "5", "6");
	ASSERT_REFUSED(refusal, "depends", "d", "off", "1", "2", "3", "4", "5", "6");
	ASSERT_BEGINS("*5\r\n:", &f, "multiheartbeat", "w", "1", "2", "3", "4", "5");
	ASSERT_NATIVE("$-1\r\n", &f, "timeout", "1", "1", "1", "1", "1");
	ASSERT_BEGINS("$", &f, "multiget", "1", "2", "3", "4", "5");
}

static void the_tags_of_all_jobs_of_a_call_are_limited(void)
{
	ASSERT_REFUSED("-LIMIT The jobs of one call have more tags than max-jobs-per-call (5)\r\n",
		       "multiput", "w", "q", "0", "tags", "[1,2]", "jobs", "1", "k", "1", "2", "k",
		       "1", "3", "k", "1");
	ASSERT_BEGINS("*2\r\n", &f, "multiput", "w", "q", "0", "tags", "[1,2]", "jobs", "1", "k",
		      "1", "2", "k", "1");
	/* A single job has its own limit. */
	ASSERT_BEGINS("*1\r\n", &f, "multiput", "w", "q", "0", "tags", "[1,2,3]", "jobs", "1", "k",
		      "1");
}

static void the_dependencies_of_all_jobs_of_a_call_are_limited(void)
{
	static const char refusal[] = "-LIMIT The jobs of one call have more dependencies than "
				      "max-dependencies (2)\r\n";

	put("a");
	put("b");
	ASSERT_REFUSED(refusal, "multiput", "w", "q", "0", "depends", "[\"a\"]", "jobs", "1", "k",
		       "1", "2", "k", "1", "3", "k", "1");
	ASSERT_BEGINS("*2\r\n", &f, "multiput", "w", "q", "0", "depends", "[\"a\"]", "jobs", "1",
		      "k", "1", "2", "k", "1");
	ASSERT_BEGINS("$", &f, "put", "w", "q", "3", "k", "{}", "0", "depends", "[\"a\",\"b\"]");
	ASSERT_REFUSED(refusal, "cancel", "2", "3");
	ASSERT_BEGINS("*1\r\n", &f, "cancel", "3");
	ASSERT_BEGINS("*2\r\n", &f, "cancel", "1", "2");
}

static void a_job_cannot_exceed_max_dependents(void)
{
	static const char refusal[] =
		"-LIMIT More jobs would depend on a than max-dependents (3)\r\n";

	put("a");
	for (int i = 1; i <= 3; i++) {
		char jid[] = { (char)('0' + i), '\0' };

		ASSERT_BEGINS("$", &f, "put", "w", "q", jid, "k", "{}", "0", "depends", "[\"a\"]");
	}
	ASSERT_REFUSED(refusal, "put", "w", "q", "4", "k", "{}", "0", "depends", "[\"a\"]");
	/* A job that depends on it already may be put again. */
	ASSERT_BEGINS("$", &f, "put", "w", "q", "3", "k", "{}", "0", "depends", "[\"a\"]");
	put("b");
	ASSERT_BEGINS("$", &f, "put", "w", "q", "4", "k", "{}", "0", "depends", "[\"b\"]");
	ASSERT_REFUSED(refusal, "depends", "4", "on", "a");
	ASSERT_REFUSED("-LIMIT More jobs would depend on b than max-dependents (3)\r\n", "multiput",
		       "w", "q", "0", "depends", "[\"b\"]", "jobs", "5", "k", "1", "6", "k", "1",
		       "7", "k", "1");
	NATIVE(&f, "put", "w", "other", "c", "k", "{}", "0");
	NATIVE(&f, "pop", "other", "w", "1");
	ASSERT_REFUSED(refusal, "complete", "c", "w", "other", "{}", "next", "q", "depends",
		       "[\"a\"]");
	ASSERT_BEGINS("*1\r\n", &f, "cancel", "3");
	ASSERT_NATIVE(":1\r\n", &f, "depends", "4", "on", "a");
}

static void names_of_a_command_are_limited(void)
{
	f.call.env.limits.names = 2;
	ASSERT_REFUSED("-LIMIT 'pause' lists 3 names, and max-names-per-call allows 2\r\n", "pause",
		       "a", "b", "c");
	ASSERT_REFUSED("-LIMIT 'unpause' lists 3 names, and max-names-per-call allows 2\r\n",
		       "QLESS", "unpause", "1000", "a", "b", "c");
	ASSERT_REFUSED("-LIMIT 'worker.deregister' lists 3 names, and max-names-per-call allows "
		       "2\r\n",
		       "worker.deregister", "a", "b", "c");
	ASSERT_REFUSED("-LIMIT 'exists' lists 3 names, and max-names-per-call allows 2\r\n",
		       "exists", "a", "b", "c");
	ASSERT_REFUSED("-LIMIT 'command|docs' lists 3 names, and max-names-per-call allows 2\r\n",
		       "command", "docs", "a", "b", "c");
	ASSERT_NATIVE("$-1\r\n", &f, "pause", "a", "b");
	/* Other commands have no list of names. */
	ASSERT_BEGINS("$", &f, "put", "w", "q", "j", "k", "{}", "0", "priority", "1");
}

static void a_command_cannot_exceed_max_call_size(void)
{
	databases_set_limits(f.call.env.databases, NULL);
	f.call.env.limits.change_bytes = 64;
	ASSERT_REFUSED("-LIMIT The arguments of 'multiput' have 70 bytes, and max-call-size allows "
		       "64\r\n",
		       "multiput", "w", "q", "0", "jobs", "1", "k", "\"0123456789012345678\"", "2",
		       "k", "\"0123456789012345678\"", "3", "k", "{}");
	ASSERT_REFUSED(
		"-LIMIT The arguments of 'heartbeat' have 68 bytes, and max-call-size allows "
		"64\r\n",
		"QLESS", "heartbeat", "1000", "j", "w",
		"\"0123456789012345678901234567890123456789012345678901234567890\"");
	/* A command that only reads changes nothing. */
	ASSERT_NATIVE("$-1\r\n", &f, "get",
		      "a-jid-01234567890123456789012345678901234567890123456789012345678901234");
}

static void a_script_cannot_exceed_max_script_size(void)
{
	f.call.env.limits.script_bytes = 16;
	ASSERT_REFUSED("-LIMIT The script has 17 bytes, and max-script-size allows 16\r\n", "eval",
		       "return 1+1+1+1+1;", "0");
	ASSERT_REFUSED("-LIMIT The script has 17 bytes, and max-script-size allows 16\r\n",
		       "script", "load", "return 1+1+1+1+1;");
}

static void all_commands_that_store_names_check_their_length(void)
{
	ASSERT_REFUSED("-LIMIT The worker" NAME_LIMIT, "pop", "q", LONG_NAME, "1");
	ASSERT_REFUSED("-LIMIT A queue" NAME_LIMIT, "pause", "q", LONG_NAME);
	ASSERT_REFUSED("-LIMIT The queue" NAME_LIMIT, "unfail", LONG_NAME, "g", "1");
	ASSERT_REFUSED("-LIMIT The option" NAME_LIMIT, "config.set", "x-" LONG_NAME, "1");
	ASSERT_REFUSED("-LIMIT The value" DATA_LIMIT, "config.set", "x-o", LONG_DATA);
}

static void lookups_accept_long_names_and_find_nothing(void)
{
	ASSERT_NATIVE("$-1\r\n", &f, "get", LONG_NAME);
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "multiget", LONG_NAME);
	ASSERT_NATIVE("*0\r\n", &f, "cancel", LONG_NAME);
	ASSERT_NATIVE("-NOJOB Job " LONG_NAME " does not exist\r\n", &f, "timeout", LONG_NAME);
	ASSERT_NATIVE("-NOJOB Job " LONG_NAME " does not exist\r\n", &f, "heartbeat", LONG_NAME,
		      "w");
	ASSERT_NATIVE("-NOJOB Job " LONG_NAME " does not exist\r\n", &f, "complete", LONG_NAME, "w",
		      "q", "{}");
	ASSERT_NATIVE("-NOJOB Job " LONG_NAME " does not exist\r\n", &f, "priority", LONG_NAME,
		      "1");
	ASSERT_NATIVE("-NOTDEPENDS Job " LONG_NAME " does not exist\r\n", &f, "depends", LONG_NAME,
		      "on", "a");
	ASSERT_NATIVE("$1\r\n0\r\n", &f, "track", "untrack", LONG_NAME);
	ASSERT_NATIVE("$-1\r\n", &f, "recur.get", LONG_NAME);
	ASSERT_NATIVE(":0\r\n", &f, "unrecur", LONG_NAME);
	ASSERT_NATIVE(":0\r\n", &f, "length", LONG_NAME);
	ASSERT_NATIVE("*0\r\n", &f, "jobs", "running", LONG_NAME);
	ASSERT_NATIVE("$21\r\n{\"jobs\":[],\"total\":0}\r\n", &f, "failed", LONG_NAME);
	ASSERT_NATIVE("$-1\r\n", &f, "worker.deregister", LONG_NAME);
	ASSERT_NATIVE("$-1\r\n", &f, "queue.forget", LONG_NAME);
	ASSERT_NATIVE("$-1\r\n", &f, "unpause", LONG_NAME);
	ASSERT_NATIVE("$-1\r\n", &f, "config.unset", LONG_NAME);
}

static void names_above_the_widest_limit_are_not_published(void)
{
	struct buf name = BUF_INIT(BUF_NO_MAX);

	while (name.len <= QLESS_MAX_NAME_BYTES)
		buf_append_char(&name, 'x');
	ASSERT_REFUSED("-LIMIT A jid is longer than max-name-length (65536 bytes)\r\n", "cancel",
		       buf_cstr(&name));
	ASSERT_REFUSED("-LIMIT The jid is longer than max-name-length (65536 bytes)\r\n", "track",
		       "untrack", buf_cstr(&name));
	ASSERT_REFUSED("-LIMIT The option is longer than max-name-length (65536 bytes)\r\n",
		       "config.unset", buf_cstr(&name));
	buf_done(&name);
}

static void an_error_quotes_at_most_the_length_of_a_name(void)
{
	struct buf name = BUF_INIT(BUF_NO_MAX);

	while (name.len < 2 * QLESS_MAX_NAME_BYTES)
		buf_append_char(&name, 'x');
	TEST_ASSERT_LESS_THAN(QLESS_MAX_NAME_BYTES + 100,
			      strlen(NATIVE(&f, "timeout", buf_cstr(&name))));
	TEST_ASSERT_LESS_THAN(QLESS_MAX_NAME_BYTES + 100,
			      strlen(NATIVE(&f, "pop", "q", "w", buf_cstr(&name))));
	TEST_ASSERT_LESS_THAN(QLESS_MAX_NAME_BYTES + 100,
			      strlen(NATIVE(&f, "qless", buf_cstr(&name), "1")));
	buf_done(&name);
}

static void json_cannot_exceed_max_json_depth(void)
{
	ASSERT_REFUSED("-LIMIT A JSON text is nested deeper than max-json-depth (3 levels)\r\n",
		       "put", "w", "q", "j", "k", "[{\"a\":[[]]}]", "0");
	ASSERT_BEGINS("$", &f, "put", "w", "q", "j", "k", "[{\"[[[[\":[]}]", "0");
	ASSERT_BEGINS("-ERR ", &f, "qless", "put", "1", "w", "q", "j", "k", "[[[[]]]]", "0");
}

static void jobs_from_before_a_tighter_limit_still_work(void)
{
	const char *jid = "a-jid-of-more-than-16-bytes";

	databases_set_limits(f.call.env.databases, NULL);
	NATIVE(&f, "put", "w", LONG_NAME, jid, "k", LONG_DATA, "0", "tags", "[1,2,3,4]");
	databases_set_limits(f.call.env.databases, &narrow);
	ASSERT_BEGINS("$", &f, "pop", LONG_NAME, "w", "1");
	ASSERT_BEGINS(":", &f, "heartbeat", jid, "w");
	ASSERT_NATIVE(":4\r\n", &f, "retry", jid, LONG_NAME, "w");
	ASSERT_BEGINS("$", &f, "tag", "add", jid, "4");
	ASSERT_BEGINS("$", &f, "pop", LONG_NAME, "w", "1");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "complete", jid, "w", LONG_NAME, "{}");
}

static void a_new_limit_holds_in_all_databases(void)
{
	ASSERT_BEGINS("-LIMIT", &f, "pause", LONG_NAME);
	f.call.session.db = 1; /* not used before */
	ASSERT_BEGINS("-LIMIT", &f, "pause", LONG_NAME);
	databases_set_limits(f.call.env.databases, NULL);
	ASSERT_NATIVE("$-1\r\n", &f, "pause", LONG_NAME);
	f.call.session.db = 0;
	ASSERT_NATIVE("$-1\r\n", &f, "pause", LONG_NAME);
	databases_set_limits(f.call.env.databases, &narrow);
	ASSERT_BEGINS("-LIMIT", &f, "pause", LONG_NAME);
}

static void limits_cannot_exceed_their_maximum(void)
{
	struct qless_limits limits = { .max_name_bytes = SIZE_MAX, .max_tags = 0 };

	qless_set_limits(native_engine(&f), &limits);
	TEST_ASSERT_EQUAL_size_t(QLESS_MAX_NAME_BYTES,
				 qless_get_limits(native_engine(&f))->max_name_bytes);
	TEST_ASSERT_EQUAL_size_t(QLESS_MAX_TAGS, qless_get_limits(native_engine(&f))->max_tags);
}

static void a_log_item_may_have_the_greatest_depth_of_json(void)
{
	struct buf item = BUF_INIT(BUF_NO_MAX);

	databases_set_limits(f.call.env.databases, NULL);
	buf_append_str(&item, STR("{\"a\":"));
	for (int i = 1; i < JSON_DEPTH_MAX; i++)
		buf_append_char(&item, '[');
	for (int i = 1; i < JSON_DEPTH_MAX; i++)
		buf_append_char(&item, ']');
	buf_append_char(&item, '}');
	put("j");
	ASSERT_NATIVE("$-1\r\n", &f, "log", "j", "m", buf_cstr(&item));
	TEST_ASSERT_GREATER_THAN(2 * JSON_DEPTH_MAX, strlen(NATIVE(&f, "get", "j")));
	buf_done(&item);
}

static void a_log_item_is_returned_unchanged(void)
{
	put("j");
	databases_set_limits(f.call.env.databases, NULL);
	NATIVE(&f, "log", "j", "m",
	       "{\"e\":{},\"f\":[],\"a\":[1,[\"x\",{\"k\":[true,null]}],{}],\"n\":-1.50e3,"
	       "\"when\":1}");
	NATIVE(&f, "log", "j", "m2",
	       " { \"\\u00e9\\/\" : [ \"\\ud83d\\ude00\\n\" , { \"a\" : -0 } ] "
	       ",\"wh\\u0061t\":[1,{}]} ");
	TEST_ASSERT_NOT_NULL(
		strstr(NATIVE(&f, "get", "j"),
		       "{\"\xc3\xa9\\/"
		       "\":[\"\xf0\x9f\x98\x80\\n\",{\"a\":-0}],\"when\":1000,\"what\":\"m2\"}"));
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "get", "j"),
				    "{\"e\":{},\"f\":[],\"a\":[1,[\"x\",{\"k\":[true,null]}],{}],"
				    "\"n\":-1.50e3,\"when\":1000,\"what\":\"m\"}"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(put_refuses_long_names_and_data);
	RUN(names_and_data_at_the_limit_are_accepted);
	RUN(a_job_cannot_exceed_max_tags);
	RUN(a_job_cannot_exceed_max_dependencies);
	RUN(recur_has_the_limits_of_put);
	RUN(reports_about_running_jobs_obey_the_limits);
	RUN(a_call_cannot_exceed_max_jobs_per_call);
	RUN(a_command_cannot_name_more_jobs_than_max_jobs_per_call);
	RUN(the_tags_of_all_jobs_of_a_call_are_limited);
	RUN(the_dependencies_of_all_jobs_of_a_call_are_limited);
	RUN(a_job_cannot_exceed_max_dependents);
	RUN(names_of_a_command_are_limited);
	RUN(a_command_cannot_exceed_max_call_size);
	RUN(a_script_cannot_exceed_max_script_size);
	RUN(all_commands_that_store_names_check_their_length);
	RUN(lookups_accept_long_names_and_find_nothing);
	RUN(names_above_the_widest_limit_are_not_published);
	RUN(an_error_quotes_at_most_the_length_of_a_name);
	RUN(json_cannot_exceed_max_json_depth);
	RUN(jobs_from_before_a_tighter_limit_still_work);
	RUN(a_new_limit_holds_in_all_databases);
	RUN(limits_cannot_exceed_their_maximum);
	RUN(a_log_item_may_have_the_greatest_depth_of_json);
	RUN(a_log_item_is_returned_unchanged);
	return UNIT_RESULT();
}
