/*
 * Queue commands on single jobs: their life from put to complete.
 */
#include "command/classic_int.h"
#include "command/complete_args.h"
#include "command/job_reply.h"
#include "command/links.h"
#include "command/listing.h"
#include "command/options.h"
#include "command/popping.h"
#include "command/purging.h"
#include "command/raw_data.h"
#include "command/swapped.h"
#include "command/term_options.h"

#include <string.h>

#include "command/permit.h"
#include "util/mem.h"

#define NO_JID	 "Job(): no jid provided"
#define NO_QUEUE "Queue(): no queue name provided"

/* A pop hands out jobs until their bytes are this part of the room of the reply. JSON writes a byte
 * in at most six, as in \u007f. */
#define POP_ROOM 8
/* Bytes of jobs that a pop hands out at most, so that it does not hold up other clients. */
#define POP_BYTES_MAX ((size_t)4 * 1024 * 1024)

static int reply_jobs(struct request *req, const struct qless_jobs *jobs)
{
	struct job_reply reply;
	size_t i;

	job_reply_begin(&reply, req);
	for (i = 0; i < jobs->count && job_reply_add(&reply, jobs->items[i]); i++)
		continue;
	return job_reply_end(&reply);
}

int classic_get(struct request *req)
{
	const struct qless_job *job;
	struct qless_str jid;
	int rc = request_need(req, 0, NO_JID, &jid);

	if (rc < 0)
		return rc;
	job = qless_get(req->engine, jid);
	if (job == NULL || !reply_is_wanted(req->reply))
		return answer_null(req);
	json_append_job(request_json_buf(req), job, req->style, req->now);
	return answer_json(req);
}

/* ---- put ---- */

/* Returns where the value of an option goes, or NULL if there is none of this name. */
static inline const struct qless_str **find_put_option(struct put_options *options,
						       struct qless_str name)
{
	if (str_equal(name, STR("priority")))
		return &options->priority;
	if (str_equal(name, STR("tags")))
		return &options->tags;
	if (str_equal(name, STR("retries")))
		return &options->retries;
	if (str_equal(name, STR("depends")))
		return &options->depends;
	return NULL;
}

bool put_option_set(struct put_options *options, struct qless_str name,
		    const struct qless_str *value)
{
	const struct qless_str **option = find_put_option(options, name);

	if (option == NULL)
		return false;
	*option = value;
	return true;
}

bool classic_is_put_option(struct qless_str name)
{
	struct put_options options;

	return put_option_set(&options, name, NULL);
}

/* The options that only native commands have are rarely sent, so they are looked for last. */
static inline const struct qless_str **find_native_put_option(struct put_options *options,
							      struct qless_str name)
{
	const struct qless_str **option = find_put_option(options, name);

	if (option != NULL)
		return option;
	if (str_equal(name, STR("limits")))
		return &options->limits;
	return str_equal(name, STR("unique")) ? &options->terms.unique : NULL;
}

/* Options besides terms. */
#define PUT_SLOTS 5

/* Options in any case, terms, and what is none. */
static int read_other_put_options(struct request *req, size_t first, size_t end,
				  enum term_user user, struct put_options *options)
{
	struct option_slot slots[PUT_SLOTS + TERM_SLOTS_MAX] = {
		{ STR_INIT("priority"), &options->priority, 1 },
		{ STR_INIT("tags"), &options->tags, 1 },
		{ STR_INIT("retries"), &options->retries, 1 },
		{ STR_INIT("depends"), &options->depends, 1 },
		{ STR_INIT("limits"), &options->limits, 1 },
	};
	size_t terms = term_options_slots(user, &options->terms, slots + PUT_SLOTS);

	return options_read(req, first, end, slots, PUT_SLOTS + terms);
}

/* Most clients send options in lower case, which are cheaper to find. */
int put_options_read(struct request *req, size_t first, size_t end, enum term_user user,
		     struct put_options *ret)
{
	*ret = (struct put_options){ .priority = NULL };
	for (; first < end; first += 2) {
		const struct qless_str **option = find_native_put_option(ret, req->args[first]);

		if (option == NULL || *option != NULL || first + 1 >= end)
			return read_other_put_options(req, first, end, user, ret);
		*option = &req->args[first + 1];
	}
	return 0;
}

static int read_put_options(struct request *req, size_t from, enum term_user user,
			    struct put_options *ret)
{
	int rc = 0;

	if (req->form == REQUEST_NATIVE)
		return put_options_read(req, from, req->nargs, user, ret);
	*ret = (struct put_options){ .priority = NULL };
	for (size_t i = from; rc == 0 && i + 1 < req->nargs; i += 2) {
		if (!put_option_set(ret, req->args[i], &req->args[i + 1]))
			rc = request_check_option(req, "Put", req->args[i]);
	}
	return rc;
}

/* Check that an option is well-formed JSON and not `false`, if the client sent it. A long list may
 * have `max` elements. */
