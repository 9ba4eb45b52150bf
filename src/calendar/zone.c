#include "calendar/zone.h"

#include <assert.h>

#include "calendar/civil.h"

#define NAME_LETTERS_MIN 3
#define OFFSET_HOURS_MAX 24
#define CHANGE_HOURS_MAX 167
/* When clocks change if the rule does not say. */
#define CHANGE_SECONDS (2 * CIVIL_HOUR_SECONDS)

/* ---- reading ---- */

struct reader {
	const char *at;
	const char *end;
	const char *wrong; /* NULL: nothing yet */
};

/* The first mistake counts. Nothing more is read. */
static void complain(struct reader *r, const char *wrong)
{
	if (r->wrong == NULL)
		r->wrong = wrong;
	r->at = r->end;
}

static bool is_at(const struct reader *r, char c)
{
	return r->at < r->end && *r->at == c;
}

static bool take(struct reader *r, char c)
{
	if (!is_at(r, c))
		return false;
	r->at++;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool zone_is_name(struct qless_str text)
{
	char last = '/';

	if (text.len > ZONE_NAME_MAX)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (c == '/' ? last == '/'
			     : !is_letter(c) && !is_digit(c) && c != '+' && c != '-' && c != '_')
			return false;
		last = c;
	}
	return last != '/';
}

/* Names do not matter here: they only have to be names. */
static void skip_name(struct reader *r)
{
	bool is_quoted = take(r, '<');
	const char *begin = r->at;

	while (r->at < r->end &&
	       (is_letter(*r->at) ||
		(is_quoted && (is_digit(*r->at) || *r->at == '+' || *r->at == '-'))))
		r->at++;
	if (r->at - begin < NAME_LETTERS_MIN || (is_quoted && !take(r, '>')))
		complain(r, "a name must have at least three letters, or be in <>");
}

static int take_number(struct reader *r, int min, int max, const char *wrong)
{
	int number = 0;
	const char *begin = r->at;

	while (r->at < r->end && is_digit(*r->at) && number <= max)
		number = number * 10 + (*r->at++ - '0');
	if (r->at == begin || number < min || number > max)
		complain(r, wrong);
	return number;
}

/* [+-]hh[:mm[:ss]] */
static int32_t take_time(struct reader *r, int max_hours, const char *wrong)
{
	bool is_negative = is_at(r, '-');
	int32_t seconds;

	if (!take(r, '-'))
		take(r, '+');
	seconds = take_number(r, 0, max_hours, wrong) * CIVIL_HOUR_SECONDS;
	if (take(r, ':')) {
		seconds += take_number(r, 0, 59, wrong) * 60;
		if (take(r, ':'))
			seconds += take_number(r, 0, 59, wrong);
	}
	return is_negative ? -seconds : seconds;
}

/* In a rule, positive offsets are west of Greenwich, and the clocks show less than UTC. */
static int32_t take_offset(struct reader *r)
{
	return -take_time(r, OFFSET_HOURS_MAX, "an offset must be up to 24 hours");
}

static struct zone_date take_date(struct reader *r)
{
	static const char wrong[] = "a change must be a day such as M3.5.0, J60 or 59";
	struct zone_date date = { .kind = ZONE_DAY, .seconds = CHANGE_SECONDS };

	if (take(r, 'M')) {
		date.kind = ZONE_WEEKDAY;
		date.month = take_number(r, 1, 12, wrong);
		if (!take(r, '.'))
			complain(r, wrong);
		date.week = take_number(r, 1, 5, wrong);
		if (!take(r, '.'))
			complain(r, wrong);
		date.day = take_number(r, 0, 6, wrong);
	} else if (take(r, 'J')) {
		date.kind = ZONE_DAY_WITHOUT_LEAP;
		date.day = take_number(r, 1, 365, wrong);
	} else {
		date.day = take_number(r, 0, 365, wrong);
	}
	if (take(r, '/'))
		date.seconds = take_time(r, CHANGE_HOURS_MAX,
					 "the time of a change must be up to 167 hours");
	return date;
}

static void take_daylight(struct reader *r, struct zone *zone)
{
	zone->has_daylight = true;
	skip_name(r);
	zone->daylight = zone->standard + CIVIL_HOUR_SECONDS;
	if (r->at < r->end && !is_at(r, ','))
		zone->daylight = take_offset(r);
	if (!take(r, ','))
		complain(r, "daylight saving time must have the days on which it begins and ends");
	zone->begins = take_date(r);
	if (!take(r, ','))
		complain(r, "daylight saving time must have the day on which it ends");
	zone->ends = take_date(r);
}

