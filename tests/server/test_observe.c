/*
 * Looking at a running server: INFO, CONFIG, COMMAND, SLOWLOG, LATENCY, MEMORY, MONITOR.
 */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "peer.h"
#include "textfile.h"
#include "unit.h"
#include "wait.h"

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

static void start(void)
{
	qlessd_start(&q);
	p = peer_connect(&q);
}

static void info_has_sections(void)
{
	static const char *const in_default[] = {
		"# Server\r\n",	 "# Clients\r\n",     "# Memory\r\n", "# Persistence\r\n",
		"# Stats\r\n",	 "# Replication\r\n", "# CPU\r\n",    "# Errorstats\r\n",
		"# Cluster\r\n", "# Keyspace\r\n",
	};
	static const char *const fields[] = {
		"redis_version:7.",
		"redis_mode:standalone",
		"process_id:",
		"run_id:",
		"tcp_port:",
		"uptime_in_seconds:",
		"connected_clients:1\r\n",
		"maxclients:",
		"used_memory:",
		"used_memory_rss:",
		"total_commands_processed:",
		"total_connections_received:",
		"role:master\r\n",
		"used_cpu_user:",
		"cluster_enabled:0\r\n",
		"loading:0\r\n",
		"mem_allocator:",
	};

	start();
	for (size_t i = 0; i < sizeof in_default / sizeof in_default[0]; i++)
		ASK_HAS(p, "INFO", in_default[i]);
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		ASK_HAS(p, "INFO default", fields[i]);
	ASK_LACKS(p, "INFO", "# Commandstats");
	ASK_HAS(p, "INFO everything", "# Commandstats");
	ASK_HAS(p, "INFO all", "cmdstat_info:calls=");
	ASK_HAS(p, "INFO latencystats", "latency_percentiles_usec_info:p50=");
	ASK_LACKS(p, "INFO commandstats", "# Server");
	ASK_HAS(p, "INFO server CLIENTS", "# Clients");
	ASK_HAS(p, "INFO server nosuch", "# Server");
	ASK(p, "INFO nosuch", "$0\r\n\r\n");
}

static void info_counts_commands_and_connections(void)
{
	start();
	peer_send_text(p, "NOSUCH\r\nHELLO 9\r\nGET\r\nPING a b\r\n");
	peer_skip_replies(p, 4);
	ASK_HAS(p, "INFO errorstats", "errorstat_ERR:count=3\r\n");
	ASK_HAS(p, "INFO errorstats", "errorstat_NOPROTO:count=1\r\n");
	ASK_HAS(p, "INFO commandstats", "cmdstat_hello:calls=1,");
	ASK_HAS(p, "INFO commandstats", "rejected_calls=0,failed_calls=1\r\n");
	ASK_HAS(p, "INFO commandstats", "rejected_calls=1,failed_calls=0\r\n");
	TEST_ASSERT_EQUAL_INT64(4, peer_ask_number(p, "INFO stats", "total_error_replies:"));
	ASK(p, "CONFIG RESETSTAT", "+OK\r\n");
	TEST_ASSERT_EQUAL_INT64(0, peer_ask_number(p, "INFO stats", "total_error_replies:"));
	ASK_LACKS(p, "INFO commandstats", "cmdstat_hello");
	ASK_LACKS(p, "INFO errorstats", "errorstat_ERR");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "CONFIG RESETSTAT", "+QUEUED\r\n");
	ASK(p, "SELECT x", "+QUEUED\r\n");
	ASK_HAS(p, "EXEC", "*2\r\n+OK\r\n-ERR");
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "INFO stats", "total_error_replies:"));
}

