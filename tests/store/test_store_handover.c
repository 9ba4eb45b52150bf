/*
 * One directory, kept in turn by a store and by a qlessd: nothing changes when it is handed over.
 */
#include <signal.h>

#include "fixture.h"
#include "qlessd.h"
#include "stored_dump.h"

#define DATABASES 2
#define JOBS	  60
#define STEPS	  600
/* A state as text is larger than this. */
#define DUMP_BYTES_MIN 10000

static struct qlessd q;
static unsigned long long rng;

void setUp(void)
{
	rng = 11;
	qlessd_start(&q);
	kill(q.pid, SIGTERM);
	qlessd_wait(&q);
}

void tearDown(void)
{
	qless_store_close(store, NULL);
	store = NULL;
	qlessd_stop(&q);
}

/* ---- the state of the files ---- */

static void dump_files(struct buf *ret_dump)
{
	struct stored_dump load = { .visit = NULL };

	buf_clear(ret_dump);
	stored_dump_files(&load, q.dir.path, DATABASES, /* hash_seed= */ 1, ret_dump);
}

/* ---- the state as commands show it ---- */

static void append_reply(struct buf *out, const struct qless_reply *reply)
{
	switch (qless_reply_kind(reply)) {
	case QLESS_REPLY_LIST:
	case QLESS_REPLY_MAP:
		for (size_t i = 0; i < qless_reply_count(reply); i++)
			append_reply(out, qless_reply_at(reply, i));
		break;
	case QLESS_REPLY_INTEGER:
	case QLESS_REPLY_BOOLEAN:
		buf_printf(out, "%lld ", (long long)qless_reply_integer(reply));
		break;
	default:
		buf_append_str(out, qless_reply_text(reply));
	}
	buf_append_char(out, '\n');
}

static void describe(struct buf *ret_text)
{
	static const char *const lines[] = { "FAILED",	      "CONFIG.GET",   "WORKERS",
					     "JOBS complete", "TAG top 0 20", "ENDPOINT.LIST" };
	char line[64];

	buf_clear(ret_text);
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		struct qless_reply *reply = ask(lines[i]);

		append_reply(ret_text, reply);
		qless_reply_free(reply);
	}
	for (int i = 0; i < JOBS; i++) {
		struct qless_reply *reply;

		snprintf(line, sizeof line, "GET j%d", i);
		reply = ask(line);
		append_reply(ret_text, reply);
		qless_reply_free(reply);
	}
}

/* ---- work ---- */

static unsigned pick(unsigned count)
{
	return (unsigned)(unit_random(&rng) % count);
}

/* No job waits for the endpoints, so nothing is posted. */
static void change_endpoint(char *line, size_t size)
{
	static const char *const words[] = { "PAUSE", "UNPAUSE", "DELETE" };
	unsigned number = pick(4);

	if (pick(2) == 0)
		snprintf(line, size, "ENDPOINT.%s e%u", words[pick(3)], number);
	else
		snprintf(line, size,
			 "ENDPOINT.SET e%u URL http://127.0.0.1:1/%u QUEUES 2 posted p%u "
			 "CONCURRENCY %u TIMEOUT %u HEADER X-Number %u SECRET s%u",
			 number, pick(9), pick(9), 1 + pick(9), 1 + pick(9), pick(9), pick(9));
}

/* Commands may be refused, and that changes nothing. */
static void run_step(void)
{
	static const char *const limits[] = { "[]", "[\"api\"]", "[\"api\",\"disk\"]" };
	unsigned job = pick(JOBS), queue = pick(3), worker = pick(4);
	char line[200];

	switch (pick(13)) {
	case 0:
	case 1:
	case 2:
		snprintf(line, sizeof line,
			 "PUT p q%u j%u Send {\"n\":%u} %u priority %u tags [\"t%u\"] limits %s",
			 queue, job, pick(1000), pick(3) * 1000, pick(5), pick(4), limits[pick(3)]);
		break;
	case 3:
	case 4:
		snprintf(line, sizeof line, "MPOP w%u 3 q0 q1 q2 COUNT %u", worker, 1 + pick(4));
		break;
	case 5:
	case 6:
		snprintf(line, sizeof line, "COMPLETE j%u w%u q%u {}", job, worker, queue);
		break;
	case 7:
		snprintf(line, sizeof line, "FAIL j%u w%u group%u message", job, worker, pick(3));
		break;
	case 8:
		snprintf(line, sizeof line, "RETRY j%u q%u w%u %u", job, queue, worker,
			 pick(2) * 10000);
		break;
	case 9:
		snprintf(line, sizeof line, "CANCEL j%u", job);
		break;
	case 10:
		snprintf(line, sizeof line, "LIMIT.SET api CONCURRENCY %u RATE 5 PER 60",
			 1 + pick(4));
		break;
	case 11:
		change_endpoint(line, sizeof line);
		break;
	default:
		snprintf(line, sizeof line, "RECUR q%u r%u Send {} interval %u 10000", queue,
			 pick(5), 1000 + pick(1000));
		break;
	}
	run_words(store, line, NULL, NULL);
}

