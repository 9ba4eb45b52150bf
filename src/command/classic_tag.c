/*
 * Classic commands about tags and tracking.
 */
#include "command/classic_int.h"

#include "util/json.h"

/* ---- tag ---- */

static int decode_tagging(struct classic_call *call, struct operation *op, enum operation_kind kind)
{
	int rc = call_need(call, 1, "Tag(): Arg \"jid\" missing", &op->job.jid);

	op->kind = kind;
	if (rc == 0)
		op->job.names = call_rest(call, 2);
	return rc;
}

static int answer_tags(struct classic_call *call, const struct operation *op,
		       const struct operation_outcome *outcome)
{
	(void)op;
	json_append_job_tags(call_json_buf(call), outcome->job, call->style->whole);
	return answer_json(call);
}

static int tag_page_numbers(struct classic_call *call, size_t i, double *ret_offset,
			    double *ret_count)
{
	return call_page_numbers(call, i, "Tag(): Arg \"offset\" not a number: ",
				 "Tag(): Arg \"count\" not a number: ", ret_offset, ret_count);
}

static int list_tagged(struct classic_call *call)
{
	struct buf *json = call_json_buf(call);
	struct classic_page page;
	struct qless_list jids;
	struct qless_str tag;
	double offset;
	double count;
	int rc = call_need(call, 1, "Tag(): Arg \"tag\" missing", &tag);

	if (rc == 0)
		rc = tag_page_numbers(call, 2, &offset, &count);
	if (rc == 0)
		rc = call_index_page(call, offset, count, &page);
	if (rc < 0)
		return rc;
	qless_tagged(call->engine, tag, page.offset, page.count, &jids);
	buf_append_str(json, STR("{\"jobs\":"));
	json_append_list(json, &jids, call->style->inner);
	buf_append_str(json, STR(",\"total\":"));
	json_append_number(json, (double)jids.total);
	buf_append_char(json, '}');
	return answer_json(call);
}

static int list_top(struct classic_call *call)
{
	struct classic_page page;
	struct qless_list tags;
	double offset;
	double count;
	int rc = tag_page_numbers(call, 1, &offset, &count);

	if (rc == 0)
		rc = call_limit_page(call, offset, count, &page);
	if (rc < 0)
		return rc;
	qless_top_tags(call->engine, page.offset, page.count, &tags);
	json_append_list(call_json_buf(call), &tags, call->style->whole);
	return answer_json(call);
}

/* Of the forms that change something; the others are answered before. */
int decode_tag(struct classic_call *call, struct operation *op)
{
	struct qless_str command;
	int rc = call_need(call, 0,
			   "Tag(): Arg \"command\" must be \"add\", \"remove\", \"get\" or \"top\"",
			   &command);

	if (rc < 0)
		return rc;
	if (str_equal(command, STR("add")))
		return decode_tagging(call, op, OPERATION_TAG);
	if (str_equal(command, STR("remove")))
		return decode_tagging(call, op, OPERATION_UNTAG);
	return call_fail(call, QLESS_EBADARG,
			 "Tag(): First argument must be \"add\", \"remove\" or \"get\"");
}

int classic_tag(struct classic_call *call)
{
	if (call_has(call, 0) && str_equal(call->args[0], STR("get")))
		return list_tagged(call);
	if (call_has(call, 0) && str_equal(call->args[0], STR("top")))
		return list_top(call);
	return call_operation(call, decode_tag, answer_tags);
}

/* ---- track ---- */

static int list_tracked(struct classic_call *call)
{
	struct buf *json = call_json_buf(call);
	struct qless_list jids;
	size_t begin;
	size_t i;

	qless_tracked(call->engine, &jids);
	buf_append_str(json, STR("{\"expired\":"));
	begin = json_begin_list(json);
	for (i = 0; i < jids.count; i++) {
		if (qless_get(call->engine, jids.items[i]) != NULL)
			continue;
		json_next_item(json, begin);
		json_append_string(json, jids.items[i]);
	}
	json_end_list(json, begin, call->style->inner);
	buf_append_str(json, STR(",\"jobs\":"));
	begin = json_begin_list(json);
	for (i = 0; i < jids.count; i++) {
		const struct qless_job *job = qless_get(call->engine, jids.items[i]);

		if (job == NULL)
			continue;
		json_next_item(json, begin);
		json_append_job(json, job, call->style);
	}
	json_end_list(json, begin, call->style->inner);
	buf_append_char(json, '}');
	return answer_json(call);
}

/* Of the forms that change something. */
int decode_track(struct classic_call *call, struct operation *op)
{
	struct qless_str command = call_text(call, 0);
	int rc = call_need(call, 1, "Track(): Arg \"jid\" missing", &op->job.jid);

	if (rc < 0)
		return rc;
	if (str_equal_nocase(command, STR("track")))
		op->kind = OPERATION_TRACK;
	else if (str_equal_nocase(command, STR("untrack")))
		op->kind = OPERATION_UNTRACK;
	else if (qless_get(call->engine, op->job.jid) == NULL)
		rc = call_fail(call, QLESS_ENOJOB, "Track(): Job does not exist");
	else
		rc = call_fail(call, QLESS_EBADARG, "Track(): Unknown action \"%S\"", command);
	return rc;
}

static int answer_track(struct classic_call *call, const struct operation *op,
			const struct operation_outcome *outcome)
{
	(void)op;
	return answer_bulk(call, outcome->flag ? STR("1") : STR("0"));
}

int classic_track(struct classic_call *call)
{
	if (!call_has(call, 0))
		return list_tracked(call);
	return call_operation(call, decode_track, answer_track);
}
