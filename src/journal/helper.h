/*
 * The helper thread: it runs disk tasks (disk_task.h), one at a time, and touches nothing else.
 */
#ifndef JOURNAL_HELPER_H
#define JOURNAL_HELPER_H

#include <stdbool.h>

#include "journal/disk_task.h"
#include "journal/io.h"

struct helper;

/* `wake` is called from the thread when a job is done; it may be NULL. Without a thread the job is
 * done by the helper_take() that asks for it. Borrows `io` and `dir`. */
struct helper *helper_new(const struct journal_io *io, const char *dir, bool threaded,
			  void (*wake)(void *arg), void *wake_arg);
/* Waits for the job. */
void helper_free(struct helper *h);

/* Nothing is being done, though a job that is done may wait to be taken. Cheap. */
bool helper_is_idle(const struct helper *h);
void helper_start(struct helper *h, struct disk_task *task);
/* Do it in the thread of the caller, instead. No job is under way, nor waits to be
 * taken. */
void helper_run(struct helper *h, struct disk_task *task);
/* The job if it is done, or NULL. */
struct disk_task *helper_take(struct helper *h);
/* Wait until it is done. */
void helper_wait(struct helper *h);

#endif
