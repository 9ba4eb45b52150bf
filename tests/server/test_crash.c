/*
 * The real daemon, killed at random moments, hundreds of times: acknowledged changes survive,
 * nothing appears that was not sent, and there are no holes.
 *
 * Each client runs its own script on its own queue: puts, a transaction, pops, completes, and new
 * settings of an endpoint. After a kill its jobs must be in the state that the first L steps of its
 * script make, where L is at least the number of answered steps, and at most the number of sent
 * ones.
 *
 * The environment variable QLESSD_CRASH_ROUNDS sets the number of rounds. QLESSD_CRASH_SECONDS ends
 * the test earlier, for disks with slow syncs.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "unit.h"
#include "wait.h"

#define CLIENTS	       4
#define BATCH_MAX      20
#define ANSWERS_MAX    400 /* sent to all clients together, before the kill */
#define DATA_BYTES     300
#define LARGE_BYTES    7000
#define LARGE_EVERY    4 /* number of jobs */
#define ROUNDS_DEFAULT "20"
#define PUTS_A_CYCLE   4
#define STEPS_A_CYCLE  8
#define SET_EVERY      4 /* number of cycles */
#define ENDPOINT_BYTES 32
#define WORDS_MAX      (LARGE_BYTES + 100)
#define JOBS_MAX       4096
#define FLAT_OUT_EVERY                                                             \
	3 /* in these rounds, snapshots are written slowly, so that kills hit them \
	   */

struct client {
	struct peer *peer;
	unsigned number;
	unsigned sent; /* steps of the script */
	unsigned answered;
};

/* The state of the jobs after the first steps of a script: each job goes through it in the order
 * of numbers. */
struct progress {
	unsigned put, popped, completed;
};

static struct qlessd q;
static struct tempdir dir;
static struct client clients[CLIENTS];
static struct peer *asker;
static unsigned long long rng = 4711;
static unsigned kills_while_rewriting;

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

/* ---- the script ---- */

static struct progress progress_after(unsigned steps)
{
	static const struct progress within[STEPS_A_CYCLE] = {
		{ 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 }, { 4, 0, 0 },
		{ 4, 1, 0 }, { 4, 1, 1 }, { 4, 2, 1 }, { 4, 2, 2 },
	};
	unsigned cycles = steps / STEPS_A_CYCLE;
	struct progress p = within[steps % STEPS_A_CYCLE];

	p.put += PUTS_A_CYCLE * cycles;
	p.popped += 2 * cycles;
	p.completed += 2 * cycles;
	return p;
}

static void send_put(const struct client *c, unsigned job)
{
	static char words[WORDS_MAX], data[LARGE_BYTES + 1];
	int len = job % LARGE_EVERY == LARGE_EVERY - 1 ? LARGE_BYTES : DATA_BYTES;

	memset(data, 'x', (size_t)len);
	data[len] = '\0';
	snprintf(words, sizeof words, "PUT w q%u c%u-%u klass \"%s\" 0", c->number, c->number, job,
		 data);
	peer_send_words(c->peer, words);
}

/* Every fourth cycle sets the endpoint, and the others pause it or end the pause. A pause outlasts
 * new settings. No job waits for the endpoint. */
static void send_endpoint(const struct client *c, unsigned cycle)
{
	char words[100];

	if (cycle % SET_EVERY == 0)
		snprintf(words, sizeof words,
			 "ENDPOINT.SET e%u URL http://127.0.0.1:1/%u QUEUES 1 posted", c->number,
			 cycle);
	else
		snprintf(words, sizeof words, "ENDPOINT.%s e%u",
			 cycle % 2 == 1 ? "PAUSE" : "UNPAUSE", c->number);
	peer_send_words(c->peer, words);
}

/* Writes the endpoint after a number of cycles: the number in its URL and whether it is paused. */
static void expect_endpoint(unsigned cycles, char ret[ENDPOINT_BYTES])
{
	unsigned last = cycles - 1;
	bool is_paused = last % SET_EVERY == 0 ? last != 0 : last % 2 == 1;

	if (cycles == 0)
		snprintf(ret, ENDPOINT_BYTES, "none");
	else
		snprintf(ret, ENDPOINT_BYTES, "%u paused %d", last / SET_EVERY * SET_EVERY,
			 is_paused);
}

