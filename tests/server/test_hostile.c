/*
 * Clients that have not authenticated and mean harm: they get no further, take a bounded amount of
 * memory, and do not delay other clients.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "peer.h"
#include "textfile.h"
#include "unit.h"
#include "wait.h"

#define STRANGERS 900 /* fits into a limit of 1024 open files */
#define NESTED	  1000000
#define ATTEMPTS  150000

/* Bytes of a connection that has sent a little, with the rounding of the allocator. */
#define SLOW_BYTES ((int64_t)4 * 1024)
/* Bytes of difference that are always allowed: all connections share buffers for reading and
 * replying. */
#define SHARED_BYTES ((int64_t)8 * 1024 * 1024)
/* Sanitizers pad each allocation, and keep freed memory: up to this many bytes. */
#define SANITIZER_FACTOR 8
#define SANITIZER_KEEPS	 (INT64_C(256) << 20)

static struct qlessd q;
static struct peer *p; /* has authenticated, and must be served all the time */
static int64_t bytes_before;

void setUp(void)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	/* All of them stay at once, however few descriptors the system allows. */
	QLESSD_START(&q, "--requirepass", "secret", "--unauthenticated-clients-percentage", "100");
	p = peer_connect(&q);
	ASK(p, "AUTH secret", "+OK\r\n");
	ASK(p, "PUT w q j klass {} 0", "$1\r\nj\r\n");
	bytes_before = (int64_t)qlessd_proc_status(&q, "VmRSS:") * 1024;
}

static void expect_service(void)
{
	ASK(p, "PING", "+PONG\r\n");
}

/* Check that the server uses at most this many bytes more than before. */
static void expect_memory(int64_t more)
{
	int64_t bytes = (int64_t)qlessd_proc_status(&q, "VmRSS:") * 1024;

	if (qlessd_is_sanitized())
		more = more * SANITIZER_FACTOR + SANITIZER_KEEPS;
	TEST_ASSERT_LESS_THAN_INT64(bytes_before + more, bytes);
}

/* Check that all other clients are gone, and changed nothing. */
static void expect_peace(void)
{
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "connected_clients:") == 1);
	ASK(p, "LENGTH q", ":1\r\n");
	expect_memory(SHARED_BYTES);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

/* ---- what comes to a port that is open to the world ---- */

/* First bytes of clients of other protocols, and of scanners. */
static const struct probe {
	const char *bytes;
	size_t len;
	bool is_cut; /* closed by the server in any case */
} probes[] = {
#define PROBE(text, is_cut)                    \
	{                                      \
		text, sizeof(text) - 1, is_cut \
	}
	PROBE("", false),
	PROBE("\r\n\r\n", false),
	PROBE("\n", false),
	PROBE("\0\0\0\0\0\0\0\0", false),
	PROBE("\r\n\r\nPOST / HTTP/1.1\r\n", true),
	PROBE("GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", true),
	PROBE("OPTIONS * HTTP/1.1\r\nUser-Agent: x\r\nhOsT: a\r\nFLUSHALL\r\n", true),
	PROBE("post /\r\nCONFIG SET requirepass x\r\n", true),
	PROBE("*1\r\n$4\r\nPOST\r\n*1\r\n$8\r\nFLUSHALL\r\n", true),
	/* TLS 1.2 and 1.3. */
	PROBE("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x0a\x0a", false),
	PROBE("SSH-2.0-OpenSSH_9.2p1\r\n", false),
	PROBE("EHLO example.org\r\n", false),
	PROBE("\x03\x00\x00\x13\x0e\xe0\x00\x00\x00\x00\x00\x01\x00\x08\x00\x03\x00\x00\x00",
	      false), /* RDP */
	PROBE("*0\r\n*-1\r\n*1\r\n$0\r\n\r\n", false),
	PROBE("*1\r\n$-1\r\n", true),
	PROBE("*2\r\n$4\r\nAUTH\r\n$536870912\r\nx", true),
	PROBE("*1048576\r\n", true),
	PROBE("*9223372036854775808\r\n", true),
	PROBE("*11\r\n$1\r\n", true),
	PROBE("*1\r\n*1\r\n", true),
	PROBE("*3\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n0\r\n", false),
	PROBE("FLUSHALL\r\nCANCEL j\r\nSHUTDOWN NOSAVE\r\nDEBUG SEGFAULT\r\n", false),
	PROBE("CONFIG SET dir /tmp\r\nCONFIG REWRITE\r\nMONITOR\r\nSUBSCRIBE ql:s\r\n", false),
	PROBE("HELLO 3 SETNAME x\r\nCLIENT LIST\r\nACL SETUSER x on nopass +@all\r\n", false),
};

/* There may be an error before the end. */
static void expect_cut(struct peer *stranger)
{
	while (peer_gets_more(stranger))
		peer_skip_replies(stranger, 1);
}

static void other_protocols_and_scanners_are_refused_or_ignored(void)
{
	for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
		for (int how = 0; how < 3; how++) {
			struct peer *stranger = peer_connect(&q);

			peer_send_blindly(stranger, probes[i].bytes, probes[i].len);
			expect_service();
			if (how == 0 && probes[i].is_cut)
				expect_cut(stranger);
			if (how == 1)
				peer_reset(stranger);
			else
				peer_close(stranger);
			expect_service();
		}
	}
	expect_peace();
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "HTTP"));
}

