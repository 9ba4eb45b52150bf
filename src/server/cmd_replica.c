/*
 * REPLICA and FAILOVER: the members of a group, and which of them leads.
 */
#include <inttypes.h>
#include <string.h>

#include "server/commands.h"
#include "server/member.h"
#include "server/server_int.h"
#include "util/num.h"

bool commands_check_group(struct request *req)
{
	if (server_of(req)->member != NULL)
		return true;
	reply_error(req->reply, "ERR",
		    STR("this server is not a node of a group; see --begin-group in qlessd(8)"));
	return false;
}

static bool read_id(struct request *req, unsigned i, uint64_t *ret_id)
{
	if (num_parse_u64(req->args[i], 1, INT64_MAX, ret_id))
		return true;
	reply_error(req->reply, "ERR", STR("the number of a node is an integer from 1"));
	return false;
}

/* Copies "host:port". Returns false after an error reply if the argument is something else. */
static bool read_address(struct request *req, unsigned i, char to[MEMBERS_ADDRESS_SIZE])
{
	struct qless_str arg = req->args[i], host, port;
	uint64_t number;

	if (arg.len < MEMBERS_ADDRESS_SIZE && memchr(arg.ptr, '\0', arg.len) == NULL) {
		memcpy(to, arg.ptr, arg.len);
		to[arg.len] = '\0';
		if (sentinel_split_address(to, &host, &port) && host.len > 0 &&
		    num_parse_u64(port, 1, 65535, &number))
			return true;
	}
	reply_error(req->reply, "ERR",
		    STR("the address of a node is host:port, such as 10.0.0.4:7539"));
	return false;
}

static void answer(struct request *req, int rc, struct buf *error)
{
	if (rc < 0)
		reply_errorf(req->reply, "ERR", "%s", buf_cstr(error));
	else
		reply_ok(req->reply);
	buf_done(error);
}

void replica_cmd_add(struct request *req)
{
	struct buf error = BUF_INIT(1024);
	char address[MEMBERS_ADDRESS_SIZE];
	uint64_t id;

	if (commands_check_group(req) && read_id(req, 0, &id) && read_address(req, 1, address))
		answer(req, member_add(server_of(req), id, address, &error), &error);
}

void replica_cmd_remove(struct request *req)
{
	struct buf error = BUF_INIT(1024);
	uint64_t id;

	if (commands_check_group(req) && read_id(req, 0, &id))
		answer(req, member_remove(server_of(req), id, &error), &error);
}

void replica_cmd_replace(struct request *req)
{
	struct buf error = BUF_INIT(1024);
	char address[MEMBERS_ADDRESS_SIZE];
	uint64_t old, new;

	if (commands_check_group(req) && read_id(req, 0, &old) && read_id(req, 1, &new) &&
	    read_address(req, 2, address))
		answer(req, member_replace(server_of(req), old, new, address, &error), &error);
}

static void write_text(struct reply *reply, struct qless_str name, const char *text)
{
	reply_bulk(reply, name);
	reply_bulk(reply, str_from(text));
}

static void write_number(struct reply *reply, struct qless_str name, bool is_known, uint64_t number)
{
	reply_bulk(reply, name);
	if (is_known)
		reply_integer(reply, (int64_t)number);
	else
		reply_null(reply);
}

static void write_peer(struct reply *reply, const struct member_peer *peer)
{
	uint64_t lag = peer->last > peer->index ? peer->last - peer->index : 0;

	reply_map(reply, 9);
	write_number(reply, STR("id"), true, peer->id);
	write_text(reply, STR("address"), peer->address);
	write_text(reply, STR("clients"), peer->clients);
	write_text(reply, STR("role"), peer->role);
	write_number(reply, STR("connected"), true, peer->is_connected);
	write_number(reply, STR("index"), peer->has_index, peer->index);
	write_number(reply, STR("lag"), peer->has_index, lag);
	reply_bulk(reply, STR("clock-ahead-us"));
	if (peer->has_clock)
		reply_integer(reply, peer->clock_ahead_us);
	else
		reply_null(reply);
	write_text(reply, STR("progress"), peer->progress);
}

void replica_cmd_list(struct request *req)
{
	const struct server *s = server_of(req);
	struct member_peer peer;

	if (!commands_check_group(req))
		return;
	reply_array(req->reply, member_count(s));
	for (unsigned i = 0; i < member_count(s); i++) {
		member_get_peer(s, i, &peer);
		write_peer(req->reply, &peer);
	}
}

/* Reads [TO host port] into "host:port", or an empty string. */
static bool read_heir(struct request *req, char to[MEMBERS_ADDRESS_SIZE])
{
	struct qless_str host;

	to[0] = '\0';
	if (req->nargs == 0)
		return true;
	if (req->nargs != 3 || !str_equal_nocase(req->args[0], STR("TO"))) {
		reply_error(req->reply, "ERR", STR("syntax error"));
		return false;
	}
	host = req->args[1];
	if (host.len + req->args[2].len + sizeof "[]:" > MEMBERS_ADDRESS_SIZE) {
		reply_error(req->reply, "ERR", STR("the address of the node is too long"));
		return false;
	}
	snprintf(to, MEMBERS_ADDRESS_SIZE,
		 memchr(host.ptr, ':', host.len) != NULL ? "[%.*s]:%.*s" : "%.*s:%.*s",
		 (int)host.len, host.ptr, (int)req->args[2].len, req->args[2].ptr);
	return true;
}

void cmd_failover(struct request *req)
{
	struct server *s = server_of(req);
	struct buf error = BUF_INIT(1024);
	char heir[MEMBERS_ADDRESS_SIZE];
	bool has_begun;

	if (!commands_check_group(req) || !read_heir(req, heir))
		return;
	has_begun = member_begin_handover(s, heir[0] != '\0' ? heir : NULL, &error);
	answer(req, has_begun ? 0 : -1, &error);
}
