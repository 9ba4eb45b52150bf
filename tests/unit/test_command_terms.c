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

static void retry_gives_a_reason_and_leaves_the_delay_to_the_backoff(void)
{
	PUT("a", "backoff", "fixed", "1000", "1000", "retries", "1");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_REFUSED("-BADARG ", "RETRY", "a", "q", "w", "backof", "busy", "wait");
	ASSERT_BEGINS(":0", &f, "RETRY", "a", "q", "w", "Backoff", "busy", "wait");
	ASSERT_HAS("\"state\":\"scheduled\"", "GET", "a");
	ASSERT_HAS("{\"message\":\"wait\",\"group\":\"busy\"", "GET", "a");
	f.now += 1000;
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_BEGINS("-ERR Retry(): Arg \"delay\" not a number: backoff", &f, "QLESS", "retry",
		      "2000", "a", "q", "w", "backoff");
}

static void a_classic_retry_does_not_back_off(void)
{
	PUT("a", "backoff", "fixed", "100", "1000");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_BEGINS(":4", &f, "QLESS", "retry", "1001", "a", "q", "w");
	ASSERT_HAS("\"state\":\"waiting\"", "GET", "a");
}

static void a_job_is_due_at_the_time_that_is_given(void)
{
	PUT("a", "at", "1060.5");
	ASSERT_HAS("\"state\":\"scheduled\"", "GET", "a");
	ASSERT_BEGINS("$", &f, "REQUEUE", "me", "q", "a", "k", "{}", "0", "at", "1070");
	f.now = 1069;
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "POP", "q", "w", "1");
	f.now = 1070;
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_BEGINS("$9\r\nscheduled", &f, "COMPLETE", "a", "w", "q", "{}", "next", "q", "at",
		      "1080");
	ASSERT_BEGINS("*1", &f, "MULTIPUT", "me", "q", "0", "AT", "1090", "jobs", "b", "k", "{}");
	ASSERT_HAS("\"state\":\"scheduled\"", "GET", "b");
}

static void a_time_excludes_a_delay(void)
{
	ASSERT_REFUSED("-BADARG delay must be 0 with the option \"at\"; found \"5\"", "PUT", "me",
		       "q", "a", "k", "{}", "5", "at", "1060");
	ASSERT_REFUSED("-BADARG delay must be 0 with the option \"at\"; found \"5\"", "MULTIPUT",
		       "me", "q", "5", "at", "1060", "jobs", "a", "k", "{}");
	ASSERT_REFUSED("-BADARG at must be a number from 0 to 1e+15; found \"soon\"", "PUT", "me",
		       "q", "a", "k", "{}", "0", "at", "soon");
	ASSERT_REFUSED("-BADARG at must be a number from 0 to 1e+15; found \"-1\"", "PUT", "me",
		       "q", "a", "k", "{}", "0", "at", "-1");
	ASSERT_REFUSED("-BADARG Unknown option \"at\"", "RECUR", "q", "r", "k", "{}", "interval",
		       "60", "0", "at", "1060");
	PUT("a", "priority", "1");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_REFUSED("-BADARG delay must be 0 with the option \"at\"; found \"5\"", "COMPLETE",
		       "a", "w", "q", "{}", "next", "q", "at", "1060", "delay", "5");
	ASSERT_REFUSED("-BADARG Option \"at\" needs the option \"next\"", "COMPLETE", "a", "w", "q",
		       "{}", "at", "1060");
}

