#include "calendar/zone.h"

#include "calendar/civil.h"
#include "unit.h"

#define HOUR 3600

void setUp(void)
{
}

void tearDown(void)
{
}

static int64_t utc(int year, int month, int day, int hour, int minute)
{
	return ((civil_first_day(year, month) + day - 1) * 24 + hour) * HOUR + minute * 60;
}

static struct zone parse(const char *rule)
{
	char text[256];
	struct buf error = BUF_INIT(256);
	struct zone zone = { 0 };

	snprintf(text, sizeof text, "%s", rule);
	if (!zone_parse(str_from(rule), &zone, &error))
		TEST_FAIL_MESSAGE(text);
	TEST_ASSERT_EQUAL_size_t(0, error.len);
	return zone;
}

/* Assert that the clocks change at `at`, from one offset to the other. */
static void assert_change(const struct zone *zone, int64_t at, int32_t from, int32_t to)
{
	struct zone_span before = zone_span_at(zone, at - 1);
	struct zone_span after = zone_span_at(zone, at);

	TEST_ASSERT_EQUAL_INT(from, before.offset);
	TEST_ASSERT_EQUAL_INT(to, before.after);
	TEST_ASSERT_EQUAL_INT64(at, before.until);
	TEST_ASSERT_EQUAL_INT(to, after.offset);
	TEST_ASSERT_EQUAL_INT(from, after.before);
	TEST_ASSERT_EQUAL_INT64(at, after.since);
}

static void a_zone_without_changes_has_one_offset(void)
{
	struct zone india = parse("IST-5:30");
	struct zone_span span = zone_span_at(&india, utc(2026, 11, 20, 0, 0));

	TEST_ASSERT_EQUAL_INT(5 * HOUR + HOUR / 2, span.offset);
	TEST_ASSERT_EQUAL_INT(span.offset, span.before);
	TEST_ASSERT_EQUAL_INT(span.offset, span.after);
	TEST_ASSERT_EQUAL_INT64(INT64_MAX, span.until);
	TEST_ASSERT_EQUAL_INT(0, parse("UTC0").standard);
	TEST_ASSERT_EQUAL_INT(3 * HOUR + 30 * 60, parse("<+0330>-3:30").standard);
	TEST_ASSERT_EQUAL_INT(-(9 * HOUR + 30 * 60 + 15), parse("<-0930>9:30:15").standard);
	TEST_ASSERT_EQUAL_INT(-8 * HOUR, parse("PST+8").standard);
}

static void europe_changes_on_the_last_sundays(void)
{
	struct zone berlin = parse("CET-1CEST,M3.5.0,M10.5.0/3");

	assert_change(&berlin, utc(2026, 3, 29, 1, 0), HOUR, 2 * HOUR);
	assert_change(&berlin, utc(2026, 10, 25, 1, 0), 2 * HOUR, HOUR);
	assert_change(&berlin, utc(2027, 3, 28, 1, 0), HOUR, 2 * HOUR);
	assert_change(&berlin, utc(2096, 10, 28, 1, 0), 2 * HOUR, HOUR);
	TEST_ASSERT_EQUAL_INT(HOUR, zone_span_at(&berlin, utc(2026, 12, 31, 23, 59)).offset);
	TEST_ASSERT_EQUAL_INT(HOUR, zone_span_at(&berlin, utc(2027, 1, 1, 0, 0)).offset);
}

static void america_changes_at_two_on_its_own_clocks(void)
{
	struct zone york = parse("EST5EDT,M3.2.0,M11.1.0");

	assert_change(&york, utc(2026, 3, 8, 7, 0), -5 * HOUR, -4 * HOUR);
	assert_change(&york, utc(2026, 11, 1, 6, 0), -4 * HOUR, -5 * HOUR);
	assert_change(&york, utc(2040, 3, 11, 7, 0), -5 * HOUR, -4 * HOUR);
}

