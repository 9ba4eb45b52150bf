#include "command/repairing.h"

#include "command/classic_int.h"
#include "operation/portion.h"

/* Jobs that leave the indexes of classes at once, before a repair. That takes a millisecond or
 * less. */
#define DROPPED_AT_ONCE 1000

bool repairing_find(const struct request *req, struct buf *output)
{
	struct portions p;
	bool is_possible;

	portions_begin(&p, output);
	is_possible = qless_find_repairs(req->engine, req->now, portions_add, &p);
	portions_end(&p);
	return is_possible;
}

void repairing_begin(struct repairing *r, const struct request *req)
{
	r->flushes = req->database->flushes;
}

void repairing_take(struct repairing *r, struct qless_str portions)
{
	r->left = portions;
	r->made = 0;
}

/* Other commands have run since the command was admitted. */
static bool check_state(const struct repairing *r, struct request *req)
{
	const char *refusal = NULL;

	if (r->flushes != req->database->flushes) {
		reply_error(req->reply, "ERR",
			    STR("The repair has ended early: the database was flushed"));
		return false;
	}
	if (req->env->log_refusal != NULL)
		refusal = req->env->log_refusal(req->env->arg, 0);
	if (refusal == NULL)
		return true;
	reply_error_line(req->reply, str_from(refusal));
	return false;
}

bool repairing_go_on(struct repairing *r, struct request *req)
{
	struct operation op;
	struct operation_outcome outcome;
	struct buf error = BUF_INIT(BUF_NO_MAX);
	size_t left = DROPPED_AT_ONCE;
	int rc;

	if (!check_state(r, req))
		return false;
	if (!qless_drop_classes(req->engine, &left))
		return true;
	rc = operation_decode(&r->left, &r->room, &op, &error);
	if (rc < 0)
		reply_errorf(req->reply, "ERR", "The repair has failed: %s", buf_cstr(&error));
	buf_done(&error);
	if (rc < 0)
		return false;
	if (req->form == REQUEST_NATIVE)
		req->now = req->env->now(req->env->arg);
	/* The repairs are in the room, which is ours. */
	qless_aim_repairs(req->engine, (struct qless_repair *)(uintptr_t)op.repair.items,
			  op.repair.count);
	if (request_run(req, &op, &outcome) < 0) {
		answer_error(req, QLESS_EBADARG);
		return false;
	}
	r->made += outcome.count;
	return true;
}

void repairing_done(struct repairing *r)
{
	operation_room_done(&r->room);
}
