/*
 * A disk whose syncs take too long: with everysec, changes wait for the sync of earlier ones, reads
 * go on, and the operator is told. The environment variable SLOW_DISK is the path of the library
 * that makes the disk slow.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "luatext.h"
#include "peer.h"
#include "textfile.h"
#include "unit.h"
#include "variable.h"
#include "wait.h"

#define SECOND_US 1000000

static struct qlessd q;
static struct tempdir dir;
static struct peer *p;
static int gate; /* the disk syncs nothing while this file is locked */
static int http_port;
static char sha[41]; /* of the script that is loaded */

void setUp(void)
{
	char path[QLESSD_PATH_MAX];

	tempdir_init(&dir);
	snprintf(path, sizeof path, "%s/gate", dir.path);
	gate = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	setenv("SLOW_DISK_GATE", path, 1);
}

static void let_disk_sync(void)
{
	flock(gate, LOCK_UN);
}

static void stop_syncs(void)
{
	TEST_ASSERT_EQUAL_INT(0, flock(gate, LOCK_EX));
}

void tearDown(void)
{
	let_disk_sync();
	peer_close_all();
	qlessd_stop(&q);
	close(gate);
	tempdir_done(&dir);
}

/* The run time of a sanitizer wants to be the first library. */
static void preload(void)
{
	const char *options = getenv("ASAN_OPTIONS");
	char text[512];

	snprintf(text, sizeof text, "%s:verify_asan_link_order=0", options != NULL ? options : "");
	setenv("ASAN_OPTIONS", text, 1);
	setenv("LD_PRELOAD", variable_get("SLOW_DISK"), 1);
}

static void start(const char *policy, const char *max_age)
{
	char port[16];

	http_port = qlessd_free_port();
	snprintf(port, sizeof port, "%d", http_port);
	preload();
	QLESSD_START(&q, "--http-port", port, "--appendfsync", policy, "--max-unsynced-age",
		     max_age);
	unsetenv("LD_PRELOAD");
	p = peer_connect(&q);
}

static int64_t figure(const char *name)
{
	return peer_ask_number(p, "INFO persistence", name);
}

static int64_t blocked(void)
{
	return peer_ask_number(p, "INFO clients", "blocked_clients:");
}

/* Sends EVALSHA of a script that is loaded. */
static void send_script(struct peer *to, const char *words)
{
	char text[200];

	snprintf(text, sizeof text, "EVALSHA %s 0 %s", sha, words);
	peer_send_words(to, text);
}

static void load_script(void)
{
	char request[4096];

	snprintf(request, sizeof request, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
		 strlen(LUATEXT_CLASSIC), LUATEXT_CLASSIC);
	peer_send_text(p, request);
	snprintf(sha, sizeof sha, "%.40s", strchr(peer_reply(p), '\n') + 1);
}

static bool is_synced(void)
{
	return figure("log_durable_sequence:") == figure("log_last_sequence:");
}

static bool has_page(const char *path, const char *text)
{
	struct peer *http = peer_connect_to("127.0.0.1", http_port);
	char request[100], page[262144];
	size_t len = 0;
	ssize_t n;

	snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
	peer_send_text(http, request);
	while (peer_has_input(http, WAIT_MAX_MS) &&
	       (n = recv(http->fd, page + len, sizeof page - 1 - len, 0)) > 0)
		len += (size_t)n;
	page[len] = '\0';
	peer_close(http);
	return strstr(page, text) != NULL;
}

/* A change is acknowledged and not synced for more than a second. */
static void put_without_sync(const char *jid)
{
	char words[100];

	WAIT_UNTIL(is_synced());
	stop_syncs();
	snprintf(words, sizeof words, "PUT w q %s klass {} 0", jid);
	ASK_HAS(p, words, jid);
	WAIT_UNTIL(figure("log_unsynced_age_usec:") > SECOND_US);
}

static struct peer *send_from_another(const char *words)
{
	struct peer *other = peer_connect(&q);

	peer_send_words(other, words);
	return other;
}