static int check_option_json(struct request *req, const char *name, const struct qless_str *text,
			     const char *message, size_t max, const char *too_many)
{
	enum json_kind kind;
	int rc;

	if (text == NULL)
		return 0;
	rc = request_json_list(req, name, *text, max, too_many, &kind);
	if (rc < 0)
		return rc;
	if (kind == JSON_FALSE)
		return request_fail(req, QLESS_EBADARG, "%s%S", message, *text);
	return 0;
}

static int check_option_number(struct request *req, const struct qless_str *text,
			       const char *message, bool *ret_has, double *ret_number)
{
	*ret_has = text != NULL;
	if (text == NULL || request_reads_number(req, *text, ret_number))
		return 0;
	return request_fail(req, QLESS_EBADARG, "%s%S", message, *text);
}

static int read_option_strings(struct request *req, const struct qless_str *text,
			       const char *command, const char *name, struct json_strings *ret)
{
	/* An object for `depends` means no dependency, as in the reference. */
	bool objects = strcmp(name, "depends") == 0;

	if (text == NULL || json_read_strings(*text, objects, ret))
		return 0;
	if (req->form == REQUEST_NATIVE)
		return request_fail(req, QLESS_EBADARG,
				    "%s must be a JSON array of strings; found \"%S\"", name,
				    *text);
	return request_fail(req, QLESS_EBADARG, "%s(): Arg \"%s\" not a JSON array of strings: %S",
			    command, name, *text);
}

/* Check the options in the order of the reference, then the lists in them. */
static int check_put_options(struct request *req, const struct put_options *options,
			     struct qless_put *put)
{
	const struct qless_limits *limits = qless_get_limits(req->engine);
	struct decoded *lists;
	int rc = check_option_number(req, options->retries,
				     "Put(): Arg \"retries\" not a number: ", &put->has_retries,
				     &put->retries);

	if (rc == 0)
		rc = check_option_json(req, "tags", options->tags, "Put(): Arg \"tags\" not JSON",
				       limits->max_tags, TOO_MANY_TAGS);
	if (rc == 0)
		rc = check_option_number(req, options->priority,
					 "Put(): Arg \"priority\" not a number", &put->has_priority,
					 &put->priority);
	if (rc == 0)
		rc = check_option_json(req, "depends", options->depends,
				       "Put(): Arg \"depends\" not JSON: ",
				       limits->max_dependencies, TOO_MANY_DEPENDENCIES);
	if (rc < 0 || (options->tags == NULL && options->depends == NULL))
		return rc;
	lists = request_lists(req);
	rc = read_option_strings(req, options->tags, "Put", "tags", &lists->tags);
	if (rc == 0)
		rc = read_option_strings(req, options->depends, "Put", "depends", &lists->depends);
	return rc;
}

static int check_due(struct request *req, const struct qless_terms *terms, double delay)
{
	if (!terms->has_at || delay == 0)
		return 0;
	return request_fail(req, QLESS_EBADARG,
			    "delay must be 0 with the option \"at\"; found \"%g\"", delay);
}

static int decode_terms(struct request *req, const struct put_options *options,
			struct qless_put *put)
{
	int rc = term_options_decode(req, &options->terms, &put->terms);

	return rc < 0 ? rc : check_due(req, put->terms, put->delay);
}

static bool has_only_terms(const struct put_options *options)
{
	return options->priority == NULL && options->tags == NULL && options->retries == NULL &&
	       options->depends == NULL && options->limits == NULL;
}

int put_options_decode(struct request *req, const struct put_options *options,
		       struct qless_put *put)
{
	const struct decoded *lists = &req->scratch->decoded;
	struct operation_names limits = { NULL, 0 };
	int rc;

	if (has_only_terms(options))
		return term_options_are_absent(&options->terms) ? 0
								: decode_terms(req, options, put);
	rc = check_put_options(req, options, put);
	if (rc == 0 && options->limits != NULL)
		rc = limit_names_decode(req, *options->limits, &limits);
	if (rc == 0 && !term_options_are_absent(&options->terms))
		rc = decode_terms(req, options, put);
	if (rc < 0)
		return rc;
	put->has_limits = options->limits != NULL;
	put->limits = limits.items;
	put->limit_count = limits.count;
	put->has_tags = options->tags != NULL;
	put->tags = lists->tags.items;
	put->tag_count = lists->tags.count;
	put->depends = lists->depends.items;
	put->depend_count = lists->depends.count;
	return 0;
}

/* Whether data that is not JSON is valid, because the put is native and raw. */
static bool takes_any_data(struct request *req, int rc)
{
	if (req->form != REQUEST_NATIVE || !request_has(req, 4) || rc == QLESS_ELIMIT ||
	    !term_options_have_raw(req, 6))
		return false;
	req->is_said = false;
	return true;
}

