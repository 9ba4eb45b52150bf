/*
 * Unique keys of a real daemon that is killed at random moments. No key may be without a living job
 * afterwards, and no two living jobs may have one key.
 *
 * Several clients put, pop, complete, fail, retry and cancel jobs with few keys, as fast as they
 * can. After each kill, the jobs say which of them hold keys, and a put with each key says who
 * holds it. In the end all jobs are gone, and all keys are free.
 *
 * The environment variable QLESSD_UNIQUE_ROUNDS sets the number of kills.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "unit.h"
#include "wait.h"

#define CLIENTS	       3
#define KEYS	       4
#define JOBS	       12
#define ROUNDS_DEFAULT "8"
#define STEPS_MAX      300 /* of each client, before the kill */

static struct qlessd q;
static struct tempdir dir;
static struct peer *asker;
static unsigned long long rng = 42;
static unsigned long refused, held;

void setUp(void)
{
	tempdir_init(&dir);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	tempdir_done(&dir);
}

static unsigned below(unsigned limit)
{
	return (unsigned)(unit_random(&rng) % limit);
}

static void start(void)
{
	const char *const args[] = { "--dir",  dir.path, "--appendfsync",      "everysec",
				     "--port", "0",	 "--log-segment-size", "64kb",
				     NULL };

	if (q.port == 0)
		qlessd_start_with(&q, args);
	else
		qlessd_start_again(&q, args);
	asker = peer_connect_unix(&q);
}

/* A random step. Many fail, because they do not know the states of the jobs. */
static void send_step(struct peer *peer)
{
	static const char *const untils[] = { "", " until popped", " until 0.05" };
	unsigned job = below(JOBS);
	char words[200];

	switch (below(10)) {
	case 0:
		snprintf(words, sizeof words, "POP q w %u", 1 + below(3));
		break;
	case 1:
		snprintf(words, sizeof words, "COMPLETE j%u w q {}", job);
		break;
	case 2:
		snprintf(words, sizeof words, "FAIL j%u w g m", job);
		break;
	case 3:
		snprintf(words, sizeof words, "RETRY j%u q w", job);
		break;
	case 4:
		snprintf(words, sizeof words, "CANCEL j%u", job);
		break;
	case 5:
		snprintf(words, sizeof words, "UNFAIL q g 2");
		break;
	case 6:
		snprintf(words, sizeof words, "COMPLETE j%u w q {} next q unique k%u", job,
			 below(KEYS));
		break;
	default:
		snprintf(words, sizeof words, "PUT c q j%u k {} %u unique k%u%s%s", job, below(2),
			 below(KEYS), untils[below(3)], below(4) == 0 ? " replace" : "");
	}
	peer_send_words(peer, words);
}

static void run_until_killed(void)
{
	struct peer *peers[CLIENTS];
	unsigned sent[CLIENTS] = { 0 };
	unsigned answers = below(STEPS_MAX);

	for (int i = 0; i < CLIENTS; i++)
		peers[i] = peer_connect_unix(&q);
	for (unsigned n = 0; n < STEPS_MAX; n++) {
		for (int i = 0; i < CLIENTS; i++, sent[i % CLIENTS]++)
			send_step(peers[i]);
	}
	if (below(2) == 0)
		peer_send_words(asker, "BGREWRITEAOF");
	/* Some of the steps are answered, others are under way. */
	for (unsigned n = 0; n < answers; n++) {
		for (int i = 0; i < CLIENTS; i++)
			peer_reply(peers[i]);
	}
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	peer_close_all();
}

/* The key that a job holds; empty if it holds none. */
static const char *key_of(unsigned job)
{
	static char key[16];
	char words[32];
	const char *reply, *at;

	snprintf(words, sizeof words, "GET j%u", job);
	reply = peer_ask(asker, words);
	at = strstr(reply, "\"unique\":{\"key\":\"");
	key[0] = '\0';
	if (at != NULL && strstr(at, "\"held\":true") != NULL)
		sscanf(at, "\"unique\":{\"key\":\"%15[a-z0-9]", key);
	return key;
}

/* Two living jobs never hold one key. A put with a key that a job holds names that job, and with
 * any other key it puts a job. */
static void check_keys(void)
{
	char owner[KEYS][16] = { "" }, words[100], expected[40];
	const char *reply;

	ASK(asker, "CONSISTENCYCHECK", "*0\r\n");
	for (unsigned job = 0; job < JOBS; job++) {
		const char *key = key_of(job);
		unsigned number;

		if (sscanf(key, "k%u", &number) != 1)
			continue;
		TEST_ASSERT_EQUAL_STRING_MESSAGE("", owner[number], key);
		snprintf(owner[number], sizeof owner[number], "j%u", job);
		held++;
	}
	for (unsigned key = 0; key < KEYS; key++) {
		snprintf(words, sizeof words, "PUT c q probe k {} 0 unique k%u", key);
		reply = peer_ask(asker, words);
		snprintf(expected, sizeof expected, "$%zu\r\n%s\r\n", strlen(owner[key]),
			 owner[key]);
		if (strcmp(reply, "$5\r\nprobe\r\n") == 0) {
			/* A time that has passed since the jobs were read lets a key go, too. */
			peer_ask(asker, "CANCEL probe");
			continue;
		}
		TEST_ASSERT_EQUAL_STRING(expected, reply);
		refused++;
	}
}

/* Nothing is left of any key once its jobs are gone. */
static void check_that_all_keys_go(void)
{
	char words[100], expected[20];

	peer_ask(asker, "CONFIG.SET jobs-history-count 1");
	for (unsigned job = 0; job < JOBS; job++) {
		snprintf(words, sizeof words, "CANCEL j%u", job);
		peer_ask(asker, words);
	}
	peer_ask(asker, "PUT c last last k {} 0");
	peer_ask(asker, "POP last w 1");
	ASK(asker, "COMPLETE last w last {}", "$8\r\ncomplete\r\n");
	for (unsigned job = 0; job < JOBS; job++) {
		snprintf(words, sizeof words, "GET j%u", job);
		ASK(asker, words, "$-1\r\n");
	}
	for (unsigned key = 0; key < KEYS; key++) {
		snprintf(words, sizeof words, "PUT c q new%u k {} 0 unique k%u", key, key);
		snprintf(expected, sizeof expected, "$4\r\nnew%u\r\n", key);
		ASK(asker, words, expected);
	}
}

static void kills_leak_no_key_and_give_none_to_two_jobs(void)
{
	const char *text = getenv("QLESSD_UNIQUE_ROUNDS");
	long rounds = strtol(text != NULL ? text : ROUNDS_DEFAULT, NULL, 10);

	for (long round = 0; round < rounds; round++) {
		start();
		check_keys();
		run_until_killed();
	}
	start();
	check_keys();
	printf("%ld kills, %lu keys held after them, %lu puts refused\n", rounds, held, refused);
	TEST_ASSERT_GREATER_THAN(0, held);
	TEST_ASSERT_GREATER_THAN(0, refused);
	check_that_all_keys_go();
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(kills_leak_no_key_and_give_none_to_two_jobs);
	return UNIT_RESULT();
}