static void config_get_takes_patterns(void)
{
	start();
	ASK(p, "CONFIG GET timeout", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n");
	ASK(p, "CONFIG GET TimeOut nosuch", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n");
	ASK(p, "CONFIG GET nosuch", "*0\r\n");
	ASK_HAS(p, "CONFIG GET *", "$8\r\nloglevel\r\n$6\r\nnotice\r\n");
	ASK_HAS(p, "CONFIG GET log* max*", "$10\r\nmaxclients\r\n");
	ASK(p, "CONFIG GET save", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n");
	ASK(p, "CONFIG GET appendonly", "*2\r\n$10\r\nappendonly\r\n$3\r\nyes\r\n");
	peer_ask(p, "HELLO 3");
	ASK(p, "CONFIG GET timeout", "%1\r\n$7\r\ntimeout\r\n$1\r\n0\r\n");
	ASK_LACKS(p, "CONFIG GET *", "$4\r\nuser\r\n");
	ASK(p, "CONFIG GET",
	    "-ERR wrong number of arguments for 'config|get' command (expected: CONFIG GET "
	    "parameter "
	    "[parameter ...])\r\n");
}

static void config_set_applies_all_values_or_none(void)
{
	start();
	ASK(p, "CONFIG SET timeout 5 tcp-keepalive 60", "+OK\r\n");
	ASK_HAS(p, "CONFIG GET t*", "$7\r\ntimeout\r\n$1\r\n5\r\n");
	ASK_HAS(p, "CONFIG GET t*", "$13\r\ntcp-keepalive\r\n$2\r\n60\r\n");
	TEST_ASSERT_EQUAL_INT('-', peer_ask(p, "CONFIG SET timeout 7 maxclients x")[0]);
	TEST_ASSERT_EQUAL_INT('-', peer_ask(p, "CONFIG SET timeout 7 nosuch 1")[0]);
	TEST_ASSERT_EQUAL_INT('-', peer_ask(p, "CONFIG SET timeout 7 port 1")[0]);
	TEST_ASSERT_EQUAL_INT('-', peer_ask(p, "CONFIG SET timeout 7 timeout 8")[0]);
	TEST_ASSERT_EQUAL_INT('-', peer_ask(p, "CONFIG SET timeout 7 loglevel loud")[0]);
	ASK(p, "CONFIG SET heartbeat 5",
	    "-ERR 'heartbeat' is an option of the queues, not a directive; use CONFIG.SET\r\n");
	ASK(p, "CONFIG SET timeout 5 mail-max-concurrency 5",
	    "-ERR 'mail-max-concurrency' is an option of the queues, not a directive; use "
	    "CONFIG.SET\r\n");
	ASK(p, "CONFIG SET timeout",
	    "-ERR wrong number of arguments for 'config|set' command (expected: CONFIG SET "
	    "parameter "
	    "value [parameter value ...])\r\n");
	ASK(p, "CONFIG SET timeout 7 loglevel",
	    "-ERR wrong number of arguments for 'config|set' command (expected: CONFIG SET "
	    "parameter "
	    "value [parameter value ...])\r\n");
	ASK(p, "CONFIG GET timeout", "*2\r\n$7\r\ntimeout\r\n$1\r\n5\r\n");
	ASK(p, "CONFIG SET loglevel debug", "+OK\r\n");
	ASK(p, "PING", "+PONG\r\n");
	ASK(p, "CONFIG",
	    "-ERR wrong number of arguments for 'config' command (expected: CONFIG and a "
	    "subcommand; see "
	    "CONFIG HELP)\r\n");
	ASK(p, "CONFIG nosuch", "-ERR unknown subcommand 'nosuch'. Try CONFIG HELP.\r\n");
}

static void config_rewrite_keeps_comments_and_saves_changes(void)
{
	struct tempdir dir;
	char path[300], *text;

	start();
	ASK(p, "CONFIG REWRITE", "-ERR The server is running without a config file\r\n");
	qlessd_stop(&q);
	tempdir_init(&dir);
	snprintf(path, sizeof path, "%s", tempdir_file(&dir, "qlessd.conf"));
	textfile_write(path, "# mine\ntimeout 9\nuser ann on >pw +ping\n");
	QLESSD_START(&q, path);
	p = peer_connect(&q);
	ASK(p, "CONFIG GET timeout", "*2\r\n$7\r\ntimeout\r\n$1\r\n9\r\n");
	peer_send_text(p, "CONFIG SET timeout 11 requirepass \"p w\"\r\n");
	peer_expect(p, "+OK\r\n");
	ASK(p, "ACL SETUSER bob on >pb +@all -shutdown", "+OK\r\n");
	ASK(p, "ACL SETUSER ann +echo", "+OK\r\n");
	ASK(p, "CONFIG REWRITE", "+OK\r\n");
	qlessd_stop(&q);
	text = textfile_read(path);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(text, "# mine\n"), text);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(text, "timeout 11\n"), text);
	TEST_ASSERT_NULL_MESSAGE(strstr(text, ">pb"), text);
	free(text);
	/* A start reads the rewritten file. */
	QLESSD_START(&q, path);
	p = peer_connect(&q);
	ASK(p, "PING", "-NOAUTH Authentication required.\r\n");
	peer_send_text(p, "AUTH 'p w'\r\n");
	peer_expect(p, "+OK\r\n");
	ASK(p, "CONFIG GET timeout", "*2\r\n$7\r\ntimeout\r\n$2\r\n11\r\n");
	ASK(p, "AUTH bob pb", "+OK\r\n");
	ASK_HAS(p, "SHUTDOWN", "-NOPERM");
	ASK(p, "ECHO a", "$1\r\na\r\n");
	ASK(p, "AUTH ann pw", "+OK\r\n");
	ASK(p, "ECHO a", "$1\r\na\r\n");
	ASK_HAS(p, "CLIENT ID", "-NOPERM");
	tempdir_done(&dir);
}

/* Check that every reply of the COMMAND family is complete, in both protocols. */
static void command_describes_all_commands(void)
{
	static const char *const requests[] = {
		"COMMAND",
		"COMMAND DOCS",
		"COMMAND INFO",
		"COMMAND LIST",
		"COMMAND HELP",
		"COMMAND DOCS ping client config|get nosuch",
		"COMMAND INFO ping nosuch client|kill",
		"COMMAND LIST FILTERBY PATTERN c*",
		"COMMAND LIST FILTERBY ACLCAT admin",
		"COMMAND GETKEYS ping",
		"COMMAND COUNT",
		"ACL CAT",
		"ACL CAT admin",
		"ACL LIST",
		"ACL GETUSER default",
		"ACL GETUSER nosuch",
		"ACL USERS",
		"ACL HELP",
		"CLIENT HELP",
		"CONFIG HELP",
		"DEBUG HELP",
		"LATENCY HELP",
		"MEMORY HELP",
		"MODULE HELP",
		"PUBSUB HELP",
		"SLOWLOG HELP",
		"MEMORY STATS",
		"MEMORY USAGE x",
		"LATENCY HISTOGRAM",
		"LATENCY LATEST",
		"SLOWLOG GET",
		"CONFIG GET *",
		"TIME",
		"CLIENT LIST",
		"CLIENT INFO",
		"INFO everything",
		"HELLO",
		"LASTSAVE",
		"DBSIZE",
	};
	redisContext *c;

	start();
	for (int proto = 2; proto <= 3; proto++) {
		if (proto == 3)
			peer_ask(p, "HELLO 3");
		for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
			const char *reply = peer_ask(p, requests[i]);

			if (strstr(requests[i], "GETKEYS") == NULL)
				TEST_ASSERT_TRUE_MESSAGE(reply[0] != '-', requests[i]);
			ASK(p, "PING", "+PONG\r\n");
		}
	}
	c = redisConnect("127.0.0.1", q.port);
	TEST_ASSERT_EQUAL_INT(0, c->err);
	for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
		redisReply *reply;

		/* This reply is nested deeper than the library reads. */
		if (strstr(requests[i], "DOCS") != NULL)
			continue;
		reply = redisCommand(c, requests[i]);
		TEST_ASSERT_NOT_NULL_MESSAGE(reply, requests[i]);
		freeReplyObject(reply);
	}
	redisFree(c);
}

