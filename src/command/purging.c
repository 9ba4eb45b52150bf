#include "command/purging.h"

#include "engine/view.h"
#include "util/minmax.h"

/* Takes from *left what a completion purges besides one job. Returns false if less is left; then
 * nothing is left afterwards. */
static bool take(const struct request *req, size_t *left)
{
	size_t backlog = min_u64(view_purgeable(req->engine, req->now), QLESS_PURGE_MAX - 1);
	bool has_enough = backlog <= *left;

	*left -= min_u64(backlog, *left);
	return has_enough;
}

void purging_limit(struct request *req, struct qless_complete *complete)
{
	size_t before;

	if (req->purges_left == NULL || complete->next != NULL)
		return;
	before = *req->purges_left;
	complete->has_purge_max = !take(req, req->purges_left);
	complete->purge_max = complete->has_purge_max ? (int64_t)before + 1 : 0;
}

size_t purging_begin(const struct request *req)
{
	return req->purges_left != NULL ? *req->purges_left : PURGING_PER_CALL;
}

void purging_limit_part(struct request *req, struct operation *op, size_t i, size_t *left)
{
	if (op->complete_many.has_purge_end)
		return;
	if (!take(req, left)) {
		op->complete_many.has_purge_end = true;
		op->complete_many.purge_end = (int64_t)i;
	}
	if (req->purges_left != NULL)
		*req->purges_left = *left;
}
