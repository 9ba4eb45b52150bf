/*
 * Jobs that outlast the server, and connections that break.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "ahead.h"
#include "peer.h"
#include "runner.h"
#include "unit.h"
#include "wait.h"

/* Restarts of the server during one job, and renewals of its lock between two of them. */
#define RESTARTS 5
#define RENEWALS 3
/* Seconds of a lock of the queue "short". */
#define SHORT_LOCK "0.5"
/* Seconds after which every lock has expired, and its grace period is over. */
#define LONG_TIME 1000

static struct qlessd q;
static struct peer *p;
static struct runner r;
static struct ahead ahead;

void setUp(void)
{
	runner_begin();
	ahead_init(&ahead);
	p = ahead_connect(&q, false);
}

void tearDown(void)
{
	runner_stop(&r);
	peer_close_all();
	qlessd_stop(&q);
	runner_expect_no_orphans();
	ahead_done(&ahead);
	runner_done();
}

static bool has(const char *words, const char *text)
{
	return strstr(peer_ask(p, words), text) != NULL;
}

static void start_again(void)
{
	p = ahead_connect(&q, true);
}

/* A job that runs until runner_touch("go"). */
static void start_holding(const char *queue, const char *option, const char *value)
{
	char words[100];

	RUNNER_START(&r, &q, "-q", queue, "--name", "me", option, value, "--", runner_handler(),
		     "hold", runner_path(""));
	snprintf(words, sizeof words, "PUT w %s j1 Send {} 0", queue);
	peer_ask(p, words);
	WAIT_UNTIL(runner_count_lines("runs") == 1);
}

static void expect_completion_after(int runs)
{
	runner_touch("go");
	WAIT_UNTIL(has("GET j1", "\"state\":\"complete\""));
	TEST_ASSERT_EQUAL_INT(runs, runner_count_lines("runs"));
	TEST_ASSERT_EQUAL_INT(0, runner_count_lines("twice"));
}

static bool is_attached(void)
{
	return has("WORKER.LIST", "\"name\":\"me\"") && has("WORKER.LIST", "\"address\":\"1");
}

static double find_expiry(void)
{
	const char *at = strstr(peer_ask(p, "GET j1"), "\"expires\":");

	TEST_ASSERT_NOT_NULL(at);
	return atof(at + strlen("\"expires\":"));
}

/* The server renews the lock again and again, as it does for hours and days. */
static void wait_for_renewals(int count)
{
	for (int i = 0; i < count; i++) {
		double before = find_expiry();

		WAIT_UNTIL(find_expiry() > before);
	}
}

static void long_job_survives_restarts_of_the_server(void)
{
	peer_ask(p, "CONFIG.SET short-heartbeat " SHORT_LOCK);
	start_holding("short", "-c", "2");
	for (int i = 0; i < RESTARTS; i++) {
		wait_for_renewals(RENEWALS);
		ahead_end(&q);
		start_again();
		WAIT_UNTIL(is_attached());
		ASK_HAS(p, "GET j1", "\"state\":\"running\"");
	}
	wait_for_renewals(RENEWALS);
	expect_completion_after(1);
}

static void long_job_survives_kills_of_the_server(void)
{
	start_holding("mail", "-c", "2");
	for (int i = 0; i < RESTARTS; i++) {
		peer_close_all();
		kill(q.pid, SIGKILL);
		qlessd_wait(&q);
		start_again();
		WAIT_UNTIL(is_attached());
		ASK_HAS(p, "GET j1", "\"state\":\"running\"");
	}
	expect_completion_after(1);
}

static void lock_that_expired_while_the_server_was_away_is_kept(void)
{
	start_holding("mail", "-c", "2");
	ahead_end(&q);
	ahead.us[0] += LONG_TIME * INT64_C(1000000);
	ahead.us[1] += LONG_TIME * INT64_C(1000000);
	start_again();
	WAIT_UNTIL(is_attached());
	WAIT_UNTIL(find_expiry() > 0 && has("WORKERS me", "\"jobs\":[\"j1\"]"));
	ASK_HAS(p, "MPOP other 1 mail", "[]");
	expect_completion_after(1);
}

static void lock_that_another_worker_has_got_ends_the_program(void)
{
	start_holding("mail", "-c", "2");
	runner_signal(&r, SIGSTOP);
	ahead_end(&q);
	ahead.us[0] += LONG_TIME * INT64_C(1000000);
	ahead.us[1] += LONG_TIME * INT64_C(1000000);
	start_again();
	/* The first call warns the worker, and the job is free after the grace period. */
	peer_ask(p, "MPOP other 1 mail");
	ahead_pass(&ahead, &q, LONG_TIME);
	ASK_HAS(p, "MPOP other 1 mail", "\"jid\":\"j1\"");
	runner_signal(&r, SIGCONT);
	WAIT_UNTIL(runner_is_unlocked("j1.lock"));
	TEST_ASSERT_EQUAL_INT(0, runner_count_lines("ends"));
	ASK_HAS(p, "GET j1", "\"worker\":\"other\"");
}

