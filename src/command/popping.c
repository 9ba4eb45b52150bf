#include "command/popping.h"

#include "util/minmax.h"

static size_t count_limits(const struct qless_job *job)
{
	struct qless_str name;
	size_t cursor = 0;

	while (qless_job_next_limit(job, &cursor, &name))
		continue;
	return cursor;
}

void popping_begin_looks(struct request *req)
{
	qless_share_looks(req->engine, req->looks_left != NULL ? *req->looks_left : POPPING_LOOKS);
}

void popping_end_looks(struct request *req)
{
	uint64_t left = qless_share_looks(req->engine, UINT64_MAX);

	if (req->looks_left != NULL)
		*req->looks_left = left;
}

size_t popping_begin(const struct request *req)
{
	return req->slots_left != NULL ? *req->slots_left : POPPING_SLOTS;
}

int64_t popping_limit(const struct request *req, int64_t count, size_t left)
{
	size_t each = qless_get_limits(req->engine)->max_limits;

	if (left == POPPING_SLOTS || count <= 1)
		return count;
	return min_i64(count, (int64_t)max_u64(left / (each > 0 ? each : 1), 1));
}

bool popping_is_over(const struct request *req, size_t left)
{
	return left < qless_get_limits(req->engine)->max_limits;
}

void popping_take(struct request *req, const struct qless_jobs *jobs, size_t *left)
{
	for (size_t i = 0; i < jobs->count; i++)
		*left -= min_u64(count_limits(jobs->items[i]), *left);
	if (req->slots_left != NULL)
		*req->slots_left = *left;
}
