#include "embed/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "embed/failure.h"
#include "embed/keeper.h"
#include "embed/members.h"
#include "sys/clock.h"
#include "sys/entropy.h"
#include "util/buf.h"
#include "util/json_read.h"
#include "util/mem.h"
#include "util/num.h"
#include "util/str.h"

/* Seconds that a request may take to attach a worker. */
#define ATTACH_S 10
/* The grace period of a worker that names none, in seconds. */
#define GRACE_S 5
/* Bytes of the name of a machine. */
#define NODE_MAX 256
/* Random bytes in a name that the library makes. */
#define NAME_RANDOM_BYTES 4

/* ---- claims ---- */

static bool try_to_claim(struct qless_store_worker *worker, enum worker_user user)
{
	bool is_free;

	pthread_mutex_lock(&worker->mutex);
	is_free = worker->user == WORKER_FREE;
	if (is_free)
		worker->user = user;
	pthread_mutex_unlock(&worker->mutex);
	return is_free;
}

bool worker_claim_for_keeper(struct qless_store_worker *worker)
{
	bool is_free;

	pthread_mutex_lock(&worker->mutex);
	is_free = worker->user == WORKER_FREE;
	if (is_free)
		worker->user = WORKER_KEEPER;
	worker->is_left_alone = !is_free;
	pthread_mutex_unlock(&worker->mutex);
	return is_free;
}

static bool claim(struct qless_store_worker *worker, enum worker_user user)
{
	bool is_free;

	if (try_to_claim(worker, user))
		return true;
	keeper_wake(worker->store);
	pthread_mutex_lock(&worker->mutex);
	while (worker->user == WORKER_KEEPER)
		pthread_cond_wait(&worker->freed, &worker->mutex);
	is_free = worker->user == WORKER_FREE;
	if (is_free)
		worker->user = user;
	pthread_mutex_unlock(&worker->mutex);
	return is_free;
}

bool worker_claim_for_next(struct qless_store_worker *worker)
{
	return claim(worker, WORKER_NEXT);
}

void worker_let_go(struct qless_store_worker *worker)
{
	bool wakes;

	pthread_mutex_lock(&worker->mutex);
	worker->user = WORKER_FREE;
	pthread_cond_broadcast(&worker->freed);
	wakes = worker->is_left_alone;
	worker->is_left_alone = false;
	pthread_mutex_unlock(&worker->mutex);
	if (wakes)
		keeper_wake(worker->store);
}

int worker_fd(struct qless_store_worker *worker, bool *ret_left_alone)
{
	int fd;

	pthread_mutex_lock(&worker->mutex);
	*ret_left_alone = worker->is_left_alone;
	fd = worker->is_left_alone ? -1 : worker->fd;
	pthread_mutex_unlock(&worker->mutex);
	return fd;
}

static void set_link(struct qless_store_worker *worker, struct link *link)
{
	worker->link = link;
	pthread_mutex_lock(&worker->mutex);
	worker->fd = link != NULL ? connection_fd(link->connection) : -1;
	pthread_mutex_unlock(&worker->mutex);
	keeper_wake(worker->store);
}

void worker_drop_link(struct qless_store_worker *worker)
{
	struct link *link = worker->link;

	set_link(worker, NULL);
	link_free(link);
}

/* ---- the jobs that it has ---- */

static struct qless_store_job *find_job(struct qless_store_worker *worker, struct qless_str jid)
{
	struct qless_store_job *job;

	TAILQ_FOREACH(job, &worker->jobs, link) {
		if (str_equal(buf_str(&job->jid), jid))
			return job;
	}
	return NULL;
}

void worker_add_job(struct qless_store_worker *worker, struct qless_store_job *job)
{
	job->worker = worker;
	pthread_mutex_lock(&worker->mutex);
	TAILQ_INSERT_TAIL(&worker->jobs, job, link);
	pthread_mutex_unlock(&worker->mutex);
}

