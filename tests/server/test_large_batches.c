/*
 * MULTIPUT and MULTICOMPLETE with megabytes of data: the data is checked over several turns, and
 * then the command happens as a whole. The turns themselves are measured in test_bounds.c.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "unit.h"
#include "util/buf.h"
#include "wait.h"

/* Jobs of a batch, and bytes of data of each: together a little less than max-call-size. */
#define JOBS	   2000
#define DATA_BYTES 2000
/* Bytes of an echo that fills the buffers of a socket. A command waits until it is read. */
#define ECHO_BYTES ((size_t)8 * 1024 * 1024)
/* Requests of another client, one turn each: more turns than a batch takes. */
#define TURNS 300

static struct qlessd q;
static struct peer *p, *slow;
static struct buf request;

void setUp(void)
{
	QLESSD_START(&q, "--enable-debug-command", "local", "--max-clock-skew", "0");
	p = peer_connect(&q);
	peer_connect_small_buffers(true);
	slow = peer_connect(&q);
	peer_connect_small_buffers(false);
	buf_init(&request, BUF_NO_MAX);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	buf_done(&request);
}

/* ---- requests ---- */

static void add(const char *word)
{
	buf_printf(&request, "$%zu\r\n%s\r\n", strlen(word), word);
}

static void add_words(const char *words)
{
	char *copy = strdup(words), *rest = copy;

	for (const char *word; (word = strsep(&rest, " ")) != NULL;)
		add(word);
	free(copy);
}

static int count_words(const char *words)
{
	int count = 1;

	for (; *words != '\0'; words++)
		count += *words == ' ';
	return count;
}

/* Appends an array of numbers with exponents, which take long to check. The first one is `i`. */
static void add_data(int i)
{
	char data[DATA_BYTES + 1];
	int len = snprintf(data, sizeof data, "[%d", i);

	while (len + 5 < DATA_BYTES)
		len += snprintf(data + len, sizeof data - (size_t)len, ",1e5");
	snprintf(data + len, sizeof data - (size_t)len, "]");
	add(data);
}

/* Appends a request: words, then the jobs. Each has a jid, a class unless that is NULL, and data.
 * The jid is the prefix and a number, or "+". The data of job `broken` is no JSON; -1 is none. */
static void add_batch(const char *words, const char *prefix, const char *klass, int broken)
{
	bool is_numbered = strcmp(prefix, "+") == 0;
	char jid[32];

	buf_printf(&request, "*%d\r\n", count_words(words) + JOBS * (klass != NULL ? 3 : 2));
	add_words(words);
	for (int i = 0; i < JOBS; i++) {
		snprintf(jid, sizeof jid, "%s%d", prefix, i);
		add(is_numbered ? prefix : jid);
		if (klass != NULL)
			add(klass);
		if (i == broken)
			add("{oops");
		else
			add_data(i);
	}
}

static void send_to(struct peer *peer)
{
	peer_send(peer, buf_data(&request), request.len);
	buf_clear(&request);
}

static void put_jobs(void)
{
	add_batch("MULTIPUT w q 0 jobs", "j", "k", -1);
	send_to(p);
	TEST_ASSERT_EQUAL_STRING_LEN("*2000\r\n", peer_reply(p), 7);
}

static int64_t jobs(void)
{
	return peer_ask_number(p, "INFO queues", "\njobs:");
}

/* Sends the request after an echo that nobody reads. Returns when its data is being checked, which
 * goes on after peer_skip_echo(). */
static void begin_slowly(void)
{
	peer_ask_for_echo(slow, ECHO_BYTES);
	peer_send_blindly(slow, buf_data(&request), request.len);
	buf_clear(&request);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "blocked_clients:") == 1);
}

static void begin_put(void)
{
	add_batch("MULTIPUT w q 0 jobs", "j", "k", -1);
	begin_slowly();
	TEST_ASSERT_EQUAL_INT64(0, jobs());
}

/* ---- what happens ---- */

static void nothing_is_put_before_all_data_is_checked(void)
{
	begin_put();
	for (int i = 0; i < TURNS; i++)
		ASK(p, "PING", "+PONG\r\n");
	TEST_ASSERT_EQUAL_INT64(0, jobs());
	peer_skip_echo(slow, ECHO_BYTES);
	TEST_ASSERT_EQUAL_STRING_LEN("*2000\r\n$2\r\nj0\r\n", peer_reply(slow), 15);
	TEST_ASSERT_EQUAL_INT64(JOBS, jobs());
	ASK_HAS(p, "GET j1999", "\"data\":\"[1999,1e5,");
	ASK(slow, "PING", "+PONG\r\n");
}

