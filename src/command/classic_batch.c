/*
 * Extensions of the classic commands that work on several jobs at once.
 */
#include "command/classic_int.h"

#include "command/admission.h"
#include "command/checking.h"
#include "command/links.h"
#include "command/options.h"
#include "command/permit.h"
#include "command/purging.h"
#include "command/raw_data.h"
#include "command/swapped.h"
#include "util/mem.h"

/* ---- multiput ---- */

enum {
	ARG_WORKER,
	ARG_QUEUE,
	ARG_DELAY,
	ARG_OPTIONS,
};

size_t classic_multiput_jobs(const struct qless_str *args, size_t count, enum request_form form)
{
	bool is_native = form == REQUEST_NATIVE;
	size_t i;

	for (i = ARG_OPTIONS; i < count; i += is_native ? option_width(args[i]) : 2) {
		if (is_native ? str_equal_nocase(args[i], STR("jobs"))
			      : str_equal(args[i], STR("jobs")))
			return i + 1;
	}
	return count;
}

/* Decode what the jobs have in common, except the options. */
static int decode_common(struct request *req, struct qless_put *put)
{
	int rc = request_need(req, ARG_WORKER, "Multiput(): Arg \"worker\" missing", &put->worker);

	if (rc == 0)
		rc = request_need(req, ARG_QUEUE, "Multiput(): Arg \"queue\" missing", &put->queue);
	if (rc == 0)
		rc = request_number(req, ARG_DELAY,
				    "Multiput(): Arg \"delay\" not a number: ", &put->delay);
	return rc;
}

/* Read the options up to the word "jobs"; *ret_first is the index after that word. */
static int read_native_options(struct request *req, struct put_options *ret, size_t *ret_first)
{
	size_t i = ARG_OPTIONS;
	int rc;

	while (i < req->nargs && !str_equal_nocase(req->args[i], STR("jobs")))
		i += option_width(req->args[i]);
	rc = put_options_read(req, ARG_OPTIONS, i < req->nargs ? i : req->nargs, TERM_OF_PUT, ret);
	if (rc == 0 && i >= req->nargs)
		rc = request_fail(req, QLESS_EBADARG, "Multiput(): Word \"jobs\" missing");
	*ret_first = i + 1;
	return rc;
}

static int read_options(struct request *req, struct put_options *ret, size_t *ret_first)
{
	size_t i;

	if (req->form == REQUEST_NATIVE)
		return read_native_options(req, ret, ret_first);
	*ret = (struct put_options){ .priority = NULL };
	for (i = ARG_OPTIONS; i < req->nargs; i += 2) {
		if (str_equal(req->args[i], STR("jobs"))) {
			*ret_first = i + 1;
			return 0;
		}
		if (!put_option_set(ret, req->args[i],
				    request_has(req, i + 1) ? &req->args[i + 1] : NULL))
			return request_fail(req, QLESS_EBADARG, "Multiput(): Unknown option \"%S\"",
					    req->args[i]);
	}
	return request_fail(req, QLESS_EBADARG, "Multiput(): Word \"jobs\" missing");
}

/* Check the data of job number `i`. */
static int check_data(struct request *req, const struct qless_str *job, size_t i)
{
	enum json_kind kind;
	int rc = req->checking != NULL ? checking_recall(req, i, &kind)
				       : request_json_text(req, "data", job[2], &kind);

	if (rc == QLESS_EBADJSON && req->form == REQUEST_NATIVE)
		return request_fail(req, rc, "data of job \"%S\" must be JSON; found \"%S\"",
				    job[0], job[2]);
	if (rc == 0 && kind == JSON_FALSE)
		rc = request_fail(req, QLESS_EBADARG, "Multiput(): Data of job %S not JSON: false",
				  job[0]);
	return rc;
}

