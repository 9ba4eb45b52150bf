#include "server/http_serve.h"

#include "command/acl.h"
#include "server/conn.h"
#include "server/console.h"
#include "server/http_answer.h"
#include "server/http_api.h"
#include "server/http_pages.h"
#include "server/server_int.h"

static bool is_api(const struct http_target *target)
{
	return target->segment_count != 0 && str_equal(target->segments[0], STR("v1"));
}

/* Clients have the rights of the default user if it needs no password, as those of RESP. */
static const struct user *find_user(const struct conn *c)
{
	const struct server *s = c->client.server;
	const struct user *user = acl_default_user(s->env.acl);

	if (!acl_user_needs_no_password(user) || (s->config->protected_mode && c->http->is_remote))
		return NULL;
	return user;
}

enum http_admission http_serve_head(struct conn *c, const struct http_request *r)
{
	(void)c;
	(void)r;
	return HTTP_ADMITTED;
}

bool http_serve_takes_body(const struct http_request *r)
{
	return is_api(&r->target);
}

enum dispatch_result http_serve(struct conn *c, const struct http_request *r)
{
	enum dispatch_result result;

	if (is_api(&r->target)) {
		c->client.session.user = find_user(c);
		return http_api_run(c, r);
	}
	if (http_pages_run(c, r, &result))
		return result;
	if (console_has(&r->target)) {
		console_run(c, r);
		return DISPATCH_DONE;
	}
	http_refuse(c, 404, "NOTFOUND",
		    "there is nothing at this path; the console is at /, and other pages are "
		    "/metrics, /healthz and /readyz");
	return DISPATCH_DONE;
}

void http_serve_end(struct conn *c)
{
	http_api_finish(c);
}
