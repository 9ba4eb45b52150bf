/*
 * A job that this worker holds, from its hand-out to the reply of the server to its end.
 */
#ifndef RUN_TASK_H
#define RUN_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/job.h"
#include "run/outcome.h"

enum task_state {
	TASK_HELD,	/* waits until an earlier run of the same job has ended */
	TASK_RUNNING,	/* in its slot */
	TASK_REPORTING, /* it has ended, and the server does not know yet */
	TASK_DONE,	/* nothing is left to do */
};

struct task {
	struct task *next, **link; /* in the list of its worker */
	struct job job;
	enum task_state state;
	unsigned slot; /* while it runs */
	pid_t pid;     /* 0 before its program has started */
	/* The server has taken the job away, or will get it back in another way: nothing is
	 * reported. */
	bool is_lost;
	bool is_away;		/* it is ended because the server has been away for too long */
	bool is_repeated;	/* an earlier report got no reply */
	bool is_substitute;	/* the server did not accept the first report */
	struct outcome outcome; /* while it is reported */
	unsigned requests;	/* that are under way */
	int64_t began_us;
	int64_t processor_us; /* of its processes, except for those of a program that runs on */
};

/* Takes the job. Adds the task to the list at `head`. */
struct task *task_new(struct task **head, struct job *job);

/* Removes the task from its list, and frees it as soon as no request refers to it. */
void task_finish(struct task *t);
/* A request about the task begins, or has ended. */
void task_hold(struct task *t);
void task_release(struct task *t);

struct task *task_find_slot(struct task *head, unsigned slot);
/* The task of this hand-out, or NULL. */
struct task *task_find(struct task *head, struct qless_str jid, uint64_t lock);

#endif
