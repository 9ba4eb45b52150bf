/*
 * What load there is. A workload is data: requests that each worker sends one after the other, over
 * and over, and what has to be in the server before.
 */
#ifndef BENCHMARK_WORKLOAD_H
#define BENCHMARK_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of requests. How each is made is in requests.c, how it is checked in traffic.c. */
enum command {
	COMMAND_PING,
	COMMAND_SET,
	COMMAND_FILL, /* many jobs at once, for the backlog */
	COMMAND_PUT,
	COMMAND_PUT_DEPENDENT, /* depends on WORKLOAD_FAN jobs */
	COMMAND_PUT_NEXT,      /* depends on the one put before */
	COMMAND_GET,
	COMMAND_PEEK,
	COMMAND_POP,
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

/* One request. A worker has places for jids; `jid` is the first of those that the request is about.
 */
struct workload_step {
	enum command command;
	unsigned jid;
};

/* Steps that each worker goes through, up to a limit of jobs. */
struct workload_phase {
	const struct workload_step *steps;
	size_t count;
	unsigned jobs; /* new jobs in each round; requests, where there are none */
};

/* What the backlog is. */
enum workload_fill {
	FILL_NONE,
	FILL_WAITING,
	FILL_SCHEDULED,
	FILL_RECURRING,
};

enum workload_flags {
	WORKLOAD_PLAIN = 1 << 0,      /* no queue commands: any dialect, any Redis */
	WORKLOAD_BATCHES = 1 << 1,    /* --batch is possible */
	WORKLOAD_FILL_JOBS = 1 << 2,  /* the backlog is --jobs */
	WORKLOAD_OWN_QUEUES = 1 << 3, /* each worker has a queue to itself */
	WORKLOAD_HOLD = 1 << 4,	      /* each worker holds a job from the start */
	WORKLOAD_OPEN = 1 << 5,	      /* always at a rate */
};

struct workload {
	const char *name;
	const char *summary;
	struct workload_phase phase;
	unsigned flags;
	enum command counted; /* its replies are the jobs done; PING: there are none */
	enum workload_fill fill;
	uint64_t backlog; /* if --backlog is not given */
	unsigned queues;  /* if --queues is not given; 0: 1 */
	/* A number that each request with one gets, at random from this range. */
	uint32_t number_min, number_count;
	const char *put_options[5]; /* of PUT, up to NULL */
	const char *jid_suffix;	    /* of jobs that are popped */
};

/* NULL if there is none of that name. */
const struct workload *workload_find(const char *name);
void workload_print_all(void);

/* What each worker does before WORKLOAD_HOLD workloads. */
extern const struct workload_phase workload_hold;

#endif
