/*
 * A clock that is wrong, on the machine of the server or on that of a client.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ahead.h"
#include "peer.h"
#include "unit.h"
#include "wait.h"

#define YEAR_S INT64_C(31536000)

static struct qlessd q;
static struct peer *p;
static struct ahead ahead;

/* Locks last ten minutes, because the tests let a minute pass at once. */
void setUp(void)
{
	ahead_init(&ahead);
	p = ahead_connect(&q, false);
	ASK(p, "CONFIG.SET heartbeat 600", "$-1\r\n");
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	ahead_done(&ahead);
}

static void set_wall_clock(int64_t ahead_s)
{
	ahead.us[0] = ahead_s * 1000000;
}

/* Let time pass for the server, on all its clocks. */
static void pass(int64_t seconds)
{
	ahead.us[0] += seconds * 1000000;
	ahead.us[1] += seconds * 1000000;
}

static int64_t steps(void)
{
	return peer_ask_number(p, "INFO server", "clock_steps:");
}

static int64_t seconds_ahead(void)
{
	return peer_ask_number(p, "INFO server", "clock_ahead_seconds:");
}

/* The expiry of the lock of a job, in seconds of the server's wall clock. */
static int64_t lock_expires(const char *jid)
{
	char words[64];

	snprintf(words, sizeof words, "GET %s", jid);
	return peer_ask_number(p, words, "\"expires\":");
}

/* The expiry of the lock of a job, in seconds from the test's own time. */
static int64_t lock_left(const char *jid)
{
	return lock_expires(jid) - (int64_t)time(NULL);
}

static void put_and_pop(const char *jid)
{
	char words[64], reply[64];

	snprintf(words, sizeof words, "PUT w q %s k {} 0", jid);
	snprintf(reply, sizeof reply, "$%zu\r\n%s\r\n", strlen(jid), jid);
	ASK(p, words, reply);
	ASK_HAS(p, "POP q w 1", jid);
}

static void a_clock_that_is_wrong_for_a_moment_does_not_expire_locks(void)
{
	put_and_pop("a");
	set_wall_clock(YEAR_S);
	WAIT_UNTIL(qlessd_has_logged(&q, "the clock of this machine was set from"));
	ASK(p, "POP q other 1", "$2\r\n[]\r\n");
	put_and_pop("b");
	TEST_ASSERT_INT64_WITHIN(300, -YEAR_S, seconds_ahead());
	set_wall_clock(0);
	WAIT_UNTIL(qlessd_has_logged(&q, "the clock of this machine is right again"));
	TEST_ASSERT_INT64_WITHIN(60, 600, lock_left("b"));
	TEST_ASSERT_INT64_WITHIN(60, 0, seconds_ahead());
	TEST_ASSERT_EQUAL_INT64(0, steps());
}

static void a_clock_that_stays_ahead_is_followed_and_locks_keep_their_time(void)
{
	put_and_pop("a");
	set_wall_clock(YEAR_S);
	WAIT_UNTIL(qlessd_has_logged(&q, "the clock of this machine was set from"));
	TEST_ASSERT_INT64_WITHIN(60, 600, lock_left("a"));
	pass(61);
	WAIT_UNTIL(steps() == 1);
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "so qlessd follows it"));
	TEST_ASSERT_INT64_WITHIN(60, YEAR_S + 600, lock_left("a"));
	TEST_ASSERT_INT64_WITHIN(60, 0, seconds_ahead());
	put_and_pop("b");
	TEST_ASSERT_INT64_WITHIN(60, YEAR_S + 661, lock_left("b"));

	/* The way back: set the clock right. */
	set_wall_clock(61);
	WAIT_UNTIL(peer_ask_number(p, "INFO server", "clock_ahead_seconds:") > YEAR_S / 2);
	WAIT_UNTIL(qlessd_has_logged(&q, "by -31536"));
	pass(61);
	WAIT_UNTIL(steps() == 2);
	TEST_ASSERT_INT64_WITHIN(60, 661, lock_left("b"));
	TEST_ASSERT_INT64_WITHIN(60, 600, lock_left("a"));
}

