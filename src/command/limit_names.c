#include "command/limit_names.h"

#include "command/classic_int.h"
#include "util/utf8.h"

#define TOO_MANY_LIMITS "A job would have more limits than max-limits-per-job"

/* ---- the option `limits` ---- */

/* The engine checks lengths and the number of names. */
static int check_mentioned(struct request *req, struct qless_str name)
{
	struct qless_str queue;

	if (name.len == 0)
		return request_fail(req, QLESS_EBADARG, "limits must not contain an empty name");
	if (limit_is_of_queue(name, &queue))
		return request_fail(req, QLESS_EBADARG,
				    "limits must not contain a name that begins with \"%s\"; found "
				    "\"%S\". The limit of a queue applies to all of its jobs",
				    LIMIT_QUEUE_PREFIX, name);
	if (limit_is_pattern(name))
		return request_fail(req, QLESS_EBADARG,
				    "limits must not contain a pattern; found \"%S\". A name that "
				    "ends in \"*\" is for LIMIT.SET",
				    name);
	return 0;
}

int limit_names_decode(struct request *req, struct qless_str text,
		       struct operation_names *ret_names)
{
	struct json_strings *names;
	enum json_kind kind;
	int rc = request_json_list(req, "limits", text, qless_get_limits(req->engine)->max_limits,
				   TOO_MANY_LIMITS, &kind);

	if (rc < 0)
		return rc;
	names = &request_lists(req)->limits;
	if (kind != JSON_ARRAY || !json_read_strings(text, false, names) || names->has_numbers)
		return request_fail(req, QLESS_EBADARG,
				    "limits must be a JSON array of strings; found \"%S\"", text);
	for (size_t i = 0; rc == 0 && i < names->count; i++)
		rc = check_mentioned(req, names->items[i]);
	*ret_names = (struct operation_names){ names->items, names->count };
	return rc;
}

/* ---- commands about one limit ---- */

static int check_pattern(struct request *req, struct qless_str name, bool takes_patterns)
{
	struct qless_str queue;

	if (!takes_patterns)
		return request_fail(req, QLESS_EBADARG,
				    "name must be the name of one limit; found the pattern \"%S\"",
				    name);
	if (limit_is_of_queue(name, &queue))
		return request_fail(req, QLESS_EBADARG,
				    "name must not be a pattern of queues; found \"%S\"", name);
	return 0;
}

int limit_check_argument(struct request *req, struct qless_str name, bool takes_patterns)
{
	size_t max = qless_get_limits(req->engine)->max_name_bytes;
	struct qless_str queue;

	if (name.len == 0)
		return request_fail(req, QLESS_EBADARG, "name must not be empty");
	if (name.len > max)
		return request_fail(req, QLESS_ELIMIT,
				    "The name is longer than max-name-length (%g bytes)",
				    (double)max);
	if (!utf8_is_valid(name))
		return request_fail(req, QLESS_EBADARG, "The name is not UTF-8");
	if (limit_is_of_queue(name, &queue) && queue.len == 0)
		return request_fail(req, QLESS_EBADARG,
				    "name must have a queue after \"%s\"; found \"%S\"",
				    LIMIT_QUEUE_PREFIX, name);
	return limit_is_pattern(name) ? check_pattern(req, name, takes_patterns) : 0;
}
