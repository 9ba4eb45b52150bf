/*
 * Classic commands about recurring jobs.
 */
#include "command/classic_int.h"

#include <string.h>

#include "util/mem.h"

#define NO_QUEUE "Queue(): no queue name provided"
#define NO_JID	 "Recurring(): no jid provided"

/* ---- recur ---- */

/* queue jid klass data spec interval offset */
enum {
	ARG_QUEUE,
	ARG_JID,
	ARG_KLASS,
	ARG_DATA,
	ARG_SPEC,
	ARG_INTERVAL,
	ARG_OFFSET,
	ARG_OPTIONS,
};

static int decode_names(struct classic_call *call, struct qless_recur_put *put)
{
	struct qless_str spec;
	enum json_kind kind;
	int rc = call_need(call, ARG_QUEUE, NO_QUEUE, &put->queue);

	if (rc == 0)
		rc = call_need(call, ARG_JID, "RecurringJob On(): Arg \"jid\" missing", &put->jid);
	if (rc == 0)
		rc = call_need(call, ARG_KLASS, "RecurringJob On(): Arg \"klass\" missing",
			       &put->klass);
	if (rc == 0)
		rc = call_need(call, ARG_SPEC, "RecurringJob On(): Arg \"spec\" missing", &spec);
	if (rc == 0)
		rc = call_json(call, ARG_DATA, &kind);
	if (rc < 0)
		return rc;
	if (kind == JSON_FALSE)
		return call_fail(call, QLESS_EBADARG,
				 "RecurringJob On(): Arg \"data\" not JSON: false");
	put->data = call->args[ARG_DATA];
	if (!str_equal(spec, STR("interval")))
		return call_fail(call, QLESS_EBADARG, "Recur(): schedule type \"%S\" unknown",
				 spec);
	return 0;
}

static int decode_times(struct classic_call *call, struct qless_recur_put *put)
{
	int rc = call_number(call, ARG_INTERVAL,
			     "Recur(): Arg \"interval\" not a number: ", &put->interval);

	if (rc == 0)
		rc = call_number(call, ARG_OFFSET,
				 "Recur(): Arg \"offset\" not a number: ", &put->offset);
	if (rc < 0)
		return rc;
	if (put->interval <= 0)
		return call_fail(call, QLESS_EBADARG,
				 "Recur(): Arg \"interval\" must be greater than 0");
	if ((call->count - ARG_OPTIONS) % 2 != 0)
		return call_fail(call, QLESS_EBADARG, "Odd number of additional args: table: 0x0");
	return 0;
}

static int decode_number(struct classic_call *call, const struct qless_str *text,
			 const char *message, double *ret_number)
{
	if (text == NULL || text_is_number(*text, ret_number))
		return 0;
	return call_fail(call, QLESS_EBADARG, "%s%S", message, *text);
}

static int decode_tags(struct classic_call *call, const struct qless_str *text)
{
	enum json_kind kind;
	int rc;

	if (text == NULL)
		return 0;
	rc = call_json_text(call, *text, &kind);
	if (rc == 0 && kind == JSON_FALSE)
		rc = call_fail(call, QLESS_EBADARG,
			       "Recur(): Arg \"tags\" must be JSON string array: %S", *text);
	return rc;
}

static int decode_options(struct classic_call *call, struct qless_recur_put *put)
{
	const struct qless_str *priority = NULL;
	const struct qless_str *tags = NULL;
	const struct qless_str *retries = NULL;
	const struct qless_str *backlog = NULL;
	struct classic_decoded *lists;
	size_t i;
	int rc = 0;

	for (i = ARG_OPTIONS; rc == 0 && i + 1 < call->count; i += 2) {
		const struct qless_str *value = &call->args[i + 1];

		if (str_equal(call->args[i], STR("priority")))
			priority = value;
		else if (str_equal(call->args[i], STR("tags")))
			tags = value;
		else if (str_equal(call->args[i], STR("retries")))
			retries = value;
		else if (str_equal(call->args[i], STR("backlog")))
			backlog = value;
		else
			rc = call_check_option(call, "Recur", call->args[i]);
	}
	if (rc == 0)
		rc = decode_tags(call, tags);
	if (rc == 0)
		rc = decode_number(call, priority,
				   "Recur(): Arg \"priority\" not a number: ", &put->priority);
	if (rc == 0)
		rc = decode_number(call, retries,
				   "Recur(): Arg \"retries\" not a number: ", &put->retries);
	if (rc == 0)
		rc = decode_number(call, backlog,
				   "Recur(): Arg \"backlog\" not a number: ", &put->backlog);
	if (rc < 0 || tags == NULL)
		return rc;
	lists = call_lists(call);
	if (!json_read_strings(*tags, false, &lists->tags))
		return call_fail(call, QLESS_EBADARG,
				 "Recur(): Arg \"tags\" not a JSON array of strings: %S", *tags);
	put->tags = lists->tags.items;
	put->tag_count = lists->tags.count;
	return 0;
}

int decode_recur(struct classic_call *call, struct operation *op)
{
	int rc;

	op->kind = OPERATION_RECUR;
	op->recur = (struct qless_recur_put){ 0 };
	rc = decode_names(call, &op->recur);
	if (rc == 0)
		rc = decode_times(call, &op->recur);
	if (rc == 0)
		rc = decode_options(call, &op->recur);
	return rc;
}

static int answer_recur(struct classic_call *call, const struct operation *op,
			const struct operation_outcome *outcome)
{
	(void)outcome;
	return answer_bulk(call, op->recur.jid);
}