static void mark_lost(struct qless_store_job *job)
{
	atomic_store_explicit(&job->is_lost, true, memory_order_relaxed);
}

/* ["worker", name, event, jid] */
static void take_push(void *arg, const struct client_reply *push)
{
	struct qless_store_worker *worker = arg;
	struct qless_store_job *job;
	struct qless_str event;

	if (push->count != 4 || !str_equal(client_reply_str(&push->elements[0]), STR("worker")))
		return;
	event = client_reply_str(&push->elements[2]);
	if (!str_equal(event, STR("lock_lost")) && !str_equal(event, STR("canceled")))
		return;
	pthread_mutex_lock(&worker->mutex);
	job = find_job(worker, client_reply_str(&push->elements[3]));
	if (job != NULL)
		mark_lost(job);
	pthread_mutex_unlock(&worker->mutex);
}

bool qless_store_job_is_lost(const struct qless_store_job *job)
{
	struct qless_store_worker *worker = job->worker;

	if (worker == NULL)
		return false;
	/* Pushes of the server wait in the socket, unless another call reads them. */
	if (try_to_claim(worker, WORKER_KEEPER)) {
		if (worker->link != NULL)
			link_refresh(worker->link);
		worker_let_go(worker);
	}
	return atomic_load_explicit(&job->is_lost, memory_order_relaxed);
}

void qless_store_job_free(struct qless_store_job *job)
{
	struct qless_store_worker *worker;

	if (job == NULL)
		return;
	worker = job->worker;
	if (worker != NULL) {
		pthread_mutex_lock(&worker->mutex);
		job->is_forgotten = true;
		if (!job->has_ended)
			job = NULL;
		pthread_mutex_unlock(&worker->mutex);
	}
	if (job != NULL)
		job_destroy(job);
}

/* ---- attaching ---- */

static void forget_left(struct qless_store_worker *worker)
{
	while (worker->left_count > 0)
		free(worker->left[--worker->left_count]);
}

static void add_left(struct qless_store_worker *worker, struct qless_str jid)
{
	worker->left = mem_realloc_array(worker->left, worker->left_count + 1, sizeof(char *));
	worker->left[worker->left_count++] = mem_dup(jid.ptr, jid.len);
}

/* Reads the next jid of a list into a buffer. Returns false at the end. */
static bool next_jid(struct json_items *names, struct buf *ret_jid)
{
	struct qless_str none, value;

	buf_clear(ret_jid);
	return json_read_next(names, &none, &value) &&
	       json_read_string(value, JSON_ESCAPES_BYTES, ret_jid);
}

static bool has_name(struct json_items names, struct qless_str name, struct buf *room)
{
	while (next_jid(&names, room)) {
		if (str_equal(buf_str(room), name))
			return true;
	}
	return false;
}

/* `names` are the jobs that the worker has. */
static void compare_jobs(struct qless_store_worker *worker, struct json_items names)
{
	struct buf jid = BUF_INIT(BUF_NO_MAX);
	struct qless_store_job *job;

	forget_left(worker);
	pthread_mutex_lock(&worker->mutex);
	TAILQ_FOREACH(job, &worker->jobs, link) {
		if (!has_name(names, buf_str(&job->jid), &jid))
			mark_lost(job);
	}
	while (worker->resumes && next_jid(&names, &jid)) {
		if (find_job(worker, buf_str(&jid)) == NULL)
			add_left(worker, buf_str(&jid));
	}
	pthread_mutex_unlock(&worker->mutex);
	/* From now on the worker knows which jobs it was given. */
	worker->resumes = true;
	buf_done(&jid);
}

static void read_jobs(struct qless_store_worker *worker, const struct client_reply *reply)
{
	struct json_items names = { .at = "" };
	struct qless_str object, jobs;

	names.end = names.at;
	if (json_read_check(client_reply_str(reply), &object) &&
	    json_read_find(object, "jobs", &jobs))
		json_read_open(jobs, &names);
	compare_jobs(worker, names);
}

