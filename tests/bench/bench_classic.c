/*
 * The life of jobs through the classic commands: decoding and replies, no sockets.
 *
 *	bench_classic [jobs]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "queue.h"
#include "resp/writer.h"
#include "util/chain.h"

#define DEFAULT_JOBS 200000
#define JID_BYTES    32
#define START	     1700000000.0
#define STEP	     0.00001 /* seconds between two calls */

static const struct qless_str data =
	STR_INIT("{\"to\":\"somebody@example.com\",\"subject\":\"hello\",\"attempt\":1,"
		 "\"list\":[1,2,3]}");

static struct qless *engine;
static struct queue_caller classic;
static struct chunk_pool pool;
static struct chain out;
static struct reply writer;

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void ignore_event(void *arg, struct qless_str channel, struct qless_str payload)
{
	(void)channel;
	*(size_t *)arg += payload.len;
}

static void run(const char *name, double now, const struct qless_str *args, size_t count)
{
	if (queue_run(&classic, queue_command_find(str_from(name)), REQUEST_NATIVE, now, args,
		      count, &writer) < 0)
		abort();
	chain_consume(&out, out.len);
}

static void make_jid(char jid[JID_BYTES + 1], unsigned long i)
{
	snprintf(jid, JID_BYTES + 1, "%08lx%024lx", (i * 2654435761UL) & 0xffffffffUL, i);
}

static void run_each(const char *name, unsigned long jobs, double start, struct qless_str *args,
		     size_t count, int jid_at)
{
	char jid[JID_BYTES + 1];
	double since = seconds();
	unsigned long i;

	for (i = 0; i < jobs; i++) {
		if (jid_at >= 0) {
			make_jid(jid, i);
			args[jid_at] = str_make(jid, JID_BYTES);
		}
		run(name, start + (double)i * STEP, args, count);
	}
	printf("%-10s %7.0f ns\n", name, (seconds() - since) * 1e9 / (double)jobs);
}

int main(int argc, char **argv)
{
	unsigned long jobs = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_JOBS;
	size_t heard = 0;
	struct qless_hooks hooks = { .publish = ignore_event, .arg = &heard, .hash_seed = 1 };
	struct qless_str put[] = {
		STR_INIT("client"), STR_INIT("queue"), STR_INIT("jid"), STR_INIT("Klass"), data,
		STR_INIT("0")
	};
	struct qless_str pop[] = { STR_INIT("queue"), STR_INIT("worker"), STR_INIT("1") };
	struct qless_str beat[] = { STR_INIT("jid"), STR_INIT("worker") };
	struct qless_str get[] = { STR_INIT("jid") };
	struct qless_str complete[] = { STR_INIT("jid"), STR_INIT("worker"), STR_INIT("queue"),
					data };

	if (jobs == 0)
		return 2;
	engine = qless_new(&hooks);
	queue_caller_init(&classic, engine);
	chunk_pool_init(&pool, 4);
	chain_init(&out, &pool);
	resp_writer_init(&writer, &out, 2);
	run_each("put", jobs, START, put, 6, 2);
	run_each("pop", jobs, START + 1000, pop, 3, -1);
	run_each("heartbeat", jobs, START + 1020, beat, 2, 0);
	run_each("get", jobs, START + 1030, get, 1, 0);
	run_each("complete", jobs, START + 1040, complete, 4, 0);
	queue_caller_done(&classic);
	qless_free(engine);
	chain_done(&out);
	chunk_pool_done(&pool);
	return heard == 0;
}