static void slowlog_keeps_slow_commands(void)
{
	struct peer *other;

	QLESSD_START(&q, "--slowlog-log-slower-than", "0", "--slowlog-max-len", "5",
		     "--enable-debug-command", "local");
	p = peer_connect(&q);
	other = peer_connect(&q);
	ASK(other, "CLIENT SETNAME it", "+OK\r\n");
	ASK(other, "ECHO hello", "$5\r\nhello\r\n");
	ASK_HAS(p, "SLOWLOG GET 1", "*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n");
	ASK_HAS(p, "SLOWLOG GET 1", "$0\r\n\r\n");
	for (int i = 0; i < 10; i++)
		ASK(p, "PING", "+PONG\r\n");
	ASK(p, "SLOWLOG LEN", ":5\r\n");
	ASK_HAS(p, "SLOWLOG GET -1", "*5\r\n*6\r\n");
	ASK(p, "SLOWLOG GET -2", "-ERR count should be greater than or equal to -1\r\n");
	ASK(p, "SLOWLOG GET x", "-ERR count should be greater than or equal to -1\r\n");
	ASK(p, "SLOWLOG GET 0", "*0\r\n");
	ASK(p, "CONFIG SET slowlog-max-len 2", "+OK\r\n");
	ASK(p, "SLOWLOG LEN", ":2\r\n");
	/* An argument that contains NUL and is longer than the part that is kept. */
	peer_send_text(p, "*2\r\n$4\r\nECHO\r\n$200\r\n");
	for (int i = 0; i < 100; i++)
		peer_send(p, "\0x", 2);
	peer_send_text(p, "\r\n");
	peer_reply(p);
	ASK_HAS(p, "SLOWLOG GET 1", "*2\r\n$4\r\nECHO\r\n$147\r\n");
	ASK(p, "CONFIG SET slowlog-log-slower-than -1", "+OK\r\n");
	ASK(p, "SLOWLOG RESET", "+OK\r\n");
	ASK(p, "SLOWLOG LEN", ":0\r\n");
	ASK(p, "CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 128", "+OK\r\n");
	ASK(p, "AUTH default topsecret", "+OK\r\n");
	peer_ask(p, "HELLO 2 AUTH default topsecret");
	ASK(p, "ACL SETUSER u on >topsecret", "+OK\r\n");
	ASK(p, "CONFIG SET requirepass topsecret", "+OK\r\n");
	ASK(p, "ACL DRYRUN default AUTH topsecret", "+OK\r\n");
	ASK(p, "ACL DRYRUN default ACL DRYRUN u ACL SETUSER v >topsecret", "+OK\r\n");
	ASK_HAS(p, "COMMAND GETKEYS AUTH topsecret", "-ERR ");
	ASK_HAS(p, "COMMAND GETKEYSANDFLAGS CONFIG SET requirepass topsecret", "-ERR ");
	ASK_HAS(p, "SLOWLOG GET -1", "$4\r\nAUTH\r\n$10\r\n(redacted)\r\n");
	ASK_LACKS(p, "SLOWLOG GET -1", "topsecret");
	TEST_ASSERT_FALSE(qlessd_has_logged(&q, "topsecret"));
}

