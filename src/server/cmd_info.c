/*
 * INFO, and LASTSAVE.
 */
#include <stdlib.h>

#include "command/work.h"
#include "server/commands.h"
#include "server/info.h"
#include "server/persist.h"
#include "server/recording.h"
#include "server/server_int.h"
#include "util/mem.h"

static void reply_info(struct request *req)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	/* A client that asks for the last number expects it to cover the commands it sent
	 * before. */
	recording_number(server_of(req));
	info_append_sections(server_of(req), req->args, (int)req->nargs, &text);
	reply_verbatim(req->reply, "txt", buf_str(&text));
	buf_done(&text);
}

static bool try_info(struct work *work, struct request *req)
{
	(void)work;
	if (!listeners_settle(server_of(req)))
		return true;
	reply_info(req);
	return false;
}

static void free_info_work(struct work *work)
{
	free(work);
}

/* The queues are shown with their listeners, and many of those may have ended. */
void cmd_info(struct request *req)
{
	static const struct work_ops ops = { try_info, free_info_work };
	struct work *work;

	if (!info_has_queues(req->args, (int)req->nargs) || listeners_settle(server_of(req))) {
		reply_info(req);
		return;
	}
	work = mem_zalloc(sizeof *work);
	work->ops = &ops;
	work_begin(req, work);
}

void cmd_lastsave(struct request *req)
{
	reply_integer(req->reply, persist_last_save_s(server_of(req)));
}
