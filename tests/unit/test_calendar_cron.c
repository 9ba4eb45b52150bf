#include "calendar/cron.h"

#include <stdio.h>

#include "calendar/civil.h"
#include "unit.h"

#define HOUR 3600

#define BERLIN	  "CET-1CEST,M3.5.0,M10.5.0/3"
#define NEW_YORK  "EST5EDT,M3.2.0,M11.1.0"
#define LORD_HOWE "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"
#define DUBLIN	  "IST-1GMT0,M10.5.0,M3.5.0/1"
#define KOLKATA	  "IST-5:30"
#define CAIRO	  "EET-2EEST,M4.5.5/0,M10.5.4/24"

static struct buf error;

void setUp(void)
{
	buf_init(&error, 4096);
}

void tearDown(void)
{
	buf_done(&error);
}

static int64_t utc(int year, int month, int day, int hour, int minute, int second)
{
	return ((civil_first_day(year, month) + day - 1) * 24 + hour) * HOUR + minute * 60 + second;
}

static struct zone zone_of(const char *rule)
{
	struct zone zone = { 0 };

	TEST_ASSERT_TRUE(zone_parse(str_from(rule), &zone, NULL));
	return zone;
}

static struct cron parse(const char *text)
{
	struct cron cron = { 0 };
	char message[512];

	buf_clear(&error);
	if (!cron_parse(str_from(text), &cron, &error)) {
		snprintf(message, sizeof message, "%s: %s", text, buf_cstr(&error));
		TEST_FAIL_MESSAGE(message);
	}
	TEST_ASSERT_EQUAL_size_t(0, error.len);
	return cron;
}

/* The time on the clocks of the zone, and how far they are ahead of UTC: "2026-03-29 03:00:00 +2".
 */
static void format_tick(const struct zone *zone, int64_t tick, char *to, size_t size)
{
	int32_t offset = zone_span_at(zone, tick).offset;
	int64_t local = tick + offset;
	int64_t day =
		(local - (local % CIVIL_DAY_SECONDS + CIVIL_DAY_SECONDS) % CIVIL_DAY_SECONDS) /
		CIVIL_DAY_SECONDS;
	struct civil_date date = civil_date_of(day);
	int seconds = (int)(local - day * CIVIL_DAY_SECONDS);

	snprintf(to, size, "%04d-%02d-%02d %02d:%02d:%02d %+g", date.year, date.month, date.day,
		 seconds / HOUR, seconds / 60 % 60, seconds % 60, offset / 3600.0);
}

/* Assert the ticks after an instant, one a line. */
static void assert_ticks(const char *text, const char *rule, int64_t after, const char *expected)
{
	struct cron cron = parse(text);
	struct zone zone = zone_of(rule);
	struct buf found = BUF_INIT(4096);
	size_t lines = 1;

	for (const char *at = expected; *at != '\0'; at++)
		lines += *at == '\n';
	for (size_t i = 0; i < lines; i++) {
		int64_t tick;
		char line[64];

		TEST_ASSERT_TRUE(cron_next(&cron, &zone, after, &tick));
		TEST_ASSERT_TRUE(tick > after);
		format_tick(&zone, tick, line, sizeof line);
		buf_printf(&found, i == 0 ? "%s" : "\n%s", line);
		after = tick;
	}
	TEST_ASSERT_EQUAL_STRING_MESSAGE(expected, buf_cstr(&found), text);
	buf_done(&found);
}

/* ---- expressions ---- */