static int decode_put_args(struct request *req, struct qless_put *put)
{
	enum json_kind kind;
	int rc;

	if (!request_has(req, 1))
		return request_fail(req, QLESS_EBADARG, NO_QUEUE);
	put->worker = req->args[0];
	put->queue = req->args[1];
	rc = request_need(req, 2, "Put(): Arg \"jid\" missing", &put->jid);
	if (rc < 0)
		return rc;
	put->jid_hint = qless_prefetch(req->engine, put->jid);
	rc = request_need(req, 3, "Put(): Arg \"klass\" missing", &put->klass);
	if (rc < 0)
		return rc;
	rc = request_json(req, 4, &kind);
	if (rc == 0 && kind == JSON_FALSE)
		rc = request_fail(req, QLESS_EBADARG,
				  "Put(): Arg \"data\" missing or not JSON: false");
	if (rc < 0 && !takes_any_data(req, rc))
		return rc;
	put->data = req->args[4];
	rc = request_number(req, 5, "Put(): Arg \"delay\" not a number: ", &put->delay);
	if (rc < 0)
		return rc;
	if (req->form != REQUEST_NATIVE && (req->nargs - 6) % 2 != 0)
		return request_fail(req, QLESS_EBADARG,
				    "Odd number of additional args: table: 0x0");
	return 0;
}

/* Leave the bytes of a raw job as they are, if the put has what the client has read. A native PUT
 * states whether the data is raw. */
static void keep_raw(struct request *req, enum term_user user, struct qless_put *put)
{
	if ((req->form == REQUEST_NATIVE && user == TERM_OF_PUT) ||
	    (put->terms != NULL && put->terms->is_raw))
		return;
	if (raw_data_find(req, put->jid, put->data, &put->data))
		term_add_raw(req, &put->terms);
}

/* Whether the put has the option `unique` in lower case, and no other one, as most puts that have
 * terms. */
static inline bool has_only_unique(const struct request *req)
{
	return req->nargs == 8 && req->form == REQUEST_NATIVE &&
	       str_equal(req->args[6], STR("unique"));
}

static int decode_options(struct request *req, enum term_user user, struct qless_put *put)
{
	struct put_options options;
	int rc;

	if (has_only_unique(req))
		return term_options_decode_unique(req, &req->args[7], &put->terms);
	rc = read_put_options(req, 6, user, &options);
	return rc < 0 ? rc : put_options_decode(req, &options, put);
}

/* `user` is the kind of the command. */
static int decode_put_of(struct request *req, struct operation *op, enum term_user user)
{
	int rc;

	op->kind = OPERATION_PUT;
	op->put = (struct qless_put){ 0 };
	rc = decode_put_args(req, &op->put);
	if (rc == 0 && request_has(req, 6))
		rc = decode_options(req, user, &op->put);
	if (rc == 0)
		keep_raw(req, user, &op->put);
	if (rc == 0 && op->put.terms != NULL)
		rc = term_unique_decode(req, op->put.terms, &op->put.klass, &op->put.data,
					op->put.terms->is_raw);
	if (rc == 0 && req->last_number != 0)
		term_add_number(req, &op->put.terms);
	return rc;
}

int decode_put(struct request *req, struct operation *op)
{
	return decode_put_of(req, op, TERM_OF_PUT);
}

/* Reply about put number `i` of the call. */
int answer_put_end(struct request *req, size_t i, struct qless_str jid)
{
	struct qless_str holder;

	switch (qless_read_put_end(req->engine, i, &holder)) {
	case QLESS_PUT_EXISTS:
		return answer_null(req);
	case QLESS_PUT_HELD:
		return answer_bulk(req, holder);
	case QLESS_PUT_DONE:
		break;
	}
	return answer_bulk(req, jid);
}

static int answer_put(struct request *req, const struct operation *op,
		      const struct operation_outcome *outcome)
{
	const struct qless_terms *terms = op->put.terms;

	/* A put that was refused changes nothing, unless it replaces what another job has. */
	if (terms != NULL && (!outcome->changed || terms->unique.replace))
		return answer_put_end(req, 0, op->put.jid);
	return answer_bulk(req, op->put.jid);
}

int classic_put(struct request *req)
{
	uint32_t queues = swapped_count_queues(req);
	int rc = request_strict_operation(req, decode_put, strict_put, answer_put);

	if (rc == 0)
		swapped_note_put(req, queues, 0);
	return rc;
}

int decode_requeue(struct request *req, struct operation *op)
{
	struct qless_str jid;
	int rc = request_need(req, 2, NO_JID, &jid);

	if (rc < 0)
		return rc;
	/* A missing job comes before any invalid argument. */
	if (qless_get(req->engine, jid) == NULL)
		return request_fail(req, QLESS_ENOJOB, "Requeue(): Job %S does not exist", jid);
	rc = decode_put_of(req, op, TERM_OF_REQUEUE);
	op->kind = OPERATION_REQUEUE;
	return rc;
}

int classic_requeue(struct request *req)
{
	uint32_t queues = swapped_count_queues(req);
	int rc = request_strict_operation(req, decode_requeue, strict_put, answer_put);

	if (rc == 0)
		swapped_note_put(req, queues, 0);
	return rc;
}

/* ---- pop and peek ---- */