static void latency_keeps_forks_and_syncs(void)
{
	/* Milliseconds, longer than either takes: 1 is the smallest threshold. */
	QLESSD_START(&q, "--latency-monitor-threshold", "1", "--appendfsync", "always");
	p = peer_connect(&q);
	ASK_HAS(p, "LATENCY DOCTOR", "");
	for (int i = 0; i < 20; i++)
		ASK(p, "CONFIG.SET heartbeat 61", "$-1\r\n");
	ASK_HAS(p, "BGREWRITEAOF", "+Background");
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrites:") == 1);
	TEST_ASSERT_TRUE(peer_ask_number(p, "INFO persistence", "latest_fork_usec:") > 0);
	if (peer_ask_number(p, "INFO persistence", "log_sync_usec_last:") >= 2000)
		ASK_HAS(p, "LATENCY LATEST", "aof-fsync");
	if (peer_ask_number(p, "INFO persistence", "latest_fork_usec:") >= 1000)
		ASK_HAS(p, "LATENCY LATEST", "fork");
	ASK(p, "CONFIG SET latency-monitor-threshold 0", "+OK\r\n");
	peer_ask(p, "LATENCY RESET");
	ASK_HAS(p, "LATENCY DOCTOR", "The latency monitor is off");
}

static void info_describes_queues(void)
{
	start();
	ASK_HAS(p, "INFO queues", "# Queues\r\nqueues:0\r\n");
	ASK_HAS(p, "PUT w small a K {} 0", "a");
	ASK_HAS(p, "PUT w large b K {} 0", "b");
	ASK_HAS(p, "PUT w large c K {} 0", "c");
	ASK_HAS(p, "POP large w 1", "b");
	ASK_HAS(p, "INFO queues",
		"queue0:name=large,db=0,waiting=1,running=1,stalled=0,scheduled=0,depends=0,"
		"recurring=0,failed=0,paused=0,puts=2,put_rate_1m=");
	ASK_HAS(p, "INFO queues", "queue1:name=small,db=0,waiting=1,");
	ASK_HAS(p, "INFO queues", "queues:2\r\nqueues_paused:0\r\njobs:3\r\n");
	ASK_HAS(p, "INFO", "# Queues");
	/* The rate after some seconds with only three puts, or two. */
	WAIT_UNTIL(strstr(peer_ask(p, "INFO queues"), "puts=2,put_rate_1m=0.03,put_rate_5m=0.01,"));
}

