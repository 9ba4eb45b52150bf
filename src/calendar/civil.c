#include "calendar/civil.h"

#include <assert.h>

/* Years begin with March here, so that the leap day is the last day of a year. The calendar repeats
 * after an era of 400 years. */
#define ERA_YEARS  400
#define ERA_DAYS   146097
#define DAYS_TO_70 719468 /* from 0000-03-01 to 1970-01-01 */

/* Added to days before they are divided: a whole number of eras and weeks. */
#define SHIFT_ERAS 7

static const unsigned char month_days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

int civil_month_days(int year, int month)
{
	assert(month >= 1 && month <= 12);
	return month == 2 && civil_is_leap(year) ? 29 : month_days[month - 1];
}

int64_t civil_first_day(int year, int month)
{
	int years = month > 2 ? year : year - 1; /* since the March of the year 0 */
	int months = month > 2 ? month - 3 : month + 9;
	int64_t shifted = years + SHIFT_ERAS * ERA_YEARS;

	assert(month >= 1 && month <= 12 && shifted >= 0);
	/* 153 days in five months: 31, 30, 31, 30, 31. */
	return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 +
	       (153 * months + 2) / 5 - (int64_t)SHIFT_ERAS * ERA_DAYS - DAYS_TO_70;
}

struct civil_date civil_date_of(int64_t day)
{
	int64_t shifted = day + DAYS_TO_70 + (int64_t)SHIFT_ERAS * ERA_DAYS;
	int era = (int)(shifted / ERA_DAYS);
	int in_era = (int)(shifted % ERA_DAYS);
	int year = (in_era - in_era / 1460 + in_era / 36524 - in_era / (ERA_DAYS - 1)) / 365;
	int in_year = in_era - (365 * year + year / 4 - year / 100);
	int months = (5 * in_year + 2) / 153;
	struct civil_date date = {
		.year = year + (era - SHIFT_ERAS) * ERA_YEARS + (months >= 10),
		.month = months < 10 ? months + 3 : months - 9,
		.day = in_year - (153 * months + 2) / 5 + 1,
	};

	assert(shifted >= 0);
	return date;
}

int civil_weekday(int64_t day)
{
	/* 1970-01-01 was a Thursday. An era has whole weeks. */
	return (int)((day + (int64_t)SHIFT_ERAS * ERA_DAYS + 4) % 7);
}