int decode_pop(struct request *req, struct operation *op)
{
	double number;
	int rc;

	op->kind = OPERATION_POP;
	op->pop.may_stop = op->pop.has_steps = false;
	op->pop.klass = NULL;
	rc = request_need(req, 0, NO_QUEUE, &op->pop.queue);
	if (rc == 0)
		rc = request_need(req, 1, "Pop(): Arg \"worker\" missing", &op->pop.worker);
	if (rc == 0)
		rc = request_whole(req, 2, "Pop(): Arg \"count\" missing or not a number: ", 0,
				   &number);
	if (rc == 0)
		rc = request_count(req, number, "Pop", &op->pop.count);
	return rc;
}

/* Halves the number of jobs until they fit into `room` bytes, together with what is due. */
static int64_t largest_fit(const struct request *req, struct qless_str queue, int64_t count,
			   size_t room)
{
	while (count > 1 &&
	       qless_count_poppable(req->engine, req->now, queue, count, room, true) < count)
		count /= 2;
	return count;
}

int pop_find_room(struct request *req, size_t *ret_room)
{
	if (req->reply->is_full)
		return request_fail(req, QLESS_ELIMIT, REQUEST_NOT_RUN);
	*ret_room = reply_room(req->reply) / POP_ROOM;
	if (*ret_room > POP_BYTES_MAX)
		*ret_room = POP_BYTES_MAX;
	return 0;
}

int pop_limit(struct request *req, struct operation *op, size_t room)
{
	int64_t asked = op->pop.count;
	int64_t due, fit;
	int rc;

	if (asked <= 1)
		return 0;
	due = largest_fit(req, op->pop.queue, asked, room);
	if (due == asked)
		return 0;
	rc = request_advance(req, QLESS_ADVANCE_POP, op->pop.queue, due);
	fit = qless_count_poppable(req->engine, req->now, op->pop.queue, asked, room, false);
	/* The pop itself moves what is still due. */
	op->pop.count = largest_fit(req, op->pop.queue, fit, 2 * room);
	return rc;
}

/* The jobs are few enough, so the limit of the reply does not apply. */
static int answer_pop(struct request *req, const struct operation_outcome *outcome)
{
	size_t max = req->reply->max;
	int rc;

	req->reply->max = REPLY_NO_MAX;
	rc = reply_jobs(req, &outcome->jobs);
	req->reply->max = max;
	return rc;
}

int classic_pop(struct request *req)
{
	struct operation_outcome outcome;
	struct operation op;
	/* A single pop takes no more slots than it may: the engine sees to that. */
	bool is_among_others = req->slots_left != NULL;
	size_t room, slots = popping_begin(req);
	int rc = decode_pop(req, &op);

	if (rc == 0 && req->form == REQUEST_NATIVE)
		rc = strict_pop(req, &op);
	if (rc == 0)
		rc = pop_find_room(req, &room);
	if (rc < 0)
		return rc;
	if (is_among_others)
		op.pop.count = popping_limit(req, op.pop.count, slots);
	rc = pop_limit(req, &op, room);
	op.pop.may_stop = true;
	if (is_among_others)
		popping_begin_looks(req);
	if (rc == 0)
		rc = request_run(req, &op, &outcome);
	if (is_among_others)
		popping_end_looks(req);
	if (rc < 0)
		return rc;
	if (is_among_others)
		popping_take(req, &outcome.jobs, &slots);
	if (outcome.jobs.count == 0)
		swapped_note_pop(req, op.pop.queue, op.pop.worker);
	return answer_pop(req, &outcome);
}

/* Many jobs, over several turns: `kind` is the list of the first part. */

static bool find_peeked(const struct listing *l, const struct request *req,
			struct skipmerge *ret_order)
{
	enum queue_list list =
		l->part + 1 == l->part_count ? (enum queue_list)l->kind : QUEUE_LOCKS;

	return view_queue_order(req->engine, req->args[0], list, ret_order);
}

static size_t write_peeked(struct listing *l, struct request *req, const struct skiplist *list,
			   const struct skipnode *node)
{
	const struct qless_job *job = qless_get(req->engine, list->member(node));

	if (job != NULL)
		json_append_job(listing_next_json(l, req), job, req->style, req->now);
	return 0;
}

static void end_peeked(struct listing *l, struct request *req)
{
	listing_end_json(l, req, req->style->whole);
}

static int peek_many(struct request *req, const struct view_range *ranges, unsigned count)
{
	static const struct listing_form form = { .type = REPLY_TEXT,
						  .find_order = find_peeked,
						  .write = write_peeked,
						  .end = end_peeked };
	struct listing *l = listing_new(&form);

	l->kind = ranges[count - 1].is_reverse ? QUEUE_WORK : QUEUE_LOCKS;
	for (unsigned i = 0; i < count; i++)
		listing_add_range(l, &ranges[i]);
	listing_begin(req, l);
	return 0;
}

/* More jobs than this are written over several turns: they may have much data. */
#define PEEK_AT_ONCE 16