/* Runs a command of the worker over its link, which must answer. On success the caller frees the
 * reply. */
static int ask(struct qless_store_worker *worker, struct link *link, const struct qless_str *argv,
	       size_t argc, const struct link_limits *limits, struct client_reply *ret_reply,
	       struct qless_store_error *error)
{
	enum link_result result = link_call(link, argv, argc, limits, ret_reply);
	int rc;

	/* It does no harm to attach twice. */
	if (result == LINK_LOST)
		result = LINK_UNAVAILABLE;
	if (result != LINK_ANSWERED)
		return store_fail(worker->store, link, result, error);
	if (!client_reply_is_error(ret_reply))
		return 0;
	rc = failure_refused(error, ret_reply);
	client_reply_done(ret_reply);
	return rc;
}

/* Only the login can be stopped. Otherwise the request of a link that was given up could reach the
 * server after that of the next one, and the worker would end with the former. */
static int wait_for_login(struct qless_store_worker *worker, struct link *link,
			  const struct link_limits *limits, struct qless_store_error *error)
{
	enum link_result result = link_wait_for_login(link, limits);

	return result == LINK_ANSWERED ? 0 : store_fail(worker->store, link, result, error);
}

static int attach_link(struct qless_store_worker *worker, struct link *link,
		       struct qless_store_error *error)
{
	const struct link_limits limits = link_limits_make(ATTACH_S, NULL);
	char grace[NUM_MAX], pid[NUM_MAX];
	struct qless_str name = str_from(worker->name);
	const struct qless_str attach[] = {
		STR_INIT("WORKER.ATTACH"), name,
		STR_INIT("GRACE"),	   str_make(grace, num_format_g17(grace, worker->grace_s)),
		STR_INIT("NODE"),	   str_from(worker->node),
		STR_INIT("PID"),	   str_make(pid, num_format_i64(pid, getpid())),
	};
	const struct qless_str workers[] = { STR_INIT("WORKERS"), name };
	struct client_reply reply;
	int rc = ask(worker, link, attach, 8, &limits, &reply, error);

	if (rc < 0)
		return rc;
	client_reply_done(&reply);
	rc = ask(worker, link, workers, 2, &limits, &reply, error);
	if (rc < 0)
		return rc;
	read_jobs(worker, &reply);
	client_reply_done(&reply);
	return 0;
}

int worker_attach(struct qless_store_worker *worker, const struct link_limits *limits,
		  struct qless_store_error *error)
{
	struct link_limits own = link_limits_make(ATTACH_S, limits->stopper);
	struct link *link = store_make_link(worker->store);
	int rc;

	if (link == NULL)
		return store_fail(worker->store, NULL, LINK_UNAVAILABLE, error);
	if (limits->deadline_us < own.deadline_us)
		own.deadline_us = limits->deadline_us;
	link->on_push = take_push;
	link->push_arg = worker;
	rc = wait_for_login(worker, link, &own, error);
	if (rc == 0)
		rc = attach_link(worker, link, error);
	if (rc < 0) {
		link_free(link);
		return rc;
	}
	backoff_reset(&worker->backoff);
	set_link(worker, link);
	return 0;
}

/* ---- birth and death ---- */

static char *make_name(const char *node)
{
	char name[NODE_MAX + 64], random[2 * NAME_RANDOM_BYTES + 1];
	int len;

	entropy_hex(random, NAME_RANDOM_BYTES);
	len = snprintf(name, sizeof name, "%s-%ld-%s", node, (long)getpid(), random);
	return mem_dup(name, (size_t)len);
}

static char *choose_node(struct qless_str node)
{
	char host[NODE_MAX] = "";

	if (node.len > 0)
		return mem_dup(node.ptr, node.len);
	if (gethostname(host, sizeof host - 1) < 0 || host[0] == '\0')
		strcpy(host, "unknown");
	return mem_dup(host, strlen(host));
}

