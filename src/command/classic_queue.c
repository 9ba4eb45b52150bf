/*
 * Classic commands about queues, failures, statistics and workers.
 */
#include "command/classic_int.h"

#include "util/json.h"

#define NO_QUEUE "Queue(): no queue name provided"

/* Far enough for memory to answer in time, where there are thousands. */
#define AHEAD 8

static void add_number(struct buf *json, struct qless_str before, double number)
{
	buf_append_str(json, before);
	json_append_number(json, number);
}

static void append_counts(struct buf *json, const struct qless_queue_counts *counts)
{
	buf_append_str(json, STR("{\"paused\":"));
	json_append_bool(json, counts->paused);
	add_number(json, STR(",\"running\":"), (double)counts->running);
	buf_append_str(json, STR(",\"name\":"));
	json_append_string(json, counts->name);
	add_number(json, STR(",\"waiting\":"), (double)counts->waiting);
	add_number(json, STR(",\"recurring\":"), (double)counts->recurring);
	add_number(json, STR(",\"depends\":"), (double)counts->depends);
	add_number(json, STR(",\"stalled\":"), (double)counts->stalled);
	add_number(json, STR(",\"scheduled\":"), (double)counts->scheduled);
	buf_append_char(json, '}');
}

/* Of the jobs that have come due, some may be left to be moved: they count as moved. */
static struct qless_queue_counts settle(const struct classic_call *call,
					struct qless_queue_counts counts)
{
	if (!call->c->is_still) {
		counts.waiting += counts.due;
		counts.scheduled -= counts.due;
	}
	return counts;
}

static int reply_queue(struct classic_call *call)
{
	struct buf *json = call_json_buf(call);
	struct qless_queue_counts counts;
	int rc = call_advance(call, QLESS_ADVANCE_QUEUE, call->args[0], QLESS_ADVANCE_MAX);

	if (rc == 0)
		rc = qless_queue_counts(call->engine, call->now, call->args[0], &counts);
	if (rc < 0)
		return rc;
	counts = settle(call, counts);
	append_counts(json, &counts);
	return answer_json(call);
}

int classic_queues(struct classic_call *call)
{
	struct buf *json = call_json_buf(call);
	const struct qless_queue_counts *all;
	struct qless_queue_counts counts;
	size_t count;
	size_t begin;
	size_t i;
	int rc;

	if (call_has(call, 0))
		return reply_queue(call);
	rc = call_advance(call, QLESS_ADVANCE_KNOWN, STR(""), QLESS_ADVANCE_MAX);
	if (rc == 0)
		rc = qless_all_queue_counts(call->engine, call->now, &all, &count);
	if (rc < 0)
		return rc;
	begin = json_begin_list(json);
	for (i = 0; i < count; i++) {
		if (i + AHEAD < count)
			__builtin_prefetch(all[i + AHEAD].name.ptr);
		json_next_item(json, begin);
		counts = settle(call, all[i]);
		append_counts(json, &counts);
	}
	json_end_list(json, begin, call->style->whole);
	return answer_json(call);
}

int classic_length(struct classic_call *call)
{
	struct qless_str queue;
	int rc = call_need(call, 0, NO_QUEUE, &queue);

	if (rc < 0)
		return rc;
	return answer_integer(call, (double)qless_queue_length(call->engine, queue));
}

static void append_series(struct buf *json, const struct qless_series *series)
{
	size_t begin;
	size_t i;

	add_number(json, STR("{\"std\":"), series->deviation);
	buf_append_str(json, STR(",\"histogram\":"));
	begin = json_begin_list(json);
	for (i = 0; i < QLESS_HISTOGRAM_BUCKETS; i++) {
		json_next_item(json, begin);
		json_append_number(json, (double)series->histogram[i]);
	}
	json_end_list(json, begin, JSON_EMPTY_ARRAY);
	add_number(json, STR(",\"mean\":"), series->mean);
	add_number(json, STR(",\"count\":"), series->count);
	buf_append_char(json, '}');
}

int classic_stats(struct classic_call *call)
{
	struct buf *json = call_json_buf(call);
	struct qless_str queue;
	struct qless_stats stats;
	double date;
	int rc = call_need(call, 0, NO_QUEUE, &queue);

	if (rc == 0)
		rc = call_number(call, 1, "Stats(): Arg \"date\" missing or not a number: ", &date);
	if (rc < 0)
		return rc;
	qless_stats(call->engine, queue, date, &stats);
	buf_append_str(json, STR("{\"run\":"));
	append_series(json, &stats.run);
	add_number(json, STR(",\"failures\":"), (double)stats.failures);
	add_number(json, STR(",\"retries\":"), (double)stats.retries);
	add_number(json, STR(",\"failed\":"), (double)stats.failed);
	buf_append_str(json, STR(",\"wait\":"));
	append_series(json, &stats.wait);
	buf_append_char(json, '}');
	return answer_json(call);
}

