/*
 * Classic commands about tags and tracking.
 */
#include "command/classic_int.h"

#include "util/json.h"

/* ---- tag ---- */

static int change_tags(struct classic_call *call,
		       int (*change)(struct qless *, double, struct qless_str,
				     const struct qless_str *, size_t, const struct qless_job **))
{
	const struct qless_job *job;
	struct qless_str jid;
	int rc = call_need(call, 1, "Tag(): Arg \"jid\" missing", &jid);

	if (rc == 0)
		rc = change(call->engine, call->now, jid, call->args + 2, call->count - 2, &job);
	if (rc < 0)
		return rc;
	json_append_job_tags(call_json_buf(call), job, call->style->whole);
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

int classic_tag(struct classic_call *call)
{
	struct qless_str command;
	int rc = call_need(call, 0,
			   "Tag(): Arg \"command\" must be \"add\", \"remove\", \"get\" or \"top\"",
			   &command);

	if (rc < 0)
		return rc;
	if (str_equal(command, STR("add")))
		return change_tags(call, qless_tag);
	if (str_equal(command, STR("remove")))
		return change_tags(call, qless_untag);
	if (str_equal(command, STR("get")))
		return list_tagged(call);
	if (str_equal(command, STR("top")))
		return list_top(call);
	return call_fail(call, QLESS_EBADARG,
			 "Tag(): First argument must be \"add\", \"remove\" or \"get\"");
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

int classic_track(struct classic_call *call)
{
	struct qless_str command;
	struct qless_str jid;
	bool changed;
	int rc;

	if (!call_has(call, 0))
		return list_tracked(call);
	command = call->args[0];
	rc = call_need(call, 1, "Track(): Arg \"jid\" missing", &jid);
	if (rc < 0)
		return rc;
	if (str_equal_nocase(command, STR("track")))
		rc = qless_track(call->engine, call->now, jid, &changed);
	else if (str_equal_nocase(command, STR("untrack")))
		rc = qless_untrack(call->engine, call->now, jid, &changed);
	else if (qless_get(call->engine, jid) == NULL)
		rc = call_fail(call, QLESS_ENOJOB, "Track(): Job does not exist");
	else
		rc = call_fail(call, QLESS_EBADARG, "Track(): Unknown action \"%S\"", command);
	return rc < 0 ? rc : answer_bulk(call, changed ? STR("1") : STR("0"));
}
