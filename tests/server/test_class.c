/*
 * Pops of one class: MPOP and BPOP with the option CLASS, and the clients that wait for a class.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ahead.h"
#include "peer.h"
#include "unit.h"
#include "wait.h"
#include "waiting.h"

#include "util/buf.h"

/* More jobs than a part of a command looks at. */
#define MANY 20000
/* Jobs of one call. */
#define AT_ONCE 5000
/* More than a queue has indexes. */
#define CLASSES 80

static struct qlessd q;
static struct peer *p;
static struct peer *workers[3];
static struct ahead ahead;

void setUp(void)
{
	ahead_init(&ahead);
	AHEAD_START(&q, NULL);
	p = peer_connect(&q);
	for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++)
		workers[i] = peer_connect(&q);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	ahead_done(&ahead);
}

static void put(const char *jid, const char *klass, const char *options)
{
	char words[256];

	snprintf(words, sizeof words, "PUT w q %s %s {} 0%s", jid, klass, options);
	TEST_ASSERT_EQUAL_INT('$', peer_ask(p, words)[0]);
}

static void ask_jobs(struct peer *worker, const char *words, const char *jids)
{
	peer_send_words(worker, words);
	waiting_expect_jobs(worker, jids);
}

static void a_class_is_popped_alone(void)
{
	put("a1", "a", "");
	put("b1", "b", "");
	put("b2", "b", " priority 5");
	put("a2", "a", "");
	ask_jobs(p, "MPOP w 1 q CLASS b COUNT 5", "b2 b1");
	ASK(p, "MPOP w 1 q CLASS b", "$2\r\n[]\r\n");
	ASK(p, "MPOP w 2 x q CLASS none", "$2\r\n[]\r\n");
	ASK(p, "BPOP 0.01 w 1 q class b", WAITING_NOTHING);
	ask_jobs(p, "BPOP 0 w 2 x q CLASS a COUNT 9 ORDER roundrobin", "a1 a2");
}

static void wrong_classes_are_refused(void)
{
	put("a1", "a", "");
	ASK_HAS(p, "MPOP w 1 q CLASS", "-BADARG Option \"CLASS\" has no value");
	ASK_HAS(p, "MPOP w 1 q CLASS a CLASS a", "-BADARG Option \"CLASS\" is repeated");
	ASK_HAS(p, "BPOP 1 w 1 q KLASS a", "-BADARG Unknown option \"KLASS\"");
	peer_send_text(
		p,
		"*6\r\n$4\r\nMPOP\r\n$1\r\nw\r\n$1\r\n1\r\n$1\r\nq\r\n$5\r\nCLASS\r\n$0\r\n\r\n");
	TEST_ASSERT_EQUAL_STRING_LEN("-BADARG CLASS must not be empty", peer_reply(p), 31);
	ask_jobs(p, "MPOP w 1 q", "a1");
}

static void only_a_job_of_its_class_serves_a_worker(void)
{
	waiting_begin(p, workers[0], "BPOP 0 w0 1 q CLASS a");
	waiting_begin(p, workers[1], "BPOP 0 w1 1 q CLASS b");
	put("c1", "c", "");
	put("b1", "b", "");
	waiting_expect_jobs(workers[1], "b1");
	waiting_expect_nothing_yet(p, workers[0]);
	put("a1", "a", "");
	waiting_expect_jobs(workers[0], "a1");
	ask_jobs(p, "POP q w 5", "c1");
}

static void the_client_that_waits_longest_is_served_first(void)
{
	waiting_begin(p, workers[0], "BPOP 0 w0 1 q CLASS a");
	waiting_begin(p, workers[1], "BPOP 0 w1 1 q");
	waiting_begin(p, workers[2], "BPOP 0 w2 1 q CLASS a");
	put("a1", "a", "");
	waiting_expect_jobs(workers[0], "a1");
	put("a2", "a", "");
	waiting_expect_jobs(workers[1], "a2");
	put("a3", "a", "");
	waiting_expect_jobs(workers[2], "a3");
}

static void a_worker_of_any_class_passes_nobody_and_waits_for_nobody(void)
{
	put("b1", "b", "");
	waiting_begin(p, workers[0], "BPOP 0 w0 1 q CLASS a");
	/* The other one waits for a class that the queue lacks. */
	ask_jobs(workers[1], "MPOP w1 1 q", "b1");
	peer_send_text(p, "PUT w q a1 a {} 0\r\nMPOP poller 1 q\r\n");
	peer_expect(p, "$2\r\na1\r\n$2\r\n[]\r\n");
	waiting_expect_jobs(workers[0], "a1");
}

