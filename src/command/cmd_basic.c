#include "command/handlers.h"

#include "resp/writer.h"

void cmd_ping(struct call *call)
{
	/* In RESP2 a subscribed connection reads arrays only. */
	if (call->session->subscribed && call->session->proto == 2) {
		resp_write_array(call->reply, 2);
		resp_write_bulk(call->reply, STR("pong"));
		resp_write_bulk(call->reply, call->nargs > 0 ? call->args[0] : STR(""));
	} else if (call->nargs > 0) {
		resp_write_bulk(call->reply, call->args[0]);
	} else {
		resp_write_raw(call->reply, RESP_PONG);
	}
}

void cmd_echo(struct call *call)
{
	resp_write_bulk(call->reply, call->args[0]);
}