static void a_put_for_a_free_jid_replies_null_if_the_job_exists(void)
{
	ASSERT_NATIVE("$1\r\na\r\n", &f, "PUT", "me", "q", "a", "k", "{}", "0", "nx");
	ASSERT_NATIVE("$-1\r\n", &f, "PUT", "me", "q", "a", "k", "[1]", "0", "NX", "priority", "5");
	ASSERT_HAS("\"data\":\"{}\"", "GET", "a");
	ASSERT_NATIVE("*3\r\n$-1\r\n$1\r\nb\r\n$-1\r\n", &f, "MULTIPUT", "me", "q", "0", "nx",
		      "jobs", "a", "k", "{}", "b", "k", "{}", "b", "k", "{}");
	ASSERT_REFUSED("-BADARG Unknown option \"nx\"", "REQUEUE", "me", "q", "a", "k", "{}", "0",
		       "nx");
	ASSERT_REFUSED("-BADARG Option \"nx\" is repeated", "PUT", "me", "q", "c", "k", "{}", "0",
		       "nx", "nx");
	ASSERT_REFUSED("-BADARG Unknown option \"1\"", "PUT", "me", "q", "c", "k", "{}", "0", "nx",
		       "1");
}

static void the_server_numbers_jobs(void)
{
	ASSERT_NATIVE("$1\r\n1\r\n", &f, "PUT", "me", "q", "+", "k", "{}", "0");
	ASSERT_NATIVE("$1\r\n2\r\n", &f, "PUT", "me", "q", "+", "k", "{}", "0", "priority", "1");
	ASSERT_REFUSED("-BADARG", "PUT", "me", "q", "+", "k", "{}", "soon");
	PUT("4", "nx");
	ASSERT_NATIVE("*3\r\n$1\r\n3\r\n$1\r\nx\r\n$1\r\n5\r\n", &f, "MULTIPUT", "me", "q", "0",
		      "jobs", "+", "k", "{}", "x", "k", "{}", "+", "k", "{}");
	ASSERT_NATIVE("$1\r\n6\r\n", &f, "RECUR", "q", "+", "k", "{}", "interval", "60", "0");
	ASSERT_NATIVE(":1\r\n", &f, "UNRECUR", "6");
	ASSERT_NATIVE("$1\r\n7\r\n", &f, "PUT", "me", "q", "+", "k", "{}", "0", "nx");
	ASSERT_NATIVE("$1\r\n+\r\n", &f, "QLESS", "put", "1", "me", "q", "+", "k", "{}", "0");
}

static void all_puts_take_a_runtime(void)
{
	PUT("a", "runtime", "20");
	ASSERT_HAS(",\"runtime\":20,", "GET", "a");
	ASSERT_HAS("\"expires\":1020,", "POP", "q", "w", "1");
	ASSERT_BEGINS("$7\r\nwaiting", &f, "COMPLETE", "a", "w", "q", "{}", "next", "q", "runtime",
		      "0");
	ASSERT_LACKS("runtime", "GET", "a");
	ASSERT_BEGINS("*1", &f, "MULTIPUT", "me", "q", "0", "runtime", "0.5", "jobs", "b", "k",
		      "{}");
	ASSERT_HAS(",\"runtime\":0.5,", "GET", "b");
	ASSERT_BEGINS("$", &f, "RECUR", "q", "r", "k", "{}", "interval", "60", "0", "runtime", "7");
	ASSERT_HAS(",\"runtime\":7}", "RECUR.GET", "r");
	ASSERT_HAS(",\"runtime\":7,", "POP", "q", "w", "5");
	ASSERT_LACKS("runtime", "QLESS", "get", "1", "b");
}

static void a_heartbeat_after_the_runtime_is_refused(void)
{
	PUT("a", "runtime", "20");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	f.now = 1019;
	ASSERT_NATIVE(":1020\r\n", &f, "HEARTBEAT", "a", "w");
	f.now = 1020;
	ASSERT_REFUSED(
		"-NOTRUNNING The run of job a is over: it took longer than its runtime of 20 "
		"seconds\r\n",
		"HEARTBEAT", "a", "w");
	ASSERT_REFUSED(
		"-ERR Heartbeat(): Job a not currently running: its runtime of 20 seconds is "
		"over\r\n",
		"QLESS", "heartbeat", "1020", "a", "w");
}