static int reply_peek(struct request *req, struct qless_str queue, int64_t count)
{
	size_t max = qless_get_limits(req->engine)->max_jobs;
	struct view_range ranges[VIEW_RANGES_MAX];
	struct qless_jobs jobs;
	unsigned range_count;
	int rc;

	if (count > PEEK_AT_ONCE && (uint64_t)count <= max) {
		range_count = view_peek(req->engine, req->now, queue, count, ranges);
		if (range_count != 0 &&
		    ranges[0].count + (range_count > 1 ? ranges[1].count : 0) > PEEK_AT_ONCE)
			return peek_many(req, ranges, range_count);
	}
	rc = qless_peek(req->engine, req->now, queue, count, &jobs);
	return rc < 0 ? rc : reply_jobs(req, &jobs);
}

int classic_peek(struct request *req)
{
	struct qless_str queue;
	double number;
	int64_t count;
	int rc = request_need(req, 0, NO_QUEUE, &queue);

	if (rc == 0)
		rc = request_whole(req, 1, "Peek(): Arg \"count\" missing or not a number: ", 0,
				   &number);
	if (rc == 0)
		rc = request_count(req, number, "Peek", &count);
	/* A recurring job may be late for thousands of runs. Like a pop, a peek makes few large
	 * jobs of it, and the next one makes more. */
	if (rc == 0)
		rc = request_advance(req, QLESS_ADVANCE_POP, queue,
				     largest_fit(req, queue, count, POP_BYTES_MAX));
	return rc < 0 ? rc : reply_peek(req, queue, count);
}

/* ---- what workers report ---- */

/* Check new data of a job, which is in argument i. */
static int decode_new_data(struct request *req, struct qless_str jid, size_t i,
			   const struct qless_str **ret_data)
{
	struct qless_str data;
	enum json_kind kind;
	int rc = raw_data_check(req, jid, req->args[i], &kind, &data);

	*ret_data = &req->args[i];
	if (data.ptr != req->args[i].ptr) {
		request_lists(req)->raw = data;
		*ret_data = &request_lists(req)->raw;
	}
	return rc;
}

int decode_heartbeat(struct request *req, struct operation *op)
{
	int rc;

	op->kind = OPERATION_HEARTBEAT;
	op->heartbeat.data = NULL;
	rc = request_need(req, 0, NO_JID, &op->heartbeat.jid);
	if (rc == 0)
		rc = request_need(req, 1, "Heatbeat(): Arg \"worker\" missing",
				  &op->heartbeat.worker);
	if (rc == 0 && request_has(req, 2))
		rc = decode_new_data(req, op->heartbeat.jid, 2, &op->heartbeat.data);
	return rc;
}

static int answer_heartbeat(struct request *req, const struct operation *op,
			    const struct operation_outcome *outcome)
{
	(void)op;
	return answer_time(req, outcome->expires);
}

int classic_heartbeat(struct request *req)
{
	return request_operation(req, decode_heartbeat, answer_heartbeat);
}

/* The options of complete; NULL if the client did not send one. */
struct complete_options {
	const struct qless_str *next;
	const struct qless_str *delay;
	const struct qless_str *depends;
	const struct qless_str *limits; /* native only, as all that follow */
	const struct qless_str *result;
	struct term_options terms;
};

/* Options besides terms. */
#define COMPLETE_SLOTS 5

/* The option LOCK has been taken from the arguments already; see fence_take(). */
static int read_native_complete_options(struct request *req, size_t first,
					struct complete_options *ret)
{
	struct option_slot slots[COMPLETE_SLOTS + TERM_SLOTS_MAX] = {
		{ STR_INIT("next"), &ret->next, 1 },	   { STR_INIT("delay"), &ret->delay, 1 },
		{ STR_INIT("depends"), &ret->depends, 1 }, { STR_INIT("limits"), &ret->limits, 1 },
		{ STR_INIT("result"), &ret->result, 1 },
	};
	size_t terms = term_options_slots(TERM_OF_NEXT, &ret->terms, slots + COMPLETE_SLOTS);

	return options_read(req, first, req->nargs, slots, COMPLETE_SLOTS + terms);
}

/* In the reference, a name at the end without a value resets that option. */
static int read_complete_options(struct request *req, size_t from, struct complete_options *ret)
{
	size_t i;

	*ret = (struct complete_options){ .next = NULL };
	if (req->form == REQUEST_NATIVE)
		return read_native_complete_options(req, from, ret);
	for (i = from; i < req->nargs; i += 2) {
		struct qless_str name = req->args[i];
		const struct qless_str *value = request_has(req, i + 1) ? &req->args[i + 1] : NULL;

		if (str_equal(name, STR("next")))
			ret->next = value;
		else if (str_equal(name, STR("delay")))
			ret->delay = value;
		else if (str_equal(name, STR("depends")))
			ret->depends = value;
	}
	return 0;
}

static int decode_complete_terms(struct request *req, const struct complete_options *options,
				 struct qless_complete *complete)
{
	int rc;

