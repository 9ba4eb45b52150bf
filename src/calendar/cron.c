#include "calendar/cron.h"

#include <assert.h>

#include "calendar/civil.h"

/* ---- fields ---- */

enum {
	SECOND,
	MINUTE,
	HOUR,
	DAY,
	MONTH,
	WEEKDAY,
	FIELDS,
};

#define NAME_LETTERS 3

static const struct field {
	const char *name;
	unsigned min;
	unsigned max;
	const char *names; /* of all values, NAME_LETTERS each, beginning with `min`; or NULL */
	const char *expected;
} fields[FIELDS] = {
	[SECOND] = { "second", 0, 59, NULL, "from 0 to 59" },
	[MINUTE] = { "minute", 0, 59, NULL, "from 0 to 59" },
	[HOUR] = { "hour", 0, 23, NULL, "from 0 to 23" },
	[DAY] = { "day of the month", 1, 31, NULL, "from 1 to 31, or L" },
	[MONTH] = { "month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec",
		    "from 1 to 12, or a name such as jan" },
	[WEEKDAY] = { "day of the week", 0, 7, "sunmontuewedthufrisat",
		      "from 0 to 7, or a name such as sun" },
};

/* Words that stand for an expression. */
static const struct shortcut {
	struct qless_str name;
	struct qless_str text;
} shortcuts[] = {
	{ STR_INIT("@yearly"), STR_INIT("0 0 1 1 *") },
	{ STR_INIT("@annually"), STR_INIT("0 0 1 1 *") },
	{ STR_INIT("@monthly"), STR_INIT("0 0 1 * *") },
	{ STR_INIT("@weekly"), STR_INIT("0 0 * * 0") },
	{ STR_INIT("@daily"), STR_INIT("0 0 * * *") },
	{ STR_INIT("@midnight"), STR_INIT("0 0 * * *") },
	{ STR_INIT("@hourly"), STR_INIT("0 * * * *") },
};

#define ALL_HOURS   UINT32_C(0xffffff)
#define ANY_WEEK    0x3eu /* bits 1 to 5 */
#define SUNDAY_LAST 7u

/* ---- reading ---- */

struct reader {
	struct cron *cron;
	struct buf *error; /* or NULL */
};

static bool complain(const struct reader *r, const struct field *field, const char *expected,
		     struct qless_str found)
{
	if (r->error != NULL)
		buf_printf(r->error, "The %s of cron must %s; found \"%.*s\"", field->name,
			   expected, (int)found.len, found.ptr);
	return false;
}

static bool complain_of_value(const struct reader *r, const struct field *field,
			      struct qless_str found)
{
	if (r->error != NULL)
		buf_printf(r->error, "The %s of cron must be %s; found \"%.*s\"", field->name,
			   field->expected, (int)found.len, found.ptr);
	return false;
}

/* Split the text at the first separator. The rest has a NULL pointer if there is none. */
static struct qless_str split(struct qless_str text, char separator, struct qless_str *ret_rest)
{
	const char *at = text.len != 0 ? memchr(text.ptr, separator, text.len) : NULL;

	if (at == NULL) {
		*ret_rest = str_make(NULL, 0);
		return text;
	}
	*ret_rest = str_make(at + 1, (size_t)(text.ptr + text.len - at) - 1);
	return str_make(text.ptr, (size_t)(at - text.ptr));
}

static bool read_number(struct qless_str text, unsigned min, unsigned max, unsigned *ret_value)
{
	uint64_t value = 0;

	/* Leading zeros are usual: "05". */
	if (text.len == 0 || text.len > 2)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
		value = value * 10 + (unsigned)(text.ptr[i] - '0');
	}
	if (value < min || value > max)
		return false;
	*ret_value = (unsigned)value;
	return true;
}

static bool read_name(const struct field *field, struct qless_str text, unsigned *ret_value)
{
	if (field->names == NULL || text.len != NAME_LETTERS)
		return false;
	for (unsigned i = 0; field->names[(size_t)i * NAME_LETTERS] != '\0'; i++) {
		if (str_equal_nocase(text, str_make(field->names + (size_t)i * NAME_LETTERS,
						    NAME_LETTERS))) {
			*ret_value = field->min + i;
			return true;
		}
	}
	return false;
}

static bool read_value(const struct field *field, struct qless_str text, unsigned *ret_value)
{
	return read_number(text, field->min, field->max, ret_value) ||
	       read_name(field, text, ret_value);
}