static void an_invalid_runtime_is_refused(void)
{
	ASSERT_REFUSED("-BADARG runtime must be 0 or a number from 0.001 to 1e+15; found \"-1\"",
		       "PUT", "me", "q", "a", "k", "{}", "0", "runtime", "-1");
	ASSERT_REFUSED(
		"-BADARG runtime must be 0 or a number from 0.001 to 1e+15; found \"0.0001\"",
		"PUT", "me", "q", "a", "k", "{}", "0", "runtime", "0.0001");
	ASSERT_REFUSED("-BADARG runtime must be 0 or a number from 0.001 to 1e+15; found \"ever\"",
		       "PUT", "me", "q", "a", "k", "{}", "0", "runtime", "ever");
	ASSERT_REFUSED("-BADARG Option \"runtime\" has no value", "PUT", "me", "q", "a", "k", "{}",
		       "0", "runtime");
	ASSERT_REFUSED("-BADARG The value of \"q-runtime\" must be 0 or from 0.001 to 1e+15; found "
		       "\"0.0001\"",
		       "CONFIG.SET", "q-runtime", "0.0001");
	ASSERT_REFUSED("-BADARG The value of \"q-runtime\" must be 0 or from 0.001 to 1e+15; found "
		       "\"long\"",
		       "CONFIG.SET", "q-runtime", "long");
	ASSERT_REFUSED("-BADARG The value of \"q-start-timeout\" must be 0 or from 0.001 to 1e+15; "
		       "found \"-1\"",
		       "CONFIG.SET", "q-start-timeout", "-1");
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-runtime", "1.5");
}

static void a_time_of_0_lets_jobs_of_a_queue_take_any_time(void)
{
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-runtime", "20");
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-runtime", "0");
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-start-timeout", "20");
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-start-timeout", "0");
	f.now = 1000;
	ASSERT_BEGINS("$1", &f, "PUT", "me", "q", "a", "k", "{}", "0");
	ASSERT_HAS("\"expires\":1060", "POP", "q", "w", "1");
	f.now = 1050;
	ASSERT_NATIVE(":1110\r\n", &f, "HEARTBEAT", "a", "w");
}

static void recur_update_changes_the_terms_of_later_jobs(void)
{
	ASSERT_BEGINS("$1", &f, "RECUR", "q", "r", "k", "{}", "interval", "60", "0");
	ASSERT_LACKS("backoff", "RECUR.GET", "r");
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "Backoff", "linear", "2", "60", "priority",
		      "4", "runtime", "30");
	ASSERT_HAS("\"priority\":4", "RECUR.GET", "r");
	ASSERT_HAS(BACKOFF("linear", "2", "60") ",\"runtime\":30", "RECUR.GET", "r");
	ASSERT_HAS(BACKOFF("linear", "2", "60") ",\"runtime\":30", "POP", "q", "w", "1");
	/* Each change leaves the other terms. */
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "runtime", "40");
	ASSERT_HAS(BACKOFF("linear", "2", "60") ",\"runtime\":40", "RECUR.GET", "r");
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "backoff", "fixed", "0", "0");
	ASSERT_LACKS("backoff", "RECUR.GET", "r");
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "runtime", "0");
	ASSERT_LACKS("runtime", "RECUR.GET", "r");
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "retain", "30");
	ASSERT_HAS(",\"retain\":30", "RECUR.GET", "r");
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "runtime", "5", "retain", "ack");
	ASSERT_HAS(",\"retain\":\"ack\"", "RECUR.GET", "r");
}

static void recur_update_changes_whether_data_is_raw(void)
{
	ASSERT_BEGINS("$1", &f, "RECUR", "q", "r", "k", "{}", "interval", "60", "0");
	ASSERT_REFUSED("-BADJSON ", "RECUR.UPDATE", "r", "data", "bytes");
	ASSERT_REFUSED("-BADARG raw must be \"yes\" or \"no\"; found \"1\"", "RECUR.UPDATE", "r",
		       "raw", "1");
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "data", "bytes", "raw", "yes");
	ASSERT_HAS(",\"raw\":true", "RECUR.GET", "r");
	ASSERT_HAS("\"data\":\"{\\\"base64\\\":\\\"Ynl0ZXM=\\\"}\"", "POP", "q", "w", "1");
	ASSERT_REFUSED("-BADJSON ", "RECUR.UPDATE", "r", "raw", "no");
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "raw", "No", "data", "{\"a\":1}");
	ASSERT_LACKS("\"raw\"", "RECUR.GET", "r");
	ASSERT_HAS("\"data\":\"{\\\"a\\\":1}\"", "RECUR.GET", "r");
}

