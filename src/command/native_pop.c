/*
 * MPOP and BPOP: pops from several queues, which may wait.
 *
 * The log has an ordinary pop for each queue that was asked and had something, all of a command as
 * a whole. A queue in which a pop would find nothing is left alone, so a command that finds no job
 * changes nothing.
 */
#include "command/classic_int.h"

#include <stdlib.h>

#include "command/job_reply.h"
#include "command/options.h"
#include "command/popping.h"
#include "command/rotation.h"
#include "command/strict.h"
#include "command/work.h"
#include "util/mem.h"
#include "util/num.h"

/* Seconds of the longest timeout: that of Redis, whose timeouts are milliseconds in 64 bits. */
#define TIMEOUT_MAX 9.2e15
/* Calls with more queues than this allocate memory for them. */
#define QUEUES_ON_STACK 32

struct multi_pop {
	struct qless_str worker;
	const struct qless_str *queues;
	size_t queue_count;
	int64_t count;
	bool in_turn; /* ORDER roundrobin */
};

/* ---- arguments ---- */

static int parse_count(struct request *req, struct qless_str text, int64_t *ret_count)
{
	if (num_parse_i64(text, ret_count) && *ret_count > 0)
		return request_check_jobs(req, (size_t)*ret_count);
	return request_fail(req, QLESS_EBADARG,
			    "COUNT must be a whole number above 0; found \"%S\"", text);
}

static int parse_order(struct request *req, struct qless_str text, bool *ret_in_turn)
{
	*ret_in_turn = str_equal_nocase(text, STR("roundrobin"));
	if (*ret_in_turn || str_equal_nocase(text, STR("ordered")))
		return 0;
	return request_fail(req, QLESS_EBADARG,
			    "ORDER must be \"ordered\" or \"roundrobin\"; found \"%S\"", text);
}

static int parse_options(struct request *req, size_t first, struct multi_pop *ret)
{
	const struct qless_str *count = NULL, *order = NULL;
	const struct option_slot slots[] = {
		{ STR_INIT("COUNT"), &count, 1 },
		{ STR_INIT("ORDER"), &order, 1 },
	};
	int rc = options_read(req, first, req->nargs, slots, sizeof slots / sizeof *slots);

	if (rc == 0 && count != NULL)
		rc = parse_count(req, *count, &ret->count);
	if (rc == 0 && order != NULL)
		rc = parse_order(req, *order, &ret->in_turn);
	return rc;
}

/* A pop checks the worker and the queue, too, but BPOP should fail before it waits. */
static int check_names(struct request *req, const struct multi_pop *pop)
{
	size_t max = qless_get_limits(req->engine)->max_name_bytes;
	struct operation op = { .kind = OPERATION_POP };
	int rc = 0;

	op.pop.worker = pop->worker;
	for (size_t i = 0; rc == 0 && i < pop->queue_count; i++) {
		op.pop.queue = pop->queues[i];
		rc = strict_pop(req, &op);
	}
	if (rc < 0 || pop->worker.len <= max)
		return rc;
	return request_fail(req, QLESS_ELIMIT,
			    "The worker is longer than max-name-length (%g bytes)", (double)max);
}

/* Reads the arguments from number `first` on: the worker, the queues and the options. */
static int parse(struct request *req, size_t first, struct multi_pop *ret)
{
	struct qless_str number = req->args[first + 1];
	size_t left = req->nargs - first - 2;
	int64_t count;
	int rc;

	*ret = (struct multi_pop){ .worker = req->args[first], .count = 1 };
	if (!num_parse_i64(number, &count) || count <= 0)
		return request_fail(req, QLESS_EBADARG,
				    "numqueues must be a whole number above 0; found \"%S\"",
				    number);
	if ((uint64_t)count > left)
		return request_fail(req, QLESS_EBADARG, "numqueues is %S, but %g arguments follow",
				    number, (double)left);
	ret->queues = req->args + first + 2;
	ret->queue_count = (size_t)count;
	rc = check_names(req, ret);
	return rc < 0 ? rc : parse_options(req, first + 2 + ret->queue_count, ret);
}

