/*
 * The log of hand-overs, releases and renewals leads to one state: that of the server. Engines with
 * different hash seeds load it, from the log and from a snapshot that the server makes of its own
 * state.
 */
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "stored_dump.h"
#include "unit.h"
#include "wait.h"

#define DATABASES 2
#define QUEUES	  3
#define WORKERS	  6
#define JOBS	  300
#define WAITS	  100 /* requests of a worker */
/* The state as text is larger than this. */
#define DUMP_BYTES_MIN 10000

static struct qlessd q;
static struct peer *p;
static struct peer *workers[WORKERS];

void setUp(void)
{
	QLESSD_START(&q, "--databases", "2", "--auto-rewrite-percentage", "0");
	p = peer_connect(&q);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

/* ---- loading ---- */

struct seen {
	size_t pops, releases, renewals;
};

static void count(void *arg, const struct operation *op)
{
	struct seen *seen = arg;

	seen->pops += op->kind == OPERATION_POP;
	seen->releases += op->kind == OPERATION_WORKER_RELEASE;
	seen->renewals += op->kind == OPERATION_WORKER_RENEW;
}

/* Appends the state that the files of the server lead to: a log, or else a snapshot. */
static void load_state(uint64_t hash_seed, bool is_log, struct buf *ret_dump)
{
	struct seen seen = { .pops = 0 };
	struct stored_dump load = { .visit = count, .arg = &seen };

	stored_dump_files(&load, q.dir.path, DATABASES, hash_seed, ret_dump);
	TEST_ASSERT_EQUAL(is_log, seen.pops != 0 && seen.releases != 0 && seen.renewals != 0);
}

/* ---- work ---- */

/* Random, but the same each time. */
static unsigned pick(unsigned count)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223;
	return (state >> 8) % count;
}

/* Sends a command that may fail, and waits for its reply. */
#define TELL(to, ...)                                         \
	do {                                                  \
		char words_[200];                             \
		snprintf(words_, sizeof words_, __VA_ARGS__); \
		peer_ask(to, words_);                         \
	} while (0)

/* The worker takes jobs as soon as there are any, again and again. It reads no replies. */
static void begin_worker(unsigned i)
{
	char words[200];

	workers[i] = peer_connect(&q);
	TELL(workers[i], "SELECT %u", i % DATABASES);
	TELL(workers[i], "WORKER.ATTACH w%u GRACE 0", i);
	for (int k = 0; k < WAITS; k++) {
		snprintf(words, sizeof words, "BPOP 0 w%u 3 q0 q1 q2 COUNT %u ORDER roundrobin", i,
			 1 + pick(4));
		peer_send_words(workers[i], words);
	}
}

static void end_worker(unsigned i)
{
	peer_close(workers[i]);
	workers[i] = NULL;
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "attached_workers:") == WORKERS - 1);
}

static void put_jobs(void)
{
	for (unsigned i = 0; i < JOBS; i++) {
		unsigned worker = pick(WORKERS);

		TELL(p, "SELECT %u", i % DATABASES);
		TELL(p, "PUT me q%u j%u klass {} 0 retries 1", pick(QUEUES), i);
		switch (pick(8)) {
		case 0:
			TELL(p, "WORKER.RELEASE w%u", worker);
			break;
		case 1:
			TELL(p, "WORKER.RELEASE w%u RETRY", worker);
			break;
		case 2:
			TELL(p, "WORKER.HEARTBEAT w%u", worker);
			break;
		case 3:
			end_worker(worker);
			begin_worker(worker);
			break;
		case 4:
			TELL(p, "TIMEOUT j%u", pick(i + 1));
			break;
		default:
			TELL(p, "COMPLETE j%u w%u q0 {}", pick(i + 1), worker);
		}
	}
}

static int64_t last_sequence(void)
{
	return peer_ask_number(p, "INFO persistence", "log_last_sequence:");
}

static void set_heartbeats(unsigned db, const char *seconds)
{
	TELL(p, "SELECT %u", db);
	for (unsigned i = 0; i < QUEUES; i++)
		TELL(p, "CONFIG.SET q%u-heartbeat %s", i, seconds);
}

/* Lets the server renew locks by itself at least once. Then all locks are renewed for 600 seconds,
 * so that it has nothing more to do. */
static void renew_locks(void)
{
	int64_t before;

	set_heartbeats(0, "2");
	for (unsigned i = 0; i < WORKERS; i++)
		TELL(p, "WORKER.HEARTBEAT w%u", i);
	before = last_sequence();
	WAIT_UNTIL(last_sequence() > before);
	for (unsigned db = 0; db < DATABASES; db++) {
		set_heartbeats(db, "600");
		for (unsigned i = 0; i < WORKERS; i++)
			TELL(p, "WORKER.HEARTBEAT w%u", i);
	}
	TELL(p, "SELECT 0");
}

static void every_load_of_the_log_has_the_state_of_the_server(void)
{
	struct buf dumps[3] = { BUF_INIT(BUF_NO_MAX), BUF_INIT(BUF_NO_MAX), BUF_INIT(BUF_NO_MAX) };

	for (unsigned i = 0; i < WORKERS; i++)
		begin_worker(i);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "blocked_clients:") == WORKERS);
	put_jobs();
	renew_locks();
	load_state(1, true, &dumps[0]);
	load_state(2, true, &dumps[1]);
	ASK_HAS(p, "BGREWRITEAOF", "+");
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrite_in_progress:") == 0);
	load_state(3, false, &dumps[2]);
	TEST_ASSERT_GREATER_THAN_size_t(DUMP_BYTES_MIN, dumps[0].len);
	TEST_ASSERT_EQUAL_STRING(buf_cstr(&dumps[0]), buf_cstr(&dumps[1]));
	TEST_ASSERT_EQUAL_STRING(buf_cstr(&dumps[0]), buf_cstr(&dumps[2]));
	ASK(p, "CONSISTENCYCHECK", "*0\r\n");
	for (size_t i = 0; i < sizeof dumps / sizeof dumps[0]; i++)
		buf_done(&dumps[i]);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(every_load_of_the_log_has_the_state_of_the_server);
	return UNIT_RESULT();
}
