/*
 * Functions that the handlers of the queue commands share. For classic*.c, and for legacy.c, which
 * decodes with them.
 */
#ifndef COMMAND_CLASSIC_INT_H
#define COMMAND_CLASSIC_INT_H

#include <stdint.h>

#include "command/classic.h"
#include "command/databases.h"
#include "command/dialect.h"
#include "command/json.h"
#include "command/strict.h"
#include "command/term_options.h"
#include "operation/operation.h"

/* A handler writes one reply and returns 0. If it fails, it writes none and returns a negative
 * code: that of request_fail(), or the engine's, whose error the dialect then words. */

/* Fail with a text of the classic dialect, in which %S is a struct qless_str, %g a number, and %s a
 * text. The dialect of the request can replace the format and each %s. Returns `code`. */
int request_fail(struct request *req, int code, const char *format, ...);

/* Word a text that is no error, with the same formats. Valid until the next text or error. */
struct qless_str request_word(struct request *req, const char *format, ...);

/* Fail with an error that the script gets from Redis. */
int request_fail_store(struct request *req, const char *message);

/* Whether an argument is a literal word: in any case in the native form, and in lower case in the
 * forms of the reference. */
static inline bool request_is_word(const struct request *req, struct qless_str arg,
				   struct qless_str word)
{
	return req->form == REQUEST_NATIVE ? str_equal_nocase(arg, word) : str_equal(arg, word);
}

static inline bool request_has(const struct request *req, size_t i)
{
	return i < req->nargs;
}

/* An argument for a message; "nil" if it is missing. */
struct qless_str request_text(const struct request *req, size_t i);

/* Return the argument. Fails with the message if the argument is missing. */
static inline int request_need(struct request *req, size_t i, const char *message,
			       struct qless_str *ret_arg)
{
	if (!request_has(req, i)) {
		request_fail(req, QLESS_EBADARG, "%s", message);
		return QLESS_EBADARG; /* so that the compiler knows that this is a failure */
	}
	*ret_arg = req->args[i];
	return 0;
}

/* Return a finite number. Fails with `<message><argument>` if the argument is none, or is missing.
 */
int request_number(struct request *req, size_t i, const char *message, double *ret_number);
/* Like request_number(), but a missing argument means `number`. */
int request_optional_number(struct request *req, size_t i, const char *message, double number,
			    double *ret_number);
/* Like these two. In the native form the number must be whole, from `min` to STRICT_NUMBER_MAX. */
int request_whole(struct request *req, size_t i, const char *message, double min,
		  double *ret_number);
int request_optional_whole(struct request *req, size_t i, const char *message, double min,
			   double number, double *ret_number);
/* Whether a text is a finite number as Lua reads it. */
bool text_is_number(struct qless_str text, double *ret_number);
/* The same for an argument: a native command takes decimal numbers alone. */
bool request_reads_number(const struct request *req, struct qless_str text, double *ret_number);

/* A page of a list, as an index range or as a limit. */
struct classic_page {
	int64_t offset;
	int64_t count;
};

/* Read the optional numbers of a page at arguments i and i + 1; they default to 0 and 25. */
int request_page_numbers(struct request *req, size_t i, const char *offset_message,
			 const char *count_message, double *ret_offset, double *ret_count);
int request_index_page(struct request *req, double offset, double count,
		       struct classic_page *ret_page);
int request_limit_page(struct request *req, double offset, double count,
		       struct classic_page *ret_page);

/* Return a number of jobs: an integer, not negative. */
int request_count(struct request *req, double number, const char *command, int64_t *ret_count);

/* Check that a command may name this many jobs. */
int request_check_jobs(struct request *req, size_t count);

/* Check that a text is well-formed JSON. Fails with the message of the JSON parser. A native error
 * also names the argument. */
int request_json_text(struct request *req, const char *argument, struct qless_str text,
		      enum json_kind *ret_kind);
int request_fail_no_json(struct request *req);

/* Check a text that should be an array of names. Fails with `message` and the limit if a long array
 * has more than `max` elements, before they are read. */
int request_json_list(struct request *req, const char *argument, struct qless_str text, size_t max,
		      const char *message, enum json_kind *ret_kind);
#define TOO_MANY_TAGS	      "A job would have more tags than max-tags"
#define TOO_MANY_DEPENDENCIES "A job would have more dependencies than max-dependencies"

/* Check the data of a job in argument i, which must not be missing either. */
static inline int request_json(struct request *req, size_t i, enum json_kind *ret_kind)
{
	if (!request_has(req, i))
		return request_fail_no_json(req);
	return request_json_text(req, "data", req->args[i], ret_kind);
}

/* Lists for the operation that is being decoded; see struct decoded. */
struct decoded *request_lists(struct request *req);
/* Copy a text that stays valid until the end of the request. */
struct qless_str request_keep(struct request *req, struct qless_str text);

/* The arguments from number i to the last. */
struct operation_names request_rest(const struct request *req, size_t i);

/* Make an operation of the arguments. Returns 0, or a negative code like a handler. A decoder may
 * read the state, changes nothing, and writes no reply, because it also decodes old logs. */
