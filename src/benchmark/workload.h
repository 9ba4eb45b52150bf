/*
 * Workloads as data: the requests that each worker repeats, and what the server must hold before.
 */
#ifndef BENCHMARK_WORKLOAD_H
#define BENCHMARK_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of requests. requests.c builds them, and traffic.c checks their replies. */
enum command {
	COMMAND_PING,
	COMMAND_SET,
	COMMAND_FILL, /* many jobs at once, for the backlog */
	COMMAND_PUT,
	COMMAND_PUT_DEPENDENT, /* depends on WORKLOAD_FAN jobs */
	COMMAND_PUT_NEXT,      /* depends on the job put before */
	COMMAND_GET,
	COMMAND_PEEK,
	COMMAND_POP,
	COMMAND_WAIT, /* a pop that waits */
	COMMAND_HEARTBEAT,
	COMMAND_COMPLETE,
	COMMAND_RETRY,
	COMMAND_FAIL,
	COMMAND_CANCEL,
	COMMAND_PRIORITY,
	COMMAND_TAG_ADD,
	COMMAND_TAG_GET,
	COMMAND_RECUR,
	COMMAND_RECUR_LATER, /* for the backlog */
	COMMAND_UNRECUR,
	COMMAND_LENGTH,
	COMMAND_STATS,
	COMMAND_COUNT,
};

#define WORKLOAD_FAN	  4 /* jobs that another depends on */
#define WORKLOAD_CHAIN	  8 /* jobs of which each depends on the one before */
#define WORKLOAD_JIDS_MAX 8 /* jobs of one worker, in workloads without batches */

/* One request. A worker has places for jids; `jid` is the first one that the request uses. */
struct workload_step {
	enum command command;
	unsigned jid;
};

/* Steps that each worker repeats, up to a limit of jobs. */
struct workload_phase {
	const struct workload_step *steps;
	size_t count;
	unsigned jobs; /* new jobs in each round, or requests if there are none */
};

/* The kind of the backlog. */
enum workload_fill {
	FILL_NONE,
	FILL_WAITING,
	FILL_SCHEDULED,
	FILL_RECURRING,
};

enum workload_flags {
	WORKLOAD_PLAIN = 1 << 0,      /* no queue commands: any dialect, any Redis */
	WORKLOAD_BATCHES = 1 << 1,    /* --batch is allowed */
	WORKLOAD_FILL_JOBS = 1 << 2,  /* the backlog is --jobs */
	WORKLOAD_OWN_QUEUES = 1 << 3, /* each worker has its own queue */
	WORKLOAD_HOLD = 1 << 4,	      /* each worker holds a job from the start */
	WORKLOAD_OPEN = 1 << 5,	      /* always at a rate */
	WORKLOAD_WAIT = 1 << 6,	      /* other connections have workers that wait for jobs */
};

struct workload {
	const char *name;
	const char *summary;
	struct workload_phase phase;
	unsigned flags;
	enum command counted; /* the command whose replies count as jobs; PING if there is none */
	enum workload_fill fill;
	uint64_t backlog;		     /* unless --backlog is given */
	unsigned queues;		     /* unless --queues is given; 0 means 1 */
	unsigned connections, workers, rate; /* unless they are given */
	/* The range of the random number in a request. */
	uint32_t number_min, number_count;
	const char *put_options[5]; /* of PUT; NULL ends them */
	const char *jid_suffix;	    /* of popped jobs */
};

/* Returns NULL if there is no such workload. */
const struct workload *workload_find(const char *name);
void workload_print_all(void);

/* The phase before workloads with WORKLOAD_HOLD. */
extern const struct workload_phase workload_hold;

/* The steps of a worker that waits. Servers without COMPLETE have only the first. */
extern const struct workload_phase workload_waiting, workload_taking;

#endif