static void lord_howe_changes_by_half_an_hour_in_the_south(void)
{
	struct zone island = parse("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0");
	int32_t standard = 10 * HOUR + HOUR / 2;

	assert_change(&island, utc(2026, 4, 4, 15, 0), 11 * HOUR, standard);
	assert_change(&island, utc(2026, 10, 3, 15, 30), standard, 11 * HOUR);
	TEST_ASSERT_EQUAL_INT(11 * HOUR, zone_span_at(&island, utc(2027, 1, 1, 0, 0)).offset);
}

static void dublin_has_its_standard_time_in_summer(void)
{
	struct zone dublin = parse("IST-1GMT0,M10.5.0,M3.5.0/1");

	assert_change(&dublin, utc(2026, 3, 29, 1, 0), 0, HOUR);
	assert_change(&dublin, utc(2026, 10, 25, 1, 0), HOUR, 0);
	TEST_ASSERT_EQUAL_INT(0, zone_span_at(&dublin, utc(2027, 1, 1, 0, 0)).offset);
}

static void hours_of_a_change_may_be_negative_or_beyond_a_day(void)
{
	struct zone nuuk = parse("<-02>2<-01>,M3.5.0/-1,M10.5.0/0");
	struct zone gaza = parse("EET-2EEST,M3.4.4/50,M10.4.4/50");
	struct zone cairo = parse("EET-2EEST,M4.5.5/0,M10.5.4/24");

	assert_change(&nuuk, utc(2026, 3, 29, 1, 0), -2 * HOUR, -HOUR);
	assert_change(&nuuk, utc(2026, 10, 25, 1, 0), -HOUR, -2 * HOUR);
	assert_change(&gaza, utc(2026, 3, 28, 0, 0), 2 * HOUR, 3 * HOUR);
	assert_change(&gaza, utc(2026, 10, 23, 23, 0), 3 * HOUR, 2 * HOUR);
	assert_change(&cairo, utc(2026, 4, 23, 22, 0), 2 * HOUR, 3 * HOUR);
	assert_change(&cairo, utc(2026, 10, 29, 21, 0), 3 * HOUR, 2 * HOUR);
}

static void days_may_be_counted_with_and_without_the_leap_day(void)
{
	struct zone without = parse("AAA0BBB,J60/0,J365/0");
	struct zone with = parse("AAA0BBB,59/0,364/0");

	assert_change(&without, utc(2027, 3, 1, 0, 0), 0, HOUR);
	assert_change(&without, utc(2028, 3, 1, 0, 0), 0, HOUR);
	assert_change(&without, utc(2028, 12, 30, 23, 0), HOUR, 0);
	assert_change(&with, utc(2027, 3, 1, 0, 0), 0, HOUR);
	assert_change(&with, utc(2028, 2, 29, 0, 0), 0, HOUR);
	assert_change(&with, utc(2028, 12, 29, 23, 0), HOUR, 0);
}

static void daylight_saving_time_may_be_all_year(void)
{
	struct zone zone = parse("XXX3EDT4,0/0,J365/23");

	for (int64_t at = utc(2026, 1, 1, 0, 0); at < utc(2031, 1, 1, 0, 0); at += HOUR) {
		struct zone_span span = zone_span_at(&zone, at);

		TEST_ASSERT_EQUAL_INT(-4 * HOUR, span.offset);
		TEST_ASSERT_EQUAL_INT(-4 * HOUR, span.before);
		TEST_ASSERT_EQUAL_INT(-4 * HOUR, span.after);
		TEST_ASSERT_TRUE(span.since <= at && span.until > at);
	}
}

static void spans_follow_each_other(void)
{
	static const char *const rules[] = {
		"CET-1CEST,M3.5.0,M10.5.0/3",
		"EST5EDT,M3.2.0,M11.1.0",
		"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
		"IST-1GMT0,M10.5.0,M3.5.0/1",
		"AAA-24BBB24,0/-167,J365/167",
		"AAA0BBB,J1/167,J365/-167",
		"AAA0BBB0,M1.1.0,M1.1.0",
		"AAA0BBB-1,J1/0,J1/1",
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		struct zone zone = parse(rules[i]);
		int64_t at = ZONE_INSTANT_MIN;

		while (at <= ZONE_INSTANT_MAX) {
			struct zone_span span = zone_span_at(&zone, at);

			TEST_ASSERT_TRUE(span.since <= at && span.until > at);
			if (span.until > ZONE_INSTANT_MAX)
				break;
			TEST_ASSERT_EQUAL_INT(span.after, zone_span_at(&zone, span.until).offset);
			TEST_ASSERT_EQUAL_INT(span.offset,
					      zone_span_at(&zone, span.until - 1).offset);
			at = span.until;
		}
	}
}