typedef int decode_fn(struct request *req, struct operation *op);
/* Write the reply for the outcome of an operation. */
typedef int answer_fn(struct request *req, const struct operation *op,
		      const struct operation_outcome *outcome);

/* Decode without running. On failure the message is in scratch->error. The result is valid until
 * the next request with this scratch. */
int request_decode(struct request *req, decode_fn *decode, struct operation *ret_op);

/* Run one part of an operation. The caller runs all parts in order with the same outcome, which
 * remembers if any part changed something, and then calls request_record(). */
int request_run_part(struct request *req, struct operation *op, size_t i,
		     struct operation_outcome *ret_outcome);
void request_record(struct request *req, struct operation *op,
		    const struct operation_outcome *outcome);

/* Set what all operations have: database and time. */
static inline void request_complete_operation(const struct request *req, struct operation *op)
{
	op->db = req->database->index;
	op->now = req->now;
	op->keeps_data = false;
}

/* Run an operation, and record it if it changed something. */
static inline int request_run(struct request *req, struct operation *op,
			      struct operation_outcome *ret_outcome)
{
	int rc;

	request_complete_operation(req, op);
	rc = operation_run(req->engine, op, ret_outcome);
	req->until = ret_outcome->until;
	if (ret_outcome->changed && req->database->recorder != NULL)
		request_record(req, op, ret_outcome);
	return rc;
}

/* Decode, run and reply. `strict` also checks the operation if the command is native; it may be
 * NULL. Always inline, so that the compiler can inline the functions, too. */
static inline __attribute__((always_inline)) int request_strict_operation(struct request *req,
									  decode_fn *decode,
									  strict_fn *strict,
									  answer_fn *answer)
{
	struct operation_outcome outcome;
	struct operation op;
	int rc = decode(req, &op);

	if (rc == 0 && strict != NULL && req->form == REQUEST_NATIVE)
		rc = strict(req, &op);
	if (rc == 0)
		rc = request_run(req, &op, &outcome);
	return rc < 0 ? rc : answer(req, &op, &outcome);
}

static inline __attribute__((always_inline)) int request_operation(struct request *req,
								   decode_fn *decode,
								   answer_fn *answer)
{
	return request_strict_operation(req, decode, NULL, answer);
}

/* Reply with null, or with the integer 1. */
answer_fn answer_nothing;
answer_fn answer_one;

int answer_integer(struct request *req, double number);
/* Reply with a time in whole seconds. The last second that an integer can name stands for later
 * ones, and 1970 for those before the first. */
int answer_time(struct request *req, double seconds);
int answer_null(struct request *req);
int answer_bulk(struct request *req, struct qless_str text);
/* Reply with the text in scratch->json. */
int answer_json(struct request *req);
int answer_array(struct request *req, const struct qless_str *items, size_t count);

/* Reply with the last error, of request_fail() or of the engine. */
void answer_error(struct request *req, int code);
/* Reply with QLESS_EBADARG, the last error, and the arguments that the native command expects. */
void answer_expected(struct request *req);

/* Move jobs that have come due, before a command lists them. Does nothing if nothing may change
 * now: then the command lists them as if they were not due yet. */
int request_advance(struct request *req, enum qless_advance_kind kind, struct qless_str queue,
		    int64_t max);

/* The buffer for JSON, emptied. */
struct buf *request_json_buf(struct request *req);

/* classic_multiget.c */
int classic_multiget(struct request *req);

/* classic_job.c */
int classic_get(struct request *req);
int classic_put(struct request *req);
int classic_requeue(struct request *req);
int classic_pop(struct request *req);
int classic_peek(struct request *req);
int classic_heartbeat(struct request *req);
int classic_complete(struct request *req);
int classic_fail(struct request *req);
int classic_retry(struct request *req);
int classic_timeout(struct request *req);
int classic_cancel(struct request *req);
int classic_depends(struct request *req);
int classic_priority(struct request *req);
int classic_log(struct request *req);
decode_fn decode_put;
decode_fn decode_requeue;
decode_fn decode_pop;
decode_fn decode_heartbeat;
decode_fn decode_complete;
decode_fn decode_fail;
decode_fn decode_retry;
decode_fn decode_timeout;
decode_fn decode_cancel;
decode_fn decode_depends;
decode_fn decode_priority;
decode_fn decode_log;

/* The options of put as the client sent them; NULL if it did not. The reference lacks the last two
 * members. */
struct put_options {
	const struct qless_str *priority;
	const struct qless_str *tags;
	const struct qless_str *retries;
	const struct qless_str *depends;
	const struct qless_str *limits;
	struct term_options terms;
};

/* Read the options of a native put from argument `first` to the one before `end`. */
int put_options_read(struct request *req, size_t first, size_t end, enum term_user user,
		     struct put_options *ret);
/* Reply about put number `i` of a call whose puts have terms: with the jid if it put the job. */
int answer_put_end(struct request *req, size_t i, struct qless_str jid);

