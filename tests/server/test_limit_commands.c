/*
 * Limits in the real server: what wakes a client that waits for jobs, sweeps, restarts and crashes
 * with limits that are half used, figures and metrics.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flatmap.h"
#include "peer.h"
#include "unit.h"
#include "wait.h"
#include "waiting.h"

static struct qlessd q;
static struct peer *p;
static struct peer *workers[3];

static void connect_all(void)
{
	p = peer_connect(&q);
	for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++)
		workers[i] = peer_connect(&q);
}

void setUp(void)
{
	QLESSD_START(&q, "--appendfsync", "always");
	connect_all();
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

static void put(const char *queue, const char *jid, const char *limits)
{
	char words[256];

	snprintf(words, sizeof words, "PUT me %s %s k {} 0 limits %s", queue, jid, limits);
	TEST_ASSERT_EQUAL_INT_MESSAGE('$', peer_ask(p, words)[0], words);
}

static void ask_jobs(struct peer *worker, const char *words, const char *jids)
{
	peer_send_words(worker, words);
	waiting_expect_jobs(worker, jids);
}

#define SET(words)	     ASK(p, words, "+OK\r\n")
#define COMPLETE(jid, queue) ASK(p, "COMPLETE " jid " w " queue " {}", "$8\r\ncomplete\r\n")

static const char *limit(const char *name, const char *member)
{
	char words[256];

	snprintf(words, sizeof words, "LIMIT.GET %s", name);
	return flatmap_get(peer_ask(p, words), member);
}

static const char *why(const char *jid, const char *member)
{
	char words[256];

	snprintf(words, sizeof words, "JOB.WHY %s", jid);
	return flatmap_get(peer_ask(p, words), member);
}

/* ---- waking ---- */

/* The only timer is that of the limit: nothing else happens in the server. */
static void a_waiting_worker_sleeps_until_a_rate_allows_the_next_job(void)
{
	SET("LIMIT.SET api RATE 1 PER 0.2");
	put("q", "first", "[\"api\"]");
	put("q", "second", "[\"api\"]");
	ask_jobs(workers[0], "BPOP 0 w 1 q", "first");
	ask_jobs(workers[0], "BPOP 0 w 1 q", "second");
}

static void a_worker_sleeps_until_a_rate_opens_in_fair_order_too(void)
{
	ASK(p, "CONFIG.SET q-order fair", "$-1\r\n");
	a_waiting_worker_sleeps_until_a_rate_allows_the_next_job();
	put("q", "third", "[\"other\",\"api\"]");
	ask_jobs(workers[0], "BPOP 0 w 1 q", "third");
}

static void a_slot_that_another_queue_releases_wakes_a_worker(void)
{
	SET("LIMIT.SET db CONCURRENCY 1");
	put("in", "i", "[\"db\"]");
	put("out", "j", "[\"db\"]");
	ask_jobs(p, "POP in w 1", "i");
	waiting_begin(p, workers[0], "BPOP 0 v 1 out");
	waiting_expect_nothing_yet(p, workers[0]);
	COMPLETE("i", "in");
	waiting_expect_jobs(workers[0], "j");
}

static void each_change_of_a_limit_that_opens_it_wakes_a_worker(void)
{
	static const char *const opening[] = { "LIMIT.SET api RATE 0", "LIMIT.DELETE api",
					       "LIMIT.SET api RATE 1000000 PER 1" };

	for (size_t i = 0; i < sizeof opening / sizeof *opening; i++) {
		ASK(p, "FLUSHALL", "+OK\r\n");
		SET("LIMIT.SET api RATE 1 PER 1000000");
		put("q", "first", "[\"api\"]");
		put("q", "second", "[\"api\"]");
		ask_jobs(p, "POP q w 5", "first");
		waiting_begin(p, workers[0], "BPOP 0 w 1 q");
		waiting_expect_nothing_yet(p, workers[0]);
		TEST_ASSERT_NOT_EQUAL_INT('-', peer_ask(p, opening[i])[0]);
		waiting_expect_jobs(workers[0], "second");
	}
}

