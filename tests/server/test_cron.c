/*
 * Recurring jobs with a cron expression, in the time of the server. A tab separates the fields of
 * an expression here, because blanks separate the words of a command.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "ahead.h"
#include "madezone.h"
#include "peer.h"
#include "tempdir.h"
#include "unit.h"
#include "wait.h"

#define HOUR 3600
#define DAY  86400

/* Ticks that the first case waits for, and turns of the loop that each may cost. */
#define SECONDS	       3
#define TURNS_PER_TICK 10

/* 2027-03-27 11:00 UTC, the day before the clocks of Berlin go forward. */
#define BEFORE_SPRING INT64_C(1806145200)
/* 2026-10-24 10:00 UTC, the day before they go back. */
#define BEFORE_AUTUMN INT64_C(1792836000)

static struct qlessd q;
static struct peer *p;
static struct ahead ahead;

void setUp(void)
{
	ahead_init(&ahead);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	ahead_done(&ahead);
	unsetenv("TZDIR");
}

/* Set the wall clock of the next server. */
static void set_wall_clock(int64_t seconds)
{
	ahead.us[0] = (seconds - (int64_t)time(NULL)) * 1000000;
}

/* The number of jobs that the recurring job has made. */
static int64_t jobs_made(void)
{
	return peer_ask_number(p, "RECUR.GET r", "\"count\":");
}

/* Let the hours pass one by one. The server looks at its clock when it gets a command. */
static void pass_hours(int hours)
{
	for (int i = 0; i < hours; i++) {
		ahead_pass(&ahead, &q, HOUR);
		ASK(p, "PING", "+PONG\r\n");
	}
}

static void assert_job_of(const char *jid, int64_t when)
{
	char words[64], text[64];

	snprintf(words, sizeof words, "GET %s", jid);
	snprintf(text, sizeof text, "\"history\":[{\"when\":%lld,", (long long)when);
	ASK_HAS(p, words, text);
}

static void each_second_gives_a_waiting_worker_a_job(void)
{
	int64_t turns;
	char jid[32];

	p = ahead_connect(&q, false);
	turns = peer_ask_number(p, "INFO stats", "eventloop_cycles:");
	ASK(p, "RECUR q r k {} cron *\t*\t*\t*\t*\t*", "$1\r\nr\r\n");
	for (int i = 1; i <= SECONDS; i++) {
		snprintf(jid, sizeof jid, "\"jid\":\"r-%d\"", i);
		ASK_HAS(p, "BPOP 0 w 1 q", jid);
	}
	turns = peer_ask_number(p, "INFO stats", "eventloop_cycles:") - turns;
	TEST_ASSERT_LESS_THAN_INT64(SECONDS * TURNS_PER_TICK, turns);
}

static void ticks_make_jobs_although_nobody_asks_for_them(void)
{
	p = ahead_connect(&q, false);
	ASK(p, "PAUSE q", "$-1\r\n");
	ASK(p, "RECUR q r k {} cron *\t*\t*\t*\t*\t*", "$1\r\nr\r\n");
	WAIT_UNTIL(jobs_made() >= 2);
	TEST_ASSERT_GREATER_OR_EQUAL_INT64(2, peer_ask_number(p, "QUEUES q", "\"waiting\":"));
}

static void no_tick_is_lost_when_the_clocks_go_forward(void)
{
	set_wall_clock(BEFORE_SPRING);
	p = ahead_connect(&q, false);
	ASK(p, "RECUR q r k {} cron 30\t2\t*\t*\t* tz Europe/Berlin", "$1\r\nr\r\n");
	ASK(p, "RECUR.NEXT r 3", "$34\r\n[1806195600,1806280200,1806366600]\r\n");
	pass_hours(24);
	WAIT_UNTIL(jobs_made() == 1);
	assert_job_of("r-1", 1806195600); /* 03:00 */
	pass_hours(24);
	WAIT_UNTIL(jobs_made() == 2);
	assert_job_of("r-2", 1806280200); /* 02:30 */
}

static void no_tick_comes_twice_when_the_clocks_go_back(void)
{
	set_wall_clock(BEFORE_AUTUMN);
	p = ahead_connect(&q, false);
	ASK(p, "RECUR q r k {} cron 30\t2\t*\t*\t* tz Europe/Berlin", "$1\r\nr\r\n");
	pass_hours(26);
	WAIT_UNTIL(jobs_made() == 1);
	assert_job_of("r-1", 1792888200); /* the first 02:30 */
	pass_hours(24);
	WAIT_UNTIL(jobs_made() == 2);
	assert_job_of("r-2", 1792978200);
}

