/*
 * RECUR, RECUR.UPDATE, RECUR.GET and RECUR.NEXT with a cron expression.
 */
#include "native.h"

static struct native_fixture f;

/* Knows one zone. */
static bool find_zone(void *arg, struct qless_str name, double now, struct buf *ret_rule,
		      struct buf *ret_error)
{
	(void)arg;
	TEST_ASSERT_TRUE(now >= 1000);
	if (!str_equal(name, STR("Europe/Berlin"))) {
		buf_append_str(ret_error, STR("it is unknown"));
		return false;
	}
	return buf_append_str(ret_rule, STR("CET-1CEST,M3.5.0,M10.5.0/3"));
}

void setUp(void)
{
	native_setup(&f);
	f.call.env.find_zone = find_zone;
	f.now = 1795132830; /* 2026-11-20 00:00:30 UTC */
}

void tearDown(void)
{
	native_teardown(&f);
}

#define RECUR(...) "recur", "q", "r", "k", "{}", __VA_ARGS__

/* Expect a refusal that begins so, and an unchanged state. */
#define ASSERT_REFUSED(expected, ...)                                                 \
	do {                                                                          \
		uint64_t changes_ = qless_changes(native_engine(&f));                 \
                                                                                      \
		ASSERT_BEGINS("-" expected, &f, __VA_ARGS__);                         \
		TEST_ASSERT_EQUAL_UINT64(changes_, qless_changes(native_engine(&f))); \
	} while (0)

#define ASSERT_HAS(expected, ...)     TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, __VA_ARGS__), expected))
#define ASSERT_LACKS(unexpected, ...) TEST_ASSERT_NULL(strstr(NATIVE(&f, __VA_ARGS__), unexpected))

static void a_cron_expression_stands_for_interval_and_offset(void)
{
	ASSERT_NATIVE("$1\r\nr\r\n", &f, RECUR("cron", "0 6 * * *"));
	ASSERT_HAS(",\"cron\":\"0 6 * * *\",\"tz\":\"UTC\",\"rule\":\"UTC0\",\"missed\":\"one\","
		   "\"overlap\":\"allow\"}",
		   "recur.get", "r");
	ASSERT_NATIVE("$1\r\nr\r\n", &f,
		      RECUR("CRON", "@daily", "TZ", "Europe/Berlin", "Missed", "ALL", "overlap",
			    "Skip", "priority", "3", "tags", "[\"t\"]", "retries", "2"));
	ASSERT_HAS(",\"cron\":\"@daily\",\"tz\":\"Europe\\/Berlin\",\"rule\":"
		   "\"CET-1CEST,M3.5.0,M10.5.0\\/3\",\"missed\":\"all\",\"overlap\":\"skip\"}",
		   "recur.get", "r");
	ASSERT_HAS("\"retries\":2", "recur.get", "r");
	ASSERT_HAS("{\"tags\":[\"t\"],", "recur.get", "r");
	ASSERT_NATIVE("$32\r\n00000000000000000000000000000001\r\n", &f, "recur", "q", "*", "k",
		      "{}", "cron", "@hourly");
}

static void next_shows_the_times_of_both_kinds(void)
{
	NATIVE(&f, RECUR("cron", "0 6 * * *", "tz", "Europe/Berlin"));
	ASSERT_NATIVE("$34\r\n[1795150800,1795237200,1795323600]\r\n", &f, "recur.next", "r", "3");
	ASSERT_NATIVE("$56\r\n[1795150800,1795237200,1795323600,1795410000,1795496400]\r\n", &f,
		      "recur.next", "r");
	NATIVE(&f, RECUR("interval", "60", "10"));
	ASSERT_NATIVE("$23\r\n[1795132840,1795132900]\r\n", &f, "recur.next", "r", "2");
	ASSERT_NATIVE("$-1\r\n", &f, "recur.next", "none");
	ASSERT_REFUSED("BADARG count must be a whole number from 1 to 1000; found \"0\"",
		       "recur.next", "r", "0");
	ASSERT_REFUSED("BADARG count must be a whole number from 1 to 1000; found \"1001\"",
		       "recur.next", "r", "1001");
	ASSERT_REFUSED("BADARG count must be a whole number from 1 to 1000; found \"1.5\"",
		       "recur.next", "r", "1.5");
	ASSERT_REFUSED("ERR wrong number of arguments", "recur.next");
}