int classic_recur(struct classic_call *call)
{
	return call_operation(call, decode_recur, answer_recur);
}

/* ---- the others ---- */

int decode_unrecur(struct classic_call *call, struct operation *op)
{
	op->kind = OPERATION_UNRECUR;
	return call_need(call, 0, NO_JID, &op->job.jid);
}

int classic_unrecur(struct classic_call *call)
{
	return call_operation(call, decode_unrecur, answer_one);
}

int classic_recur_get(struct classic_call *call)
{
	const struct qless_recur *recur;
	struct qless_str jid;
	int rc = call_need(call, 0, NO_JID, &jid);

	if (rc < 0)
		return rc;
	recur = qless_recur_get(call->engine, jid);
	if (recur == NULL)
		return answer_null(call);
	json_append_recur(call_json_buf(call), recur, call->style);
	return answer_json(call);
}

static int decode_change_number(struct classic_call *call, struct qless_str name,
				struct qless_str value, struct qless_recur_change *change)
{
	if (!text_is_number(value, &change->number))
		return call_fail(call, QLESS_EBADARG, "Recur(): Arg \"%S\" must be a number: %S",
				 name, value);
	if (change->field == QLESS_RECUR_INTERVAL && change->number <= 0)
		return call_fail(call, QLESS_EBADARG,
				 "Recur(): Arg \"interval\" must be greater than 0");
	return 0;
}

static int decode_change_data(struct classic_call *call, struct qless_str value)
{
	enum json_kind kind;
	int rc = call_json_text(call, value, &kind);

	if (rc == 0 && kind == JSON_FALSE)
		rc = call_fail(call, QLESS_EBADARG, "Recur(): Arg \"data\" is not JSON-encoded: %S",
			       value);
	return rc;
}

static int decode_change(struct classic_call *call, size_t i, struct qless_recur_change *change)
{
	struct qless_str name = call->args[i];
	struct qless_str value;

	if (!call_has(call, i + 1))
		return call_fail(call, QLESS_EBADARG, "No value provided for %S", name);
	value = call->args[i + 1];
	change->text = value;
	if (str_equal(name, STR("priority"))) {
		change->field = QLESS_RECUR_PRIORITY;
		return decode_change_number(call, name, value, change);
	}
	if (str_equal(name, STR("interval"))) {
		change->field = QLESS_RECUR_INTERVAL;
		return decode_change_number(call, name, value, change);
	}
	if (str_equal(name, STR("retries"))) {
		change->field = QLESS_RECUR_RETRIES;
		return decode_change_number(call, name, value, change);
	}
	if (str_equal(name, STR("data"))) {
		change->field = QLESS_RECUR_DATA;
		return decode_change_data(call, value);
	}
	if (str_equal(name, STR("klass"))) {
		change->field = QLESS_RECUR_KLASS;
		return 0;
	}
	if (str_equal(name, STR("queue"))) {
		change->field = QLESS_RECUR_QUEUE;
		return 0;
	}
	if (str_equal(name, STR("backlog"))) {
		change->field = QLESS_RECUR_BACKLOG;
		return decode_number(call, &value,
				     "Recur(): Arg \"backlog\" not a number: ", &change->number);
	}
	return call_fail(call, QLESS_EBADARG, "Recur(): Unrecognized option \"%S\"", name);
}

int decode_recur_update(struct classic_call *call, struct operation *op)
{
	struct qless_recur_change *changes;
	size_t count = 0;
	size_t i;
	int rc;

	op->kind = OPERATION_RECUR_UPDATE;
	rc = call_need(call, 0, NO_JID, &op->recur_update.jid);
	/* What is wrong with the job comes first. */
	if (rc == 0)
		rc = qless_recur_update(call->engine, call->now, op->recur_update.jid, NULL, 0);
	if (rc < 0)
		return rc;
	changes = mem_realloc_array(NULL, call->count / 2 + 1, sizeof(*changes));
	call_lists(call)->changes = changes;
	for (i = 1; rc == 0 && i < call->count; i += 2)
		rc = decode_change(call, i, &changes[count++]);
	op->recur_update.changes = changes;
	op->recur_update.count = count;
	return rc;
}

int classic_recur_update(struct classic_call *call)
{
	return call_operation(call, decode_recur_update, answer_one);
}

static int decode_tagging(struct classic_call *call, struct operation *op)
{
	int rc = call_need(call, 0, NO_JID, &op->job.jid);

	if (rc == 0)
		op->job.names = call_rest(call, 1);
	return rc;
}

int decode_recur_tag(struct classic_call *call, struct operation *op)
{
	op->kind = OPERATION_RECUR_TAG;
	return decode_tagging(call, op);
}

int decode_recur_untag(struct classic_call *call, struct operation *op)
{
	op->kind = OPERATION_RECUR_UNTAG;
	return decode_tagging(call, op);
}

static int answer_tags(struct classic_call *call, const struct operation *op,
		       const struct operation_outcome *outcome)
{
	(void)outcome;
	json_append_recur_tags(call_json_buf(call), qless_recur_get(call->engine, op->job.jid),
			       call->style->whole);
	return answer_json(call);
}

int classic_recur_tag(struct classic_call *call)
{
	return call_operation(call, decode_recur_tag, answer_tags);
}

int classic_recur_untag(struct classic_call *call)
{
	return call_operation(call, decode_recur_untag, answer_tags);
}
