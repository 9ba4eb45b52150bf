#include "server/http_serve.h"

#include "server/conn.h"
#include "server/console.h"
#include "server/http_answer.h"
#include "server/http_api.h"
#include "server/http_check.h"
#include "server/http_login.h"
#include "server/http_pages.h"
#include "server/http_user.h"
#include "server/server_int.h"

static bool is_api(const struct http_target *target)
{
	return target->segment_count != 0 && str_equal(target->segments[0], STR("v1"));
}

/* Everything under /v1 except logging in and out. */
static bool needs_user(const struct http_target *target)
{
	return target->segment_count != 2 || (!str_equal(target->segments[1], STR("login")) &&
					      !str_equal(target->segments[1], STR("logout")));
}

enum http_admission http_serve_head(struct conn *c, const struct http_request *r)
{
	bool is_page = http_pages_have(&r->target);
	enum http_admission result = HTTP_ADMITTED;

	c->http->is_private = is_api(&r->target);
	/* The output of earlier requests may still be there. */
	c->http->tells_state |= is_api(&r->target);
	/* Monitors use any name for a machine, unless the configuration says which there are. */
	if (!is_page || c->client.server->config->http_hosts.count != 0 ||
	    http_may_be_of_browser(r))
		result = http_check_host(c, r);
	if (result == HTTP_ADMITTED)
		result = http_check_origin(c, r, !is_api(&r->target));
	if (result != HTTP_ADMITTED || !is_api(&r->target))
		return result;
	if (needs_user(&r->target))
		result = http_login(c, r);
	else
		c->client.session.user = NULL;
	return result == HTTP_ADMITTED ? http_check_type(c, r) : result;
}

bool http_serve_takes_body(const struct http_request *r)
{
	return is_api(&r->target);
}

enum dispatch_result http_serve(struct conn *c, const struct http_request *r)
{
	enum dispatch_result result;

	if (event_stream_has(&r->target))
		return event_stream_run(c, r);
	if (http_user_has(&r->target))
		return http_user_run(c, r);
	if (is_api(&r->target))
		return http_api_run(c, r);
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