static void changes_wait_for_the_sync_of_an_old_change(void)
{
	struct peer *other;

	start("everysec", "1");
	put_without_sync("j1");
	other = send_from_another("PUT w q j2 klass {} 0");
	WAIT_UNTIL(blocked() == 1);
	ASK(p, "GET j2", "$-1\r\n");
	TEST_ASSERT_EQUAL_INT64(1, figure("log_delayed_writes:"));
	TEST_ASSERT_FALSE(is_synced());
	let_disk_sync();
	peer_expect(other, "$2\r\nj2\r\n");
	WAIT_UNTIL(is_synced());
	WAIT_UNTIL(figure("log_unsynced_age_usec:") == 0);
	TEST_ASSERT_EQUAL_INT64(0, blocked());
}

static void every_form_of_a_change_waits(void)
{
	struct peer *classic, *script, *transaction;

	start("everysec", "1");
	load_script();
	transaction = peer_connect(&q);
	ASK(transaction, "MULTI", "+OK\r\n");
	ASK(transaction, "PUT w q j4 klass {} 0", "+QUEUED\r\n");
	put_without_sync("j1");
	classic = send_from_another("QLESS put 1000 w q j2 klass {} 0");
	script = peer_connect(&q);
	send_script(script, "put 1000 w q j3 klass {} 0");
	peer_send_words(transaction, "EXEC");
	WAIT_UNTIL(blocked() == 3);
	let_disk_sync();
	peer_expect(classic, "$2\r\nj2\r\n");
	peer_expect(script, "$2\r\nj3\r\n");
	peer_expect(transaction, "*1\r\n$2\r\nj4\r\n");
}

static void reads_go_on_in_every_form(void)
{
	start("everysec", "1");
	load_script();
	put_without_sync("j1");
	ASK_HAS(p, "GET j1", "\"jid\"");
	ASK_HAS(p, "QLESS get 1000 j1", "\"jid\"");
	send_script(p, "get 1000 j1");
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(p), "\"jid\""));
	ASK_HAS(p, "PEEK q 10", "j1");
	ASK_HAS(p, "TAG get t 0 10", "jobs");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "GET j2", "+QUEUED\r\n");
	ASK(p, "EXEC", "*1\r\n$-1\r\n");
	TEST_ASSERT_EQUAL_INT64(0, figure("log_delayed_writes:"));
}

static void a_slow_disk_is_reported(void)
{
	start("everysec", "1");
	TEST_ASSERT_TRUE(has_page("/readyz", " 200 OK\r\n"));
	put_without_sync("j1");
	TEST_ASSERT_TRUE(has_page("/readyz", " 503 Service Unavailable\r\n"));
	TEST_ASSERT_TRUE(has_page("/readyz", "the disk is slow"));
	TEST_ASSERT_TRUE(has_page("/readyz", "changes wait"));
	TEST_ASSERT_TRUE(has_page("/metrics", "\nqlessd_log_unsynced_age_seconds "));
	WAIT_UNTIL(qlessd_has_logged(&q, "the disk is slow"));
	let_disk_sync();
	WAIT_UNTIL(has_page("/readyz", " 200 OK\r\n"));
	WAIT_UNTIL(qlessd_has_logged(&q, "nothing waits for the disk any more"));
	TEST_ASSERT_TRUE(has_page("/metrics", "\nqlessd_log_unsynced_age_seconds 0\n"));
}

static void nothing_waits_without_a_limit(void)
{
	start("everysec", "0");
	put_without_sync("j1");
	ASK_HAS(p, "PUT w q j2 klass {} 0", "j2");
	TEST_ASSERT_TRUE(has_page("/readyz", " 200 OK\r\n"));
}

static void a_new_limit_ends_the_wait(void)
{
	struct peer *other;

	start("everysec", "1");
	put_without_sync("j1");
	other = send_from_another("PUT w q j2 klass {} 0");
	WAIT_UNTIL(blocked() == 1);
	ASK(p, "CONFIG SET max-unsynced-age 3600", "+OK\r\n");
	peer_expect(other, "$2\r\nj2\r\n");
}

static void a_client_that_leaves_does_not_change_anything(void)
{
	struct peer *other;

	start("everysec", "1");
	put_without_sync("j1");
	other = send_from_another("PUT w q j2 klass {} 0");
	WAIT_UNTIL(blocked() == 1);
	peer_reset(other);
	WAIT_UNTIL(blocked() == 0);
	let_disk_sync();
	WAIT_UNTIL(is_synced());
	ASK(p, "GET j2", "$-1\r\n");
}

