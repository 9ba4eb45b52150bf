/*
 * The work with a job: the worker renews the lock, posts the job, and tells the outcome.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "server/push_int.h"
#include "server/server_int.h"
#include "util/container.h"
#include "util/mem.h"

/* Seconds after which the outcome is told again, if nothing may change now. */
#define TELL_AGAIN_S 1
/* Seconds between two renewals, at least and at most. */
#define RENEWAL_MIN_S 0.02
#define RENEWAL_MAX_S 3600.0

static void enter(struct push_job *job, enum push_job_state state)
{
	switch (state) {
	case PUSH_JOB_TAKEN:
		assert(false);
		break;
	case PUSH_JOB_POSTED:
		assert(job->state == PUSH_JOB_TAKEN && job->post != NULL);
		break;
	case PUSH_JOB_TELLING:
		assert(job->state != PUSH_JOB_TELLING && job->post == NULL);
		break;
	case PUSH_JOB_DELAYED:
		assert(job->state == PUSH_JOB_TELLING);
		break;
	}
	job->state = state;
}

/* Frees the job once no submitted command refers to it any more. */
static void job_unref(struct push_job *job)
{
	if (!job->is_over || job->submitted != 0)
		return;
	TAILQ_REMOVE(&job->pusher->over, job, link);
	push_outcome_done(&job->outcome);
	taken_job_done(&job->taken);
	free(job);
}

void push_job_end(struct push_job *job)
{
	struct pusher *p = job->pusher;

	assert(!job->is_over);
	if (job->post != NULL)
		post_cancel(job->post);
	job->post = NULL;
	push_timer_stop(p->push, &job->renew);
	push_timer_stop(p->push, &job->again);
	TAILQ_REMOVE(&p->jobs, job, link);
	p->job_count--;
	job->is_over = true;
	TAILQ_INSERT_TAIL(&p->over, job, link);
	job_unref(job);
	pusher_change(p);
}

void push_jobs_free(struct pusher *p)
{
	struct push_job *job;

	while ((job = TAILQ_FIRST(&p->jobs)) != NULL)
		push_job_end(job);
	while ((job = TAILQ_FIRST(&p->over)) != NULL) {
		job->submitted = 0;
		job_unref(job);
	}
}

/* ---- replies ---- */

enum answer_kind {
	ANSWER_GOOD,
	ANSWER_NOT_NOW, /* nothing may change now */
	ANSWER_REFUSED,
};

static enum answer_kind judge_reply(enum submit_outcome outcome, const struct chain *reply)
{
	static const struct qless_str not_now[] = { STR_INIT("-MISCONF "), STR_INIT("-OOM "),
						    STR_INIT("-BUSY "), STR_INIT("-LOADING ") };
	struct iovec piece;
	struct qless_str line;

	if (outcome != SUBMIT_ANSWERED)
		return ANSWER_REFUSED;
	if (chain_peek(reply, &piece, 1, 64) != 1)
		return ANSWER_GOOD;
	line = str_make(piece.iov_base, piece.iov_len);
	for (size_t i = 0; i < sizeof not_now / sizeof *not_now; i++) {
		if (str_starts_with(line, not_now[i]))
			return ANSWER_NOT_NOW;
	}
	return line.len != 0 && line.ptr[0] == '-' ? ANSWER_REFUSED : ANSWER_GOOD;
}

static void submit(struct push_job *job, const struct qless_str *argv, int argc, submit_fn *fn)
{
	struct pusher *p = job->pusher;

	job->submitted++;
	server_submit(p->push->server, &p->teller, argv, argc, fn, job);
}

/* ---- locks ---- */

static void plan_renewal(struct push_job *job, double after_s)
{
	push_timer_set(job->pusher->push, &job->renew,
		       fmin(fmax(after_s, RENEWAL_MIN_S), RENEWAL_MAX_S));
}

/* A job whose lock is lost belongs to nobody, or to another worker: its request is given up. */
static void on_renewed(void *arg, enum submit_outcome outcome, const struct chain *reply)
{
	struct push_job *job = arg;
	enum answer_kind answer = judge_reply(outcome, reply);

	job->submitted--;
	if (job->is_over) {
		job_unref(job);
		return;
	}
	if (answer == ANSWER_GOOD) {
		plan_renewal(job, job->lease_s / 2);
	} else if (answer == ANSWER_NOT_NOW) {
		plan_renewal(job, TELL_AGAIN_S);
	} else if (job->state == PUSH_JOB_POSTED) {
		if (job->is_probe)
			circuit_cancel(&job->pusher->circuit);
		push_job_end(job);
	}
}

static void on_renewal(struct push_timer *timer)
{
	struct push_job *job = container_of(timer, struct push_job, renew);
	char lock[NUM_MAX];
	struct qless_str argv[] = { STR("HEARTBEAT"), job->taken.jid, pusher_worker(job->pusher),
				    STR("LOCK"),
				    str_make(lock, num_format_u64(lock, job->taken.lock)) };

	submit(job, argv, sizeof argv / sizeof *argv, on_renewed);
}

