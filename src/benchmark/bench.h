/*
 * One run of the benchmark.
 *
 * A worker is what puts, pops and completes: it has one request under way at a time and goes
 * through the steps of the workload. As many workers share a connection as the pipeline is deep.
 * With
 * --rate, requests have their times in advance, and the next idle worker of a connection sends
 * each; if there is none, one is made.
 */
#ifndef BENCHMARK_BENCH_H
#define BENCHMARK_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "benchmark/control.h"
#include "benchmark/figures.h"
#include "benchmark/histogram.h"
#include "benchmark/ledger.h"
#include "benchmark/options.h"
#include "benchmark/reply.h"
#include "benchmark/request.h"
#include "benchmark/stamp.h"
#include "benchmark/workload.h"
#include "util/buf.h"

#define BENCH_COMPLAINTS_MAX 5 /* of which the text is kept */
/* When this many replies were wrong, no more jobs are begun. */
#define BENCH_ERRORS_MAX 1000

struct worker {
	struct connection *connection;
	size_t step;
	unsigned rounds; /* begun in this phase */
	uint64_t queue;
	char *jids;
	STAILQ_ENTRY(worker) idle;
};

/* A request that has no reply yet. */
struct pending {
	int64_t sent_ns; /* or when it should have been sent */
	struct worker *worker;
	enum command command;
};

struct connection {
	int fd;
	bool awaits_room; /* the socket took no more */
	bool is_dirty;	  /* there is something in `out` that this turn has not tried to send */
	struct buf out;
	struct buf tail;	 /* the beginning of a reply */
	struct pending *pending; /* a ring */
	size_t first, count, cap;
	struct worker **workers;
	size_t worker_count, worker_cap;
	STAILQ_HEAD(, worker) idle;
	char name[REQUEST_WORKER_BYTES + 1];
};

/* What is measured: the requests sent from `start_ns` up to `end_ns`, each until its reply. */
struct measurement {
	int64_t start_ns, end_ns; /* 0: not yet */
	double own_cpu_s;
	struct figures before, after;
	struct histogram *latencies[COMMAND_COUNT]; /* NULL where there are none */
	uint64_t commands;			    /* replies */
	uint64_t jobs;
	int64_t late_ns; /* with --rate: the longest that we were late */
};

struct bench {
	const struct options *options;
	const struct workload *workload;
	enum workload_fill fill;
	uint64_t backlog, batch, fill_batch, jobs, rate, seed;

	struct control control;
	struct figures_server server;
	char script_sha[48];
	struct ledger ledger;
	struct request requests[COMMAND_COUNT];
	size_t jids_of[COMMAND_COUNT]; /* how many jobs a request is about */
	const char *names[COMMAND_COUNT];
	char *queue_names;
	size_t queue_count, queue_cap;
	char *payload;
	uint64_t random;

	struct connection *connections;
	size_t connection_count;
	int epoll_fd;
	struct buf scratch; /* what was read last */
	size_t under_way;   /* requests without a reply, of all connections */
	int64_t heard_ns;   /* when there was a reply last, or nothing under way */
	int64_t now_ns;	    /* of the turn */
	struct stamp stamp; /* for the dialects whose requests have a time */

	const struct workload_phase *phase;
	uint64_t round_jobs; /* new jobs each time a worker goes through it */
	uint64_t limit;
	uint64_t started;
	bool once;	  /* each worker goes through the phase once */
	bool is_stopping; /* no more jobs are begun */
	bool is_measuring;
	struct measurement m;

	int64_t progress_ns; /* when there was a progress line last */
	uint64_t progress_commands;
	bool has_progress;

	uint64_t errors;
	char *complaints[BENCH_COMPLAINTS_MAX];
	size_t complaint_count;
	struct buf error; /* why the run could not go on */
};

/* The whole run. Returns 0, also if replies were wrong, or -1 with a line in b->error. */
int bench_run(struct bench *b, const struct options *options, const struct workload *workload);
void bench_done(struct bench *b);

/* Something is not as it should be. */
void bench_complain(struct bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A random number below `below`. */
uint64_t bench_random(struct bench *b, uint64_t below);

/* ---- requests.c: the words of the commands ---- */

/* Make the payload and the requests of the workload. */
void requests_init(struct bench *b);
void requests_done(struct bench *b);

/* Make the request for what there is in a queue. */
void requests_make_queues(const struct bench *b, struct request *r);

/* Make the name of one more queue; returns its number. */
uint64_t requests_add_queue(struct bench *b);
/* The name of a queue, without a NUL. Good until there is one more. */
const char *requests_queue_name(const struct bench *b, uint64_t queue);

/* ---- traffic.c: what is sent, and what the replies must be ---- */

/* Append the request of the worker's step. False if it has nothing more to do in this phase. */
bool traffic_send(struct bench *b, struct worker *w, struct buf *out);
/* Look at the reply to it, and go on to the next step. */
void traffic_receive(struct bench *b, struct worker *w, const struct reply *reply);
/* The command of its step. */
enum command traffic_command(const struct bench *b, const struct worker *w);

/* Compare what the server has in the queues with the books. */
int traffic_check_queues(struct bench *b);

/* ---- loop.c: sockets and time ---- */

int loop_init(struct bench *b);
void loop_done(struct bench *b);

/* How the loop is to run a phase. */
struct loop_plan {
	size_t width;	     /* workers on each connection */
	uint64_t limit;	     /* jobs; UINT64_MAX for none */
	uint64_t rate;	     /* 0: as fast as replies come */
	int64_t warmup_ns;   /* measure from then on; with `measure` */
	int64_t duration_ns; /* and until then; 0: to the end of the phase */
	bool measure;
};

/* Run b->phase until all have gone through it. */
int loop_run(struct bench *b, const struct loop_plan *plan);

#endif
