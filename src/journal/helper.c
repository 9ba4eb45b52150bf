/*
 * The helper thread, and the one task that goes to it and comes back.
 */
#include "journal/helper.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "journal/yielding.h"
#include "sys/clock.h"
#include "util/mem.h"

struct helper {
	const struct journal_io *io;
	const char *dir;
	bool threaded;
	void (*wake)(void *arg);
	void *wake_arg;
	struct disk_task *task; /* for the owner's thread only: started and not taken */
	bool can_yield;		/* the process has the usual policy */

	struct yielding yielding; /* for the helper's thread only, like the next field */
	bool yields;

	pthread_t thread;
	pthread_mutex_t mutex; /* guards the fields below */
	pthread_cond_t changed;
	struct disk_task *todo;
	int64_t started_us; /* when `todo` was started */
	atomic_bool done;   /* also read without the mutex */
	bool ending;
};

/* SCHED_BATCH keeps the helper from interrupting the main thread when it gets a task on the same
 * processor, because clients wait for the loop. If the system refuses the policy, everything still
 * works. */
static void set_yields(struct helper *h, bool yields)
{
	struct sched_param none = { 0 };

	if (yields != h->yields)
		pthread_setschedparam(pthread_self(), yields ? SCHED_BATCH : SCHED_OTHER, &none);
	h->yields = yields;
}

static void note_begin(struct helper *h, int64_t started_us)
{
	int64_t now_us = clock_mono_us();

	if (h->can_yield)
		set_yields(h, yielding_note(&h->yielding, now_us - started_us, now_us));
}

static void *run(void *arg)
{
	struct helper *h = arg;
	int64_t started_us;

	pthread_setname_np(pthread_self(), HELPER_NAME);
	pthread_mutex_lock(&h->mutex);
	for (;;) {
		while (h->todo == NULL && !h->ending)
			pthread_cond_wait(&h->changed, &h->mutex);
		if (h->todo == NULL)
			break;
		started_us = h->started_us;
		pthread_mutex_unlock(&h->mutex);
		note_begin(h, started_us);
		disk_task_run(h->todo, h->io, h->dir);
		pthread_mutex_lock(&h->mutex);
		h->todo = NULL;
		h->done = true;
		pthread_cond_broadcast(&h->changed);
		/* The owner locks the mutex as soon as it is woken. */
		pthread_mutex_unlock(&h->mutex);
		if (h->wake != NULL)
			h->wake(h->wake_arg);
		pthread_mutex_lock(&h->mutex);
	}
	pthread_mutex_unlock(&h->mutex);
	return NULL;
}

/* The main thread handles signals. A policy that the process was started with is left alone. */
static bool start_thread(struct helper *h)
{
	sigset_t all, old;
	int rc;

	h->can_yield = sched_getscheduler(0) == SCHED_OTHER;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&h->thread, NULL, run, h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc == 0;
}

struct helper *helper_new(const struct journal_io *io, const char *dir, bool threaded,
			  void (*wake)(void *arg), void *wake_arg)
{
	struct helper *h = mem_zalloc(sizeof *h);

	h->io = io;
	h->dir = dir;
	h->wake = wake;
	h->wake_arg = wake_arg;
	pthread_mutex_init(&h->mutex, NULL);
	pthread_cond_init(&h->changed, NULL);
	/* Without the thread everything works, but slower. */
	h->threaded = threaded && start_thread(h);
	return h;
}

void helper_free(struct helper *h)
{
	if (h == NULL)
		return;
	if (h->threaded) {
		pthread_mutex_lock(&h->mutex);
		h->ending = true;
		pthread_cond_broadcast(&h->changed);
		pthread_mutex_unlock(&h->mutex);
		pthread_join(h->thread, NULL);
	}
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->mutex);
	free(h);
}

bool helper_is_idle(const struct helper *h)
{
	return h->task == NULL || !h->threaded ||
	       atomic_load_explicit(&h->done, memory_order_relaxed);
}

void helper_start(struct helper *h, struct disk_task *task)
{
	assert(h->task == NULL && task->kind != DISK_TASK_NONE);
	h->task = task;
	if (!h->threaded)
		return;
	pthread_mutex_lock(&h->mutex);
	h->todo = task;
	h->started_us = clock_mono_us();
	h->done = false;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->mutex);
}

void helper_run(struct helper *h, struct disk_task *task)
{
	assert(h->task == NULL);
	disk_task_run(task, h->io, h->dir);
}

struct disk_task *helper_take(struct helper *h)
{
	struct disk_task *task = h->task;
	bool done = true;

	if (task == NULL)
		return NULL;
	if (h->threaded) {
		pthread_mutex_lock(&h->mutex);
		done = h->done;
		pthread_mutex_unlock(&h->mutex);
	} else {
		disk_task_run(task, h->io, h->dir);
	}
	if (!done)
		return NULL;
	h->task = NULL;
	return task;
}

void helper_wait(struct helper *h)
{
	if (!h->threaded || h->task == NULL)
		return;
	pthread_mutex_lock(&h->mutex);
	while (!h->done)
		pthread_cond_wait(&h->changed, &h->mutex);
	pthread_mutex_unlock(&h->mutex);
}
