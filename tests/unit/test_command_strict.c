/*
 * New commands that are refused although the engine could run them. Some are refused in every form.
 * The others are refused only in the native form, because the reference accepts them.
 */
#include "native.h"

#include <yyjson.h>

#include "command/json.h"

#define BAD	  "caf\xe9"
#define GOOD	  "caf\xc3\xa9"
#define NOT_UTF8  " is not UTF-8: \"caf\\u00e9\""
#define WHOLE	  "\"retries\" must be a whole number from -1e+15 to 1e+15: "
#define JOB_BYTES "History and tags of the job would be larger than max-job-size (100 bytes)"

static struct native_fixture f;

static const struct databases_limits strict = {
	.engine = { .is_strict = true, .max_job_bytes = 100, .max_dependency_steps = 1000 },
	.max_json_depth = JSON_DEPTH_MAX,
};

void setUp(void)
{
	native_setup(&f);
	databases_set_limits(f.call.env.databases, &strict);
}

void tearDown(void)
{
	native_teardown(&f);
}

/* Make the state as one that was loaded: nothing that a command stores is refused. */
static void begin_old(void)
{
	databases_set_limits(f.call.env.databases, NULL);
}

static void end_old(void)
{
	databases_set_limits(f.call.env.databases, &strict);
}

/* Expect a refusal that begins so, and an unchanged state. */
#define ASSERT_REFUSED(expected, ...)                                                 \
	do {                                                                          \
		uint64_t changes_ = qless_changes(native_engine(&f));                 \
                                                                                      \
		buf_clear(&f.events);                                                 \
		ASSERT_BEGINS(expected, &f, __VA_ARGS__);                             \
		TEST_ASSERT_EQUAL_UINT64(changes_, qless_changes(native_engine(&f))); \
		TEST_ASSERT_EQUAL_size_t(0, f.events.len);                            \
	} while (0)

#define PUT(queue, jid, klass)	     "put", "w", queue, jid, klass, "{}", "0"
#define QLESS_PUT(queue, jid, klass) "qless", "put", "1", "w", queue, jid, klass, "{}", "0"
#define RECUR(queue, jid, klass)     "recur", queue, jid, klass, "{}", "interval", "60", "0"
#define QLESS_RECUR(queue, jid, klass) \
	"qless", "recur", "1", queue, jid, klass, "{}", "interval", "60", "0"

/* Whether the reply is a string that is JSON. */
static void assert_json(const char *reply)
{
	const char *text = strchr(reply, '\n');
	yyjson_doc *doc;

	TEST_ASSERT_EQUAL_CHAR_MESSAGE('$', reply[0], reply);
	TEST_ASSERT_NOT_NULL(text);
	doc = yyjson_read(text + 1, strlen(text + 1) - 2, 0);
	TEST_ASSERT_NOT_NULL_MESSAGE(doc, reply);
	yyjson_doc_free(doc);
}

#define ASSERT_JSON(...) assert_json(NATIVE(&f, __VA_ARGS__))

/* ---- retries ---- */

static void no_form_takes_retries_that_are_not_a_whole_number(void)
{
	static const char *const bad[] = { "0.5", "1e308", "-1e308", "-0", "1e16" };
	static const char *const text[] = { "0.5", "1e+308", "-1e+308", "-0", "1e+16" };
	char classic[200], classic_recur[200];

	NATIVE(&f, RECUR("q", "r", "k"));
	NATIVE(&f, PUT("q", "there", "k"));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(classic, sizeof classic, "-ERR Put(): Arg " WHOLE "%s\r\n", text[i]);
		snprintf(classic_recur, sizeof classic_recur, "-ERR Recur(): Arg " WHOLE "%s\r\n",
			 text[i]);
		TEST_ASSERT_EQUAL_STRING(classic,
					 NATIVE(&f, QLESS_PUT("q", "j", "k"), "retries", bad[i]));
		TEST_ASSERT_EQUAL_STRING(classic,
					 NATIVE(&f, "qless", "requeue", "1", "w", "q", "there", "k",
						"{}", "0", "retries", bad[i]));
		TEST_ASSERT_EQUAL_STRING(classic,
					 NATIVE(&f, "qless", "multiput", "1", "w", "q", "0",
						"retries", bad[i], "jobs", "j", "k", "{}"));
		TEST_ASSERT_EQUAL_STRING(classic_recur,
					 NATIVE(&f, QLESS_RECUR("q", "n", "k"), "retries", bad[i]));
		TEST_ASSERT_EQUAL_STRING(classic_recur, NATIVE(&f, "qless", "recur.update", "1",
							       "r", "retries", bad[i]));
		ASSERT_REFUSED("-BADARG ", PUT("q", "j", "k"), "retries", bad[i]);
		ASSERT_REFUSED("-BADARG ", "multiput", "w", "q", "0", "retries", bad[i], "jobs",
			       "j", "k", "{}");
		ASSERT_REFUSED("-BADARG ", RECUR("q", "n", "k"), "retries", bad[i]);
		ASSERT_REFUSED("-BADARG ", "recur.update", "r", "retries", bad[i]);
	}
	ASSERT_NATIVE("$-1\r\n", &f, "get", "j");
	ASSERT_NATIVE("$-1\r\n", &f, "recur.get", "n");
}