	if (term_options_are_absent(&options->terms))
		return 0;
	if (options->next == NULL)
		return request_fail(req, QLESS_EBADARG, "Option \"%s\" needs the option \"next\"",
				    term_options_first(&options->terms));
	rc = term_options_decode(req, &options->terms, &complete->terms);
	return rc < 0 ? rc : check_due(req, complete->terms, complete->delay);
}

static int decode_complete_limits(struct request *req, const struct complete_options *options,
				  struct qless_complete *complete)
{
	struct operation_names limits;
	int rc;

	if (options->next == NULL)
		return request_fail(req, QLESS_EBADARG,
				    "Option \"limits\" needs the option \"next\"");
	rc = limit_names_decode(req, *options->limits, &limits);
	if (rc < 0)
		return rc;
	complete->has_limits = true;
	complete->limits = limits.items;
	complete->limit_count = limits.count;
	return 0;
}

static int decode_complete_options(struct request *req, const struct complete_options *options,
				   struct qless_complete *complete)
{
	struct decoded *lists;
	int rc;

	complete->next = options->next;
	complete->result = options->result;
	if (options->delay != NULL && !request_reads_number(req, *options->delay, &complete->delay))
		return request_fail(req, QLESS_EBADARG, "assertion failed!", *options->delay);
	rc = check_option_json(
		req, "depends", options->depends, "Complete(): Arg \"depends\" not JSON: ",
		qless_get_limits(req->engine)->max_dependencies, TOO_MANY_DEPENDENCIES);
	if (rc < 0)
		return rc;
	if (options->delay != NULL && complete->next == NULL)
		return request_fail(req, QLESS_EBADARG,
				    "Complete(): \"delay\" cannot be used without a \"next\".");
	if (options->depends != NULL && complete->next == NULL)
		return request_fail(req, QLESS_EBADARG,
				    "Complete(): \"depends\" cannot be used without a \"next\".");
	if (options->limits != NULL)
		rc = decode_complete_limits(req, options, complete);
	if (rc == 0)
		rc = decode_complete_terms(req, options, complete);
	if (rc < 0 || options->depends == NULL)
		return rc;
	lists = request_lists(req);
	rc = read_option_strings(req, options->depends, "Complete", "depends", &lists->depends);
	complete->depends = lists->depends.items;
	complete->depend_count = lists->depends.count;
	return rc;
}

/* Gives the job the data that it has. */
static int keep_data(struct request *req, struct qless_complete *complete)
{
	const struct qless_job *job = qless_get(req->engine, complete->jid);
	struct qless_job_info info;

	complete->data = STR("");
	req->scratch->flat_text.ptr = NULL;
	if (job == NULL)
		return 0;
	qless_job_read(job, &info);
	complete->data = info.data;
	return 0;
}

/* `has_data` is whether the data is among the arguments. */
static int decode_complete_args(struct request *req, bool has_data, struct qless_complete *complete)
{
	enum json_kind kind;
	int rc = request_need(req, 0, NO_JID, &complete->jid);

	if (rc < 0)
		return rc;
	complete->jid_hint = qless_prefetch(req->engine, complete->jid);
	rc = request_need(req, 1, "Complete(): Arg \"worker\" missing", &complete->worker);
	if (rc == 0)
		rc = request_need(req, 2, "Complete(): Arg \"queue\" missing", &complete->queue);
	if (rc == 0 && !has_data)
		return keep_data(req, complete);
	if (rc == 0 && !request_has(req, 3))
		rc = request_fail_no_json(req);
	if (rc < 0)
		return rc;
	rc = raw_data_check(req, complete->jid, req->args[3], &kind, &complete->data);
	if (rc == 0 && kind != JSON_FALSE)
		return 0;
	if (rc != QLESS_ELIMIT && req->form == REQUEST_NATIVE &&
	    term_options_have_raw(req, COMPLETE_DATA_AT + 1)) {
		req->is_said = false;
		return 0;
	}
	if (rc < 0)
		return rc;
	return request_fail(req, QLESS_EBADARG,
			    "Complete(): Arg \"data\" missing or not JSON: false");
}

/* The unique key of the job in its next queue. Without the job, the engine refuses the call,
 * whatever the key is. */
static int decode_complete_key(struct request *req, const struct qless_complete *complete)
{
	struct qless_job_info info = { .klass = STR(""), .is_raw = true };
	const struct qless_job *job;

	if (complete->terms == NULL || !complete->terms->has_unique)
		return 0;
	job = qless_get(req->engine, complete->jid);
	if (job != NULL)
		qless_job_read(job, &info);
	return term_unique_decode(req, complete->terms, &info.klass, &complete->data,
				  info.is_raw || complete->terms->is_raw);
}

