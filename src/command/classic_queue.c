/*
 * Queue commands on queues, failures, statistics and workers.
 */
#include "command/classic_viewer.h"

#include <stdlib.h>

#include "command/attach.h"
#include "command/native_jobs.h"
#include "command/scanning.h"
#include "command/work.h"
#include "util/json.h"
#include "util/mem.h"

#define NO_QUEUE "Queue(): no queue name provided"

static void add_number(struct buf *json, struct qless_str before, double number)
{
	buf_append_str(json, before);
	json_append_number(json, number);
}

/* The number of listeners is about the server, not about the state: only native clients see it. */
static bool shows_listeners(const struct request *req)
{
	return req->form == REQUEST_NATIVE && req->env->presence != NULL;
}

/* Makes the numbers of listeners right, if they are shown. Returns false if that takes longer than
 * a part may. */
static bool settle_listeners(const struct request *req)
{
	return !shows_listeners(req) || req->env->presence->settle_listeners(req->env->arg);
}

static void append_listeners(const struct request *req, struct buf *json, struct qless_str queue)
{
	const struct command_env *env = req->env;

	if (shows_listeners(req))
		add_number(json, STR(",\"listeners\":"),
			   (double)env->presence->count_listeners(env->arg, req->database->index,
								  queue));
}

static void append_counts(const struct request *req, struct buf *json,
			  const struct qless_queue_counts *counts)
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
	append_listeners(req, json, counts->name);
	buf_append_char(json, '}');
}

/* Jobs that have come due and were not moved yet count as waiting. */
static struct qless_queue_counts settle(const struct request *req, struct qless_queue_counts counts)
{
	if (!req->is_still) {
		counts.waiting += counts.due;
		counts.scheduled -= counts.due;
	}
	return counts;
}

static int reply_queue(struct request *req)
{
	struct buf *json = request_json_buf(req);
	struct qless_queue_counts counts;
	int rc = request_advance(req, QLESS_ADVANCE_QUEUE, req->args[0], QLESS_ADVANCE_MAX);

	if (rc == 0)
		rc = qless_queue_counts(req->engine, req->now, req->args[0], &counts);
	if (rc < 0)
		return rc;
	counts = settle(req, counts);
	append_counts(req, json, &counts);
	return answer_json(req);
}

/* One queue, once the numbers are right. */

static bool try_queue(struct work *work, struct request *req)
{
	int rc;

	(void)work;
	if (!settle_listeners(req))
		return true;
	req->now = req->env->now(req->env->arg);
	rc = reply_queue(req);
	if (rc < 0)
		answer_error(req, rc);
	return false;
}

static void free_queue_work(struct work *work)
{
	free(work);
}

static int reply_queue_later(struct request *req)
{
	static const struct work_ops ops = { try_queue, free_queue_work };
	struct work *work = mem_zalloc(sizeof *work);

	work->ops = &ops;
	work_begin(req, work);
	return 0;
}

/* Many queues, over several turns. */

static const struct skiplist *find_queues(const struct listing *l, const struct request *req)
{
	(void)l;
	return view_queues(req->engine);
}

static size_t write_queue(struct listing *l, struct request *req, const struct skiplist *list,
			  const struct skipnode *node)
{
	struct qless_queue_counts counts;

	if (!permit_shows_queue(permit_viewer(req), list->member(node)) ||
	    qless_queue_counts(req->engine, req->now, list->member(node), &counts) < 0)
		return 0;
	counts = settle(req, counts);
	append_counts(req, listing_next_json(l, req), &counts);
	return 0;
}

static void end_queues(struct listing *l, struct request *req)
{
	listing_end_json(l, req, req->style->whole);
}

static int list_queues(struct request *req, uint32_t count)
{
	static const struct listing_form form = { .type = REPLY_TEXT,
						  .find = find_queues,
						  .write = write_queue,
						  .prepare = settle_listeners,
						  .end = end_queues };
	struct listing *l = listing_new(&form);

	listing_add(l, 0, count, false);
	listing_begin(req, l);
	return 0;
}

