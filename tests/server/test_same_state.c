/*
 * The log of hand-overs, releases and renewals leads to one state: that of the server. Engines with
 * different hash seeds load it, from the log and from a snapshot that the server makes of its own
 * state.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "peer.h"
#include "stored_dump.h"
#include "unit.h"
#include "variable.h"
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
	size_t pops, releases, renewals, endpoints;
};

static void count(void *arg, const struct operation *op)
{
	struct seen *seen = arg;

	seen->pops += op->kind == OPERATION_POP;
	seen->releases += op->kind == OPERATION_WORKER_RELEASE;
	seen->renewals += op->kind == OPERATION_WORKER_RENEW;
	seen->endpoints += op->kind == OPERATION_ENDPOINT_DELETE;
}

/* Appends the state that the files of the server lead to: a log, or else a snapshot. */
static void load_state(uint64_t hash_seed, bool is_log, struct buf *ret_dump)
{
	struct seen seen = { .pops = 0 };
	struct stored_dump load = { .visit = count, .arg = &seen };

	stored_dump_files(&load, q.dir.path, DATABASES, hash_seed, ret_dump);
	TEST_ASSERT_EQUAL(is_log, seen.pops != 0 && seen.releases != 0 && seen.renewals != 0 &&
					  seen.endpoints != 0);
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

/* No job waits for the endpoints, so nothing is posted. */
static void change_endpoint(void)
{
	static const char *const words[] = { "PAUSE", "UNPAUSE", "DELETE" };
	unsigned number = pick(4);

	TELL(p, "ENDPOINT.SET e%u URL http://127.0.0.1:1/%u QUEUES 2 posted p%u CONCURRENCY %u",
	     number, pick(9), pick(9), 1 + pick(9));
	TELL(p,
	     "ENDPOINT.SET e%u URL http://127.0.0.1:1/ QUEUES 1 p%u HEADER X-Number %u SECRET s%u",
	     pick(4), pick(9), pick(9), pick(9));
	TELL(p, "ENDPOINT.%s e%u", words[pick(3)], number);
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
			change_endpoint();
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

/* ---- an old log ---- */

#define FIXTURE		  "log-version-4-endpoints"
#define FIXTURE_DATABASES 3

/* Appends a file of the fixture. */
static void read_fixture(const char *name, struct buf *ret_bytes)
{
	char path[4096];
	FILE *file;
	int c;

	snprintf(path, sizeof path, "%s/" FIXTURE "/%s", variable_get("FIXTURES"), name);
	file = fopen(path, "r");
	TEST_ASSERT_NOT_NULL_MESSAGE(file, path);
	while ((c = getc(file)) != EOF)
		buf_append_char(ret_bytes, (char)c);
	fclose(file);
}

static void use_fixture(void)
{
	static const char *const names[] = { "base-00000003", "log-00000002", "manifest" };

	peer_close(p);
	kill(q.pid, SIGTERM);
	qlessd_wait(&q);
	TEST_ASSERT_EQUAL_INT(0, unlink(tempdir_file(&q.dir, "log-00000001")));
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct buf bytes = BUF_INIT(BUF_NO_MAX);

		read_fixture(names[i], &bytes);
		tempdir_write(&q.dir, names[i], buf_str(&bytes));
		buf_done(&bytes);
	}
}

/* Compares the endpoints of all databases with those of the fixture. */
static void check_endpoints(void)
{
	struct stored_dump load = { .visit = NULL };
	struct buf dump = BUF_INIT(BUF_NO_MAX), endpoints = BUF_INIT(BUF_NO_MAX);
	struct buf expected = BUF_INIT(BUF_NO_MAX);
	char *rest, *line;

	read_fixture("endpoints.txt", &expected);
	stored_dump_files(&load, q.dir.path, FIXTURE_DATABASES, /* hash_seed= */ 1, &dump);
	buf_append_char(&dump, '\0');
	rest = buf_data(&dump);
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (strncmp(line, "database ", 9) == 0 || strncmp(line, "endpoint ", 9) == 0)
			buf_printf(&endpoints, "%s\n", line);
	}
	TEST_ASSERT_EQUAL_STRING(buf_cstr(&expected), buf_cstr(&endpoints));
	buf_done(&endpoints);
	buf_done(&dump);
	buf_done(&expected);
}

/* So does the old log with new records after it, and the snapshot made of both. */
static void a_log_with_endpoints_loads_to_the_same_state(void)
{
	use_fixture();
	check_endpoints();
	qlessd_start_again(&q, (const char *const[]){ NULL });
	p = peer_connect(&q);
	ASK(p, "ENDPOINT.SET new URL http://127.0.0.1:9/ QUEUES 1 new", "+OK\r\n");
	ASK(p, "ENDPOINT.DELETE new", ":1\r\n");
	check_endpoints();
	ASK_HAS(p, "BGREWRITEAOF", "+");
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrite_in_progress:") == 0);
	check_endpoints();
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(every_load_of_the_log_has_the_state_of_the_server);
	RUN(a_log_with_endpoints_loads_to_the_same_state);
	return UNIT_RESULT();
}
