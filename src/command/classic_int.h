/*
 * What the handlers of the classic API share; for classic*.c alone.
 */
#ifndef COMMAND_CLASSIC_INT_H
#define COMMAND_CLASSIC_INT_H

#include <stdint.h>

#include "command/classic.h"
#include "command/dialect.h"
#include "command/json.h"
#include "operation/operation.h"

/* A command being run. Handlers return 0 after one reply has been written, or a negative code with
 * none written: from call_fail(), or from the engine, whose error the dialect then words. */
struct classic_call {
	struct classic *c;
	struct qless *engine;
	enum classic_form form;
	const struct dialect *dialect;
	const struct json_style *style; /* how this form spells JSON */
	double now;
	const struct qless_str *args;
	size_t count;
	struct reply *reply;
	bool is_said;  /* the error is in c->error, not the engine's */
	bool is_store; /* it is one the store raised under the script, not the script itself */
};

/* A sentence with %S for a struct qless_str, %s, %g; returns `code`. */
int call_fail(struct classic_call *call, int code, const char *format, ...);
/* As if Redis had refused what the script asked of it. */
int call_fail_store(struct classic_call *call, const char *message);

static inline bool call_has(const struct classic_call *call, size_t i)
{
	return i < call->count;
}

/* An argument for messages: "nil" if it is missing. */
struct qless_str call_text(const struct classic_call *call, size_t i);

/* The argument, or fail with the message if it is missing. */
int call_need(struct classic_call *call, size_t i, const char *message, struct qless_str *ret_arg);

/* A finite number, or fail with `<message><argument>`; missing is wrong. */
int call_number(struct classic_call *call, size_t i, const char *message, double *ret_number);
/* The same where missing means a default. */
int call_optional_number(struct classic_call *call, size_t i, const char *message, double number,
			 double *ret_number);
bool text_is_number(struct qless_str text, double *ret_number);

/* A page as index range or as limit, from `offset` at argument i and `count` behind it. */
struct classic_page {
	int64_t offset;
	int64_t count;
};

/* Two optional numbers, 0 and 25 if missing. */
int call_page_numbers(struct classic_call *call, size_t i, const char *offset_message,
		      const char *count_message, double *ret_offset, double *ret_count);
int call_index_page(struct classic_call *call, double offset, double count,
		    struct classic_page *ret_page);
int call_limit_page(struct classic_call *call, double offset, double count,
		    struct classic_page *ret_page);

/* How many jobs to take: a number, not negative, an integer. */
int call_count(struct classic_call *call, double number, const char *command, int64_t *ret_count);

/* Well-formed JSON at argument i, or the decoder's message. Missing is wrong. */
int call_json(struct classic_call *call, size_t i, enum json_kind *ret_kind);
int call_json_text(struct classic_call *call, struct qless_str text, enum json_kind *ret_kind);
int call_fail_no_json(struct classic_call *call);

/* Room for lists of what is being decoded. */
struct classic_decoded *call_lists(struct classic_call *call);

/* The arguments from number i on. */
struct operation_names call_rest(const struct classic_call *call, size_t i);

/* Make an operation of the arguments; 0, or a negative code as of a handler. It may look at the
 * state, and changes nothing. Writes no reply: what old logs recorded is decoded, too. */
typedef int decode_fn(struct classic_call *call, struct operation *op);
/* Reply with what came of the operation. */
typedef int answer_fn(struct classic_call *call, const struct operation *op,
		      const struct operation_outcome *outcome);

/* Run what was decoded, or one part of it. */
int call_run(struct classic_call *call, struct operation *op,
	     struct operation_outcome *ret_outcome);
int call_part(struct classic_call *call, struct operation *op, size_t i,
	      struct operation_outcome *ret_outcome);

/* Decode, run and answer. Inline, so that the compiler sees which functions these are. */
static inline int call_operation(struct classic_call *call, decode_fn *decode, answer_fn *answer)
{
	struct operation_outcome outcome;
	struct operation op;
	int rc = decode(call, &op);

	if (rc == 0)
		rc = call_run(call, &op, &outcome);
	return rc < 0 ? rc : answer(call, &op, &outcome);
}

