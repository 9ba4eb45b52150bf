/*
 * Memory: maxmemory, and MEMORY.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "luatext.h"
#include "unit.h"
#include "wait.h"

#define OOM	   "OOM command not allowed when used memory > 'maxmemory'."
#define DATA_BYTES 4096
#define JOBS_MAX   10000

static struct qlessd q;
static struct peer *p;

void setUp(void)
{
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

static const char *put(int number)
{
	char text[DATA_BYTES + 200], data[DATA_BYTES + 3];

	memset(data, 'x', sizeof data);
	data[0] = data[DATA_BYTES + 1] = '"';
	data[DATA_BYTES + 2] = '\0';
	snprintf(text, sizeof text, "PUT w q j%d K %s 0", number, data);
	return peer_ask(p, text);
}

/* Returns the number of jobs that fit. */
static int start_full(void)
{
	int jobs = 0;

	QLESSD_START(&q, "--maxmemory", "8mb");
	p = peer_connect(&q);
	while (jobs < JOBS_MAX && put(jobs)[0] == '$')
		jobs++;
	TEST_ASSERT_TRUE(jobs > 100 && jobs < JOBS_MAX);
	return jobs;
}

static void beyond_maxmemory_commands_that_grow_are_refused(void)
{
	static const char *const refused[] = {
		"PUT w q j K {} 0",
		"REQUEUE w q j1 K {} 0",
		"MULTIPUT w q 0 JOBS j K {}",
		"RECUR q r K {} interval 60 0",
		"RECUR.TAG r t",
		"RECUR.UPDATE r priority 1",
		"LOG j1 said",
		"TAG add j1 t",
		"TRACK track j1",
		"DEPENDS j1 on j2",
		"QLESS put 1 w q j K {} 0",
		"QLESS tag 1 add j1 t",
	};

	start_full();
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		const char *reply = peer_ask(p, refused[i]);

		TEST_ASSERT_EQUAL_STRING_MESSAGE("-" OOM "\r\n", reply, refused[i]);
	}
	ASK_HAS(p, "INFO errorstats", "errorstat_OOM:count=13\r\n");
	TEST_ASSERT_TRUE(peer_ask_number(p, "INFO memory", "\r\nused_memory:") > 8 << 20);
}