static void info_describes_classes(void)
{
	start();
	ASK_HAS(p, "INFO classes", "# Classes\r\n");
	ASK_HAS(p, "PUT w q a rare {} 0", "a");
	ASK_HAS(p, "PUT w q b busy {} 0", "b");
	ASK_HAS(p, "PUT w r c busy {} 0", "c");
	ASK_HAS(p, "POP r w 1", "c");
	ASK_HAS(p, "COMPLETE c w r {}", "complete");
	ASK_HAS(p, "INFO classes", "class0:name=busy,db=0,puts=2,put_rate_1m=");
	ASK_HAS(p, "INFO classes", ",retries=0,lost_locks=0,attempts=1.00,completion_time=");
	ASK_HAS(p, "INFO classes", ",failure_time=0.000,lifetime=");
	ASK_HAS(p, "INFO classes", "class1:name=rare,db=0,puts=1,");
	ASK_HAS(p, "INFO everything", "# Classes");
	ASK_LACKS(p, "INFO", "# Classes");
	/* A class may have jobs in any queue. */
	ASK(p, "ACL SETUSER ann on nopass +@all ~q", "+OK\r\n");
	ASK_HAS(p, "AUTH ann x", "OK");
	ASK_LACKS(p, "INFO classes", "class0");
}

static void info_lists_the_hundred_largest_queues(void)
{
	char line[64];

	start();
	/* Numbers of jobs in no particular order. Some queues have one more in common. */
	for (int i = 0; i < 150; i++) {
		for (int job = 0; job <= i * 77 % 150 / 2; job++) {
			snprintf(line, sizeof line, "PUT w queue-%03d j%d-%d K {} 0", i * 77 % 150,
				 i, job);
			peer_send_words(p, line);
			peer_skip_replies(p, 1);
		}
	}
	for (int i = 0; i < 100; i++) {
		/* The queue whose name sorts first, of two queues of the same size. */
		int queue = 148 - i + i % 2 * 2;

		snprintf(line, sizeof line, "\nqueue%d:name=queue-%03d,db=0,waiting=%d,", i, queue,
			 queue / 2 + 1);
		ASK_HAS(p, "INFO queues", line);
	}
	TEST_ASSERT_NULL(strstr(peer_ask(p, "INFO queues"), "queue100:"));
	ASK_HAS(p, "INFO queues", "queues:150\r\n");
}

