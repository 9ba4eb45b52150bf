/*
 * The option `unique` of native puts: its replies, what shows the key, and what is refused.
 */
#include "native.h"

#include "command/json.h"

static struct native_fixture f;

static const struct databases_limits strict = {
	.engine = { .is_strict = true },
	.max_json_depth = 1000,
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

#define PUT_DATA(jid, data, ...) "PUT", "me", "q", jid, "k", data, "0", __VA_ARGS__
#define PUT(jid, ...)		 PUT_DATA(jid, "{}", __VA_ARGS__)
#define POP(queue)		 ASSERT_BEGINS("$", &f, "POP", queue, "w", "1")

#define ASSERT_JID(expected, ...) \
	TEST_ASSERT_EQUAL_STRING("$1\r\n" expected "\r\n", NATIVE(&f, __VA_ARGS__))

/* Expect a refusal, and an unchanged state. */
#define ASSERT_REFUSED(expected, ...)                                                 \
	do {                                                                          \
		uint64_t changes_ = qless_changes(native_engine(&f));                 \
                                                                                      \
		ASSERT_BEGINS(expected, &f, __VA_ARGS__);                             \
		TEST_ASSERT_EQUAL_UINT64(changes_, qless_changes(native_engine(&f))); \
	} while (0)

#define ASSERT_HAS(part, ...) \
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(NATIVE(&f, __VA_ARGS__), part), part)
#define ASSERT_LACKS(part, ...) \
	TEST_ASSERT_NULL_MESSAGE(strstr(NATIVE(&f, __VA_ARGS__), part), part)

static void a_put_replies_with_the_job_that_exists(void)
{
	ASSERT_JID("a", PUT("a", "unique", "key"));
	ASSERT_REFUSED("$1\r\na", PUT("b", "Unique", "key", "UNTIL", "Popped"));
	ASSERT_JID("c", PUT("c", "unique", "other"));
	ASSERT_JID("a", PUT("a", "unique", "key"));
	TEST_ASSERT_EQUAL_STRING("$-1\r\n", NATIVE(&f, "GET", "b"));
}

static void args_are_class_and_data_whatever_their_spelling(void)
{
	ASSERT_JID("a", PUT_DATA("a", "{\"x\":1,\"y\":[2.50]}", "unique", "args"));
	ASSERT_JID("a", PUT_DATA("b", " {\"y\" : [25e-1], \"\\u0078\": 1.0}", "unique", "ARGS"));
	ASSERT_JID("c", PUT_DATA("c", "{\"x\":1,\"y\":[2.51]}", "unique", "args"));
	ASSERT_JID("d", "PUT", "me", "q", "d", "other", "{\"x\":1,\"y\":[2.50]}", "0", "unique",
		   "args");
}

#define FLAT	   "{\"to\":\"someone\",\"is_new\":true,\"count\":10}"
#define SPACED	   "{\"count\": 10, \"is_new\" : true , \"to\": \"someone\" }"
#define BROKEN	   "{\"count\":10,\n\"is_new\":true,\n\"to\":\"someone\"}"
#define ESCAPED	   "{\"to\":\"\\u0073omeone\",\"is_new\":true,\"count\":10}"
#define FRACTION   "{\"to\":\"someone\",\"is_new\":true,\"count\":10.0}"
#define OTHER_FLAT "{\"to\":\"someone\",\"is_new\":true,\"count\":11}"

static void flat_data_has_the_key_of_every_spelling(void)
{
	static const char *const spellings[] = { FLAT, SPACED, BROKEN, ESCAPED, FRACTION };

	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		ASSERT_JID("a", PUT_DATA("a", spellings[i], "unique", "args"));
		for (size_t j = 0; j < sizeof spellings / sizeof *spellings; j++)
			ASSERT_JID("a", PUT_DATA("b", spellings[j], "unique", "args"));
		ASSERT_JID("c", PUT_DATA("c", OTHER_FLAT, "unique", "args"));
		/* JSON of another option is checked after the data. */
		ASSERT_JID("a", PUT_DATA("b", spellings[i], "unique", "args", "tags", "[\"t\"]"));
		NATIVE(&f, "CANCEL", "a");
		NATIVE(&f, "CANCEL", "c");
	}
}