static void the_end_of_a_hold_wakes_a_worker(void)
{
	SET("LIMIT.HOLD api 1000000");
	put("q", "j", "[\"api\"]");
	ask_jobs(p, "POP q w 1", "");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	SET("LIMIT.HOLD api 0.2");
	waiting_expect_jobs(workers[0], "j");
	SET("LIMIT.HOLD api 1000000");
	put("q", "k", "[\"api\"]");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	waiting_expect_nothing_yet(p, workers[0]);
	SET("LIMIT.HOLD api 0");
	waiting_expect_jobs(workers[0], "k");
}

static void the_limit_of_a_queue_and_its_option_are_one(void)
{
	SET("LIMIT.SET queue:q CONCURRENCY 1");
	waiting_put(p, "q", "i");
	waiting_put(p, "q", "j");
	ask_jobs(p, "POP q w 5", "i");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	waiting_expect_nothing_yet(p, workers[0]);
	ASK(p, "CONFIG.SET q-max-concurrency 2", "$-1\r\n");
	waiting_expect_jobs(workers[0], "j");
	TEST_ASSERT_EQUAL_STRING("2", limit("queue:q", "concurrency"));
}

/* The worker of the job is gone, and nobody pops from its queue. */
static void the_slot_of_a_dead_worker_serves_another_queue(void)
{
	ASK(p, "CONFIG.SET heartbeat 0.1", "$-1\r\n");
	ASK(p, "CONFIG.SET grace-period 0.1", "$-1\r\n");
	SET("LIMIT.SET db CONCURRENCY 1");
	put("in", "i", "[\"db\"]");
	put("out", "j", "[\"db\"]");
	ask_jobs(p, "POP in dead 1", "i");
	peer_send_words(workers[0], "BPOP 0 w 1 out");
	waiting_expect_jobs(workers[0], "j");
	TEST_ASSERT_EQUAL_STRING("waiting", why("i", "state"));
}

static void a_released_job_frees_its_slot(void)
{
	SET("LIMIT.SET db CONCURRENCY 1");
	ASK(workers[1], "WORKER.ATTACH gone GRACE 0", "+OK\r\n");
	put("in", "i", "[\"db\"]");
	put("out", "j", "[\"db\"]");
	ask_jobs(workers[1], "POP in gone 1", "i");
	waiting_begin(p, workers[0], "BPOP 0 w 1 out");
	peer_close(workers[1]);
	waiting_expect_jobs(workers[0], "j");
}

/* ---- turns ---- */

/* The jobs of A were there first. */
static void fill_two_tenants(void)
{
	for (int i = 0; i < 12; i++) {
		char jid[16];

		snprintf(jid, sizeof jid, "A%d", i);
		put("q", jid, "[\"A\"]");
	}
	put("q", "B0", "[\"B\"]");
	put("q", "B1", "[\"B\"]");
}

static void tenants_take_turns_in_a_queue_with_fair_order(void)
{
	fill_two_tenants();
	ask_jobs(p, "POP q w 2", "A0 A1");
	ASK(p, "CONFIG.SET q-order fair", "$-1\r\n");
	ASK_HAS(p, "POP q w 2", "\"B0\"");
	ASK_HAS(p, "POP q w 2", "\"B1\"");
	ask_jobs(p, "POP q w 2", "A4 A5");
}

/* A has three turns, and B has one. */
static void a_weight_gives_a_name_more_turns(void)
{
	ASK(p, "CONFIG.SET q-order fair", "$-1\r\n");
	SET("LIMIT.SET A WEIGHT 3");
	fill_two_tenants();
	ASK_HAS(p, "POP q w 4", "\"B0\"");
	ASK_LACKS(p, "POP q w 1", "\"B1\"");
	ASK_HAS(p, "POP q w 3", "\"B1\"");
}

/* ---- sweeps ---- */

static void a_rule_goes_when_its_time_is_over(void)
{
	SET("LIMIT.SET api RATE 1 PER 1000000");
	put("q", "first", "[\"api\"]");
	put("q", "second", "[\"api\"]");
	ask_jobs(p, "POP q w 5", "first");
	SET("LIMIT.SET api TTL 0.1");
	ask_jobs(workers[0], "BPOP 0 w 1 q", "second");
	TEST_ASSERT_EQUAL_STRING("null", limit("api", "rule"));
}

