/*
 * Nanoseconds for each request parsed and each reply written, one thread, everything in cache. Run
 * with `meson test --benchmark -v`.
 */
#include <stdio.h>
#include <time.h>

#include "resp/parser.h"
#include "resp/writer.h"
#include "util/buf.h"

#define ROUNDS	 20000
#define PIPELINE 100

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return 1e9 * (double)ts.tv_sec + (double)ts.tv_nsec;
}

static void report(const char *what, double start_ns, size_t count)
{
	printf("%-44s %7.1f ns\n", what, (now_ns() - start_ns) / (double)count);
}

/* Parse a pipeline of equal requests repeatedly. */
static void bench_parse(const char *what, struct qless_str request)
{
	const struct resp_limits limits = RESP_LIMITS_DEFAULT;
	struct buf pipeline = BUF_INIT(BUF_NO_MAX);
	struct resp_request r;
	struct resp_parser p;
	size_t args = 0;
	double start_ns;

	resp_request_init(&r);
	resp_parser_init(&p);
	for (int i = 0; i < PIPELINE; i++)
		buf_append_str(&pipeline, request);
	start_ns = now_ns();
	for (int round = 0; round < ROUNDS; round++) {
		const char *at = buf_data(&pipeline);
		size_t len = pipeline.len;

		while (resp_parse(&p, &limits, at, len, &r) == RESP_REQUEST) {
			at += r.consumed;
			len -= r.consumed;
			args += r.argc;
		}
	}
	report(what, start_ns, (size_t)ROUNDS * PIPELINE);
	if (args < (size_t)ROUNDS * PIPELINE)
		printf("%s: requests are missing\n", what);
	resp_request_done(&r);
	buf_done(&pipeline);
}

/* One request that arrives in two halves. */
static void bench_halves(const char *what, struct qless_str request)
{
	const struct resp_limits limits = RESP_LIMITS_DEFAULT;
	struct resp_request r;
	struct resp_parser p;
	double start_ns = now_ns();

	resp_request_init(&r);
	resp_parser_init(&p);
	for (int i = 0; i < ROUNDS * PIPELINE; i++) {
		resp_parse(&p, &limits, request.ptr, request.len / 2, &r);
		resp_parse(&p, &limits, request.ptr, request.len, &r);
	}
	report(what, start_ns, (size_t)ROUNDS * PIPELINE);
	resp_request_done(&r);
}

static void write_ok(struct reply *w)
{
	reply_ok(w);
}

static void write_integer(struct reply *w)
{
	reply_integer(w, 1234567);
}

static void write_bulk(struct reply *w)
{
	char bytes[100] = "";

	reply_bulk(w, str_make(bytes, sizeof bytes));
}

static void write_double(struct reply *w)
{
	reply_double(w, 1700000000.25);
}

static void bench_write(const char *what, void (*write)(struct reply *))
{
	struct chunk_pool pool;
	struct reply w;
	struct chain out;
	double start_ns;

	chunk_pool_init(&pool, 4);
	chain_init(&out, &pool);
	resp_writer_init(&w, &out, 2);
	start_ns = now_ns();
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < PIPELINE; i++)
			write(&w);
		chain_consume(&out, out.len);
	}
	report(what, start_ns, (size_t)ROUNDS * PIPELINE);
	chain_done(&out);
	chunk_pool_done(&pool);
}

#define TEN	"0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define SET	"*3\r\n$3\r\nSET\r\n$6\r\nkey:42\r\n$100\r\n" HUNDRED "\r\n"

int main(void)
{
	bench_parse("parse PING", STR("*1\r\n$4\r\nPING\r\n"));
	bench_parse("parse PING, inline", STR("PING\r\n"));
	bench_parse("parse SET of 100 bytes", STR(SET));
	bench_halves("parse SET of 100 bytes in two halves", STR(SET));
	bench_write("write OK", write_ok);
	bench_write("write an integer", write_integer);
	bench_write("write a bulk string of 100 bytes", write_bulk);
	bench_write("write a double", write_double);
	return 0;
}
