/*
 * The zone files of this machine, compared with the C library, which reads them in its own way.
 */
#include "calendar/tzif.h"

#include <stdlib.h>
#include <time.h>

#include "calendar/civil.h"
#include "calendar/zone.h"
#include "madezone.h"
#include "sys/files.h"
#include "unit.h"

#define ZONES	   "/usr/share/zoneinfo/"
#define FILE_MAX   ((size_t)1 << 20)
#define YEARS	   20
#define FIRST_YEAR 2026
#define ZONES_MIN  300 /* lines of the list of zones */
#define STEP	   (6 * 3600)

static struct buf file;
static struct buf error;

void setUp(void)
{
	buf_init(&file, FILE_MAX);
	buf_init(&error, 4096);
}

void tearDown(void)
{
	buf_done(&file);
	buf_done(&error);
	unsetenv("TZ");
	tzset();
}

static int64_t now(void)
{
	return civil_first_day(FIRST_YEAR, 1) * CIVIL_DAY_SECONDS;
}

static void read_zone(const char *name)
{
	char path[256];

	buf_clear(&file);
	buf_clear(&error);
	snprintf(path, sizeof path, ZONES "%s", name);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, files_read(path, FILE_MAX, &file), path);
}

static void set_zone(const char *name)
{
	char value[256];

	snprintf(value, sizeof value, ":%s", name);
	setenv("TZ", value, 1);
	tzset();
}

/* The offset of the zone of the environment. */
static long offset_at(int64_t at)
{
	time_t when = (time_t)at;
	struct tm tm;

	TEST_ASSERT_NOT_NULL(localtime_r(&when, &tm));
	return tm.tm_gmtoff;
}

/* Whether the rule and the C library have the same offsets. */
static bool agrees_with_libc(const char *name, struct qless_str rule)
{
	int64_t end = now() + (int64_t)YEARS * 366 * CIVIL_DAY_SECONDS;
	struct zone zone;
	struct zone_span span;

	TEST_ASSERT_TRUE(zone_parse(rule, &zone, NULL));
	set_zone(name);
	for (int64_t at = now(); at < end; at += STEP) {
		span = zone_span_at(&zone, at);
		if (offset_at(at) != span.offset)
			return false;
		if (span.until < at + STEP && (offset_at(span.until) != span.after ||
					       offset_at(span.until - 1) != span.offset))
			return false;
	}
	return true;
}

/* The last line of a zone file. */
static struct qless_str last_line(struct qless_str bytes)
{
	size_t begin = bytes.len - 1;

	while (bytes.ptr[begin - 1] != '\n')
		begin--;
	return str_make(bytes.ptr + begin, bytes.len - 1 - begin);
}

static void all_zones_are_as_the_c_library_has_them(void)
{
	struct buf list = BUF_INIT(FILE_MAX);
	struct qless_str rule;
	char *line, *next;
	int zones = 0, refused = 0;

	TEST_ASSERT_EQUAL_INT(0, files_read(ZONES "zone1970.tab", FILE_MAX, &list));
	for (line = buf_cstr(&list); *line != '\0'; line = next) {
		char *name = strchr(line, '\t');

		next = line + strcspn(line, "\n");
		next += *next == '\n';
		if (*line == '#' || name == NULL)
			continue;
		name = strchr(name + 1, '\t') + 1;
		name[strcspn(name, "\t\n")] = '\0';
		zones++;
		read_zone(name);
		if (!tzif_find_rule(buf_str(&file), now(), &rule, &error)) {
			rule = last_line(buf_str(&file));
			TEST_ASSERT_FALSE_MESSAGE(agrees_with_libc(name, rule), name);
			refused++;
		} else {
			TEST_ASSERT_TRUE_MESSAGE(agrees_with_libc(name, rule), name);
		}
	}
	TEST_ASSERT_GREATER_THAN_INT(ZONES_MIN, zones);
	TEST_ASSERT_LESS_THAN_INT(zones / 10, refused);
	buf_done(&list);
}

static void the_rule_is_the_last_line(void)
{
	struct qless_str rule;

	read_zone("Europe/Berlin");
	TEST_ASSERT_TRUE(tzif_find_rule(buf_str(&file), now(), &rule, &error));
	ASSERT_STR("CET-1CEST,M3.5.0,M10.5.0/3", rule);
	read_zone("UTC");
	TEST_ASSERT_TRUE(tzif_find_rule(buf_str(&file), now(), &rule, &error));
	ASSERT_STR("UTC0", rule);
}