static void fields_are_values_ranges_steps_and_names(void)
{
	int64_t after = utc(2026, 11, 20, 10, 0, 0); /* a Friday */

	assert_ticks("* * * * *", "UTC0", after, "2026-11-20 10:01:00 +0\n2026-11-20 10:02:00 +0");
	assert_ticks("30 2 * * *", "UTC0", after, "2026-11-21 02:30:00 +0\n2026-11-22 02:30:00 +0");
	assert_ticks("0 9-11,20 * * *", "UTC0", after,
		     "2026-11-20 11:00:00 +0\n2026-11-20 20:00:00 +0\n2026-11-21 09:00:00 +0");
	assert_ticks("*/25 10 * * *", "UTC0", after,
		     "2026-11-20 10:25:00 +0\n2026-11-20 10:50:00 +0\n2026-11-21 10:00:00 +0");
	assert_ticks("5/20 10 * * *", "UTC0", after,
		     "2026-11-20 10:05:00 +0\n2026-11-20 10:25:00 +0\n2026-11-20 10:45:00 +0\n"
		     "2026-11-21 10:05:00 +0");
	assert_ticks("0 0 * * MON-Fri", "UTC0", after,
		     "2026-11-23 00:00:00 +0\n2026-11-24 00:00:00 +0");
	assert_ticks("0 0 * * sat-sun", "UTC0", after,
		     "2026-11-21 00:00:00 +0\n2026-11-22 00:00:00 +0\n2026-11-28 00:00:00 +0");
	assert_ticks("0 0 * * 7", "UTC0", after, "2026-11-22 00:00:00 +0\n2026-11-29 00:00:00 +0");
	assert_ticks("0 0 * * 5-7", "UTC0", after,
		     "2026-11-21 00:00:00 +0\n2026-11-22 00:00:00 +0\n2026-11-27 00:00:00 +0");
	assert_ticks("0 0 1 jan,Jul *", "UTC0", after,
		     "2027-01-01 00:00:00 +0\n2027-07-01 00:00:00 +0");
	assert_ticks(" \t0  12\t1 */6 * ", "UTC0", after,
		     "2027-01-01 12:00:00 +0\n2027-07-01 12:00:00 +0");
	assert_ticks("05 08 09 01 *", "UTC0", after, "2027-01-09 08:05:00 +0");
}

static void a_sixth_field_in_front_is_the_second(void)
{
	int64_t after = utc(2026, 12, 31, 23, 59, 58);

	assert_ticks("* * * * * *", "UTC0", after,
		     "2026-12-31 23:59:59 +0\n2027-01-01 00:00:00 +0\n2027-01-01 00:00:01 +0");
	assert_ticks("15,45 59 23 31 12 *", "UTC0", after,
		     "2027-12-31 23:59:15 +0\n2027-12-31 23:59:45 +0\n2028-12-31 23:59:15 +0");
	assert_ticks("*/20 30 * * * *", "UTC0", after,
		     "2027-01-01 00:30:00 +0\n2027-01-01 00:30:20 +0\n2027-01-01 00:30:40 +0\n"
		     "2027-01-01 01:30:00 +0");
}

static void shortcuts_stand_for_expressions(void)
{
	int64_t after = utc(2026, 11, 20, 10, 30, 0);

	assert_ticks("@hourly", "UTC0", after, "2026-11-20 11:00:00 +0\n2026-11-20 12:00:00 +0");
	assert_ticks("@daily", "UTC0", after, "2026-11-21 00:00:00 +0\n2026-11-22 00:00:00 +0");
	assert_ticks("@Midnight", "UTC0", after, "2026-11-21 00:00:00 +0");
	assert_ticks("@weekly", "UTC0", after, "2026-11-22 00:00:00 +0\n2026-11-29 00:00:00 +0");
	assert_ticks("@monthly", "UTC0", after, "2026-12-01 00:00:00 +0\n2027-01-01 00:00:00 +0");
	assert_ticks("@yearly", "UTC0", after, "2027-01-01 00:00:00 +0\n2028-01-01 00:00:00 +0");
	assert_ticks("@annually", "UTC0", after, "2027-01-01 00:00:00 +0");
}

static void a_day_needs_one_of_both_day_fields_unless_one_begins_with_a_star(void)
{
	int64_t after = utc(2026, 11, 20, 0, 0, 0);

	assert_ticks("0 0 1,15 * sun", "UTC0", after,
		     "2026-11-22 00:00:00 +0\n2026-11-29 00:00:00 +0\n2026-12-01 00:00:00 +0\n"
		     "2026-12-06 00:00:00 +0\n2026-12-13 00:00:00 +0\n2026-12-15 00:00:00 +0");
	assert_ticks("0 0 13 * *", "UTC0", after, "2026-12-13 00:00:00 +0\n2027-01-13 00:00:00 +0");
	assert_ticks("0 0 ? * 1", "UTC0", after, "2026-11-23 00:00:00 +0\n2026-11-30 00:00:00 +0");
	/* Days 1, 3, 5 and so on that are Mondays. */
	assert_ticks("0 0 */2 * 1", "UTC0", after,
		     "2026-11-23 00:00:00 +0\n2026-12-07 00:00:00 +0\n2026-12-21 00:00:00 +0");
}