static void send_step(struct client *c)
{
	struct progress before = progress_after(c->sent);
	char words[100];

	switch (c->sent % STEPS_A_CYCLE) {
	case 0:
	case 1:
		send_put(c, before.put);
		break;
	case 2:
		peer_send_words(c->peer, "MULTI");
		send_put(c, before.put);
		send_put(c, before.put + 1);
		peer_send_words(c->peer, "EXEC");
		break;
	case 3:
		snprintf(words, sizeof words, "POP q%u w%u 1", c->number, c->number);
		peer_send_words(c->peer, words);
		break;
	case 7:
		send_endpoint(c, c->sent / STEPS_A_CYCLE);
		break;
	case 5:
		snprintf(words, sizeof words, "BPOP 0 w%u 2 empty q%u", c->number, c->number);
		peer_send_words(c->peer, words);
		break;
	default:
		snprintf(words, sizeof words, "COMPLETE c%u-%u w%u q%u {}", c->number,
			 before.completed, c->number, c->number);
		peer_send_words(c->peer, words);
	}
	c->sent++;
}

static void take_answer(struct client *c)
{
	int replies = c->answered % STEPS_A_CYCLE == 2 ? 4 : 1;

	for (int i = 0; i < replies; i++) {
		const char *reply = peer_reply(c->peer);

		TEST_ASSERT_TRUE_MESSAGE(reply[0] != '-' && reply[0] != '_', reply);
	}
	c->answered++;
}

/* ---- what is there ---- */

static char state_of(struct peer *p)
{
	const char *reply = peer_reply(p);

	if (reply[0] == '$' && reply[1] != '-')
		reply = strchr(reply, '\n') + 1;
	return reply[0] == '$' ? '-' : reply[0]; /* waiting, running, complete, or none */
}

static char expected_state(const struct progress *p, unsigned job)
{
	if (job >= p->put)
		return '-';
	if (job < p->completed)
		return 'c';
	return job < p->popped ? 'r' : 'w';
}

static void read_states(const struct client *c, unsigned count, char *ret_states)
{
	char words[100];

	TEST_ASSERT_TRUE(count <= JOBS_MAX);
	for (unsigned job = 0; job < count; job++) {
		snprintf(words, sizeof words, "HGET ql:j:c%u-%u state", c->number, job);
		peer_send_words(asker, words);
	}
	for (unsigned job = 0; job < count; job++)
		ret_states[job] = state_of(asker);
}

/* Writes the endpoint of the client as expect_endpoint() does. */
static void read_endpoint(const struct client *c, char ret[ENDPOINT_BYTES])
{
	static const char url_start[] = "http://127.0.0.1:1/", paused_start[] = "\r\npaused\r\n:";
	const char *reply, *url, *paused;
	char words[32];

	snprintf(words, sizeof words, "ENDPOINT.GET e%u", c->number);
	reply = peer_ask(asker, words);
	url = strstr(reply, url_start);
	paused = strstr(reply, paused_start);
	if (url == NULL || paused == NULL)
		snprintf(ret, ENDPOINT_BYTES, "%s", *reply == '$' ? "none" : "a strange reply");
	else
		snprintf(ret, ENDPOINT_BYTES, "%lu paused %c",
			 strtoul(url + sizeof url_start - 1, NULL, 10),
			 paused[sizeof paused_start - 1]);
}

static bool is_state_after(unsigned steps, const char *endpoint, const char *states, unsigned count)
{
	struct progress p = progress_after(steps);
	char expected[ENDPOINT_BYTES];

	expect_endpoint(steps / STEPS_A_CYCLE, expected);
	if (strcmp(endpoint, expected) != 0)
		return false;
	for (unsigned job = 0; job < count; job++) {
		if (states[job] != expected_state(&p, job))
			return false;
	}
	return true;
}

/* Returns the number of jobs of the client. */
static unsigned check_client(const struct client *c)
{
	static char states[JOBS_MAX + 1];
	unsigned count = progress_after(c->sent).put;
	char endpoint[ENDPOINT_BYTES];
	char message[JOBS_MAX + 100];

	read_endpoint(c, endpoint);
	read_states(c, count, states);
	states[count] = '\0';
	for (unsigned steps = c->answered; steps <= c->sent; steps++) {
		if (is_state_after(steps, endpoint, states, count))
			return progress_after(steps).put;
	}
	snprintf(message, sizeof message,
		 "client %u, %u steps answered, %u sent, has endpoint %s and %s", c->number,
		 c->answered, c->sent, endpoint, states);
	TEST_FAIL_MESSAGE(message);
	return 0;
}

