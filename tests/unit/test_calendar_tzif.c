/*
 * The zone files of this machine, compared with the C library, which reads them in its own way.
 */
#include "calendar/tzif.h"

#include <stdlib.h>
#include <time.h>

#include "calendar/civil.h"
#include "calendar/zone.h"
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

static void compare_with_libc(const char *name, struct qless_str rule)
{
	int64_t end = now() + (int64_t)YEARS * 366 * CIVIL_DAY_SECONDS;
	struct zone zone;
	struct zone_span span;

	TEST_ASSERT_TRUE(zone_parse(rule, &zone, NULL));
	set_zone(name);
	for (int64_t at = now(); at < end; at += STEP) {
		span = zone_span_at(&zone, at);
		TEST_ASSERT_EQUAL_INT64_MESSAGE(offset_at(at), span.offset, name);
		if (span.until >= at + STEP)
			continue;
		TEST_ASSERT_EQUAL_INT64_MESSAGE(offset_at(span.until), span.after, name);
		TEST_ASSERT_EQUAL_INT64_MESSAGE(offset_at(span.until - 1), span.offset, name);
	}
}

/* The clocks of these zones follow the moon for a part of the year, so that no rule describes them.
 */
static bool is_by_the_moon(const char *name)
{
	static const char *const zones[] = { "Africa/Casablanca", "Africa/El_Aaiun", "Asia/Gaza",
					     "Asia/Hebron" };

	for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
		if (strcmp(name, zones[i]) == 0)
			return true;
	}
	return false;
}

static void all_zones_are_as_the_c_library_has_them(void)
{
	struct buf list = BUF_INIT(FILE_MAX);
	struct qless_str rule;
	char *line, *next;
	int zones = 0;

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
		if (tzif_find_rule(buf_str(&file), now(), &rule, &error))
			compare_with_libc(name, rule);
		else
			TEST_ASSERT_TRUE_MESSAGE(is_by_the_moon(name), name);
	}
	TEST_ASSERT_GREATER_THAN_INT(ZONES_MIN, zones);
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

static void a_zone_whose_changes_no_rule_describes_is_refused(void)
{
	struct qless_str rule;

	read_zone("Africa/Casablanca");
	assert_refused(buf_str(&file), now(),
		       "it has changes of the clocks in the future that no rule describes");
	/* After the last of these changes, the rule says everything. */
	TEST_ASSERT_TRUE(tzif_find_rule(buf_str(&file), INT64_C(4102444800), &rule, &error));
	ASSERT_STR("<+01>-1", rule);
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
	RUN(files_without_a_rule_are_refused);
	RUN(every_truncated_file_is_refused);
	return UNIT_RESULT();
}
