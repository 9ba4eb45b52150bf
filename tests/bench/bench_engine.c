/*
 * The cost of a job, in-process: memory while it waits, and time for each step of its life.
 *
 *	bench_engine [jobs [data bytes]]
 *
 * Jobs have ids of 32 characters, no tags, and one entry in their history.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "build_config.h"
#include "qless.h"

#ifdef HAVE_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif

#define DEFAULT_JOBS	   1000000
#define DEFAULT_DATA_BYTES 100
#define DATA_BYTES_MAX	   (1 << 20)
#define JID_BYTES	   32
#define START		   1700000000.0
#define STEP		   0.00001 /* seconds between two calls */
#define POP_COUNT	   1

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static size_t allocated_bytes(void)
{
#ifdef HAVE_JEMALLOC
	uint64_t epoch = 1;
	size_t bytes = 0;
	size_t len = sizeof(bytes);

	mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
	mallctl("stats.allocated", &bytes, &len, NULL, 0);
	return bytes;
#else
	return 0;
#endif
}

static size_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long total = 0;
	unsigned long resident = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%lu %lu", &total, &resident) != 2)
		resident = 0;
	fclose(file);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void check(int rc, struct qless *q)
{
	struct qless_str error = qless_error_text(q);

	if (rc == 0)
		return;
	fprintf(stderr, "%.*s\n", (int)error.len, error.ptr);
	exit(1);
}

static void make_jid(char jid[JID_BYTES + 1], unsigned long i)
{
	snprintf(jid, JID_BYTES + 1, "%08lx%024lx", (i * 2654435761UL) & 0xffffffffUL, i);
}

static void put_all(struct qless *q, unsigned long jobs, struct qless_str data)
{
	char jid[JID_BYTES + 1];
	struct qless_put put = { .worker = QLESS_STR("client"),
				 .queue = QLESS_STR("queue"),
				 .klass = QLESS_STR("Klass"),
				 .data = data };
	unsigned long i;

	for (i = 0; i < jobs; i++) {
		make_jid(jid, i);
		put.jid = (struct qless_str){ jid, JID_BYTES };
		check(qless_put(q, START + (double)i * STEP, &put), q);
	}
}

/* Pop, heartbeat and complete each job. The jids in `popped` were popped before. */
static void pop_all(struct qless *q, unsigned long jobs, char *popped)
{
	struct qless_jobs result;
	struct qless_job_info info;
	unsigned long i;

	for (i = 0; i < jobs; i++) {
		check(qless_pop(q, START + 2e6 + (double)i * STEP, QLESS_STR("queue"),
				QLESS_STR("worker"), POP_COUNT, &result),
		      q);
		if (result.count != 1)
			abort();
		qless_job_read(result.items[0], &info);
		memcpy(popped + i * JID_BYTES, info.jid.ptr, JID_BYTES);
	}
}

static void heartbeat_all(struct qless *q, unsigned long jobs, const char *popped)
{
	double expires;
	unsigned long i;

	for (i = 0; i < jobs; i++)
		check(qless_heartbeat(q, START + 2e6 + 30 + (double)i * STEP,
				      (struct qless_str){ popped + i * JID_BYTES, JID_BYTES },
				      QLESS_STR("worker"), NULL, &expires),
		      q);
}

static void complete_all(struct qless *q, unsigned long jobs, const char *popped,
			 struct qless_str data)
{
	struct qless_complete complete = { .worker = QLESS_STR("worker"),
					   .queue = QLESS_STR("queue"),
					   .data = data };
	enum qless_state state;
	unsigned long i;

	for (i = 0; i < jobs; i++) {
		complete.jid = (struct qless_str){ popped + i * JID_BYTES, JID_BYTES };
		check(qless_complete(q, START + 2e6 + 80 + (double)i * STEP, &complete, &state), q);
	}
}

static void report(const char *what, unsigned long jobs, double since)
{
	printf("%-10s %7.0f ns\n", what, (seconds() - since) * 1e9 / (double)jobs);
}

static void report_memory(const char *what, unsigned long jobs, size_t allocated, size_t resident)
{
	printf("%-10s %7.1f bytes allocated, %.1f resident, each\n", what,
	       (double)(allocated_bytes() - allocated) / (double)jobs,
	       (double)(resident_bytes() - resident) / (double)jobs);
}

int main(int argc, char **argv)
{
	unsigned long jobs = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_JOBS;
	size_t data_bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : DEFAULT_DATA_BYTES;
	char *popped;
	char *data;
	size_t allocated;
	size_t resident;
	struct qless *q;
	double since;

	if (jobs == 0 || data_bytes > DATA_BYTES_MAX)
		return 2;
	popped = malloc(jobs * JID_BYTES);
	data = malloc(data_bytes + 1);
	if (popped == NULL || data == NULL)
		return 1;
	memset(popped, 0, jobs * JID_BYTES);
	memset(data, '1', data_bytes);
	allocated = allocated_bytes();
	resident = resident_bytes();

	q = qless_new(NULL);
	since = seconds();
	put_all(q, jobs, (struct qless_str){ data, data_bytes });
	report("put", jobs, since);
	report_memory("waiting", jobs, allocated, resident);
	since = seconds();
	pop_all(q, jobs, popped);
	report("pop", jobs, since);
	report_memory("running", jobs, allocated, resident);
	since = seconds();
	heartbeat_all(q, jobs, popped);
	report("heartbeat", jobs, since);
	since = seconds();
	complete_all(q, jobs, popped, (struct qless_str){ data, data_bytes });
	report("complete", jobs, since);
	since = seconds();
	qless_free(q);
	report("free", jobs, since);
	free(popped);
	free(data);
	return 0;
}
