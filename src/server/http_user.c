#include "server/http_user.h"

#include <string.h>

#include "command/acl.h"
#include "command/permit.h"
#include "command/table.h"
#include "server/conn.h"
#include "server/http_answer.h"
#include "server/http_conn.h"
#include "server/http_login.h"
#include "server/server_int.h"
#include "server/tls_session.h"
#include "util/json.h"
#include "util/json_read.h"

static bool is_path(const struct http_target *target, struct qless_str name)
{
	return target->segment_count == 2 && str_equal(target->segments[0], STR("v1")) &&
	       str_equal(target->segments[1], name);
}

bool http_user_has(const struct http_target *target)
{
	return is_path(target, STR("login")) || is_path(target, STR("logout")) ||
	       is_path(target, STR("me"));
}

/* Returns false, and has answered, unless this is the method. */
static bool check_method(struct conn *c, const struct http_request *r, enum http_method method)
{
	if (r->method == method)
		return true;
	http_reply_field(c, STR("Allow"), http_method_name(method));
	http_refuse(c, 405, "BADMETHOD", "The header field Allow has the methods of this path");
	return false;
}

/* Returns false, and has answered, if there are parameters. */
static bool check_parameters(struct conn *c, const struct http_request *r)
{
	if (r->target.parameter_count == 0)
		return true;
	http_refuse(c, 400, "BADARG", "This path has no parameters");
	return false;
}

static void answer(struct conn *c, const struct buf *body)
{
	chain_append_str(http_reply(c), buf_str(body));
	http_reply_end(c, 200, HTTP_TYPE_JSON);
}

/* Gives the browser a cookie for as many seconds, or takes it away. */
static void set_cookie(struct conn *c, struct qless_str host, const char *token, int64_t seconds)
{
	bool is_tls = tls_session_version(&c->transport) != NULL;
	struct buf text = BUF_INIT(BUF_NO_MAX);

	http_session_append_name(&text, host);
	buf_printf(&text, "=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s", token,
		   (long long)seconds, is_tls ? "; Secure" : "");
	http_reply_field(c, STR("Set-Cookie"), buf_str(&text));
	buf_done(&text);
}

/* ---- /v1/login ---- */

struct login_body {
	bool has_user, has_password;
	struct buf user;
	struct buf password;
};

/* Reads a member once. */
static bool read_text(struct qless_str value, bool *has, struct buf *text)
{
	if (*has)
		return false;
	*has = true;
	return json_read_string(value, JSON_ESCAPES_TEXT, text);
}

/* Returns whether the body is an object with a user and a password, and nothing else. */
static bool read_body(struct qless_str text, struct login_body *body)
{
	struct qless_str value, name;
	struct json_items items;
	bool is_fine = true;

	if (!json_read_check(text, &value) || !json_read_open(value, &items) || !items.is_object)
		return false;
	while (is_fine && json_read_next(&items, &name, &value)) {
		if (str_equal(name, STR("\"user\"")))
			is_fine = read_text(value, &body->has_user, &body->user);
		else
			is_fine = str_equal(name, STR("\"password\"")) &&
				  read_text(value, &body->has_password, &body->password);
	}
	return is_fine && body->has_user && body->has_password;
}

static void answer_login(struct conn *c, struct qless_str host)
{
	const struct user *user = c->client.session.user;
	struct buf text = BUF_INIT(BUF_NO_MAX);
	char token[HTTP_SESSION_TOKEN_BYTES + 1];

	chain_done(http_reply(c));
	if (user == NULL) {
		http_refuse(c, 401, "WRONGPASS",
			    "invalid username-password pair or user is disabled");
		return;
	}
	if (http_login_shuts_out(c))
		return;
	http_session_begin(c->client.server, user, token);
	set_cookie(c, host, token, c->client.server->config->http_session_lifetime_s);
	explicit_bzero(token, sizeof token);
	buf_append_str(&text, STR("{\"user\":"));
	json_append_plain_string(&text, acl_user_name(user));
	buf_append_char(&text, '}');
	answer(c, &text);
	buf_done(&text);
}

