/*
 * Dates of the Gregorian calendar, and days since 1970-01-01.
 *
 * Years are from CIVIL_YEAR_MIN to CIVIL_YEAR_MAX. The calendar is extended to the years before its
 * introduction.
 */
#ifndef CALENDAR_CIVIL_H
#define CALENDAR_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#define CIVIL_YEAR_MIN 1
#define CIVIL_YEAR_MAX 9999

#define CIVIL_DAY_SECONDS  86400
#define CIVIL_HOUR_SECONDS 3600

struct civil_date {
	int year;
	int month; /* from 1 */
	int day;   /* of the month, from 1 */
};

static inline bool civil_is_leap(int year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* The number of days of a month. */
int civil_month_days(int year, int month);
/* The number of the first day of a month, counted from 1970-01-01. */
int64_t civil_first_day(int year, int month);
struct civil_date civil_date_of(int64_t day);
/* 0 is Sunday. */
int civil_weekday(int64_t day);

#endif