static void assert_refused(struct qless_str bytes, int64_t when, const char *reason)
{
	struct qless_str rule;

	buf_clear(&error);
	TEST_ASSERT_FALSE(tzif_find_rule(bytes, when, &rule, &error));
	TEST_ASSERT_EQUAL_STRING(reason, buf_cstr(&error));
}

#define HOUR 3600
#define DAY  INT64_C(86400)

static bool is_found(int64_t when)
{
	struct qless_str rule;

	buf_clear(&error);
	return tzif_find_rule(buf_str(&file), when, &rule, &error);
}

static void a_zone_whose_changes_no_rule_describes_is_refused(void)
{
	static const struct made_change changes[] = {
		{ 1000 * DAY, 0 }, { 1030 * DAY, HOUR }, { 1354 * DAY, 0 }, { 1384 * DAY, HOUR }
	};

	madezone_append(&file, HOUR, changes, 4, STR("<+01>-1"));
	assert_refused(buf_str(&file), 0,
		       "it has changes of the clocks in the future that no rule describes");
	TEST_ASSERT_FALSE(is_found(1029 * DAY));
	TEST_ASSERT_FALSE(is_found(1353 * DAY));
	/* The clocks are back, and the rule says so. */
	TEST_ASSERT_TRUE(is_found(1384 * DAY));
}

/* By law, the clocks stay as they will be after the next change. */
static void a_rule_that_does_not_count_yet_is_refused(void)
{
	static const struct made_change changes[] = { { 1000 * DAY, HOUR }, { 1200 * DAY, HOUR } };

	madezone_append(&file, 0, changes, 2, STR("<+01>-1"));
	TEST_ASSERT_FALSE(is_found(0));
	TEST_ASSERT_FALSE(is_found(1000 * DAY - 1));
	TEST_ASSERT_TRUE(is_found(1000 * DAY));
	TEST_ASSERT_TRUE(is_found(1200 * DAY));
}

/* The rule changes the clocks in each March and October, and the list does not. */
static void a_rule_with_more_changes_than_the_list_is_refused(void)
{
	static const struct made_change changes[] = { { 1100 * DAY, HOUR }, { 2200 * DAY, HOUR } };

	madezone_append(&file, HOUR, changes, 2, STR("CET-1CEST,M3.5.0,M10.5.0/3"));
	TEST_ASSERT_FALSE(is_found(0));
	TEST_ASSERT_FALSE(is_found(1100 * DAY));
	TEST_ASSERT_TRUE(is_found(2200 * DAY));
}

static void files_without_a_rule_are_refused(void)
{
	struct buf copy = BUF_INIT(FILE_MAX);
	struct qless_str whole;

	assert_refused(STR(""), now(), "it is not a zone file");
	assert_refused(STR("# tab-separated list of zones, and some more text"), now(),
		       "it is not a zone file");
	read_zone("Europe/Berlin");
	whole = buf_str(&file);
	buf_append_str(&copy, whole);
	buf_data(&copy)[4] = '\0';
	assert_refused(buf_str(&copy), now(), "it is a zone file of version 1, which has no rule");
	/* The two newlines around nothing. */
	buf_clear(&copy);
	buf_append(&copy, whole.ptr, whole.len - sizeof "CET-1CEST,M3.5.0,M10.5.0/3");
	buf_append_char(&copy, '\n');
	assert_refused(buf_str(&copy), now(), "its zone has no rule for the future");
	buf_done(&copy);
}

static void every_truncated_file_is_refused(void)
{
	struct qless_str rule;

	read_zone("Europe/Berlin");
	for (size_t len = 0; len < file.len; len++) {
		/* A block of exactly this size: a sanitizer notices a read of the next byte. */
		char *copy = malloc(len + 1);

		memcpy(copy + 1, buf_data(&file), len);
		buf_clear(&error);
		TEST_ASSERT_FALSE(tzif_find_rule(str_make(copy + 1, len), now(), &rule, &error));
		TEST_ASSERT_GREATER_THAN_size_t(0, error.len);
		free(copy);
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(all_zones_are_as_the_c_library_has_them);
	RUN(the_rule_is_the_last_line);
	RUN(a_zone_whose_changes_no_rule_describes_is_refused);
	RUN(a_rule_that_does_not_count_yet_is_refused);
	RUN(a_rule_with_more_changes_than_the_list_is_refused);
	RUN(files_without_a_rule_are_refused);
	RUN(every_truncated_file_is_refused);
	return UNIT_RESULT();
}
