/*
 * SENTINEL, READONLY and READWRITE: where the leader of the group is, for client libraries.
 *
 * The replies have the fields of Redis Sentinel that libraries read and that a group knows.
 */
#include <inttypes.h>

#include "server/commands.h"
#include "server/sentinel.h"
#include "server/server_int.h"

static bool is_name(const struct request *req)
{
	return str_equal(req->args[0], str_from(server_of(req)->config->replication_name));
}

/* Writes an error if there is no group, or the first argument is not its name. */
static bool check_name(struct request *req)
{
	if (!commands_check_group(req))
		return false;
	if (is_name(req))
		return true;
	reply_error(req->reply, "ERR", STR("No such master with that name"));
	return false;
}

static void look(const struct request *req, struct sentinel_view *ret)
{
	const struct client *c = client_of(req);

	sentinel_look(c->server, c->kind == CLIENT_TCP ? conn_of(c)->local : NULL, ret);
}

/*
 * Maps. All values are strings.
 */

static void write_text(struct reply *reply, struct qless_str name, struct qless_str value)
{
	reply_bulk(reply, name);
	reply_bulk(reply, value);
}

static void write_number(struct reply *reply, struct qless_str name, uint64_t value)
{
	reply_bulk(reply, name);
	reply_bulkf(reply, "%" PRIu64, value);
}

/* The fields that all maps begin with. A client that reads one of the flags s_down and disconnected
 * does not use the node. */
#define NODE_FIELDS 5

static void write_node(struct reply *reply, const struct sentinel_node *node, struct qless_str name,
		       const char *role)
{
	write_text(reply, STR("name"), name);
	write_text(reply, STR("ip"), node->host);
	write_text(reply, STR("port"), node->port);
	write_text(reply, STR("runid"), str_make(node->run_id, sizeof node->run_id));
	reply_bulk(reply, STR("flags"));
	reply_bulkf(reply, "%s%s", role, node->is_reached ? "" : ",s_down,disconnected");
}

static void write_leader(struct request *req, const struct sentinel_view *view)
{
	const struct config *config = server_of(req)->config;
	struct reply *reply = req->reply;

	reply_map(reply, NODE_FIELDS + 6);
	write_node(reply, view->leader, str_from(config->replication_name), "master");
	write_text(reply, STR("role-reported"), STR("master"));
	write_number(reply, STR("config-epoch"), view->term);
	write_number(reply, STR("num-slaves"), view->count - 1);
	write_number(reply, STR("num-other-sentinels"), view->count - 1);
	write_number(reply, STR("quorum"), view->quorum);
	write_number(reply, STR("down-after-milliseconds"),
		     (uint64_t)config->replication_election_timeout_ms);
}

static void write_replica(struct reply *reply, const struct sentinel_view *view,
			  const struct sentinel_node *node)
{
	struct qless_str host = STR("?"), port = STR("0");

	if (view->leader != NULL) {
		host = view->leader->host;
		port = view->leader->port;
	}
	reply_map(reply, NODE_FIELDS + 5);
	write_node(reply, node, str_from(node->address), "slave");
	write_text(reply, STR("role-reported"), STR("slave"));
	write_text(reply, STR("master-link-status"),
		   view->leader != NULL && node->is_reached ? STR("ok") : STR("err"));
	write_text(reply, STR("master-host"), host);
	write_text(reply, STR("master-port"), port);
	/* Redis Sentinel never makes a replica of priority 0 a master. */
	write_number(reply, STR("slave-priority"), node->is_voter ? 100 : 0);
}

static void write_sentinel(struct reply *reply, const struct sentinel_view *view,
			   const struct sentinel_node *node)
{
	(void)view;
	reply_map(reply, NODE_FIELDS);
	write_node(reply, node, str_make(node->run_id, sizeof node->run_id), "sentinel");
}

/*
 * Lists of nodes. A node whose address is unknown is of no use to a client.
 */

typedef bool node_filter(const struct sentinel_node *node);
typedef void node_writer(struct reply *reply, const struct sentinel_view *view,
			 const struct sentinel_node *node);

static bool is_replica(const struct sentinel_node *node)
{
	return !node->is_leader && node->port.len != 0;
}

static bool is_other(const struct sentinel_node *node)
{
	return !node->is_own && node->port.len != 0;
}

static void list_nodes(struct request *req, node_filter *filter, node_writer *write)
{
	struct sentinel_view view;
	size_t count = 0;

	if (!check_name(req))
		return;
	look(req, &view);
	for (size_t i = 0; i < view.count; i++)
		count += filter(&view.nodes[i]);
	reply_array(req->reply, count);
	for (size_t i = 0; i < view.count; i++) {
		if (filter(&view.nodes[i]))
			write(req->reply, &view, &view.nodes[i]);
	}
}

void sentinel_cmd_replicas(struct request *req)
{
	list_nodes(req, is_replica, write_replica);
}

void sentinel_cmd_sentinels(struct request *req)
{
	list_nodes(req, is_other, write_sentinel);
}

/*
 * The leader
 */

void sentinel_cmd_address(struct request *req)
{
	struct sentinel_view view = { .leader = NULL };

	if (!commands_check_group(req))
		return;
	if (is_name(req))
		look(req, &view);
	if (view.leader == NULL) {
		reply_null_array(req->reply);
		return;
	}
	reply_array(req->reply, 2);
	reply_bulk(req->reply, view.leader->host);
	reply_bulk(req->reply, view.leader->port);
}

void sentinel_cmd_master(struct request *req)
{
	struct sentinel_view view;

	if (!check_name(req))
		return;
	look(req, &view);
	if (view.leader != NULL)
		write_leader(req, &view);
	else
		reply_error(req->reply, "MASTERDOWN", STR("no leader is known"));
}

void sentinel_cmd_masters(struct request *req)
{
	struct sentinel_view view;

	if (!commands_check_group(req))
		return;
	look(req, &view);
	reply_array(req->reply, view.leader != NULL);
	if (view.leader != NULL)
		write_leader(req, &view);
}

/*
 * This node
 */

void sentinel_cmd_myid(struct request *req)
{
	struct sentinel_view view;

	if (!commands_check_group(req))
		return;
	look(req, &view);
	if (view.own != NULL)
		reply_bulk(req->reply, str_make(view.own->run_id, sizeof view.own->run_id));
	else
		reply_error(req->reply, "ERR", STR("this node is not a member of its group"));
}

void sentinel_cmd_ckquorum(struct request *req)
{
	struct buf line = BUF_INIT(BUF_NO_MAX);
	struct sentinel_view view;

	if (!check_name(req))
		return;
	look(req, &view);
	if (view.reached < view.quorum) {
		reply_errorf(req->reply, "NOQUORUM",
			     "%u usable Sentinels. Not enough available Sentinels to reach the "
			     "majority and authorize a failover",
			     view.reached);
		return;
	}
	buf_printf(&line,
		   "OK %u usable Sentinels. Quorum and failover authorization can be reached",
		   view.reached);
	reply_status(req->reply, buf_str(&line));
	buf_done(&line);
}

/*
 * Reading from nodes that follow
 */

void cmd_readonly(struct request *req)
{
	req->session->reads_copies = true;
	reply_ok(req->reply);
}

void cmd_readwrite(struct request *req)
{
	req->session->reads_copies = false;
	reply_ok(req->reply);
}