static void wrong_arguments_are_refused_by_name(void)
{
	ASSERT_REFUSED("BADARG The minute of cron must be from 0 to 59; found \"61\"",
		       RECUR("cron", "61 * * * *"));
	ASSERT_REFUSED("BADARG cron must match a day of some year; found \"0 0 30 2 *\"",
		       RECUR("cron", "0 0 30 2 *"));
	ASSERT_REFUSED("BADARG tz must be the name of a time zone such as Europe/Berlin; found "
		       "\"../etc/passwd\"",
		       RECUR("cron", "@daily", "tz", "../etc/passwd"));
	ASSERT_REFUSED("BADARG tz must be", RECUR("cron", "@daily", "tz", "/UTC"));
	ASSERT_REFUSED("BADARG tz must be", RECUR("cron", "@daily", "tz", "a//b"));
	ASSERT_REFUSED("BADARG tz must be", RECUR("cron", "@daily", "tz", ""));
	ASSERT_REFUSED("BADARG tz cannot be \"Mars/Base\": it is unknown",
		       RECUR("cron", "@daily", "tz", "Mars/Base"));
	ASSERT_REFUSED("BADARG missed must be \"skip\", \"one\" or \"all\"; found \"none\"",
		       RECUR("cron", "@daily", "missed", "none"));
	ASSERT_REFUSED("BADARG overlap must be \"allow\" or \"skip\"; found \"forbid\"",
		       RECUR("cron", "@daily", "overlap", "forbid"));
	ASSERT_REFUSED("BADARG Option \"TZ\" is repeated",
		       RECUR("cron", "@daily", "tz", "UTC", "TZ", "UTC"));
	ASSERT_REFUSED("BADARG Option \"missed\" has no value", RECUR("cron", "@daily", "missed"));
	ASSERT_REFUSED("BADARG Unknown option \"mised\"; did you mean \"missed\"?",
		       RECUR("cron", "@daily", "mised", "one"));
	ASSERT_REFUSED("BADARG Option \"backlog\" needs an interval",
		       RECUR("cron", "@daily", "backlog", "3"));
	ASSERT_REFUSED("BADARG Option \"overlap\" needs a cron expression",
		       RECUR("interval", "60", "0", "overlap", "skip"));
	ASSERT_REFUSED("BADARG The fifth argument must be \"interval\" or \"cron\"; found \"at\"",
		       RECUR("at", "60", "0"));
	ASSERT_REFUSED("BADARG offset is missing", RECUR("interval", "60"));
	ASSERT_REFUSED("ERR wrong number of arguments", RECUR("cron"));
	ASSERT_REFUSED("BADARG queue must not be empty", "recur", "", "r", "k", "{}", "cron",
		       "@daily");
	f.call.env.find_zone = NULL;
	ASSERT_REFUSED("BADARG There are no time zones here",
		       RECUR("cron", "@daily", "tz", "Europe/Berlin"));
	ASSERT_NATIVE("$-1\r\n", &f, "recur.get", "r");
}

static void updates_change_the_schedule(void)
{
	NATIVE(&f, RECUR("cron", "0 6 * * *"));
	ASSERT_NATIVE(":1\r\n", &f, "recur.update", "r", "tz", "Europe/Berlin", "missed", "skip");
	ASSERT_HAS(",\"cron\":\"0 6 * * *\",\"tz\":\"Europe\\/Berlin\",\"rule\":"
		   "\"CET-1CEST,M3.5.0,M10.5.0\\/3\",\"missed\":\"skip\",\"overlap\":\"allow\"}",
		   "recur.get", "r");
	ASSERT_NATIVE("$12\r\n[1795150800]\r\n", &f, "recur.next", "r", "1");
	ASSERT_NATIVE(":1\r\n", &f, "recur.update", "r", "cron", "0 7 * * *", "queue", "other");
	ASSERT_NATIVE("$12\r\n[1795154400]\r\n", &f, "recur.next", "r", "1");
	ASSERT_REFUSED("BADARG The hour of cron must be", "recur.update", "r", "priority", "9",
		       "cron", "0 24 * * *");
	ASSERT_REFUSED("BADARG tz cannot be \"Mars\"", "recur.update", "r", "tz", "Mars");
	ASSERT_REFUSED("BADARG Option \"cron\" is repeated", "recur.update", "r", "cron", "@daily",
		       "cron", "@daily");
	ASSERT_REFUSED("BADARG Unknown option \"rule\"", "recur.update", "r", "rule", "UTC0");
	ASSERT_REFUSED("BADARG backlog needs an interval", "recur.update", "r", "backlog", "3");
	ASSERT_REFUSED("BADARG A recurring job has an interval or a cron expression, not both",
		       "recur.update", "r", "interval", "60", "cron", "@daily");
	ASSERT_NATIVE(":1\r\n", &f, "recur.update", "r", "interval", "60", "backlog", "3");
	ASSERT_LACKS("cron", "recur.get", "r");
	ASSERT_REFUSED("BADARG tz, missed and overlap need a cron expression", "recur.update", "r",
		       "overlap", "skip");
	ASSERT_NATIVE(":1\r\n", &f, "recur.update", "r", "cron", "@daily", "overlap", "skip");
	ASSERT_HAS("\"tz\":\"UTC\",\"rule\":\"UTC0\",\"missed\":\"one\",\"overlap\":\"skip\"}",
		   "recur.get", "r");
}