static void negative_retries_are_for_the_forms_of_the_reference(void)
{
	ASSERT_REFUSED(
		"-BADARG retries must be a whole number from 0 to 1e+15; found \"-1\" (expected: "
		"PUT worker queue jid klass data delay [<'priority' n | ",
		PUT("q", "j", "k"), "retries", "-1");
	ASSERT_REFUSED("-BADARG retries must ", RECUR("q", "r", "k"), "retries", "-1");
	ASSERT_NATIVE("$1\r\nj\r\n", &f, QLESS_PUT("q", "j", "k"), "retries", "-1");
	ASSERT_NATIVE("$1\r\nr\r\n", &f, QLESS_RECUR("q", "r", "k"), "retries", "-1");
}

static void a_job_with_half_a_retry_does_not_stop_its_queue(void)
{
	begin_old();
	NATIVE(&f, QLESS_PUT("q", "half", "k"), "retries", "0.5");
	NATIVE(&f, QLESS_PUT("q", "huge", "k"), "retries", "1e308");
	NATIVE(&f, "qless", "recur", "1", "q", "r", "k", "{}", "interval", "1e6", "0", "retries",
	       "0.5");
	end_old();
	f.now = 2000;
	NATIVE(&f, "pop", "q", "w", "3");
	f.now = 3000;
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "pop", "q", "w", "3");
	NATIVE(&f, PUT("q", "fine", "k"));
	f.now = 4000;
	ASSERT_BEGINS("$", &f, "pop", "q", "w", "3");
	ASSERT_NATIVE("$23\r\n{\"invalid-retries-q\":3}\r\n", &f, "failed");
	ASSERT_BEGINS("$", &f, "peek", "q", "3");
	ASSERT_BEGINS("$8\r\ncomplete", &f, "complete", "fine", "w", "q", "{}");
}

/* ---- names ---- */

static void no_form_takes_a_name_that_is_not_utf_8(void)
{
	ASSERT_REFUSED("-BADARG The jid" NOT_UTF8, PUT("q", BAD, "k"));
	ASSERT_REFUSED("-BADARG The queue" NOT_UTF8, PUT(BAD, "j", "k"));
	ASSERT_REFUSED("-BADARG The class" NOT_UTF8, PUT("q", "j", BAD));
	ASSERT_REFUSED("-BADARG The worker" NOT_UTF8, "put", BAD, "q", "j", "k", "{}", "0");
	ASSERT_REFUSED("-ERR The jid" NOT_UTF8 "\r\n", QLESS_PUT("q", BAD, "k"));
	ASSERT_REFUSED("-ERR The queue" NOT_UTF8 "\r\n", QLESS_PUT(BAD, "j", "k"));
	ASSERT_REFUSED("-ERR The class" NOT_UTF8 "\r\n", QLESS_PUT("q", "j", BAD));
	ASSERT_REFUSED("-ERR The worker" NOT_UTF8 "\r\n", "qless", "pop", "1", "q", BAD, "1");
	ASSERT_REFUSED("-BADARG The worker" NOT_UTF8, "pop", "q", BAD, "1");
	ASSERT_REFUSED("-BADARG The jid" NOT_UTF8, "multiput", "w", "q", "0", "jobs", "j", "k",
		       "{}", BAD, "k", "{}");
	ASSERT_REFUSED("-BADARG The queue" NOT_UTF8, RECUR(BAD, "r", "k"));
	ASSERT_REFUSED("-ERR The jid" NOT_UTF8, QLESS_RECUR("q", BAD, "k"));
	ASSERT_REFUSED("-BADARG A queue" NOT_UTF8, "pause", "q", BAD);
	ASSERT_REFUSED("-BADARG The option is not UTF-8: \"x-caf\\u00e9\"", "config.set", "x-" BAD,
		       "1");
	NATIVE(&f, PUT("q", "j", "k"));
	NATIVE(&f, "pop", "q", "w", "1");
	ASSERT_REFUSED("-BADARG A tag" NOT_UTF8, "tag", "add", "j", "good", BAD);
	ASSERT_REFUSED("-BADARG The group" NOT_UTF8, "fail", "j", "w", BAD, "message");
	ASSERT_REFUSED("-BADARG The queue" NOT_UTF8, "retry", "j", BAD, "w");
	ASSERT_REFUSED("-BADARG The group" NOT_UTF8, "retry", "j", "q", "w", "0", BAD);
	ASSERT_REFUSED("-BADARG The next queue" NOT_UTF8, "complete", "j", "w", "q", "{}", "next",
		       BAD);
	NATIVE(&f, RECUR("q", "r", "k"));
	ASSERT_REFUSED("-BADARG A tag" NOT_UTF8, "recur.tag", "r", BAD);
	ASSERT_REFUSED("-BADARG The class" NOT_UTF8, "recur.update", "r", "klass", BAD);
	/* Names in JSON are in UTF-8, or the text is no JSON. */
	ASSERT_REFUSED("-BADJSON ", PUT("q", "j", "k"), "tags", "[\"" BAD "\"]");
	ASSERT_REFUSED("-BADJSON ", PUT("q", "j", "k"), "depends", "[\"" BAD "\"]");
	ASSERT_REFUSED("-ERR ", QLESS_RECUR("q", "r", "k"), "tags", "[\"" BAD "\"]");
}