static void l_and_number_signs_count_within_the_month(void)
{
	int64_t after = utc(2027, 1, 31, 12, 0, 0);

	assert_ticks("0 0 L * *", "UTC0", after,
		     "2027-02-28 00:00:00 +0\n2027-03-31 00:00:00 +0\n2027-04-30 00:00:00 +0");
	assert_ticks("0 0 15,l * ?", "UTC0", after,
		     "2027-02-15 00:00:00 +0\n2027-02-28 00:00:00 +0");
	assert_ticks("0 0 * * 5L", "UTC0", after,
		     "2027-02-26 00:00:00 +0\n2027-03-26 00:00:00 +0\n2027-04-30 00:00:00 +0");
	assert_ticks("0 0 * * friL", "UTC0", after, "2027-02-26 00:00:00 +0");
	assert_ticks("0 0 * * 1#2", "UTC0", after,
		     "2027-02-08 00:00:00 +0\n2027-03-08 00:00:00 +0");
	assert_ticks("0 0 * * mon#5", "UTC0", after,
		     "2027-03-29 00:00:00 +0\n2027-05-31 00:00:00 +0");
}

static void rare_days_are_found(void)
{
	assert_ticks("0 0 29 2 *", "UTC0", utc(2026, 1, 1, 0, 0, 0),
		     "2028-02-29 00:00:00 +0\n2032-02-29 00:00:00 +0");
	/* 2100 is not a leap year. */
	assert_ticks("0 0 29 2 ?", "UTC0", utc(2096, 3, 1, 0, 0, 0),
		     "2104-02-29 00:00:00 +0\n2108-02-29 00:00:00 +0");
	/* February 29 is the fifth Sunday of the month in 2088, and then in 2128. */
	assert_ticks("0 0 * 2 sun#5", "UTC0", utc(2088, 1, 1, 0, 0, 0),
		     "2088-02-29 00:00:00 +0\n2128-02-29 00:00:00 +0");
	assert_ticks("0 0 31 * *", "UTC0", utc(2027, 1, 31, 0, 0, 0),
		     "2027-03-31 00:00:00 +0\n2027-05-31 00:00:00 +0");
}

static void there_is_no_tick_after_the_last_year(void)
{
	struct cron cron = parse("* * * * *");
	struct zone zone = zone_of(BERLIN);
	int64_t tick;

	TEST_ASSERT_TRUE(cron_next(&cron, &zone, ZONE_INSTANT_MAX - 60, &tick));
	TEST_ASSERT_FALSE(cron_next(&cron, &zone, ZONE_INSTANT_MAX - 1, &tick));
	TEST_ASSERT_FALSE(cron_next(&cron, &zone, ZONE_INSTANT_MAX, &tick));
	TEST_ASSERT_FALSE(cron_next(&cron, &zone, INT64_MAX, &tick));
	TEST_ASSERT_TRUE(cron_next(&cron, &zone, INT64_MIN, &tick));
	TEST_ASSERT_EQUAL_INT64(ZONE_INSTANT_MIN, tick);
}