static void with_always_replies_wait_and_that_is_reported(void)
{
	struct peer *other;

	start("always", "1");
	stop_syncs();
	other = send_from_another("PUT w q j1 klass {} 0");
	WAIT_UNTIL(has_page("/readyz", "replies wait"));
	TEST_ASSERT_FALSE(peer_has_input(other, 0));
	let_disk_sync();
	peer_expect(other, "$2\r\nj1\r\n");
	WAIT_UNTIL(has_page("/readyz", " 200 OK\r\n"));
}

/* Reads up to the end of the line that begins with this text. */
static void read_to_line(struct peer *peer, const char *begin)
{
	char line[1024];
	size_t len;

	do {
		for (len = 0; len == 0 || line[len - 1] != '\n'; len++) {
			TEST_ASSERT_TRUE(peer->start != peer->end || peer_gets_more(peer));
			TEST_ASSERT_LESS_THAN_size_t(sizeof line, len);
			line[len] = peer->buf[peer->start++];
		}
	} while (strncmp(line, begin, strlen(begin)) != 0);
}

static void with_always_events_wait_for_the_sync_of_their_change(void)
{
	struct peer *reader, *other;

	start("always", "1");
	reader = peer_connect_to("127.0.0.1", http_port);
	peer_send_text(reader, "GET /v1/events HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
	read_to_line(reader, "id: ");
	peer_expect(reader, "\n");
	stop_syncs();
	other = send_from_another("PUT w q j1 klass {} 0");
	WAIT_UNTIL(has_page("/readyz", "replies wait"));
	TEST_ASSERT_FALSE(peer_has_input(reader, 0));
	let_disk_sync();
	read_to_line(reader, "event: put\n");
	peer_expect(reader, "data: {\"jid\":\"j1\",\"event\":\"put\",\"queue\":\"q\"}\n\n");
	peer_expect(other, "$2\r\nj1\r\n");
}

/* Makes a job that becomes due while changes wait, and a client that waits for it. */
static struct peer *begin_to_wait(void)
{
	struct peer *worker = send_from_another("BPOP 0 w 1 later");

	WAIT_UNTIL(blocked() == 1);
	ASK(p, "PUT w later due klass {} 6", "$3\r\ndue\r\n");
	return worker;
}

static int64_t server_time_us(void)
{
	return peer_ask_number(p, "INFO server", "server_time_usec:");
}

static void no_job_is_handed_over_while_changes_wait(void)
{
	struct peer *worker;
	int64_t begin_us;

	start("everysec", "1");
	worker = begin_to_wait();
	begin_us = server_time_us();
	put_without_sync("j1");
	TEST_ASSERT_FALSE_MESSAGE(peer_has_input(worker, 0), "this machine is too slow");
	WAIT_UNTIL(server_time_us() > begin_us + 7 * SECOND_US);
	TEST_ASSERT_FALSE(peer_has_input(worker, 0));
	ASK_HAS(p, "GET due", "\"scheduled\"");
	let_disk_sync();
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(worker), "\"due\""));
}

static void the_server_stops_while_changes_wait(void)
{
	start("everysec", "1");
	put_without_sync("j1");
	send_from_another("PUT w q j2 klass {} 0");
	WAIT_UNTIL(blocked() == 1);
	kill(q.pid, SIGTERM);
	WAIT_UNTIL(qlessd_has_logged(&q, "stop"));
	let_disk_sync();
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(changes_wait_for_the_sync_of_an_old_change);
	RUN(every_form_of_a_change_waits);
	RUN(reads_go_on_in_every_form);
	RUN(a_slow_disk_is_reported);
	RUN(nothing_waits_without_a_limit);
	RUN(a_new_limit_ends_the_wait);
	RUN(a_client_that_leaves_does_not_change_anything);
	RUN(with_always_replies_wait_and_that_is_reported);
	RUN(with_always_events_wait_for_the_sync_of_their_change);
	RUN(no_job_is_handed_over_while_changes_wait);
	RUN(the_server_stops_while_changes_wait);
	return UNIT_RESULT();
}
