/*
 * The helper thread: it runs disk tasks (disk_task.h), one at a time, and touches nothing else. It
 * gives way to other threads unless that makes tasks late: see yielding.h.
 */
#ifndef JOURNAL_HELPER_H
#define JOURNAL_HELPER_H

#include <stdbool.h>

#include "journal/disk_task.h"
#include "journal/io.h"

/* The name of the thread. */
#define HELPER_NAME "qlessd-helper"

struct helper;

/* The thread calls `wake`, unless NULL, when a task is done. Without a thread, helper_take() runs
 * the task. Borrows `io` and `dir`. */
struct helper *helper_new(const struct journal_io *io, const char *dir, bool threaded,
			  void (*wake)(void *arg), void *wake_arg);
/* Waits for the task. NULL is a no-op. */
void helper_free(struct helper *h);

/* Returns whether no task is running. One that is done may wait for helper_take(). Cheap. */
bool helper_is_idle(const struct helper *h);
void helper_start(struct helper *h, struct disk_task *task);
/* Run a task in the caller's thread instead. There is no other task, running or done. */
void helper_run(struct helper *h, struct disk_task *task);
/* Returns the task if it is done, which then belongs to the caller, or NULL. */
struct disk_task *helper_take(struct helper *h);
/* Wait until the task is done. */
void helper_wait(struct helper *h);

#endif
