#include "benchmark/workload.h"

#include <stdio.h>
#include <string.h>

#define STEPS(name, ...) static const struct workload_step name[] = { __VA_ARGS__ }

#define PHASE(steps_, jobs_)                                                                      \
	{                                                                                         \
		.steps = (steps_), .count = sizeof(steps_) / sizeof((steps_)[0]), .jobs = (jobs_) \
	}

STEPS(ping, { COMMAND_PING, 0 });
STEPS(set, { COMMAND_SET, 0 });
STEPS(put, { COMMAND_PUT, 0 });
STEPS(pop, { COMMAND_POP, 0 });
STEPS(get, { COMMAND_GET, 0 });
STEPS(heartbeat, { COMMAND_HEARTBEAT, 0 });
STEPS(hold, { COMMAND_PUT, 0 }, { COMMAND_POP, 0 });
STEPS(lifecycle, { COMMAND_PUT, 0 }, { COMMAND_POP, 0 }, { COMMAND_COMPLETE, 0 });

/* One job completes, one is retried, one fails, and some calls only read. A worker owns only the
 * jobs that it popped: any other job may be gone. */
STEPS(mixed, { COMMAND_PUT, 0 }, { COMMAND_PEEK, 0 }, { COMMAND_POP, 0 }, { COMMAND_GET, 0 },
      { COMMAND_HEARTBEAT, 0 }, { COMMAND_COMPLETE, 0 }, { COMMAND_PUT, 0 }, { COMMAND_POP, 0 },
      { COMMAND_RETRY, 0 }, { COMMAND_LENGTH, 0 }, { COMMAND_POP, 0 }, { COMMAND_HEARTBEAT, 0 },
      { COMMAND_COMPLETE, 0 }, { COMMAND_PUT, 0 }, { COMMAND_POP, 0 }, { COMMAND_TAG_ADD, 0 },
      { COMMAND_FAIL, 0 }, { COMMAND_CANCEL, 0 }, { COMMAND_STATS, 0 });

STEPS(waiting, { COMMAND_WAIT, 0 }, { COMMAND_COMPLETE, 0 });
STEPS(taking, { COMMAND_WAIT, 0 });

STEPS(recurring, { COMMAND_RECUR, 0 }, { COMMAND_POP, 0 }, { COMMAND_COMPLETE, 0 },
      { COMMAND_UNRECUR, 0 });

#define POP_AND_COMPLETE            \
	{ COMMAND_POP, 0 },         \
	{                           \
		COMMAND_COMPLETE, 0 \
	}

/* The job that depends on the others has the first place. */
STEPS(fan_in, { COMMAND_PUT, 1 }, { COMMAND_PUT, 2 }, { COMMAND_PUT, 3 }, { COMMAND_PUT, 4 },
      { COMMAND_PUT_DEPENDENT, 0 }, POP_AND_COMPLETE, POP_AND_COMPLETE, POP_AND_COMPLETE,
      POP_AND_COMPLETE, POP_AND_COMPLETE);

/* From the last place to the first, so that each job is followed by the one it depends on. */
STEPS(chain, { COMMAND_PUT, 7 }, { COMMAND_PUT_NEXT, 6 }, { COMMAND_PUT_NEXT, 5 },
      { COMMAND_PUT_NEXT, 4 }, { COMMAND_PUT_NEXT, 3 }, { COMMAND_PUT_NEXT, 2 },
      { COMMAND_PUT_NEXT, 1 }, { COMMAND_PUT_NEXT, 0 }, POP_AND_COMPLETE, POP_AND_COMPLETE,
      POP_AND_COMPLETE, POP_AND_COMPLETE, POP_AND_COMPLETE, POP_AND_COMPLETE, POP_AND_COMPLETE,
      POP_AND_COMPLETE);

STEPS(tags, { COMMAND_PUT, 0 }, { COMMAND_TAG_ADD, 0 }, { COMMAND_TAG_GET, 0 }, { COMMAND_POP, 0 },
      { COMMAND_COMPLETE, 0 });
STEPS(priorities, { COMMAND_PUT, 0 }, { COMMAND_PRIORITY, 0 }, { COMMAND_POP, 0 },
      { COMMAND_COMPLETE, 0 });

const struct workload_phase workload_hold = PHASE(hold, 1);
const struct workload_phase workload_waiting = PHASE(waiting, 1);
const struct workload_phase workload_taking = PHASE(taking, 1);

