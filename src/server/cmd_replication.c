/*
 * ROLE and WAIT. A server alone is a master without replicas.
 */
#include <stdio.h>

#include "server/commands.h"
#include "server/member.h"
#include "server/sentinel.h"
#include "server/server_int.h"
#include "util/num.h"

/* A node that follows, as a replica of Redis says it. */
static void reply_follower(struct reply *reply, const struct member_role *role)
{
	struct qless_str host, port;
	bool is_known = sentinel_split_address(role->leader, &host, &port);
	int64_t number = 0;

	if (is_known && !num_parse_i64(port, &number))
		number = 0;
	reply_array(reply, 5);
	reply_bulk(reply, STR("slave"));
	reply_bulk(reply, host);
	reply_integer(reply, number);
	reply_bulk(reply, is_known ? STR("connected") : STR("connect"));
	reply_integer(reply, (int64_t)role->commit);
}

static void reply_text(struct reply *reply, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)number);
	reply_bulk(reply, str_from(text));
}

/* Address and offset of the nodes that follow. */
static void reply_replicas(struct reply *reply, const struct server *s)
{
	struct sentinel_view view = { .count = 0 };
	size_t count = 0;

	if (s->member != NULL)
		sentinel_look(s, NULL, &view);
	for (size_t i = 0; i < view.count; i++)
		count += member_is_replica(&view.nodes[i]);
	reply_array(reply, count);
	for (size_t i = 0; i < view.count; i++) {
		const struct sentinel_node *node = &view.nodes[i];

		if (!member_is_replica(node))
			continue;
		reply_array(reply, 3);
		reply_bulk(reply, node->host);
		reply_bulk(reply, node->port);
		reply_text(reply, member_offset(s, node->id));
	}
}

void cmd_role(struct request *req)
{
	const struct server *s = server_of(req);
	struct member_role role = { .leads = !member_follows(s) };

	if (s->member != NULL)
		member_get_role(s, &role);
	if (!role.leads) {
		reply_follower(req->reply, &role);
		return;
	}
	reply_array(req->reply, 3);
	reply_bulk(req->reply, STR("master"));
	reply_integer(req->reply, (int64_t)role.commit);
	reply_replicas(req->reply, s);
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