int decode_complete(struct request *req, struct operation *op)
{
	struct complete_options options;
	size_t first = COMPLETE_DATA_AT + 1;
	int rc;

	op->kind = OPERATION_COMPLETE;
	op->complete = (struct qless_complete){ 0 };
	if (req->form == REQUEST_NATIVE)
		first = complete_options_at(req->args, req->nargs);
	rc = decode_complete_args(req, first > COMPLETE_DATA_AT, &op->complete);
	if (rc < 0)
		return rc;
	if (request_has(req, first)) {
		rc = read_complete_options(req, first, &options);
		if (rc == 0)
			rc = decode_complete_options(req, &options, &op->complete);
		if (rc == 0)
			rc = decode_complete_key(req, &op->complete);
	}
	if (op->complete.result != NULL)
		op->kind = OPERATION_COMPLETE_WITH;
	purging_limit(req, &op->complete);
	return rc;
}

static int answer_complete(struct request *req, const struct operation *op,
			   const struct operation_outcome *outcome)
{
	(void)op;
	return answer_bulk(req, qless_state_text(outcome->state));
}

int classic_complete(struct request *req)
{
	return request_strict_operation(req, decode_complete, strict_complete, answer_complete);
}

/* The data and the options, which most failures have none of. */
static __attribute__((noinline)) int decode_fail_rest(struct request *req, struct qless_fail *fail)
{
	const struct option_slot slots[] = { { STR_INIT("error"), &fail->error, 1 } };
	size_t first = req->nargs;
	int rc = 0;

	if (req->form == REQUEST_NATIVE)
		first = fail_options_at(req->args, req->nargs);
	if (first > FAIL_DATA_AT)
		rc = decode_new_data(req, fail->jid, FAIL_DATA_AT, &fail->data);
	return rc < 0 ? rc : options_read(req, first, req->nargs, slots, 1);
}

int decode_fail(struct request *req, struct operation *op)
{
	int rc;

	op->kind = OPERATION_FAIL;
	op->fail.error = NULL;
	op->fail.data = NULL;
	rc = request_need(req, 0, NO_JID, &op->fail.jid);
	if (rc == 0)
		rc = request_need(req, 1, "Fail(): Arg \"worker\" missing", &op->fail.worker);
	if (rc == 0)
		rc = request_need(req, 2, "Fail(): Arg \"group\" missing", &op->fail.group);
	if (rc == 0)
		rc = request_need(req, 3, "Fail(): Arg \"message\" missing", &op->fail.message);
	if (rc == 0 && request_has(req, FAIL_DATA_AT))
		rc = decode_fail_rest(req, &op->fail);
	return rc;
}

static int answer_fail(struct request *req, const struct operation *op,
		       const struct operation_outcome *outcome)
{
	(void)outcome;
	return answer_bulk(req, op->fail.jid);
}

int classic_fail(struct request *req)
{
	return request_strict_operation(req, decode_fail, strict_fail, answer_fail);
}

/* Whether a native RETRY leaves the delay to the backoff of the job: it has none, or the word in
 * its place. */
static bool retry_backs_off(const struct request *req)
{
	return req->form == REQUEST_NATIVE &&
	       (!request_has(req, 3) || str_equal_nocase(req->args[3], STR("backoff")));
}

int decode_retry(struct request *req, struct operation *op)
{
	struct qless_retry *retry = &op->retry;
	int rc;

	op->kind = OPERATION_RETRY;
	*retry = (struct qless_retry){ .group = request_has(req, 4) ? &req->args[4] : NULL,
				       .message = request_has(req, 5) ? &req->args[5] : NULL,
				       .backs_off = retry_backs_off(req) };
	rc = request_need(req, 0, NO_JID, &retry->jid);
	if (rc == 0)
		rc = request_need(req, 1, "Retry(): Arg \"queue\" missing", &retry->queue);
	if (rc == 0)
		rc = request_need(req, 2, "Retry(): Arg \"worker\" missing", &retry->worker);
	if (rc == 0 && !retry->backs_off)
		rc = request_optional_number(req, 3, "Retry(): Arg \"delay\" not a number: ", 0,
					     &retry->delay);
	return rc;
}

static int answer_retry(struct request *req, const struct operation *op,
			const struct operation_outcome *outcome)
{
	(void)op;
	return answer_integer(req, outcome->remaining);
}

int classic_retry(struct request *req)
{
	return request_strict_operation(req, decode_retry, strict_retry, answer_retry);
}

/* ---- changes by others than the worker ---- */

int decode_timeout(struct request *req, struct operation *op)
{
	op->kind = OPERATION_TIMEOUT;
	op->names = request_rest(req, 0);
	return 0;
}

int classic_timeout(struct request *req)
{
	int rc = 0;

	if (req->nargs > 1)
		rc = request_check_jobs(req, req->nargs);
	if (rc == 0 && req->nargs > 1)
		rc = links_check_call(req);
	if (rc < 0)
		return rc;
	return request_operation(req, decode_timeout, answer_nothing);
}

int decode_cancel(struct request *req, struct operation *op)
{
	op->kind = OPERATION_CANCEL;
	op->names = request_rest(req, 0);
	return 0;
}

/* The reference replies with all jids that it was given. The native form replies with those of the
 * jobs that it deletes: here of the only one, which a change tells about. */