static void scripts_get_the_oom_error_of_redis(void)
{
	char expected[200], words[200], sha[41];

	start_full();
	peer_send(p, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n", 26);
	snprintf(words, sizeof words, "$%zu\r\n", strlen(LUATEXT_CLASSIC));
	peer_send_text(p, words);
	peer_send_text(p, LUATEXT_CLASSIC "\r\n");
	memcpy(sha, peer_reply(p) + 5, 40);
	sha[40] = '\0';
	snprintf(words, sizeof words, "EVALSHA %s 0 put 1 w q j K {} 0", sha);
	snprintf(expected, sizeof expected, "-" OOM " script: %s, on @user_script:1.\r\n", sha);
	ASK(p, words, expected);
	ASK(p, "CONFIG SET script-error-format redis6", "+OK\r\n");
	snprintf(expected, sizeof expected,
		 "-ERR Error running script (call to f_%s): @user_script:1: " OOM "\r\n", sha);
	ASK(p, words, expected);
	snprintf(words, sizeof words, "EVALSHA %s 0 pop 1 q w 1", sha);
	ASK_HAS(p, words, "\"jid\":\"j0\"");
}

static void beyond_maxmemory_commands_that_drain_queues_run(void)
{
	char words[200];

	start_full();
	ASK_HAS(p, "POP q w 4", "\"jid\":\"j3\"");
	ASK_HAS(p, "HEARTBEAT j0 w", ":1");
	ASK(p, "COMPLETE j0 w q {}", "$8\r\ncomplete\r\n");
	ASK(p, "FAIL j1 w group message", "$2\r\nj1\r\n");
	ASK_HAS(p, "RETRY j2 q w", ":4\r\n");
	ASK_HAS(p, "TIMEOUT j3", "$-1\r\n");
	ASK_HAS(p, "GET j3", "\"state\":\"stalled\"");
	ASK_HAS(p, "TAG get t", "\"total\":0");
	ASK_HAS(p, "TAG remove j3 t", "$2\r\n[]\r\n");
	ASK_HAS(p, "TRACK", "\"jobs\":[]");
	ASK_HAS(p, "UNFAIL q group", ":1\r\n");
	ASK(p, "PRIORITY j4 5", ":5\r\n");
	ASK_HAS(p, "QLESS length 1 q", ":");
	/* And its purpose: draining queues. */
	ASK(p, "QLESS config.set 1 jobs-history-count 0", "$-1\r\n");
	for (int i = 5; i < 80; i++) {
		snprintf(words, sizeof words, "CANCEL j%d", i);
		peer_ask(p, words);
	}
	ASK(p, "PUT w q new K {} 0", "$3\r\nnew\r\n");
}

static void purging_completed_jobs_makes_room(void)
{
	char words[200];
	int jobs = start_full();

	ASK(p, "QLESS config.set 1 jobs-history-count 0", "$-1\r\n");
	peer_send_words(p, "POP q w 100");
	peer_skip_replies(p, 1);
	for (int i = 0; i < 100; i++) {
		snprintf(words, sizeof words, "COMPLETE j%d w q {}", i);
		ASK(p, words, "$8\r\ncomplete\r\n");
	}
	ASK(p, "MEMORY PURGE", "+OK\r\n");
	TEST_ASSERT_EQUAL_INT('$', put(jobs)[0]);
	ASK(p, "CONFIG SET maxmemory 1mb", "+OK\r\n");
	TEST_ASSERT_EQUAL_INT('-', put(jobs + 1)[0]);
	ASK(p, "CONFIG SET maxmemory 0", "+OK\r\n");
	TEST_ASSERT_EQUAL_INT('$', put(jobs + 1)[0]);
}

static void beyond_maxmemory_transactions_are_refused(void)
{
	start_full();
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "POP q w 1", "-" OOM "\r\n");
	ASK(p, "EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n");
	ASK(p, "CONFIG SET maxmemory 0", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "PUT w q new K {} 0", "+QUEUED\r\n");
	ASK(peer_connect(&q), "CONFIG SET maxmemory 1mb", "+OK\r\n");
	ASK(p, "EXEC", "-EXECABORT Transaction discarded because of: " OOM "\r\n");
	ASK(p, "CONFIG SET maxmemory 0", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "LENGTH q", "+QUEUED\r\n");
	ASK(peer_connect(&q), "CONFIG SET maxmemory 1mb", "+OK\r\n");
	ASK_HAS(p, "EXEC", "*1\r\n:");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "DISCARD", "+OK\r\n");
}

static void info_config_and_command_report_maxmemory(void)
{
	QLESSD_START(&q, "--maxmemory", "100mb");
	p = peer_connect(&q);
	ASK_HAS(p, "CONFIG GET maxmemory", "$9\r\n104857600\r\n");
	ASK_HAS(p, "CONFIG GET maxmemory-policy", "$10\r\nnoeviction\r\n");
	ASK_HAS(p, "CONFIG SET maxmemory-policy allkeys-lru", "-ERR ");
	ASK_HAS(p, "INFO memory", "maxmemory:104857600\r\nmaxmemory_human:100.00M\r\n");
	ASK_HAS(p, "COMMAND INFO put", "+denyoom\r\n");
	ASK_LACKS(p, "COMMAND INFO pop", "+denyoom\r\n");
}

