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
/* Jobs that a part of a pop of one class looks at to prepare it. That takes a fifth of a
 * millisecond or less. */
#define PREPARED_AT_ONCE 1000
/* Calls with more queues than this allocate memory for them. */
#define QUEUES_ON_STACK 32

struct multi_pop {
	struct qless_str worker;
	const struct qless_str *queues;
	size_t queue_count;
	int64_t count;
	bool in_turn;		       /* ORDER roundrobin */
	const struct qless_str *klass; /* NULL: any class */
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

static int check_klass(struct request *req, struct qless_str text)
{
	size_t max = qless_get_limits(req->engine)->max_name_bytes;

	if (text.len == 0)
		return request_fail(req, QLESS_EBADARG, "%s must not be empty", "CLASS");
	if (text.len <= max)
		return 0;
	return request_fail(req, QLESS_ELIMIT,
			    "The class is longer than max-name-length (%g bytes)", (double)max);
}

/* Each queue needs an index, and all of them at the same time. */
static int check_klass_queues(struct request *req, size_t count)
{
	size_t max = qless_get_limits(req->engine)->max_class_indexes;

	if (count <= max)
		return 0;
	return request_fail(req, QLESS_ELIMIT,
			    "A pop with CLASS names more queues than max-class-indexes (%g)",
			    (double)max);
}

static int parse_options(struct request *req, size_t first, struct multi_pop *ret)
{
	const struct qless_str *count = NULL, *order = NULL;
	const struct option_slot slots[] = {
		{ STR_INIT("COUNT"), &count, 1 },
		{ STR_INIT("ORDER"), &order, 1 },
		{ STR_INIT("CLASS"), &ret->klass, 1 },
	};
	int rc = options_read(req, first, req->nargs, slots, sizeof slots / sizeof *slots);

	if (rc == 0 && count != NULL)
		rc = parse_count(req, *count, &ret->count);
	if (rc == 0 && order != NULL)
		rc = parse_order(req, *order, &ret->in_turn);
	if (rc == 0 && ret->klass != NULL)
		rc = check_klass(req, *ret->klass);
	if (rc == 0 && ret->klass != NULL)
		rc = check_klass_queues(req, ret->queue_count);
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

static bool is_poppable(const struct request *req, const struct multi_pop *pop,
			struct qless_str queue)
{
	return pop->klass != NULL
		       ? qless_is_class_poppable(req->engine, req->now, queue, *pop->klass)
		       : qless_is_poppable(req->engine, req->now, queue);
}

static bool has_something(const struct haul *haul, struct qless_str queue)
{
	const struct command_env *env = haul->req->env;

	return is_poppable(haul->req, haul->pop, queue) &&
	       (env->is_next == NULL || env->is_next(env->arg, haul->req, queue, haul->pop->klass));
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
	op.pop.klass = haul->pop->klass;
	/* A pop of one class limits the bytes of its jobs itself. */
	if (op.pop.klass == NULL)
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

/* ---- pops of one class ---- */

/* Goes on to prepare the pops from all queues. Returns whether all are ready. */
static bool prepare(const struct request *req, const struct multi_pop *pop, bool can_wait)
{
	size_t left = PREPARED_AT_ONCE;
	bool is_ready = true;

	for (size_t i = 0; pop->klass != NULL && i < pop->queue_count && left > 0; i++) {
		if (!qless_prepare_class(req->engine, req->now, pop->queues[i], *pop->klass,
					 can_wait, &left))
			is_ready = false;
	}
	return is_ready && left > 0;
}

/* Whether a pop that found nothing may find something now: it moved jobs of other classes that were
 * due, and there are more. */
static bool may_find_more(const struct request *req, const struct multi_pop *pop, uint64_t changes)
{
	if (pop->klass == NULL || qless_changes(req->engine) == changes)
		return false;
	for (size_t i = 0; i < pop->queue_count; i++) {
		if (is_poppable(req, pop, pop->queues[i]))
			return true;
	}
	return false;
}

/* ---- commands ---- */

/* A pop that waits, or needs several parts because it is one of a class. */
struct pop_work {
	struct work work;
	bool waits;
	bool is_bpop;
	double timeout_s;
	bool has_begun;
	bool is_waiting;
};

static void answer_no_job(struct request *req, bool is_bpop)
{
	struct job_reply none;
	int rc;

	if (is_bpop) {
		reply_null_array(req->reply);
		return;
	}
	job_reply_begin(&none, req);
	rc = job_reply_end(&none);
	if (rc < 0)
		answer_error(req, rc);
}

/* Sleeps until one of the queues has woken. */
static void wait_for_jobs(struct pop_work *own, struct request *req, const struct multi_pop *pop)
{
	const struct command_env *env = req->env;

	if (!own->is_waiting)
		env->wait_for_jobs(env->arg, req, pop->worker, pop->queues, pop->queue_count,
				   pop->klass, own->timeout_s);
	own->is_waiting = true;
}

/* Returns whether the command goes on, because it found nothing and may find something later. */
static bool look_again(struct pop_work *own, struct request *req, const struct multi_pop *pop,
		       uint64_t changes)
{
	if (own->waits) {
		wait_for_jobs(own, req, pop);
		return true;
	}
	if (may_find_more(req, pop, changes))
		return true;
	answer_no_job(req, own->is_bpop);
	return false;
}

/* The state may have changed since the part before. Clients that sleep are not tried then. */
static bool may_change(const struct pop_work *own, struct request *req)
{
	const char *refusal = NULL;

	if (!own->is_waiting && req->env->log_refusal != NULL)
		refusal = req->env->log_refusal(req->env->arg, 0);
	if (refusal != NULL)
		reply_error_line(req->reply, str_from(refusal));
	return refusal == NULL;
}

/* Returns whether the pop may be tried. If not, the queues are awake. */
static bool is_ready(struct pop_work *own, struct request *req, const struct multi_pop *pop)
{
	if (prepare(req, pop, own->waits))
		return true;
	if (own->waits)
		wait_for_jobs(own, req, pop);
	return false;
}

/* The first part runs with the command. If it waits, each other one runs when a queue has woken. */
static bool go_on(struct work *work, struct request *req)
{
	struct pop_work *own = (struct pop_work *)work;
	const struct command_env *env = req->env;
	struct multi_pop pop;
	uint64_t changes;
	bool any = false;
	int rc;

	if (own->has_begun) {
		if (!may_change(own, req))
			return false;
		req->now = env->now(env->arg);
	}
	own->has_begun = true;
	rc = parse(req, own->is_bpop ? 1 : 0, &pop);
	if (rc == 0 && !is_ready(own, req, &pop))
		return true;
	changes = qless_changes(req->engine);
	if (rc == 0)
		rc = hand_out(req, &pop, &any);
	if (req->until > req->now && env->pass != NULL)
		env->pass(env->arg, req->until);
	if (rc < 0)
		answer_error(req, rc);
	if (rc < 0 || any)
		return false;
	return look_again(own, req, &pop, changes);
}

static void free_pop(struct work *work)
{
	free(work);
}

static const struct work_ops pop_ops = { go_on, free_pop };

static int begin(struct request *req, struct pop_work how)
{
	struct pop_work *own = mem_alloc(sizeof *own);

	*own = how;
	own->work.ops = &pop_ops;
	work_begin(req, &own->work);
	return 0;
}

int native_mpop(struct request *req)
{
	struct multi_pop pop;
	bool any;
	int rc = parse(req, 0, &pop);

	if (rc == 0 && pop.klass != NULL)
		return begin(req, (struct pop_work){ .is_bpop = false });
	if (rc == 0)
		rc = hand_out(req, &pop, &any);
	if (rc == 0 && !any)
		answer_no_job(req, false);
	return rc;
}

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
	struct multi_pop pop;
	double timeout_s;
	bool any, waits = req->parts_left == NULL && req->env->wait_for_jobs != NULL;
	int rc = request_timeout(req, req->args[0], &timeout_s);

	if (rc == 0)
		rc = parse(req, 1, &pop);
	if (rc < 0)
		return rc;
	if (waits || pop.klass != NULL)
		return begin(req, (struct pop_work){ .waits = waits,
						     .is_bpop = true,
						     .timeout_s = timeout_s });
	rc = hand_out(req, &pop, &any);
	if (rc == 0 && !any)
		answer_no_job(req, true);
	return rc;
}
