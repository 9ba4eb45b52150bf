/*
 * One thread, and one task that goes there and back.
 */
#include "journal/helper.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "util/mem.h"

struct helper {
	const struct journal_io *io;
	const char *dir;
	bool threaded;
	void (*wake)(void *arg);
	void *wake_arg;
	struct disk_task *task; /* the owner's alone: started and not taken */

	pthread_t thread;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t changed;
	struct disk_task *todo;
	atomic_bool done; /* as well read without it */
	bool ending;
};

static void *run(void *arg)
{
	struct helper *h = arg;

	pthread_mutex_lock(&h->mutex);
	for (;;) {
		while (h->todo == NULL && !h->ending)
			pthread_cond_wait(&h->changed, &h->mutex);
		if (h->todo == NULL)
			break;
		pthread_mutex_unlock(&h->mutex);
		disk_task_run(h->todo, h->io, h->dir);
		pthread_mutex_lock(&h->mutex);
		h->todo = NULL;
		h->done = true;
		pthread_cond_broadcast(&h->changed);
		/* Who is woken wants the mutex at once. */
		pthread_mutex_unlock(&h->mutex);
		if (h->wake != NULL)
			h->wake(h->wake_arg);
		pthread_mutex_lock(&h->mutex);
	}
	pthread_mutex_unlock(&h->mutex);
	return NULL;
}

/*
 * Signals are for the main thread. The other one does not interrupt whoever runs when it has
 * something to do: on the processor of the main thread that would win nothing, as the loop is what
 * the clients wait for. Where the system does not let it, that is no harm; and a policy that we
 * were started with is left alone.
 */
static bool start_thread(struct helper *h)
{
	struct sched_param param;
	sigset_t all, old;
	int rc, policy;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&h->thread, NULL, run, h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0 && pthread_getschedparam(h->thread, &policy, &param) == 0 &&
	    policy == SCHED_OTHER)
		pthread_setschedparam(h->thread, SCHED_BATCH, &param);
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
	/* Without the thread all goes on, only slower. */
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
	assert(h->task == NULL);
	h->task = task;
	if (!h->threaded)
		return;
	pthread_mutex_lock(&h->mutex);
	h->todo = task;
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
