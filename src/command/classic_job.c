/*
 * Classic commands about single jobs: their life from put to complete.
 */
#include "command/classic_int.h"

#include <string.h>

#define NO_JID	 "Job(): no jid provided"
#define NO_QUEUE "Queue(): no queue name provided"

/* A reply of jobs leaves the buffer in pieces of about this size, so that of many jobs there is not
 * everything twice. With one more job it has to fit into a chunk of the output: those are used
 * again and again, and memory that is new costs more than what is written there. */
#define PIECE_BYTES (CHAIN_CHUNK_BYTES / 2)

struct job_reply {
	struct classic_call *call;
	struct json_job_list list;
	struct reply_deferred pieces;
	bool has_pieces;
};

static void begin_jobs(struct job_reply *reply, struct classic_call *call)
{
	reply->call = call;
	reply->has_pieces = false;
	json_job_list_begin(&reply->list, call_json_buf(call), call->style);
}

static void flush_piece(struct job_reply *reply)
{
	struct reply *w = reply->call->reply;

	if (!reply->has_pieces)
		reply_deferred_begin(w, &reply->pieces, REPLY_TEXT);
	reply->has_pieces = true;
	reply_deferred_append(w, &reply->pieces, buf_str(reply->list.buf));
	buf_clear(reply->list.buf);
}

static void add_job(struct job_reply *reply, const struct qless_job *job)
{
	json_job_list_add(&reply->list, job);
	if (reply->list.buf->len >= PIECE_BYTES)
		flush_piece(reply);
}

static int end_jobs(struct job_reply *reply)
{
	json_job_list_end(&reply->list);
	if (!reply->has_pieces)
		return answer_json(reply->call);
	flush_piece(reply);
	reply_deferred_end(reply->call->reply, &reply->pieces, 0);
	return 0;
}

static int reply_jobs(struct classic_call *call, const struct qless_jobs *jobs)
{
	struct job_reply reply;
	size_t i;

	begin_jobs(&reply, call);
	for (i = 0; i < jobs->count; i++)
		add_job(&reply, jobs->items[i]);
	return end_jobs(&reply);
}

int classic_get(struct classic_call *call)
{
	const struct qless_job *job;
	struct qless_str jid;
	int rc = call_need(call, 0, NO_JID, &jid);

	if (rc < 0)
		return rc;
	job = qless_get(call->engine, jid);
	if (job == NULL)
		return answer_null(call);
	json_append_job(call_json_buf(call), job, call->style);
	return answer_json(call);
}

int classic_multiget(struct classic_call *call)
{
	struct job_reply reply;
	size_t i;

	begin_jobs(&reply, call);
	for (i = 0; i < call->count; i++) {
		const struct qless_job *job = qless_get(call->engine, call->args[i]);

		if (job != NULL)
			add_job(&reply, job);
	}
	return end_jobs(&reply);
}

/* ---- put ---- */

bool put_option_set(struct put_options *options, struct qless_str name,
		    const struct qless_str *value)
{
	if (str_equal(name, STR("priority")))
		options->priority = value;
	else if (str_equal(name, STR("tags")))
		options->tags = value;
	else if (str_equal(name, STR("retries")))
		options->retries = value;
	else if (str_equal(name, STR("depends")))
		options->depends = value;
	else
		return false;
	return true;
}

bool classic_is_put_option(struct qless_str name)
{
	struct put_options options;

	return put_option_set(&options, name, NULL);
}

static int read_put_options(struct classic_call *call, size_t from, struct put_options *ret)
{
	int rc = 0;

	*ret = (struct put_options){ NULL, NULL, NULL, NULL };
	for (size_t i = from; rc == 0 && i + 1 < call->count; i += 2) {
		if (!put_option_set(ret, call->args[i], &call->args[i + 1]))
			rc = call_check_option(call, "Put", call->args[i]);
	}
	return rc;
}

/* Well-formed JSON and not `false`, where the option was given. */
static int check_option_json(struct classic_call *call, const struct qless_str *text,
			     const char *message)
{
	enum json_kind kind;
	int rc;

	if (text == NULL)
		return 0;
	rc = call_json_text(call, *text, &kind);
	if (rc < 0)
		return rc;
	if (kind == JSON_FALSE)
		return call_fail(call, QLESS_EBADARG, "%s%S", message, *text);
	return 0;
}