static void classic_calls_are_as_they_were(void)
{
	ASSERT_BEGINS("-ERR Recur(): schedule type \"cron\" unknown", &f, "qless", "recur", "1",
		      "q", "r", "k", "{}", "cron", "@daily", "0");
	NATIVE(&f, RECUR("interval", "60", "0"));
	ASSERT_BEGINS("-ERR Recur(): Unrecognized option \"cron\"", &f, "qless", "recur.update",
		      "1", "r", "cron", "@daily");
	ASSERT_LACKS("cron", "recur.get", "r");
	NATIVE(&f, RECUR("cron", "@daily"));
	ASSERT_NATIVE("$133\r\n{\"tags\":[],\"jid\":\"r\",\"retries\":0,\"data\":\"{}\",\"queue\":"
		      "\"q\",\"state\":\"recur\",\"count\":0,\"interval\":0,\"klass\":\"k\","
		      "\"backlog\":0,\"priority\":0}\r\n",
		      &f, "qless", "recur.get", "1795132830", "r");
	/* It gets an interval from then on. */
	ASSERT_NATIVE(":1\r\n", &f, "qless", "recur.update", "1795132900", "r", "interval", "60");
	ASSERT_NATIVE("$12\r\n[1795132960]\r\n", &f, "recur.next", "r", "1");
}

static void the_hash_has_the_fields_of_the_schedule(void)
{
	NATIVE(&f, RECUR("interval", "60", "0"));
	ASSERT_NATIVE("$8\r\ninterval\r\n", &f, "hget", "ql:r:r", "type");
	ASSERT_NATIVE("$-1\r\n", &f, "hget", "ql:r:r", "cron");
	ASSERT_NATIVE(":12\r\n", &f, "hlen", "ql:r:r");
	NATIVE(&f, RECUR("cron", "@daily", "tz", "Europe/Berlin", "overlap", "skip"));
	ASSERT_NATIVE("$4\r\ncron\r\n", &f, "hget", "ql:r:r", "type");
	ASSERT_NATIVE("*5\r\n$6\r\n@daily\r\n$13\r\nEurope/Berlin\r\n"
		      "$26\r\nCET-1CEST,M3.5.0,M10.5.0/3\r\n$3\r\none\r\n$4\r\nskip\r\n",
		      &f, "hmget", "ql:r:r", "cron", "tz", "rule", "missed", "overlap");
	ASSERT_NATIVE(":17\r\n", &f, "hlen", "ql:r:r");
}

static void a_peek_makes_the_job_of_a_tick(void)
{
	NATIVE(&f, RECUR("cron", "@hourly"));
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "peek", "q", "5");
	f.now += 3600;
	ASSERT_HAS("\"jid\":\"r-1\"", "peek", "q", "5");
	ASSERT_HAS("\"jid\":\"r-1\"", "pop", "q", "w", "5");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_cron_expression_stands_for_interval_and_offset);
	RUN(next_shows_the_times_of_both_kinds);
	RUN(wrong_arguments_are_refused_by_name);
	RUN(updates_change_the_schedule);
	RUN(classic_calls_are_as_they_were);
	RUN(the_hash_has_the_fields_of_the_schedule);
	RUN(a_peek_makes_the_job_of_a_tick);
	return UNIT_RESULT();
}
