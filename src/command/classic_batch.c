/*
 * Extensions to the classic commands that do for many jobs what the others do for one.
 */
#include "command/classic_int.h"

#include "util/mem.h"

/* ---- multiput ---- */

enum {
	ARG_WORKER,
	ARG_QUEUE,
	ARG_DELAY,
	ARG_OPTIONS,
};

size_t classic_multiput_jobs(const struct qless_str *args, size_t count)
{
	size_t i;

	for (i = ARG_OPTIONS; i < count; i += 2) {
		if (str_equal(args[i], STR("jobs")))
			return i + 1;
	}
	return count;
}

/* What the jobs have in common, but the options. */
static int decode_common(struct classic_call *call, struct qless_put *put)
{
	int rc = call_need(call, ARG_WORKER, "Multiput(): Arg \"worker\" missing", &put->worker);

	if (rc == 0)
		rc = call_need(call, ARG_QUEUE, "Multiput(): Arg \"queue\" missing", &put->queue);
	if (rc == 0)
		rc = call_number(call, ARG_DELAY,
				 "Multiput(): Arg \"delay\" not a number: ", &put->delay);
	return rc;
}

/* The options, up to the word that ends them; *ret_first is behind it. */
static int read_options(struct classic_call *call, struct put_options *ret, size_t *ret_first)
{
	size_t i;

	*ret = (struct put_options){ NULL, NULL, NULL, NULL };
	for (i = ARG_OPTIONS; i < call->count; i += 2) {
		if (str_equal(call->args[i], STR("jobs"))) {
			*ret_first = i + 1;
			return 0;
		}
		if (!put_option_set(ret, call->args[i],
				    call_has(call, i + 1) ? &call->args[i + 1] : NULL))
			return call_fail(call, QLESS_EBADARG, "Multiput(): Unknown option \"%S\"",
					 call->args[i]);
	}
	return call_fail(call, QLESS_EBADARG, "Multiput(): Word \"jobs\" missing");
}

static int check_data(struct classic_call *call, const struct qless_str *job)
{
	enum json_kind kind;
	int rc = call_json_text(call, job[2], &kind);

	if (rc == 0 && kind == JSON_FALSE)
		rc = call_fail(call, QLESS_EBADARG, "Multiput(): Data of job %S not JSON: false",
			       job[0]);
	return rc;
}

/* The jobs begin at `first`. */
static int decode_puts(struct classic_call *call, size_t first, struct operation_names *ret_jobs)
{
	struct operation_names jobs = call_rest(call, first);
	size_t i;
	int rc = 0;

	if (jobs.count == 0 || jobs.count % CLASSIC_MULTIPUT_JOB_ARGS != 0)
		return call_fail(call, QLESS_EBADARG,
				 "Multiput(): Each job needs a jid, a klass and data");
	for (i = 0; rc == 0 && i < jobs.count; i += CLASSIC_MULTIPUT_JOB_ARGS)
		rc = check_data(call, jobs.items + i);
	*ret_jobs = jobs;
	return rc;
}

int decode_multiput(struct classic_call *call, struct operation *op)
{
	struct qless_put *common = &op->put_many.common;
	struct put_options options;
	size_t first = 0;
	int rc;

	op->kind = OPERATION_PUT_MANY;
	*common = (struct qless_put){ 0 };
	rc = decode_common(call, common);
	if (rc == 0)
		rc = read_options(call, &options, &first);
	if (rc == 0)
		rc = put_options_decode(call, &options, common);
	if (rc == 0)
		rc = decode_puts(call, first, &op->put_many.jobs);
	return rc;
}

static int answer_multiput(struct classic_call *call, const struct operation *op,
			   const struct operation_outcome *outcome)
{
	const struct operation_names *jobs = &op->put_many.jobs;
	size_t i;

	(void)outcome;
	reply_array(call->reply, jobs->count / CLASSIC_MULTIPUT_JOB_ARGS);
	for (i = 0; i < jobs->count; i += CLASSIC_MULTIPUT_JOB_ARGS)
		reply_bulk(call->reply, jobs->items[i]);
	return 0;
}