/* The limits take all memory that is new. */
static void memory_queues_estimates_the_memory_of_limits(void)
{
	const int count = 20000;
	int64_t before, bytes;

	qlessd_start(&q);
	p = peer_connect(&q);
	ASK_HAS(p, "MEMORY QUEUES", "$6\r\nlimits\r\n*4\r\n$6\r\nlimits\r\n:0\r\n");
	before = peer_ask_number(p, "INFO memory", "used_memory:");
	for (int i = 0; i < count; i++) {
		char words[64];

		snprintf(words, sizeof words, "LIMIT.HOLD limit-%d 1000000", i);
		peer_send_words(p, words);
		if (i % 1000 == 999)
			peer_skip_replies(p, 1000);
	}
	bytes = peer_ask_number(p, "INFO memory", "used_memory:") - before;
	ASK_HAS(p, "MEMORY QUEUES", "$6\r\nlimits\r\n:20000\r\n");
	/* With sanitizers the memory in use is unknown. */
	if (!qlessd_is_sanitized()) {
		TEST_ASSERT_INT64_WITHIN(
			(uint64_t)bytes / 3, bytes,
			peer_ask_number(p, "MEMORY QUEUES",
					"limits\r\n:20000\r\n$11\r\ntotal.bytes\r\n:"));
	}
}

static void memory_queues_estimates_from_samples(void)
{
	qlessd_start(&q);
	p = peer_connect(&q);
	for (int i = 0; i < 100; i++)
		put(i);
	ASK_HAS(p, "PUT w other o1 K {} 0", "$2\r\n");
	ASK_HAS(p, "MEMORY QUEUES q",
		"$1\r\nq\r\n*12\r\n$4\r\njobs\r\n:100\r\n$12\r\nsampled.jobs\r\n:16\r\n");
	TEST_ASSERT_INT64_WITHIN(
		500, 100 * (DATA_BYTES + 4),
		peer_ask_number(p, "MEMORY QUEUES SAMPLES 1000 q", "payload.bytes\r\n:"));
	ASK_LACKS(p, "MEMORY QUEUES q", "$5\r\nother\r\n");
	ASK_LACKS(p, "MEMORY QUEUES nosuch", "$6\r\nnosuch\r\n");
	ASK_HAS(p, "MEMORY QUEUES", "$5\r\nother\r\n");
	ASK_HAS(p, "POP other w 1", "o1");
	ASK_HAS(p, "FAIL o1 w g m", "o1");
	ASK_HAS(p, "MEMORY QUEUES",
		"$6\r\nfailed\r\n*12\r\n$4\r\njobs\r\n:1\r\n$12\r\nsampled.jobs\r\n:1\r\n");
	ASK_HAS(p, "POP q w 1", "j0");
	ASK_HAS(p, "COMPLETE j0 w q {}", "complete");
	ASK_HAS(p, "MEMORY QUEUES", "$8\r\ncomplete\r\n*12\r\n$4\r\njobs\r\n:1\r\n");
	ASK_HAS(p, "MEMORY QUEUES SAMPLES 0", "-ERR SAMPLES must be");
	ASK_HAS(p, "MEMORY QUEUES SAMPLES", "-ERR SAMPLES must be");
	ASK_HAS(p, "SELECT 3", "+OK");
	ASK_HAS(p, "MEMORY QUEUES", "$6\r\nqueues\r\n*0\r\n");
}

static void memory_stats_and_doctor_describe_the_server(void)
{
	qlessd_start(&q);
	p = peer_connect(&q);
	ASK_HAS(p, "MEMORY STATS", "$14\r\npeak.allocated\r\n:");
	ASK_HAS(p, "MEMORY STATS", "$13\r\ndataset.bytes\r\n:");
	ASK_HAS(p, "MEMORY DOCTOR", "No problems found");
	TEST_ASSERT_TRUE(strlen(peer_ask(p, "MEMORY MALLOC-STATS")) > 20);
	ASK_HAS(p, "MEMORY HELP", "QUEUES");
	if (!qlessd_is_sanitized()) {
		ASK(p, "CONFIG SET maxmemory 1mb", "+OK\r\n");
		for (int i = 0; i < 300; i++)
			put(i);
		ASK_HAS(p, "MEMORY DOCTOR", "of maxmemory is in use");
	}
}

/* Make the server hold `mib` replies of 1 MiB that the client does not read. */
static struct peer *hoard(int mib)
{
	static const char head[] = "*2\r\n$4\r\nECHO\r\n$1048576\r\n";
	static char argument[1 << 20];
	struct peer *slow;