static void names_beyond_ascii_are_good_names(void)
{
	ASSERT_NATIVE("$5\r\n" GOOD "\r\n", &f, "put", GOOD, GOOD, GOOD, GOOD, "{}", "0", "tags",
		      "[\"" GOOD "\"]");
	ASSERT_JSON("pop", GOOD, GOOD, "1");
	ASSERT_NATIVE("$5\r\n" GOOD "\r\n", &f, "fail", GOOD, GOOD, GOOD, BAD);
	ASSERT_JSON("get", GOOD);
}

static void old_names_that_are_not_utf_8_give_valid_replies(void)
{
	begin_old();
	NATIVE(&f, PUT(BAD, BAD, BAD));
	NATIVE(&f, PUT(BAD, "j", BAD), "depends", "[]");
	NATIVE(&f, "tag", "add", BAD, BAD);
	NATIVE(&f, RECUR(BAD, BAD, BAD));
	NATIVE(&f, "pop", BAD, BAD, "1");
	end_old();
	ASSERT_JSON("get", BAD);
	ASSERT_JSON("multiget", BAD, "j");
	ASSERT_JSON("queues");
	ASSERT_JSON("queues", BAD);
	ASSERT_JSON("peek", BAD, "5");
	ASSERT_JSON("pop", BAD, "v", "5");
	ASSERT_JSON("workers");
	ASSERT_JSON("workers", BAD);
	ASSERT_JSON("tag", "get", BAD);
	ASSERT_JSON("tag", "remove", BAD, "x");
	ASSERT_JSON("recur.get", BAD);
	ASSERT_NATIVE("$1\r\n1\r\n", &f, "track", "track", BAD);
	ASSERT_JSON("track");
	ASSERT_JSON("config.get");
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "get", BAD), "\"jid\":\"caf\\u00e9\""));
}

static void jobs_with_old_names_can_be_worked_on(void)
{
	begin_old();
	NATIVE(&f, PUT(BAD, BAD, BAD));
	NATIVE(&f, PUT(BAD, "other", "k"));
	NATIVE(&f, "pop", BAD, BAD, "2");
	NATIVE(&f, "pause", BAD);
	end_old();
	ASSERT_NATIVE("$-1\r\n", &f, "unpause", BAD);
	ASSERT_BEGINS(":", &f, "heartbeat", BAD, BAD);
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "complete", BAD, BAD, BAD, "{}");
	ASSERT_NATIVE(":4\r\n", &f, "retry", "other", BAD, BAD);
	ASSERT_NATIVE("*1\r\n$5\r\nother\r\n", &f, "cancel", "other");
	ASSERT_NATIVE("$-1\r\n", &f, "queue.forget", BAD);
	ASSERT_NATIVE("$-1\r\n", &f, "worker.deregister", BAD);
}