static void requests_in_small_pieces_cost_other_clients_nothing(void)
{
	static const char bytes[] = "*3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$5\r\nwrong\r\n";
	struct peer *stranger = peer_connect(&q);

	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i + 1 < sizeof bytes; i++) {
			peer_send(stranger, bytes + i, 1);
			if (i % 10 == 0)
				expect_service();
		}
		TEST_ASSERT_EQUAL_INT(0, strncmp(peer_reply(stranger), "-WRONGPASS", 10));
	}
	expect_memory(SHARED_BYTES);
}

/* ---- much of it ---- */

static void many_slow_clients_cost_little(void)
{
	static const char bytes[] = "*2\r\n$4\r\nAUTH\r\n$900\r\nsesame";
	static struct peer *strangers[STRANGERS];

	for (int i = 0; i < STRANGERS; i++)
		strangers[i] = peer_connect(&q);
	for (size_t at = 0; at + 1 < sizeof bytes; at++) {
		for (int i = 0; i < STRANGERS; i += i % 10 == 0 || at < 4 ? 1 : 9)
			peer_send(strangers[i], bytes + at, 1);
		expect_service();
	}
	expect_memory(SHARED_BYTES + STRANGERS * SLOW_BYTES);
	for (int i = 0; i < STRANGERS; i++)
		peer_close(strangers[i]);
	expect_peace();
}

/* As much as the server accepts from an unauthenticated client before a request is complete. */
static void memory_of_unauthenticated_clients_is_bounded(void)
{
	static char argument[1024];
	static struct peer *strangers[STRANGERS];

	memset(argument, 'x', sizeof argument);
	for (int i = 0; i < STRANGERS; i++) {
		strangers[i] = peer_connect(&q);
		peer_send_text(strangers[i], "*2\r\n$4\r\nAUTH\r\n$900\r\n");
		peer_send(strangers[i], argument, 900);
	}
	expect_service();
	expect_memory(SHARED_BYTES + STRANGERS * SLOW_BYTES);
	TEST_ASSERT_GREATER_THAN(STRANGERS * 900,
				 peer_ask_number(p, "INFO clients", "unauthenticated_memory:"));
	/* The rest completes a request, which is refused. */
	peer_send_text(strangers[0], "\r\n");
	TEST_ASSERT_EQUAL_INT('-', peer_reply(strangers[0])[0]);
	for (int i = 0; i < STRANGERS; i++)
		peer_close(strangers[i]);
	strangers[0] = peer_connect(&q);
	peer_send_text(strangers[0], "*2\r\n$4\r\nAUTH\r\n$1024\r\n");
	peer_expect(strangers[0], "-ERR Protocol error: too big request\r\n");
	peer_expect_end(strangers[0]);
}

static void nested_arrays_are_refused_at_the_second_level(void)
{
	char *bytes = malloc(4 * (size_t)NESTED);
	struct peer *stranger = peer_connect(&q);

	for (size_t i = 0; i < NESTED; i++)
		memcpy(bytes + 4 * i, "*1\r\n", 4);
	peer_send_blindly(stranger, bytes, 4 * (size_t)NESTED);
	expect_service();
	peer_expect(stranger, "-ERR Protocol error: expected '$', got '*'\r\n");
	peer_close(stranger);
	free(bytes);
	expect_peace();
}

static void an_endless_line_closes_the_connection(void)
{
	static char bytes[1024 * 1024];
	struct peer *stranger = peer_connect(&q);

	memset(bytes, 'a', sizeof bytes);
	for (int i = 0; i < 32; i++) {
		peer_send_blindly(stranger, bytes, sizeof bytes);
		expect_service();
	}
	peer_expect(stranger, "-ERR Protocol error: too big inline request\r\n");
	peer_close(stranger);
	expect_peace();
}

static int count_lines(const char *text)
{
	int count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

static int64_t cut_for_not_reading(void)
{
	return peer_ask_number(p, "INFO stats", "client_output_buffer_limit_disconnections:");
}

/* Try passwords as fast as possible, without reading replies. */
static void guessing_passwords_neither_succeeds_nor_fills_the_log(void)
{
	static const char attempt[] = "AUTH default open-sesame\r\n";
	const size_t len = sizeof attempt - 1;
	char *bytes = malloc(ATTEMPTS * len), *log;
	int64_t started_ms = wait_now_ms(), seconds;
	struct peer *stranger;
	int lines;

	ASK(p, "CONFIG SET auth-failure-delay 0", "+OK\r\n");
	for (size_t i = 0; i < ATTEMPTS; i++)
		memcpy(bytes + i * len, attempt, len);
	peer_connect_small_buffers(true);
	stranger = peer_connect(&q);
	peer_send_blindly(stranger, bytes, ATTEMPTS * len);
	expect_service();
	WAIT_UNTIL(cut_for_not_reading() == 1);
	free(bytes);
	expect_peace();
	TEST_ASSERT_GREATER_THAN(1000, peer_ask_number(p, "INFO stats", "acl_access_denied_auth:"));
	WAIT_UNTIL(qlessd_has_logged(&q, "are left out"));
	seconds = (wait_now_ms() - started_ms) / 1000 + 2;
	log = textfile_read(q.log_path);
	lines = count_lines(log);
	free(log);
	/* Ten lines a second, the line that counts the rest, and the lines of each start. */
	TEST_ASSERT_LESS_THAN(20 + 11 * (int)seconds, lines);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(other_protocols_and_scanners_are_refused_or_ignored);
	RUN(requests_in_small_pieces_cost_other_clients_nothing);
	RUN(many_slow_clients_cost_little);
	RUN(memory_of_unauthenticated_clients_is_bounded);
	RUN(nested_arrays_are_refused_at_the_second_level);
	RUN(an_endless_line_closes_the_connection);
	RUN(guessing_passwords_neither_succeeds_nor_fills_the_log);
	return UNIT_RESULT();
}