static void a_step_is_in_the_log(void)
{
	int64_t expires;

	put_and_pop("a");
	set_wall_clock(YEAR_S);
	WAIT_UNTIL(qlessd_has_logged(&q, "the clock of this machine was set from"));
	pass(61);
	WAIT_UNTIL(steps() == 1);
	expires = lock_expires("a");
	ASK(p, "CONFIG SET appendfsync always", "+OK\r\n");
	put_and_pop("b");
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	p = ahead_connect(&q, true);
	TEST_ASSERT_EQUAL_INT64(expires, lock_expires("a"));
}

static void a_log_from_the_future_is_loaded_with_a_warning(void)
{
	set_wall_clock(YEAR_S);
	WAIT_UNTIL(qlessd_has_logged(&q, "the clock of this machine was set from"));
	pass(61);
	WAIT_UNTIL(steps() == 1);
	put_and_pop("a");
	ASK(p, "CONFIG SET appendfsync always", "+OK\r\n");
	put_and_pop("b");
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	set_wall_clock(0);
	ahead.us[1] = 0;
	p = ahead_connect(&q, true);
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "seconds after the clock of this machine"));
	TEST_ASSERT_EQUAL_INT64(1, steps());
	TEST_ASSERT_INT64_WITHIN(60, 0, seconds_ahead());
	TEST_ASSERT_INT64_WITHIN(60, 600, lock_left("a"));
	put_and_pop("c");
	TEST_ASSERT_INT64_WITHIN(60, 600, lock_left("c"));
	/* The next start has nothing to warn of. */
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	p = ahead_connect(&q, true);
	TEST_ASSERT_EQUAL_INT64(0, steps());
}

static void a_start_long_after_the_end_of_the_log_is_logged(void)
{
	put_and_pop("a");
	ahead_end(&q);
	p = ahead_connect(&q, true);
	TEST_ASSERT_FALSE(qlessd_has_logged(&q, "days before the clock"));
	ahead_end(&q);
	set_wall_clock(YEAR_S);
	p = ahead_connect(&q, true);
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "365.0 days before the clock of this machine"));
}

static void a_client_from_the_future_is_refused(void)
{
	char words[128];

	put_and_pop("a");
	ASK_HAS(p, "QLESS pop 1e12 q thief 1", "-CLOCKSKEW the time 1000000000000 is ");
	ASK_HAS(p, "QLESS complete 1e12 a w q {}", "-CLOCKSKEW the time ");
	snprintf(words, sizeof words, "QLESS length %lld q", (long long)time(NULL) + 3500);
	ASK(p, words, ":1\r\n");
	ASK(p, "QLESS length 12 q", ":1\r\n");
	TEST_ASSERT_EQUAL_INT64(2, peer_ask_number(p, "INFO clients", "clock_skew_refused:"));
	ASK(p, "CONFIG SET max-clock-skew 0", "+OK\r\n");
	ASK(p, "QLESS length 1e12 q", ":1\r\n");
}

static void a_queued_command_from_the_future_is_refused_when_it_runs(void)
{
	put_and_pop("a");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "QLESS pop 1e12 q thief 1", "+QUEUED\r\n");
	ASK(p, "PING", "+QUEUED\r\n");
	ASK_HAS(p, "EXEC", "*2\r\n-CLOCKSKEW the time ");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_clock_that_is_wrong_for_a_moment_does_not_expire_locks);
	RUN(a_clock_that_stays_ahead_is_followed_and_locks_keep_their_time);
	RUN(a_step_is_in_the_log);
	RUN(a_log_from_the_future_is_loaded_with_a_warning);
	RUN(a_start_long_after_the_end_of_the_log_is_logged);
	RUN(a_client_from_the_future_is_refused);
	RUN(a_queued_command_from_the_future_is_refused_when_it_runs);
	return UNIT_RESULT();
}
