/*
 * The speed of saving and loading a million waiting jobs, in processor time, and the bytes they
 * take.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/state.h"
#include "util/buf.h"

#define JOBS 1000000

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool keep(void *arg, struct qless_str piece)
{
	return buf_append_str(arg, piece);
}

static struct qless_str give(void *arg)
{
	struct qless_str *left = arg;
	struct qless_str piece = *left;

	if (piece.len > STATE_PIECE_BYTES)
		piece.len = STATE_PIECE_BYTES;
	left->ptr += piece.len;
	left->len -= piece.len;
	return piece;
}

static void make_jobs(struct qless *q)
{
	struct qless_put put = {
		.queue = QLESS_STR("a-queue"),
		.worker = QLESS_STR("a-worker-of-some-host-4711"),
		.klass = QLESS_STR("SomeJob"),
		.data = QLESS_STR(
			"{\"url\":\"https://example.com/a/path\",\"attempt\":1,\"size\":4711}"),
	};
	char jid[33];

	for (unsigned i = 0; i < JOBS; i++) {
		snprintf(jid, sizeof jid, "%08x%08x%016llx", i * 2654435761u, ~i,
			 i * 88172645463325252ULL);
		put.jid = str_make(jid, 32);
		if (qless_put(q, 1700000000.123456 + i * 1e-4, &put) < 0)
			abort();
	}
}

int main(void)
{
	struct qless *from = qless_new(NULL), *to = qless_new(NULL);
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct qless_str left;
	double start;

	make_jobs(from);
	start = seconds();
	state_save(from, keep, &bytes);
	printf("save   %8.0f jobs/s   %zu bytes, %.1f a job\n", JOBS / (seconds() - start),
	       bytes.len, (double)bytes.len / JOBS);
	left = buf_str(&bytes);
	start = seconds();
	if (state_load(to, give, &left) < 0)
		abort();
	printf("load   %8.0f jobs/s\n", JOBS / (seconds() - start));
	return 0;
}