static void free_worker(struct qless_store_worker *worker)
{
	struct qless_store_job *job;

	while ((job = TAILQ_FIRST(&worker->jobs)) != NULL) {
		TAILQ_REMOVE(&worker->jobs, job, link);
		job_destroy(job);
	}
	forget_left(worker);
	free(worker->left);
	free(worker->name);
	free(worker->node);
	pthread_cond_destroy(&worker->freed);
	pthread_mutex_destroy(&worker->mutex);
	free(worker);
}

int qless_store_worker_new(struct qless_store *store,
			   const struct qless_store_worker_options *options,
			   struct qless_store_worker **ret_worker, struct qless_store_error *error)
{
	struct qless_store_worker_options own;
	struct qless_store_worker *worker;
	int rc = MEMBERS_READ(&own, options, error);

	if (rc == 0)
		rc = store_check_owner(store, error);
	if (rc < 0)
		return rc;
	worker = mem_zalloc(sizeof *worker);
	worker->store = store;
	worker->node = choose_node(own.node);
	worker->name =
		own.name.len > 0 ? mem_dup(own.name.ptr, own.name.len) : make_name(worker->node);
	worker->grace_s = own.grace_s > 0 ? own.grace_s : GRACE_S;
	worker->resumes = own.resumes;
	worker->backoff = (struct backoff)BACKOFF_INIT;
	worker->user = WORKER_NEXT;
	worker->fd = -1;
	TAILQ_INIT(&worker->jobs);
	pthread_mutex_init(&worker->mutex, NULL);
	pthread_cond_init(&worker->freed, NULL);
	rc = worker_attach(worker, &LINK_NO_LIMITS, error);
	if (rc == 0)
		rc = keeper_add(store, worker, error);
	if (rc < 0) {
		link_free(worker->link);
		free_worker(worker);
		return rc;
	}
	worker_let_go(worker);
	*ret_worker = worker;
	return failure_none(error, 0);
}

struct qless_str qless_store_worker_name(const struct qless_store_worker *worker)
{
	return str_from(worker->name);
}

/* Releases the jobs that have not ended, and detaches the worker. */
static int leave(struct qless_store_worker *worker, struct qless_store_error *error)
{
	const struct link_limits limits = link_limits_make(ATTACH_S, NULL);
	const struct qless_str release[] = { STR_INIT("WORKER.RELEASE"), str_from(worker->name) };
	const struct qless_str detach[] = { STR_INIT("WORKER.DETACH"), str_from(worker->name) };
	bool has_jobs = !TAILQ_EMPTY(&worker->jobs) || worker->left_count > 0;
	struct client_reply reply;
	int rc = 0;

	if (has_jobs) {
		rc = ask(worker, worker->link, release, 2, &limits, &reply, error);
		if (rc < 0)
			return rc;
		client_reply_done(&reply);
	}
	rc = ask(worker, worker->link, detach, 2, &limits, &reply, error);
	if (rc == 0)
		client_reply_done(&reply);
	return rc;
}

int qless_store_worker_free(struct qless_store_worker *worker, struct qless_store_error *error)
{
	int rc;

	if (worker == NULL)
		return failure_none(error, 0);
	rc = store_check_owner(worker->store, error);
	if (rc < 0)
		return rc;
	if (!claim(worker, WORKER_ENDING))
		return failure_set(error, QLESS_STORE_EARGUMENT,
				   "another thread waits for a job of this worker: stop that call "
				   "before");
	keeper_remove(worker->store, worker);
	if (worker->link == NULL)
		rc = worker_attach(worker, &LINK_NO_LIMITS, error);
	if (rc == 0)
		rc = leave(worker, error);
	link_free(worker->link);
	free_worker(worker);
	return rc == 0 ? failure_none(error, 0) : rc;
}
