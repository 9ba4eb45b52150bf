#include "command/page.h"

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

void page_begin(struct page_reply *page, struct request *req)
{
	if (page->has_begun)
		return;
	page->has_begun = true;
	reply_array(req->reply, 2);
	reply_deferred_begin(req->reply, &page->deferred, REPLY_ARRAY);
}

void page_leave(struct page_reply *page, struct request *req)
{
	reply_deferred_leave(req->reply, &page->deferred);
}

void page_end(struct page_reply *page, struct request *req)
{
	reply_deferred_end(req->reply, &page->deferred, page->listed);
}

void page_done(struct page_reply *page)
{
	chain_done(&page->deferred.body);
}

bool page_is_full(const struct page_reply *page, const struct request *req, int64_t count)
{
	return (int64_t)page->listed >= count || req->reply->out->len >= PAGE_BYTES_MAX;
}

bool page_may_take_another_part(const struct request *req)
{
	return req->parts_left == NULL || *req->parts_left != 0;
}
