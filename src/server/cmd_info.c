/*
 * INFO, and LASTSAVE.
 */
#include "server/commands.h"
#include "server/info.h"
#include "server/persist.h"
#include "server/recording.h"
#include "server/server_int.h"

void cmd_info(struct request *req)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	/* A client that asks for the last number expects it to cover the commands it sent
	 * before. */
	recording_number(server_of(req));
	info_append_sections(server_of(req), req->args, (int)req->nargs, &text);
	reply_verbatim(req->reply, "txt", buf_str(&text));
	buf_done(&text);
}

void cmd_lastsave(struct request *req)
{
	reply_integer(req->reply, persist_last_save_s(server_of(req)));
}