int classic_queues(struct request *req)
{
	struct buf *json = request_json_buf(req);
	const struct qless_queue_counts *all;
	const struct user *viewer = permit_viewer(req);
	struct qless_queue_counts counts;
	bool is_settled = settle_listeners(req);
	uint32_t total;
	size_t count;
	size_t begin;
	size_t i;
	int rc;

	if (request_has(req, 0))
		return is_settled ? reply_queue(req) : reply_queue_later(req);
	rc = request_advance(req, QLESS_ADVANCE_KNOWN, STR(""), QLESS_ADVANCE_MAX);
	if (rc < 0)
		return rc;
	total = skiplist_count(view_queues(req->engine));
	if (total > LISTING_SHORT || !is_settled)
		return list_queues(req, total);
	rc = qless_all_queue_counts(req->engine, req->now, &all, &count);
	if (rc < 0)
		return rc;
	begin = json_begin_list(json);
	for (i = 0; i < count; i++) {
		if (!permit_shows_queue(viewer, all[i].name))
			continue;
		json_next_item(json, begin);
		counts = settle(req, all[i]);
		append_counts(req, json, &counts);
	}
	json_end_list(json, begin, req->style->whole);
	return answer_json(req);
}

int classic_length(struct request *req)
{
	struct qless_str queue;
	int rc = request_need(req, 0, NO_QUEUE, &queue);

	if (rc < 0)
		return rc;
	return answer_integer(req, (double)qless_queue_length(req->engine, queue));
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

int classic_stats(struct request *req)
{
	struct buf *json = request_json_buf(req);
	struct qless_str queue;
	struct qless_stats stats;
	double date;
	int rc = request_need(req, 0, NO_QUEUE, &queue);

	if (rc == 0)
		rc = request_number(req, 1,
				    "Stats(): Arg \"date\" missing or not a number: ", &date);
	if (rc == 0 && req->form == REQUEST_NATIVE)
		rc = strict_date(req, date);
	if (rc < 0)
		return rc;
	qless_stats(req->engine, queue, date, &stats);
	buf_append_str(json, STR("{\"run\":"));
	append_series(json, &stats.run);
	add_number(json, STR(",\"failures\":"), (double)stats.failures);
	add_number(json, STR(",\"retries\":"), (double)stats.retries);
	add_number(json, STR(",\"failed\":"), (double)stats.failed);
	buf_append_str(json, STR(",\"wait\":"));
	append_series(json, &stats.wait);
	buf_append_char(json, '}');
	return answer_json(req);
}

/* ---- jobs ---- */

struct job_state {
	struct qless_str state;
	enum qless_listing listing;
	bool is_limit; /* a page is a limit, not an index range */
};

static const struct job_state listings[] = {
	{ STR_INIT("complete"), QLESS_LIST_COMPLETE, false },
	{ STR_INIT("running"), QLESS_LIST_RUNNING, true },
	{ STR_INIT("stalled"), QLESS_LIST_STALLED, true },
	{ STR_INIT("scheduled"), QLESS_LIST_NOT_DUE, false },
	{ STR_INIT("depends"), QLESS_LIST_DEPENDS, false },
	{ STR_INIT("recurring"), QLESS_LIST_RECURRING, true },
};

static const struct job_state *find_listing(const struct request *req, struct qless_str state)
{
	size_t i;

	for (i = 0; i < sizeof(listings) / sizeof(listings[0]); i++) {
		if (request_is_word(req, state, listings[i].state))
			return &listings[i];
	}
	return NULL;
}

static int fail_state(struct request *req, struct qless_str state)
{
	if (req->form != REQUEST_NATIVE)
		return request_fail(req, QLESS_EBADARG, "Jobs(): Unknown type \"%S\"", state);
	return request_fail(req, QLESS_EBADARG,
			    "state must be \"waiting\", \"running\", \"stalled\", \"scheduled\", "
			    "\"depends\", \"recurring\", \"failed\" or \"complete\"; found \"%S\"",
			    state);
}

/* Choose the list. While nothing may change, jobs that have come due stay in the scheduled list. */
static enum qless_listing choose_list(const struct request *req, enum qless_listing listing)
{
	return listing == QLESS_LIST_NOT_DUE && req->is_still ? QLESS_LIST_SCHEDULED : listing;
}

/* Many jobs, over several turns. `kind` is the listing. */

static bool is_complete(const struct listing *l)
{
	return l->kind == QLESS_LIST_COMPLETE;
}

static const struct skiplist *find_jobs(const struct listing *l, const struct request *req)
{
	static const enum queue_list lists[] = {
		[QLESS_LIST_RUNNING] = QUEUE_LOCKS,	  [QLESS_LIST_STALLED] = QUEUE_LOCKS,
		[QLESS_LIST_SCHEDULED] = QUEUE_SCHEDULED, [QLESS_LIST_NOT_DUE] = QUEUE_SCHEDULED,
		[QLESS_LIST_DEPENDS] = QUEUE_DEPENDS,	  [QLESS_LIST_RECURRING] = QUEUE_RECUR,
	};

	return is_complete(l) ? view_completed(req->engine)
			      : view_queue(req->engine, req->args[1], lists[l->kind]);
}

static int list_jobs(struct request *req, enum qless_listing listing,
		     const struct view_range *ranges, unsigned count)
{
	static const struct listing_form form = { .type = REPLY_ARRAY,
						  .find = find_jobs,
						  .write = listing_write_member };
	struct listing *l = listing_new(&form);

	l->kind = (int)listing;
	for (unsigned i = 0; i < count; i++)
		listing_add_range(l, &ranges[i]);
	listing_begin(req, l);
	return 0;
}

static int reply_page(struct request *req, enum qless_listing listing, struct qless_str queue,
		      const struct classic_page *page)
{
	struct view_range ranges[VIEW_RANGES_MAX];
	struct qless_list jids;
	uint64_t total = 0;
	unsigned count =
		view_jobs(req->engine, req->now, listing, queue, page->offset, page->count, ranges);
	int rc;

	for (unsigned i = 0; i < count; i++)
		total += ranges[i].count;
	if (total > LISTING_SHORT)
		return list_jobs(req, listing, ranges, count);
	rc = qless_jobs(req->engine, req->now, listing, queue, page->offset, page->count, &jids);
	return rc < 0 ? rc : answer_array(req, jids.items, jids.count);
}

/* Lists the complete jobs that the viewer may read. */
static int reply_complete_jobs(struct request *req, const struct classic_page *page)
{
	static const struct listing_form form = { .type = REPLY_ARRAY,
						  .find = find_jobs,
						  .write = viewer_write_member,
						  .end_part = viewer_end_part };
	struct listing *l = listing_new(&form);
	struct view_range all[VIEW_RANGES_MAX] = { { .count = 0 } };

	l->kind = QLESS_LIST_COMPLETE;
	view_jobs(req->engine, req->now, QLESS_LIST_COMPLETE, STR(""), 0, INT64_MAX, all);
	return viewer_begin_page(req, l, &all[0], page);
}

int classic_jobs(struct request *req)
{
	const struct job_state *listing;
	struct classic_page page;
	struct qless_str state;
	struct qless_str queue = STR("");
	size_t next = 1;
	double offset;
	double count;
	int rc = request_need(req, 0, "Jobs(): Arg \"state\" missing", &state);

	if (rc < 0)
		return rc;
	if (req->form == REQUEST_NATIVE && native_jobs_has_list(req->args, req->nargs))
		return native_jobs(req);
	listing = find_listing(req, state);
	/* The reference looks at all other arguments first. */
	if (listing == NULL && req->form == REQUEST_NATIVE)
		return fail_state(req, state);
	if (listing == NULL || listing->listing != QLESS_LIST_COMPLETE)
		rc = request_need(req, next++, "Jobs(): Arg \"queue\" missing", &queue);
	if (rc == 0)
		rc = request_page_numbers(req, next, "Jobs(): Arg \"offset\" not a number: ",
					  "Jobs(): Arg \"count\" not a number: ", &offset, &count);
	if (rc < 0)
		return rc;
	if (listing == NULL)
		return fail_state(req, state);
	if (listing->is_limit)
		rc = request_limit_page(req, offset, count, &page);
	else
		rc = request_index_page(req, offset, count, &page);
	if (rc == 0 && listing->listing == QLESS_LIST_COMPLETE && permit_viewer(req) != NULL)
		return reply_complete_jobs(req, &page);
	if (rc == 0 && listing->listing == QLESS_LIST_NOT_DUE)
		rc = request_advance(req, QLESS_ADVANCE_QUEUE, queue, QLESS_ADVANCE_MAX);
	return rc < 0 ? rc : reply_page(req, choose_list(req, listing->listing), queue, &page);
}

/* ---- failures ---- */

/* Many groups, over several turns and in no order. */

static void write_failure_count(struct scanning *sc, struct request *req, struct qless_str group)
{
	const struct skiplist *jobs = view_group(req->engine, group);
	struct buf *json = &req->scratch->json;

	if (jobs == NULL)
		return;
	buf_append_char(json, sc->values++ == 0 ? '{' : ',');
	json_append_string(json, group);
	add_number(json, STR(":"), (double)skiplist_count(jobs));
}

static void end_failure_counts(struct scanning *sc, struct request *req)
{
	buf_append_str(&req->scratch->json, sc->values != 0 ? STR("}") : STR("{}"));
}

static int list_failure_counts(struct request *req)
{
	static const struct scanning_form form = { .type = REPLY_TEXT,
						   .table_count = 1,
						   .tables = { VIEW_GROUPS },
						   .visit = write_failure_count,
						   .end = end_failure_counts };

	scanning_begin(req, scanning_new(&form, sizeof(struct scanning)));
	return 0;
}

/* Up to this many groups are written at once, in the order of their bytes. */
#define GROUPS_SHORT 1000

static int reply_failure_counts(struct request *req)
{
	struct buf *json = request_json_buf(req);
	struct qless_list groups;
	struct view_counts totals;
	const uint64_t *counts;
	size_t i;

	if (permit_viewer(req) != NULL)
		return viewer_failed(req);
	view_counts(req->engine, &totals);
	if (totals.groups > GROUPS_SHORT)
		return list_failure_counts(req);
	qless_failures(req->engine, &groups, &counts);
	buf_append_char(json, '{');
	for (i = 0; i < groups.count; i++) {
		if (i > 0)
			buf_append_char(json, ',');
		json_append_string(json, groups.items[i]);
		add_number(json, STR(":"), (double)counts[i]);
	}
	buf_append_char(json, '}');
	return answer_json(req);
}

/* Many failed jobs, over several turns. `number` is the total. */

static const struct skiplist *find_failed(const struct listing *l, const struct request *req)
{
	(void)l;
	return view_group(req->engine, req->args[0]);
}

static void begin_failed(struct listing *l, struct request *req)
{
	(void)l;
	buf_append_str(&req->scratch->json, STR("{\"jobs\":"));
}

static void end_failed(struct listing *l, struct request *req)
{
	listing_end_json(l, req, req->style->inner);
	add_number(&req->scratch->json, STR(",\"total\":"), l->number);
	buf_append_char(&req->scratch->json, '}');
}

static int list_failed(struct request *req, const struct view_range *range)
{
	static const struct listing_form form = { .type = REPLY_TEXT,
						  .find = find_failed,
						  .write = listing_write_json,
						  .begin_part = begin_failed,
						  .end = end_failed };
	struct listing *l = listing_new(&form);

	l->number = skiplist_count(range->list);
	listing_add_range(l, range);
	listing_begin(req, l);
	return 0;
}

/* Lists the failed jobs that the viewer may read. */
static int list_failed_of_viewer(struct request *req, const struct classic_page *page)
{
	static const struct listing_form form = { .type = REPLY_TEXT,
						  .find = find_failed,
						  .write = viewer_write_json,
						  .begin = begin_failed,
						  .end_part = viewer_end_part,
						  .end = end_failed };
	struct view_range all;

	view_failed(req->engine, req->args[0], 0, INT64_MAX, &all);
	return viewer_begin_page(req, listing_new(&form), &all, page);
}

int classic_failed(struct request *req)
{
	struct view_range range;
	struct buf *json = request_json_buf(req);
	struct classic_page page;
	struct qless_list jids;
	double start;
	double limit;
	int rc;

	rc = request_page_numbers(req, 1, "Failed(): Arg \"start\" is not a number: ",
				  "Failed(): Arg \"limit\" is not a number: ", &start, &limit);
	if (rc < 0)
		return rc;
	if (!request_has(req, 0))
		return reply_failure_counts(req);
	rc = request_index_page(req, start, limit, &page);
	if (rc < 0)
		return rc;
	if (permit_viewer(req) != NULL)
		return list_failed_of_viewer(req, &page);
	view_failed(req->engine, req->args[0], page.offset, page.count, &range);
	if (range.count > LISTING_SHORT)
		return list_failed(req, &range);
	qless_failed(req->engine, req->args[0], page.offset, page.count, &jids);
	buf_append_str(json, STR("{\"jobs\":"));
	json_append_list(json, &jids, req->style->inner);
	add_number(json, STR(",\"total\":"), (double)jids.total);
	buf_append_char(json, '}');
	return answer_json(req);
}

int decode_unfail(struct request *req, struct operation *op)
{
	double number;
	int rc;

	op->kind = OPERATION_UNFAIL;
	rc = request_need(req, 0, NO_QUEUE, &op->unfail.queue);
	if (rc == 0)
		rc = request_need(req, 1, "Unfail(): Arg \"group\" missing", &op->unfail.group);
	if (rc == 0)
		rc = request_optional_whole(req, 2, "Unfail(): Arg \"count\" not a number: ", 0, 25,
					    &number);
	if (rc == 0)
		rc = request_count(req, number, "Unfail", &op->unfail.count);
	return rc;
}

static int answer_unfail(struct request *req, const struct operation *op,
			 const struct operation_outcome *outcome)
{
	(void)op;
	return answer_integer(req, (double)outcome->count);
}

int classic_unfail(struct request *req)
{
	const struct user *viewer = permit_viewer(req);
	struct operation op;
	int rc;

	if (viewer == NULL)
		return request_strict_operation(req, decode_unfail, strict_unfail, answer_unfail);
	rc = decode_unfail(req, &op);
	if (rc == 0 && req->form == REQUEST_NATIVE)
		rc = strict_unfail(req, &op);
	return rc < 0 ? rc : viewer_unfail(req, viewer, &op);
}

/* ---- lists of names ---- */

static int decode_names(struct request *req, struct operation *op, enum operation_kind kind)
{
	if (req->nargs == 0)
		return request_fail_store(req,
					  "Wrong number of args calling Redis command from script");
	op->kind = kind;
	op->names = request_rest(req, 0);
	return 0;
}

int decode_pause(struct request *req, struct operation *op)
{
	return decode_names(req, op, OPERATION_PAUSE);
}

int decode_unpause(struct request *req, struct operation *op)
{
	return decode_names(req, op, OPERATION_UNPAUSE);
}

int decode_queue_forget(struct request *req, struct operation *op)
{
	return decode_names(req, op, OPERATION_QUEUE_FORGET);
}

int decode_worker_deregister(struct request *req, struct operation *op)
{
	return decode_names(req, op, OPERATION_WORKER_DEREGISTER);
}

int classic_pause(struct request *req)
{
	return request_strict_operation(req, decode_pause, strict_pause, answer_nothing);
}

int classic_unpause(struct request *req)
{
	return request_operation(req, decode_unpause, answer_nothing);
}

int classic_queue_forget(struct request *req)
{
	return request_operation(req, decode_queue_forget, answer_nothing);
}

int classic_worker_deregister(struct request *req)
{
	return request_operation(req, decode_worker_deregister, answer_nothing);
}

/* ---- workers ---- */

/* Append the days of a worker. The reference does not have them, so only the native form does. They
 * count the jobs of all queues, so a user that may not see all of them sees none. */
static void append_days(struct request *req, struct buf *json, struct qless_str worker)
{
	struct qless_worker_day day;
	size_t cursor = 0;
	size_t begin;

	buf_append_str(json, STR(",\"days\":"));
	begin = json_begin_list(json);
	while (permit_viewer(req) == NULL &&
	       qless_worker_next_day(req->engine, worker, &cursor, &day)) {
		json_next_item(json, begin);
		add_number(json, STR("{\"day\":"), day.day);
		add_number(json, STR(",\"popped\":"), (double)day.popped);
		add_number(json, STR(",\"completed\":"), (double)day.completed);
		add_number(json, STR(",\"failed\":"), (double)day.failed);
		add_number(json, STR(",\"lost\":"), (double)day.lost);
		buf_append_char(json, '}');
	}
	json_end_list(json, begin, req->style->inner);
}

static int reply_worker(struct request *req)
{
	const struct user *viewer = permit_viewer(req);
	struct qless_str *kept_jobs = NULL, *kept_stalled = NULL;
	struct buf *json = request_json_buf(req);
	struct qless_list jobs;
	struct qless_list stalled;
	int rc = request_advance(req, QLESS_ADVANCE_WORKERS, STR(""), INT64_MAX);

	if (rc == 0)
		rc = qless_worker_jobs(req->engine, req->now, req->args[0], &jobs, &stalled);
	if (rc < 0)
		return rc;
	if (viewer != NULL) {
		kept_jobs = viewer_keep(viewer, req->engine, &jobs);
		kept_stalled = viewer_keep(viewer, req->engine, &stalled);
	}
	buf_append_str(json, STR("{\"stalled\":"));
	json_append_list(json, &stalled, req->style->inner);
	buf_append_str(json, STR(",\"jobs\":"));
	json_append_list(json, &jobs, req->style->inner);
	if (req->form == REQUEST_NATIVE)
		append_days(req, json, req->args[0]);
	append_attachment(req, json, req->args[0]);
	buf_append_char(json, '}');
	free(kept_jobs);
	free(kept_stalled);
	return answer_json(req);
}

static void append_worker(struct request *req, struct buf *json,
			  const struct qless_worker_counts *counts)
{
	add_number(json, STR("{\"stalled\":"), (double)counts->stalled);
	buf_append_str(json, STR(",\"name\":"));
	json_append_string(json, counts->name);
	add_number(json, STR(",\"jobs\":"), (double)counts->jobs);
	append_attachment(req, json, counts->name);
	buf_append_char(json, '}');
}

/* Many workers, over several turns. */

static const struct skiplist *find_workers(const struct listing *l, const struct request *req)
{
	(void)l;
	return view_workers(req->engine);
}

static size_t write_worker(struct listing *l, struct request *req, const struct skiplist *list,
			   const struct skipnode *node)
{
	struct qless_worker_counts counts =
		view_worker_counts(req->engine, req->now, list->member(node));

	append_worker(req, listing_next_json(l, req), &counts);
	return 0;
}

static void end_workers(struct listing *l, struct request *req)
{
	listing_end_json(l, req, req->style->whole);
}

static int list_workers(struct request *req, uint32_t count)
{
	static const struct listing_form form = {
		.type = REPLY_TEXT, .find = find_workers, .write = write_worker, .end = end_workers
	};
	struct listing *l = listing_new(&form);

	listing_add(l, count - 1, count, true);
	listing_begin(req, l);
	return 0;
}

int classic_workers(struct request *req)
{
	uint32_t total;
	struct buf *json = request_json_buf(req);
	struct qless_workers workers;
	size_t begin;
	size_t i;
	int rc;

	if (request_has(req, 0))
		return reply_worker(req);
	rc = request_advance(req, QLESS_ADVANCE_WORKERS, STR(""), INT64_MAX);
	if (rc < 0)
		return rc;
	if (permit_viewer(req) != NULL)
		return viewer_workers(req);
	total = skiplist_count(view_workers(req->engine));
	if (total > LISTING_SHORT)
		return list_workers(req, total);
	rc = qless_workers(req->engine, req->now, &workers);
	if (rc < 0)
		return rc;
	begin = json_begin_list(json);
	for (i = 0; i < workers.count; i++) {
		json_next_item(json, begin);
		append_worker(req, json, &workers.items[i]);
	}
	json_end_list(json, begin, req->style->whole);
	return answer_json(req);
}
