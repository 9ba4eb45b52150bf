#include "command/handlers.h"

#include "resp/reply.h"

void cmd_ping(struct request *req)
{
	/* In RESP2 a subscribed connection receives arrays only. */
	if (req->session->subscribed && req->session->proto == 2) {
		reply_array(req->reply, 2);
		reply_bulk(req->reply, STR("pong"));
		reply_bulk(req->reply, req->nargs > 0 ? req->args[0] : STR(""));
	} else if (req->nargs > 0) {
		reply_bulk(req->reply, req->args[0]);
	} else {
		reply_status(req->reply, STR("PONG"));
	}
}

void cmd_echo(struct request *req)
{
	reply_bulk(req->reply, req->args[0]);
}
