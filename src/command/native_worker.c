/*
 * WORKER.ATTACH, WORKER.DETACH, WORKER.HEARTBEAT and WORKER.RELEASE.
 *
 * The last two change all jobs of a worker. There may be many, so they work in parts, and each part
 * is a record of its own.
 */
#include "command/classic_int.h"

#include <float.h>
#include <stdlib.h>

#include "command/attach.h"
#include "command/options.h"
#include "command/work.h"
#include "engine/view.h"
#include "util/container.h"
#include "util/mem.h"
#include "util/minmax.h"
#include "util/num.h"
#include "util/utf8.h"

#define PID_MAX INT32_MAX

/* ---- arguments ---- */

/* Checks a name that the server keeps. */
static int check_name(struct request *req, const char *what, struct qless_str name)
{
	size_t max = qless_get_limits(req->engine)->max_name_bytes;

	if (name.len == 0)
		return request_fail(req, QLESS_EBADARG, "%s must not be empty", what);
	if (name.len > max)
		return request_fail(req, QLESS_ELIMIT,
				    "The %s is longer than max-name-length (%g bytes)", what,
				    (double)max);
	if (!utf8_is_valid(name))
		return request_fail(req, QLESS_EBADARG, "The %s is not UTF-8", what);
	return 0;
}

static int parse_grace(struct request *req, struct qless_str text, double *ret_seconds)
{
	double seconds;

	if (num_parse_decimal(text, &seconds) && seconds >= 0 && seconds <= ATTACH_GRACE_MAX) {
		*ret_seconds = seconds;
		return 0;
	}
	return request_fail(req, QLESS_EBADARG,
			    "GRACE must be a number of seconds from 0 to %g; found \"%S\"",
			    (double)ATTACH_GRACE_MAX, text);
}

static int parse_pid(struct request *req, struct qless_str text, int64_t *ret_pid)
{
	int64_t pid;

	if (num_parse_i64(text, &pid) && pid > 0 && pid <= PID_MAX) {
		*ret_pid = pid;
		return 0;
	}
	return request_fail(req, QLESS_EBADARG,
			    "PID must be a whole number from 1 to %g; found \"%S\"",
			    (double)PID_MAX, text);
}

static int parse_name(struct request *req, const char *what, struct qless_str text,
		      struct qless_str *ret_name)
{
	*ret_name = text;
	return check_name(req, what, text);
}

static int parse_options(struct request *req, size_t first, struct attachment *ret)
{
	const struct qless_str *grace = NULL, *node = NULL, *pid = NULL, *exclusive = NULL;
	const struct option_slot slots[] = {
		{ STR_INIT("GRACE"), &grace, 1 },
		{ STR_INIT("NODE"), &node, 1 },
		{ STR_INIT("PID"), &pid, 1 },
		{ STR_INIT("EXCLUSIVE"), &exclusive, 1 },
	};
	int rc = options_read(req, first, req->nargs, slots, sizeof slots / sizeof *slots);

	if (rc == 0 && grace != NULL)
		rc = parse_grace(req, *grace, &ret->grace_s);
	if (rc == 0 && node != NULL)
		rc = parse_name(req, "node", *node, &ret->node);
	if (rc == 0 && pid != NULL)
		rc = parse_pid(req, *pid, &ret->pid);
	if (rc == 0 && exclusive != NULL)
		rc = parse_name(req, "queue", *exclusive, &ret->exclusive);
	if (rc == 0 && exclusive != NULL && node == NULL)
		return request_fail(
			req, QLESS_EBADARG,
			"EXCLUSIVE allows one worker for each node, so it needs the option NODE");
	return rc;
}

/* ---- presence ---- */

static int need_presence(struct request *req)
{
	if (req->env->presence != NULL)
		return 0;
	return request_fail(req, QLESS_EBADARG, "This server attaches no workers");
}

int native_worker_attach(struct request *req)
{
	struct attachment attachment = { .worker = req->args[0], .grace_s = ATTACH_GRACE_DEFAULT };
	int rc = check_name(req, "worker", attachment.worker);

	if (rc == 0)
		rc = parse_options(req, 1, &attachment);
	if (rc == 0)
		rc = need_presence(req);
	if (rc == 0)
		req->env->presence->attach(req->env->arg, req, &attachment);
	return rc;
}

int native_worker_detach(struct request *req)
{
	int rc = check_name(req, "worker", req->args[0]);

	if (rc == 0)
		rc = need_presence(req);
	if (rc < 0)
		return rc;
	return answer_integer(req,
			      req->env->presence->detach(req->env->arg, req, req->args[0]) ? 1 : 0);
}

/* ---- all jobs of a worker ---- */