static void a_message_may_be_any_bytes(void)
{
	NATIVE(&f, PUT("q", "j", "k"));
	NATIVE(&f, "pop", "q", "w", "1");
	ASSERT_NATIVE("$-1\r\n", &f, "log", "j", BAD);
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "fail", "j", "w", "group", BAD);
	ASSERT_JSON("get", "j");
	ASSERT_NATIVE("$-1\r\n", &f, "config.set", "x-anything", BAD);
	ASSERT_JSON("config.get");
}

static void events_are_valid_json(void)
{
	char *line, *payload;

	begin_old();
	NATIVE(&f, PUT(BAD, BAD, BAD));
	buf_clear(&f.events);
	NATIVE(&f, "pop", BAD, BAD, "1");
	NATIVE(&f, "fail", BAD, BAD, BAD, BAD);
	NATIVE(&f, "cancel", BAD);
	NATIVE(&f, "qless", "config.set", "1", BAD, BAD);
	end_old();
	for (line = strtok(buf_cstr(&f.events), "\n"); line != NULL; line = strtok(NULL, "\n")) {
		yyjson_doc *doc;

		payload = strchr(line, ' ') + 1;
		doc = yyjson_read(payload, strlen(payload), 0);
		TEST_ASSERT_NOT_NULL_MESSAGE(doc, payload);
		yyjson_doc_free(doc);
	}
}

static void native_names_are_not_empty(void)
{
	ASSERT_REFUSED("-BADARG queue must not be empty (expected: PUT ", PUT("", "j", "k"));
	ASSERT_REFUSED("-BADARG jid must not be empty", PUT("q", "", "k"));
	ASSERT_REFUSED("-BADARG klass must not be empty", PUT("q", "j", ""));
	ASSERT_REFUSED("-BADARG tags must not contain an empty name", PUT("q", "j", "k"), "tags",
		       "[\"\"]");
	ASSERT_REFUSED("-BADARG jid must not be empty", "multiput", "w", "q", "0", "jobs", "j", "k",
		       "{}", "", "k", "{}");
	ASSERT_REFUSED("-BADARG worker must not be empty", "pop", "q", "", "1");
	ASSERT_REFUSED("-BADARG jid must not be empty", RECUR("q", "", "k"));
	ASSERT_REFUSED("-BADARG queue must not be empty", "pause", "");
	ASSERT_REFUSED("-BADARG queue must not be empty", "unfail", "", "group");
	ASSERT_REFUSED("-BADARG option must not be empty", "config.set", "", "1");
	NATIVE(&f, PUT("q", "j", "k"));
	NATIVE(&f, "pop", "q", "w", "1");
	ASSERT_REFUSED("-BADARG tag must not be empty", "tag", "add", "j", "");
	ASSERT_REFUSED("-BADARG group must not be empty", "fail", "j", "w", "", "message");
	ASSERT_REFUSED("-BADARG next must not be empty", "complete", "j", "w", "q", "{}", "next",
		       "");
	/* The client that puts a job need not be a worker. */
	ASSERT_NATIVE("$1\r\ni\r\n", &f, "put", "", "q", "i", "k", "{}", "0");
}

static void the_forms_of_the_reference_take_empty_names(void)
{
	ASSERT_NATIVE("$0\r\n\r\n", &f, "qless", "put", "1", "", "", "", "", "{}", "0", "tags",
		      "[\"\"]");
	ASSERT_BEGINS("$", &f, "qless", "pop", "1", "", "", "1");
	ASSERT_NATIVE("$0\r\n\r\n", &f, "qless", "fail", "2", "", "", "", "");
	ASSERT_JSON("get", "");
	ASSERT_JSON("queues");
	ASSERT_JSON("failed");
}

/* ---- numbers ---- */

