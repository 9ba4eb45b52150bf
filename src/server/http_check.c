#include "server/http_check.h"

#include <arpa/inet.h>
#include <string.h>

#include "server/conn.h"
#include "server/http_answer.h"
#include "server/server_int.h"
#include "server/tls_session.h"
#include "util/glob.h"

/* Seconds for which a browser may remember that a page may send requests. */
#define PREFLIGHT_SECONDS "600"

/*
 * Host
 */

static bool is_address(int family, struct qless_str name)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (name.len >= sizeof text)
		return false;
	memcpy(text, name.ptr, name.len);
	text[name.len] = '\0';
	return inet_pton(family, text, &address) == 1;
}

static struct qless_str without_port(struct qless_str host)
{
	const char *colon = host.len != 0 ? memchr(host.ptr, ':', host.len) : NULL;

	return colon != NULL ? str_make(host.ptr, (size_t)(colon - host.ptr)) : host;
}

static bool is_configured(const struct config_list *globs, struct qless_str name)
{
	for (size_t i = 0; i < globs->count; i++) {
		if (glob_match(str_from(globs->words[i]), name, /* ignore_case= */ true))
			return true;
	}
	return false;
}

/* The name of this machine, with or without its domain. */
static bool is_own_name(const struct http *http, struct qless_str name)
{
	struct qless_str own = str_from(http->machine);
	const char *dot = memchr(own.ptr, '.', own.len);

	return own.len != 0 &&
	       (str_equal_nocase(name, own) ||
		(dot != NULL &&
		 str_equal_nocase(name, str_make(own.ptr, (size_t)(dot - own.ptr)))));
}

/* A page cannot make a browser send an address in Host and reach a server at another one. */
bool http_host_is_ours(const struct server *s, struct qless_str host)
{
	struct qless_str name;
	const char *end;

	if (host.len != 0 && host.ptr[0] == '[') {
		end = memchr(host.ptr, ']', host.len);
		return end != NULL && (end + 1 == host.ptr + host.len || end[1] == ':') &&
		       is_address(AF_INET6, str_make(host.ptr + 1, (size_t)(end - host.ptr) - 1));
	}
	name = without_port(host);
	if (name.len != 0 && name.ptr[name.len - 1] == '.')
		name.len--;
	return is_address(AF_INET, name) || str_equal_nocase(name, STR("localhost")) ||
	       is_own_name(s->http, name) || is_configured(&s->config->http_hosts, name);
}

bool http_may_be_of_browser(const struct http_request *r)
{
	static const enum http_field fields[] = {
		HTTP_FIELD_ACCEPT_LANGUAGE, HTTP_FIELD_COOKIE,	       HTTP_FIELD_ORIGIN,
		HTTP_FIELD_REFERER,	    HTTP_FIELD_SEC_FETCH_DEST, HTTP_FIELD_SEC_FETCH_MODE,
		HTTP_FIELD_SEC_FETCH_SITE,
	};

	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		if (http_has_field(r, fields[i]))
			return true;
	}
	return false;
}

/* Only an old client sends no host. */
enum http_admission http_check_host(struct conn *c, const struct http_request *r)
{
	if (!http_has_field(r, HTTP_FIELD_HOST) ||
	    http_host_is_ours(c->client.server, r->fields[HTTP_FIELD_HOST]))
		return HTTP_ADMITTED;
	http_refuse(c, 421, "BADHOST",
		    "Host is not a name of this server: add it to the directive http-hosts");
	return HTTP_REFUSED;
}

/*
 * Origin
 */

static bool is_own_origin(const struct conn *c, const struct http_request *r)
{
	struct qless_str scheme =
		tls_session_version(&c->transport) != NULL ? STR("https://") : STR("http://");
	struct qless_str host = r->fields[HTTP_FIELD_HOST];
	struct qless_str origin = r->fields[HTTP_FIELD_ORIGIN], rest;

	return str_strip_prefix(origin, scheme, &rest) && host.len != 0 &&
	       str_equal_nocase(rest, host);
}

static bool may_come_from(const struct config *config, struct qless_str origin)
{
	for (size_t i = 0; i < config->http_cors_origins.count; i++) {
		if (str_equal_nocase(str_from(config->http_cors_origins.words[i]), origin))
			return true;
	}
	return false;
}