static void work(void)
{
	/* Nothing comes due while the test runs. */
	tell("CONFIG.SET heartbeat 100000");
	for (int i = 0; i < STEPS; i++)
		run_step();
}

/* ---- turns ---- */

static void begin_inside(void)
{
	MUST(qless_store_open(q.dir.path, NULL, &store, &error));
}

static void begin_on_server(void)
{
	char address[128];

	qlessd_start_again(&q, (const char *const[]){ NULL });
	snprintf(address, sizeof address, "unix://%s", q.socket_path);
	MUST(qless_connect(address, NULL, &store, &error));
}

static void end_on_server(void)
{
	close_store();
	kill(q.pid, SIGTERM);
	qlessd_wait(&q);
}

static void a_directory_goes_from_a_store_to_a_server_and_back(void)
{
	struct buf live = BUF_INIT(BUF_NO_MAX), seen = BUF_INIT(BUF_NO_MAX);
	struct buf dump = BUF_INIT(BUF_NO_MAX), again = BUF_INIT(BUF_NO_MAX);

	for (int turn = 0; turn < 3; turn++) {
		begin_inside();
		if (turn > 0) {
			describe(&seen);
			TEST_ASSERT_EQUAL_STRING(buf_cstr(&live), buf_cstr(&seen));
		}
		work();
		if (turn == 1) {
			tell("BGREWRITEAOF");
			WAIT_UNTIL(read_figure("aof_rewrites_from_log") == 1);
			work();
		}
		describe(&live);
		close_store();
		dump_files(&dump);
		TEST_ASSERT_TRUE(dump.len > DUMP_BYTES_MIN);

		begin_on_server();
		describe(&seen);
		TEST_ASSERT_EQUAL_STRING(buf_cstr(&live), buf_cstr(&seen));
		if (turn == 2)
			break;
		/* A server that only reads leaves the state alone. */
		end_on_server();
		dump_files(&again);
		TEST_ASSERT_EQUAL_STRING(buf_cstr(&dump), buf_cstr(&again));
		begin_on_server();
		work();
		describe(&live);
		end_on_server();
		dump_files(&dump);
	}
	end_on_server();
	buf_done(&live);
	buf_done(&seen);
	buf_done(&dump);
	buf_done(&again);
}

static void qlessd_check_reads_the_directory(void)
{
	char command[256];

	begin_inside();
	work();
	snprintf(command, sizeof command, "%s %s >/dev/null 2>&1", getenv("QLESSD_CHECK"),
		 q.dir.path);
	close_store();
	TEST_ASSERT_EQUAL_INT(0, system(command));
}

static void a_server_refuses_the_directory_of_a_store(void)
{
	char *output;

	begin_inside();
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--dir", q.dir.path, "--port", "0",
					    "--unixsocket", "second.sock"));
	expect_in("another process uses the directory", output);
	free(output);
	put_job("mail", "j1", 0);
	expect_state("waiting", "j1");
}

static void a_store_refuses_the_directory_of_a_server(void)
{
	struct qless_store *second;

	begin_on_server();
	MUST_FAIL(QLESS_STORE_EINUSE, qless_store_open(q.dir.path, NULL, &second, &error));
	expect_in("another process", error.text);
	put_job("mail", "j1", 0);
	end_on_server();
	begin_inside();
	expect_state("waiting", "j1");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_directory_goes_from_a_store_to_a_server_and_back);
	RUN(qlessd_check_reads_the_directory);
	RUN(a_server_refuses_the_directory_of_a_store);
	RUN(a_store_refuses_the_directory_of_a_server);
	return UNIT_RESULT();
}