static void ticks_that_the_server_missed_are_made_up_for_as_asked(void)
{
	set_wall_clock(BEFORE_AUTUMN);
	p = ahead_connect(&q, false);
	ASK(p, "RECUR q r k {} cron @hourly", "$1\r\nr\r\n");
	ASK(p, "RECUR q all k {} cron @hourly missed all", "$3\r\nall\r\n");
	ASK(p, "RECUR q skip k {} cron 0,30\t*\t*\t*\t* missed skip", "$4\r\nskip\r\n");
	ahead_end(&q);
	set_wall_clock(BEFORE_AUTUMN + 5 * HOUR + 300);
	p = ahead_connect(&q, true);
	WAIT_UNTIL(jobs_made() == 1);
	assert_job_of("r-1", BEFORE_AUTUMN + 5 * HOUR);
	WAIT_UNTIL(peer_ask_number(p, "RECUR.GET all", "\"count\":") == 5);
	assert_job_of("all-1", BEFORE_AUTUMN + HOUR);
	TEST_ASSERT_EQUAL_INT64(0, peer_ask_number(p, "RECUR.GET skip", "\"count\":"));
	ASK(p, "RECUR.NEXT skip 1", "$12\r\n[1792855800]\r\n");
	/* Another restart finds nothing to make up for. */
	ahead_end(&q);
	p = ahead_connect(&q, true);
	ASK(p, "PING", "+PONG\r\n");
	TEST_ASSERT_EQUAL_INT64(1, jobs_made());
}

static void a_job_does_not_overlap_the_one_before(void)
{
	set_wall_clock(BEFORE_AUTUMN);
	p = ahead_connect(&q, false);
	ASK(p, "CONFIG.SET heartbeat 86400", "$-1\r\n");
	ASK(p, "RECUR q r k {} cron @hourly overlap skip", "$1\r\nr\r\n");
	pass_hours(1);
	WAIT_UNTIL(jobs_made() == 1);
	ASK_HAS(p, "POP q w 1", "\"jid\":\"r-1\"");
	pass_hours(3);
	ASK(p, "RECUR.NEXT r 1", "$12\r\n[1792854000]\r\n");
	TEST_ASSERT_EQUAL_INT64(1, jobs_made());
	ASK_HAS(p, "COMPLETE r-1 w q {}", "complete");
	pass_hours(1);
	WAIT_UNTIL(jobs_made() == 2);
}

/* ---- zone files ---- */

#define ZONE_TEST "RECUR q r k {} cron @daily tz "

static void zones_are_files_of_the_directory_in_the_environment(void)
{
	struct tempdir dir;
	char path[QLESSD_PATH_MAX];

	tempdir_init(&dir);
	setenv("TZDIR", dir.path, 1);
	tempdir_write(&dir, "Text", STR("nothing"));
	tempdir_write(&dir, "Large", STR(""));
	snprintf(path, sizeof path, "%s/Large", dir.path);
	TEST_ASSERT_EQUAL_INT(0, truncate(path, 1 << 20));
	snprintf(path, sizeof path, "%s/Pipe", dir.path);
	TEST_ASSERT_EQUAL_INT(0, mkfifo(path, 0600));
	p = ahead_connect(&q, false);
	ASK_HAS(p, ZONE_TEST "Text", "-BADARG tz cannot be \"Text\": it is not a zone file");
	ASK_HAS(p, ZONE_TEST "Large", "/Large: File too large");
	ASK_HAS(p, ZONE_TEST "Pipe", "there is no file ");
	ASK_HAS(p, ZONE_TEST "Europe/Berlin", "there is no file ");
	ASK_HAS(p, ZONE_TEST "../Text", "-BADARG tz must be the name of a time zone");
	ASK_HAS(p, ZONE_TEST "/etc/passwd", "-BADARG tz must be the name of a time zone");
	/* UTC needs no file. */
	ASK(p, "RECUR q r k {} cron @daily", "$1\r\nr\r\n");
	tempdir_done(&dir);
}

static void a_zone_that_no_rule_describes_is_refused(void)
{
	/* In 2100, the clocks go back for a month. */
	static const struct made_change changes[] = { { INT64_C(4102444800), 0 },
						      { INT64_C(4105123200), 3600 } };
	struct buf file = BUF_INIT(BUF_NO_MAX);
	struct tempdir dir;

	tempdir_init(&dir);
	setenv("TZDIR", dir.path, 1);
	madezone_append(&file, 3600, changes, 2, STR("<+01>-1"));
	tempdir_write(&dir, "Moon", buf_str(&file));
	buf_clear(&file);
	madezone_append(&file, 0, NULL, 0, STR("IST-1GMT0,M10.5.0,M3.5.0/1"));
	tempdir_write(&dir, "Dublin", buf_str(&file));
	p = ahead_connect(&q, false);
	ASK_HAS(p, ZONE_TEST "Moon",
		"it has changes of the clocks in the future that no rule describes");
	ASK(p, "RECUR.GET r", "$-1\r\n");
	ASK(p, ZONE_TEST "Dublin", "$1\r\nr\r\n");
	ASK_HAS(p, "RECUR.GET r", "\"rule\":\"IST-1GMT0,M10.5.0,M3.5.0\\/1\"");
	buf_done(&file);
	tempdir_done(&dir);
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(each_second_gives_a_waiting_worker_a_job);
	RUN(ticks_make_jobs_although_nobody_asks_for_them);
	RUN(no_tick_is_lost_when_the_clocks_go_forward);
	RUN(no_tick_comes_twice_when_the_clocks_go_back);
	RUN(ticks_that_the_server_missed_are_made_up_for_as_asked);
	RUN(a_job_does_not_overlap_the_one_before);
	RUN(zones_are_files_of_the_directory_in_the_environment);
	RUN(a_zone_that_no_rule_describes_is_refused);
	return UNIT_RESULT();
}
