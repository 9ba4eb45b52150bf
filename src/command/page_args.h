/*
 * Arguments of commands that list a page in each call, and say where the next page begins.
 */
#ifndef COMMAND_PAGE_ARGS_H
#define COMMAND_PAGE_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "command/request.h"
#include "util/str.h"

/* Elements that a call lists unless COUNT says otherwise, and at most. */
#define PAGE_COUNT_DEFAULT 100
#define PAGE_COUNT_MAX	   10000

/* Read the values of CURSOR and COUNT. Return 0, or a negative code with the error worded. */
int page_parse_cursor(struct request *req, struct qless_str text, uint32_t *ret_cursor);
int page_parse_count(struct request *req, struct qless_str text, int64_t *ret_count);

/* Returns whether the work may go on. In a transaction the call ends where it would take too long,
 * and the client continues with the cursor. */
bool page_may_take_another_part(const struct request *req);

#endif