static void check_all(void)
{
	char expected[16];
	unsigned jobs = 0;

	for (int i = 0; i < CLIENTS; i++)
		jobs += check_client(&clients[i]);
	/* Check that nothing else exists. A job is a hash, and a list for its history. */
	snprintf(expected, sizeof expected, "*%u\r\n", 2 * jobs);
	ASK_HAS(asker, "KEYS ql:j:*", expected);
	ASK(asker, "CONSISTENCYCHECK", "*0\r\n");
}

/* ---- rounds ---- */

static void start(const char *fsync)
{
	const char *rate = below(FLAT_OUT_EVERY) == 0 ? "0" : "1mb";
	const char *const args[] = { "--dir",
				     dir.path,
				     "--appendfsync",
				     fsync,
				     "--port",
				     "0",
				     "--log-segment-size",
				     "64kb",
				     "--rewrite-rate-limit",
				     rate,
				     NULL };

	/* Only by the Unix socket: no other process can take it between two runs. */
	if (q.port == 0)
		qlessd_start_with(&q, args);
	else
		qlessd_start_again(&q, args);
	asker = peer_connect_unix(&q);
}

static void begin_scripts(void)
{
	/* Jobs left by a round would hide losses of the next one. */
	ASK(asker, "FLUSHALL", "+OK\r\n");
	for (unsigned i = 0; i < CLIENTS; i++)
		clients[i] = (struct client){ .peer = peer_connect_unix(&q), .number = i };
}

/* A snapshot file that is not the current one. */
static bool has_unfinished_base(void)
{
	const char *manifest = tempdir_read(&dir, "manifest");
	DIR *d = opendir(dir.path);
	bool found = false;

	TEST_ASSERT_NOT_NULL(d);
	for (struct dirent *entry = readdir(d); entry != NULL; entry = readdir(d))
		found |= strncmp(entry->d_name, "base-", 5) == 0 &&
			 strstr(manifest, entry->d_name) == NULL;
	closedir(d);
	return found;
}

static void run_until_killed(void)
{
	unsigned target = below(ANSWERS_MAX), answered = 0;
	unsigned rewrite_at = below(2) == 0 ? below(target + 1) : UINT32_MAX;

	while (answered < target) {
		for (int i = 0; i < CLIENTS; i++) {
			for (unsigned n = below(BATCH_MAX); n > 0; n--)
				send_step(&clients[i]);
		}
		for (int i = 0; i < CLIENTS && answered < target; i++) {
			struct client *c = &clients[i];

			for (unsigned n = below(c->sent - c->answered + 1); n > 0; n--) {
				take_answer(c);
				if (answered++ == rewrite_at)
					peer_send_words(asker, "BGREWRITEAOF");
			}
		}
	}
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	peer_close_all();
	kills_while_rewriting += has_unfinished_base();
}

static void no_kill_loses_what_was_acknowledged(const char *fsync)
{
	const char *text = getenv("QLESSD_CRASH_ROUNDS"), *seconds = getenv("QLESSD_CRASH_SECONDS");
	long rounds = strtol(text != NULL ? text : ROUNDS_DEFAULT, NULL, 10), round;
	int64_t until_ms = INT64_MAX;
	unsigned long long answered = 0;

	memset(clients, 0, sizeof clients);
	kills_while_rewriting = 0;
	if (seconds != NULL)
		until_ms = wait_now_ms() + strtol(seconds, NULL, 10) * 1000;
	for (round = 0; round < rounds && wait_now_ms() < until_ms; round++) {
		start(fsync);
		check_all();
		begin_scripts();
		run_until_killed();
		for (int i = 0; i < CLIENTS; i++)
			answered += clients[i].answered;
	}
	start(fsync);
	check_all();
	printf("%ld kills, %u of them in the middle of a rewrite, %llu steps acknowledged\n", round,
	       kills_while_rewriting, answered);
}

static void kills_lose_no_acknowledged_write_with_always(void)
{
	no_kill_loses_what_was_acknowledged("always");
}

static void kills_lose_no_acknowledged_write_with_everysec(void)
{
	no_kill_loses_what_was_acknowledged("everysec");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(kills_lose_no_acknowledged_write_with_always);
	RUN(kills_lose_no_acknowledged_write_with_everysec);
	return UNIT_RESULT();
}