static void invalid_rules_are_refused_with_a_reason(void)
{
	static const struct {
		const char *rule;
		const char *reason;
	} invalid[] = {
		{ "", "a name must have at least three letters, or be in <>" },
		{ "CE-1", "a name must have at least three letters, or be in <>" },
		{ "<+1-1", "a name must have at least three letters, or be in <>" },
		{ "CET", "an offset must be up to 24 hours" },
		{ "CET25", "an offset must be up to 24 hours" },
		{ "CET1:60", "an offset must be up to 24 hours" },
		{ "CET1:", "an offset must be up to 24 hours" },
		{ "CET-99999999999999999999", "an offset must be up to 24 hours" },
		{ "CET-1CEST",
		  "daylight saving time must have the days on which it begins and ends" },
		{ "CET-1CEST,M3.5.0", "daylight saving time must have the day on which it ends" },
		{ "CET-1CEST,M13.5.0,M10.5.0", "a change must be a day such as M3.5.0, J60 or 59" },
		{ "CET-1CEST,M3.6.0,M10.5.0", "a change must be a day such as M3.5.0, J60 or 59" },
		{ "CET-1CEST,M3.5.7,M10.5.0", "a change must be a day such as M3.5.0, J60 or 59" },
		{ "CET-1CEST,M3.5,M10.5.0", "a change must be a day such as M3.5.0, J60 or 59" },
		{ "CET-1CEST,J0,J5", "a change must be a day such as M3.5.0, J60 or 59" },
		{ "CET-1CEST,366,5", "a change must be a day such as M3.5.0, J60 or 59" },
		{ "CET-1CEST,M3.5.0/168,M10.5.0", "the time of a change must be up to 167 hours" },
		{ "CET-1CEST,M3.5.0,M10.5.0x", "more follows the end" },
	};
	char longest[ZONE_RULE_MAX + 2];
	struct zone zone = { .standard = 7 };

	for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
		struct buf error = BUF_INIT(256);

		TEST_ASSERT_FALSE_MESSAGE(zone_parse(str_from(invalid[i].rule), &zone, &error),
					  invalid[i].rule);
		TEST_ASSERT_EQUAL_STRING(invalid[i].reason, buf_cstr(&error));
		TEST_ASSERT_FALSE(zone_parse(str_from(invalid[i].rule), &zone, NULL));
		buf_done(&error);
	}
	memset(longest, 'A', sizeof longest);
	longest[ZONE_RULE_MAX] = '1';
	TEST_ASSERT_FALSE(zone_parse(str_make(longest, ZONE_RULE_MAX + 1), &zone, NULL));
	longest[ZONE_RULE_MAX - 1] = '1';
	TEST_ASSERT_EQUAL_INT(7, zone.standard);
	TEST_ASSERT_TRUE(zone_parse(str_make(longest, ZONE_RULE_MAX), &zone, NULL));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_zone_without_changes_has_one_offset);
	RUN(europe_changes_on_the_last_sundays);
	RUN(america_changes_at_two_on_its_own_clocks);
	RUN(lord_howe_changes_by_half_an_hour_in_the_south);
	RUN(dublin_has_its_standard_time_in_summer);
	RUN(hours_of_a_change_may_be_negative_or_beyond_a_day);
	RUN(days_may_be_counted_with_and_without_the_leap_day);
	RUN(daylight_saving_time_may_be_all_year);
	RUN(spans_follow_each_other);
	RUN(invalid_rules_are_refused_with_a_reason);
	return UNIT_RESULT();
}