static int check_option_number(struct classic_call *call, const struct qless_str *text,
			       const char *message, bool *ret_has, double *ret_number)
{
	*ret_has = text != NULL;
	if (text == NULL || text_is_number(*text, ret_number))
		return 0;
	return call_fail(call, QLESS_EBADARG, "%s%S", message, *text);
}

static int read_option_strings(struct classic_call *call, const struct qless_str *text,
			       const char *command, const char *name, struct json_strings *ret)
{
	/* An object for `depends` is no dependency at all, as the reference has it. */
	bool objects = strcmp(name, "depends") == 0;

	if (text == NULL || json_read_strings(*text, objects, ret))
		return 0;
	return call_fail(call, QLESS_EBADARG, "%s(): Arg \"%s\" not a JSON array of strings: %S",
			 command, name, *text);
}

/* The options in the order in which the reference checks them, then the shape of the lists. */
static int check_put_options(struct classic_call *call, const struct put_options *options,
			     struct qless_put *put)
{
	struct classic_decoded *lists = call_lists(call);
	int rc = check_option_number(call, options->retries,
				     "Put(): Arg \"retries\" not a number: ", &put->has_retries,
				     &put->retries);

	if (rc == 0)
		rc = check_option_json(call, options->tags, "Put(): Arg \"tags\" not JSON");
	if (rc == 0)
		rc = check_option_number(call, options->priority,
					 "Put(): Arg \"priority\" not a number", &put->has_priority,
					 &put->priority);
	if (rc == 0)
		rc = check_option_json(call, options->depends, "Put(): Arg \"depends\" not JSON: ");
	if (rc == 0)
		rc = read_option_strings(call, options->tags, "Put", "tags", &lists->tags);
	if (rc == 0)
		rc = read_option_strings(call, options->depends, "Put", "depends", &lists->depends);
	return rc;
}

int put_options_decode(struct classic_call *call, const struct put_options *options,
		       struct qless_put *put)
{
	const struct classic_decoded *lists = &call->c->decoded;
	int rc = check_put_options(call, options, put);

	if (rc < 0)
		return rc;
	put->has_tags = options->tags != NULL;
	put->tags = lists->tags.items;
	put->tag_count = lists->tags.count;
	put->depends = lists->depends.items;
	put->depend_count = lists->depends.count;
	return 0;
}

static int decode_put_args(struct classic_call *call, struct qless_put *put)
{
	enum json_kind kind;
	int rc;

	if (!call_has(call, 1))
		return call_fail(call, QLESS_EBADARG, NO_QUEUE);
	put->worker = call->args[0];
	put->queue = call->args[1];
	rc = call_need(call, 2, "Put(): Arg \"jid\" missing", &put->jid);
	if (rc < 0)
		return rc;
	qless_prefetch(call->engine, put->jid);
	rc = call_need(call, 3, "Put(): Arg \"klass\" missing", &put->klass);
	if (rc < 0)
		return rc;
	rc = call_json(call, 4, &kind);
	if (rc < 0)
		return rc;
	if (kind == JSON_FALSE)
		return call_fail(call, QLESS_EBADARG,
				 "Put(): Arg \"data\" missing or not JSON: false");
	put->data = call->args[4];
	rc = call_number(call, 5, "Put(): Arg \"delay\" not a number: ", &put->delay);
	if (rc < 0)
		return rc;
	if ((call->count - 6) % 2 != 0)
		return call_fail(call, QLESS_EBADARG, "Odd number of additional args: table: 0x0");
	return 0;
}

int decode_put(struct classic_call *call, struct operation *op)
{
	struct put_options options;
	int rc;

	op->kind = OPERATION_PUT;
	op->put = (struct qless_put){ 0 };
	rc = decode_put_args(call, &op->put);
	if (rc < 0 || !call_has(call, 6))
		return rc;
	rc = read_put_options(call, 6, &options);
	return rc < 0 ? rc : put_options_decode(call, &options, &op->put);
}

static int answer_put(struct classic_call *call, const struct operation *op,
		      const struct operation_outcome *outcome)
{
	(void)outcome;
	return answer_bulk(call, op->put.jid);
}