static void queue_counters_start_at_zero_after_a_restart(void)
{
	/* With --addr, the server may be foreign. */
	QLESSD_START(&q, "--timeout", "0");
	p = peer_connect(&q);
	ASK_HAS(p, "PUT w q a K {} 0", "a");
	ASK_HAS(p, "INFO queues", "puts=1,");
	peer_close_all();
	kill(q.pid, SIGTERM);
	qlessd_wait(&q);
	qlessd_start_again(&q, (const char *const[]){ NULL });
	p = peer_connect(&q);
	ASK_HAS(p, "INFO queues", "queue0:name=q,db=0,waiting=1,");
	ASK_HAS(p, "INFO queues", "puts=0,");
}

static void info_counts_kinds_of_clients(void)
{
	start();
	ASK(peer_connect(&q), "MONITOR", "+OK\r\n");
	ASK_HAS(peer_connect(&q), "SUBSCRIBE x", "subscribe");
	ASK(p, "CLIENT SETINFO LIB-NAME it", "+OK\r\n");
	ASK(peer_connect(&q), "CLIENT SETINFO LIB-NAME it", "+OK\r\n");
	ASK_HAS(p, "INFO clients",
		"connected_clients:4\r\nnormal_clients:2\r\npubsub_clients:1\r\n"
		"monitor_clients:1\r\n");
	ASK_HAS(p, "INFO clients", "client_library0:name=it,clients=2\r\n");
}

/* Drops the samples of turns before this one. */
static bool has_no_late_turn(void)
{
	peer_ask(p, "LATENCY RESET eventloop");
	return strstr(peer_ask(p, "LATENCY LATEST"), "eventloop") == NULL;
}

static void latency_keeps_events(void)
{
	/* A busy machine may delay a turn for as long. */
	QLESSD_START(&q, "--latency-monitor-threshold", "1000", "--enable-debug-command", "yes");
	p = peer_connect(&q);
	WAIT_UNTIL(has_no_late_turn());
	ASK(p, "DEBUG SLEEP 1.1", "+OK\r\n");
	ASK_HAS(p, "LATENCY LATEST", "$9\r\neventloop\r\n:");
	ASK_HAS(p, "LATENCY HISTORY eventloop", "\r\n*2\r\n:");
	ASK_HAS(p, "LATENCY DOCTOR", "eventloop: ");
	TEST_ASSERT_TRUE(peer_ask_number(p, "INFO stats", "eventloop_duration_max:") >= 1100000);
	ASK(p, "DEBUG SLEEP x", "-ERR value is not a valid float\r\n");
	ASK(p, "DEBUG SLEEP -1", "-ERR value is not a valid float\r\n");
	ASK(p, "LATENCY HISTORY nosuch", "*0\r\n");
	ASK(p, "LATENCY RESET nosuch", ":0\r\n");
	ASK_HAS(p, "LATENCY HISTOGRAM debug|sleep", "$5\r\ncalls\r\n:3\r\n");
	ASK_HAS(p, "LATENCY HISTOGRAM nosuch echo", "*0\r\n");
	ASK(p, "LATENCY RESET eventloop", ":1\r\n");
	WAIT_UNTIL(has_no_late_turn());
	ASK_HAS(p, "LATENCY HELP", "DOCTOR");
	ASK_HAS(p, "MEMORY STATS", "peak.allocated");
	ASK(p, "MEMORY PURGE", "+OK\r\n");
	ASK(p, "MEMORY USAGE a SAMPLES", "-ERR syntax error\r\n");
	ASK(p, "MEMORY NOSUCH", "-ERR unknown subcommand 'NOSUCH'. Try MEMORY HELP.\r\n");
}