/* The last of them are forgotten by a sweep of the server, because no command follows. */
static void limits_that_nothing_needs_are_forgotten(void)
{
	char limits[64], jid[32], cancel[4000] = "CANCEL";

	SET("LIMIT.SET domain:* RATE 1 PER 2");
	for (int i = 0; i < 200; i++) {
		snprintf(jid, sizeof jid, "j%d", i);
		snprintf(limits, sizeof limits, "[\"domain:%d\"]", i);
		put("q", jid, limits);
		strcat(strcat(cancel, " "), jid);
	}
	TEST_ASSERT_EQUAL_INT('$', peer_ask(p, "POP q w 200")[0]);
	TEST_ASSERT_EQUAL_INT64(201, peer_ask_number(p, "INFO queues", "limits:"));
	TEST_ASSERT_EQUAL_INT('*', peer_ask(p, cancel)[0]);
	WAIT_UNTIL(peer_ask_number(p, "INFO queues", "limits:") == 1);
	TEST_ASSERT_GREATER_THAN_INT64(0, peer_ask_number(p, "INFO queues", "limits_swept:"));
}

/* ---- restarts ---- */

static void restart(bool crash)
{
	peer_close_all();
	kill(q.pid, crash ? SIGKILL : SIGTERM);
	qlessd_wait(&q);
	qlessd_start_again(&q, (const char *const[]){ "--appendfsync", "always", NULL });
	connect_all();
}

/* Half of the slots and tokens are taken before, and the other half after. */
static void use_limits_across_a_restart(bool crash)
{
	char opens[64];

	SET("LIMIT.SET db CONCURRENCY 2");
	SET("LIMIT.SET api:* RATE 2 PER 1000000 BURST 2");
	SET("LIMIT.HOLD held 1000000");
	put("held", "h", "[\"held\"]");
	for (int i = 0; i < 4; i++) {
		char jid[16];

		snprintf(jid, sizeof jid, "s%d", i);
		put("slots", jid, "[\"db\"]");
		jid[0] = 't';
		put("tokens", jid, "[\"api:x\"]");
	}
	ask_jobs(p, "POP slots w 1", "s0");
	ask_jobs(p, "POP tokens w 1", "t0");
	snprintf(opens, sizeof opens, "%.60s", limit("held", "opens"));
	restart(crash);
	TEST_ASSERT_EQUAL_STRING("1", limit("db", "running"));
	TEST_ASSERT_EQUAL_STRING("1", limit("api:x", "tokens"));
	TEST_ASSERT_EQUAL_STRING("api:*", limit("api:x", "rule"));
	TEST_ASSERT_EQUAL_STRING(opens, limit("held", "opens"));
	ask_jobs(p, "POP slots w 5", "s1");
	ask_jobs(p, "POP tokens w 5", "t1");
	ask_jobs(p, "POP held w 5", "");
	restart(crash);
	ask_jobs(p, "POP slots w 5", "");
	ask_jobs(p, "POP tokens w 5", "");
	COMPLETE("s0", "slots");
	COMPLETE("t0", "tokens");
	ask_jobs(p, "POP slots w 5", "s2");
	ask_jobs(p, "POP tokens w 5", "");
}

static void limits_survive_a_restart(void)
{
	use_limits_across_a_restart(false);
}

static void turns_go_on_after_a_crash(void)
{
	ASK(p, "CONFIG.SET q-order fair", "$-1\r\n");
	fill_two_tenants();
	ASK_HAS(p, "POP q w 2", "\"B0\"");
	restart(true);
	ASK_HAS(p, "POP q w 2", "\"B1\"");
	ask_jobs(p, "POP q w 2", "A2 A3");
}

static void limits_survive_a_crash(void)
{
	use_limits_across_a_restart(true);
}