static void limits_hold_for_a_class(void)
{
	ASK(p, "LIMIT.SET one CONCURRENCY 1", "+OK\r\n");
	put("b1", "b", " limits [\"one\"]");
	put("a1", "a", " limits [\"one\"]");
	put("a2", "a", " limits [\"one\"]");
	ask_jobs(p, "MPOP w 1 q CLASS a COUNT 5", "a1");
	waiting_begin(p, workers[0], "BPOP 0 w0 1 q CLASS b");
	waiting_expect_nothing_yet(p, workers[0]);
	ASK(p, "COMPLETE a1 w q {}", "$8\r\ncomplete\r\n");
	waiting_expect_jobs(workers[0], "b1");
}

static void due_jobs_serve_their_class(void)
{
	waiting_begin(p, workers[0], "BPOP 0 w0 1 q CLASS b");
	peer_ask(p, "PUT w q a1 a {} 0.01");
	peer_ask(p, "PUT w q b1 b {} 0.02");
	waiting_expect_jobs(workers[0], "b1");
	ask_jobs(p, "MPOP w 1 q", "a1");
}

/* Puts jobs of one class, AT_ONCE of them with each call. */
static void put_many(const char *klass, int count)
{
	struct buf words = BUF_INIT(BUF_NO_MAX);

	for (int i = 0; i < count; i += AT_ONCE) {
		buf_clear(&words);
		buf_printf(
			&words,
			"*%d\r\n$8\r\nMULTIPUT\r\n$1\r\nw\r\n$1\r\nq\r\n$1\r\n0\r\n$4\r\njobs\r\n",
			5 + 3 * AT_ONCE);
		for (int j = 0; j < AT_ONCE; j++)
			buf_printf(&words, "$9\r\nmany%05d\r\n$%zu\r\n%s\r\n$2\r\n{}\r\n", i + j,
				   strlen(klass), klass);
		peer_send(p, buf_data(&words), words.len);
		TEST_ASSERT_EQUAL_INT('*', peer_reply(p)[0]);
	}
	buf_done(&words);
}

/* The index of a class is made in parts, while other commands run. */
static void a_class_is_found_among_many_others(void)
{
	put_many("other", MANY);
	put("b1", "b", "");
	waiting_begin(p, workers[0], "BPOP 0 w0 1 q CLASS a");
	ask_jobs(p, "MPOP w 1 q CLASS b", "b1");
	put("a1", "a", "");
	waiting_expect_jobs(workers[0], "a1");
	put("b2", "b", "");
	ask_jobs(p, "MPOP w 1 q CLASS b COUNT 5", "b2");
}

/* More classes than a queue has indexes, with clients that wait for each. */
static void classes_take_turns_if_a_queue_has_many(void)
{
	struct peer *waiting[CLASSES];
	char words[64], name[16];

	put_many("other", MANY);
	for (int i = 0; i < CLASSES; i++) {
		waiting[i] = peer_connect(&q);
		snprintf(words, sizeof words, "BPOP 0 w%d 1 q CLASS k%d", i, i);
		waiting_begin(p, waiting[i], words);
	}
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < CLASSES; i++) {
			snprintf(words, sizeof words, "PUT w q r%d-%d k%d {} 0", round, i, i);
			TEST_ASSERT_EQUAL_INT('$', peer_ask(p, words)[0]);
		}
		for (int i = 0; i < CLASSES; i++) {
			snprintf(name, sizeof name, "r%d-%d", round, i);
			waiting_expect_jobs(waiting[i], name);
			snprintf(words, sizeof words, "MPOP w%d 1 q CLASS k%d", i, i);
			ASK(waiting[i], words, "$2\r\n[]\r\n");
			snprintf(words, sizeof words, "BPOP 0 w%d 1 q CLASS k%d", i, i);
			peer_send_words(waiting[i], words);
		}
		TEST_ASSERT_LESS_OR_EQUAL_INT64(
			128, peer_ask_number(p, "INFO queues", "\nclass_indexes:"));
	}
}

