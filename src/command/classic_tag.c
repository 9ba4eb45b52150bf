/*
 * Queue commands on tags and tracking.
 */
#include "command/classic_viewer.h"

#include "util/json.h"

/* ---- tag ---- */

static int decode_tagging(struct request *req, struct operation *op, enum operation_kind kind)
{
	int rc = request_need(req, 1, "Tag(): Arg \"jid\" missing", &op->job.jid);

	op->kind = kind;
	if (rc == 0)
		op->job.names = request_rest(req, 2);
	return rc;
}

static int answer_tags(struct request *req, const struct operation *op,
		       const struct operation_outcome *outcome)
{
	(void)op;
	json_append_job_tags(request_json_buf(req), outcome->job, req->style->whole);
	return answer_json(req);
}

static int tag_page_numbers(struct request *req, size_t i, double *ret_offset, double *ret_count)
{
	return request_page_numbers(req, i, "Tag(): Arg \"offset\" not a number: ",
				    "Tag(): Arg \"count\" not a number: ", ret_offset, ret_count);
}

/* Many jobs of a tag, over several turns. `number` is the total. */

static const struct skiplist *find_tagged(const struct listing *l, const struct request *req)
{
	(void)l;
	return view_tag_jobs(req->engine, req->args[1]);
}

static void begin_tagged(struct listing *l, struct request *req)
{
	(void)l;
	buf_append_str(&req->scratch->json, STR("{\"jobs\":"));
}

static void end_tagged(struct listing *l, struct request *req)
{
	listing_end_json(l, req, req->style->inner);
	buf_append_str(&req->scratch->json, STR(",\"total\":"));
	json_append_number(&req->scratch->json, l->number);
	buf_append_char(&req->scratch->json, '}');
}

static int list_many_tagged(struct request *req, const struct view_range *range)
{
	static const struct listing_form form = { .type = REPLY_TEXT,
						  .find = find_tagged,
						  .write = listing_write_json,
						  .begin_part = begin_tagged,
						  .end = end_tagged };
	struct listing *l = listing_new(&form);

	l->number = skiplist_count(range->list);
	listing_add_range(l, range);
	listing_begin(req, l);
	return 0;
}

/* Lists the jobs of a tag that the viewer may read. */
static int list_tagged_of_viewer(struct request *req, const struct classic_page *page)
{
	static const struct listing_form form = { .type = REPLY_TEXT,
						  .find = find_tagged,
						  .write = viewer_write_json,
						  .begin = begin_tagged,
						  .end_part = viewer_end_part,
						  .end = end_tagged };
	struct view_range all;

	view_tagged(req->engine, req->args[1], 0, INT64_MAX, &all);
	return viewer_begin_page(req, listing_new(&form), &all, page);
}

static int list_tagged(struct request *req)
{
	struct view_range range;
	struct buf *json = request_json_buf(req);
	struct classic_page page;
	struct qless_list jids;
	struct qless_str tag;
	double offset;
	double count;
	int rc = request_need(req, 1, "Tag(): Arg \"tag\" missing", &tag);

	if (rc == 0)
		rc = tag_page_numbers(req, 2, &offset, &count);
	if (rc == 0)
		rc = request_index_page(req, offset, count, &page);
	if (rc < 0)
		return rc;
	if (permit_viewer(req) != NULL)
		return list_tagged_of_viewer(req, &page);
	view_tagged(req->engine, tag, page.offset, page.count, &range);
	if (range.count > LISTING_SHORT)
		return list_many_tagged(req, &range);
	qless_tagged(req->engine, tag, page.offset, page.count, &jids);
	buf_append_str(json, STR("{\"jobs\":"));
	json_append_list(json, &jids, req->style->inner);
	buf_append_str(json, STR(",\"total\":"));
	json_append_number(json, (double)jids.total);
	buf_append_char(json, '}');
	return answer_json(req);
}

static int list_top(struct request *req)
{
	struct classic_page page;
	struct qless_list tags;
	double offset;
	double count;
	int rc = tag_page_numbers(req, 1, &offset, &count);

	if (rc == 0)
		rc = request_limit_page(req, offset, count, &page);
	if (rc < 0)
		return rc;
	if (permit_viewer(req) != NULL)
		return viewer_top_tags(req, &page);
	qless_top_tags(req->engine, page.offset, page.count, &tags);
	json_append_list(request_json_buf(req), &tags, req->style->whole);
	return answer_json(req);
}