bool zone_parse(struct qless_str rule, struct zone *ret_zone, struct buf *ret_error)
{
	struct reader r = { rule.ptr, rule.ptr + rule.len, NULL };
	struct zone zone = { 0 };

	if (rule.len > ZONE_RULE_MAX)
		complain(&r, "it is too long");
	skip_name(&r);
	zone.standard = take_offset(&r);
	zone.daylight = zone.standard;
	if (r.at < r.end)
		take_daylight(&r, &zone);
	if (r.at < r.end)
		complain(&r, "more follows the end");
	if (r.wrong != NULL) {
		if (ret_error != NULL)
			buf_append_str(ret_error, str_from(r.wrong));
		return false;
	}
	*ret_zone = zone;
	return true;
}

/* ---- changes ---- */

/* The day in a year, counted from 1970-01-01. */
static int64_t day_in_year(const struct zone_date *date, int year)
{
	int64_t first = civil_first_day(year, 1);
	int64_t day;
	int days;

	switch (date->kind) {
	case ZONE_DAY_WITHOUT_LEAP:
		return first + date->day - 1 + (date->day >= 60 && civil_is_leap(year));
	case ZONE_DAY:
		return first + date->day;
	case ZONE_WEEKDAY:
		break;
	}
	first = civil_first_day(year, date->month);
	day = (date->day - civil_weekday(first) + 7) % 7 + (date->week - 1) * 7;
	days = civil_month_days(year, date->month);
	return first + (day < days ? day : day - 7);
}

struct change {
	int64_t at;
	int32_t offset; /* from then on */
};

static int64_t change_at(const struct zone_date *date, int year, int32_t offset_before)
{
	return day_in_year(date, year) * CIVIL_DAY_SECONDS + date->seconds - offset_before;
}

/* The changes of this many years before and after are around an instant. The time of a change may
 * move it into the next year or the one before. */
#define YEARS_AROUND 2
#define CHANGES_MAX  ((size_t)2 * (2 * YEARS_AROUND + 1))

/* Insert into the sorted list. Of changes at the same instant, only the last one counts. */
static void add_change(struct change *list, size_t *count, struct change change)
{
	size_t i = *count;

	while (i > 0 && list[i - 1].at > change.at)
		i--;
	if (i > 0 && list[i - 1].at == change.at) {
		list[i - 1] = change;
		return;
	}
	for (size_t k = (*count)++; k > i; k--)
		list[k] = list[k - 1];
	list[i] = change;
}

static size_t list_changes(const struct zone *zone, int year, struct change list[CHANGES_MAX])
{
	size_t count = 0;

	for (int y = year - YEARS_AROUND; y <= year + YEARS_AROUND; y++) {
		add_change(list, &count,
			   (struct change){ change_at(&zone->begins, y, zone->standard),
					    zone->daylight });
		add_change(list, &count,
			   (struct change){ change_at(&zone->ends, y, zone->daylight),
					    zone->standard });
	}
	return count;
}

static int64_t floor_days(int64_t seconds)
{
	return (seconds - ZONE_INSTANT_MIN) / CIVIL_DAY_SECONDS +
	       ZONE_INSTANT_MIN / CIVIL_DAY_SECONDS;
}

struct zone_span zone_span_at(const struct zone *zone, int64_t instant)
{
	struct change list[CHANGES_MAX];
	size_t count, last, first, next;

	assert(instant >= ZONE_INSTANT_MIN && instant <= ZONE_INSTANT_MAX);
	if (!zone->has_daylight || zone->daylight == zone->standard)
		return (struct zone_span){ INT64_MIN, INT64_MAX, zone->standard, zone->standard,
					   zone->standard };
	count = list_changes(zone, civil_date_of(floor_days(instant)).year, list);
	/* The changes of the first year are over, those of the last one are yet to come. */
	assert(list[0].at <= instant && list[count - 1].at > instant);
	for (last = 0; list[last + 1].at <= instant; last++)
		continue;
	for (first = last; first > 0 && list[first - 1].offset == list[last].offset; first--)
		continue;
	for (next = last + 1; next + 1 < count && list[next].offset == list[last].offset; next++)
		continue;
	return (struct zone_span){
		.since = list[first].at,
		.until = list[next].at,
		.before = first > 0 ? list[first - 1].offset : list[last].offset,
		.offset = list[last].offset,
		/* Another change may be at the same instant as the last one of the list. */
		.after = next + 1 < count ? list[next].offset : list[last].offset,
	};
}
