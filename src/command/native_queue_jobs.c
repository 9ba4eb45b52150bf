/*
 * QUEUE.JOBS: all jobs of a queue in any state, some in each call.
 *
 * A call walks through the table of all jobs, because its order does not change: a list of the
 * engine is sorted by a score, and a heartbeat or a new priority would move a job before or after
 * the cursor. So a job that stays in its queue and its state is listed exactly once, and jobs cost
 * nothing for it. A call looks at PAGE_LOOKS_MAX jobs at most, of whatever queue.
 *
 * A walk that can end with its first call needs no cursor, so it looks at the lists of the queue.
 */
#include "command/classic_int.h"

#include <stdlib.h>

#include "command/job_fields.h"
#include "command/job_states.h"
#include "command/options.h"
#include "command/page.h"
#include "command/queue_jobs.h"
#include "command/work.h"
#include "engine/view.h"
#include "util/container.h"
#include "util/mem.h"

/* Jobs in the lists of a small queue, which a call lists at once. This takes about a millisecond.
 */
#define SMALL_MAX 1000
/* About the bytes of an entry of a history in JSON. */
#define ENTRY_BYTES 100

struct jobs_page {
	unsigned states;
	bool has_cursor;
	uint32_t cursor;
	bool has_count;
	int64_t count;
	struct job_fields fields; /* none: jids */
};

struct jobs_work {
	struct work work;
	struct jobs_page page;
	int64_t looks_left;
	struct page_reply reply;
};

/* ---- arguments ---- */

/* Reads the fields from argument *at to the last. */
static int parse_fields(struct request *req, size_t *at, struct jobs_page *page)
{
	int rc = 0;

	for (; rc == 0 && *at < req->nargs; ++*at)
		rc = job_fields_add(req, &page->fields, req->args[*at]);
	return rc;
}

/* Reads one option, whose name is in argument *at. */
static int parse_option(struct request *req, size_t *at, struct jobs_page *page)
{
	const struct qless_str *unused = NULL;
	const struct option_slot slots[] = {
		{ STR_INIT("STATE"), &unused, 1 },
		{ STR_INIT("CURSOR"), &unused, 1 },
		{ STR_INIT("COUNT"), &unused, 1 },
		{ STR_INIT("WITH"), &unused, 1 },
	};
	struct qless_str name = req->args[(*at)++];
	bool is_state = str_equal_nocase(name, STR("STATE"));
	bool is_cursor = str_equal_nocase(name, STR("CURSOR"));
	bool is_count = str_equal_nocase(name, STR("COUNT"));

	if (!is_state && !is_cursor && !is_count && !str_equal_nocase(name, STR("WITH")))
		return options_fail_unknown(req, name, slots, sizeof slots / sizeof *slots);
	if ((is_state && page->states != 0) || (is_cursor && page->has_cursor) ||
	    (is_count && page->has_count))
		return options_fail_repeated(req, name);
	if (*at >= req->nargs)
		return options_fail_without_value(req, name);
	if (is_state)
		return job_states_parse(req, at, &page->states);
	page->has_cursor |= is_cursor;
	page->has_count |= is_count;
	if (is_cursor)
		return page_parse_cursor(req, req->args[(*at)++], &page->cursor);
	if (is_count)
		return page_parse_count(req, req->args[(*at)++], &page->count);
	return parse_fields(req, at, page);
}

static int parse_page(struct request *req, struct jobs_page *ret)
{
	int rc = 0;

	*ret = (struct jobs_page){ .count = PAGE_COUNT_DEFAULT };
	for (size_t at = 1; rc == 0 && at < req->nargs;)
		rc = parse_option(req, &at, ret);
	if (ret->states == 0)
		ret->states = JOB_ANY_STATE;
	return rc;
}

/* ---- the page ---- */

struct jobs_part {
	struct request *req;
	struct jobs_work *list;
	int looked;
};