/* ---- popping ---- */

/* The jobs that one command hands out. */
struct haul {
	struct request *req;
	const struct multi_pop *pop;
	struct job_reply reply;
	size_t room;  /* bytes of jobs that a reply may have */
	size_t slots; /* of limits that the call may still take */
	int64_t left;
	int rc;
};

static bool is_done(const struct haul *haul)
{
	return haul->rc < 0 || haul->left == 0 || job_reply_bytes(&haul->reply) > haul->room ||
	       (haul->left < haul->pop->count && popping_is_over(haul->req, haul->slots));
}

static bool has_something(const struct haul *haul, struct qless_str queue)
{
	const struct command_env *env = haul->req->env;

	return qless_is_poppable(haul->req->engine, haul->req->now, queue) &&
	       (env->is_next == NULL || env->is_next(env->arg, haul->req, queue));
}

/* Returns whether there were any jobs. */
static bool pop_from(struct haul *haul, struct qless_str queue, int64_t count)
{
	struct operation op = { .kind = OPERATION_POP };
	struct operation_outcome outcome;

	op.pop.queue = queue;
	op.pop.worker = haul->pop->worker;
	op.pop.count = popping_limit(haul->req, count, haul->slots);
	op.pop.may_stop = true;
	haul->rc = pop_limit(haul->req, &op, haul->room - job_reply_bytes(&haul->reply));
	if (haul->rc == 0)
		haul->rc = request_run(haul->req, &op, &outcome);
	if (haul->rc < 0)
		return false;
	json_job_list_forget(&haul->reply.list);
	for (size_t i = 0; i < outcome.jobs.count; i++)
		job_reply_add(&haul->reply, outcome.jobs.items[i]);
	haul->left -= (int64_t)outcome.jobs.count;
	popping_take(haul->req, &outcome.jobs, &haul->slots);
	return outcome.jobs.count != 0;
}

static void pop_ordered(struct haul *haul)
{
	for (size_t i = 0; i < haul->pop->queue_count && !is_done(haul); i++) {
		struct qless_str queue = haul->pop->queues[i];

		if (has_something(haul, queue))
			pop_from(haul, queue, haul->left);
	}
}

/* Takes a job from each queue in turn. A queue that had none is left out of later rounds, so the
 * work is linear in the queues and jobs together. Returns the queue of the last job, or `none`. */
static size_t pop_rounds(struct haul *haul, size_t first, size_t none)
{
	size_t on_stack[QUEUES_ON_STACK], *queues = on_stack;
	size_t count = haul->pop->queue_count, last = none, kept;

	if (count > QUEUES_ON_STACK)
		queues = mem_realloc_array(NULL, count, sizeof *queues);
	for (size_t i = 0; i < count; i++)
		queues[i] = (first + i) % count;
	for (; count != 0 && !is_done(haul); count = kept) {
		kept = 0;
		for (size_t i = 0; i < count && !is_done(haul); i++) {
			struct qless_str queue = haul->pop->queues[queues[i]];

			if (has_something(haul, queue) && pop_from(haul, queue, 1))
				last = queues[kept++] = queues[i];
		}
	}
	if (queues != on_stack)
		free(queues);
	return last;
}

/* Begins after the queue of the worker's last job. */
static void pop_in_turn(struct haul *haul)
{
	const struct multi_pop *pop = haul->pop;
	struct rotations *rotations = haul->req->env->rotations;
	size_t none = pop->queue_count, last;
	uint64_t key;

	if (rotations == NULL) {
		pop_rounds(haul, 0, none);
		return;
	}
	key = rotations_key(rotations, haul->req->database->index, pop->worker, pop->queues,
			    pop->queue_count);
	last = pop_rounds(haul, rotations_get(rotations, key) % pop->queue_count, none);
	if (last != none)
		rotations_set(rotations, key, (last + 1) % pop->queue_count);
}

