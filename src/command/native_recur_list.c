/*
 * RECUR.LIST: a page of the recurring jobs of all queues, or of one.
 *
 * A call walks through the table of all recurring jobs, whose order does not change. So a recurring
 * job that exists from the first call to the last is listed exactly once.
 */
#include "command/classic_int.h"

#include <stdlib.h>

#include "command/options.h"
#include "command/page_args.h"
#include "command/permit.h"
#include "command/work.h"
#include "engine/view.h"
#include "util/container.h"
#include "util/mem.h"

/* Recurring jobs that a call looks at before it returns a cursor. */
#define LOOKS_MAX 100000
/* Bytes of recurring jobs after which a call lists no more. */
#define PAGE_BYTES ((size_t)1024 * 1024)

struct recurs_work {
	struct work work;
	size_t queue_at; /* the argument with the queue; 0: all queues */
	uint32_t cursor;
	int64_t count;
	int64_t looks_left;
	bool has_begun;
	size_t listed;
	struct reply_deferred deferred;
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
	ret->looks_left = LOOKS_MAX;
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
	part->list->listed++;
}

static void begin(struct recurs_work *list, struct request *req)
{
	list->has_begun = true;
	reply_array(req->reply, 2);
	reply_deferred_begin(req->reply, &list->deferred, REPLY_ARRAY);
}

static void end(struct recurs_work *list, struct request *req)
{
	reply_deferred_leave(req->reply, &list->deferred);
	reply_bulk_integer(req->reply, list->cursor);
	reply_deferred_end(req->reply, &list->deferred, list->listed);
}

static bool is_page_full(const struct recurs_work *list, const struct request *req)
{
	return (int64_t)list->listed >= list->count || list->looks_left <= 0 ||
	       req->reply->out->len >= PAGE_BYTES;
}

static bool go_on(struct work *work, struct request *req)
{
	struct recurs_work *list = container_of(work, struct recurs_work, work);
	struct recurs_part part = { .req = req, .list = list };
	size_t until = req->reply->out->len + WORK_PART_BYTES;
	bool more = true;

	if (!list->has_begun)
		begin(list, req);
	for (int i = 0; i < WORK_PART_ELEMENTS && part.looked < WORK_PART_ELEMENTS &&
			req->reply->out->len < until && more;
	     i++) {
		list->cursor = view_scan(req->engine, VIEW_RECURS, list->cursor, look_at, &part);
		more = list->cursor != 0 && !is_page_full(list, req);
	}
	if (more && reply_is_wanted(req->reply) && page_may_take_another_part(req))
		return true;
	end(list, req);
	return false;
}

static void free_recurs(struct work *work)
{
	struct recurs_work *list = container_of(work, struct recurs_work, work);

	chain_done(&list->deferred.body);
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
