/*
 * RECUR.LIST: a page of the recurring jobs of all queues, or of one.
 *
 * A call walks through the table of all recurring jobs, whose order does not change. So a recurring
 * job that exists from the first call to the last is listed exactly once.
 */
#include "command/classic_int.h"

#include <stdlib.h>

#include "command/options.h"
#include "command/page.h"
#include "command/permit.h"
#include "command/work.h"
#include "engine/view.h"
#include "util/container.h"
#include "util/mem.h"

struct recurs_work {
	struct work work;
	size_t queue_at; /* the argument with the queue; 0: all queues */
	uint32_t cursor;
	int64_t count;
	int64_t looks_left;
	struct page_reply page;
};

/* ---- arguments ---- */

static int parse(struct request *req, struct recurs_work *ret)
{
	const struct qless_str *queue = NULL, *cursor = NULL, *count = NULL;
	const struct option_slot slots[] = {
		{ STR_INIT("QUEUE"), &queue, 1 },
		{ STR_INIT("CURSOR"), &cursor, 1 },
		{ STR_INIT("COUNT"), &count, 1 },
	};
	int rc = options_read(req, 0, req->nargs, slots, sizeof slots / sizeof *slots);

	ret->count = PAGE_COUNT_DEFAULT;
	ret->looks_left = PAGE_LOOKS_MAX;
	ret->queue_at = queue != NULL ? (size_t)(queue - req->args) : 0;
	if (rc == 0 && cursor != NULL)
		rc = page_parse_cursor(req, *cursor, &ret->cursor);
	if (rc == 0 && count != NULL)
		rc = page_parse_count(req, *count, &ret->count);
	return rc;
}

/* ---- the page ---- */

struct recurs_part {
	struct request *req;
	struct recurs_work *list;
	int looked;
};

static bool is_listed(const struct recurs_part *part, struct qless_str queue)
{
	const struct recurs_work *list = part->list;

	if (list->queue_at != 0 && !str_equal(part->req->args[list->queue_at], queue))
		return false;
	return permit_shows_queue(permit_viewer(part->req), queue);
}

static void look_at(void *arg, struct qless_str jid)
{
	struct recurs_part *part = arg;
	struct request *req = part->req;
	const struct qless_recur *recur = qless_recur_get(req->engine, jid);
	struct qless_recur_info info;

	part->looked++;
	part->list->looks_left--;
	if (recur == NULL)
		return;
	qless_recur_read(recur, &info);
	if (!is_listed(part, info.queue))
		return;
	json_append_recur(request_json_buf(req), recur, req->style);
	reply_json(req->reply, buf_str(&req->scratch->json));
	part->list->page.listed++;
}

static bool go_on(struct work *work, struct request *req)
{
	struct recurs_work *list = container_of(work, struct recurs_work, work);
	struct recurs_part part = { .req = req, .list = list };
	size_t until = req->reply->out->len + WORK_PART_BYTES;
	bool more = true;

	page_begin(&list->page, req);
	for (int i = 0; i < WORK_PART_ELEMENTS && part.looked < WORK_PART_ELEMENTS &&
			req->reply->out->len < until && more;
	     i++) {
		list->cursor = view_scan(req->engine, VIEW_RECURS, list->cursor, look_at, &part);
		more = list->cursor != 0 && list->looks_left > 0 &&
		       !page_is_full(&list->page, req, list->count);
	}
	if (more && reply_is_wanted(req->reply) && page_may_take_another_part(req))
		return true;
	page_leave(&list->page, req);
	reply_bulk_integer(req->reply, list->cursor);
	page_end(&list->page, req);
	return false;
}

static void free_recurs(struct work *work)
{
	struct recurs_work *list = container_of(work, struct recurs_work, work);

	page_done(&list->page);
	free(list);
}

int native_recur_list(struct request *req)
{
	static const struct work_ops ops = { go_on, free_recurs };
	struct recurs_work *list, args = { .cursor = 0 };
	int rc = parse(req, &args);

	if (rc < 0)
		return rc;
	list = mem_zalloc(sizeof *list);
	*list = args;
	list->work.ops = &ops;
	work_begin(req, &list->work);
	return 0;
}
