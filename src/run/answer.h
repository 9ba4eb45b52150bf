/*
 * The answer of a program that reads jobs as lines: a JSON object in one line.
 *
 *	{"status": "complete", "result": "text or any JSON"}
 *	{"status": "retry", "delay": 60, "group": "busy", "message": "text"}
 *	{"status": "fail", "group": "bad-data", "message": "text"}
 *	{"status": "progress", "percent": 40, "note": "text"}
 *
 * Only `status` is required, and `percent` for progress. With `jid`, the answer must be about the
 * current job. Other members are ignored.
 */
#ifndef RUN_ANSWER_H
#define RUN_ANSWER_H

#include <stdbool.h>

#include "util/buf.h"
#include "util/str.h"

enum answer_status {
	ANSWER_COMPLETE,
	ANSWER_RETRY,
	ANSWER_FAIL,
	ANSWER_PROGRESS,
};

struct answer {
	enum answer_status status;
	bool has_result, has_delay;
	double delay_s, percent;
	struct buf result, group, message, note; /* texts; empty if they were not given */
};

/* Reads a line. Returns NULL, or why it is no answer; then there is nothing to free. */
const char *answer_init(struct answer *a, struct qless_str line, struct qless_str jid);
void answer_done(struct answer *a);

#endif
