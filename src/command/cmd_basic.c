#include "command/handlers.h"

#include "resp/reply.h"

void cmd_ping(struct call *call)
{
	/* In RESP2 a subscribed connection reads arrays only. */
	if (call->session->subscribed && call->session->proto == 2) {
		reply_array(call->reply, 2);
		reply_bulk(call->reply, STR("pong"));
		reply_bulk(call->reply, call->nargs > 0 ? call->args[0] : STR(""));
	} else if (call->nargs > 0) {
		reply_bulk(call->reply, call->args[0]);
	} else {
		reply_status(call->reply, STR("PONG"));
	}
}

void cmd_echo(struct call *call)
{
	reply_bulk(call->reply, call->args[0]);
}
