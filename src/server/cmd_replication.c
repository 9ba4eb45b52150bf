/*
 * ROLE and WAIT. A server alone is a master without replicas.
 */
#include <string.h>

#include "server/commands.h"
#include "server/member.h"
#include "server/server_int.h"
#include "util/num.h"

/* A node that follows, as a replica of Redis says it. */
static void reply_follower(struct reply *reply, const struct member_role *role)
{
	struct qless_str host = str_from(role->leader), port = STR("0");
	const char *colon = strrchr(role->leader, ':');
	int64_t number = 0;

	if (colon != NULL) {
		host = str_make(role->leader, (size_t)(colon - role->leader));
		port = str_from(colon + 1);
	}
	if (!num_parse_i64(port, &number))
		number = 0;
	reply_array(reply, 5);
	reply_bulk(reply, STR("slave"));
	reply_bulk(reply, host);
	reply_integer(reply, number);
	reply_bulk(reply, colon != NULL ? STR("connected") : STR("connect"));
	reply_integer(reply, (int64_t)role->commit);
}

void cmd_role(struct request *req)
{
	const struct server *s = server_of(req);
	struct member_role role = { .leads = true };

	if (s->member != NULL)
		member_get_role(s, &role);
	if (!role.leads) {
		reply_follower(req->reply, &role);
		return;
	}
	reply_array(req->reply, 3);
	reply_bulk(req->reply, STR("master"));
	reply_integer(req->reply, (int64_t)role.commit);
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