static void tokens_survive_a_rewritten_log(void)
{
	SET("LIMIT.SET api:* RATE 3 PER 1000000 BURST 3");
	for (int i = 0; i < 4; i++) {
		char jid[16];

		snprintf(jid, sizeof jid, "t%d", i);
		put("q", jid, "[\"api:x\"]");
	}
	ask_jobs(p, "POP q w 2", "t0 t1");
	TEST_ASSERT_EQUAL_INT('+', peer_ask(p, "BGREWRITEAOF")[0]);
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrite_in_progress:") == 0);
	restart(true);
	TEST_ASSERT_EQUAL_STRING("1", limit("api:x", "tokens"));
	ask_jobs(p, "POP q w 5", "t2");
	TEST_ASSERT_EQUAL_STRING("rate", why("t3", "held-by"));
}

/* ---- what the server tells ---- */

static void a_waiting_job_without_listeners_says_so(void)
{
	waiting_put(p, "q", "j");
	TEST_ASSERT_EQUAL_STRING("no-listener", why("j", "reason"));
	SET("LIMIT.HOLD api 1000000");
	put("q2", "k", "[\"api\"]");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q2");
	TEST_ASSERT_EQUAL_STRING("limit", why("k", "reason"));
	TEST_ASSERT_EQUAL_STRING("1", why("k", "listeners"));
}

/* A long list is spread over turns, and other clients are served meanwhile. */
static void a_long_list_has_all_limits(void)
{
	const int count = 3000;
	size_t found = 0;

	for (int i = 0; i < count; i++) {
		char words[64];

		snprintf(words, sizeof words, "LIMIT.SET limit:%d CONCURRENCY 1", i);
		peer_send_words(p, words);
	}
	peer_skip_replies(p, count);
	for (const char *at = peer_ask(p, "LIMIT.LIST COUNT 10000");
	     (at = strstr(at, "$4\r\nname\r\n")) != NULL; at++)
		found++;
	TEST_ASSERT_EQUAL_size_t(count, found);
}

/* Each walks over all limits, and EXEC runs them without a break. */
static void a_transaction_changes_few_patterns_if_there_are_many_limits(void)
{
	const int count = 11000;

	for (int i = 0; i < count; i++) {
		char words[64];

		snprintf(words, sizeof words, "LIMIT.HOLD limit:%d 1000000", i);
		peer_send_words(p, words);
		if (i % 1000 == 999)
			peer_skip_replies(p, 1000);
	}
	ASK(p, "MULTI", "+OK\r\n");
	for (int i = 0; i < 9; i++)
		ASK(p, "LIMIT.SET limit:* CONCURRENCY 1", "+QUEUED\r\n");
	ASK(p, "LIMIT.SET limit:1 CONCURRENCY 1", "+QUEUED\r\n");
	ASK_HAS(p, "LIMIT.SET limit:* CONCURRENCY 1", "-ERR transaction names or asks for more");
	ASK_HAS(p, "EXEC", "-EXECABORT");
}

#define DOMAINS 3000

/* Send a command several times, with the numbers from 0 on in the place of each `#`, then read the
 * replies. */
static void repeat(int count, const char *command)
{
	for (int i = 0; i < count; i++) {
		char words[128];
		size_t len = 0;

		for (const char *at = command; *at != '\0'; at++)
			len += (size_t)(*at == '#' ? sprintf(words + len, "%d", i)
						   : sprintf(words + len, "%c", *at));
		peer_send_words(p, words);
	}
	for (int i = 0; i < count; i++)
		TEST_ASSERT_NOT_EQUAL('-', peer_reply(p)[0]);
}

static void for_each_domain(const char *command)
{
	repeat(DOMAINS, command);
}

/* The jobs are filed by their domains, all of which open. But one job of each is shut by its user.
 * A search looks at fewer jobs than that, so the server goes on with it turn by turn. */
static void a_worker_that_waits_gets_a_job_although_thousands_are_shut(void)
{
	for_each_domain("LIMIT.HOLD domain:# 2000000");
	for_each_domain("PUT me q shut# k {} 0 limits [\"domain:#\",\"user:#\"]");
	put("q", "open", "[\"domain:7\"]");
	for_each_domain("LIMIT.HOLD user:# 1000000");
	for_each_domain("LIMIT.HOLD domain:# 0");
	ask_jobs(workers[0], "BPOP 0 w 1 q", "open");
	ASK(p, "MPOP v 1 q COUNT 10", "$2\r\n[]\r\n");
	restart(true);
	ASK(p, "HGET ql:j:open worker", "$1\r\nw\r\n");
	COMPLETE("open", "q");
	TEST_ASSERT_NOT_EQUAL('-', peer_ask(p, "LIMIT.HOLD user:8 0")[0]);
	ask_jobs(workers[0], "BPOP 0 w 1 q", "shut8");
}