static void processor_time_of_the_longest_turn_leaves_out_waiting(void)
{
	int64_t used_us;

	QLESSD_START(&q, "--enable-debug-command", "yes");
	p = peer_connect(&q);
	ASK(p, "DEBUG SLEEP 0.5", "+OK\r\n");
	TEST_ASSERT_TRUE(peer_ask_number(p, "INFO stats", "eventloop_duration_max:") >= 500000);
	TEST_ASSERT_TRUE(peer_ask_number(p, "INFO stats", "eventloop_cpu_max:") < 500000);
	/* One turn formats the documentation of all commands several times. */
	qlessd_halt(&q);
	for (int i = 0; i < 20; i++)
		peer_send_text(p, "COMMAND DOCS\r\n");
	qlessd_go_on(&q);
	peer_skip_replies(p, 20);
	WAIT_UNTIL((used_us = peer_ask_number(p, "INFO stats", "eventloop_cpu_max:")) > 0);
	ASK(p, "CONFIG RESETSTAT", "+OK\r\n");
	TEST_ASSERT_TRUE(peer_ask_number(p, "INFO stats", "eventloop_cpu_max:") < used_us);
}

static void debug_is_off_unless_allowed(void)
{
	start();
	ASK_HAS(p, "DEBUG SLEEP 0", "-ERR DEBUG command not allowed");
	ASK_HAS(p, "DEBUG SEGFAULT", "-ERR DEBUG command not allowed");
	ASK(p, "PING", "+PONG\r\n");
	TEST_ASSERT_EQUAL_INT('-', peer_ask(p, "CONFIG SET enable-debug-command yes")[0]);
	qlessd_stop(&q);
	peer_close_all();
	QLESSD_START(&q, "--enable-debug-command", "local");
	ASK(peer_connect(&q), "DEBUG SLEEP 0", "+OK\r\n");
	ASK(peer_connect_unix(&q), "DEBUG SLEEP 0", "+OK\r\n");
	ASK_HAS(peer_connect(&q), "DEBUG NOSUCH", "-ERR unknown subcommand 'NOSUCH'");
}

static void time_returns_the_wall_clock(void)
{
	int64_t before = (int64_t)time(NULL), then;
	struct timespec after; /* time() may lag by some milliseconds */

	start();
	then = peer_ask_number(p, "TIME", "*2\r\n$10\r\n");
	clock_gettime(CLOCK_REALTIME, &after);
	TEST_ASSERT_TRUE(then >= before && then <= (int64_t)after.tv_sec);
}

