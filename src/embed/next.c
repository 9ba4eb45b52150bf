/*
 * qless_store_next(): a worker waits for its next job, whatever happens to its link meanwhile.
 */
#include <poll.h>
#include <stdlib.h>

#include "embed/failure.h"
#include "embed/keeper.h"
#include "embed/members.h"
#include "embed/stopper.h"
#include "embed/worker.h"
#include "sys/clock.h"
#include "util/mem.h"
#include "util/num.h"
#include "util/str.h"

/* Largest number of queues of a call. */
#define QUEUES_MAX 1000
/* Words of BPOP besides the queues. */
#define WORDS_MAX 6
/* Seconds for which a server may be silent after BPOP should have ended. */
#define LATE_S 15

/* One call. */
struct next {
	struct qless_store_worker *worker;
	const struct qless_str *queues;
	size_t queue_count;
	bool waits;
	bool round_robin;
	struct link_limits limits; /* its time, and its stopper */
};

/* Results of a step of the call that are no errors. */
enum step {
	STEP_JOB = 1,
	STEP_NOTHING = 0, /* the time is over, or there is no job */
	STEP_AGAIN = 2,
};

/* ---- jobs ---- */

/* The reply to BPOP is an array of JSON with one job, or null. */
static int take_reply(const struct next *next, struct client_reply *reply,
		      struct qless_store_job **ret_job, struct qless_store_error *error)
{
	struct qless_str json = client_reply_str(reply);
	int rc = STEP_NOTHING;

	if (client_reply_is_error(reply)) {
		rc = failure_refused(error, reply);
	} else if (json.len > 2) {
		*ret_job = job_parse(str_make(json.ptr + 1, json.len - 2));
		rc = *ret_job != NULL ? STEP_JOB
				      : failure_set(error, QLESS_STORE_ELOST,
						    "the reply to BPOP is not JSON of a job");
	}
	client_reply_done(reply);
	if (rc == STEP_JOB)
		worker_add_job(next->worker, *ret_job);
	return rc;
}

/* A job that the worker was given, but does not know, may have ended since. */
static int take_left(const struct next *next, struct qless_store_job **ret_job,
		     struct qless_store_error *error)
{
	struct qless_store_worker *worker = next->worker;
	struct qless_store_job *job;
	char *jid = worker->left[--worker->left_count];
	int rc = qless_store_get(worker->store, str_from(jid), &job, error);

	if (rc < 0) {
		worker->left_count++;
		return rc;
	}
	free(jid);
	if (rc == 0)
		return STEP_AGAIN;
	if (!str_equal(buf_str(&job->worker_name), str_from(worker->name)) ||
	    !str_equal(buf_str(&job->state), STR("running"))) {
		job_destroy(job);
		return STEP_AGAIN;
	}
	worker_add_job(worker, job);
	*ret_job = job;
	return STEP_JOB;
}

/* ---- waiting ---- */

static void send_pop(const struct next *next)
{
	struct qless_str argv[WORDS_MAX + QUEUES_MAX];
	char timeout[NUM_MAX], count[NUM_MAX];
	double left_s = 0;
	size_t argc = 0;

	if (next->limits.deadline_us != INT64_MAX) {
		left_s = (double)(next->limits.deadline_us - clock_mono_us()) / 1e6;
		/* 0 would mean for ever. */
		if (left_s < 0.001)
			left_s = 0.001;
	}
	argv[argc++] = next->waits ? STR("BPOP") : STR("MPOP");
	if (next->waits)
		argv[argc++] = str_make(timeout, num_format_g17(timeout, left_s));
	argv[argc++] = str_from(next->worker->name);
	argv[argc++] = str_make(count, num_format_u64(count, next->queue_count));
	for (size_t i = 0; i < next->queue_count; i++)
		argv[argc++] = next->queues[i];
	if (next->round_robin) {
		argv[argc++] = STR("ORDER");
		argv[argc++] = STR("roundrobin");
	}
	link_send(next->worker->link, argv, argc);
}

/* The stopper was used. A job that was handed out at that moment comes back as the reply. Otherwise
 * the worker finds it when it attaches again. */
static int stop(const struct next *next, struct qless_store_job **ret_job,
		struct qless_store_error *error)
{
	struct qless_store_worker *worker = next->worker;
	struct client_reply reply;
	int rc;