static void recur_update_refuses_invalid_terms(void)
{
	ASSERT_BEGINS("$1", &f, "RECUR", "q", "r", "k", "{}", "interval", "60", "0");
	ASSERT_REFUSED("-BADARG runtime must be 0 or a number", "RECUR.UPDATE", "r", "priority",
		       "4", "runtime", "-1");
	ASSERT_REFUSED("-BADARG Option \"backoff\" must have 3 values; found 2", "RECUR.UPDATE",
		       "r", "backoff", "fixed", "1");
	ASSERT_REFUSED("-BADARG Option \"runtime\" is repeated", "RECUR.UPDATE", "r", "runtime",
		       "1", "runtime", "2");
	ASSERT_REFUSED("-BADARG Unknown option \"runtim\"; did you mean \"runtime\"?",
		       "RECUR.UPDATE", "r", "runtim", "1");
	ASSERT_REFUSED("-BADARG Option \"until\" needs the option \"unique\"", "RECUR.UPDATE", "r",
		       "until", "5");
	ASSERT_REFUSED("-ERR Recur(): Unrecognized option \"runtime\"", "QLESS", "recur.update",
		       "1", "r", "runtime", "1");
}

#define ACK ",\"retain\":\"ack\""

static void all_puts_say_how_long_a_job_is_retained(void)
{
	PUT("a", "retain", "3600");
	ASSERT_HAS(",\"retain\":3600", "GET", "a");
	ASSERT_BEGINS("$", &f, "REQUEUE", "me", "q", "a", "k", "{}", "0", "RETAIN", "Ack");
	ASSERT_HAS(ACK, "GET", "a");
	/* A put without the option leaves it alone. */
	PUT("a", "priority", "1");
	ASSERT_HAS(ACK, "GET", "a");
	ASSERT_BEGINS("*2", &f, "MULTIPUT", "me", "q", "0", "retain", "0.5", "jobs", "b", "k", "{}",
		      "c", "k", "{}");
	ASSERT_HAS(",\"retain\":0.5", "GET", "c");
	ASSERT_BEGINS("$", &f, "RECUR", "other", "r", "k", "{}", "interval", "60", "0", "retain",
		      "ack");
	ASSERT_HAS(ACK, "RECUR.GET", "r");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_BEGINS("$7\r\nwaiting", &f, "COMPLETE", "a", "w", "q", "{}", "next", "next",
		      "retain", "60");
	ASSERT_HAS(",\"retain\":60", "GET", "a");
	ASSERT_LACKS("retain", "QLESS", "get", "1", "a");
}

static void native_replies_show_when_a_retained_job_is_deleted(void)
{
	f.now = 1000;
	PUT("a", "retain", "60", "priority", "2");
	PUT("b", "retain", "ack", "priority", "1");
	PUT("c", "priority", "0");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_LACKS("retained_until", "GET", "a");
	ASSERT_BEGINS("$8\r\ncomplete", &f, "COMPLETE", "a", "w", "q", "{}");
	ASSERT_HAS(",\"retain\":60,\"retained_until\":1060", "GET", "a");
	ASSERT_LACKS("retain", "QLESS", "get", "1", "a");
	ASSERT_HAS("\"jid\":\"b\"", "POP", "q", "w", "1");
	ASSERT_BEGINS("$8\r\ncomplete", &f, "COMPLETE", "b", "w", "q", "{}");
	ASSERT_HAS(ACK, "GET", "b");
	ASSERT_LACKS("retained_until", "GET", "b");
	/* A complete job shows the time that its queue set. */
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-retain", "30");
	ASSERT_HAS("\"jid\":\"c\"", "POP", "q", "w", "1");
	ASSERT_LACKS("retain", "GET", "c");
	ASSERT_BEGINS("$8\r\ncomplete", &f, "COMPLETE", "c", "w", "q", "{}");
	ASSERT_HAS(",\"retain\":30,\"retained_until\":1030", "GET", "c");
	ASSERT_NATIVE(":3\r\n", &f, "JOB.DELETE", "a", "b", "c");
}