/* ---- jobs ---- */

struct listing {
	struct qless_str state;
	enum qless_listing listing;
	bool is_limit; /* pages as a limit does, not as an index range */
};

static const struct listing listings[] = {
	{ STR_INIT("complete"), QLESS_LIST_COMPLETE, false },
	{ STR_INIT("running"), QLESS_LIST_RUNNING, true },
	{ STR_INIT("stalled"), QLESS_LIST_STALLED, true },
	{ STR_INIT("scheduled"), QLESS_LIST_NOT_DUE, false },
	{ STR_INIT("depends"), QLESS_LIST_DEPENDS, false },
	{ STR_INIT("recurring"), QLESS_LIST_RECURRING, true },
};

static const struct listing *find_listing(struct qless_str state)
{
	size_t i;

	for (i = 0; i < sizeof(listings) / sizeof(listings[0]); i++) {
		if (str_equal(listings[i].state, state))
			return &listings[i];
	}
	return NULL;
}

/* Nothing counts as moved while nothing may be. */
static enum qless_listing choose_list(const struct classic_call *call, enum qless_listing listing)
{
	return listing == QLESS_LIST_NOT_DUE && call->c->is_still ? QLESS_LIST_SCHEDULED : listing;
}

int classic_jobs(struct classic_call *call)
{
	const struct listing *listing;
	struct classic_page page;
	struct qless_list jids;
	struct qless_str state;
	struct qless_str queue = STR("");
	size_t next = 1;
	double offset;
	double count;
	int rc = call_need(call, 0, "Jobs(): Arg \"state\" missing", &state);

	if (rc == 0 && !str_equal(state, STR("complete")))
		rc = call_need(call, next++, "Jobs(): Arg \"queue\" missing", &queue);
	if (rc == 0)
		rc = call_page_numbers(call, next, "Jobs(): Arg \"offset\" not a number: ",
				       "Jobs(): Arg \"count\" not a number: ", &offset, &count);
	if (rc < 0)
		return rc;
	listing = find_listing(state);
	if (listing == NULL)
		return call_fail(call, QLESS_EBADARG, "Jobs(): Unknown type \"%S\"", state);
	if (listing->is_limit)
		rc = call_limit_page(call, offset, count, &page);
	else
		rc = call_index_page(call, offset, count, &page);
	if (rc == 0 && listing->listing == QLESS_LIST_NOT_DUE)
		rc = call_advance(call, QLESS_ADVANCE_QUEUE, queue, QLESS_ADVANCE_MAX);
	if (rc == 0)
		rc = qless_jobs(call->engine, call->now, choose_list(call, listing->listing), queue,
				page.offset, page.count, &jids);
	return rc < 0 ? rc : answer_array(call, jids.items, jids.count);
}

/* ---- failures ---- */

static int reply_failure_counts(struct classic_call *call)
{
	struct buf *json = call_json_buf(call);
	struct qless_list groups;
	const uint64_t *counts;
	size_t i;

	qless_failures(call->engine, &groups, &counts);
	buf_append_char(json, '{');
	for (i = 0; i < groups.count; i++) {
		if (i > 0)
			buf_append_char(json, ',');
		json_append_string(json, groups.items[i]);
		add_number(json, STR(":"), (double)counts[i]);
	}
	buf_append_char(json, '}');
	return answer_json(call);
}

int classic_failed(struct classic_call *call)
{
	struct buf *json = call_json_buf(call);
	struct classic_page page;
	struct qless_list jids;
	double start;
	double limit;
	int rc;

	rc = call_page_numbers(call, 1, "Failed(): Arg \"start\" is not a number: ",
			       "Failed(): Arg \"limit\" is not a number: ", &start, &limit);
	if (rc < 0)
		return rc;
	if (!call_has(call, 0))
		return reply_failure_counts(call);
	rc = call_index_page(call, start, limit, &page);
	if (rc < 0)
		return rc;
	qless_failed(call->engine, call->args[0], page.offset, page.count, &jids);
	buf_append_str(json, STR("{\"jobs\":"));
	json_append_list(json, &jids, call->style->inner);
	add_number(json, STR(",\"total\":"), (double)jids.total);
	buf_append_char(json, '}');
	return answer_json(call);
}