int classic_put(struct classic_call *call)
{
	return call_operation(call, decode_put, answer_put);
}

int decode_requeue(struct classic_call *call, struct operation *op)
{
	struct qless_str jid;
	int rc = call_need(call, 2, NO_JID, &jid);

	if (rc < 0)
		return rc;
	/* Before anything else is said about the arguments. */
	if (qless_get(call->engine, jid) == NULL)
		return call_fail(call, QLESS_ENOJOB, "Requeue(): Job %S does not exist", jid);
	rc = decode_put(call, op);
	op->kind = OPERATION_REQUEUE;
	return rc;
}

int classic_requeue(struct classic_call *call)
{
	return call_operation(call, decode_requeue, answer_put);
}

/* ---- pop and peek ---- */

int decode_pop(struct classic_call *call, struct operation *op)
{
	double number;
	int rc;

	op->kind = OPERATION_POP;
	rc = call_need(call, 0, NO_QUEUE, &op->pop.queue);
	if (rc == 0)
		rc = call_need(call, 1, "Pop(): Arg \"worker\" missing", &op->pop.worker);
	if (rc == 0)
		rc = call_number(call, 2,
				 "Pop(): Arg \"count\" missing or not a number: ", &number);
	if (rc == 0)
		rc = call_count(call, number, "Pop", &op->pop.count);
	return rc;
}

static int answer_pop(struct classic_call *call, const struct operation *op,
		      const struct operation_outcome *outcome)
{
	(void)op;
	return reply_jobs(call, &outcome->jobs);
}

int classic_pop(struct classic_call *call)
{
	return call_operation(call, decode_pop, answer_pop);
}

int classic_peek(struct classic_call *call)
{
	struct qless_str queue;
	struct qless_jobs jobs;
	double number;
	int64_t count;
	int rc = call_need(call, 0, NO_QUEUE, &queue);

	if (rc == 0)
		rc = call_number(call, 1,
				 "Peek(): Arg \"count\" missing or not a number: ", &number);
	if (rc == 0)
		rc = call_count(call, number, "Peek", &count);
	if (rc == 0)
		rc = call_advance(call, QLESS_ADVANCE_POP, queue, count);
	if (rc == 0)
		rc = qless_peek(call->engine, call->now, queue, count, &jobs);
	return rc < 0 ? rc : reply_jobs(call, &jobs);
}

/* ---- what workers report ---- */

int decode_heartbeat(struct classic_call *call, struct operation *op)
{
	enum json_kind kind;
	int rc;

	op->kind = OPERATION_HEARTBEAT;
	op->heartbeat.data = call_has(call, 2) ? &call->args[2] : NULL;
	rc = call_need(call, 0, NO_JID, &op->heartbeat.jid);
	if (rc == 0)
		rc = call_need(call, 1, "Heatbeat(): Arg \"worker\" missing",
			       &op->heartbeat.worker);
	if (rc == 0 && call_has(call, 2))
		rc = call_json(call, 2, &kind);
	return rc;
}

static int answer_heartbeat(struct classic_call *call, const struct operation *op,
			    const struct operation_outcome *outcome)
{
	(void)op;
	return answer_integer(call, outcome->expires);
}

int classic_heartbeat(struct classic_call *call)
{
	return call_operation(call, decode_heartbeat, answer_heartbeat);
}

/* The options of complete; NULL if one was not given. */
struct complete_options {
	const struct qless_str *next;
	const struct qless_str *delay;
	const struct qless_str *depends;
};

/* A name at the end without a value takes back what was said before. */
static void read_complete_options(struct classic_call *call, size_t from,
				  struct complete_options *ret)
{
	size_t i;

	*ret = (struct complete_options){ NULL, NULL, NULL };
	for (i = from; i < call->count; i += 2) {
		struct qless_str name = call->args[i];
		const struct qless_str *value = call_has(call, i + 1) ? &call->args[i + 1] : NULL;

		if (str_equal(name, STR("next")))
			ret->next = value;
		else if (str_equal(name, STR("delay")))
			ret->delay = value;
		else if (str_equal(name, STR("depends")))
			ret->depends = value;
	}
}

static int decode_complete_options(struct classic_call *call,
				   const struct complete_options *options,
				   struct qless_complete *complete)
{
	struct classic_decoded *lists;
	int rc;