	if (store_end_wait(worker->store, worker->link, &reply) != LINK_ANSWERED) {
		worker_drop_link(worker);
		return store_fail(worker->store, NULL, LINK_STOPPED, error);
	}
	rc = take_reply(next, &reply, ret_job, error);
	return rc != STEP_NOTHING ? rc : store_fail(worker->store, NULL, LINK_STOPPED, error);
}

static int pop(const struct next *next, struct qless_store_job **ret_job,
	       struct qless_store_error *error)
{
	struct qless_store_worker *worker = next->worker;
	struct link_limits limits = next->limits;
	struct client_reply reply;

	/* The server ends the wait. */
	if (limits.deadline_us != INT64_MAX)
		limits.deadline_us += clock_from_seconds(LATE_S);
	send_pop(next);
	switch (link_receive(worker->link, &limits, &reply)) {
	case LINK_ANSWERED:
		return take_reply(next, &reply, ret_job, error);
	case LINK_STOPPED:
		if (clock_mono_us() < limits.deadline_us)
			return stop(next, ret_job, error);
		break;
	case LINK_LOST:
	case LINK_UNAVAILABLE:
	case LINK_REFUSED:
		break;
	}
	worker_drop_link(worker);
	return STEP_AGAIN;
}

static bool is_stopped(const struct next *next)
{
	return next->limits.stopper != NULL && qless_stopper_is_stopped(next->limits.stopper);
}

/* Waits before the next attempt to attach. Returns false if the call was stopped. */
static bool wait_for_retry(const struct next *next)
{
	int64_t left_us = next->limits.deadline_us - clock_mono_us();
	int ms = (int)backoff_next_ms(&next->worker->backoff);
	struct pollfd stopper = { .fd = stopper_fd(next->limits.stopper), .events = POLLIN };

	if (left_us / 1000 < ms)
		ms = left_us > 0 ? (int)(left_us / 1000) + 1 : 0;
	return poll(&stopper, 1, ms) == 0;
}

static int attach(const struct next *next, struct qless_store_error *error)
{
	int rc = worker_attach(next->worker, &next->limits, error);

	if (rc == 0)
		return STEP_AGAIN;
	if (rc == QLESS_STORE_ESTOPPED && !is_stopped(next))
		return failure_set(error, QLESS_STORE_EUNAVAILABLE,
				   "the server has not answered in the time of the call");
	if (rc != QLESS_STORE_EUNAVAILABLE || clock_mono_us() >= next->limits.deadline_us)
		return rc;
	return wait_for_retry(next) ? STEP_AGAIN
				    : store_fail(next->worker->store, NULL, LINK_STOPPED, error);
}

static int step(const struct next *next, struct qless_store_job **ret_job,
		struct qless_store_error *error)
{
	struct qless_store_worker *worker = next->worker;

	if (is_stopped(next))
		return store_fail(worker->store, NULL, LINK_STOPPED, error);
	if (worker->link == NULL)
		return attach(next, error);
	if (worker->left_count > 0)
		return take_left(next, ret_job, error);
	return pop(next, ret_job, error);
}

static int run(const struct next *next, struct qless_store_job **ret_job,
	       struct qless_store_error *error)
{
	int rc;

	do {
		rc = step(next, ret_job, error);
	} while (rc == STEP_AGAIN);
	return rc;
}

int qless_store_next(struct qless_store_worker *worker, const struct qless_str *queues,
		     size_t queue_count, const struct qless_next_options *options,
		     struct qless_store_job **ret_job, struct qless_store_error *error)
{
	struct next next = { .worker = worker, .queues = queues, .queue_count = queue_count };
	struct qless_next_options own;
	int rc = MEMBERS_READ(&own, options, error);

	if (rc == 0)
		rc = store_check_owner(worker->store, error);
	if (rc < 0)
		return rc;
	if (queue_count == 0 || queue_count > QUEUES_MAX)
		return failure_set(error, QLESS_STORE_EARGUMENT,
				   "the number of queues must be from 1 to %d: %zu", QUEUES_MAX,
				   queue_count);
	next.waits = own.timeout_s >= 0;
	next.round_robin = own.round_robin;
	next.limits = link_limits_make(own.timeout_s, own.stopper);
	if (!worker_claim_for_next(worker))
		return failure_set(
			error, QLESS_STORE_EARGUMENT,
			"another thread waits for a job of this worker: each thread needs "
			"a worker of its own");
	rc = run(&next, ret_job, error);
	worker_let_go(worker);
	return rc >= 0 ? failure_none(error, rc) : rc;
}