int classic_multiput(struct classic_call *call)
{
	return call_operation(call, decode_multiput, answer_multiput);
}

/* ---- multicomplete ---- */

/* Take one of the jobs of the command into the operation, unless its data is no JSON: then the job
 * is refused before anything is run. */
static int add_completion(struct classic_call *call, const struct qless_str *job,
			  struct operation *op)
{
	struct qless_str *texts = call->c->decoded.texts;
	enum json_kind kind;
	int rc = call_json_text(call, job[1], &kind);

	if (rc == 0 && kind == JSON_FALSE)
		rc = call_fail(call, QLESS_EBADARG,
			       "Complete(): Arg \"data\" missing or not JSON: false");
	if (rc < 0)
		return rc;
	texts[op->complete_many.jobs.count++] = job[0];
	texts[op->complete_many.jobs.count++] = job[1];
	return 0;
}

/* The operation, so far without jobs, and the jobs of the command. */
static int decode_completions(struct classic_call *call, struct operation *op,
			      struct operation_names *ret_jobs)
{
	struct qless_str *texts;
	int rc;

	op->kind = OPERATION_COMPLETE_MANY;
	rc = call_need(call, 0, "Multicomplete(): Arg \"worker\" missing",
		       &op->complete_many.worker);
	if (rc == 0)
		rc = call_need(call, 1, "Multicomplete(): Arg \"queue\" missing",
			       &op->complete_many.queue);
	if (rc < 0)
		return rc;
	if (call->count == 2 || call->count % 2 != 0)
		return call_fail(call, QLESS_EBADARG,
				 "Multicomplete(): Each job needs a jid and data");
	*ret_jobs = call_rest(call, 2);
	texts = mem_realloc_array(NULL, ret_jobs->count, sizeof(*texts));
	call_lists(call)->texts = texts;
	op->complete_many.jobs = (struct operation_names){ texts, 0 };
	return 0;
}

int decode_multicomplete(struct classic_call *call, struct operation *op)
{
	struct operation_names jobs;
	size_t i;
	int rc = decode_completions(call, op, &jobs);

	if (rc < 0)
		return rc;
	for (i = 0; i < jobs.count; i += 2) {
		if (add_completion(call, jobs.items + i, op) < 0)
			call->is_said = false;
	}
	return 0;
}

int classic_multicomplete(struct classic_call *call)
{
	struct operation_outcome outcome;
	struct operation_names jobs;
	struct operation op;
	size_t part = 0;
	size_t i;
	int rc = decode_completions(call, &op, &jobs);

	if (rc < 0)
		return rc;
	reply_array(call->reply, jobs.count / 2);
	for (i = 0; i < jobs.count; i += 2) {
		rc = add_completion(call, jobs.items + i, &op);
		if (rc == 0)
			rc = call_part(call, &op, part++, &outcome);
		if (rc == 0)
			answer_bulk(call, qless_state_text(outcome.state));
		else
			answer_error(call, rc);
	}
	return 0;
}

/* ---- multiheartbeat ---- */

int decode_multiheartbeat(struct classic_call *call, struct operation *op)
{
	int rc;

	op->kind = OPERATION_HEARTBEAT_MANY;
	rc = call_need(call, 0, "Multiheartbeat(): Arg \"worker\" missing",
		       &op->heartbeat_many.worker);
	if (rc == 0 && !call_has(call, 1))
		rc = call_fail(call, QLESS_EBADARG, "Multiheartbeat(): Arg \"jid\" missing");
	if (rc == 0)
		op->heartbeat_many.jids = call_rest(call, 1);
	return rc;
}

int classic_multiheartbeat(struct classic_call *call)
{
	struct operation_outcome outcome;
	struct operation op;
	size_t i;
	int rc = decode_multiheartbeat(call, &op);

	if (rc < 0)
		return rc;
	reply_array(call->reply, call->count - 1);
	for (i = 0; i < call->count - 1; i++) {
		rc = call_part(call, &op, i, &outcome);
		if (rc == 0)
			answer_integer(call, outcome.expires);
		else
			answer_error(call, rc);
	}
	return 0;
}