static void native_numbers_make_sense(void)
{
	ASSERT_REFUSED("-BADARG delay must be a number from 0 to 1e+15; found \"1e+308\"", "put",
		       "w", "q", "j", "k", "{}", "1e308");
	ASSERT_REFUSED("-BADARG priority must be a number from -1e+15 to 1e+15; found \"-1e+308\"",
		       PUT("q", "j", "k"), "priority", "-1e308");
	NATIVE(&f, PUT("q", "j", "k"));
	ASSERT_REFUSED("-BADARG priority must ", "priority", "j", "1e308");
	ASSERT_REFUSED("-BADARG interval must be a number from 1 to 1e+15; found \"0.5\"", "recur",
		       "q", "r", "k", "{}", "interval", "0.5", "0");
	ASSERT_REFUSED("-BADARG interval must ", "recur", "q", "r", "k", "{}", "interval", "1e308",
		       "0");
	ASSERT_REFUSED("-BADARG offset must be a number from -60 to 1e+15; found \"-61\"", "recur",
		       "q", "r", "k", "{}", "interval", "60", "-61");
	ASSERT_REFUSED("-BADARG backlog must be a whole number from 0 to 1e+15; found \"1.5\"",
		       RECUR("q", "r", "k"), "backlog", "1.5");
	NATIVE(&f, RECUR("q", "r", "k"));
	ASSERT_REFUSED("-BADARG interval must ", "recur.update", "r", "interval", "0.5");
	ASSERT_REFUSED("-BADARG backlog must ", "recur.update", "r", "backlog", "-1");
	NATIVE(&f, "pop", "q", "w", "1");
	ASSERT_REFUSED("-BADARG delay must ", "retry", "j", "q", "w", "1e308");
	ASSERT_REFUSED("-BADARG delay must be a number from 0 to 1e+15; found \"-5\"", "put", "w",
		       "q", "i", "k", "{}", "-5");
}

static void the_forms_of_the_reference_take_other_numbers(void)
{
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "qless", "put", "1", "w", "q", "j", "k", "{}",
		      "9007199254740993", "priority", "1e308");
	ASSERT_NATIVE("$1\r\nr\r\n", &f, "qless", "recur", "1", "q", "r", "k", "{}", "interval",
		      "0.5", "-100", "backlog", "1.5");
	ASSERT_JSON("pop", "q", "w", "2");
	ASSERT_JSON("get", "j");
}

static void a_heartbeat_answers_with_a_time(void)
{
	begin_old();
	NATIVE(&f, "qless", "config.set", "1", "heartbeat", "1e308");
	NATIVE(&f, "qless", "config.set", "1", "past-heartbeat", "-1e308");
	end_old();
	NATIVE(&f, PUT("q", "j", "k"));
	NATIVE(&f, PUT("past", "p", "k"));
	ASSERT_JSON("pop", "q", "w", "1");
	ASSERT_JSON("pop", "past", "w", "1");
	ASSERT_NATIVE(":9223372036854775807\r\n", &f, "heartbeat", "j", "w");
	ASSERT_NATIVE(":0\r\n", &f, "heartbeat", "p", "w");
	ASSERT_NATIVE("*2\r\n:9223372036854775807\r\n:0\r\n", &f, "multiheartbeat", "w", "j", "p");
	ASSERT_NATIVE(":9223372036854775807\r\n", &f, "qless", "heartbeat", "5", "j", "w");
}

/* ---- options ---- */