static void one_invalid_text_refuses_the_batch(void)
{
	static const char error[] =
		"-BADJSON data of job \"j1999\" must be JSON; found \"{oops\" (expected: MULTIPUT";

	add_batch("MULTIPUT w q 0 jobs", "j", "k", JOBS - 1);
	send_to(p);
	TEST_ASSERT_EQUAL_STRING_LEN(error, peer_reply(p), sizeof error - 1);
	add_batch("QLESS multiput 1e11 w q 0 jobs", "j", "k", JOBS - 1);
	send_to(p);
	TEST_ASSERT_EQUAL_INT('-', peer_reply(p)[0]);
	TEST_ASSERT_EQUAL_INT64(0, jobs());
}

static void the_classic_form_puts_a_large_batch(void)
{
	add_batch("QLESS multiput 1e11 w q 0 jobs", "j", "k", -1);
	send_to(p);
	TEST_ASSERT_EQUAL_STRING_LEN("*2000\r\n", peer_reply(p), 7);
	TEST_ASSERT_EQUAL_INT64(JOBS, jobs());
	ASK_HAS(p, "SLOWLOG GET 1", "$5\r\nQLESS\r\n$8\r\nmultiput");
}

/* A pause promises that nothing changes from then on. */
static void a_pause_holds_a_batch_that_is_being_checked(void)
{
	begin_put();
	ASK(p, "CLIENT PAUSE 1000000 WRITE", "+OK\r\n");
	peer_skip_echo(slow, ECHO_BYTES);
	for (int i = 0; i < TURNS; i++)
		ASK(p, "PING", "+PONG\r\n");
	TEST_ASSERT_EQUAL_INT64(0, jobs());
	ASK(p, "CLIENT UNPAUSE", "+OK\r\n");
	TEST_ASSERT_EQUAL_STRING_LEN("*2000\r\n", peer_reply(slow), 7);
	TEST_ASSERT_EQUAL_INT64(JOBS, jobs());
}

static void a_user_that_loses_the_permission_puts_nothing(void)
{
	ASK(p, "ACL SETUSER putter on nopass +@all ~q", "+OK\r\n");
	ASK(slow, "AUTH putter x", "+OK\r\n");
	begin_put();
	ASK(p, "ACL SETUSER putter -multiput", "+OK\r\n");
	peer_skip_echo(slow, ECHO_BYTES);
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(slow), "-NOPERM this user has no permissions"));
	TEST_ASSERT_EQUAL_INT64(0, jobs());
}

static void a_user_that_loses_the_queue_puts_nothing(void)
{
	ASK(p, "ACL SETUSER putter on nopass +@all ~q", "+OK\r\n");
	ASK(slow, "AUTH putter x", "+OK\r\n");
	add_batch("QLESS multiput 1e11 w q 0 jobs", "j", "k", -1);
	begin_slowly();
	ASK(p, "ACL SETUSER putter resetkeys ~other", "+OK\r\n");
	peer_skip_echo(slow, ECHO_BYTES);
	TEST_ASSERT_EQUAL_STRING_LEN("-NOPERM", peer_reply(slow), 7);
	TEST_ASSERT_EQUAL_INT64(0, jobs());
}

static void a_batch_that_is_being_checked_needs_memory_later(void)
{
	/* The allocator of the sanitizers does not count. */
	if (qlessd_is_sanitized())
		return;
	ASK(p, "CONFIG SET maxmemory-clients 0", "+OK\r\n");
	begin_put();
	ASK(p, "CONFIG SET maxmemory 1", "+OK\r\n");
	WAIT_UNTIL(strncmp(peer_ask(p, "RECUR q r k {} interval 60 0"), "-OOM", 4) == 0);
	peer_skip_echo(slow, ECHO_BYTES);
	TEST_ASSERT_EQUAL_STRING_LEN("-OOM", peer_reply(slow), 4);
	ASK(p, "CONFIG SET maxmemory 0", "+OK\r\n");
	TEST_ASSERT_EQUAL_INT64(0, jobs());
}

static void a_client_that_leaves_puts_nothing(void)
{
	begin_put();
	peer_reset(slow);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "connected_clients:") == 1);
	TEST_ASSERT_EQUAL_INT64(0, peer_ask_number(p, "INFO clients", "blocked_clients:"));
	TEST_ASSERT_EQUAL_INT64(0, jobs());
}

static void a_batch_survives_a_flush(void)
{
	ASK(p, "PUT w q old k {} 0", "$3\r\nold\r\n");
	add_batch("MULTIPUT w q 0 jobs", "j", "k", -1);
	begin_slowly();
	ASK(p, "FLUSHALL", "+OK\r\n");
	peer_skip_echo(slow, ECHO_BYTES);
	TEST_ASSERT_EQUAL_STRING_LEN("*2000\r\n", peer_reply(slow), 7);
	TEST_ASSERT_EQUAL_INT64(JOBS, jobs());
	ASK(p, "GET old", "$-1\r\n");
}

