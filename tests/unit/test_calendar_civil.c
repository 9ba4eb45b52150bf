#include "calendar/civil.h"

#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void known_dates_have_their_numbers(void)
{
	static const struct {
		struct civil_date date;
		int64_t day;
		int weekday;
	} known[] = {
		{ { 1970, 1, 1 }, 0, 4 },	  { { 1969, 12, 31 }, -1, 3 },
		{ { 2000, 2, 29 }, 11016, 2 },	  { { 2000, 3, 1 }, 11017, 3 },
		{ { 2026, 11, 20 }, 20777, 5 },	  { { 2038, 1, 19 }, 24855, 2 },
		{ { 2100, 2, 28 }, 47540, 0 },	  { { 2100, 3, 1 }, 47541, 1 },
		{ { 9999, 12, 31 }, 2932896, 5 }, { { 1, 1, 1 }, -719162, 1 },
		{ { 1600, 2, 29 }, -135081, 2 },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct civil_date date = civil_date_of(known[i].day);

		TEST_ASSERT_EQUAL_INT(known[i].date.year, date.year);
		TEST_ASSERT_EQUAL_INT(known[i].date.month, date.month);
		TEST_ASSERT_EQUAL_INT(known[i].date.day, date.day);
		TEST_ASSERT_EQUAL_INT(known[i].weekday, civil_weekday(known[i].day));
		TEST_ASSERT_EQUAL_INT64(known[i].day,
					civil_first_day(date.year, date.month) + date.day - 1);
	}
}

static void leap_years_follow_the_gregorian_rule(void)
{
	TEST_ASSERT_TRUE(civil_is_leap(2000));
	TEST_ASSERT_TRUE(civil_is_leap(2028));
	TEST_ASSERT_FALSE(civil_is_leap(2100));
	TEST_ASSERT_FALSE(civil_is_leap(2026));
	TEST_ASSERT_EQUAL_INT(29, civil_month_days(2028, 2));
	TEST_ASSERT_EQUAL_INT(28, civil_month_days(2100, 2));
	TEST_ASSERT_EQUAL_INT(31, civil_month_days(2026, 12));
}

static void days_follow_each_other_without_a_gap(void)
{
	int64_t day = civil_first_day(CIVIL_YEAR_MIN, 1);
	int weekday = civil_weekday(day);

	for (int year = CIVIL_YEAR_MIN; year <= CIVIL_YEAR_MAX; year++) {
		for (int month = 1; month <= 12; month++) {
			int days = civil_month_days(year, month);
			struct civil_date last = civil_date_of(day + days - 1);

			TEST_ASSERT_EQUAL_INT64(day, civil_first_day(year, month));
			TEST_ASSERT_EQUAL_INT(1, civil_date_of(day).day);
			TEST_ASSERT_TRUE(last.year == year && last.month == month &&
					 last.day == days);
			TEST_ASSERT_EQUAL_INT(weekday, civil_weekday(day));
			day += days;
			weekday = (weekday + days) % 7;
		}
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(known_dates_have_their_numbers);
	RUN(leap_years_follow_the_gregorian_rule);
	RUN(days_follow_each_other_without_a_gap);
	return UNIT_RESULT();
}