static void job_that_ends_without_a_server_is_reported_later(void)
{
	start_holding("mail", "-c", "2");
	ahead_end(&q);
	runner_touch("go");
	WAIT_UNTIL(runner_has_logged(&r, "job complete"));
	start_again();
	WAIT_UNTIL(has("GET j1", "\"state\":\"complete\""));
	TEST_ASSERT_EQUAL_INT(1, runner_count_lines("runs"));
}

static void worker_that_stops_waits_for_the_server_to_take_a_report(void)
{
	start_holding("mail", "-c", "2");
	ahead_end(&q);
	runner_signal(&r, SIGTERM);
	runner_touch("go");
	WAIT_UNTIL(runner_has_logged(&r, "job complete"));
	start_again();
	TEST_ASSERT_EQUAL_INT(0, runner_wait(&r));
	ASK_HAS(p, "GET j1", "\"state\":\"complete\"");
}

static void worker_that_ends_does_not_wait_for_a_server(void)
{
	start_holding("mail", "-c", "2");
	ahead_end(&q);
	runner_signal(&r, SIGINT);
	TEST_ASSERT_EQUAL_INT(0, runner_wait(&r));
	TEST_ASSERT_TRUE(runner_is_unlocked("j1.lock"));
	start_again();
	ASK_HAS(p, "GET j1", "\"state\":\"running\"");
	/* The next worker of this name returns the job. */
	RUNNER_START(&r, &q, "-q", "mail", "--name", "me", "--", runner_handler(), "hold",
		     runner_path(""));
	WAIT_UNTIL(runner_count_lines("runs") == 2);
	expect_completion_after(2);
}

static void server_that_is_away_for_too_long_ends_the_program(void)
{
	start_holding("mail", "--away", "1");
	ahead_end(&q);
	WAIT_UNTIL(runner_is_unlocked("j1.lock"));
	start_again();
	/* The server still has the job for this worker, so it learns of the end. */
	WAIT_UNTIL(runner_count_lines("runs") == 2);
	expect_completion_after(2);
}

static void worker_waits_for_a_server_that_is_not_there_yet(void)
{
	peer_ask(p, "PUT w mail j1 Send {} 0");
	ahead_end(&q);
	RUNNER_START(&r, &q, "-q", "mail", "--name", "me", "--", runner_handler(), "orphan",
		     runner_path(""));
	WAIT_UNTIL(runner_has_logged(&r, "the server cannot be reached"));
	start_again();
	WAIT_UNTIL(has("GET j1", "\"state\":\"complete\""));
	TEST_ASSERT_TRUE(runner_has_logged(&r, "the server is reached again"));
}

/* The number of the client that waits, and ends the connection. */
static void kill_the_waiting_connection(void)
{
	char words[64];
	long id = 0;

	do {
		const char *list = peer_ask(p, "CLIENT LIST"), *at;

		for (at = strstr(list, "id="); at != NULL; at = strstr(at + 1, "\nid=")) {
			const char *flags = strstr(at, " flags=");
			size_t len = strcspn(flags + 7, " ");

			if (memchr(flags + 7, 'b', len) != NULL)
				id = atol(strstr(at, "id=") + 3);
		}
	} while (id == 0);
	snprintf(words, sizeof words, "CLIENT KILL ID %ld", id);
	ASK(p, words, ":1\r\n");
}

static void job_of_a_lost_hand_over_is_found(void)
{
	RUNNER_START(&r, &q, "-q", "mail", "--name", "me", "-c", "2", "--", runner_handler(),
		     "hold", runner_path(""));
	WAIT_UNTIL(has("INFO clients", "blocked_clients:1\r\n"));
	/* As if a reply with this job had been lost. */
	peer_ask(p, "PUT w other j1 Send {} 0");
	ASK_HAS(p, "MPOP me 1 other", "\"jid\":\"j1\"");
	kill_the_waiting_connection();
	WAIT_UNTIL(runner_count_lines("runs") == 1);
	expect_completion_after(1);
	TEST_ASSERT_TRUE(runner_has_logged(&r, "found a job whose hand-over was lost"));
}

static void broken_connection_keeps_the_jobs(void)
{
	start_holding("mail", "-c", "2");
	ASK(p, "CLIENT KILL TYPE normal SKIPME yes", ":2\r\n");
	WAIT_UNTIL(is_attached());
	expect_completion_after(1);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(long_job_survives_restarts_of_the_server);
	RUN(long_job_survives_kills_of_the_server);
	RUN(lock_that_expired_while_the_server_was_away_is_kept);
	RUN(lock_that_another_worker_has_got_ends_the_program);
	RUN(job_that_ends_without_a_server_is_reported_later);
	RUN(worker_that_stops_waits_for_the_server_to_take_a_report);
	RUN(worker_that_ends_does_not_wait_for_a_server);
	RUN(server_that_is_away_for_too_long_ends_the_program);
	RUN(worker_waits_for_a_server_that_is_not_there_yet);
	RUN(job_of_a_lost_hand_over_is_found);
	RUN(broken_connection_keeps_the_jobs);
	return UNIT_RESULT();
}
