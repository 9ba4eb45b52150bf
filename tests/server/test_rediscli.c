/*
 * Common tools: redis-cli and redis-benchmark.
 */
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "unit.h"
#include "wait.h"

#define OUTPUT_MAX 65536

static struct qlessd q;
static char output[OUTPUT_MAX];

void setUp(void)
{
	qlessd_start(&q);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

/* Run a shell command, in which $CLI is redis-cli for our server. `output` is everything it
 * writes. Returns the exit status of the shell. */
static int run(const char *command)
{
	char line[1024];
	size_t len;
	FILE *f;

	snprintf(line, sizeof line, "CLI='timeout 60 redis-cli -p %d'; PORT=%d; { %s; } 2>&1",
		 q.port, q.port, command);
	f = popen(line, "r");
	TEST_ASSERT_NOT_NULL(f);
	len = fread(output, 1, sizeof output - 1, f);
	output[len] = '\0';
	return pclose(f);
}

static void assert_output_has(const char *text)
{
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, text), output);
}

static void redis_cli_shows_replies(void)
{
	TEST_ASSERT_EQUAL_INT(0, run("$CLI ping"));
	TEST_ASSERT_EQUAL_STRING("PONG\n", output);
	run("$CLI -3 client getname; $CLI -n 3 echo hi; $CLI nosuch");
	assert_output_has("hi\n");
	assert_output_has("ERR unknown command 'nosuch'");
	run("printf 'multi\\nping\\nexec\\n' | $CLI");
	TEST_ASSERT_EQUAL_STRING("OK\nQUEUED\nPONG\n", output);
	run("$CLI info server | head -2");
	assert_output_has("# Server");
	run("$CLI -3 command docs ping; $CLI command docs ping");
	assert_output_has("summary");
	run("$CLI config get 'max*'");
	assert_output_has("maxclients");
	run("$CLI help 2>&1 </dev/null");
	run("$CLI -u redis://default:x@127.0.0.1:$PORT/2 client info");
	assert_output_has(" db=2 ");
}

static void redis_cli_pipes(void)
{
	run("yes PING | head -5000 | sed 's/$/\\r/' | $CLI --pipe");
	assert_output_has("errors: 0, replies: 5000");
}

static void redis_cli_shows_statistics(void)
{
	run("$CLI --stat -i 0.01 | head -4");
	assert_output_has("keys");
	TEST_ASSERT_GREATER_THAN(150, strlen(output));
}

static void redis_cli_measures_latency(void)
{
	run("$CLI --latency -i 1");
	TEST_ASSERT_GREATER_THAN(3, strlen(output));
}

static void redis_cli_monitors(void)
{
	struct peer *p = peer_connect(&q);
	char line[256];
	FILE *f;

	snprintf(line, sizeof line, "timeout 60 redis-cli -p %d monitor", q.port);
	f = popen(line, "r");
	TEST_ASSERT_NOT_NULL(f);
	TEST_ASSERT_NOT_NULL(fgets(line, sizeof line, f));
	TEST_ASSERT_EQUAL_STRING("OK\n", line);
	ASK(p, "ECHO hello", "$5\r\nhello\r\n");
	TEST_ASSERT_NOT_NULL(fgets(line, sizeof line, f));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(line, "\"ECHO\" \"hello\"\n"), line);
	ASK(p, "CLIENT KILL TYPE normal", ":1\r\n");
	pclose(f);
}

static void redis_cli_subscribes(void)
{
	struct peer *p = peer_connect(&q);
	char line[256];
	FILE *f;

	snprintf(line, sizeof line, "timeout 60 redis-cli -p %d subscribe news", q.port);
	f = popen(line, "r");
	TEST_ASSERT_NOT_NULL(f);
	WAIT_UNTIL(strcmp(peer_ask(p, "PUBLISH news hello"), ":1\r\n") == 0);
	do
		TEST_ASSERT_NOT_NULL(fgets(line, sizeof line, f));
	while (strcmp(line, "hello\n") != 0);
	ASK(p, "CLIENT KILL TYPE pubsub", ":1\r\n");
	pclose(f);
}

static void redis_cli_shuts_down(void)
{
	run("$CLI shutdown");
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
}

static void redis_benchmark_runs(void)
{
	run("timeout 100 redis-benchmark -p $PORT -t ping -n 2000 -c 10 -q");
	assert_output_has("PING_INLINE: ");
	assert_output_has("PING_MBULK: ");
	run("timeout 100 redis-benchmark -p $PORT -P 50 -n 5000 -c 5 -q echo hello");
	assert_output_has("requests per second");
	TEST_ASSERT_NULL(strstr(output, "rror"));
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(redis_cli_shows_replies);
	RUN(redis_cli_pipes);
	RUN(redis_cli_shows_statistics);
	RUN(redis_cli_measures_latency);
	RUN(redis_cli_monitors);
	RUN(redis_cli_subscribes);
	RUN(redis_cli_shuts_down);
	RUN(redis_benchmark_runs);
	return UNIT_RESULT();
}