static void a_completion_without_data_has_the_key_of_what_the_job_has(void)
{
	ASSERT_JID("a", PUT_DATA("a", FLAT, "priority", "1"));
	ASSERT_JID("b", PUT_DATA("b", FLAT, "unique", "args"));
	POP("q");
	ASSERT_JID("c", PUT_DATA("c", OTHER_FLAT, "priority", "0"));
	TEST_ASSERT_EQUAL_STRING("$8\r\ncomplete\r\n", NATIVE(&f, "COMPLETE", "a", "w", "q", "next",
							      "q", "unique", "args"));
	ASSERT_JID("d", PUT_DATA("d", OTHER_FLAT, "unique", "args"));
}

static void a_key_that_looks_like_a_hash_is_another_key(void)
{
	ASSERT_JID("a", PUT("a", "unique", "args"));
	ASSERT_HAS("\"unique\":{\"key\":\"args:", "GET", "a");
	ASSERT_JID("b", PUT("b", "unique", "args:93f2a0b9ad2ab7a2b4d2d6a6f4a4ae3e"));
}

static void each_job_of_a_multiput_is_looked_at_alone(void)
{
	TEST_ASSERT_EQUAL_STRING("*4\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\na\r\n$1\r\nd\r\n",
				 NATIVE(&f, "MULTIPUT", "me", "q", "0", "unique", "args", "jobs",
					"a", "k", "1", "b", "k", "2", "c", "k", "1.0", "d", "z",
					"1"));
	TEST_ASSERT_EQUAL_STRING("$-1\r\n", NATIVE(&f, "GET", "c"));
	TEST_ASSERT_EQUAL_STRING("*2\r\n$1\r\ne\r\n$1\r\ne\r\n",
				 NATIVE(&f, "MULTIPUT", "me", "q", "0", "unique", "key", "jobs",
					"e", "k", "1", "f", "k", "2"));
	TEST_ASSERT_EQUAL_STRING("*3\r\n$-1\r\n$1\r\ng\r\n$1\r\nb\r\n",
				 NATIVE(&f, "MULTIPUT", "me", "q", "0", "nx", "unique", "args",
					"jobs", "a", "k", "7", "g", "k", "8", "h", "k", "2"));
}

static void the_native_form_shows_the_key_of_a_job(void)
{
	NATIVE(&f, PUT("a", "unique", "k\"1"));
	ASSERT_HAS(",\"unique\":{\"key\":\"k\\\"1\",\"until\":\"finished\",\"held\":true}", "GET",
		   "a");
	POP("q");
	ASSERT_BEGINS("$1", &f, "FAIL", "a", "w", "g", "m");
	ASSERT_HAS(",\"unique\":{\"key\":\"k\\\"1\",\"until\":\"finished\",\"held\":false}", "GET",
		   "a");
	f.now = 1000;
	NATIVE(&f, PUT("b", "unique", "t", "until", "60"));
	ASSERT_HAS(",\"unique\":{\"key\":\"t\",\"until\":60,\"ends\":1060,\"held\":true}", "GET",
		   "b");
	ASSERT_LACKS("unique", "QLESS", "get", "1", "b");
	f.now = 1059;
	ASSERT_HAS("\"held\":true", "GET", "b");
	f.now = 1060;
	ASSERT_HAS(",\"unique\":{\"key\":\"t\",\"until\":60,\"ends\":1060,\"held\":false}", "GET",
		   "b");
	ASSERT_HAS("\"held\":false", "PEEK", "q", "1");
	NATIVE(&f, PUT("b", "priority", "1"));
	ASSERT_LACKS("unique", "GET", "b");
}

static void recur_update_changes_the_key_of_later_jobs(void)
{
	ASSERT_BEGINS("$1", &f, "RECUR", "q", "r", "k", "{}", "interval", "60", "0");
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "unique", "u", "until", "30");
	ASSERT_HAS("\"unique\":{\"key\":\"u\",\"until\":30}", "RECUR.GET", "r");
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "until", "popped");
	ASSERT_HAS("\"unique\":{\"key\":\"u\",\"until\":\"popped\"}", "RECUR.GET", "r");
	/* The key of the class and the data is that of the new data. */
	NATIVE(&f, PUT_DATA("a", "{\"x\":1}", "unique", "args"));
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "unique", "args", "data", "{\"x\":1.0}");
	ASSERT_JID("a", PUT_DATA("b", "{\"x\":1}", "unique", "args"));
	POP("q");
	ASSERT_LACKS("\"jid\":\"r-1\"", "POP", "q", "w", "9");
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "until", "popped", "data", "{\"x\":2}");
	f.now += 60;
	ASSERT_HAS("\"jid\":\"r-1\"", "POP", "q", "w", "9");
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "unique", "");
	ASSERT_LACKS("unique", "RECUR.GET", "r");
	f.now += 60;
	ASSERT_HAS("\"jid\":\"r-2\"", "POP", "q", "w", "9");
}