static void add_value(struct cron *cron, const struct field *field, unsigned value)
{
	switch (field - fields) {
	case SECOND:
		cron->seconds |= UINT64_C(1) << value;
		break;
	case MINUTE:
		cron->minutes |= UINT64_C(1) << value;
		break;
	case HOUR:
		cron->hours |= UINT32_C(1) << value;
		break;
	case DAY:
		cron->days |= UINT32_C(1) << value;
		break;
	case MONTH:
		cron->months |= UINT32_C(1) << value;
		break;
	default:
		cron->weekdays[value % 7] |= ANY_WEEK;
		break;
	}
}

/* Whether the text, which is not empty, has the form of L, 5L or 1#2. */
static bool is_day_word(const struct field *field, struct qless_str text)
{
	bool ends_in_l = (text.ptr[text.len - 1] | 0x20) == 'l';

	if (field == &fields[DAY])
		return text.len == 1 && ends_in_l;
	return field == &fields[WEEKDAY] && (ends_in_l || memchr(text.ptr, '#', text.len) != NULL);
}

static bool read_day_word(const struct reader *r, const struct field *field, struct qless_str text)
{
	struct qless_str week_text;
	struct qless_str day_text;
	unsigned day, week;

	if (field == &fields[DAY]) {
		r->cron->has_last_day = true;
		return true;
	}
	day_text = split(text, '#', &week_text);
	if (week_text.ptr == NULL)
		day_text.len--;
	if (!read_value(field, day_text, &day))
		return complain_of_value(r, field, text);
	if (week_text.ptr == NULL) {
		r->cron->weekdays[day % 7] |= CRON_LAST;
		return true;
	}
	if (!read_number(week_text, 1, 5, &week))
		return complain(r, field, "have a week from 1 to 5 after #", text);
	r->cron->weekdays[day % 7] |= (uint8_t)(1u << week);
	return true;
}

static bool is_star(const struct field *field, struct qless_str text)
{
	if (text.len != 1)
		return false;
	return text.ptr[0] == '*' ||
	       (text.ptr[0] == '?' && (field == &fields[DAY] || field == &fields[WEEKDAY]));
}

/* The values of `10`, `10-20` or a star. A single value that has a step goes on to the end. */
static bool read_range(const struct reader *r, const struct field *field, struct qless_str text,
		       bool has_step, unsigned *ret_first, unsigned *ret_last)
{
	struct qless_str last_text;
	struct qless_str first_text = split(text, '-', &last_text);

	if (is_star(field, text)) {
		*ret_first = field->min;
		*ret_last = field == &fields[WEEKDAY] ? field->max - 1 : field->max;
		return true;
	}
	if (!read_value(field, first_text, ret_first))
		return complain_of_value(r, field, text);
	*ret_last = has_step ? field->max : *ret_first;
	if (last_text.ptr == NULL)
		return true;
	if (!read_value(field, last_text, ret_last))
		return complain_of_value(r, field, text);
	/* A week may end with Sunday. */
	if (field == &fields[WEEKDAY] && *ret_last == 0 && *ret_first > 0)
		*ret_last = SUNDAY_LAST;
	if (*ret_last < *ret_first)
		return complain(r, field, "have ranges from low to high", text);
	return true;
}

static bool read_item(const struct reader *r, const struct field *field, struct qless_str text)
{
	struct qless_str step_text;
	struct qless_str range = split(text, '/', &step_text);
	unsigned values = field->max - field->min + (field != &fields[WEEKDAY]);
	unsigned first, last, step = 1;

	if (is_day_word(field, text))
		return read_day_word(r, field, text);
	if (!read_range(r, field, range, step_text.ptr != NULL, &first, &last))
		return false;
	if (step_text.ptr != NULL && !read_number(step_text, 1, values, &step))
		return complain(r, field, "have a step of at least 1 that fits into its values",
				text);
	for (unsigned value = first; value <= last; value += step)
		add_value(r->cron, field, value);
	return true;
}