static int answer_cancel(struct request *req, const struct operation *op,
			 const struct operation_outcome *outcome)
{
	bool is_all = outcome->changed || req->form != REQUEST_NATIVE;

	return answer_array(req, op->names.items, is_all ? op->names.count : 0);
}

/* A complete job stays. */
static bool can_be_canceled(const struct request *req, struct qless_str jid)
{
	const struct qless_job *job = qless_get(req->engine, jid);
	struct qless_job_info info;

	if (job == NULL)
		return false;
	qless_job_read(job, &info);
	return info.state != QLESS_COMPLETE;
}

/* Copies the jids of the jobs that a cancel will delete. Returns their number. */
static size_t find_canceled(const struct request *req, struct qless_str *ret_jids)
{
	size_t count = 0;

	for (size_t i = 0; i < req->nargs; i++) {
		if (can_be_canceled(req, req->args[i]))
			ret_jids[count++] = req->args[i];
	}
	return count;
}

/* Which jobs a native command deletes is known only before it does. */
static int cancel_many_native(struct request *req)
{
	struct operation_outcome outcome;
	struct qless_str *jids;
	struct operation op;
	size_t count;
	int rc = decode_cancel(req, &op);

	if (rc < 0)
		return rc;
	jids = mem_realloc_array(NULL, req->nargs, sizeof *jids);
	request_lists(req)->texts = jids;
	count = find_canceled(req, jids);
	rc = request_run(req, &op, &outcome);
	return rc < 0 ? rc : answer_array(req, jids, count);
}

static int cancel_many(struct request *req)
{
	int rc = request_check_jobs(req, req->nargs);

	if (rc == 0)
		rc = links_check_call(req);
	if (rc < 0)
		return rc;
	if (req->form == REQUEST_NATIVE)
		return cancel_many_native(req);
	return request_operation(req, decode_cancel, answer_cancel);
}

int classic_cancel(struct request *req)
{
	if (req->nargs > 1)
		return cancel_many(req);
	return request_operation(req, decode_cancel, answer_cancel);
}

/* An error of the job comes before an error of the word. */
static int fail_depends_command(struct request *req, struct qless_str jid)
{
	int rc = qless_depends_on(req->engine, req->now, jid, NULL, 0);

	if (rc < 0)
		return rc;
	if (req->form == REQUEST_NATIVE)
		return request_fail(req, QLESS_EBADARG,
				    "The second argument must be \"on\" or \"off\"; found \"%S\"",
				    req->args[1]);
	return request_fail(req, QLESS_EBADARG,
			    "Depends(): Argument \"command\" must be \"on\" or \"off\"");
}

int decode_depends(struct request *req, struct operation *op)
{
	struct qless_str command;
	int rc = request_need(req, 0, NO_JID, &op->job.jid);

	if (rc == 0)
		rc = request_need(req, 1, "Depends(): Arg \"command\" missing", &command);
	if (rc < 0)
		return rc;
	op->job.names = request_rest(req, 2);
	if (request_is_word(req, command, STR("on")))
		op->kind = OPERATION_DEPENDS_ON;
	else if (!request_is_word(req, command, STR("off")))
		return fail_depends_command(req, op->job.jid);
	else if (request_has(req, 2) && request_is_word(req, req->args[2], STR("all")))
		op->kind = OPERATION_DEPENDS_OFF_ALL;
	else
		op->kind = OPERATION_DEPENDS_OFF;
	return 0;
}

int classic_depends(struct request *req)
{
	return request_strict_operation(req, decode_depends, strict_depends, answer_one);
}

int decode_priority(struct request *req, struct operation *op)
{
	int rc;

	op->kind = OPERATION_PRIORITY;
	rc = request_need(req, 0, NO_JID, &op->priority.jid);
	if (rc == 0)
		rc = request_number(req, 1,
				    "Priority(): Arg \"priority\" missing or not a number: ",
				    &op->priority.priority);
	return rc;
}

static int answer_priority(struct request *req, const struct operation *op,
			   const struct operation_outcome *outcome)
{
	(void)outcome;
	return answer_integer(req, op->priority.priority);
}

int classic_priority(struct request *req)
{
	return request_strict_operation(req, decode_priority, strict_priority, answer_priority);
}

int decode_log(struct request *req, struct operation *op)
{
	enum json_kind kind;
	int rc;

	op->kind = OPERATION_LOG;
	op->log.item = request_has(req, 2) ? &req->args[2] : NULL;
	rc = request_need(req, 0, "Log(): Argument 'jid' missing", &op->log.jid);
	if (rc == 0)
		rc = request_need(req, 1, "Log(): Argument 'message' missing", &op->log.message);
	if (rc < 0 || !request_has(req, 2))
		return rc;
	rc = request_json(req, 2, &kind);
	if (rc == 0 && kind != JSON_OBJECT)
		rc = request_fail(req, QLESS_EBADARG,
				  "Log(): Argument 'data' not a JSON object: %S", *op->log.item);
	return rc;
}

int classic_log(struct request *req)
{
	return request_operation(req, decode_log, answer_nothing);
}