static void native_options_are_in_range(void)
{
	static const char *const bad[][2] = {
		{ "heartbeat", "-1" },
		{ "heartbeat", "0" },
		{ "heartbeat", "1e16" },
		{ "q-heartbeat", "-1" },
		{ "grace-period", "-1" },
		{ "jobs-history", "0" },
		{ "jobs-history-count", "0" },
		{ "jobs-history-count", "-1" },
		{ "max-job-history", "-1" },
		{ "max-worker-age", "0" },
		{ "stats-history", "-1" },
		{ "histogram-history", "-1" },
		{ "q-max-concurrency", "-1" },
		{ "failed-history", "-1" },
		{ "failed-history", "a week" },
		{ "failed-history-count", "-1" },
		{ "failed-history-count", "all" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char expected[200];

		snprintf(expected, sizeof expected, "-BADARG The value of \"%s\" must be from ",
			 bad[i][0]);
		TEST_ASSERT_EQUAL_STRING_LEN(
			expected, NATIVE(&f, "config.set", bad[i][0], bad[i][1]), strlen(expected));
	}
	ASSERT_REFUSED(
		"-BADARG The value of \"heartbeat\" must be from 0.001 to 1e+15; found \"-1\" "
		"(expected: CONFIG.SET option value)\r\n",
		"config.set", "heartbeat", "-1");
	ASSERT_NATIVE("$-1\r\n", &f, "config.set", "heartbeat", "0.5");
	ASSERT_NATIVE("$-1\r\n", &f, "config.set", "q-max-concurrency", "0");
	ASSERT_NATIVE("$-1\r\n", &f, "config.set", "max-job-history", "0");
	ASSERT_NATIVE("$-1\r\n", &f, "config.set", "x-anything", "-1");
	ASSERT_REFUSED("-BADARG The value of \"failed-history-count\" must be a whole number; "
		       "found \"1.5\" (expected: CONFIG.SET option value)\r\n",
		       "config.set", "failed-history-count", "1.5");
	ASSERT_NATIVE("$-1\r\n", &f, "config.set", "failed-history-count", "100");
	ASSERT_NATIVE("$-1\r\n", &f, "config.set", "failed-history", "0.5");
	/* A log may have such a value from when the option was free text. */
	ASSERT_NATIVE("$-1\r\n", &f, "qless", "config.set", "1", "failed-history", "a week");
}

static void the_order_of_a_queue_is_one_of_two_words(void)
{
	ASSERT_REFUSED("-BADARG The value of \"q-order\" must be priority or fair; found "
		       "\"random\" (expected: CONFIG.SET option value)\r\n",
		       "config.set", "q-order", "random");
	ASSERT_NATIVE("$-1\r\n", &f, "config.set", "q-order", "fair");
	ASSERT_NATIVE("$-1\r\n", &f, "config.set", "q-order", "priority");
}

static void no_form_takes_options_beyond_any_time(void)
{
	ASSERT_REFUSED(
		"-ERR config.set(): Option \"heartbeat\" must be from -1e+15 to 1e+15: 1e+308\r\n",
		"qless", "config.set", "1", "heartbeat", "1e308");
	ASSERT_REFUSED("-ERR config.set(): Option \"q-heartbeat\" must be", "qless", "config.set",
		       "1", "q-heartbeat", "-1e16");
	ASSERT_NATIVE("$-1\r\n", &f, "qless", "config.set", "1", "heartbeat", "-10");
	ASSERT_NATIVE("$-1\r\n", &f, "qless", "config.set", "1", "jobs-history-count", "0");
}

/* ---- size ---- */

static void log_entries_of_a_job_are_bounded_in_sum(void)
{
	NATIVE(&f, PUT("q", "j", "k"));
	ASSERT_NATIVE("$-1\r\n", &f, "log", "j", "a message of twenty.");
	ASSERT_REFUSED("-LIMIT " JOB_BYTES, "log", "j",
		       "a message that would take the history beyond one hundred bytes");
	ASSERT_REFUSED("-LIMIT " JOB_BYTES, "log", "j", "m",
		       "{\"text\":\"an item that would take the history beyond one hundred\"}");
	/* The job goes on. */
	ASSERT_JSON("pop", "q", "w", "1");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "complete", "j", "w", "q", "{}");
}

static void an_entry_that_makes_room_for_itself_is_accepted(void)
{
	NATIVE(&f, "config.set", "max-job-history", "3");
	NATIVE(&f, PUT("q", "j", "k"));
	for (int i = 0; i < 20; i++)
		ASSERT_NATIVE("$-1\r\n", &f, "log", "j", "a message of twenty.");
}

static void tags_count_towards_the_size_of_a_job(void)
{
	NATIVE(&f, PUT("q", "j", "k"));
	ASSERT_BEGINS("$", &f, "tag", "add", "j", "a tag of twenty byte", "a tag of 20 bytes...");
	ASSERT_REFUSED("-LIMIT " JOB_BYTES, "tag", "add", "j",
		       "another tag, of more than fifty bytes, which is rather long");
	ASSERT_REFUSED("-LIMIT " JOB_BYTES, "log", "j",
		       "a message of more than fifty bytes, which is rather long");
	/* A tag that the job has is not new. */
	ASSERT_BEGINS("$", &f, "tag", "add", "j", "a tag of twenty byte", "a tag of 20 bytes...");
	NATIVE(&f, RECUR("q", "r", "k"));
	ASSERT_BEGINS("$", &f, "recur.tag", "r", "a tag of twenty byte", "a tag of 20 bytes...");
	ASSERT_REFUSED("-LIMIT " JOB_BYTES, "recur.tag", "r",
		       "a tag of more than sixty bytes, which is longer than most people need");
}

static void a_put_with_many_tags_is_refused(void)
{
	struct buf tags = BUF_INIT(BUF_NO_MAX);

	buf_append_char(&tags, '[');
	for (int i = 0; i < 500; i++)
		buf_printf(&tags, "%s\"tag-%05d-xxx\"", i > 0 ? "," : "", i);
	buf_append_char(&tags, ']');
	ASSERT_REFUSED("-LIMIT " JOB_BYTES, PUT("q", "j", "k"), "tags", buf_cstr(&tags));
	ASSERT_REFUSED("-LIMIT " JOB_BYTES, RECUR("q", "r", "k"), "tags", buf_cstr(&tags));
	buf_done(&tags);
}

/* ---- circles ---- */