static void results_of_retained_jobs_last_as_long_as_they_do(void)
{
	PUT("a", "retain", "ack");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_BEGINS("$8\r\ncomplete", &f, "COMPLETE", "a", "w", "q", "{}", "result", "42");
	NATIVE(&f, "QLESS", "config.set", "1", "jobs-history", "0");
	f.now = 1e9;
	PUT("b", "priority", "0");
	ASSERT_HAS("\"jid\":\"b\"", "POP", "q", "w", "1");
	ASSERT_BEGINS("$8\r\ncomplete", &f, "COMPLETE", "b", "w", "q", "{}");
	ASSERT_HAS("complete\r\n$6\r\nresult\r\n$2\r\n42\r\n", "JOB.RESULT", "a");
	ASSERT_NATIVE(":1\r\n", &f, "JOB.DELETE", "a");
	ASSERT_BEGINS("$-1", &f, "GET", "a");
}

static void an_invalid_time_to_retain_is_refused(void)
{
	ASSERT_REFUSED("-BADARG retain must be ack or a number from 0 to 1e+15; found \"-1\"",
		       "PUT", "me", "q", "a", "k", "{}", "0", "retain", "-1");
	ASSERT_REFUSED("-BADARG retain must be ack or a number from 0 to 1e+15; found \"ever\"",
		       "PUT", "me", "q", "a", "k", "{}", "0", "retain", "ever");
	ASSERT_REFUSED("-BADARG retain must be ack or a number from 0 to 1e+15; found \"inf\"",
		       "PUT", "me", "q", "a", "k", "{}", "0", "retain", "inf");
	ASSERT_REFUSED("-BADARG Option \"retain\" has no value", "PUT", "me", "q", "a", "k", "{}",
		       "0", "retain");
	PUT("a", "retain", "1");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_REFUSED("-BADARG Option \"retain\" needs the option \"next\"", "COMPLETE", "a", "w",
		       "q", "{}", "retain", "60");
	ASSERT_REFUSED(
		"-BADARG The value of \"q-retain\" must be ack or from 0 to 1e+15; found \"-1\"",
		"CONFIG.SET", "q-retain", "-1");
	ASSERT_REFUSED(
		"-BADARG The value of \"q-retain\" must be ack or from 0 to 1e+15; found \"long\"",
		"CONFIG.SET", "q-retain", "long");
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-retain", "ack");
	ASSERT_NATIVE("$3\r\nack\r\n", &f, "CONFIG.GET", "q-retain");
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-retain", "0");
}

/* How JSON replies show the data of a raw job. */
#define RAW(base64) "\"data\":\"{\\\"base64\\\":\\\"" base64 "\\\"}\""