static bool is_value(const struct http_request *r, enum http_field field, struct qless_str value)
{
	return http_has_field(r, field) && str_equal(r->fields[field], value);
}

/* Browsers say so even if they send no Origin. */
static bool comes_from_elsewhere(const struct http_request *r)
{
	return is_value(r, HTTP_FIELD_SEC_FETCH_SITE, STR("cross-site")) ||
	       is_value(r, HTTP_FIELD_SEC_FETCH_SITE, STR("same-site"));
}

static bool is_navigation(const struct http_request *r)
{
	return (r->method == HTTP_METHOD_GET || r->method == HTTP_METHOD_HEAD) &&
	       is_value(r, HTTP_FIELD_SEC_FETCH_MODE, STR("navigate")) &&
	       is_value(r, HTTP_FIELD_SEC_FETCH_DEST, STR("document"));
}

static enum http_admission refuse_origin(struct conn *c)
{
	http_refuse(c, 403, "BADORIGIN",
		    "the request comes from a page of another origin: see the directive "
		    "http-cors-origins");
	return HTTP_REFUSED;
}

/* Answers the question of a browser before it lets a page of an allowed origin send a request. */
static enum http_admission answer_preflight(struct conn *c)
{
	http_reply_field(c, STR("Access-Control-Allow-Methods"),
			 STR("GET, HEAD, POST, PUT, PATCH, DELETE"));
	http_reply_field(c, STR("Access-Control-Allow-Headers"),
			 STR("Authorization, Content-Type, Idempotency-Key, Last-Event-ID"));
	http_reply_field(c, STR("Access-Control-Max-Age"), STR(PREFLIGHT_SECONDS));
	http_reply_end(c, 204, str_make(NULL, 0));
	return HTTP_REFUSED;
}

enum http_admission http_check_origin(struct conn *c, const struct http_request *r, bool is_page)
{
	if (!http_has_field(r, HTTP_FIELD_ORIGIN) || is_own_origin(c, r)) {
		if (comes_from_elsewhere(r) && !(is_page && is_navigation(r)))
			return refuse_origin(c);
		return HTTP_ADMITTED;
	}
	if (!may_come_from(c->client.server->config, r->fields[HTTP_FIELD_ORIGIN]))
		return refuse_origin(c);
	http_reply_field(c, STR("Access-Control-Allow-Origin"), r->fields[HTTP_FIELD_ORIGIN]);
	http_reply_field(c, STR("Access-Control-Expose-Headers"), STR("Location, Retry-After"));
	http_reply_field(c, STR("Vary"), STR("Origin"));
	if (r->method == HTTP_METHOD_OPTIONS && http_has_field(r, HTTP_FIELD_REQUESTED_METHOD))
		return answer_preflight(c);
	return HTTP_ADMITTED;
}

/*
 * Content-Type
 */

static bool is_json(struct qless_str type)
{
	const char *end = type.len != 0 ? memchr(type.ptr, ';', type.len) : NULL;
	struct qless_str name = end != NULL ? str_make(type.ptr, (size_t)(end - type.ptr)) : type;

	while (name.len != 0 && (name.ptr[name.len - 1] == ' ' || name.ptr[name.len - 1] == '\t'))
		name.len--;
	return str_equal_nocase(name, STR("application/json"));
}

static bool has_bytes(const struct http_request *r)
{
	return r->has_body && !is_value(r, HTTP_FIELD_CONTENT_LENGTH, STR("0"));
}

enum http_admission http_check_type(struct conn *c, const struct http_request *r)
{
	bool has_type = http_has_field(r, HTTP_FIELD_CONTENT_TYPE);

	if (http_has_field(r, HTTP_FIELD_CONTENT_ENCODING) &&
	    !str_equal_nocase(r->fields[HTTP_FIELD_CONTENT_ENCODING], STR("identity"))) {
		http_reply_field(c, STR("Accept-Encoding"), STR("identity"));
		http_refuse(c, 415, "BADTYPE", "a body must not be compressed");
		return HTTP_REFUSED;
	}
	if (has_type ? is_json(r->fields[HTTP_FIELD_CONTENT_TYPE]) : !has_bytes(r))
		return HTTP_ADMITTED;
	http_refuse(c, 415, "BADTYPE", "a body must have Content-Type: application/json");
	return HTTP_REFUSED;
}