static void native_jobs_cannot_wait_for_themselves(void)
{
	ASSERT_REFUSED("-BADARG Job j would wait for itself: j -> j (expected: PUT ",
		       PUT("q", "j", "k"), "depends", "[\"j\"]");
	ASSERT_REFUSED("-BADARG Job j would wait for itself: j -> j", "multiput", "w", "q", "0",
		       "depends", "[\"j\"]", "jobs", "i", "k", "{}", "j", "k", "{}");
	NATIVE(&f, PUT("q", "a", "k"));
	NATIVE(&f, PUT("q", "j", "k"), "depends", "[\"a\"]");
	ASSERT_REFUSED("-BADARG Job j would wait for itself: j -> j", "depends", "j", "on", "j");
	NATIVE(&f, "pop", "q", "w", "1");
	ASSERT_REFUSED("-BADARG Job a would wait for itself: a -> a", "complete", "a", "w", "q",
		       "{}", "next", "q", "depends", "[\"a\"]");
}

static void a_circle_over_several_jobs_is_named(void)
{
	NATIVE(&f, PUT("q", "a", "k"));
	NATIVE(&f, PUT("q", "b", "k"), "depends", "[\"a\"]");
	NATIVE(&f, PUT("q", "c", "k"), "depends", "[\"b\"]");
	NATIVE(&f, PUT("q", "d", "k"), "depends", "[\"c\"]");
	ASSERT_REFUSED("-BADARG Job a would wait for itself: a -> d -> c -> b -> a",
		       PUT("q", "a", "k"), "depends", "[\"x\",\"d\"]");
	ASSERT_REFUSED("-BADARG Job a would wait for itself: a -> b -> a", "requeue", "w", "q", "a",
		       "k", "{}", "0", "depends", "[\"b\"]");
	ASSERT_REFUSED("-BADARG Job b would wait for itself: b -> d -> c -> b", "depends", "b",
		       "on", "d");
	ASSERT_REFUSED("-BADARG Job a would wait for itself: a -> c -> b -> a", "multiput", "w",
		       "q", "0", "depends", "[\"c\"]", "jobs", "new", "k", "{}", "a", "k", "{}");
	NATIVE(&f, "pop", "q", "w", "1");
	ASSERT_REFUSED("-BADARG Job a would wait for itself: a -> d -> c -> b -> a", "complete",
		       "a", "w", "q", "{}", "next", "q", "depends", "[\"d\"]");
	/* Other ways to depend on them make no circle. */
	ASSERT_NATIVE("$1\r\ne\r\n", &f, PUT("q", "e", "k"), "depends", "[\"a\",\"d\",\"c\"]");
	ASSERT_NATIVE(":1\r\n", &f, "depends", "d", "on", "a", "b");
}

static void a_long_circle_is_named_in_part(void)
{
	char jid[20], on[40];

	NATIVE(&f, PUT("q", "j0", "k"));
	for (int i = 1; i < 30; i++) {
		snprintf(jid, sizeof jid, "j%d", i);
		snprintf(on, sizeof on, "[\"j%d\"]", i - 1);
		NATIVE(&f, PUT("q", jid, "k"), "depends", on);
	}
	ASSERT_REFUSED(
		"-BADARG Job j0 would wait for itself: j0 -> j29 -> j28 -> j27 -> j26 -> j25 -> "
		"j24 -> j23 -> j22 -> j21 -> (20 more) -> j0 (expected",
		PUT("q", "j0", "k"), "depends", "[\"j29\"]");
}