/* ---- outcomes ---- */

static void count(struct pusher *p, enum verdict_kind kind)
{
	switch (kind) {
	case PUSH_COMPLETE:
		p->status.completed++;
		break;
	case PUSH_RETRY:
		p->status.retried++;
		break;
	case PUSH_FAIL:
		p->status.failed++;
		break;
	}
}

static void on_told(void *arg, enum submit_outcome outcome, const struct chain *reply)
{
	struct push_job *job = arg;
	enum answer_kind answer = judge_reply(outcome, reply);

	job->submitted--;
	if (job->is_over) {
		job_unref(job);
		return;
	}
	if (answer == ANSWER_NOT_NOW) {
		enter(job, PUSH_JOB_DELAYED);
		push_timer_set(job->pusher->push, &job->again, TELL_AGAIN_S);
		return;
	}
	if (answer == ANSWER_GOOD)
		count(job->pusher, job->outcome.kind);
	push_job_end(job);
}

static void tell(struct push_job *job)
{
	struct push_command command;

	enter(job, PUSH_JOB_TELLING);
	push_command_init(&command, &job->taken, pusher_worker(job->pusher), &job->outcome);
	submit(job, command.argv, command.argc, on_told);
}

static void on_again(struct push_timer *timer)
{
	tell(container_of(timer, struct push_job, again));
}

/* ---- requests ---- */

static void note_answer(struct pusher *p, const struct post_answer *answer)
{
	p->status.last_status = answer->status;
	buf_clear(&p->last_error);
	if (answer->status == 0)
		buf_append_str(&p->last_error, str_from(answer->error));
}

/* An endpoint that asks for a pause with 429 or 503 gets no other job until then, either. */
static void note_health(struct pusher *p, const struct post_answer *answer,
			const struct push_bounds *bounds)
{
	struct circuit_rules rules = push_circuit_rules(p->push);
	double after = -1;

	if (!push_is_trouble(answer->status)) {
		circuit_succeed(&p->circuit);
		return;
	}
	circuit_fail(&p->circuit, push_now(), &rules);
	if ((answer->status == 429 || answer->status == 503) && answer->retry_after.len != 0)
		after = push_read_retry_after(answer->retry_after, bounds->now_s,
					      bounds->max_retry_after_s);
	if (after > 0)
		circuit_hold(&p->circuit, push_now(), after);
}

static void on_answer(void *arg, const struct post_answer *answer)
{
	struct push_job *job = arg;
	struct pusher *p = job->pusher;
	const struct config *config = p->push->server->config;
	struct push_bounds bounds = {
		.max_result = config->max_result_bytes < config->push_max_response_bytes
				      ? config->max_result_bytes
				      : config->push_max_response_bytes,
		.max_retry_after_s = (double)config->push_max_retry_after_s,
		.now_s = p->push->server->clocks.wall_us / 1000000,
	};

	job->post = NULL;
	note_answer(p, answer);
	note_health(p, answer, &bounds);
	push_outcome_decide(&job->outcome, &job->taken, answer, &bounds);
	tell(job);
	pusher_change(p);
}

static void post(struct push_job *job, const struct endpoint *endpoint, struct qless_str body)
{
	struct pusher *p = job->pusher;
	struct push_headers headers;

	push_headers_init(&headers, endpoint, &job->taken, body);
	job->post = push_client_post(p->push->client,
				     &(struct post_request){ .url = endpoint->url,
							     .body = body,
							     .timeout_s = endpoint->timeout_s,
							     .headers = headers.lines,
							     .header_count = headers.count },
				     on_answer, job);
	push_headers_done(&headers);
	p->status.sent++;
	p->status.last_sent = (double)p->push->server->clocks.wall_us / 1e6;
	enter(job, PUSH_JOB_POSTED);
}

static double lease_of(struct server *s, const struct taken_job *taken)
{
	return taken->expires - clock_seconds(steady_clock_peek_us(&s->clocks.native));
}

void pusher_begin_job(struct pusher *p, const struct taken_job *taken)
{
	struct push_job *job = mem_zalloc(sizeof *job);
	const struct endpoint *endpoint = pusher_endpoint(p);
	struct buf body = BUF_INIT(BUF_NO_MAX);

	job->pusher = p;
	job->taken = *taken;
	job->lease_s = lease_of(p->push->server, taken);
	push_timer_init(&job->renew, on_renewal);
	push_timer_init(&job->again, on_again);
	TAILQ_INSERT_TAIL(&p->jobs, job, link);
	p->job_count++;
	if (endpoint == NULL) {
		/* It was deleted while the hand-out became durable. The lock expires. */
		push_job_end(job);
		return;
	}
	plan_renewal(job, job->lease_s / 2);
	circuit_begin(&p->circuit);
	job->is_probe = p->circuit.is_probing;
	if (push_body_append(&job->taken, &body)) {
		post(job, endpoint, buf_str(&body));
	} else {
		if (job->is_probe)
			circuit_cancel(&p->circuit);
		push_outcome_refuse(&job->outcome);
		tell(job);
	}
	buf_done(&body);
}