/* The jobs of the command have `count` arguments, which do not make whole jobs. */
static int fail_jobs(struct request *req, const char *message, size_t count)
{
	if (req->form != REQUEST_NATIVE)
		return request_fail(req, QLESS_EBADARG, "%s", message);
	return request_fail(req, QLESS_EBADARG, "%s; found %g arguments for them", message,
			    (double)count);
}

/* Decode the jobs, which begin at argument `first`. */
static int decode_puts(struct request *req, size_t first, bool is_raw,
		       struct operation_names *ret_jobs)
{
	struct operation_names jobs = request_rest(req, first);
	size_t i;
	int rc = 0;

	if (jobs.count == 0 || jobs.count % CLASSIC_MULTIPUT_JOB_ARGS != 0)
		return fail_jobs(req, "Multiput(): Each job needs a jid, a klass and data",
				 jobs.count);
	for (i = 0; !is_raw && rc == 0 && i < jobs.count; i += CLASSIC_MULTIPUT_JOB_ARGS)
		rc = check_data(req, jobs.items + i, i / CLASSIC_MULTIPUT_JOB_ARGS);
	*ret_jobs = jobs;
	return rc;
}

/* Decode everything before the jobs. *ret_first is the index of the first argument of a job. */
static int decode_before_puts(struct request *req, struct qless_put *common, size_t *ret_first)
{
	struct put_options options;
	int rc;

	*common = (struct qless_put){ 0 };
	rc = decode_common(req, common);
	if (rc == 0)
		rc = read_options(req, &options, ret_first);
	if (rc == 0)
		rc = put_options_decode(req, &options, common);
	return rc;
}

int decode_multiput(struct request *req, struct operation *op)
{
	struct qless_put *common = &op->put_many.common;
	size_t first = 0;
	int rc;

	op->kind = OPERATION_PUT_MANY;
	rc = decode_before_puts(req, common, &first);
	if (rc == 0)
		rc = decode_puts(req, first, common->terms != NULL && common->terms->is_raw,
				 &op->put_many.jobs);
	if (rc == 0)
		rc = term_unique_decode_many(req, common->terms, &op->put_many.jobs,
					     &op->put_many.keys);
	if (rc == 0 && req->last_number != 0)
		term_add_number(req, &common->terms);
	return rc;
}

static int answer_multiput(struct request *req, const struct operation *op,
			   const struct operation_outcome *outcome)
{
	const struct operation_names *jobs = &op->put_many.jobs;
	size_t i;

	(void)outcome;
	reply_array(req->reply, jobs->count / CLASSIC_MULTIPUT_JOB_ARGS);
	for (i = 0; i < jobs->count; i += CLASSIC_MULTIPUT_JOB_ARGS)
		answer_put_end(req, i / CLASSIC_MULTIPUT_JOB_ARGS, jobs->items[i]);
	return 0;
}

bool classic_check_multiput(struct request *req)
{
	size_t first = classic_multiput_jobs(req->args, req->nargs, req->form);
	size_t max_jobs = qless_get_limits(req->engine)->max_jobs;
	struct checking_jobs jobs = { .step = CLASSIC_MULTIPUT_JOB_ARGS, .ends_with_error = true };
	struct qless_put common;
	int rc;

	/* The command fails at once. */
	if (first >= req->nargs || (req->nargs - first) % jobs.step != 0 ||
	    (req->nargs - first) / jobs.step > max_jobs)
		return false;
	if (!checking_is_needed(req, first, jobs.step))
		return false;
	rc = decode_before_puts(req, &common, &jobs.first);
	if (rc == 0 && common.terms != NULL) {
		jobs.is_raw = common.terms->is_raw;
		jobs.makes_keys = common.terms->has_unique && common.terms->unique.key.len == 0;
	}
	scratch_forget_decoded(req->scratch);
	req->is_said = false;
	if (rc < 0 || (jobs.is_raw && !jobs.makes_keys))
		return false;
	checking_begin(req, &jobs);
	return true;
}