	complete->next = options->next;
	if (options->delay != NULL && !text_is_number(*options->delay, &complete->delay))
		return call_fail(call, QLESS_EBADARG, "assertion failed!");
	rc = check_option_json(call, options->depends, "Complete(): Arg \"depends\" not JSON: ");
	if (rc < 0)
		return rc;
	if (options->delay != NULL && complete->next == NULL)
		return call_fail(call, QLESS_EBADARG,
				 "Complete(): \"delay\" cannot be used without a \"next\".");
	if (options->depends != NULL && complete->next == NULL)
		return call_fail(call, QLESS_EBADARG,
				 "Complete(): \"depends\" cannot be used without a \"next\".");
	if (options->depends == NULL)
		return 0;
	lists = call_lists(call);
	rc = read_option_strings(call, options->depends, "Complete", "depends", &lists->depends);
	complete->depends = lists->depends.items;
	complete->depend_count = lists->depends.count;
	return rc;
}

static int decode_complete_args(struct classic_call *call, struct qless_complete *complete)
{
	enum json_kind kind;
	int rc = call_need(call, 0, NO_JID, &complete->jid);

	if (rc < 0)
		return rc;
	qless_prefetch(call->engine, complete->jid);
	rc = call_need(call, 1, "Complete(): Arg \"worker\" missing", &complete->worker);
	if (rc == 0)
		rc = call_need(call, 2, "Complete(): Arg \"queue\" missing", &complete->queue);
	if (rc == 0)
		rc = call_json(call, 3, &kind);
	if (rc < 0)
		return rc;
	if (kind == JSON_FALSE)
		return call_fail(call, QLESS_EBADARG,
				 "Complete(): Arg \"data\" missing or not JSON: false");
	complete->data = call->args[3];
	return 0;
}

int decode_complete(struct classic_call *call, struct operation *op)
{
	struct complete_options options;
	int rc;

	op->kind = OPERATION_COMPLETE;
	op->complete = (struct qless_complete){ 0 };
	rc = decode_complete_args(call, &op->complete);
	if (rc < 0)
		return rc;
	read_complete_options(call, 4, &options);
	return decode_complete_options(call, &options, &op->complete);
}

static int answer_complete(struct classic_call *call, const struct operation *op,
			   const struct operation_outcome *outcome)
{
	(void)op;
	return answer_bulk(call, qless_state_text(outcome->state));
}

int classic_complete(struct classic_call *call)
{
	return call_operation(call, decode_complete, answer_complete);
}

int decode_fail(struct classic_call *call, struct operation *op)
{
	enum json_kind kind;
	int rc;

	op->kind = OPERATION_FAIL;
	op->fail.data = call_has(call, 4) ? &call->args[4] : NULL;
	rc = call_need(call, 0, NO_JID, &op->fail.jid);
	if (rc == 0)
		rc = call_need(call, 1, "Fail(): Arg \"worker\" missing", &op->fail.worker);
	if (rc == 0)
		rc = call_need(call, 2, "Fail(): Arg \"group\" missing", &op->fail.group);
	if (rc == 0)
		rc = call_need(call, 3, "Fail(): Arg \"message\" missing", &op->fail.message);
	if (rc == 0 && call_has(call, 4))
		rc = call_json(call, 4, &kind);
	return rc;
}

static int answer_fail(struct classic_call *call, const struct operation *op,
		       const struct operation_outcome *outcome)
{
	(void)outcome;
	return answer_bulk(call, op->fail.jid);
}

int classic_fail(struct classic_call *call)
{
	return call_operation(call, decode_fail, answer_fail);
}

int decode_retry(struct classic_call *call, struct operation *op)
{
	struct qless_retry *retry = &op->retry;
	int rc;

	op->kind = OPERATION_RETRY;
	*retry = (struct qless_retry){ .group = call_has(call, 4) ? &call->args[4] : NULL,
				       .message = call_has(call, 5) ? &call->args[5] : NULL };
	rc = call_need(call, 0, NO_JID, &retry->jid);
	if (rc == 0)
		rc = call_need(call, 1, "Retry(): Arg \"queue\" missing", &retry->queue);
	if (rc == 0)
		rc = call_need(call, 2, "Retry(): Arg \"worker\" missing", &retry->worker);
	if (rc == 0)
		rc = call_optional_number(call, 3, "Retry(): Arg \"delay\" not a number: ", 0,
					  &retry->delay);
	return rc;
}