static void invalid_expressions_are_refused_with_a_reason(void)
{
	static const struct {
		const char *text;
		const char *reason;
	} invalid[] = {
		{ "",
		  "cron must have five or six fields, or be a word such as @daily; found \"\"" },
		{ "* * * *", "cron must have five or six fields, or be a word such as @daily; "
			     "found \"* * * *\"" },
		{ "* * * * * * *", "cron must have five or six fields, or be a word such as "
				   "@daily; found \"* * * * * * *\"" },
		{ "@reboot", "cron must have five or six fields, or be a word such as @daily; "
			     "found \"@reboot\"" },
		{ "60 * * * *", "The minute of cron must be from 0 to 59; found \"60\"" },
		{ "60 * * * * *", "The second of cron must be from 0 to 59; found \"60\"" },
		{ "* 24 * * *", "The hour of cron must be from 0 to 23; found \"24\"" },
		{ "* * 0 * *",
		  "The day of the month of cron must be from 1 to 31, or L; found \"0\"" },
		{ "* * 15W * *",
		  "The day of the month of cron must be from 1 to 31, or L; found \"15W\"" },
		{ "* * * 13 *", "The month of cron must be from 1 to 12, or a name such as jan; "
				"found \"13\"" },
		{ "* * * foo *", "The month of cron must be from 1 to 12, or a name such as jan; "
				 "found \"foo\"" },
		{ "* * * * 8", "The day of the week of cron must be from 0 to 7, or a name such "
			       "as sun; found \"8\"" },
		{ "* * * * L", "The day of the week of cron must be from 0 to 7, or a name such "
			       "as sun; found \"L\"" },
		{ "* * * * 1#6",
		  "The day of the week of cron must have a week from 1 to 5 after #; found "
		  "\"1#6\"" },
		{ "? * * * *", "The minute of cron must be from 0 to 59; found \"?\"" },
		{ "5-3 * * * *", "The minute of cron must have ranges from low to high; found "
				 "\"5-3\"" },
		{ "* 22-4 * * *",
		  "The hour of cron must have ranges from low to high; found \"22-4\"" },
		{ "*/0 * * * *", "The minute of cron must have a step of at least 1 that fits "
				 "into its values; found \"*/0\"" },
		{ "*/90 * * * *", "The minute of cron must have a step of at least 1 that fits "
				  "into its values; found \"*/90\"" },
		{ "1,,2 * * * *", "The minute of cron must be from 0 to 59; found \"1,,2\"" },
		{ "1, * * * *", "The minute of cron must be from 0 to 59; found \"1,\"" },
		{ "- * * * *", "The minute of cron must be from 0 to 59; found \"-\"" },
		{ "-5 * * * *", "The minute of cron must be from 0 to 59; found \"-5\"" },
		{ "0x5 * * * *", "The minute of cron must be from 0 to 59; found \"0x5\"" },
		{ "0 0 30 2 *", "cron must match a day of some year; found \"0 0 30 2 *\"" },
		{ "0 0 31 2,4,6,9,11 *",
		  "cron must match a day of some year; found \"0 0 31 2,4,6,9,11 *\"" },
		{ "0 0 */31 * 1#2",
		  "cron must match a day of some year; found \"0 0 */31 * 1#2\"" },
	};
	char longest[CRON_TEXT_MAX + 1];
	struct cron cron = { .seconds = 7 };

	for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
		buf_clear(&error);
		TEST_ASSERT_FALSE_MESSAGE(cron_parse(str_from(invalid[i].text), &cron, &error),
					  invalid[i].text);
		TEST_ASSERT_EQUAL_STRING(invalid[i].reason, buf_cstr(&error));
		TEST_ASSERT_FALSE(cron_parse(str_from(invalid[i].text), &cron, NULL));
	}
	memset(longest, ' ', sizeof longest);
	memcpy(longest, "* * * * *", 9);
	buf_clear(&error);
	TEST_ASSERT_FALSE(cron_parse(str_make(longest, sizeof longest), &cron, &error));
	TEST_ASSERT_EQUAL_STRING("cron must have at most 256 bytes; found 257", buf_cstr(&error));
	TEST_ASSERT_EQUAL_UINT64(7, cron.seconds);
	TEST_ASSERT_TRUE(cron_parse(str_make(longest, sizeof longest - 1), &cron, NULL));
}

/* ---- changes of the clocks ---- */

static void a_tick_in_skipped_time_is_at_the_first_instant_after_it(void)
{
	assert_ticks("30 2 * * *", BERLIN, utc(2026, 3, 27, 12, 0, 0),
		     "2026-03-28 02:30:00 +1\n2026-03-29 03:00:00 +2\n2026-03-30 02:30:00 +2");
	assert_ticks("30 2 * * sun", BERLIN, utc(2026, 3, 25, 12, 0, 0),
		     "2026-03-29 03:00:00 +2\n2026-04-05 02:30:00 +2");
	assert_ticks("0 2 8 3 *", NEW_YORK, utc(2026, 1, 1, 0, 0, 0),
		     "2026-03-08 03:00:00 -4\n2027-03-08 02:00:00 -5");
	assert_ticks("15 2 * * *", LORD_HOWE, utc(2026, 10, 3, 0, 0, 0),
		     "2026-10-04 02:30:00 +11\n2026-10-05 02:15:00 +11");
	assert_ticks("59 1 * * *", DUBLIN, utc(2026, 3, 28, 12, 0, 0),
		     "2026-03-29 02:00:00 +1\n2026-03-30 01:59:00 +1");
	/* A search that begins at the last second before. */
	assert_ticks("30 2 * * *", BERLIN, utc(2026, 3, 29, 0, 59, 59), "2026-03-29 03:00:00 +2");
	assert_ticks("30 2 * * *", BERLIN, utc(2026, 3, 29, 1, 0, 0), "2026-03-30 02:30:00 +2");
	/* Midnight is skipped. */
	assert_ticks("@daily", CAIRO, utc(2026, 4, 22, 12, 0, 0),
		     "2026-04-23 00:00:00 +2\n2026-04-24 01:00:00 +3\n2026-04-25 00:00:00 +3");
}