static void indexes_of_classes_are_limited_and_counted(void)
{
	ASK(p, "CONFIG SET max-class-indexes 64", "+OK\r\n");
	put("a1", "a", "");
	put("a2", "a", "");
	put("a3", "a", " limits [\"one\"]");
	TEST_ASSERT_EQUAL_INT64(0, peer_ask_number(p, "INFO queues", "\nclass_indexes:"));
	ask_jobs(p, "MPOP w 1 q CLASS a", "a1");
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "INFO queues", "\nclass_indexes:"));
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "INFO queues", "\nclass_index_entries:"));
	/* A class that no job has takes no memory. */
	for (int i = 0; i < 100; i++) {
		char words[64];

		snprintf(words, sizeof words, "MPOP w 1 q CLASS none%d", i);
		ASK(p, words, "$2\r\n[]\r\n");
	}
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "INFO queues", "\nclass_indexes:"));
	for (int i = 0; i < 100; i++) {
		char words[64];

		snprintf(words, sizeof words, "PUT w q%d b%d a {} 0", i, i);
		TEST_ASSERT_EQUAL_INT('$', peer_ask(p, words)[0]);
		snprintf(words, sizeof words, "BPOP 0.001 w 1 q%d CLASS a", i);
		TEST_ASSERT_EQUAL_INT('$', peer_ask(p, words)[0]);
	}
	TEST_ASSERT_LESS_OR_EQUAL_INT64(65, peer_ask_number(p, "INFO queues", "\nclass_indexes:"));
	ask_jobs(p, "MPOP w 1 q CLASS a COUNT 5", "a2 a3");
}

static void a_call_cannot_name_more_queues_than_it_could_have_indexes(void)
{
	struct buf words = BUF_INIT(BUF_NO_MAX);

	ASK(p, "CONFIG SET max-class-indexes 64", "+OK\r\n");
	put("a1", "a", "");
	buf_printf(&words, "MPOP w 65 q");
	for (int i = 1; i < 65; i++)
		buf_printf(&words, " q%d", i);
	buf_printf(&words, " CLASS a");
	ASK(p, buf_cstr(&words),
	    "-LIMIT A pop with CLASS names more queues than max-class-indexes (64)\r\n");
	buf_done(&words);
	ask_jobs(p, "MPOP w 1 q", "a1");
}

static void a_transaction_pops_a_class_and_does_not_wait(void)
{
	put("a1", "a", "");
	put("b1", "b", "");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "MPOP w 1 q CLASS b", "+QUEUED\r\n");
	ASK(p, "BPOP 0 w 1 q CLASS b", "+QUEUED\r\n");
	ASK_HAS(p, "EXEC", "b1");
	ask_jobs(p, "MPOP w 1 q", "a1");
}

static void pops_of_a_class_are_in_the_log(void)
{
	char *before;

	put("a1", "a", "");
	put("b1", "b", " limits [\"one\"]");
	put("b2", "b", "");
	put("a2", "a", "");
	ask_jobs(p, "MPOP w 1 q CLASS b COUNT 2", "b1 b2");
	waiting_begin(p, workers[0], "BPOP 0 w0 1 q CLASS c");
	put("c1", "c", "");
	waiting_expect_jobs(workers[0], "c1");
	before = strdup(peer_ask(p, "MULTIGET a1 a2 b1 b2 c1"));
	peer_close_all();
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	qlessd_start_again(&q, (const char *const[]){ NULL });
	p = peer_connect(&q);
	TEST_ASSERT_EQUAL_STRING(before, peer_ask(p, "MULTIGET a1 a2 b1 b2 c1"));
	free(before);
	ASK(p, "CONSISTENCYCHECK", "*0\r\n");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_class_is_popped_alone);
	RUN(wrong_classes_are_refused);
	RUN(only_a_job_of_its_class_serves_a_worker);
	RUN(the_client_that_waits_longest_is_served_first);
	RUN(a_worker_of_any_class_passes_nobody_and_waits_for_nobody);
	RUN(limits_hold_for_a_class);
	RUN(due_jobs_serve_their_class);
	RUN(a_class_is_found_among_many_others);
	RUN(classes_take_turns_if_a_queue_has_many);
	RUN(indexes_of_classes_are_limited_and_counted);
	RUN(a_call_cannot_name_more_queues_than_it_could_have_indexes);
	RUN(a_transaction_pops_a_class_and_does_not_wait);
	RUN(pops_of_a_class_are_in_the_log);
	return UNIT_RESULT();
}
