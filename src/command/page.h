/*
 * Pages: a command that lists some of many elements in each call, and says where the next page
 * begins. The reply is a cursor and an array. It may take several parts of work.
 */
#ifndef COMMAND_PAGE_H
#define COMMAND_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/request.h"
#include "resp/reply.h"
#include "util/str.h"

/* Elements that a call lists unless COUNT says otherwise, and at most. */
#define PAGE_COUNT_DEFAULT 100
#define PAGE_COUNT_MAX	   10000
/* Elements that a call looks at before it returns a cursor. For jobs, this takes 20 to 50 ms, in
 * parts. */
#define PAGE_LOOKS_MAX 100000
/* Bytes of elements after which a call lists no more. */
#define PAGE_BYTES_MAX ((size_t)1024 * 1024)

/* Read the values of CURSOR and COUNT. Return 0, or a negative code with the error worded. */
int page_parse_cursor(struct request *req, struct qless_str text, uint32_t *ret_cursor);
int page_parse_count(struct request *req, struct qless_str text, int64_t *ret_count);

/* The array of a page. Its owner counts in `listed` what it writes. Zeroed, it is ready. */
struct page_reply {
	bool has_begun;
	size_t listed;
	struct reply_deferred deferred;
};

/* Does nothing if the page has begun. */
void page_begin(struct page_reply *page, struct request *req);
/* Elements may be written no more: the cursor follows, and then page_end(). */
void page_leave(struct page_reply *page, struct request *req);
void page_end(struct page_reply *page, struct request *req);
/* Call this also for a page that was not ended. */
void page_done(struct page_reply *page);

/* Whether a page has `count` elements, or as many bytes as one may have. */
bool page_is_full(const struct page_reply *page, const struct request *req, int64_t count);

/* Returns whether the work may go on. In a transaction the call ends where it would take too long,
 * and the client continues with the cursor. */
bool page_may_take_another_part(const struct request *req);

#endif