static int answer_retry(struct classic_call *call, const struct operation *op,
			const struct operation_outcome *outcome)
{
	(void)op;
	return answer_integer(call, outcome->remaining);
}

int classic_retry(struct classic_call *call)
{
	return call_operation(call, decode_retry, answer_retry);
}

/* ---- what is done to jobs from outside ---- */

int decode_timeout(struct classic_call *call, struct operation *op)
{
	op->kind = OPERATION_TIMEOUT;
	op->names = call_rest(call, 0);
	return 0;
}

int classic_timeout(struct classic_call *call)
{
	return call_operation(call, decode_timeout, answer_nothing);
}

int decode_cancel(struct classic_call *call, struct operation *op)
{
	op->kind = OPERATION_CANCEL;
	op->names = call_rest(call, 0);
	return 0;
}

static int answer_cancel(struct classic_call *call, const struct operation *op,
			 const struct operation_outcome *outcome)
{
	(void)outcome;
	return answer_array(call, op->names.items, op->names.count);
}

int classic_cancel(struct classic_call *call)
{
	return call_operation(call, decode_cancel, answer_cancel);
}

/* What is wrong with the job comes before what is wrong with the word. */
static int fail_depends_command(struct classic_call *call, struct qless_str jid)
{
	int rc = qless_depends_on(call->engine, call->now, jid, NULL, 0);

	if (rc < 0)
		return rc;
	return call_fail(call, QLESS_EBADARG,
			 "Depends(): Argument \"command\" must be \"on\" or \"off\"");
}

int decode_depends(struct classic_call *call, struct operation *op)
{
	struct qless_str command;
	int rc = call_need(call, 0, NO_JID, &op->job.jid);

	if (rc == 0)
		rc = call_need(call, 1, "Depends(): Arg \"command\" missing", &command);
	if (rc < 0)
		return rc;
	op->job.names = call_rest(call, 2);
	if (str_equal(command, STR("on")))
		op->kind = OPERATION_DEPENDS_ON;
	else if (!str_equal(command, STR("off")))
		return fail_depends_command(call, op->job.jid);
	else if (call_has(call, 2) && str_equal(call->args[2], STR("all")))
		op->kind = OPERATION_DEPENDS_OFF_ALL;
	else
		op->kind = OPERATION_DEPENDS_OFF;
	return 0;
}

int classic_depends(struct classic_call *call)
{
	return call_operation(call, decode_depends, answer_one);
}

int decode_priority(struct classic_call *call, struct operation *op)
{
	int rc;

	op->kind = OPERATION_PRIORITY;
	rc = call_need(call, 0, NO_JID, &op->priority.jid);
	if (rc == 0)
		rc = call_number(call, 1, "Priority(): Arg \"priority\" missing or not a number: ",
				 &op->priority.priority);
	return rc;
}

static int answer_priority(struct classic_call *call, const struct operation *op,
			   const struct operation_outcome *outcome)
{
	(void)outcome;
	return answer_integer(call, op->priority.priority);
}

int classic_priority(struct classic_call *call)
{
	return call_operation(call, decode_priority, answer_priority);
}

int decode_log(struct classic_call *call, struct operation *op)
{
	enum json_kind kind;
	int rc;

	op->kind = OPERATION_LOG;
	op->log.item = call_has(call, 2) ? &call->args[2] : NULL;
	rc = call_need(call, 0, "Log(): Argument 'jid' missing", &op->log.jid);
	if (rc == 0)
		rc = call_need(call, 1, "Log(): Argument 'message' missing", &op->log.message);
	if (rc < 0 || !call_has(call, 2))
		return rc;
	rc = call_json(call, 2, &kind);
	if (rc == 0 && kind != JSON_OBJECT)
		rc = call_fail(call, QLESS_EBADARG, "Log(): Argument 'data' not a JSON object: %S",
			       *op->log.item);
	return rc;
}

int classic_log(struct classic_call *call)
{
	return call_operation(call, decode_log, answer_nothing);
}
