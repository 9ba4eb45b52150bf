/*
 * Commands about the connection itself: user, protocol, database.
 */
#include "command/acl.h"
#include "resp/writer.h"
#include "server/acl_log.h"
#include "server/commands.h"
#include "server/member.h"
#include "server/names.h"
#include "server/pubsub.h"
#include "server/server_int.h"
#include "server/txn.h"
#include "sys/log.h"
#include "util/mem.h"
#include "util/num.h"

static bool authenticate(struct client *c, struct qless_str name, struct qless_str password)
{
	const struct user *user;

	/* Outside of a transaction the command has waited. */
	if (login_is_delayed(c)) {
		reply_error(&c->writer, "ERR",
			    STR("too many failed logins from this address: try again outside of a "
				"transaction, where AUTH and HELLO wait"));
		return false;
	}
	user = acl_authenticate(c->server->env.acl, name, password);
	if (user != NULL) {
		c->session.user = user;
		return true;
	}
	login_failed(c);
	acl_log_note_login(c, name);
	if (complaints_take(&c->server->complaints))
		log_write(LOG_LEVEL_NOTICE,
			  LOG_FIELDS(LOG_INT("id", c->session.id), LOG_TEXT("addr", c->peer),
				     LOG_STR("user", name)),
			  "authentication failed");
	reply_error(&c->writer, "WRONGPASS",
		    STR("invalid username-password pair or user is disabled."));
	return false;
}

void cmd_auth(struct request *req)
{
	struct client *c = client_of(req);

	if (req->nargs == 1 && acl_user_needs_no_password(acl_default_user(req->env->acl))) {
		reply_error(req->reply, "ERR",
			    STR("AUTH <password> called without any password configured for "
				"the default user. Are you sure your configuration is "
				"correct?"));
		return;
	}
	if (authenticate(c, req->nargs == 2 ? req->args[0] : STR("default"),
			 req->args[req->nargs - 1]))
		reply_ok(req->reply);
}

static void set_proto(struct client *c, int proto)
{
	c->session.proto = proto;
	resp_writer_set_proto(&c->writer, proto);
}

static void write_hello(struct request *req)
{
	struct reply *w = req->reply;

	reply_map(w, 8);
	reply_bulk(w, STR("server"));
	reply_bulk(w, STR("redis"));
	reply_bulk(w, STR("version"));
	reply_bulk(w, STR(REDIS_COMPATIBLE_VERSION));
	reply_bulk(w, STR("qlessd_version"));
	reply_bulk(w, STR(QLESSD_VERSION));
	reply_bulk(w, STR("proto"));
	reply_integer(w, req->session->proto);
	reply_bulk(w, STR("id"));
	reply_integer(w, (int64_t)req->session->id);
	reply_bulk(w, STR("mode"));
	reply_bulk(w, STR("standalone"));
	reply_bulk(w, STR("role"));
	reply_bulk(w, member_follows(server_of(req)) ? STR("replica") : STR("master"));
	reply_bulk(w, STR("modules"));
	reply_array(w, 0);
}

/* HELLO [version [AUTH user password] [SETNAME name]]. Checks everything before it changes
 * anything. */
void cmd_hello(struct request *req)
{
	struct client *c = client_of(req);
	struct qless_str user = { NULL, 0 }, password = { NULL, 0 }, name = { NULL, 0 };
	int64_t proto = req->session->proto;
	size_t i = 1;

	if (req->nargs >= 1 && !num_parse_i64(req->args[0], &proto)) {
		reply_error(req->reply, "ERR",
			    STR("Protocol version is not an integer or out of range"));
		return;
	}
	if (proto < RESP_PROTO_MIN || proto > RESP_PROTO_MAX) {
		reply_error(req->reply, "NOPROTO", STR("unsupported protocol version"));
		return;
	}
	while (i < req->nargs) {
		if (str_equal_nocase(req->args[i], STR("AUTH")) && i + 2 < req->nargs) {
			user = req->args[i + 1];
			password = req->args[i + 2];
			i += 3;
		} else if (str_equal_nocase(req->args[i], STR("SETNAME")) && i + 1 < req->nargs) {
			name = req->args[i + 1];
			if (!client_name_is_valid(req->reply, name))
				return;
			i += 2;
		} else {
			reply_errorf(req->reply, "ERR", "Syntax error in HELLO option '%.*s'",
				     (int)(req->args[i].len < 64 ? req->args[i].len : 64),
				     req->args[i].ptr);
			return;
		}
	}
	if (user.ptr != NULL && !authenticate(c, user, password))
		return;
	if (req->session->user == NULL) {
		reply_error(req->reply, "NOAUTH",
			    STR("HELLO must be called with the client already authenticated, "
				"otherwise the HELLO <proto> AUTH <user> <pass> option can be "
				"used to authenticate the client and select the RESP protocol "
				"version at the same time"));
		return;
	}
	if (name.ptr != NULL)
		client_set_text(&c->name, name);
	set_proto(c, (int)proto);
	write_hello(req);
}

void cmd_select(struct request *req)
{
	int64_t db;

	if (!num_parse_i64(req->args[0], &db)) {
		reply_error(req->reply, "ERR", STR("value is not an integer or out of range"));
	} else if (db < 0 || db >= server_of(req)->config->databases) {
		reply_error(req->reply, "ERR", STR("DB index is out of range"));
	} else {
		req->session->db = (unsigned)db;
		reply_ok(req->reply);
	}
}

void cmd_quit(struct request *req)
{
	reply_ok(req->reply);
	client_finish(client_of(req));
}

void cmd_reset(struct request *req)
{
	struct client *c = client_of(req);
	const struct user *user = acl_default_user(req->env->acl);

	txn_discard(c);
	presence_end_client(c);
	pubsub_forget(c);
	client_set_monitor(c, false);
	client_set_text(&c->name, STR(""));
	c->reply_off = false;
	c->skip_next_reply = false;
	c->writer.muted = false;
	c->no_evict = false;
	c->no_touch = false;
	c->session.db = 0;
	c->session.reads_copies = false;
	set_proto(c, RESP_PROTO_MIN);
	c->session.user = acl_user_needs_no_password(user) ? user : NULL;
	reply_status(req->reply, STR("RESET"));
}