/* Refuse an option that the client's script knows and qlessd lacks. Other unknown options are
 * ignored, as in the reference. */
int request_check_option(struct request *req, const char *command, struct qless_str name);

/* Set an option by its name, as the reference does. Returns false if there is no such option. */
bool put_option_set(struct put_options *options, struct qless_str name,
		    const struct qless_str *value);
/* Decode the options into `put`, which has none yet, and borrows lists from scratch->decoded. */
int put_options_decode(struct request *req, const struct put_options *options,
		       struct qless_put *put);

/* Decode the option `limits` of a native command: the names of limits that a job counts under.
 * Borrows from scratch->decoded. Fails like a decoder. */
int limit_names_decode(struct request *req, struct qless_str text,
		       struct operation_names *ret_names);

/* classic_batch.c */
int classic_multicomplete(struct request *req);
int classic_multiheartbeat(struct request *req);
int classic_multiput(struct request *req);
/* Returns whether the data of a MULTIPUT is checked in parts, see checking.h. Then the command has
 * begun, and the caller returns. */
bool classic_check_multiput(struct request *req);
decode_fn decode_multicomplete;
decode_fn decode_multiheartbeat;
decode_fn decode_multiput;

/* classic_queue.c */
int classic_queues(struct request *req);
int classic_length(struct request *req);
int classic_stats(struct request *req);
int classic_jobs(struct request *req);
int classic_failed(struct request *req);
int classic_unfail(struct request *req);
int classic_pause(struct request *req);
int classic_unpause(struct request *req);
int classic_queue_forget(struct request *req);
int classic_workers(struct request *req);
int classic_worker_deregister(struct request *req);
decode_fn decode_unfail;
decode_fn decode_pause;
decode_fn decode_unpause;
decode_fn decode_queue_forget;
decode_fn decode_worker_deregister;

/*
 * A worker whose reply was cut would hold jobs that it does not know. So a pop hands out only as
 * many jobs as fit into a reply and take little time.
 */

/* Find how many bytes of jobs may be handed out. Fails if the reply is full. */
int pop_find_room(struct request *req, size_t *ret_room);
/* Lower the count of the pop to what fits. Before that, moves what is due, because it could change
 * which jobs come next. */
int pop_limit(struct request *req, struct operation *op, size_t room);

/* native_pop.c */
int native_mpop(struct request *req);
int native_bpop(struct request *req);
/* Reads the seconds after which a command that waits gives up. */
int request_timeout(struct request *req, struct qless_str text, double *ret_seconds);

/* native_report.c */
int native_job_start(struct request *req);
int native_job_progress(struct request *req);
int native_job_meta(struct request *req);
decode_fn decode_job_start;
decode_fn decode_job_progress;
decode_fn decode_job_meta;

/* native_end.c */
int native_job_abort(struct request *req);
int native_job_delete(struct request *req);
decode_fn decode_job_abort;
decode_fn decode_job_delete;

/* native_wait.c */
int native_job_wait(struct request *req);
int native_job_result(struct request *req);

/* native_worker.c */
int native_worker_attach(struct request *req);
int native_worker_detach(struct request *req);
int native_worker_heartbeat(struct request *req);
int native_worker_release(struct request *req);

/* native_limit.c */
int native_limit_set(struct request *req);
int native_limit_get(struct request *req);
int native_limit_delete(struct request *req);
int native_limit_hold(struct request *req);
decode_fn decode_limit_set;
decode_fn decode_limit_delete;
decode_fn decode_limit_hold;

/* native_limit_list.c */
int native_limit_list(struct request *req);

/* native_queue_count.c */
int native_queue_count(struct request *req);

/* native_queue_jobs.c */
int native_queue_jobs(struct request *req);

/* native_recur_list.c */
int native_recur_list(struct request *req);

/* native_search.c */
int native_job_search(struct request *req);

/* native_why.c */
int native_job_why(struct request *req);

/* native_worker_list.c */
int native_worker_list(struct request *req);
/* Appends a member with the connection of the worker, if it is attached and the form is native. */
void append_attachment(struct request *req, struct buf *json, struct qless_str worker);

/* classic_recur.c */
int classic_recur(struct request *req);
int classic_unrecur(struct request *req);
int classic_recur_get(struct request *req);
int classic_recur_update(struct request *req);
int native_recur_next(struct request *req);
int classic_recur_tag(struct request *req);
int classic_recur_untag(struct request *req);
decode_fn decode_recur;
decode_fn decode_unrecur;
decode_fn decode_recur_update;
decode_fn decode_recur_tag;
decode_fn decode_recur_untag;

/* classic_tag.c */
int classic_tag(struct request *req);
int classic_track(struct request *req);
decode_fn decode_tag;
decode_fn decode_track;

/* classic_check.c */
int classic_consistencycheck(struct request *req);
decode_fn decode_consistencycheck;

/* classic_config.c */
int classic_config_get(struct request *req);
int classic_config_set(struct request *req);
int classic_config_unset(struct request *req);
decode_fn decode_config_set;
decode_fn decode_config_unset;

#endif
