/*
 * LIMIT.LIST: a page of all limits and rules.
 *
 * The cursor is that of a walk over a hash table, as in SCAN, so it needs no state in the server. A
 * limit that exists all the time is listed exactly once by a walk from cursor 0 to cursor 0.
 */
#include "command/classic_int.h"

#include <stdlib.h>

#include "command/limit_names.h"
#include "command/limit_reply.h"
#include "command/options.h"
#include "command/page.h"
#include "command/permit.h"
#include "command/work.h"
#include "util/container.h"
#include "util/glob.h"
#include "util/mem.h"

/* Steps of the walk for each limit to look at. In nearly empty tables a call ends earlier, and
 * returns a cursor. */
#define STEPS_PER_LIMIT 10

struct page {
	const struct qless_str *match; /* NULL: every name */
	uint32_t cursor;
	int64_t count;
};

struct list_work {
	struct work work;
	size_t match_at; /* the argument with the pattern; 0: there is none */
	uint32_t cursor;
	int64_t left; /* limits that the call may still look at */
	int64_t steps_left;
	struct page_reply page;
};

/* ---- arguments ---- */

static int check_match(struct request *req, struct qless_str pattern)
{
	size_t max = req->env->limits.pattern_bytes;

	if (max == 0 || max > GLOB_MAX_BYTES)
		max = GLOB_MAX_BYTES;
	if (pattern.len <= max)
		return 0;
	return request_fail(req, QLESS_ELIMIT, "MATCH is longer than max-pattern-length (%g bytes)",
			    (double)max);
}

static int parse_page(struct request *req, struct page *ret)
{
	const struct qless_str *cursor = NULL, *count = NULL;
	const struct option_slot slots[] = {
		{ STR_INIT("MATCH"), &ret->match, 1 },
		{ STR_INIT("CURSOR"), &cursor, 1 },
		{ STR_INIT("COUNT"), &count, 1 },
	};
	int rc;

	*ret = (struct page){ .match = NULL, .count = PAGE_COUNT_DEFAULT };
	rc = options_read(req, 0, req->nargs, slots, sizeof slots / sizeof *slots);
	if (rc == 0 && ret->match != NULL)
		rc = check_match(req, *ret->match);
	if (rc == 0 && cursor != NULL)
		rc = page_parse_cursor(req, *cursor, &ret->cursor);
	if (rc == 0 && count != NULL)
		rc = page_parse_count(req, *count, &ret->count);
	return rc;
}

/* ---- the page ---- */

struct list_part {
	struct request *req;
	struct list_work *list;
	const struct qless_str *match;
	int visited;
};

static bool is_shown(const struct list_part *part, struct qless_str name)
{
	struct qless_str queue;

	if (part->match != NULL && !glob_match(*part->match, name, false))
		return false;
	return !limit_is_of_queue(name, &queue) ||
	       permit_shows_queue(permit_viewer(part->req), queue);
}

static void list_limit(void *arg, struct qless_str name)
{
	struct list_part *part = arg;
	struct request *req = part->req;
	struct qless_limit_info info;

	part->visited++;
	part->list->left--;
	if (!is_shown(part, name) || !qless_limit_get(req->engine, req->now, name, &info))
		return;
	limit_reply_short(req, &info);
	part->list->page.listed++;
}

static bool go_on(struct work *work, struct request *req)
{
	struct list_work *list = container_of(work, struct list_work, work);
	struct list_part part = { .req = req, .list = list };
	bool more = true;

	if (list->match_at != 0)
		part.match = &req->args[list->match_at];
	page_begin(&list->page, req);
	for (int i = 0; i < WORK_PART_ELEMENTS && part.visited < WORK_PART_ELEMENTS && more; i++) {
		list->cursor = qless_limit_scan(req->engine, list->cursor, list_limit, &part);
		more = list->cursor != 0 && list->left > 0 && --list->steps_left > 0;
	}
	if (more && reply_is_wanted(req->reply))
		return true;
	page_leave(&list->page, req);
	reply_bulk_integer(req->reply, list->cursor);
	page_end(&list->page, req);
	return false;
}

static void free_list(struct work *work)
{
	struct list_work *list = container_of(work, struct list_work, work);

	page_done(&list->page);
	free(list);
}

int native_limit_list(struct request *req)
{
	static const struct work_ops ops = { go_on, free_list };
	struct list_work *list;
	struct page page;
	int rc = parse_page(req, &page);

	if (rc < 0)
		return rc;
	list = mem_zalloc(sizeof *list);
	list->work.ops = &ops;
	list->match_at = page.match != NULL ? (size_t)(page.match - req->args) : 0;
	list->cursor = page.cursor;
	list->left = page.count;
	list->steps_left = page.count * STEPS_PER_LIMIT;
	work_begin(req, &list->work);
	return 0;
}
