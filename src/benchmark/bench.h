/*
 * One run of the benchmark.
 *
 * A worker puts, pops and completes jobs. It has one request under way at a time, and goes through
 * the steps of the workload. A connection has as many workers as its pipeline is deep. With --rate,
 * requests have scheduled times. The next idle worker of a connection sends each, and if no worker
 * is idle, one is added.
 *
 * In some workloads, workers that wait take the jobs of others. Each has its own connection. When
 * it gets a job, it completes it and waits again, with both requests in one go. Without --rate,
 * there are at most as many unfinished puts as workers that wait, so each job finds one of them.
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
#include "benchmark/put_times.h"
#include "benchmark/reply.h"
#include "benchmark/request.h"
#include "benchmark/stamp.h"
#include "benchmark/workload.h"
#include "util/buf.h"

#define BENCH_COMPLAINTS_MAX 5 /* complaints whose text is kept */
/* Wrong replies after which no more jobs are started. */
#define BENCH_ERRORS_MAX 1000

struct worker {
	struct connection *connection;
	size_t step;
	unsigned rounds; /* started in this phase */
	uint64_t queue;
	uint64_t id; /* that beanstalkd gave to the job */
	bool waits;
	char *jids;
	STAILQ_ENTRY(worker) idle;
};

/* A request without a reply. */
struct pending {
	int64_t sent_ns; /* or when it should have been sent */
	struct worker *worker;
	enum command command;
};

struct connection {
	int fd;
	bool awaits_room; /* the socket is full */
	bool is_dirty;	  /* `out` has bytes that were not sent in this turn */
	struct buf out;
	struct buf tail;	 /* the beginning of an incomplete reply */
	struct pending *pending; /* a ring */
	size_t first, count, cap;
	struct worker **workers;
	size_t worker_count, worker_cap;
	STAILQ_HEAD(, worker) idle;
	char name[REQUEST_WORKER_BYTES + 1];
};

/* The figures of the requests sent from `start_ns` to `end_ns`, each until its reply. */
struct measurement {
	int64_t start_ns, end_ns; /* 0 if not yet */
	double own_cpu_s, own_run_delay_s;
	struct figures before, after;
	struct histogram *latencies[COMMAND_COUNT]; /* NULL for commands without replies */
	uint64_t commands;			    /* replies */
	uint64_t jobs;
	int64_t late_ns; /* with --rate: the largest delay of this program */
};

struct bench {
	const struct options *options;
	const struct workload *workload;
	enum workload_fill fill;
	enum command counted; /* like that of the workload, or what stands for it */
	const struct workload_phase *waiting_phase;
	uint64_t backlog, batch, fill_batch, jobs, rate, seed;

	struct control control;
	struct figures_server server;
	char script_sha[48];
	struct ledger ledger;
	struct request requests[COMMAND_COUNT];
	size_t jids_of[COMMAND_COUNT]; /* jobs in a request */
	const char *names[COMMAND_COUNT];
	char *queue_names;
	size_t queue_count, queue_cap;
	char *payload;
	uint64_t random;

	/* Those that put come first, and the workers that wait follow. */
	struct connection *connections;
	size_t connection_count, putting, waiting;
	size_t waits_under_way;	    /* workers that wait now */
	struct put_times put_times; /* of the jobs that no worker has got */
	int epoll_fd;
	struct buf scratch; /* the bytes read last */
	size_t under_way;   /* requests without a reply on all connections, but not COMMAND_WAIT */
	int64_t heard_ns;   /* time of the last reply, or of the last moment without requests under
			       way */
	int64_t now_ns;	    /* of this turn */
	struct stamp stamp; /* for dialects whose requests have a time */

	const struct workload_phase *phase;
	uint64_t round_jobs; /* new jobs in each round of a worker */
	uint64_t limit;
	uint64_t started;
	bool once;	  /* each worker goes through the phase once */
	bool is_stopping; /* no more jobs are started */
	bool is_measuring;
	struct measurement m;

	int64_t progress_ns; /* time of the last progress line */
	uint64_t progress_commands;
	bool has_progress;

	uint64_t errors;
	char *complaints[BENCH_COMPLAINTS_MAX];
	size_t complaint_count;
	struct buf error; /* why the run ended early */
};

/* Runs everything. Returns 0, even if replies were wrong, or -1 with a line in b->error. */
int bench_run(struct bench *b, const struct options *options, const struct workload *workload);
void bench_done(struct bench *b);

/* Reports a wrong reply or state. */
void bench_complain(struct bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A random number below `below`. */
uint64_t bench_random(struct bench *b, uint64_t below);

/* ---- requests.c: the words of the commands ---- */

/* Make the payload and the requests of the workload. */
void requests_init(struct bench *b);
void requests_done(struct bench *b);

/* Make the request for the counts of queues. */
void requests_make_queues(const struct bench *b, struct request *r);

/* Add the name of another queue, and return its number. */
uint64_t requests_add_queue(struct bench *b);
/* The name of a queue, without a NUL, valid until another one is added. */
const char *requests_queue_name(const struct bench *b, uint64_t queue);

/* ---- traffic.c: what is sent, and what the replies must be ---- */

/* Append the request of the worker's step. Returns false if the worker has finished this phase. */
bool traffic_send(struct bench *b, struct worker *w, struct buf *out);
/* Whether another job would find a worker that waits. */
bool traffic_has_room(const struct bench *b);
/* Check the reply, and go to the next step. */
void traffic_receive(struct bench *b, struct worker *w, const struct reply *reply);
/* Remove the worker's job from b->put_times. Returns when it was put, or 0. */
int64_t traffic_take_put_time(struct bench *b, const struct worker *w);
/* The command of the worker's step. */
enum command traffic_command(const struct bench *b, const struct worker *w);

/* Compare the queues of the server with the ledger. */
int traffic_check_queues(struct bench *b);

/* ---- loop.c: sockets and time ---- */

int loop_init(struct bench *b);
void loop_done(struct bench *b);

/* How the loop runs a phase. */
struct loop_plan {
	size_t width;	     /* workers on each connection */
	uint64_t limit;	     /* jobs, or UINT64_MAX */
	uint64_t rate;	     /* 0 for as fast as replies come */
	int64_t warmup_ns;   /* with `measure`: when measuring starts */
	int64_t duration_ns; /* when measuring ends; 0 for the end of the phase */
	bool measure;
};

/* Run b->phase until all workers have finished it. */
int loop_run(struct bench *b, const struct loop_plan *plan);

#endif