/* Returns the number of entries of the worker's list. Each is a job, or left from an ended run. */
static size_t count_entries(const struct request *req, struct qless_str worker)
{
	const struct skiplist *jobs = view_worker_jobs(req->engine, worker);

	return jobs != NULL ? skiplist_count(jobs) : 0;
}

/* Checks that the transaction may do all parts, so that none is done otherwise. work_begin() counts
 * all of them but the first, so that one counts here. */
static int check_parts(struct request *req, size_t entries)
{
	/* The last part of a renewal may find nothing. */
	size_t parts = entries / WORK_PART_ELEMENTS + 1;

	if (req->parts_left == NULL || entries == 0)
		return 0;
	if (parts >= *req->parts_left)
		return request_fail(req, QLESS_ELIMIT,
				    "The worker has more jobs (%g) than the transaction may still "
				    "change. Send the command outside of MULTI",
				    (double)entries);
	--*req->parts_left;
	return 0;
}

struct holdings_work {
	struct work work;
	struct operation op;
	size_t left; /* entries that a release may still take */
	int64_t count;
	bool has_begun;
};

/* The state may have changed since the part before. */
static bool may_change(struct request *req)
{
	const char *refusal = NULL;

	if (req->env->log_refusal != NULL)
		refusal = req->env->log_refusal(req->env->arg, 0);
	if (refusal != NULL)
		reply_error_line(req->reply, str_from(refusal));
	return refusal == NULL;
}

static bool renew(struct holdings_work *w, const struct operation_outcome *outcome)
{
	w->count += (int64_t)outcome->renewed.count;
	w->op.renewal.until = outcome->renewed.until;
	return outcome->renewed.until > w->op.renewal.after;
}

static bool release(struct holdings_work *w, const struct operation_outcome *outcome)
{
	w->count += (int64_t)outcome->released.count;
	w->left -= min_u64(w->left, (size_t)w->op.release.max);
	w->op.release.max = (int64_t)min_u64(w->left, WORK_PART_ELEMENTS);
	return outcome->released.more && w->left != 0;
}

static bool go_on(struct work *work, struct request *req)
{
	struct holdings_work *w = container_of(work, struct holdings_work, work);
	struct operation_outcome outcome;
	bool more;
	int rc;

	if (w->has_begun) {
		if (!may_change(req))
			return false;
		req->now = req->env->now(req->env->arg);
	}
	w->has_begun = true;
	if (w->op.kind == OPERATION_WORKER_RENEW)
		w->op.renewal.worker = req->args[0];
	else
		w->op.release.worker = req->args[0];
	rc = request_run(req, &w->op, &outcome);
	if (rc < 0) {
		answer_error(req, rc);
		return false;
	}
	more = w->op.kind == OPERATION_WORKER_RENEW ? renew(w, &outcome) : release(w, &outcome);
	if (!more)
		reply_integer(req->reply, w->count);
	return more;
}

static void free_holdings_work(struct work *work)
{
	free(container_of(work, struct holdings_work, work));
}

static struct holdings_work *holdings_work_new(enum operation_kind kind)
{
	static const struct work_ops ops = { go_on, free_holdings_work };
	struct holdings_work *w = mem_zalloc(sizeof *w);

	w->work.ops = &ops;
	w->op.kind = kind;
	return w;
}

int native_worker_heartbeat(struct request *req)
{
	int rc = check_name(req, "worker", req->args[0]);
	struct holdings_work *w;

	if (rc == 0)
		rc = check_parts(req, count_entries(req, req->args[0]));
	if (rc < 0)
		return rc;
	w = holdings_work_new(OPERATION_WORKER_RENEW);
	w->op.renewal.after = req->now;
	w->op.renewal.until = DBL_MAX;
	w->op.renewal.max = WORK_PART_ELEMENTS;
	work_begin(req, &w->work);
	return 0;
}

int native_worker_release(struct request *req)
{
	static const struct option_slot slots[] = { { STR_INIT("RETRY"), NULL, 1 } };
	int rc = check_name(req, "worker", req->args[0]);
	struct holdings_work *w;
	size_t entries;

	if (rc == 0 && request_has(req, 1) && !str_equal_nocase(req->args[1], STR("RETRY")))
		rc = options_fail_unknown(req, req->args[1], slots, 1);
	if (rc < 0)
		return rc;
	entries = count_entries(req, req->args[0]);
	rc = check_parts(req, entries);
	if (rc < 0)
		return rc;
	w = holdings_work_new(OPERATION_WORKER_RELEASE);
	/* A worker that waits may get its jobs again, so only those that it has now count. */
	w->left = entries;
	w->op.release.counts = request_has(req, 1);
	w->op.release.max = (int64_t)min_u64(w->left, WORK_PART_ELEMENTS);
	work_begin(req, &w->work);
	return 0;
}
