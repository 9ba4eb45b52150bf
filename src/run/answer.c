#include "run/answer.h"

#include "util/json_read.h"

/* Seconds of the longest delay: a hundred years. */
#define DELAY_MAX_S (100.0 * 366 * 86400)

/* Reads a text. Returns false if the member is there but is no string. */
static bool read_text(struct qless_str object, const char *name, struct buf *out)
{
	struct qless_str value;

	return !json_read_find(object, name, &value) ||
	       json_read_string(value, JSON_ESCAPES_TEXT, out);
}

static bool read_status(struct qless_str object, enum answer_status *ret_status)
{
	static const struct qless_str names[] = {
		[ANSWER_COMPLETE] = STR_INIT("complete"),
		[ANSWER_RETRY] = STR_INIT("retry"),
		[ANSWER_FAIL] = STR_INIT("fail"),
		[ANSWER_PROGRESS] = STR_INIT("progress"),
	};
	struct buf text = BUF_INIT(BUF_NO_MAX);
	bool is_known = false;

	if (read_text(object, "status", &text)) {
		for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
			if (str_equal(buf_str(&text), names[i])) {
				*ret_status = (enum answer_status)i;
				is_known = true;
			}
		}
	}
	buf_done(&text);
	return is_known;
}

static bool is_about(struct qless_str object, struct qless_str jid)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct qless_str value;
	bool is_same = true;

	if (json_read_find(object, "jid", &value)) {
		is_same = json_read_string(value, JSON_ESCAPES_BYTES, &text) &&
			  str_equal(buf_str(&text), jid);
		/* Programs may write the characters of a jid as escapes. */
		if (!is_same) {
			buf_clear(&text);
			is_same = json_read_string(value, JSON_ESCAPES_TEXT, &text) &&
				  str_equal(buf_str(&text), jid);
		}
	}
	buf_done(&text);
	return is_same;
}

/* A result that is no string is kept as JSON. */
static void read_result(struct answer *a, struct qless_str object)
{
	struct qless_str value;

	if (!json_read_find(object, "result", &value))
		return;
	a->has_result = true;
	if (!json_read_string(value, JSON_ESCAPES_TEXT, &a->result))
		buf_append_str(&a->result, value);
}

static const char *read_members(struct answer *a, struct qless_str object)
{
	struct qless_str value;

	if (!read_text(object, "group", &a->group))
		return "group is no string";
	if (!read_text(object, "message", &a->message))
		return "message is no string";
	if (!read_text(object, "note", &a->note))
		return "note is no string";
	a->has_delay = json_read_find(object, "delay", &value);
	if (a->has_delay &&
	    (!json_read_number(value, &a->delay_s) || a->delay_s < 0 || a->delay_s > DELAY_MAX_S))
		return "delay is no number of seconds";
	if (a->status == ANSWER_PROGRESS &&
	    (!json_read_find(object, "percent", &value) || !json_read_number(value, &a->percent) ||
	     a->percent < 0 || a->percent > 100))
		return "percent is no number from 0 to 100";
	read_result(a, object);
	return NULL;
}

const char *answer_init(struct answer *a, struct qless_str line, struct qless_str jid)
{
	const char *fault = NULL;
	struct qless_str object;

	*a = (struct answer){ 0 };
	buf_init(&a->result, BUF_NO_MAX);
	buf_init(&a->group, BUF_NO_MAX);
	buf_init(&a->message, BUF_NO_MAX);
	buf_init(&a->note, BUF_NO_MAX);
	if (!json_read_check(line, &object) || object.ptr[0] != '{')
		fault = "it is no JSON object";
	else if (!read_status(object, &a->status))
		fault = "status is not complete, retry, fail or progress";
	else if (!is_about(object, jid))
		fault = "jid is that of another job";
	else
		fault = read_members(a, object);
	if (fault != NULL)
		answer_done(a);
	return fault;
}

void answer_done(struct answer *a)
{
	buf_done(&a->result);
	buf_done(&a->group);
	buf_done(&a->message);
	buf_done(&a->note);
}
