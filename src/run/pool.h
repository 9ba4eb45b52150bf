/*
 * The slots as qless-run sees them: forks their processes, replaces those that die, and exchanges
 * messages with them in the event loop.
 */
#ifndef RUN_POOL_H
#define RUN_POOL_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "run/message.h"
#include "run/slot.h"

/* Slots that a qless-run may have. */
#define POOL_SLOTS_MAX 1000

struct pool;

/* A slot, as its owner names it: from 0 to the number of slots minus one. */
struct pool_events {
	/* The job of the slot has started as this process. */
	void (*started)(void *arg, unsigned slot, pid_t pid);
	/* A line about progress, as the program wrote it. */
	void (*progress)(void *arg, unsigned slot, struct qless_str line);
	/* Nothing of the job is left, and the slot is free. The body is that of MESSAGE_ENDED. */
	void (*ended)(void *arg, unsigned slot, struct qless_str body);
	/* The process of the slot was killed, with its job. A new one has replaced it. */
	void (*died)(void *arg, unsigned slot, int status);
};

/* Forks the processes. Borrows the settings and the events. */
struct pool *pool_new(const struct slot_settings *settings, unsigned slots,
		      const struct pool_events *events, void *arg);
/* Take part in an event loop. Before this, the slots have no work. */
void pool_attach(struct pool *p, struct event_base *base);
/* Closes the sockets, so that the slots kill what runs, and frees the rest. */
void pool_free(struct pool *p);

/* Returns the number of a slot without a job, and gives it the job. There must be one. */
unsigned pool_run(struct pool *p, struct qless_str json);
unsigned pool_count_free(const struct pool *p);

/* End the job of a slot: with TERM, and KILL after the grace. */
void pool_end(struct pool *p, unsigned slot);
/* End it without grace. */
void pool_kill(struct pool *p, unsigned slot);

/* End the slots. None has a job. Returns false until all processes have ended. */
void pool_quit(struct pool *p);
bool pool_is_over(const struct pool *p);

/* A child of this process has ended: bury it. For SIGCHLD. */
void pool_bury(struct pool *p);

#endif