static void raw_data_is_shown_in_base64(void)
{
	ASSERT_BEGINS("$1", &f, "PUT", "me", "q", "a", "k", "any [bytes", "0", "tags", "[]", "RAW");
	ASSERT_HAS(RAW("YW55IFtieXRlcw=="), "GET", "a");
	ASSERT_HAS(",\"raw\":true", "GET", "a");
	ASSERT_HAS(RAW("YW55IFtieXRlcw=="), "QLESS", "get", "1", "a");
	ASSERT_LACKS("\"raw\"", "QLESS", "get", "1", "a");
	ASSERT_NATIVE("$29\r\n{\"base64\":\"YW55IFtieXRlcw==\"}\r\n", &f, "HGET", "ql:j:a", "data");
	ASSERT_BEGINS("*2", &f, "MULTIPUT", "me", "q", "0", "raw", "jobs", "b", "k", "false", "c",
		      "k", "");
	ASSERT_HAS(RAW("ZmFsc2U="), "GET", "b");
	ASSERT_HAS(RAW(""), "GET", "c");
	ASSERT_BEGINS("$1", &f, "RECUR", "q", "r", "k", "{", "interval", "60", "0", "raw");
	ASSERT_HAS(RAW("ew=="), "RECUR.GET", "r");
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "data", "}");
	ASSERT_HAS(RAW("fQ=="), "RECUR.GET", "r");
	ASSERT_HAS(RAW("fQ=="), "POP", "q", "w", "5");
}

static void workers_return_raw_data_to_raw_jobs(void)
{
	ASSERT_BEGINS("$1", &f, "PUT", "me", "q", "a", "k", "one", "0", "raw");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_BEGINS(":", &f, "HEARTBEAT", "a", "w", "two");
	ASSERT_HAS(RAW("dHdv"), "GET", "a");
	ASSERT_BEGINS("$7", &f, "COMPLETE", "a", "w", "q", "three", "next", "q");
	ASSERT_HAS(RAW("dGhyZWU="), "GET", "a");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_BEGINS("$1", &f, "FAIL", "a", "w", "g", "m", "four");
	ASSERT_HAS(RAW("Zm91cg=="), "GET", "a");
	ASSERT_BEGINS("$1", &f, "REQUEUE", "me", "q", "a", "k", "five", "0", "raw");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_BEGINS("*1\r\n$8\r\ncomplete", &f, "MULTICOMPLETE", "w", "q", "a", "six");
	ASSERT_HAS(RAW("c2l4"), "GET", "a");
}

static void classic_workers_return_raw_data_as_they_read_it(void)
{
	ASSERT_BEGINS("$1", &f, "PUT", "me", "q", "a", "k", "one", "0", "raw");
	ASSERT_BEGINS("$", &f, "QLESS", "pop", "1000", "q", "w", "1");
	ASSERT_BEGINS(":", &f, "QLESS", "heartbeat", "1001", "a", "w", "{ \"base64\": \"b25l\" }");
	ASSERT_HAS(RAW("b25l"), "GET", "a");
	ASSERT_BEGINS("$7", &f, "QLESS", "complete", "1002", "a", "w", "q", "{\"base64\":\"dHdv\"}",
		      "next", "q");
	ASSERT_HAS(RAW("dHdv"), "GET", "a");
	ASSERT_BEGINS("$", &f, "QLESS", "pop", "1003", "q", "w", "1");
	/* Other JSON is taken as it is. */
	ASSERT_BEGINS("$", &f, "QLESS", "complete", "1004", "a", "w", "q", "{\"base64\":7}");
	ASSERT_HAS(RAW("eyJiYXNlNjQiOjd9"), "GET", "a");
}

static void complete_makes_the_data_for_the_next_queue_raw(void)
{
	PUT("a", "priority", "1");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_REFUSED("-BADJSON ", "COMPLETE", "a", "w", "q", "one", "next", "other");
	ASSERT_REFUSED("-BADARG Option \"raw\" needs the option \"next\"", "COMPLETE", "a", "w",
		       "q", "one", "raw");
	ASSERT_BEGINS("$7\r\nwaiting", &f, "COMPLETE", "a", "w", "q", "one", "next", "other",
		      "raw");
	ASSERT_HAS("\"data\":\"{\\\"base64\\\":\\\"b25l\\\"}\"", "GET", "a");
	ASSERT_HAS(",\"raw\":true", "POP", "other", "w", "1");
	ASSERT_BEGINS("$7\r\nwaiting", &f, "COMPLETE", "a", "w", "other", "false", "next", "other",
		      "raw");
	ASSERT_HAS(",\"raw\":true", "POP", "other", "w", "1");
	/* It stays raw, also if the data is JSON. */
	ASSERT_BEGINS("$7\r\nwaiting", &f, "COMPLETE", "a", "w", "other", "{}", "next", "q");
	ASSERT_HAS(",\"raw\":true", "POP", "q", "w", "1");
	/* The data of a job may become bytes as it is. */
	PUT("b", "priority", "1");
	ASSERT_HAS("\"jid\":\"b\"", "POP", "q", "w", "1");
	ASSERT_BEGINS("$7\r\nwaiting", &f, "COMPLETE", "b", "w", "q", "raw", "next", "other");
	ASSERT_HAS("\"data\":\"{\\\"base64\\\":\\\"e30=\\\"}\"", "GET", "b");
}