/* AUTH counts and logs a failure, and delays the next attempt. */
static enum dispatch_result log_in(struct conn *c, struct qless_str host,
				   const struct login_body *body)
{
	struct qless_str argv[] = { STR_INIT("auth"), buf_str(&body->user),
				    buf_str(&body->password) };
	enum dispatch_result result;

	c->client.session.user = NULL;
	c->http->has_session = false;
	json_reply_begin(&c->http->json, STR(""), JSON_REPLY_STRING);
	result = dispatch_request(&c->client, argv, 3);
	if (result == DISPATCH_DONE)
		answer_login(c, host);
	return result;
}

static void forget(struct buf *text)
{
	if (text->len != 0)
		explicit_bzero(buf_data(text), text->len);
	buf_done(text);
}

static enum dispatch_result run_login(struct conn *c, const struct http_request *r)
{
	struct login_body body = { .user = BUF_INIT(BUF_NO_MAX), .password = BUF_INIT(BUF_NO_MAX) };
	enum dispatch_result result = DISPATCH_DONE;

	if (check_method(c, r, HTTP_METHOD_POST) && check_parameters(c, r)) {
		if (read_body(r->body, &body))
			result = log_in(c, r->fields[HTTP_FIELD_HOST], &body);
		else
			http_refuse(c, 400, "BADARG",
				    "The body must be an object in JSON with the members \"user\" "
				    "and \"password\", which are strings");
	}
	buf_done(&body.user);
	forget(&body.password);
	return result;
}

/* ---- /v1/logout ---- */

static void run_logout(struct conn *c, const struct http_request *r)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct qless_str token;
	bool is_over;

	if (!check_method(c, r, HTTP_METHOD_POST) || !check_parameters(c, r))
		return;
	is_over = http_has_field(r, HTTP_FIELD_COOKIE) &&
		  http_session_find_token(r->fields[HTTP_FIELD_HOST], r->fields[HTTP_FIELD_COOKIE],
					  &token) &&
		  http_session_end(c->client.server, token);
	set_cookie(c, r->fields[HTTP_FIELD_HOST], "", 0);
	buf_append_str(&text, STR("{\"ok\":"));
	json_append_bool(&text, is_over);
	buf_append_char(&text, '}');
	answer(c, &text);
	buf_done(&text);
}

/* ---- /v1/me ---- */

/* Appends the commands that the user may run, on some queues at least. */
static void append_commands(const struct server *s, const struct user *user, struct buf *text)
{
	size_t begin = text->len;

	for (int i = 0; i < command_table_count(s->table); i++) {
		const struct command *row = command_table_row(s->table, i);

		if (!acl_may_run(user, s->table, row) || !permit_command(user, row))
			continue;
		if (text->len != begin)
			buf_append_char(text, ',');
		json_append_plain_string(text, str_from(row->name));
	}
}

static void run_me(struct conn *c, const struct http_request *r)
{
	const struct user *user = c->client.session.user;
	struct buf text = BUF_INIT(BUF_NO_MAX);

	if (!check_method(c, r, HTTP_METHOD_GET) || !check_parameters(c, r))
		return;
	buf_append_str(&text, STR("{\"user\":"));
	json_append_plain_string(&text, acl_user_name(user));
	buf_append_str(&text, STR(",\"session\":"));
	json_append_bool(&text, c->http->has_session);
	buf_append_str(&text, STR(",\"can\":["));
	append_commands(c->client.server, user, &text);
	buf_append_str(&text, STR("]}"));
	answer(c, &text);
	buf_done(&text);
}

enum dispatch_result http_user_run(struct conn *c, const struct http_request *r)
{
	if (is_path(&r->target, STR("login")))
		return run_login(c, r);
	if (is_path(&r->target, STR("logout")))
		run_logout(c, r);
	else
		run_me(c, r);
	return DISPATCH_DONE;
}