static void ticks_in_skipped_time_and_at_its_end_are_one(void)
{
	assert_ticks("*/10 2 * * *", BERLIN, utc(2026, 3, 28, 12, 0, 0),
		     "2026-03-29 03:00:00 +2\n2026-03-30 02:00:00 +2");
	assert_ticks("0 1-4 * * *", BERLIN, utc(2026, 3, 28, 12, 0, 0),
		     "2026-03-29 01:00:00 +1\n2026-03-29 03:00:00 +2\n2026-03-29 04:00:00 +2");
}

static void a_tick_in_repeated_time_is_at_the_first_of_both(void)
{
	assert_ticks("30 2 * * *", BERLIN, utc(2026, 10, 24, 12, 0, 0),
		     "2026-10-25 02:30:00 +2\n2026-10-26 02:30:00 +1");
	assert_ticks("*/30 1-3 * * *", BERLIN, utc(2026, 10, 24, 12, 0, 0),
		     "2026-10-25 01:00:00 +2\n2026-10-25 01:30:00 +2\n2026-10-25 02:00:00 +2\n"
		     "2026-10-25 02:30:00 +2\n2026-10-25 03:00:00 +1\n2026-10-25 03:30:00 +1");
	assert_ticks("30 1 * * *", NEW_YORK, utc(2026, 10, 31, 12, 0, 0),
		     "2026-11-01 01:30:00 -4\n2026-11-02 01:30:00 -5");
	assert_ticks("45 1 * * *", LORD_HOWE, utc(2026, 4, 4, 0, 0, 0),
		     "2026-04-05 01:45:00 +11\n2026-04-06 01:45:00 +10.5");
	assert_ticks("30 1 * * *", DUBLIN, utc(2026, 10, 24, 12, 0, 0),
		     "2026-10-25 01:30:00 +1\n2026-10-26 01:30:00 +0");
	/* A search that begins within the repeated time. */
	assert_ticks("30 2 * * *", BERLIN, utc(2026, 10, 25, 1, 10, 0), "2026-10-26 02:30:00 +1");
	/* The day before is repeated. */
	assert_ticks("30 23 * * *", CAIRO, utc(2026, 10, 29, 12, 0, 0),
		     "2026-10-29 23:30:00 +3\n2026-10-30 23:30:00 +2");
}

static void ticks_of_all_hours_follow_the_time_that_passes(void)
{
	assert_ticks("30 * * * *", BERLIN, utc(2026, 3, 29, 0, 0, 0),
		     "2026-03-29 01:30:00 +1\n2026-03-29 03:30:00 +2\n2026-03-29 04:30:00 +2");
	assert_ticks("30 * * * *", BERLIN, utc(2026, 10, 25, 0, 0, 0),
		     "2026-10-25 02:30:00 +2\n2026-10-25 02:30:00 +1\n2026-10-25 03:30:00 +1");
	assert_ticks("*/30 0-23 * * *", NEW_YORK, utc(2026, 11, 1, 5, 15, 0),
		     "2026-11-01 01:30:00 -4\n2026-11-01 01:00:00 -5\n2026-11-01 01:30:00 -5\n"
		     "2026-11-01 02:00:00 -5");
	assert_ticks("32 * * * *", LORD_HOWE, utc(2026, 4, 4, 14, 0, 0),
		     "2026-04-05 01:32:00 +11\n2026-04-05 01:32:00 +10.5\n"
		     "2026-04-05 02:32:00 +10.5");
	/* Half an hour is skipped. */
	assert_ticks("15 * * * *", LORD_HOWE, utc(2026, 10, 3, 14, 0, 0),
		     "2026-10-04 01:15:00 +10.5\n2026-10-04 02:30:00 +11\n"
		     "2026-10-04 03:15:00 +11");
	assert_ticks("0 30 * * * *", KOLKATA, utc(2026, 3, 29, 0, 0, 1),
		     "2026-03-29 06:30:00 +5.5\n2026-03-29 07:30:00 +5.5");
}