static bool read_field(const struct reader *r, const struct field *field, struct qless_str text)
{
	struct qless_str rest = text;

	while (rest.ptr != NULL) {
		struct qless_str item = split(rest, ',', &rest);

		if (item.len == 0)
			return complain_of_value(r, field, text);
		if (!read_item(r, field, item))
			return false;
	}
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Take the next word. It is empty at the end. */
static struct qless_str take_word(struct qless_str *text)
{
	const char *end = text->ptr + text->len;
	const char *begin = text->ptr;
	const char *at;

	while (begin < end && is_blank(*begin))
		begin++;
	for (at = begin; at < end && !is_blank(*at); at++)
		continue;
	*text = str_make(at, (size_t)(end - at));
	return str_make(begin, (size_t)(at - begin));
}

/* The words of an expression. One more than there are fields means that there are too many. */
static size_t split_words(struct qless_str text, struct qless_str words[FIELDS + 1])
{
	size_t count = 0;

	while (count <= FIELDS && (words[count] = take_word(&text)).len > 0)
		count++;
	return count;
}

static bool expand_shortcut(struct qless_str word, struct qless_str *ret_text)
{
	for (size_t i = 0; i < sizeof shortcuts / sizeof *shortcuts; i++) {
		if (str_equal_nocase(word, shortcuts[i].name)) {
			*ret_text = shortcuts[i].text;
			return true;
		}
	}
	return false;
}

static bool begins_with_star(struct qless_str word)
{
	return word.ptr[0] == '*' || word.ptr[0] == '?';
}

static bool read_words(const struct reader *r, const struct qless_str *words, size_t count)
{
	size_t first = count == FIELDS ? SECOND : MINUTE;

	if (first == MINUTE)
		r->cron->seconds = 1;
	for (size_t i = 0; i < count; i++) {
		if (!read_field(r, &fields[first + i], words[i]))
			return false;
	}
	r->cron->needs_both =
		begins_with_star(words[count - 1]) || begins_with_star(words[count - 3]);
	return true;
}

static bool has_a_day(const struct cron *cron);

bool cron_parse(struct qless_str text, struct cron *ret_cron, struct buf *ret_error)
{
	struct cron cron = { 0 };
	struct reader r = { &cron, ret_error };
	struct qless_str words[FIELDS + 1];
	struct qless_str full = text;
	size_t count;

	if (text.len > CRON_TEXT_MAX) {
		if (ret_error != NULL)
			buf_printf(ret_error, "cron must have at most %d bytes; found %zu",
				   CRON_TEXT_MAX, text.len);
		return false;
	}
	count = split_words(text, words);
	if (count == 1 && words[0].ptr[0] == '@' && expand_shortcut(words[0], &full))
		count = split_words(full, words);
	if (count != FIELDS && count != FIELDS - 1) {
		if (ret_error != NULL)
			buf_printf(ret_error,
				   "cron must have five or six fields, or be a word such as "
				   "@daily; found \"%.*s\"",
				   (int)text.len, text.ptr);
		return false;
	}
	if (!read_words(&r, words, count))
		return false;
	if (!has_a_day(&cron)) {
		if (ret_error != NULL)
			buf_printf(ret_error, "cron must match a day of some year; found \"%.*s\"",
				   (int)text.len, text.ptr);
		return false;
	}
	*ret_cron = cron;
	return true;
}

/* ---- local time ---- */

/* Years after which a day that matches has come, if there is one. February 29 is a given weekday
 * after at most 40 years. */
#define YEARS_MAX 41

/* A bit for each day of the month that is one of the weekdays. */
static uint32_t match_weekdays(const struct cron *cron, int64_t first_day, int days)
{
	int weekday = civil_weekday(first_day);
	uint32_t mask = 0;

	for (int day = 1; day <= days; day++) {
		unsigned weeks = 1u << ((day - 1) / 7 + 1);

		if (day + 7 > days)
			weeks |= CRON_LAST;
		if ((cron->weekdays[weekday] & weeks) != 0)
			mask |= UINT32_C(1) << day;
		weekday = weekday < 6 ? weekday + 1 : 0;
	}
	return mask;
}

static uint32_t match_days(const struct cron *cron, int year, int month)
{
	int days = civil_month_days(year, month);
	uint32_t all = (uint32_t)((UINT64_C(1) << (days + 1)) - 2);
	uint32_t mask = cron->days & all;
	uint32_t by_weekday = match_weekdays(cron, civil_first_day(year, month), days);

	if (cron->has_last_day)
		mask |= UINT32_C(1) << days;
	return cron->needs_both ? mask & by_weekday : mask | by_weekday;
}

/* The first value of the set that is at least `from`; -1 if there is none. */
static int next_bit(uint64_t set, int from)
{
	uint64_t left = from < 64 ? set >> from << from : 0;

	return left != 0 ? __builtin_ctzll(left) : -1;
}

/* Find the first matching day that is at least `day`. */
static bool next_day(const struct cron *cron, int64_t day, int64_t *ret_day)
{
	struct civil_date date = civil_date_of(day);
	int last_year = date.year + YEARS_MAX;

	while (date.year <= last_year) {
		int month = next_bit(cron->months, date.month);

		if (month < 0) {
			date = (struct civil_date){ date.year + 1, 1, 1 };
			continue;
		}
		if (month > date.month)
			date.day = 1;
		date.day = next_bit(match_days(cron, date.year, month), date.day);
		if (date.day >= 0) {
			*ret_day = civil_first_day(date.year, month) + date.day - 1;
			return true;
		}
		date = (struct civil_date){ date.year, month + 1, 1 };
	}
	return false;
}

static bool has_a_day(const struct cron *cron)
{
	int64_t day;

	return next_day(cron, 0, &day);
}

/* Find the first matching second of a day that is at least `from`. Returns -1 if there is none. */
static int next_second(const struct cron *cron, int from)
{
	int hour = from / CIVIL_HOUR_SECONDS;
	int minute = from / 60 % 60;
	int second = next_bit(cron->seconds, from % 60);
	int found;

	if (second < 0)
		minute++;
	found = next_bit(cron->minutes, minute);
	if ((cron->hours >> hour & 1) == 0 || found < 0) {
		hour = next_bit(cron->hours, hour + 1);
		found = next_bit(cron->minutes, 0);
		minute = -1;
	}
	if (hour < 0)
		return -1;
	if (found != minute || second < 0)
		second = next_bit(cron->seconds, 0);
	return hour * CIVIL_HOUR_SECONDS + found * 60 + second;
}

static int64_t divide_days(int64_t local, int *ret_seconds)
{
	int64_t seconds = local % CIVIL_DAY_SECONDS;

	if (seconds < 0)
		seconds += CIVIL_DAY_SECONDS;
	*ret_seconds = (int)seconds;
	return (local - seconds) / CIVIL_DAY_SECONDS;
}

/* Find the first matching local time that is at least `from`. Both are seconds since 1970 on the
 * clock of the zone. */
static bool next_local(const struct cron *cron, int64_t from, int64_t *ret_local)
{
	int seconds;
	int64_t day = divide_days(from, &seconds), found;
	int second;

	if (!next_day(cron, day, &found))
		return false;
	second = next_second(cron, found == day ? seconds : 0);
	if (second < 0) {
		if (!next_day(cron, day + 1, &found))
			return false;
		second = next_second(cron, 0);
	}
	*ret_local = found * CIVIL_DAY_SECONDS + second;
	return true;
}

/* ---- ticks ---- */

/* Whether a tick in the time that the clocks skip is made up for. */
static bool makes_up(const struct cron *cron, int32_t skipped)
{
	return cron->hours != ALL_HOURS || skipped % CIVIL_HOUR_SECONDS != 0;
}

/* The first local time of the span, from `instant` on, at which a tick may be. */
static int64_t first_local(const struct cron *cron, const struct zone_span *span, int64_t instant)
{
	int64_t local = instant + span->offset;

	/* Until then, the clocks show what they have shown already. */
	if (cron->hours != ALL_HOURS && span->before > span->offset &&
	    local < span->since + span->before)
		return span->since + span->before;
	return local;
}

bool cron_next(const struct cron *cron, const struct zone *zone, int64_t after, int64_t *ret_tick)
{
	int32_t ahead = zone->daylight > zone->standard ? zone->daylight : zone->standard;
	int64_t at, local, early;
	struct zone_span span;

	if (after >= ZONE_INSTANT_MAX)
		return false;
	if (after < ZONE_INSTANT_MIN)
		after = ZONE_INSTANT_MIN - 1;
	at = after + 1;
	/* The span of `after`: the clocks may change at the next second, and skip a tick. */
	span = zone_span_at(zone, after >= ZONE_INSTANT_MIN ? after : at);
	while (true) {
		if (!next_local(cron, first_local(cron, &span, at), &local))
			return false;
		if (local - span.offset < span.until) {
			*ret_tick = local - span.offset;
			return *ret_tick <= ZONE_INSTANT_MAX;
		}
		if (local < span.until + span.after && makes_up(cron, span.after - span.offset)) {
			*ret_tick = span.until;
			return true;
		}
		/* The clocks do not show `local` before it is `early`, and nothing before `local`
		 * matches. But they may show again what was before `after`. */
		early = span.after < span.offset ? span.until : local - ahead;
		at = early > span.until ? early : span.until;
		if (at > ZONE_INSTANT_MAX)
			return false;
		span = zone_span_at(zone, at);
	}
}

bool cron_last(const struct cron *cron, const struct zone *zone, int64_t after, int64_t until,
	       int64_t *ret_tick)
{
	int64_t early = after, late = until, tick;

	if (!cron_next(cron, zone, after, &tick) || tick > until)
		return false;
	/* The last tick is later than `early` and at most `late`. */
	while (late - early > 1) {
		int64_t middle = early + (late - early) / 2;

		if (cron_next(cron, zone, middle, &tick) && tick <= until)
			early = middle;
		else
			late = middle;
	}
	*ret_tick = late;
	return true;
}
