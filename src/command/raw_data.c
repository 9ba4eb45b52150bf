#include "command/raw_data.h"

static bool is_raw(const struct request *req, struct qless_str jid)
{
	const struct qless_job *job = qless_get(req->engine, jid);
	struct qless_job_info info;

	if (job == NULL)
		return false;
	qless_job_read(job, &info);
	return info.is_raw;
}

/* Keep the bytes that the text stands for. Returns false if it is other JSON. */
static bool decode(struct request *req, struct qless_str text, struct qless_str *ret_data)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	bool ok = json_read_base64(text, &bytes);

	if (ok)
		*ret_data = request_keep(req, buf_str(&bytes));
	buf_done(&bytes);
	return ok;
}

int raw_data_settle(struct request *req, struct qless_str jid, int rc, struct qless_str text,
		    enum json_kind *ret_kind, struct qless_str *ret_data)
{
	if (req->form == REQUEST_NATIVE) {
		if (rc == QLESS_ELIMIT || !is_raw(req, jid))
			return rc;
		req->is_said = false;
		*ret_kind = JSON_STRING;
		return 0;
	}
	/* The cheap tests come first: few jobs are raw. */
	if (rc == 0 && *ret_kind == JSON_OBJECT && text.len >= STR("{\"base64\":\"\"}").len &&
	    memmem(text.ptr, text.len, "\"base64\"", 8) != NULL && is_raw(req, jid))
		decode(req, text, ret_data);
	return rc;
}

bool raw_data_find(struct request *req, struct qless_str jid, struct qless_str text,
		   struct qless_str *ret_data)
{
	static const char start[] = { '{', '"', 'b', 'a', 's', 'e', '6', '4', '"' };

	/* Puts are many, and this is cheap. */
	return text.len > sizeof start && memcmp(text.ptr, start, sizeof start) == 0 &&
	       is_raw(req, jid) && decode(req, text, ret_data);
}