/* Hands out jobs, which are few enough for the reply, so its limit does not apply. Without jobs,
 * writes no reply and sets *ret_any to false. */
static int hand_out(struct request *req, const struct multi_pop *pop, bool *ret_any)
{
	const struct command_env *env = req->env;
	bool is_group = env->begin_group != NULL && (pop->queue_count > 1 || pop->count > 1);
	struct haul haul = {
		.req = req, .pop = pop, .left = pop->count, .slots = popping_begin(req)
	};
	size_t max = req->reply->max;

	*ret_any = false;
	haul.rc = pop_find_room(req, &haul.room);
	if (haul.rc < 0)
		return haul.rc;
	req->reply->max = REPLY_NO_MAX;
	job_reply_begin(&haul.reply, req);
	if (is_group)
		env->begin_group(env->arg);
	popping_begin_looks(req);
	if (pop->in_turn)
		pop_in_turn(&haul);
	else
		pop_ordered(&haul);
	popping_end_looks(req);
	if (is_group)
		env->end_group(env->arg);
	*ret_any = haul.left != pop->count;
	/* Whatever failed later, the worker must learn of the jobs that it has. */
	if (*ret_any)
		haul.rc = job_reply_end(&haul.reply);
	req->reply->max = max;
	return haul.rc;
}

/* ---- commands ---- */

int native_mpop(struct request *req)
{
	struct job_reply none;
	struct multi_pop pop;
	bool any;
	int rc = parse(req, 0, &pop);

	if (rc == 0)
		rc = hand_out(req, &pop, &any);
	if (rc < 0 || any)
		return rc;
	job_reply_begin(&none, req);
	return job_reply_end(&none);
}

/* BPOP while it waits. */
struct wait_work {
	struct work work;
	double timeout_s;
	bool has_begun;
};

/* The first part runs with the command, and each other one when a queue has woken. */
static bool go_on(struct work *work, struct request *req)
{
	struct wait_work *wait = (struct wait_work *)work;
	const struct command_env *env = req->env;
	struct multi_pop pop;
	bool any = false;
	int rc;

	if (wait->has_begun)
		req->now = env->now(env->arg);
	rc = parse(req, 1, &pop);
	if (rc == 0)
		rc = hand_out(req, &pop, &any);
	if (req->until > req->now)
		env->pass(env->arg, req->until);
	if (rc < 0)
		answer_error(req, rc);
	if (rc < 0 || any)
		return false;
	if (!wait->has_begun)
		env->wait_for_jobs(env->arg, req, pop.worker, pop.queues, pop.queue_count,
				   wait->timeout_s);
	wait->has_begun = true;
	return true;
}

static void free_wait(struct work *work)
{
	free(work);
}

static const struct work_ops wait_ops = { go_on, free_wait };

int request_timeout(struct request *req, struct qless_str text, double *ret_seconds)
{
	/* A comparison with NaN is false. */
	if (num_parse_decimal(text, ret_seconds) && *ret_seconds >= 0 &&
	    *ret_seconds <= TIMEOUT_MAX)
		return 0;
	return request_fail(req, QLESS_EBADARG,
			    "timeout must be a number of seconds from 0 to %g; found \"%S\"",
			    TIMEOUT_MAX, text);
}

/* Within a transaction, BPOP does not wait. */
int native_bpop(struct request *req)
{
	struct wait_work *wait;
	struct multi_pop pop;
	double timeout_s;
	bool any;
	int rc = request_timeout(req, req->args[0], &timeout_s);

	if (rc == 0)
		rc = parse(req, 1, &pop);
	if (rc < 0)
		return rc;
	if (req->parts_left == NULL && req->env->wait_for_jobs != NULL) {
		wait = mem_zalloc(sizeof *wait);
		wait->work.ops = &wait_ops;
		wait->timeout_s = timeout_s;
		work_begin(req, &wait->work);
		return 0;
	}
	rc = hand_out(req, &pop, &any);
	if (rc == 0 && !any)
		reply_null_array(req->reply);
	return rc;
}
