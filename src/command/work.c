#include "command/work.h"

#include <string.h>

#include "command/classic.h"

void work_reply_begin(struct work_reply *own, const struct reply *like)
{
	chain_init(&own->bytes, like->out->pool);
	own->writer = *like;
	own->writer.out = &own->bytes;
	own->writer.errors = 0;
	if (like->max != REPLY_NO_MAX)
		own->writer.max = reply_room(like);
}

void work_reply_end(struct work_reply *own, struct reply *to)
{
	if (own->writer.errors != 0) {
		to->errors += own->writer.errors;
		memcpy(to->last_error, own->writer.last_error, sizeof to->last_error);
	}
	if (own->writer.is_full && !to->muted)
		reply_fill(to);
	else
		chain_move(to->out, &own->bytes);
	chain_done(&own->bytes);
}

static void refuse_in_transaction(struct request *req)
{
	classic_write_limit(req, STR("The command takes too long for a transaction. Send it "
				     "outside of MULTI, or ask for less"));
}

/* Returns whether another part may be done at once. */
static bool may_go_on(const struct request *req)
{
	if (req->parts_left == NULL)
		return true;
	if (*req->parts_left == 0)
		return false;
	--*req->parts_left;
	return true;
}

/* Does the work at once. Within a transaction, work that takes too many parts ends with an error.
 */
static void do_at_once(struct request *req, struct work *work)
{
	struct request own_req = *req;
	struct work_reply own;
	bool more;

	if (req->parts_left != NULL && *req->parts_left == 0) {
		work->ops->free(work);
		refuse_in_transaction(req);
		return;
	}
	work_reply_begin(&own, req->reply);
	own_req.reply = &own.writer;
	do {
		more = work->ops->go_on(work, &own_req);
	} while (more && !own.writer.is_full && may_go_on(req));
	work->ops->free(work);
	if (more && !own.writer.is_full) {
		chain_done(&own.bytes);
		refuse_in_transaction(req);
		return;
	}
	work_reply_end(&own, req->reply);
}

void work_begin(struct request *req, struct work *work)
{
	if (req->parts_left != NULL || req->env->spread == NULL)
		do_at_once(req, work);
	else
		req->env->spread(req->env->arg, req, work);
}