static void job_why_names_the_key_and_its_holder(void)
{
	NATIVE(&f, PUT("a", "unique", "key"));
	ASSERT_HAS("$6\r\nunique\r\n$3\r\nkey\r\n$13\r\nunique-holder\r\n$1\r\na\r\n", "JOB.WHY",
		   "a");
	POP("q");
	NATIVE(&f, "FAIL", "a", "w", "g", "m");
	ASSERT_LACKS("unique-holder", "JOB.WHY", "a");
	NATIVE(&f, PUT("b", "unique", "key"));
	ASSERT_HAS("$13\r\nunique-holder\r\n$1\r\nb\r\n", "JOB.WHY", "a");
	NATIVE(&f, PUT("c", "priority", "1"));
	ASSERT_LACKS("unique", "JOB.WHY", "c");
}

static void a_put_replaces_the_data_of_a_waiting_holder(void)
{
	NATIVE(&f, PUT("a", "unique", "key"));
	ASSERT_JID("a", "PUT", "me", "q", "b", "k", "{\"n\":2}", "60", "unique", "key", "replace",
		   "priority", "4");
	ASSERT_HAS("\"state\":\"scheduled\"", "GET", "a");
	ASSERT_HAS("{\\\"n\\\":2}", "GET", "a");
	ASSERT_HAS("\"priority\":4", "GET", "a");
	ASSERT_JID("a", PUT_DATA("c", "[]", "unique", "key", "replace"));
	ASSERT_HAS("\"state\":\"waiting\"", "GET", "a");
	ASSERT_JID("a", PUT_DATA("c", "[]", "unique", "key", "replace", "at", "4000000000"));
	ASSERT_HAS("\"state\":\"scheduled\"", "GET", "a");
}

static void requeues_and_next_queues_take_keys(void)
{
	NATIVE(&f, PUT("a", "priority", "1"));
	NATIVE(&f, PUT("b", "unique", "key"));
	ASSERT_JID("b", "REQUEUE", "me", "q", "a", "k", "{}", "0", "unique", "key");
	POP("q");
	ASSERT_BEGINS("$8\r\ncomplete", &f, "COMPLETE", "a", "w", "q", "{}", "next", "other",
		      "unique", "key");
	POP("q");
	ASSERT_BEGINS("$7\r\nwaiting", &f, "COMPLETE", "b", "w", "q", "{\"x\":1}", "next", "other",
		      "unique", "args", "until", "popped");
	ASSERT_JID("b", PUT_DATA("c", "{\"x\":1.0}", "unique", "args"));
}

static void a_recurring_job_with_args_follows_its_changes(void)
{
	ASSERT_BEGINS("$1", &f, "RECUR", "q", "r", "k", "{\"x\":1}", "interval", "60", "0",
		      "unique", "args");
	ASSERT_HAS(",\"unique\":{\"key\":\"args:", "RECUR.GET", "r");
	ASSERT_LACKS("held", "RECUR.GET", "r");
	NATIVE(&f, PUT_DATA("a", "{\"x\":1}", "unique", "args"));
	ASSERT_LACKS("r-1", "POP", "q", "w", "9");
	/* Its next job is about other data, so that it does not wait for the first. */
	ASSERT_BEGINS(":1", &f, "RECUR.UPDATE", "r", "data", "{\"x\":2}");
	f.now += 60;
	ASSERT_HAS("r-1", "POP", "q", "w", "9");
	ASSERT_JID("a", PUT_DATA("b", "{\"x\":1}", "unique", "args"));
	ASSERT_BEGINS("$3\r\nr-1", &f, PUT_DATA("b", "{\"x\":2}", "unique", "args"));
	ASSERT_BEGINS(":1", &f, "RECUR.UPDATE", "r", "klass", "z");
	f.now += 60;
	ASSERT_HAS("r-2", "POP", "q", "w", "9");
	ASSERT_BEGINS("$3\r\nr-2", &f, "PUT", "me", "q", "b", "z", "{\"x\":2}", "0", "unique",
		      "args");
}