static void list_job(struct request *req, const struct jobs_page *page, const struct qless_job *job)
{
	struct qless_job_info info;

	if (page->fields.count != 0) {
		job_fields_write(req, &page->fields, job);
		return;
	}
	qless_job_read(job, &info);
	reply_bulk(req->reply, info.jid);
}

static void look_at(void *arg, const struct qless_job *job)
{
	struct jobs_part *part = arg;
	struct jobs_work *list = part->list;
	struct request *req = part->req;
	struct qless_job_info info;

	part->looked++;
	list->looks_left--;
	qless_job_read(job, &info);
	if (job_states_match(req, list->page.states, job, &info) == 0)
		return;
	list->reply.listed++;
	list_job(req, &list->page, job);
}

static bool go_on(struct work *work, struct request *req)
{
	struct jobs_work *list = container_of(work, struct jobs_work, work);
	struct jobs_part part = { .req = req, .list = list };
	size_t until = req->reply->out->len + WORK_PART_BYTES;
	bool more = true;

	page_begin(&list->reply, req);
	for (int i = 0; i < WORK_PART_ELEMENTS && part.looked < WORK_PART_ELEMENTS &&
			req->reply->out->len < until && more;
	     i++) {
		list->page.cursor = view_scan_jobs(req->engine, list->page.cursor, look_at, &part);
		more = list->page.cursor != 0 && list->looks_left > 0 &&
		       !page_is_full(&list->reply, req, list->page.count);
	}
	if (more && reply_is_wanted(req->reply) && page_may_take_another_part(req))
		return true;
	page_leave(&list->reply, req);
	reply_bulk_integer(req->reply, list->page.cursor);
	page_end(&list->reply, req);
	return false;
}

static void free_jobs(struct work *work)
{
	struct jobs_work *list = container_of(work, struct jobs_work, work);

	page_done(&list->reply);
	free(list);
}

/* ---- small queues ---- */

/* About the bytes of a job with all of its fields. */
static size_t weigh(const struct qless_job *job)
{
	struct qless_account account = { .is_started = false };
	struct qless_job_info info;
	struct view_job view;

	qless_job_read(job, &info);
	view_job(job, &view);
	if (info.carries)
		qless_job_account(job, &account);
	return 2 * info.data.len + info.failure.message.len + account.result.len +
	       account.error.len + account.note.len + view.history_count * ENTRY_BYTES;
}

static bool fit(const struct queue_jobs *jobs, const struct jobs_page *page)
{
	size_t bytes = 0;

	for (size_t i = 0; page->fields.count != 0 && i < jobs->count; i++)
		bytes += weigh(jobs->items[i]);
	return bytes <= PAGE_BYTES_MAX;
}

/* Lists a small queue. Returns false, and writes nothing, if it is not small. */
static bool list_small(struct request *req, const struct jobs_page *page)
{
	size_t max = page->count < SMALL_MAX ? (size_t)page->count : SMALL_MAX;
	struct queue_jobs jobs;
	bool is_small;

	if (page->cursor != 0 || !queue_jobs_find(req, page->states, max, &jobs))
		return false;
	is_small = fit(&jobs, page);
	if (is_small) {
		reply_array(req->reply, 2);
		reply_bulk_integer(req->reply, 0);
		reply_array(req->reply, jobs.count);
	}
	for (size_t i = 0; is_small && i < jobs.count; i++)
		list_job(req, page, jobs.items[i]);
	free(jobs.items);
	return is_small;
}

int native_queue_jobs(struct request *req)
{
	static const struct work_ops ops = { go_on, free_jobs };
	struct jobs_work *list;
	struct jobs_page page;
	int rc = parse_page(req, &page);

	if (rc == 0)
		rc = request_advance(req, QLESS_ADVANCE_QUEUE, req->args[0], QLESS_ADVANCE_MAX);
	if (rc < 0)
		return rc;
	if (list_small(req, &page))
		return 0;
	list = mem_zalloc(sizeof *list);
	list->work.ops = &ops;
	list->page = page;
	list->looks_left = PAGE_LOOKS_MAX;
	work_begin(req, &list->work);
	return 0;
}
