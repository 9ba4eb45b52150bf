#include "journal/rebuilder.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/mem.h"

/* Longest error text, in bytes. */
#define ERROR_MAX 4096
/* Nice value of the thread: the program and its calls come first. */
#define REBUILDER_NICE 10

struct rebuilder {
	const struct rebuild_options *options;
	struct base_options base;
	struct journal_io io; /* the system's, which can be cancelled */
	struct buf extra;
	struct buf error; /* of the thread until it is over */
	pthread_t thread;
	int fd;
	int result; /* of the thread until it is over */
	atomic_bool is_over;
	atomic_bool is_cancelled;
	atomic_uint_fast64_t bytes;
};

static ssize_t write_unless_cancelled(void *arg, int fd, const void *bytes, size_t len,
				      uint64_t offset)
{
	const struct rebuilder *r = arg;

	if (atomic_load_explicit(&r->is_cancelled, memory_order_relaxed))
		return -ECANCELED;
	return journal_io_system.write(journal_io_system.arg, fd, bytes, len, offset);
}

static ssize_t read_unless_cancelled(void *arg, int fd, void *to, size_t len, uint64_t offset)
{
	const struct rebuilder *r = arg;

	if (atomic_load_explicit(&r->is_cancelled, memory_order_relaxed))
		return -ECANCELED;
	return journal_io_system.read(journal_io_system.arg, fd, to, len, offset);
}

static void note_progress(void *arg, uint64_t bytes)
{
	struct rebuilder *r = arg;

	atomic_store_explicit(&r->bytes, bytes, memory_order_relaxed);
}

static void *run(void *arg)
{
	struct rebuilder *r = arg;
	uint64_t bytes, one = 1;

	pthread_setname_np(pthread_self(), "qless-rewrite");
	/* On Linux this is about the thread, not the process. */
	setpriority(PRIO_PROCESS, 0, REBUILDER_NICE);
	r->result = rebuild_base(r->options, &r->base, buf_str(&r->extra), &bytes, &r->error);
	note_progress(r, bytes);
	atomic_store(&r->is_over, true);
	if (write(r->fd, &one, sizeof one) < 0)
		return NULL; /* cannot happen: the counter is 0 */
	return NULL;
}

/* Other threads handle signals. Returns 0 or an error number. */
static int start_thread(struct rebuilder *r)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&r->thread, NULL, run, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

static void free_memory(struct rebuilder *r)
{
	if (r->fd >= 0)
		close(r->fd);
	buf_done(&r->extra);
	buf_done(&r->error);
	free(r);
}

struct rebuilder *rebuilder_start(const struct rebuild_options *options,
				  const struct base_options *base, struct qless_str extra)
{
	struct rebuilder *r = mem_zalloc(sizeof *r);
	int error;

	/* The calls that are not replaced ignore their argument. */
	assert(journal_io_system.arg == NULL);
	r->options = options;
	r->io = journal_io_system;
	r->io.arg = r;
	r->io.write = write_unless_cancelled;
	r->io.read = read_unless_cancelled;
	r->base = *base;
	r->base.io = &r->io;
	r->base.progress = note_progress;
	r->base.progress_arg = r;
	buf_init(&r->extra, BUF_NO_MAX);
	buf_append_str(&r->extra, extra);
	buf_init(&r->error, ERROR_MAX);
	r->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	error = r->fd < 0 ? errno : start_thread(r);
	if (error == 0)
		return r;
	free_memory(r);
	errno = error;
	return NULL;
}

void rebuilder_free(struct rebuilder *r)
{
	if (r == NULL)
		return;
	rebuilder_cancel(r);
	pthread_join(r->thread, NULL);
	free_memory(r);
}

int rebuilder_fd(const struct rebuilder *r)
{
	return r->fd;
}

uint64_t rebuilder_bytes(const struct rebuilder *r)
{
	return atomic_load_explicit(&r->bytes, memory_order_relaxed);
}

bool rebuilder_is_over(const struct rebuilder *r, int *ret_result)
{
	if (!atomic_load(&r->is_over))
		return false;
	*ret_result = r->result;
	return true;
}

const char *rebuilder_error(struct rebuilder *r)
{
	return buf_cstr(&r->error);
}

void rebuilder_cancel(struct rebuilder *r)
{
	atomic_store_explicit(&r->is_cancelled, true, memory_order_relaxed);
}