#define EIGHT_LIMITS "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\"]"

/* A call takes 25,000 slots, which are those of 3,125 jobs. */
static void the_pops_of_a_call_take_few_slots_together(void)
{
	repeat(2000, "PUT me q q# k {} 0 limits " EIGHT_LIMITS);
	repeat(2000, "PUT me r r# k {} 0 limits " EIGHT_LIMITS);
	TEST_ASSERT_EQUAL('$', peer_ask(p, "MPOP w 2 q r COUNT 4000")[0]);
	ASK_HAS(p, "LIMIT.GET a", "$7\r\nrunning\r\n:3125\r\n");
	ASK(p, "ZCARD ql:q:q-work", ":0\r\n");
	ASK(p, "WORKER.RELEASE w", ":3125\r\n");
	TEST_ASSERT_EQUAL('$', peer_ask(p, "MPOP w 2 q r COUNT 4000 ORDER roundrobin")[0]);
	ASK_HAS(p, "LIMIT.GET a", "$7\r\nrunning\r\n:3125\r\n");
	ASK(p, "WORKER.RELEASE w", ":3125\r\n");
}

/* Once the slots are taken, each pop hands out one job. Jobs without limits take none. */
static void the_pops_of_a_transaction_take_few_slots_together(void)
{
	repeat(2000, "PUT me q q# k {} 0 limits " EIGHT_LIMITS);
	repeat(2000, "PUT me r r# k {} 0 limits " EIGHT_LIMITS);
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "POP q w 2000", "+QUEUED\r\n");
	ASK(p, "MPOP w 1 r COUNT 2000", "+QUEUED\r\n");
	ASK(p, "POP r w 2000", "+QUEUED\r\n");
	ASK(p, "POP r w 1", "+QUEUED\r\n");
	TEST_ASSERT_EQUAL('*', peer_ask(p, "EXEC")[0]);
	ASK_HAS(p, "LIMIT.GET a", "$7\r\nrunning\r\n:3127\r\n");
	repeat(2000, "PUT me plain p# k {} 0");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "POP plain w 1000", "+QUEUED\r\n");
	ASK(p, "POP plain w 1000", "+QUEUED\r\n");
	TEST_ASSERT_EQUAL('*', peer_ask(p, "EXEC")[0]);
	ASK(p, "ZCARD ql:q:plain-work", ":0\r\n");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_waiting_worker_sleeps_until_a_rate_allows_the_next_job);
	RUN(a_worker_sleeps_until_a_rate_opens_in_fair_order_too);
	RUN(a_slot_that_another_queue_releases_wakes_a_worker);
	RUN(each_change_of_a_limit_that_opens_it_wakes_a_worker);
	RUN(the_end_of_a_hold_wakes_a_worker);
	RUN(the_limit_of_a_queue_and_its_option_are_one);
	RUN(the_slot_of_a_dead_worker_serves_another_queue);
	RUN(a_released_job_frees_its_slot);
	RUN(tenants_take_turns_in_a_queue_with_fair_order);
	RUN(a_weight_gives_a_name_more_turns);
	RUN(a_rule_goes_when_its_time_is_over);
	RUN(limits_that_nothing_needs_are_forgotten);
	RUN(limits_survive_a_restart);
	RUN(limits_survive_a_crash);
	RUN(turns_go_on_after_a_crash);
	RUN(tokens_survive_a_rewritten_log);
	RUN(a_waiting_job_without_listeners_says_so);
	RUN(a_long_list_has_all_limits);
	RUN(a_transaction_changes_few_patterns_if_there_are_many_limits);
	RUN(a_worker_that_waits_gets_a_job_although_thousands_are_shut);
	RUN(the_pops_of_a_call_take_few_slots_together);
	RUN(the_pops_of_a_transaction_take_few_slots_together);
	return UNIT_RESULT();
}