static void tools_learn_what_the_server_can_do(void)
{
	char first[80];

	start();
	ASK(p, "ROLE", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
	ASK(p, "WAIT 1 0", ":0\r\n");
	ASK(p, "WAIT one 0", "-ERR value is not an integer or out of range\r\n");
	ASK(p, "WAIT 1 soon", "-ERR timeout is not an integer or out of range\r\n");
	ASK(p, "WAIT 1 -1", "-ERR timeout is negative\r\n");
	ASK(p, "MODULE LIST", "*0\r\n");
	ASK_HAS(p, "MODULE HELP", "LIST");
	snprintf(first, sizeof first, "%s", peer_ask(p, "ACL GENPASS"));
	TEST_ASSERT_EQUAL_size_t(strlen("$64\r\n\r\n") + 64, strlen(first));
	TEST_ASSERT_TRUE(strcmp(first, peer_ask(p, "ACL GENPASS")) != 0);
	TEST_ASSERT_EQUAL_size_t(strlen("$2\r\n5a\r\n"), strlen(peer_ask(p, "ACL GENPASS 5")));
	ASK_HAS(p, "ACL GENPASS 4096", "$1024\r\n");
	ASK_HAS(p, "ACL GENPASS 4097", "-ERR ACL GENPASS argument must be the number of bits");
	ASK_HAS(p, "ACL GENPASS 0", "-ERR ACL GENPASS argument must be the number of bits");
	ASK_HAS(p, "ACL GENPASS many", "-ERR ACL GENPASS argument must be the number of bits");
}

static void a_monitor_sees_commands_but_no_secrets(void)
{
	struct peer *m, *other;
	char tail[200];

	start();
	m = peer_connect(&q);
	other = peer_connect_unix(&q);
	ASK(m, "MONITOR", "+OK\r\n");
	ASK(p, "ECHO hello", "$5\r\nhello\r\n");
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(m), "\"ECHO\" \"hello\"\r\n"));
	peer_send_text(p, "SELECT 2\r\nECHO \"a\\\"\\n\\x01\\xff\"\r\n");
	peer_skip_replies(p, 2);
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(m), " [0 127.0.0.1:"));
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(m), "] \"ECHO\" \"a\\\"\\n\\x01\\xff\"\r\n"));
	ASK(other, "PING", "+PONG\r\n");
	snprintf(tail, sizeof tail, " [0 unix:%s] \"PING\"\r\n", q.socket_path);
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(m), tail));
	/* A refused command does not run, so it is not shown. */
	TEST_ASSERT_EQUAL_INT('-', peer_ask(p, "NOSUCH topsecret")[0]);
	ASK(p, "AUTH default topsecret", "+OK\r\n");
	peer_ask(p, "HELLO 2 AUTH default topsecret");
	ASK(p, "ACL SETUSER u on >topsecret", "+OK\r\n");
	ASK(p, "ACL DRYRUN default AUTH topsecret", "+OK\r\n");
	ASK_HAS(p, "COMMAND GETKEYS AUTH topsecret", "-ERR ");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "ACL SETUSER u >topsecret2", "+QUEUED\r\n");
	ASK(p, "CONFIG SET requirepass topsecret", "+QUEUED\r\n");
	ASK_HAS(p, "EXEC", "*2\r\n+OK\r\n+OK\r\n");
	ASK(p, "ECHO end", "$3\r\nend\r\n");
	for (;;) {
		const char *line = peer_reply(m);

		TEST_ASSERT_NULL_MESSAGE(strstr(line, "secret"), line);
		if (strstr(line, "\"end\"") != NULL)
			break;
	}
}

static void a_monitor_ends_with_reset_or_its_connection(void)
{
	struct peer *m;

	start();
	m = peer_connect(&q);
	ASK(m, "MONITOR", "+OK\r\n");
	TEST_ASSERT_NOT_NULL(strstr(peer_ask(m, "MONITOR"), "\"MONITOR\""));
	peer_expect(m, "+OK\r\n");
	peer_send_text(m, "RESET\r\n");
	peer_reply(m);
	peer_expect(m, "+RESET\r\n");
	ASK(p, "PING", "+PONG\r\n");
	ASK(m, "PING", "+PONG\r\n");
	ASK(m, "MONITOR", "+OK\r\n");
	peer_reset(m);
	for (int i = 0; i < 100; i++)
		ASK(p, "PING", "+PONG\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "MONITOR", "-ERR Command not allowed inside a transaction\r\n");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(info_has_sections);
	RUN(info_counts_commands_and_connections);
	RUN(config_get_takes_patterns);
	RUN(config_set_applies_all_values_or_none);
	RUN(config_rewrite_keeps_comments_and_saves_changes);
	RUN(command_describes_all_commands);
	RUN(slowlog_keeps_slow_commands);
	RUN(latency_keeps_events);
	RUN(latency_keeps_forks_and_syncs);
	RUN(info_describes_queues);
	RUN(info_describes_classes);
	RUN(info_lists_the_hundred_largest_queues);
	RUN(queue_counters_start_at_zero_after_a_restart);
	RUN(info_counts_kinds_of_clients);
	RUN(processor_time_of_the_longest_turn_leaves_out_waiting);
	RUN(debug_is_off_unless_allowed);
	RUN(time_returns_the_wall_clock);
	RUN(tools_learn_what_the_server_can_do);
	RUN(a_monitor_sees_commands_but_no_secrets);
	RUN(a_monitor_ends_with_reset_or_its_connection);
	return UNIT_RESULT();
}