static void a_job_that_gets_the_data_of_a_raw_job_is_raw(void)
{
	PUT("holder", "unique", "u");
	ASSERT_BEGINS("$1", &f, "PUT", "me", "p", "a", "k", "one", "0", "raw");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "p", "w", "1");
	ASSERT_BEGINS("$8\r\ncomplete", &f, "COMPLETE", "a", "w", "p", "two", "next", "q", "unique",
		      "u", "replace");
	ASSERT_HAS("\"data\":\"{\\\"base64\\\":\\\"dHdv\\\"}\"", "GET", "holder");
}

static void raw_jobs_that_clients_move_keep_their_bytes(void)
{
	ASSERT_BEGINS("$1", &f, "PUT", "me", "q", "a", "k", "one", "0", "raw");
	ASSERT_BEGINS("$1", &f, "REQUEUE", "me", "r", "a", "k", "{\"base64\":\"b25l\"}", "0");
	ASSERT_HAS(RAW("b25l") ",", "GET", "a");
	ASSERT_HAS(",\"raw\":true", "GET", "a");
	ASSERT_BEGINS("$1", &f, "QLESS", "put", "1", "me", "q", "a", "k", "{\"base64\": \"dHdv\"}",
		      "0", "priority", "3");
	ASSERT_HAS(RAW("dHdv") ",", "GET", "a");
	ASSERT_HAS(",\"raw\":true", "GET", "a");
	ASSERT_BEGINS("$1", &f, "QLESS", "requeue", "1", "me", "q", "a", "k",
		      "{\"base64\":\"b25l\"}", "0");
	ASSERT_HAS(",\"raw\":true", "GET", "a");
	/* A native put states the data anew, and other JSON is data as it is. */
	ASSERT_BEGINS("$1", &f, "QLESS", "requeue", "1", "me", "q", "a", "k", "{\"base64\":7}",
		      "0");
	ASSERT_LACKS("\"raw\"", "GET", "a");
	ASSERT_BEGINS("$1", &f, "PUT", "me", "q", "b", "k", "one", "0", "raw");
	ASSERT_BEGINS("$1", &f, "PUT", "me", "q", "b", "k", "{\"base64\":\"b25l\"}", "0");
	ASSERT_LACKS("\"raw\"", "GET", "b");
}

static void raw_data_can_be_unique(void)
{
	ASSERT_NATIVE("$1\r\na\r\n", &f, "PUT", "me", "q", "a", "k", "[one", "0", "raw", "unique",
		      "args");
	ASSERT_NATIVE("$1\r\na\r\n", &f, "PUT", "me", "q", "b", "k", "[one", "0", "unique", "args",
		      "raw");
	ASSERT_NATIVE("$1\r\nb\r\n", &f, "PUT", "me", "q", "b", "k", "[two", "0", "unique", "args",
		      "raw");
	ASSERT_NATIVE("$1\r\nc\r\n", &f, "PUT", "me", "q", "c", "k", "three", "0", "raw", "unique",
		      "key");
	/* The data that replaces the other may be JSON. */
	ASSERT_NATIVE("$1\r\nc\r\n", &f, "PUT", "me", "q", "d", "k", "[4]", "0", "unique", "key",
		      "replace");
	ASSERT_HAS("\"data\":\"[4]\"", "GET", "c");
	ASSERT_NATIVE("$1\r\nc\r\n", &f, "PUT", "me", "q", "d", "k", "five", "0", "unique", "key",
		      "replace", "raw");
	ASSERT_HAS(RAW("Zml2ZQ=="), "GET", "c");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "5");
	ASSERT_BEGINS("$7\r\nwaiting", &f, "COMPLETE", "a", "w", "q", "{six", "next", "q", "unique",
		      "args");
	ASSERT_NATIVE("$1\r\na\r\n", &f, "PUT", "me", "q", "e", "k", "{six", "0", "unique", "args",
		      "raw");
}