	memset(argument, 'x', sizeof argument);
	peer_connect_small_buffers(true);
	slow = peer_connect(&q);
	peer_connect_small_buffers(false);
	for (int i = 0; i < mib; i++) {
		peer_send_blindly(slow, head, sizeof head - 1);
		peer_send_blindly(slow, argument, sizeof argument);
		peer_send_blindly(slow, "\r\n", 2);
	}
	return slow;
}

static int64_t clients_bytes(void)
{
	return peer_ask_number(p, "INFO memory", "\r\nmem_clients_normal:");
}

static int64_t evicted(void)
{
	return peer_ask_number(p, "INFO stats", "evicted_clients:");
}

static void replies_that_are_not_read_leave_room_for_jobs(void)
{
	QLESSD_START(&q, "--maxmemory", "16mb", "--maxmemory-clients", "0");
	p = peer_connect(&q);
	hoard(24);
	WAIT_UNTIL(clients_bytes() > 20 << 20);
	TEST_ASSERT_GREATER_THAN_INT64(16 << 20,
				       peer_ask_number(p, "INFO memory", "\r\nused_memory:"));
	ASK(p, "PUT w q j K {} 0", "$1\r\nj\r\n");
	TEST_ASSERT_EQUAL_INT64(0, evicted());
}

static void the_largest_client_is_evicted_first(void)
{
	struct peer *small;

	QLESSD_START(&q, "--maxmemory", "100mb", "--maxmemory-clients", "20%");
	p = peer_connect(&q);
	TEST_ASSERT_EQUAL_INT64(104857600 / 100 * 20,
				peer_ask_number(p, "INFO memory", "\r\nmaxmemory_clients:"));
	small = hoard(8);
	WAIT_UNTIL(clients_bytes() > 2 << 20);
	hoard(40);
	WAIT_UNTIL(evicted() == 1);
	TEST_ASSERT_TRUE(clients_bytes() < 20 << 20);
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "Evicting client"));
	for (int i = 0; i < 8; i++)
		TEST_ASSERT_EQUAL_INT('$', peer_reply(small)[0]);
}

static void a_client_may_be_protected_from_eviction(void)
{
	struct peer *slow;

	QLESSD_START(&q, "--maxmemory-clients", "4mb", "--proto-max-bulk-len", "16mb");
	p = peer_connect(&q);
	slow = peer_connect(&q);
	ASK(slow, "CLIENT NO-EVICT ON", "+OK\r\n");
	ASK(p, "CLIENT NO-EVICT ON", "+OK\r\n");
	peer_send_text(slow, "*2\r\n$4\r\nECHO\r\n$9000000\r\n");
	for (int i = 0; i < 80; i++) {
		static char bytes[100000];

		peer_send(slow, bytes, sizeof bytes);
	}
	WAIT_UNTIL(clients_bytes() > 7 << 20);
	hoard(16);
	WAIT_UNTIL(evicted() == 1);
	ASK(p, "PING", "+PONG\r\n");
	ASK(p, "CONFIG SET maxmemory-clients 101%",
	    "-ERR CONFIG SET failed (possibly related to argument 'maxmemory-clients') - expected "
	    "a size up to 1073741824gb, or 1% to 100%, got \"101%\"\r\n");
	ASK(p, "CONFIG GET maxmemory-clients",
	    "*2\r\n$17\r\nmaxmemory-clients\r\n$7\r\n4194304\r\n");
	ASK(p, "CONFIG SET maxmemory-clients 5%", "+OK\r\n");
	ASK(p, "CONFIG GET maxmemory-clients", "*2\r\n$17\r\nmaxmemory-clients\r\n$2\r\n5%\r\n");
}

static void publish(const char *bytes, size_t len)
{
	char head[64];

	snprintf(head, sizeof head, "*3\r\n$7\r\nPUBLISH\r\n$1\r\nx\r\n$%zu\r\n", len);
	peer_send_text(p, head);
	peer_send(p, bytes, len);
	peer_send_text(p, "\r\n");
	TEST_ASSERT_EQUAL_INT(':', peer_reply(p)[0]);
}