int classic_multiput(struct request *req)
{
	size_t first = classic_multiput_jobs(req->args, req->nargs, req->form);
	size_t jobs = (req->nargs - first) / CLASSIC_MULTIPUT_JOB_ARGS;
	uint32_t queues = swapped_count_queues(req);
	int rc = request_check_jobs(req, jobs);

	if (rc == 0 && req->form != REQUEST_NATIVE && classic_check_multiput(req))
		return 0;
	if (rc == 0 && jobs > 1)
		rc = links_check_call(req);
	if (rc < 0)
		return rc;
	rc = request_strict_operation(req, decode_multiput, strict_put_many, answer_multiput);
	if (rc == 0)
		swapped_note_put(req, queues, ARG_WORKER);
	return rc;
}

/* Number of jobs from the one that is changed to the one whose place in the table is fetched from
 * memory. Without this, a call for many jobs mostly waits for memory. */
#define PREFETCH_JOBS 4

/* ---- multicomplete ---- */

/* Arguments of each job: its jid and its data. */
#define MULTICOMPLETE_JOB_ARGS 2

/* Add job number `i` of the command to the operation. Fails if its data is not JSON: the engine
 * never sees such a job. */
static int add_completion(struct request *req, const struct qless_str *job, size_t i,
			  struct operation *op)
{
	struct qless_str *texts = req->scratch->decoded.texts;
	struct qless_str data;
	enum json_kind kind;
	int rc = req->checking != NULL ? checking_recall(req, i, &kind)
				       : request_json_text(req, "data", job[1], &kind);

	rc = raw_data_settle_checked(req, job[0], rc, job[1], &kind, &data);
	if (rc == 0 && kind == JSON_FALSE)
		rc = request_fail(req, QLESS_EBADARG,
				  "Complete(): Arg \"data\" missing or not JSON: false");
	if (rc < 0)
		return rc;
	texts[op->complete_many.jobs.count++] = job[0];
	texts[op->complete_many.jobs.count++] = data;
	return 0;
}

/* Decode the operation without jobs; *ret_jobs are the jobs of the command. */
static int decode_completions(struct request *req, struct operation *op,
			      struct operation_names *ret_jobs)
{
	struct qless_str *texts;
	int rc;

	op->kind = OPERATION_COMPLETE_MANY;
	op->complete_many.has_purge_end = false;
	rc = request_need(req, 0, "Multicomplete(): Arg \"worker\" missing",
			  &op->complete_many.worker);
	if (rc == 0)
		rc = request_need(req, 1, "Multicomplete(): Arg \"queue\" missing",
				  &op->complete_many.queue);
	if (rc < 0)
		return rc;
	if (req->nargs == 2 || req->nargs % 2 != 0)
		return fail_jobs(req, "Multicomplete(): Each job needs a jid and data",
				 req->nargs - 2);
	*ret_jobs = request_rest(req, 2);
	texts = mem_realloc_array(NULL, ret_jobs->count, sizeof(*texts));
	request_lists(req)->texts = texts;
	op->complete_many.jobs = (struct operation_names){ texts, 0 };
	return 0;
}

int decode_multicomplete(struct request *req, struct operation *op)
{
	struct operation_names jobs;
	size_t i;
	int rc = decode_completions(req, op, &jobs);

	if (rc < 0)
		return rc;
	for (i = 0; i < jobs.count; i += 2) {
		if (add_completion(req, jobs.items + i, i / MULTICOMPLETE_JOB_ARGS, op) < 0)
			req->is_said = false;
	}
	return 0;
}

/* Returns whether the data is checked in parts, see checking.h. */
static bool check_completions(struct request *req, struct operation_names jobs)
{
	size_t first = req->nargs - jobs.count;

	if (!checking_is_needed(req, first, MULTICOMPLETE_JOB_ARGS))
		return false;
	scratch_forget_decoded(req->scratch);
	checking_begin(req,
		       &(struct checking_jobs){ .first = first, .step = MULTICOMPLETE_JOB_ARGS });
	return true;
}