static void data_that_is_not_json_needs_the_option_raw(void)
{
	ASSERT_REFUSED("-BADJSON", "PUT", "me", "q", "a", "k", "one", "0");
	ASSERT_REFUSED("-BADJSON", "PUT", "me", "q", "a", "k", "one", "0", "tags", "raw");
	ASSERT_REFUSED("-BADJSON", "MULTIPUT", "me", "q", "0", "jobs", "a", "k", "one");
	ASSERT_REFUSED("-BADJSON", "RECUR", "q", "r", "k", "one", "interval", "60", "0");
	PUT("a", "priority", "1");
	ASSERT_HAS("\"jid\":\"a\"", "POP", "q", "w", "1");
	ASSERT_REFUSED("-BADJSON", "HEARTBEAT", "a", "w", "one");
	ASSERT_REFUSED("-BADJSON", "COMPLETE", "a", "w", "q", "one");
	ASSERT_REFUSED("-BADJSON", "FAIL", "a", "w", "g", "m", "one");
	ASSERT_REFUSED("-BADJSON", "COMPLETE", "a", "w", "q", "one", "next", "q", "result", "raw");
	ASSERT_REFUSED("-ERR ", "QLESS", "put", "1", "me", "q", "b", "k", "one", "0", "raw", "1");
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
	RUN_TEST(retry_gives_a_reason_and_leaves_the_delay_to_the_backoff);
	RUN_TEST(a_classic_retry_does_not_back_off);
	RUN_TEST(a_job_is_due_at_the_time_that_is_given);
	RUN_TEST(a_time_excludes_a_delay);
	RUN_TEST(a_put_for_a_free_jid_replies_null_if_the_job_exists);
	RUN_TEST(the_server_numbers_jobs);
	RUN_TEST(all_puts_take_a_runtime);
	RUN_TEST(a_heartbeat_after_the_runtime_is_refused);
	RUN_TEST(an_invalid_runtime_is_refused);
	RUN_TEST(a_time_of_0_lets_jobs_of_a_queue_take_any_time);
	RUN_TEST(recur_update_changes_the_terms_of_later_jobs);
	RUN_TEST(recur_update_changes_whether_data_is_raw);
	RUN_TEST(recur_update_refuses_invalid_terms);
	RUN_TEST(all_puts_say_how_long_a_job_is_retained);
	RUN_TEST(native_replies_show_when_a_retained_job_is_deleted);
	RUN_TEST(results_of_retained_jobs_last_as_long_as_they_do);
	RUN_TEST(an_invalid_time_to_retain_is_refused);
	RUN_TEST(raw_data_is_shown_in_base64);
	RUN_TEST(workers_return_raw_data_to_raw_jobs);
	RUN_TEST(classic_workers_return_raw_data_as_they_read_it);
	RUN_TEST(complete_makes_the_data_for_the_next_queue_raw);
	RUN_TEST(a_job_that_gets_the_data_of_a_raw_job_is_raw);
	RUN_TEST(raw_jobs_that_clients_move_keep_their_bytes);
	RUN_TEST(raw_data_can_be_unique);
	RUN_TEST(data_that_is_not_json_needs_the_option_raw);
	return UNITY_END();
}
