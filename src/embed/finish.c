/*
 * The calls that a worker makes about a job that it has.
 *
 * Each names the number of the hand-out. So a call that is repeated because its answer was lost can
 * only find that the first attempt succeeded, never disturb a later worker.
 */
#include <string.h>

#include "embed/failure.h"
#include "embed/members.h"
#include "embed/worker.h"
#include "util/num.h"
#include "util/str.h"

/* Words of the longest command. */
#define WORDS_MAX 16

struct command {
	struct qless_str argv[WORDS_MAX];
	size_t argc;
	char lock[NUM_MAX];
};

static void add(struct command *c, struct qless_str word)
{
	c->argv[c->argc++] = word;
}

/* Begin a command about a job, whose arguments are the job and its worker first. */
static void begin(struct command *c, struct qless_str name, const struct qless_store_job *job)
{
	c->argc = 0;
	add(c, name);
	add(c, qless_store_job_jid(job));
	add(c, str_from(job->worker->name));
}

static void add_lock(struct command *c, const struct qless_store_job *job)
{
	size_t len = num_format_i64(c->lock, qless_store_job_lock(job));

	add(c, STR("LOCK"));
	add(c, str_make(c->lock, len));
}

static bool says_lost(const struct qless_store_error *error)
{
	static const char *const words[] = { "NOJOB", "NOTOWNER", "NOTRUNNING", "WRONGQUEUE" };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (strcmp(error->word, words[i]) == 0)
			return true;
	}
	return false;
}

static int check(struct qless_store_job *job, struct qless_store_error *error)
{
	struct qless_store_worker *worker = job->worker;
	bool has_ended;

	if (worker == NULL)
		return failure_set(error, QLESS_STORE_EARGUMENT,
				   "the job was read, and not given to a worker");
	pthread_mutex_lock(&worker->mutex);
	has_ended = job->has_ended;
	pthread_mutex_unlock(&worker->mutex);
	if (has_ended)
		return failure_set(error, QLESS_STORE_EARGUMENT,
				   "this worker has ended the job already");
	return store_check_owner(worker->store, error);
}

/* Runs a command about a job, with the number of its hand-out. *ret_integer is the reply if that is
 * one. */
static int run(struct qless_store_job *job, struct command *c, int64_t *ret_integer,
	       struct qless_store_error *error)
{
	struct qless_store_error own;
	struct client_reply reply;
	int rc;

	add_lock(c, job);
	rc = store_insist(job->worker->store, c->argv, c->argc, &reply, &own);
	if (rc == QLESS_STORE_EREFUSED && says_lost(&own))
		atomic_store_explicit(&job->is_lost, true, memory_order_relaxed);
	if (error != NULL)
		*error = own;
	if (rc < 0)
		return rc;
	*ret_integer = reply.integer;
	client_reply_done(&reply);
	return 0;
}

/* Runs a command after which the job is no longer the worker's. */
static int end_job(struct qless_store_job *job, struct command *c, int64_t *ret_integer,
		   struct qless_store_error *error)
{
	struct qless_store_worker *worker = job->worker;
	int rc = run(job, c, ret_integer, error);

	if (rc < 0)
		return rc;
	pthread_mutex_lock(&worker->mutex);
	TAILQ_REMOVE(&worker->jobs, job, link);
	job->has_ended = true;
	pthread_mutex_unlock(&worker->mutex);
	return 0;
}

int qless_store_heartbeat(struct qless_store_job *job, struct qless_str data,
			  struct qless_store_error *error)
{
	struct command c;
	int64_t ignored;
	int rc = check(job, error);

	if (rc < 0)
		return rc;
	begin(&c, STR("HEARTBEAT"), job);
	if (data.len > 0)
		add(&c, data);
	return run(job, &c, &ignored, error);
}

int qless_store_complete(struct qless_store_job *job, const struct qless_store_complete *options,
			 struct qless_store_error *error)
{
	struct qless_store_complete own;
	char delay[NUM_MAX];
	struct command c;
	int64_t ignored;
	int rc = MEMBERS_READ(&own, options, error);

	if (rc == 0)
		rc = check(job, error);
	if (rc < 0)
		return rc;
	begin(&c, STR("COMPLETE"), job);
	add(&c, qless_store_job_queue(job));
	if (own.data.len > 0)
		add(&c, own.data);
	if (own.result.len > 0) {
		add(&c, STR("result"));
		add(&c, own.result);
	}
	if (own.next.len > 0) {
		add(&c, STR("next"));
		add(&c, own.next);
		add(&c, STR("delay"));
		add(&c, str_make(delay, num_format_g17(delay, own.delay_s)));
	}
	return end_job(job, &c, &ignored, error);
}

int qless_store_fail(struct qless_store_job *job, struct qless_str group, struct qless_str message,
		     struct qless_str data, struct qless_store_error *error)
{
	struct command c;
	int64_t ignored;
	int rc = check(job, error);

	if (rc < 0)
		return rc;
	begin(&c, STR("FAIL"), job);
	add(&c, group);
	add(&c, message);
	if (data.len > 0)
		add(&c, data);
	return end_job(job, &c, &ignored, error);
}

int qless_store_retry(struct qless_store_job *job, double delay_s, struct qless_store_error *error)
{
	struct command c = { .argc = 0 };
	char delay[NUM_MAX];
	int64_t left;
	int rc = check(job, error);

	if (rc < 0)
		return rc;
	add(&c, STR("RETRY"));
	add(&c, qless_store_job_jid(job));
	add(&c, qless_store_job_queue(job));
	add(&c, str_from(job->worker->name));
	add(&c, delay_s < 0 ? STR("backoff") : str_make(delay, num_format_g17(delay, delay_s)));
	rc = end_job(job, &c, &left, error);
	if (rc < 0)
		return rc;
	/* -1: none was left, and the job has failed. */
	return left > 0 ? (int)left : 0;
}
