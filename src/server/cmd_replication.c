/*
 * ROLE and WAIT. There is no replication, so a server is a master without replicas.
 */
#include "server/commands.h"
#include "server/server_int.h"
#include "util/num.h"

void cmd_role(struct request *req)
{
	reply_array(req->reply, 3);
	reply_bulk(req->reply, STR("master"));
	reply_integer(req->reply, 0);
	reply_array(req->reply, 0);
}

/* No replica will ever acknowledge anything, so there is nothing to wait for. */
void cmd_wait(struct request *req)
{
	int64_t replicas, timeout_ms;

	if (!num_parse_i64(req->args[0], &replicas)) {
		reply_error(req->reply, "ERR", STR("value is not an integer or out of range"));
	} else if (!num_parse_i64(req->args[1], &timeout_ms)) {
		reply_error(req->reply, "ERR", STR("timeout is not an integer or out of range"));
	} else if (timeout_ms < 0) {
		reply_error(req->reply, "ERR", STR("timeout is negative"));
	} else {
		reply_integer(req->reply, 0);
	}
}
