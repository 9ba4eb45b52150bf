#include "server/http_login.h"

#include <string.h>

#include "command/acl.h"
#include "server/acl_log.h"
#include "server/conn.h"
#include "server/http_answer.h"
#include "server/server_int.h"
#include "sys/log.h"
#include "util/base64.h"

/* The name and the password, or the password alone, of a client that logs in. */
struct credentials {
	bool is_token; /* there is no name */
	struct qless_str name;
	struct qless_str password;
	struct buf text; /* of both */
};

static enum http_admission refuse(struct conn *c, const struct http_request *r, const char *code,
				  const char *message)
{
	c->client.session.user = NULL;
	/* At this field, a browser asks for a password. The console asks for it itself. */
	if (!http_has_field(r, HTTP_FIELD_X_REQUESTED_WITH))
		http_reply_field(c, STR("WWW-Authenticate"),
				 STR("Basic realm=\"qlessd\", charset=\"UTF-8\""));
	http_refuse(c, 401, code, message);
	return HTTP_REFUSED;
}

/*
 * Credentials
 */

static bool strip_scheme(struct qless_str value, struct qless_str scheme,
			 struct qless_str *ret_rest)
{
	size_t len = scheme.len;

	if (value.len <= len || value.ptr[len] != ' ' ||
	    !str_equal_nocase(str_make(value.ptr, len), scheme))
		return false;
	while (len < value.len && value.ptr[len] == ' ')
		len++;
	*ret_rest = str_make(value.ptr + len, value.len - len);
	return true;
}

static bool decode_basic(struct credentials *cred, struct qless_str encoded)
{
	struct qless_str text;
	const char *colon;

	if (!base64_append_decoded(&cred->text, encoded))
		return false;
	text = buf_str(&cred->text);
	colon = text.len != 0 ? memchr(text.ptr, ':', text.len) : NULL;
	if (colon == NULL)
		return false;
	cred->name = str_make(text.ptr, (size_t)(colon - text.ptr));
	cred->password = str_make(colon + 1, text.len - cred->name.len - 1);
	return true;
}

/* Returns NULL, or what is wrong. */
static const char *read_credentials(struct credentials *cred, struct qless_str value)
{
	struct qless_str rest;

	if (strip_scheme(value, STR("Basic"), &rest))
		return decode_basic(cred, rest)
			       ? NULL
			       : "Authorization: Basic must be user:password in base64";
	if (!strip_scheme(value, STR("Bearer"), &rest))
		return "Authorization must be Basic or Bearer";
	cred->is_token = true;
	cred->password = rest;
	return NULL;
}

static const struct user *find_user(const struct acl *acl, const struct credentials *cred)
{
	return cred->is_token ? acl_find_by_password(acl, cred->password)
			      : acl_authenticate(acl, cred->name, cred->password);
}

static enum http_admission fail(struct conn *c, const struct http_request *r,
				const struct credentials *cred)
{
	struct qless_str name = cred->is_token ? STR("(token)") : cred->name;

	login_failed(&c->client);
	acl_log_note_login(&c->client, name);
	if (complaints_take(&c->client.server->complaints))
		log_write(LOG_LEVEL_NOTICE,
			  LOG_FIELDS(LOG_INT("id", c->client.session.id),
				     LOG_TEXT("addr", c->client.peer), LOG_STR("user", name)),
			  "authentication failed");
	return refuse(c, r, "WRONGPASS",
		      cred->is_token ? "no user, or more than one, has this token as a password"
				     : "invalid username-password pair or user is disabled");
}

static enum http_admission log_in(struct conn *c, const struct http_request *r,
				  struct qless_str value)
{
	struct credentials cred = { .text = BUF_INIT(HTTP_HEAD_MAX) };
	const char *error = read_credentials(&cred, value);
	enum http_admission result = HTTP_ADMITTED;
	const struct user *user;