static void ticks_after_2038_follow_the_rule(void)
{
	assert_ticks("30 2 * * *", BERLIN, utc(2040, 3, 24, 12, 0, 0),
		     "2040-03-25 03:00:00 +2\n2040-03-26 02:30:00 +2");
	assert_ticks("0 0 1 1 *", NEW_YORK, utc(2099, 6, 1, 0, 0, 0), "2100-01-01 00:00:00 -5");
}

/* ---- a slow model ---- */

/*
 * Walks all minutes, and keeps the latest time that the clocks have shown. Each time later than
 * that counts once, also if it is skipped. Times are on the clock of the zone.
 */
struct model {
	const struct cron *cron;
	const struct zone *zone;
	int64_t shown;
};

static bool model_matches(const struct cron *cron, int64_t local)
{
	int64_t day = local / CIVIL_DAY_SECONDS;
	int seconds = (int)(local % CIVIL_DAY_SECONDS);
	struct civil_date date = civil_date_of(day);
	int week = (date.day - 1) / 7 + 1;
	bool is_last_week = date.day + 7 > civil_month_days(date.year, date.month);
	bool by_day = (cron->days >> date.day & 1) ||
		      (cron->has_last_day && date.day == civil_month_days(date.year, date.month));
	unsigned weeks = cron->weekdays[civil_weekday(day)];
	bool by_weekday = (weeks >> week & 1) || (is_last_week && (weeks & CRON_LAST) != 0);

	return (cron->months >> date.month & 1) != 0 &&
	       (cron->needs_both ? by_day && by_weekday : by_day || by_weekday) &&
	       (cron->hours >> (seconds / HOUR) & 1) != 0 &&
	       (cron->minutes >> (seconds / 60 % 60) & 1) != 0;
}

/* Whether there is a tick at the begin of this minute. Called for one minute after the other. */
static bool model_has_tick(struct model *m, int64_t at)
{
	int64_t local = at + zone_span_at(m->zone, at).offset;
	bool has_all_hours = m->cron->hours == 0xffffff;
	int64_t skipped = local - m->shown - 60;
	bool has_tick = model_matches(m->cron, local);

	if (local <= m->shown)
		return has_all_hours && has_tick;
	if (skipped > 0 && has_all_hours && skipped % HOUR == 0)
		m->shown = local - 60;
	for (int64_t t = m->shown + 60; t < local; t += 60)
		has_tick |= model_matches(m->cron, t);
	m->shown = local;
	return has_tick;
}

static void append_random_field(struct buf *to, unsigned long long *seed, unsigned min,
				unsigned max)
{
	unsigned span = max - min + 1;
	unsigned a = min + (unsigned)(unit_random(seed) % span);
	unsigned b = a + (unsigned)(unit_random(seed) % (max - a + 1));

	switch (unit_random(seed) % 6) {
	case 0:
		buf_printf(to, "*");
		break;
	case 1:
		buf_printf(to, "*/%u", 1 + (unsigned)(unit_random(seed) % span));
		break;
	case 2:
		buf_printf(to, "%u-%u", a, b);
		break;
	case 3:
		buf_printf(to, "%u,%u", a, b);
		break;
	case 4:
		buf_printf(to, "%u/%u", a, 1 + (unsigned)(unit_random(seed) % span));
		break;
	default:
		buf_printf(to, "%u", a);
		break;
	}
	buf_append_char(to, ' ');
}

static void make_random_expression(struct buf *to, unsigned long long *seed)
{
	buf_clear(to);
	append_random_field(to, seed, 0, 59);
	append_random_field(to, seed, 0, 23);
	append_random_field(to, seed, 1, 31);
	append_random_field(to, seed, 1, 12);
	append_random_field(to, seed, 0, 6);
}