int classic_multicomplete(struct request *req)
{
	struct operation_outcome outcome = { .changed = false };
	const struct user *viewer = permit_viewer(req);
	struct operation_names jobs;
	struct operation op;
	const size_t ahead = PREFETCH_JOBS * MULTICOMPLETE_JOB_ARGS;
	size_t purges_left = purging_begin(req);
	size_t part = 0;
	size_t i;
	int rc = decode_completions(req, &op, &jobs);

	if (rc == 0)
		rc = request_check_jobs(req, jobs.count / 2);
	if (rc == 0 && jobs.count > 2)
		rc = links_check_call(req);
	if (rc < 0)
		return rc;
	if (check_completions(req, jobs))
		return 0;
	reply_array(req->reply, jobs.count / 2);
	for (i = 0; i < jobs.count; i += 2) {
		if (i + ahead < jobs.count)
			qless_prefetch(req->engine, jobs.items[i + ahead]);
		if (!admission_check_jid(req, viewer, jobs.items[i], ACL_WRITE))
			continue;
		rc = add_completion(req, jobs.items + i, i / MULTICOMPLETE_JOB_ARGS, &op);
		if (rc == 0) {
			purging_limit_part(req, &op, part, &purges_left);
			rc = request_run_part(req, &op, part++, &outcome);
		}
		if (rc == 0)
			answer_bulk(req, qless_state_text(outcome.state));
		else
			answer_error(req, rc);
	}
	request_record(req, &op, &outcome);
	return 0;
}

/* ---- multiheartbeat ---- */

int decode_multiheartbeat(struct request *req, struct operation *op)
{
	int rc;

	op->kind = OPERATION_HEARTBEAT_MANY;
	rc = request_need(req, 0, "Multiheartbeat(): Arg \"worker\" missing",
			  &op->heartbeat_many.worker);
	if (rc == 0 && !request_has(req, 1))
		rc = request_fail(req, QLESS_EBADARG, "Multiheartbeat(): Arg \"jid\" missing");
	if (rc == 0)
		op->heartbeat_many.jids = request_rest(req, 1);
	return rc;
}

/* Adds a jid to the operation, and returns its place there. */
static size_t keep_jid(struct request *req, struct operation *op, struct qless_str jid)
{
	struct qless_str *texts = req->scratch->decoded.texts;

	texts[op->heartbeat_many.jids.count] = jid;
	return op->heartbeat_many.jids.count++;
}

int classic_multiheartbeat(struct request *req)
{
	struct operation_outcome outcome = { .changed = false };
	const struct user *viewer = permit_viewer(req);
	struct operation op;
	size_t i;
	int rc = decode_multiheartbeat(req, &op);

	if (rc == 0)
		rc = request_check_jobs(req, req->nargs - 1);
	if (rc == 0 && req->nargs > 2)
		rc = links_check_call(req);
	if (rc < 0)
		return rc;
	/* The operation has only the jobs that the user may use. */
	if (viewer != NULL) {
		request_lists(req)->texts =
			mem_realloc_array(NULL, req->nargs, sizeof(req->args[0]));
		op.heartbeat_many.jids = (struct operation_names){ req->scratch->decoded.texts, 0 };
	}
	reply_array(req->reply, req->nargs - 1);
	for (i = 0; i < req->nargs - 1; i++) {
		size_t part = i;

		if (i + PREFETCH_JOBS < req->nargs - 1)
			qless_prefetch(req->engine, req->args[i + 1 + PREFETCH_JOBS]);
		if (!admission_check_jid(req, viewer, req->args[i + 1], ACL_WRITE))
			continue;
		if (viewer != NULL)
			part = keep_jid(req, &op, req->args[i + 1]);
		rc = request_run_part(req, &op, part, &outcome);
		if (rc == 0)
			answer_time(req, outcome.expires);
		else
			answer_error(req, rc);
	}
	request_record(req, &op, &outcome);
	return 0;
}