	if (error != NULL) {
		result = refuse(c, r, "NOAUTH", error);
	} else if (login_is_delayed(&c->client)) {
		login_wait(&c->client);
		result = HTTP_HELD;
	} else {
		user = find_user(c->client.server->env.acl, &cred);
		if (user != NULL)
			c->client.session.user = user;
		else
			result = fail(c, r, &cred);
	}
	if (cred.text.len != 0)
		explicit_bzero(buf_data(&cred.text), cred.text.len);
	buf_done(&cred.text);
	return result;
}

/*
 * The last login of the connection
 */

/* Nobody who does not know the seeds can make two texts with the same hashes, and the text of
 * another client is unknown. */
static void hash_field(const struct server *s, struct qless_str value, uint64_t ret_hashes[2])
{
	for (int i = 0; i < 2; i++)
		ret_hashes[i] = hash_bytes(s->http->seeds[i], value);
}

static enum http_admission log_in_again(struct conn *c, const struct http_request *r,
					struct qless_str value)
{
	const struct server *s = c->client.server;
	struct http_login *last = &c->http->login;
	uint64_t generation = acl_generation(s->env.acl);
	enum http_admission result;
	uint64_t hashes[2];

	hash_field(s, value, hashes);
	if (last->user != NULL && last->generation == generation && hashes[0] == last->hashes[0] &&
	    hashes[1] == last->hashes[1]) {
		c->client.session.user = last->user;
		return HTTP_ADMITTED;
	}
	last->user = NULL;
	result = log_in(c, r, value);
	if (result == HTTP_ADMITTED)
		*last = (struct http_login){ .user = c->client.session.user,
					     .hashes = { hashes[0], hashes[1] },
					     .generation = generation };
	return result;
}

/*
 * Requests without a password
 */

static bool use_session(struct conn *c, const struct http_request *r)
{
	const struct user *user;
	struct qless_str token;

	if (!http_has_field(r, HTTP_FIELD_COOKIE) ||
	    !http_session_find_token(r->fields[HTTP_FIELD_HOST], r->fields[HTTP_FIELD_COOKIE],
				     &token))
		return false;
	user = http_session_use(c->client.server, token);
	if (user == NULL)
		return false;
	c->client.session.user = user;
	c->http->has_session = true;
	return true;
}

static enum http_admission use_default(struct conn *c, const struct http_request *r)
{
	const struct user *user = acl_default_user(c->client.server->env.acl);

	if (!acl_user_needs_no_password(user))
		return refuse(c, r, "NOAUTH", "Authentication required.");
	c->client.session.user = user;
	return HTTP_ADMITTED;
}

/* Any password does for a user that needs none. */
bool http_login_shuts_out(struct conn *c)
{
	const struct server *s = c->client.server;

	if (!s->config->protected_mode || !c->http->is_remote ||
	    !acl_user_needs_no_password(c->client.session.user) ||
	    !acl_user_needs_no_password(acl_default_user(s->env.acl)))
		return false;
	c->client.session.user = NULL;
	http_refuse(c, 403, "DENIED",
		    "qlessd is in protected mode, because no password is set for the default "
		    "user: requests from other machines need a user with a password. Set a "
		    "password (requirepass), or turn protected-mode off");
	return true;
}

static enum http_admission find_user_of(struct conn *c, const struct http_request *r)
{
	if (http_has_field(r, HTTP_FIELD_AUTHORIZATION))
		return log_in_again(c, r, r->fields[HTTP_FIELD_AUTHORIZATION]);
	if (use_session(c, r))
		return HTTP_ADMITTED;
	return use_default(c, r);
}

enum http_admission http_login(struct conn *c, const struct http_request *r)
{
	enum http_admission result;

	c->client.session.db = 0;
	c->http->has_session = false;
	result = find_user_of(c, r);
	if (result == HTTP_ADMITTED && http_login_shuts_out(c))
		return HTTP_REFUSED;
	return result;
}