static void subscribers_that_do_not_read_share_large_messages(void)
{
	enum { SUBSCRIBERS = 30, MESSAGES = 12, BYTES = 1 << 20 };
	static char bytes[BYTES];
	struct peer *slow[SUBSCRIBERS];
	char head[64];

	/* The limit is a third of what a copy for each subscriber would take. */
	QLESSD_START(&q, "--maxmemory-clients", "120mb");
	p = peer_connect(&q);
	memset(bytes, 'm', sizeof bytes);
	peer_connect_small_buffers(true);
	for (int i = 0; i < SUBSCRIBERS; i++) {
		slow[i] = peer_connect(&q);
		ASK_HAS(slow[i], i % 3 == 0 ? "HELLO 3" : "PING", i % 3 == 0 ? "%" : "PONG");
		ASK_HAS(slow[i], i % 2 == 0 ? "SUBSCRIBE x" : "PSUBSCRIBE ?", "ubscribe");
	}
	peer_connect_small_buffers(false);
	for (int i = 0; i < MESSAGES; i++) {
		bytes[0] = (char)('a' + i);
		publish(bytes, sizeof bytes);
	}
	TEST_ASSERT_TRUE(clients_bytes() < (int64_t)2 * MESSAGES * BYTES);
	TEST_ASSERT_TRUE(peer_ask_number(p, "INFO memory", "\r\nmem_clients_shared:") >
			 (int64_t)SUBSCRIBERS * MESSAGES * BYTES / 2);
	TEST_ASSERT_EQUAL_INT64(0, evicted());
	snprintf(head, sizeof head, "$%d\r\n", BYTES);
	for (int i = 0; i < SUBSCRIBERS; i += 7) {
		for (int m = 0; m < MESSAGES; m++) {
			const char *at = strstr(peer_reply(slow[i]), head);

			TEST_ASSERT_NOT_NULL(at);
			bytes[0] = (char)('a' + m);
			TEST_ASSERT_EQUAL_MEMORY(bytes, at + strlen(head), BYTES);
		}
	}
	peer_close(slow[1]);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "pubsub_clients:") == SUBSCRIBERS - 1);
	for (int i = 0; i < SUBSCRIBERS; i++) {
		if (i != 1)
			peer_close(slow[i]);
	}
	WAIT_UNTIL(peer_ask_number(p, "INFO memory", "\r\nmem_clients_shared:") == 0);
	TEST_ASSERT_TRUE(clients_bytes() < BYTES);
}

/* The first bytes of a request count, before it is complete. */
static void unfinished_requests_count(void)
{
	static char bytes[200000];

	QLESSD_START(&q, "--maxmemory-clients", "8mb");
	p = peer_connect(&q);
	for (int i = 0; i < 60; i++) {
		struct peer *slow = peer_connect(&q);

		peer_send_text(slow, "*2\r\n$4\r\nECHO\r\n$300000\r\n");
		peer_send_blindly(slow, bytes, sizeof bytes);
	}
	WAIT_UNTIL(evicted() > 0);
	WAIT_UNTIL(clients_bytes() <= 8 << 20);
	ASK(p, "PING", "+PONG\r\n");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	/* With sanitizers the memory in use is unknown, so there is no limit. */
	if (!qlessd_is_sanitized()) {
		RUN(beyond_maxmemory_commands_that_grow_are_refused);
		RUN(scripts_get_the_oom_error_of_redis);
		RUN(beyond_maxmemory_commands_that_drain_queues_run);
		RUN(purging_completed_jobs_makes_room);
		RUN(beyond_maxmemory_transactions_are_refused);
		RUN(replies_that_are_not_read_leave_room_for_jobs);
	}
	RUN(info_config_and_command_report_maxmemory);
	RUN(the_largest_client_is_evicted_first);
	RUN(a_client_may_be_protected_from_eviction);
	RUN(subscribers_that_do_not_read_share_large_messages);
	RUN(unfinished_requests_count);
	RUN(memory_queues_estimates_the_memory_of_limits);
	RUN(memory_queues_estimates_from_samples);
	RUN(memory_stats_and_doctor_describe_the_server);
	return UNITY_END() != 0;
}
