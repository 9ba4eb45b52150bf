#include "command/page_args.h"

#include "command/classic_int.h"
#include "util/num.h"

int page_parse_cursor(struct request *req, struct qless_str text, uint32_t *ret_cursor)
{
	uint64_t cursor;

	if (!num_parse_u64(text, 0, UINT32_MAX, &cursor))
		return request_fail(
			req, QLESS_EBADARG,
			"CURSOR must be 0 or the cursor of an earlier reply; found \"%S\"", text);
	*ret_cursor = (uint32_t)cursor;
	return 0;
}

int page_parse_count(struct request *req, struct qless_str text, int64_t *ret_count)
{
	if (num_parse_i64(text, ret_count) && *ret_count > 0 && *ret_count <= PAGE_COUNT_MAX)
		return 0;
	return request_fail(req, QLESS_EBADARG,
			    "COUNT must be a whole number from 1 to %g; found \"%S\"",
			    (double)PAGE_COUNT_MAX, text);
}

bool page_may_take_another_part(const struct request *req)
{
	return req->parts_left == NULL || *req->parts_left != 0;
}