static void invalid_options_are_refused(void)
{
	ASSERT_REFUSED("-BADARG unique must not be empty", PUT("a", "unique", ""));
	ASSERT_REFUSED("-BADARG Option \"until\" needs the option \"unique\"",
		       PUT("a", "until", "popped"));
	ASSERT_REFUSED("-BADARG Option \"replace\" needs the option \"unique\"",
		       PUT("a", "replace"));
	ASSERT_REFUSED("-BADARG until must be popped, finished, or a number of seconds above 0 "
		       "and up to 1e+15; found \"later\"",
		       PUT("a", "unique", "key", "until", "later"));
	ASSERT_REFUSED("-BADARG until must be", PUT("a", "unique", "key", "until", "0"));
	ASSERT_REFUSED("-BADARG until must be", PUT("a", "unique", "key", "until", "-1"));
	ASSERT_REFUSED("-BADARG until must be", PUT("a", "unique", "key", "until", "nan"));
	ASSERT_REFUSED("-BADARG until must be", PUT("a", "unique", "key", "until", "1e300"));
	ASSERT_REFUSED("-BADARG until must be", PUT("a", "unique", "key", "until", ""));
	ASSERT_REFUSED("-BADARG Option \"unique\" is repeated",
		       PUT("a", "unique", "key", "unique", "key"));
	ASSERT_REFUSED("-BADARG", PUT("a", "unique"));
	ASSERT_REFUSED("-BADARG", PUT("a", "unique", "key", "until"));
	ASSERT_REFUSED("-BADARG The unique key is not UTF-8", PUT("a", "unique", "\xff"));
	ASSERT_REFUSED("-BADARG The unique key is not UTF-8", PUT("a", "unique",
								  "\xff"
								  "0123456789abcdef"));
	ASSERT_REFUSED("-BADJSON", PUT_DATA("a", "{\"x\":}", "unique", "args"));
	ASSERT_REFUSED("-BADARG Option \"unique\" needs the option \"next\"", "COMPLETE", "a", "w",
		       "q", "{}", "unique", "key");
	ASSERT_REFUSED("-NOJOB", "COMPLETE", "none", "w", "q", "{}", "next", "q", "unique", "args");
	ASSERT_REFUSED("-NOJOB", "COMPLETE", "none", "w", "q", "next", "q", "unique", "args");
	ASSERT_REFUSED("-BADARG Unknown option \"replace\"", "RECUR", "q", "r", "k", "{}",
		       "interval", "60", "0", "unique", "key", "replace");
}

static void the_forms_of_the_reference_do_not_know_the_option(void)
{
	ASSERT_BEGINS("$1\r\na", &f, "QLESS", "put", "1", "w", "q", "a", "k", "{}", "0", "unique",
		      "key");
	ASSERT_BEGINS("$1\r\nb", &f, "QLESS", "put", "1", "w", "q", "b", "k", "{}", "0", "unique",
		      "key");
	TEST_ASSERT_EQUAL_size_t(0, qless_unique_count(native_engine(&f)));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_put_replies_with_the_job_that_exists);
	RUN(args_are_class_and_data_whatever_their_spelling);
	RUN(flat_data_has_the_key_of_every_spelling);
	RUN(a_completion_without_data_has_the_key_of_what_the_job_has);
	RUN(a_key_that_looks_like_a_hash_is_another_key);
	RUN(each_job_of_a_multiput_is_looked_at_alone);
	RUN(the_native_form_shows_the_key_of_a_job);
	RUN(recur_update_changes_the_key_of_later_jobs);
	RUN(job_why_names_the_key_and_its_holder);
	RUN(a_put_replaces_the_data_of_a_waiting_holder);
	RUN(requeues_and_next_queues_take_keys);
	RUN(a_recurring_job_with_args_follows_its_changes);
	RUN(invalid_options_are_refused);
	RUN(the_forms_of_the_reference_do_not_know_the_option);
	return UNIT_RESULT();
}
