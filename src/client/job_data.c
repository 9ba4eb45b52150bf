#include "client/job_data.h"

#include "util/base64.h"
#include "util/json_read.h"

/* The bytes of a raw job are shown as a string with JSON in it: {"base64":"..."}. */
static bool read_bytes(struct qless_str text, struct buf *out)
{
	struct buf base64 = BUF_INIT(BUF_NO_MAX);
	struct qless_str object, value;
	bool is_good = json_read_check(text, &object) && json_read_find(object, "base64", &value) &&
		       json_read_string(value, JSON_ESCAPES_TEXT, &base64) &&
		       base64_append_decoded(out, buf_str(&base64));

	buf_done(&base64);
	return is_good;
}

bool job_data_read(struct qless_str job, struct buf *out, bool *ret_is_raw)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct qless_str value, raw;
	bool is_good;

	*ret_is_raw = json_read_find(job, "raw", &raw) && str_equal(raw, STR("true"));
	if (!json_read_find(job, "data", &value))
		return false;
	if (!*ret_is_raw)
		return json_read_string(value, JSON_ESCAPES_BYTES, out);
	is_good = json_read_string(value, JSON_ESCAPES_BYTES, &text) &&
		  read_bytes(buf_str(&text), out);
	buf_done(&text);
	return is_good;
}