/* Null, and the integer 1. */
answer_fn answer_nothing;
answer_fn answer_one;

int answer_integer(struct classic_call *call, double number);
int answer_null(struct classic_call *call);
int answer_bulk(struct classic_call *call, struct qless_str text);
/* What is in c->json. */
int answer_json(struct classic_call *call);
int answer_array(struct classic_call *call, const struct qless_str *items, size_t count);

/* What call_fail() or the engine has said last, as a reply. */
void answer_error(struct classic_call *call, int code);

/* Move what has come due, for a command that reads next; unless nothing may change: then what is
 * due reads as if it were not. */
int call_advance(struct classic_call *call, enum qless_advance_kind kind, struct qless_str queue,
		 int64_t max);

/* The room for JSON, emptied. */
struct buf *call_json_buf(struct classic_call *call);

/* classic_job.c */
int classic_get(struct classic_call *call);
int classic_multiget(struct classic_call *call);
int classic_put(struct classic_call *call);
int classic_requeue(struct classic_call *call);
int classic_pop(struct classic_call *call);
int classic_peek(struct classic_call *call);
int classic_heartbeat(struct classic_call *call);
int classic_complete(struct classic_call *call);
int classic_fail(struct classic_call *call);
int classic_retry(struct classic_call *call);
int classic_timeout(struct classic_call *call);
int classic_cancel(struct classic_call *call);
int classic_depends(struct classic_call *call);
int classic_priority(struct classic_call *call);
int classic_log(struct classic_call *call);
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
int call_check_option(struct classic_call *call, const char *command, struct qless_str name);

/* Take an option by its name; false if there is none of that name. */
bool put_option_set(struct put_options *options, struct qless_str name,
		    const struct qless_str *value);
/* Into `put`, which borrows the lists that c->decoded keeps. */
int put_options_decode(struct classic_call *call, const struct put_options *options,
		       struct qless_put *put);

/* classic_batch.c */
int classic_multicomplete(struct classic_call *call);
int classic_multiheartbeat(struct classic_call *call);
int classic_multiput(struct classic_call *call);
decode_fn decode_multicomplete;
decode_fn decode_multiheartbeat;
decode_fn decode_multiput;

/* classic_queue.c */
int classic_queues(struct classic_call *call);
int classic_length(struct classic_call *call);
int classic_stats(struct classic_call *call);
int classic_jobs(struct classic_call *call);
int classic_failed(struct classic_call *call);
int classic_unfail(struct classic_call *call);
int classic_pause(struct classic_call *call);
int classic_unpause(struct classic_call *call);
int classic_queue_forget(struct classic_call *call);
int classic_workers(struct classic_call *call);
int classic_worker_deregister(struct classic_call *call);
decode_fn decode_unfail;
decode_fn decode_pause;
decode_fn decode_unpause;
decode_fn decode_queue_forget;
decode_fn decode_worker_deregister;

/* classic_recur.c */
int classic_recur(struct classic_call *call);
int classic_unrecur(struct classic_call *call);
int classic_recur_get(struct classic_call *call);
int classic_recur_update(struct classic_call *call);
int classic_recur_tag(struct classic_call *call);
int classic_recur_untag(struct classic_call *call);
decode_fn decode_recur;
decode_fn decode_unrecur;
decode_fn decode_recur_update;
decode_fn decode_recur_tag;
decode_fn decode_recur_untag;

/* classic_tag.c */
int classic_tag(struct classic_call *call);
int classic_track(struct classic_call *call);
decode_fn decode_tag;
decode_fn decode_track;

/* classic_check.c */
int classic_consistencycheck(struct classic_call *call);
decode_fn decode_consistencycheck;

/* classic_config.c */
int classic_config_get(struct classic_call *call);
int classic_config_set(struct classic_call *call);
int classic_config_unset(struct classic_call *call);
decode_fn decode_config_set;
decode_fn decode_config_unset;

#endif
