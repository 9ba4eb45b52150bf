#include "journal/helper.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "journal/kept.h"
#include "sys/clock.h"
#include "util/mem.h"

/* Who writes to the file meanwhile waits for one such piece. */
#define ZERO_BYTES ((size_t)64 * 1024)

struct helper {
	const struct journal_io *io;
	const char *dir;
	bool threaded;
	void (*wake)(void *arg);
	void *wake_arg;
	struct job *job; /* the owner's alone: started and not taken */

	pthread_t thread;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t changed;
	struct job *todo;
	atomic_bool done; /* as well read without it */
	bool ending;
};

/* Where the disk has no room for them there will be no zeros, and that is all. */
static int write_zeros(const struct journal_io *io, struct job *job, int fd, uint64_t from,
		       uint64_t to)
{
	char *zeros;
	size_t written;
	int rc = 0;

	if (from >= to)
		return 0;
	zeros = mem_zalloc(ZERO_BYTES);
	for (job->zeroed = from; rc == 0 && job->zeroed < to; job->zeroed += written) {
		uint64_t left = to - job->zeroed;

		rc = journal_write_all(io, fd, zeros, left < ZERO_BYTES ? (size_t)left : ZERO_BYTES,
				       job->zeroed, &written);
	}
	free(zeros);
	return rc == -ENOSPC || rc == -EDQUOT ? 0 : rc;
}

static int write_bytes(const struct journal_io *io, struct job *job)
{
	size_t written;
	int rc = 0;

	if (job->bytes.len > 0)
		rc = journal_write_all(io, job->fd, job->bytes.ptr, job->bytes.len, job->offset,
				       &written);
	if (rc == 0)
		rc = write_zeros(io, job, job->fd, job->zero_from, job->zero_to);
	return rc == 0 && job->cut ? io->truncate(io->arg, job->fd, job->offset) : rc;
}

static int create_log(const struct helper *h, struct job *job)
{
	const struct journal_io *io = h->io;
	unsigned char head[RECORD_FILE_HEADER_BYTES];
	char path[JOURNAL_PATH_MAX];
	size_t written;
	int rc;

	journal_log_path(path, h->dir, job->header.number);
	job->created_fd = io->open(io->arg, path, O_WRONLY | O_CREAT | O_TRUNC);
	if (job->created_fd < 0)
		return job->created_fd;
	record_encode_header(&job->header, head);
	rc = journal_write_all(io, job->created_fd, head, sizeof head, 0, &written);
	if (rc == 0)
		rc = write_zeros(io, job, job->created_fd, sizeof head, job->create_bytes);
	return rc == 0 ? io->sync(io->arg, job->created_fd) : rc;
}

static void do_job(const struct helper *h, struct job *job)
{
	int64_t start_us = clock_mono_us(), written_us;

	job->created_fd = -1;
	job->unclear = false;
	job->zeroed = 0;
	job->reached = JOB_WRITE;
	job->rc = write_bytes(h->io, job);
	written_us = clock_mono_us();
	job->write_us = written_us - start_us;
	if (job->rc < 0)
		return;
	job->reached = JOB_SYNC;
	if (job->fd >= 0 && !job->no_sync)
		job->rc = h->io->sync(h->io->arg, job->fd);
	job->sync_us = clock_mono_us() - written_us;
	if (job->rc < 0)
		return;
	job->reached = JOB_CREATE;
	if (job->create)
		job->rc = create_log(h, job);
	if (job->rc < 0)
		return;
	job->reached = JOB_KEEP;
	if (job->obsolete != NULL && job->keep_bases > 0)
		job->rc = kept_write(job->obsolete, job->manifest.base, h->io, h->dir);
	if (job->rc < 0)
		return;
	job->reached = JOB_REPLACE;
	if (job->replace)
		job->rc = manifest_replace(&job->manifest, h->io, h->dir, &job->unclear);
	if (job->rc < 0)
		return;
	job->reached = JOB_REMOVE;
	if (job->obsolete != NULL)
		kept_sweep(&job->manifest, job->keep_bases, h->io, h->dir);
	job->reached = JOB_DONE;
}

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
		do_job(h, h->todo);
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
	return h->job == NULL || !h->threaded ||
	       atomic_load_explicit(&h->done, memory_order_relaxed);
}

void helper_start(struct helper *h, struct job *job)
{
	assert(h->job == NULL);
	h->job = job;
	if (!h->threaded)
		return;
	pthread_mutex_lock(&h->mutex);
	h->todo = job;
	h->done = false;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->mutex);
}

void helper_run(struct helper *h, struct job *job)
{
	assert(h->job == NULL);
	do_job(h, job);
}

struct job *helper_take(struct helper *h)
{
	struct job *job = h->job;
	bool done = true;

	if (job == NULL)
		return NULL;
	if (h->threaded) {
		pthread_mutex_lock(&h->mutex);
		done = h->done;
		pthread_mutex_unlock(&h->mutex);
	} else {
		do_job(h, job);
	}
	if (!done)
		return NULL;
	h->job = NULL;
	return job;
}

void helper_wait(struct helper *h)
{
	if (!h->threaded || h->job == NULL)
		return;
	pthread_mutex_lock(&h->mutex);
	while (!h->done)
		pthread_cond_wait(&h->changed, &h->mutex);
	pthread_mutex_unlock(&h->mutex);
}
