/*
 * What the handlers of the classic API share; for classic*.c alone.
 */
#ifndef COMMAND_CLASSIC_INT_H
#define COMMAND_CLASSIC_INT_H

#include <stdint.h>

#include "command/classic.h"
#include "command/databases.h"
#include "command/dialect.h"
#include "command/json.h"
#include "operation/operation.h"

/* Handlers return 0 after one reply has been written, or a negative code with none written: from
 * request_fail(), or from the engine, whose error the dialect then words. */

/* Fail with a text of the classic dialect, in which %S is a struct qless_str, %g a number, and %s a
 * text. The dialect of the request can replace the format and each %s. Returns `code`. */
int request_fail(struct request *req, int code, const char *format, ...);
/* The words of the reference, or clearer ones of our own for the native form. */
static inline const char *request_words(const struct request *req, const char *reference,
					const char *native)
{
	return req->form == REQUEST_NATIVE ? native : reference;
}

/* As if Redis had refused what the script asked of it. */
int request_fail_store(struct request *req, const char *message);

static inline bool request_has(const struct request *req, size_t i)
{
	return i < req->nargs;
}

/* An argument for messages: "nil" if it is missing. */
struct qless_str request_text(const struct request *req, size_t i);

/* The argument, or fail with the message if it is missing. */
int request_need(struct request *req, size_t i, const char *message, struct qless_str *ret_arg);

/* A finite number, or fail with `<message><argument>`; missing is wrong. */
int request_number(struct request *req, size_t i, const char *message, double *ret_number);
/* The same where missing means a default. */
int request_optional_number(struct request *req, size_t i, const char *message, double number,
			    double *ret_number);
bool text_is_number(struct qless_str text, double *ret_number);

/* A page as index range or as limit, from `offset` at argument i and `count` behind it. */
struct classic_page {
	int64_t offset;
	int64_t count;
};

/* Two optional numbers, 0 and 25 if missing. */
int request_page_numbers(struct request *req, size_t i, const char *offset_message,
			 const char *count_message, double *ret_offset, double *ret_count);
int request_index_page(struct request *req, double offset, double count,
		       struct classic_page *ret_page);
int request_limit_page(struct request *req, double offset, double count,
		       struct classic_page *ret_page);

/* How many jobs to take: a number, not negative, an integer. */
int request_count(struct request *req, double number, const char *command, int64_t *ret_count);

/* Well-formed JSON at argument i, or the decoder's message. Missing is wrong. */
int request_json(struct request *req, size_t i, enum json_kind *ret_kind);
int request_json_text(struct request *req, struct qless_str text, enum json_kind *ret_kind);
int request_fail_no_json(struct request *req);

/* Room for lists of what is being decoded. */
struct decoded *request_lists(struct request *req);

/* The arguments from number i on. */
struct operation_names request_rest(const struct request *req, size_t i);

/* Make an operation of the arguments; 0, or a negative code as of a handler. It may look at the
 * state, and changes nothing. Writes no reply: what old logs recorded is decoded, too. */
typedef int decode_fn(struct request *req, struct operation *op);
/* Reply with what came of the operation. */
typedef int answer_fn(struct request *req, const struct operation *op,
		      const struct operation_outcome *outcome);

/* Decode alone. On failure the sentence is in scratch->error. The result is good until the next
 * request that uses the scratch. */
int request_decode(struct request *req, decode_fn *decode, struct operation *ret_op);

/* Run its parts one after the other, from 0 on, with the same outcome. The outcome gathers whether
 * any part has changed something. The caller records the operation after the last part. */
int request_run_part(struct request *req, struct operation *op, size_t i,
		     struct operation_outcome *ret_outcome);
void request_record(struct request *req, struct operation *op,
		    const struct operation_outcome *outcome);

/* What the request says of any operation. */
static inline void request_complete_operation(const struct request *req, struct operation *op)
{
	op->db = req->database->index;
	op->now = req->now;
	op->keeps_data = false;
}

/* Run what was decoded, and record it if it has changed something. */
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

/* Decode, run and answer. Inline, so that the compiler sees which functions these are. */
static inline int request_operation(struct request *req, decode_fn *decode, answer_fn *answer)
{
	struct operation_outcome outcome;
	struct operation op;
	int rc = decode(req, &op);

	if (rc == 0)
		rc = request_run(req, &op, &outcome);
	return rc < 0 ? rc : answer(req, &op, &outcome);
}

/* Null, and the integer 1. */
answer_fn answer_nothing;
answer_fn answer_one;

int answer_integer(struct request *req, double number);
int answer_null(struct request *req);
int answer_bulk(struct request *req, struct qless_str text);
/* What is in scratch->json. */
int answer_json(struct request *req);
int answer_array(struct request *req, const struct qless_str *items, size_t count);

/* What request_fail() or the engine has said last, as a reply. */
void answer_error(struct request *req, int code);

/* Move what has come due, for a command that reads next; unless nothing may change: then what is
 * due reads as if it were not. */
int request_advance(struct request *req, enum qless_advance_kind kind, struct qless_str queue,
		    int64_t max);

/* The room for JSON, emptied. */
struct buf *request_json_buf(struct request *req);

/* classic_job.c */
int classic_get(struct request *req);
int classic_multiget(struct request *req);
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

/* The options of put as they were sent; NULL if one was not. */
struct put_options {
	const struct qless_str *priority;
	const struct qless_str *tags;
	const struct qless_str *retries;
	const struct qless_str *depends;
};

/* Refuse an option that the client's script knows and qlessd lacks; any other unknown one is passed
 * over, as the reference does. */
int request_check_option(struct request *req, const char *command, struct qless_str name);

/* Take an option by its name; false if there is none of that name. */
bool put_option_set(struct put_options *options, struct qless_str name,
		    const struct qless_str *value);
/* Into `put`, which borrows the lists that scratch->decoded keeps. */
int put_options_decode(struct request *req, const struct put_options *options,
		       struct qless_put *put);

/* classic_batch.c */
int classic_multicomplete(struct request *req);
int classic_multiheartbeat(struct request *req);
int classic_multiput(struct request *req);
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

/* classic_recur.c */
int classic_recur(struct request *req);
int classic_unrecur(struct request *req);
int classic_recur_get(struct request *req);
int classic_recur_update(struct request *req);
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
