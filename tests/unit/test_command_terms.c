/*
 * The options of native puts that become terms of a job.
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

#define PUT(jid, ...) ASSERT_BEGINS("$", &f, "PUT", "me", "q", jid, "k", "{}", "0", __VA_ARGS__)

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

#define BACKOFF(kind, base, max) \
	",\"backoff\":{\"kind\":\"" kind "\",\"base\":" base ",\"max\":" max "}"

static void all_puts_take_a_backoff(void)
{
	PUT("a", "backoff", "fixed", "1", "60");
	ASSERT_HAS(BACKOFF("fixed", "1", "60"), "GET", "a");
	ASSERT_BEGINS("$", &f, "REQUEUE", "me", "q", "a", "k", "{}", "0", "tags", "[]", "Backoff",
		      "LINEAR", "0.5", "60", "priority", "1");
	ASSERT_HAS(BACKOFF("linear", "0.5", "60"), "GET", "a");
	ASSERT_BEGINS("*2", &f, "MULTIPUT", "me", "q", "0", "backoff", "exponential", "1", "60",
		      "jobs", "b", "k", "{}", "c", "k", "{}");
	ASSERT_HAS(BACKOFF("exponential", "1", "60"), "GET", "c");
	ASSERT_BEGINS("$", &f, "RECUR", "q", "r", "k", "{}", "interval", "60", "0", "retries", "3",
		      "backoff", "fixed", "2", "60");
	ASSERT_HAS(BACKOFF("fixed", "2", "60"), "RECUR.GET", "r");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_BEGINS("$7\r\nwaiting", &f, "COMPLETE", "a", "w", "q", "{}", "backoff", "fixed", "3",
		      "60", "next", "other");
	ASSERT_HAS(BACKOFF("fixed", "3", "60"), "GET", "a");
}

static void complete_takes_the_lock_after_a_backoff(void)
{
	PUT("a", "backoff", "fixed", "1", "60");
	ASSERT_HAS("\"lock\":1", "POP", "q", "w", "1");
	ASSERT_REFUSED("-NOTOWNER", "COMPLETE", "a", "w", "q", "{}", "next", "q", "backoff",
		       "fixed", "1", "60", "lock", "7");
	ASSERT_BEGINS("$7\r\nwaiting", &f, "COMPLETE", "a", "w", "q", "{}", "next", "q", "backoff",
		      "fixed", "1", "60", "lock", "1");
}

static void classic_replies_do_not_show_terms(void)
{
	PUT("a", "backoff", "fixed", "1", "60");
	ASSERT_LACKS("backoff", "QLESS", "get", "1", "a");
	ASSERT_LACKS("backoff", "QLESS", "pop", "1000", "q", "w", "1");
}

static void the_classic_form_does_not_know_terms(void)
{
	ASSERT_BEGINS("$", &f, "QLESS", "put", "1", "me", "q", "a", "k", "{}", "0", "backoff",
		      "fixed", "1", "60");
	ASSERT_LACKS("backoff", "GET", "a");
}

static void invalid_terms_are_refused(void)
{
	ASSERT_REFUSED("-BADARG backoff must be fixed, linear or exponential; found \"none\"",
		       "PUT", "me", "q", "a", "k", "{}", "0", "backoff", "none", "1", "60");
	ASSERT_REFUSED("-BADARG The base of backoff must be a number from 0 to 1e+15; found \"-1\"",
		       "PUT", "me", "q", "a", "k", "{}", "0", "backoff", "fixed", "-1", "60");
	ASSERT_REFUSED("-BADARG The maximum of backoff must be a number from 0 to 1e+15; found "
		       "\"soon\"",
		       "PUT", "me", "q", "a", "k", "{}", "0", "backoff", "fixed", "1", "soon");
	ASSERT_REFUSED("-BADARG Option \"backoff\" must have 3 values; found 2", "PUT", "me", "q",
		       "a", "k", "{}", "0", "backoff", "fixed", "1");
	ASSERT_REFUSED("-BADARG Option \"BACKOFF\" is repeated", "PUT", "me", "q", "a", "k", "{}",
		       "0", "backoff", "fixed", "1", "2", "BACKOFF", "fixed", "1", "2");
	ASSERT_REFUSED("-BADARG Unknown option \"backof\"; did you mean \"backoff\"?", "PUT", "me",
		       "q", "a", "k", "{}", "0", "backof", "fixed", "1", "2");
	ASSERT_REFUSED("-BADARG Unknown option \"a\"", "MULTIPUT", "me", "q", "0", "backoff",
		       "fixed", "1", "jobs", "a", "k", "{}", "b");
	PUT("a", "backoff", "fixed", "1", "60");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_REFUSED("-BADARG Option \"backoff\" needs the option \"next\"", "COMPLETE", "a", "w",
		       "q", "{}", "backoff", "fixed", "1", "60");
}

static void retry_without_a_delay_backs_off(void)
{
	PUT("a", "backoff", "fixed", "100", "1000");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_NATIVE(":4\r\n", &f, "RETRY", "a", "q", "w");
	ASSERT_HAS("\"state\":\"scheduled\"", "GET", "a");
	f.now += 101;
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_NATIVE(":3\r\n", &f, "RETRY", "a", "q", "w", "0");
	ASSERT_HAS("\"state\":\"waiting\"", "GET", "a");
}

static void a_classic_retry_does_not_back_off(void)
{
	PUT("a", "backoff", "fixed", "100", "1000");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_BEGINS(":4", &f, "QLESS", "retry", "1001", "a", "q", "w");
	ASSERT_HAS("\"state\":\"waiting\"", "GET", "a");
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(all_puts_take_a_backoff);
	RUN_TEST(complete_takes_the_lock_after_a_backoff);
	RUN_TEST(classic_replies_do_not_show_terms);
	RUN_TEST(the_classic_form_does_not_know_terms);
	RUN_TEST(invalid_terms_are_refused);
	RUN_TEST(retry_without_a_delay_backs_off);
	RUN_TEST(a_classic_retry_does_not_back_off);
	return UNITY_END();
}