/* Two layers of a hundred jobs: each job of the second depends on all of the first. */
static void a_search_for_a_circle_is_bounded(void)
{
	struct databases_limits limits = strict;
	struct buf first = BUF_INIT(BUF_NO_MAX), second = BUF_INIT(BUF_NO_MAX);
	char jid[20];

	begin_old();
	NATIVE(&f, PUT("q", "root", "k"));
	NATIVE(&f, PUT("q", "top", "k"));
	for (int i = 0; i < 100; i++) {
		snprintf(jid, sizeof jid, "a%d", i);
		NATIVE(&f, PUT("q", jid, "k"), "depends", "[\"root\"]");
		snprintf(jid, sizeof jid, "b%d", i);
		NATIVE(&f, PUT("q", jid, "k"), "depends", "[\"top\"]");
		buf_printf(&first, "%s\"a%d\"", i > 0 ? "," : "[", i);
		buf_printf(&second, "%s\"b%d\"", i > 0 ? "," : "[", i);
	}
	buf_append_char(&first, ']');
	buf_append_char(&second, ']');
	NATIVE(&f, PUT("q", "last", "k"), "depends", buf_cstr(&first));
	NATIVE(&f, PUT("q", "other", "k"), "depends", buf_cstr(&second));
	end_old();
	ASSERT_NATIVE("$3\r\ntop\r\n", &f, PUT("q", "top", "k"), "depends", "[\"last\"]");
	NATIVE(&f, PUT("q", "top", "k"));
	NATIVE(&f, "depends", "top", "off", "all");
	limits.engine.max_dependency_steps = 100;
	databases_set_limits(f.call.env.databases, &limits);
	ASSERT_REFUSED("-LIMIT The search for a circle of dependencies needs more than "
		       "max-dependency-steps (100)",
		       PUT("q", "top", "k"), "depends", "[\"last\"]");
	/* Nothing is searched for a new job, or for a dependency that waits for nothing. */
	ASSERT_NATIVE("$3\r\nnew\r\n", &f, PUT("q", "new", "k"), "depends", "[\"last\",\"other\"]");
	ASSERT_NATIVE("$3\r\ntop\r\n", &f, PUT("q", "top", "k"), "depends", "[\"root\"]");
	buf_done(&first);
	buf_done(&second);
}

static void circles_of_the_reference_are_reported(void)
{
	const char *reply;

	ASSERT_NATIVE("$1\r\nj\r\n", &f, QLESS_PUT("q", "j", "k"), "depends", "[\"j\"]");
	ASSERT_NATIVE("*1\r\n$36\r\njob \"j\" waits for itself: \"j\" -> \"j\"\r\n", &f,
		      "consistencycheck");
	ASSERT_NATIVE("*1\r\n$42\r\nleft: job \"j\" waits for itself: \"j\" -> \"j\"\r\n", &f,
		      "consistencycheck", "resolve");
	/* It makes nothing else fail, and can be undone. */
	ASSERT_JSON("pop", "q", "w", "5");
	ASSERT_JSON("queues");
	ASSERT_NATIVE(":1\r\n", &f, "depends", "j", "off", "j");
	ASSERT_NATIVE("*0\r\n", &f, "consistencycheck");
	NATIVE(&f, PUT("q", "a", "k"));
	NATIVE(&f, PUT("q", "b", "k"), "depends", "[\"a\"]");
	NATIVE(&f, QLESS_PUT("q", "a", "k"), "depends", "[\"b\"]");
	NATIVE(&f, PUT("q", "c", "k"), "depends", "[\"b\"]");
	reply = NATIVE(&f, "consistencycheck");
	TEST_ASSERT_EQUAL_STRING_LEN("*1\r\n", reply, 4);
	TEST_ASSERT_TRUE(strstr(reply, "\"a\" -> \"b\" -> \"a\"") != NULL ||
			 strstr(reply, "\"b\" -> \"a\" -> \"b\"") != NULL);
	ASSERT_BEGINS("*3\r\n", &f, "cancel", "a", "b", "c");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(no_form_takes_retries_that_are_not_a_whole_number);
	RUN(negative_retries_are_for_the_forms_of_the_reference);
	RUN(a_job_with_half_a_retry_does_not_stop_its_queue);
	RUN(no_form_takes_a_name_that_is_not_utf_8);
	RUN(names_beyond_ascii_are_good_names);
	RUN(old_names_that_are_not_utf_8_give_valid_replies);
	RUN(jobs_with_old_names_can_be_worked_on);
	RUN(a_message_may_be_any_bytes);
	RUN(events_are_valid_json);
	RUN(native_names_are_not_empty);
	RUN(the_forms_of_the_reference_take_empty_names);
	RUN(native_numbers_make_sense);
	RUN(the_forms_of_the_reference_take_other_numbers);
	RUN(a_heartbeat_answers_with_a_time);
	RUN(native_options_are_in_range);
	RUN(the_order_of_a_queue_is_one_of_two_words);
	RUN(no_form_takes_options_beyond_any_time);
	RUN(log_entries_of_a_job_are_bounded_in_sum);
	RUN(an_entry_that_makes_room_for_itself_is_accepted);
	RUN(tags_count_towards_the_size_of_a_job);
	RUN(a_put_with_many_tags_is_refused);
	RUN(native_jobs_cannot_wait_for_themselves);
	RUN(a_circle_over_several_jobs_is_named);
	RUN(a_long_circle_is_named_in_part);
	RUN(a_search_for_a_circle_is_bounded);
	RUN(circles_of_the_reference_are_reported);
	return UNIT_RESULT();
}