/* Compare all ticks of some days around a change with the model. */
static void compare_with_model(struct qless_str text, const struct zone *zone, int64_t begin,
			       int64_t end)
{
	struct cron cron = { 0 };
	struct model m = { &cron, zone, begin - 60 + zone_span_at(zone, begin - 60).offset };
	int64_t tick = 0, last = begin - 1, found;

	TEST_ASSERT_TRUE(cron_parse(text, &cron, NULL));
	if (!cron_next(&cron, zone, last, &tick))
		tick = INT64_MAX;
	for (int64_t at = begin; at < end; at += 60) {
		if (!model_has_tick(&m, at)) {
			TEST_ASSERT_TRUE(tick != at);
			continue;
		}
		TEST_ASSERT_EQUAL_INT64(at, tick);
		TEST_ASSERT_TRUE(cron_last(&cron, zone, last, at, &found));
		TEST_ASSERT_EQUAL_INT64(at, found);
		last = at;
		if (!cron_next(&cron, zone, last, &tick))
			tick = INT64_MAX;
	}
	TEST_ASSERT_TRUE(tick >= end);
	TEST_ASSERT_EQUAL(last >= begin, cron_last(&cron, zone, begin - 1, end - 1, &found));
	if (last >= begin)
		TEST_ASSERT_EQUAL_INT64(last, found);
}

static void random_expressions_tick_like_a_slow_model(void)
{
	static const char *const rules[] = { BERLIN, NEW_YORK, LORD_HOWE, DUBLIN, KOLKATA, CAIRO };
	unsigned long long seed = 20261120;
	struct buf text = BUF_INIT(BUF_NO_MAX);

	for (int i = 0; i < 1200; i++) {
		struct zone zone = zone_of(rules[i % 6]);
		int64_t at = utc(2026 + (int)(unit_random(&seed) % 40), 1, 1, 0, 0, 0) +
			     (int64_t)(unit_random(&seed) % 366) * CIVIL_DAY_SECONDS;
		struct zone_span span = zone_span_at(&zone, at);

		if (span.until < INT64_MAX && i % 4 != 0)
			at = span.until - CIVIL_DAY_SECONDS;
		make_random_expression(&text, &seed);
		if (!cron_parse(buf_str(&text), &(struct cron){ 0 }, NULL))
			continue;
		compare_with_model(buf_str(&text), &zone, at, at + 3 * CIVIL_DAY_SECONDS);
	}
	buf_done(&text);
}

static void the_last_tick_of_a_long_time_is_found(void)
{
	struct cron cron = parse("*/7 * * * * *");
	struct zone zone = zone_of(BERLIN);
	int64_t begin = utc(1990, 1, 1, 0, 0, 0), end = utc(2026, 11, 20, 10, 0, 6), tick = 5;

	TEST_ASSERT_TRUE(cron_last(&cron, &zone, begin, end, &tick));
	TEST_ASSERT_EQUAL_INT64(utc(2026, 11, 20, 10, 0, 0), tick);
	TEST_ASSERT_TRUE(cron_last(&cron, &zone, begin, end + 1, &tick));
	TEST_ASSERT_EQUAL_INT64(end + 1, tick);
	tick = 5;
	TEST_ASSERT_FALSE(cron_last(&cron, &zone, end + 1, end + 7, &tick));
	TEST_ASSERT_EQUAL_INT64(5, tick);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(fields_are_values_ranges_steps_and_names);
	RUN(a_sixth_field_in_front_is_the_second);
	RUN(shortcuts_stand_for_expressions);
	RUN(a_day_needs_one_of_both_day_fields_unless_one_begins_with_a_star);
	RUN(l_and_number_signs_count_within_the_month);
	RUN(rare_days_are_found);
	RUN(there_is_no_tick_after_the_last_year);
	RUN(invalid_expressions_are_refused_with_a_reason);
	RUN(a_tick_in_skipped_time_is_at_the_first_instant_after_it);
	RUN(ticks_in_skipped_time_and_at_its_end_are_one);
	RUN(a_tick_in_repeated_time_is_at_the_first_of_both);
	RUN(ticks_of_all_hours_follow_the_time_that_passes);
	RUN(ticks_after_2038_follow_the_rule);
	RUN(random_expressions_tick_like_a_slow_model);
	RUN(the_last_tick_of_a_long_time_is_found);
	return UNIT_RESULT();
}