/* Decodes the forms that change something. classic_tag() handles the others. */
int decode_tag(struct request *req, struct operation *op)
{
	struct qless_str command;
	int rc = request_need(
		req, 0, "Tag(): Arg \"command\" must be \"add\", \"remove\", \"get\" or \"top\"",
		&command);

	if (rc < 0)
		return rc;
	if (request_is_word(req, command, STR("add")))
		return decode_tagging(req, op, OPERATION_TAG);
	if (request_is_word(req, command, STR("remove")))
		return decode_tagging(req, op, OPERATION_UNTAG);
	if (req->form == REQUEST_NATIVE)
		return request_fail(req, QLESS_EBADARG,
				    "The first argument must be \"add\", \"remove\", \"get\" or "
				    "\"top\"; found \"%S\"",
				    command);
	return request_fail(req, QLESS_EBADARG,
			    "Tag(): First argument must be \"add\", \"remove\" or \"get\"");
}

int classic_tag(struct request *req)
{
	if (request_has(req, 0) && request_is_word(req, req->args[0], STR("get")))
		return list_tagged(req);
	if (request_has(req, 0) && request_is_word(req, req->args[0], STR("top")))
		return list_top(req);
	return request_strict_operation(req, decode_tag, strict_tag, answer_tags);
}

/* ---- track ---- */

/* The list has two parts: the jids of tracked jobs that are gone, and the jobs. */
enum {
	TRACKED_EXPIRED,
	TRACKED_JOBS,
};

static const struct skiplist *find_tracked(const struct listing *l, const struct request *req)
{
	(void)l;
	return view_tracked(req->engine);
}

static void begin_tracked(struct listing *l, struct request *req)
{
	struct buf *json = &req->scratch->json;

	buf_append_str(json, l->part == TRACKED_EXPIRED ? STR("{\"expired\":") : STR(",\"jobs\":"));
}

static size_t write_tracked(struct listing *l, struct request *req, const struct skiplist *list,
			    const struct skipnode *node)
{
	const struct user *viewer = permit_viewer(req);
	struct qless_str jid = list->member(node);
	const struct qless_job *job = qless_get(req->engine, jid);

	/* Nothing tells the queue of a job that is gone. */
	if (job == NULL && l->part == TRACKED_EXPIRED && viewer == NULL)
		json_append_string(listing_next_json(l, req), jid);
	else if (job != NULL && l->part == TRACKED_JOBS &&
		 permit_shows_job(viewer, req->engine, job))
		json_append_job(listing_next_json(l, req), job, req->style, req->now);
	return 0;
}

static void end_tracked_part(struct listing *l, struct request *req)
{
	listing_end_json(l, req, req->style->inner);
}

static void end_tracked(struct listing *l, struct request *req)
{
	(void)l;
	buf_append_char(&req->scratch->json, '}');
}

static int list_tracked(struct request *req)
{
	static const struct listing_form form = { .type = REPLY_TEXT,
						  .find = find_tracked,
						  .write = write_tracked,
						  .begin_part = begin_tracked,
						  .end_part = end_tracked_part,
						  .end = end_tracked };
	uint32_t count = skiplist_count(view_tracked(req->engine));
	struct listing *l = listing_new(&form);

	listing_add(l, 0, count, false);
	listing_add(l, 0, count, false);
	listing_begin(req, l);
	return 0;
}

/* Decodes the forms that change something. */
int decode_track(struct request *req, struct operation *op)
{
	struct qless_str command = request_text(req, 0);
	int rc = request_need(req, 1, "Track(): Arg \"jid\" missing", &op->job.jid);

	if (rc < 0)
		return rc;
	if (str_equal_nocase(command, STR("track")))
		op->kind = OPERATION_TRACK;
	else if (str_equal_nocase(command, STR("untrack")))
		op->kind = OPERATION_UNTRACK;
	else if (qless_get(req->engine, op->job.jid) == NULL && req->form != REQUEST_NATIVE)
		rc = request_fail(req, QLESS_ENOJOB, "Track(): Job does not exist");
	else
		rc = request_fail(req, QLESS_EBADARG, "Track(): Unknown action \"%S\"", command);
	return rc;
}

static int answer_track(struct request *req, const struct operation *op,
			const struct operation_outcome *outcome)
{
	(void)op;
	reply_json(req->reply, outcome->flag ? STR("1") : STR("0"));
	return 0;
}

int classic_track(struct request *req)
{
	if (!request_has(req, 0))
		return list_tracked(req);
	return request_operation(req, decode_track, answer_track);
}
