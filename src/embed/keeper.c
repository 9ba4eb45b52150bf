#include "embed/keeper.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embed/failure.h"
#include "embed/stopper.h"
#include "embed/worker.h"
#include "sys/clock.h"
#include "util/mem.h"

/* Milliseconds between two looks at a keeper without workers. */
#define POLL_MAX_MS 60000

TAILQ_HEAD(worker_list, qless_store_worker);

struct keeper {
	struct qless_store *store;
	struct qless_stopper *wake;
	pthread_t thread;
	pthread_mutex_t mutex; /* guards the fields below */
	struct worker_list workers;
	size_t count;
	bool is_ending;
};

/* ---- the thread ---- */

static void report(struct qless_store_worker *worker, const char *what, const char *why)
{
	char line[640];

	snprintf(line, sizeof line, "worker %s %s: %s", worker->name, what, why);
	store_tell(worker->store, QLESS_STORE_WARNING, line);
}

static void attach_again(struct keeper *k, struct qless_store_worker *worker)
{
	struct link_limits limits = { INT64_MAX, k->wake };
	struct qless_store_error error;
	int64_t now_us = clock_mono_us();

	if (now_us < worker->retry_us)
		return;
	if (worker_attach(worker, &limits, &error) == 0) {
		store_tell(worker->store, QLESS_STORE_NOTICE, "a worker is attached again");
		return;
	}
	/* Somebody else needs the worker, or another one has just been attached. */
	if (error.code == QLESS_STORE_ESTOPPED)
		return;
	worker->retry_us = now_us + (int64_t)backoff_next_ms(&worker->backoff) * 1000;
	report(worker, "cannot attach", error.text);
}

static bool has_ended(int fd)
{
	struct pollfd link = { .fd = fd, .events = POLLRDHUP };

	return poll(&link, 1, 0) != 0;
}

/* A worker whose link is alive is never claimed, so it does not notice the keeper. */
static void look_after(struct keeper *k, struct qless_store_worker *worker)
{
	bool is_left_alone;
	int fd = worker_fd(worker, &is_left_alone);

	if (is_left_alone || (fd >= 0 && !has_ended(fd)) || !worker_claim_for_keeper(worker))
		return;
	if (worker->link != NULL && !link_refresh(worker->link)) {
		report(worker, "is no longer attached", link_error(worker->link));
		worker_drop_link(worker);
	}
	if (worker->link == NULL)
		attach_again(k, worker);
	worker_let_go(worker);
}

/* Adds the sockets of all links, whose end alone counts. Returns the milliseconds until an attempt
 * to attach is due. */
static int collect(struct keeper *k, struct pollfd *fds)
{
	int64_t now_us = clock_mono_us(), wait_us = POLL_MAX_MS * INT64_C(1000);
	struct qless_store_worker *worker;
	nfds_t count = 0;

	fds[count++] = (struct pollfd){ .fd = stopper_fd(k->wake), .events = POLLIN };
	TAILQ_FOREACH(worker, &k->workers, by_keeper) {
		bool is_left_alone;
		int fd = worker_fd(worker, &is_left_alone);

		fds[count++] = (struct pollfd){ .fd = fd, .events = POLLRDHUP };
		if (fd < 0 && !is_left_alone && worker->retry_us - now_us < wait_us)
			wait_us = worker->retry_us > now_us ? worker->retry_us - now_us : 0;
	}
	return (int)(wait_us / 1000) + 1;
}

static void look_after_all(struct keeper *k)
{
	struct qless_store_worker *worker;

	TAILQ_FOREACH(worker, &k->workers, by_keeper) {
		if (k->is_ending)
			return;
		look_after(k, worker);
	}
}

static void *run(void *arg)
{
	struct keeper *k = arg;
	struct pollfd *fds = NULL;
	nfds_t count;
	int wait_ms;

	pthread_setname_np(pthread_self(), "qless-keeper");
	pthread_mutex_lock(&k->mutex);
	while (!k->is_ending) {
		fds = mem_realloc_array(fds, k->count + 1, sizeof *fds);
		wait_ms = collect(k, fds);
		count = k->count + 1;
		pthread_mutex_unlock(&k->mutex);
		poll(fds, count, wait_ms);
		pthread_mutex_lock(&k->mutex);
		if (fds[0].revents != 0)
			qless_stopper_reset(k->wake);
		look_after_all(k);
	}
	pthread_mutex_unlock(&k->mutex);
	free(fds);
	return NULL;
}

/* ---- its owner ---- */

static void free_memory(struct keeper *k)
{
	qless_stopper_free(k->wake);
	pthread_mutex_destroy(&k->mutex);
	free(k);
}

static struct keeper *keeper_new(struct qless_store *store)
{
	struct keeper *k = mem_zalloc(sizeof *k);
	sigset_t all, old;
	int rc;

	k->store = store;
	TAILQ_INIT(&k->workers);
	pthread_mutex_init(&k->mutex, NULL);
	k->wake = qless_stopper_new();
	if (k->wake == NULL) {
		free_memory(k);
		return NULL;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&k->thread, NULL, run, k);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0)
		return k;
	free_memory(k);
	return NULL;
}

static struct keeper *keeper_of(struct qless_store *store)
{
	struct keeper *k;

	pthread_mutex_lock(&store->mutex);
	k = store->keeper;
	pthread_mutex_unlock(&store->mutex);
	return k;
}

int keeper_add(struct qless_store *store, struct qless_store_worker *worker,
	       struct qless_store_error *error)
{
	struct keeper *k;

	pthread_mutex_lock(&store->mutex);
	if (store->keeper == NULL)
		store->keeper = keeper_new(store);
	k = store->keeper;
	pthread_mutex_unlock(&store->mutex);
	if (k == NULL)
		return failure_set(error, QLESS_STORE_EUNAVAILABLE,
				   "cannot start a thread for the workers");
	qless_stopper_stop(k->wake);
	pthread_mutex_lock(&k->mutex);
	TAILQ_INSERT_TAIL(&k->workers, worker, by_keeper);
	k->count++;
	pthread_mutex_unlock(&k->mutex);
	qless_stopper_stop(k->wake);
	return 0;
}

void keeper_remove(struct qless_store *store, struct qless_store_worker *worker)
{
	struct keeper *k = keeper_of(store);

	qless_stopper_stop(k->wake);
	pthread_mutex_lock(&k->mutex);
	TAILQ_REMOVE(&k->workers, worker, by_keeper);
	k->count--;
	pthread_mutex_unlock(&k->mutex);
}

void keeper_wake(struct qless_store *store)
{
	struct keeper *k = keeper_of(store);

	if (k != NULL)
		qless_stopper_stop(k->wake);
}

void keeper_free(struct keeper *k)
{
	if (k == NULL)
		return;
	pthread_mutex_lock(&k->mutex);
	k->is_ending = true;
	pthread_mutex_unlock(&k->mutex);
	qless_stopper_stop(k->wake);
	pthread_join(k->thread, NULL);
	free_memory(k);
}
