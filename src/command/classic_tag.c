/*
 * Queue commands on tags and tracking.
 */
#include "command/classic_int.h"

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

static int list_tagged(struct request *req)
{
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
	if (str_equal(command, STR("add")))
		return decode_tagging(req, op, OPERATION_TAG);
	if (str_equal(command, STR("remove")))
		return decode_tagging(req, op, OPERATION_UNTAG);
	return request_fail(req, QLESS_EBADARG,
			    "Tag(): First argument must be \"add\", \"remove\" or \"get\"");
}

int classic_tag(struct request *req)
{
	if (request_has(req, 0) && str_equal(req->args[0], STR("get")))
		return list_tagged(req);
	if (request_has(req, 0) && str_equal(req->args[0], STR("top")))
		return list_top(req);
	return request_operation(req, decode_tag, answer_tags);
}

/* ---- track ---- */

static int list_tracked(struct request *req)
{
	struct buf *json = request_json_buf(req);
	struct qless_list jids;
	size_t begin;
	size_t i;

	qless_tracked(req->engine, &jids);
	buf_append_str(json, STR("{\"expired\":"));
	begin = json_begin_list(json);
	for (i = 0; i < jids.count; i++) {
		if (qless_get(req->engine, jids.items[i]) != NULL)
			continue;
		json_next_item(json, begin);
		json_append_string(json, jids.items[i]);
	}
	json_end_list(json, begin, req->style->inner);
	buf_append_str(json, STR(",\"jobs\":"));
	begin = json_begin_list(json);
	for (i = 0; i < jids.count; i++) {
		const struct qless_job *job = qless_get(req->engine, jids.items[i]);

		if (job == NULL)
			continue;
		json_next_item(json, begin);
		json_append_job(json, job, req->style);
	}
	json_end_list(json, begin, req->style->inner);
	buf_append_char(json, '}');
	return answer_json(req);
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
	else if (qless_get(req->engine, op->job.jid) == NULL)
		rc = request_fail(req, QLESS_ENOJOB, "Track(): Job does not exist");
	else
		rc = request_fail(req, QLESS_EBADARG, "Track(): Unknown action \"%S\"", command);
	return rc;
}

static int answer_track(struct request *req, const struct operation *op,
			const struct operation_outcome *outcome)
{
	(void)op;
	return answer_bulk(req, outcome->flag ? STR("1") : STR("0"));
}

int classic_track(struct request *req)
{
	if (!request_has(req, 0))
		return list_tracked(req);
	return request_operation(req, decode_track, answer_track);
}