int decode_unfail(struct classic_call *call, struct operation *op)
{
	double number;
	int rc;

	op->kind = OPERATION_UNFAIL;
	rc = call_need(call, 0, NO_QUEUE, &op->unfail.queue);
	if (rc == 0)
		rc = call_need(call, 1, "Unfail(): Arg \"group\" missing", &op->unfail.group);
	if (rc == 0)
		rc = call_optional_number(call, 2, "Unfail(): Arg \"count\" not a number: ", 25,
					  &number);
	if (rc == 0)
		rc = call_count(call, number, "Unfail", &op->unfail.count);
	return rc;
}

static int answer_unfail(struct classic_call *call, const struct operation *op,
			 const struct operation_outcome *outcome)
{
	(void)op;
	return answer_integer(call, (double)outcome->count);
}

int classic_unfail(struct classic_call *call)
{
	return call_operation(call, decode_unfail, answer_unfail);
}

/* ---- lists of names ---- */

static int decode_names(struct classic_call *call, struct operation *op, enum operation_kind kind)
{
	if (call->count == 0)
		return call_fail_store(call,
				       "Wrong number of args calling Redis command from script");
	op->kind = kind;
	op->names = call_rest(call, 0);
	return 0;
}

int decode_pause(struct classic_call *call, struct operation *op)
{
	return decode_names(call, op, OPERATION_PAUSE);
}

int decode_unpause(struct classic_call *call, struct operation *op)
{
	return decode_names(call, op, OPERATION_UNPAUSE);
}

int decode_queue_forget(struct classic_call *call, struct operation *op)
{
	return decode_names(call, op, OPERATION_QUEUE_FORGET);
}

int decode_worker_deregister(struct classic_call *call, struct operation *op)
{
	return decode_names(call, op, OPERATION_WORKER_DEREGISTER);
}

int classic_pause(struct classic_call *call)
{
	return call_operation(call, decode_pause, answer_nothing);
}

int classic_unpause(struct classic_call *call)
{
	return call_operation(call, decode_unpause, answer_nothing);
}

int classic_queue_forget(struct classic_call *call)
{
	return call_operation(call, decode_queue_forget, answer_nothing);
}

int classic_worker_deregister(struct classic_call *call)
{
	return call_operation(call, decode_worker_deregister, answer_nothing);
}

/* ---- workers ---- */

/* What the reference does not have, for those who need not have it as the reference does. */
static void append_days(struct classic_call *call, struct buf *json, struct qless_str worker)
{
	struct qless_worker_day day;
	size_t cursor = 0;
	size_t begin;

	buf_append_str(json, STR(",\"days\":"));
	begin = json_begin_list(json);
	while (qless_worker_next_day(call->engine, worker, &cursor, &day)) {
		json_next_item(json, begin);
		add_number(json, STR("{\"day\":"), day.day);
		add_number(json, STR(",\"popped\":"), (double)day.popped);
		add_number(json, STR(",\"completed\":"), (double)day.completed);
		add_number(json, STR(",\"failed\":"), (double)day.failed);
		add_number(json, STR(",\"lost\":"), (double)day.lost);
		buf_append_char(json, '}');
	}
	json_end_list(json, begin, call->style->inner);
}

static int reply_worker(struct classic_call *call)
{
	struct buf *json = call_json_buf(call);
	struct qless_list jobs;
	struct qless_list stalled;
	int rc = call_advance(call, QLESS_ADVANCE_WORKERS, STR(""), INT64_MAX);

	if (rc == 0)
		rc = qless_worker_jobs(call->engine, call->now, call->args[0], &jobs, &stalled);
	if (rc < 0)
		return rc;
	buf_append_str(json, STR("{\"stalled\":"));
	json_append_list(json, &stalled, call->style->inner);
	buf_append_str(json, STR(",\"jobs\":"));
	json_append_list(json, &jobs, call->style->inner);
	if (call->form == CLASSIC_NATIVE)
		append_days(call, json, call->args[0]);
	buf_append_char(json, '}');
	return answer_json(call);
}

int classic_workers(struct classic_call *call)
{
	struct buf *json = call_json_buf(call);
	struct qless_workers workers;
	size_t begin;
	size_t i;
	int rc;

	if (call_has(call, 0))
		return reply_worker(call);
	rc = call_advance(call, QLESS_ADVANCE_WORKERS, STR(""), INT64_MAX);
	if (rc == 0)
		rc = qless_workers(call->engine, call->now, &workers);
	if (rc < 0)
		return rc;
	begin = json_begin_list(json);
	for (i = 0; i < workers.count; i++) {
		json_next_item(json, begin);
		add_number(json, STR("{\"stalled\":"), (double)workers.items[i].stalled);
		buf_append_str(json, STR(",\"name\":"));
		json_append_string(json, workers.items[i].name);
		add_number(json, STR(",\"jobs\":"), (double)workers.items[i].jobs);
		buf_append_char(json, '}');
	}
	json_end_list(json, begin, call->style->whole);
	return answer_json(call);
}