static const struct workload workloads[] = {
	{ .name = "ping", .summary = "PING", .phase = PHASE(ping, 1), .flags = WORKLOAD_PLAIN },
	{ .name = "set",
	  .summary = "SET of the payload, for comparison with a Redis",
	  .phase = PHASE(set, 1),
	  .flags = WORKLOAD_PLAIN },
	{ .name = "put",
	  .summary = "put jobs, which stay in the queue",
	  .phase = PHASE(put, 1),
	  .flags = WORKLOAD_BATCHES,
	  .counted = COMMAND_PUT },
	{ .name = "pop",
	  .summary = "pop jobs that were put before",
	  .phase = PHASE(pop, 1),
	  .flags = WORKLOAD_BATCHES | WORKLOAD_FILL_JOBS,
	  .counted = COMMAND_POP,
	  .fill = FILL_WAITING },
	{ .name = "get",
	  .summary = "get jobs at random out of a backlog of 10k",
	  .phase = PHASE(get, 1),
	  .fill = FILL_WAITING,
	  .backlog = 10000 },
	{ .name = "heartbeat",
	  .summary = "keep the lock on a job",
	  .phase = PHASE(heartbeat, 1),
	  .flags = WORKLOAD_HOLD },
	{ .name = "lifecycle",
	  .summary = "put, pop, complete",
	  .phase = PHASE(lifecycle, 1),
	  .flags = WORKLOAD_BATCHES,
	  .counted = COMMAND_COMPLETE },
	{ .name = "deep",
	  .summary = "lifecycle on a backlog of 100k waiting jobs",
	  .phase = PHASE(lifecycle, 1),
	  .flags = WORKLOAD_BATCHES,
	  .counted = COMMAND_COMPLETE,
	  .fill = FILL_WAITING,
	  .backlog = 100000 },
	{ .name = "scheduled",
	  .summary = "lifecycle with a backlog of 100k scheduled jobs",
	  .phase = PHASE(lifecycle, 1),
	  .flags = WORKLOAD_BATCHES,
	  .counted = COMMAND_COMPLETE,
	  .fill = FILL_SCHEDULED,
	  .backlog = 100000,
	  .number_min = 1000000,
	  .number_count = 1000000 },
	{ .name = "recurring",
	  .summary = "recur, pop, complete, unrecur, with 1k that are not due",
	  .phase = PHASE(recurring, 1),
	  .counted = COMMAND_COMPLETE,
	  .fill = FILL_RECURRING,
	  .backlog = 1000,
	  .number_min = 1000000,
	  .number_count = 1000000,
	  .jid_suffix = "-1" },
	{ .name = "fan-in",
	  .summary = "four jobs, and one that depends on all of them",
	  .phase = PHASE(fan_in, WORKLOAD_FAN + 1),
	  .flags = WORKLOAD_OWN_QUEUES,
	  .counted = COMMAND_COMPLETE },
	{ .name = "chain",
	  .summary = "eight jobs, each depending on the one before",
	  .phase = PHASE(chain, WORKLOAD_CHAIN),
	  .flags = WORKLOAD_OWN_QUEUES,
	  .counted = COMMAND_COMPLETE },
	{ .name = "tags",
	  .summary = "lifecycle with tags: two in a put, one added, one looked up",
	  .phase = PHASE(tags, 1),
	  .counted = COMMAND_COMPLETE,
	  .number_min = 0,
	  .number_count = 1000,
	  .put_options = { "tags", "[\"common\",\"tag-%n\"]", NULL } },
	{ .name = "priorities",
	  .summary = "lifecycle with 10k priorities, which change, on a backlog of 10k",
	  .phase = PHASE(priorities, 1),
	  .counted = COMMAND_COMPLETE,
	  .fill = FILL_WAITING,
	  .backlog = 10000,
	  .number_min = 0,
	  .number_count = 10000,
	  .put_options = { "priority", "%n", NULL } },
	{ .name = "many-queues",
	  .summary = "lifecycle in 10k queues",
	  .phase = PHASE(lifecycle, 1),
	  .flags = WORKLOAD_BATCHES,
	  .counted = COMMAND_COMPLETE,
	  .queues = 10000 },
	/* Enough retries that no job uses them up. With few, a job would be retried by every worker
	 * until it fails, and another worker would find nothing to pop. */
	{ .name = "mixed",
	  .summary = "jobs that complete, are retried or fail, and calls that read them",
	  .phase = PHASE(mixed, 3),
	  .counted = COMMAND_PUT,
	  .put_options = { "tags", "[\"mixed\"]", "retries", "1000", NULL } },
	{ .name = "latency",
	  .summary = "lifecycle at a fixed rate, 10k requests a second",
	  .phase = PHASE(lifecycle, 1),
	  .flags = WORKLOAD_BATCHES | WORKLOAD_OPEN,
	  .counted = COMMAND_COMPLETE,
	  .rate = 10000 },
	{ .name = "handoff",
	  .summary = "time from a put to the worker that waits, at 1k puts a second",
	  .phase = PHASE(put, 1),
	  .flags = WORKLOAD_OPEN | WORKLOAD_WAIT,
	  .counted = COMMAND_COMPLETE,
	  .connections = 1,
	  .workers = 1,
	  .rate = 1000 },
	{ .name = "wait",
	  .summary = "jobs for 64 workers that wait, put as fast as they complete",
	  .phase = PHASE(put, 1),
	  .flags = WORKLOAD_WAIT,
	  .counted = COMMAND_COMPLETE,
	  .workers = 64 },
};

#define WORKLOAD_COUNT (sizeof(workloads) / sizeof(workloads[0]))

const struct workload *workload_find(const char *name)
{
	for (size_t i = 0; i < WORKLOAD_COUNT; i++) {
		if (strcmp(workloads[i].name, name) == 0)
			return &workloads[i];
	}
	return NULL;
}

void workload_print_all(void)
{
	for (size_t i = 0; i < WORKLOAD_COUNT; i++)
		printf("%-12s  %s\n", workloads[i].name, workloads[i].summary);
}