/* Jobs get the numbers that are free when they are put. */
static void numbers_are_given_when_the_jobs_are_put(void)
{
	add_batch("MULTIPUT w q 0 jobs", "+", "k", -1);
	begin_slowly();
	ASK(p, "PUT w q + k {} 0", "$1\r\n1\r\n");
	peer_skip_echo(slow, ECHO_BYTES);
	TEST_ASSERT_EQUAL_STRING_LEN("*2000\r\n$1\r\n2\r\n$1\r\n3\r\n", peer_reply(slow), 21);
	ASK_HAS(p, "GET 2001", "\"data\":\"[1999,1e5,");
}

/* The second batch has the same classes and data. */
static void unique_keys_of_a_large_batch_hold(void)
{
	add_batch("MULTIPUT w q 0 unique args jobs", "j", "k", -1);
	send_to(p);
	TEST_ASSERT_EQUAL_STRING_LEN("*2000\r\n$2\r\nj0\r\n", peer_reply(p), 15);
	add_batch("MULTIPUT w q 0 unique args jobs", "again", "k", -1);
	send_to(p);
	TEST_ASSERT_EQUAL_STRING_LEN("*2000\r\n$2\r\nj0\r\n", peer_reply(p), 15);
	TEST_ASSERT_EQUAL_INT64(JOBS, jobs());
	/* The key is that of a put alone. */
	buf_printf(&request, "*9\r\n");
	add_words("PUT w q alone k");
	add_data(7);
	add_words("0 unique args");
	send_to(p);
	peer_expect(p, "$2\r\nj7\r\n");
}

static void a_worker_that_waits_gets_a_job_of_a_large_batch(void)
{
	struct peer *worker = peer_connect(&q);

	peer_send_words(worker, "BPOP 0 w 1 q");
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "blocked_clients:") == 1);
	put_jobs();
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(worker), "\"jid\":\"j0\""));
}

static void large_completions_are_answered_one_by_one(void)
{
	const char *reply;

	put_jobs();
	peer_ask(p, "POP q w 1999");
	add_batch("MULTICOMPLETE w q", "j", NULL, 5);
	begin_slowly();
	TEST_ASSERT_EQUAL_INT64(1999, peer_ask_number(p, "QUEUES q", "\"running\":"));
	peer_skip_echo(slow, ECHO_BYTES);
	reply = peer_reply(slow);
	TEST_ASSERT_EQUAL_STRING_LEN("*2000\r\n$8\r\ncomplete\r\n", reply, 21);
	TEST_ASSERT_NOT_NULL(strstr(reply, "\r\n-BADJSON data must be JSON; found \"{oops\""));
	TEST_ASSERT_NOT_NULL(strstr(reply, "-NOTRUNNING"));
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "QUEUES q", "\"running\":"));
	ASK_HAS(p, "GET j5", "\"state\":\"running\"");
	ASK_HAS(p, "GET j1998", "\"data\":\"[1998,1e5,");
}

/* A transaction runs as a whole. */
static void a_transaction_takes_a_large_batch(void)
{
	ASK(p, "MULTI", "+OK\r\n");
	add_batch("MULTIPUT w q 0 jobs", "j", "k", -1);
	send_to(p);
	peer_expect(p, "+QUEUED\r\n");
	TEST_ASSERT_EQUAL_STRING_LEN("*1\r\n*2000\r\n", peer_ask(p, "EXEC"), 11);
	TEST_ASSERT_EQUAL_INT64(JOBS, jobs());
}

static void a_large_batch_is_in_the_log(void)
{
	put_jobs();
	add_batch("MULTICOMPLETE w q", "j", NULL, -1);
	peer_ask(p, "POP q w 2000");
	send_to(p);
	TEST_ASSERT_EQUAL_STRING_LEN("*2000\r\n", peer_reply(p), 7);
	peer_close_all();
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	qlessd_start_again(&q, (const char *const[]){ NULL });
	p = peer_connect(&q);
	TEST_ASSERT_EQUAL_INT64(JOBS, jobs());
	ASK_HAS(p, "GET j1234", "\"state\":\"complete\"");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(nothing_is_put_before_all_data_is_checked);
	RUN(one_invalid_text_refuses_the_batch);
	RUN(the_classic_form_puts_a_large_batch);
	RUN(a_pause_holds_a_batch_that_is_being_checked);
	RUN(a_user_that_loses_the_permission_puts_nothing);
	RUN(a_user_that_loses_the_queue_puts_nothing);
	RUN(a_batch_that_is_being_checked_needs_memory_later);
	RUN(a_client_that_leaves_puts_nothing);
	RUN(a_batch_survives_a_flush);
	RUN(numbers_are_given_when_the_jobs_are_put);
	RUN(unique_keys_of_a_large_batch_hold);
	RUN(a_worker_that_waits_gets_a_job_of_a_large_batch);
	RUN(large_completions_are_answered_one_by_one);
	RUN(a_transaction_takes_a_large_batch);
	RUN(a_large_batch_is_in_the_log);
	return UNIT_RESULT();
}
