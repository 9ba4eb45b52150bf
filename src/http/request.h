/*
 * A request of HTTP, as the parser hands it to the server.
 *
 * All slices are of the caller's bytes or of the target's text. They are valid until the parser is
 * called again with the same struct http_request, and no longer than the bytes stay where they are.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "http/target.h"
#include "util/str.h"

enum http_method {
	HTTP_METHOD_GET,
	HTTP_METHOD_HEAD,
	HTTP_METHOD_POST,
	HTTP_METHOD_PUT,
	HTTP_METHOD_PATCH,
	HTTP_METHOD_DELETE,
	HTTP_METHOD_OPTIONS,
	HTTP_METHOD_COUNT,
};

/* The header fields that the server reads: constant, name in lower case, and whether a request may
 * have the field more than once. Of a repeated field, the first one counts. */
#define HTTP_FIELDS(X)                                               \
	X(ACCEPT, "accept", true)                                    \
	X(ACCEPT_ENCODING, "accept-encoding", true)                  \
	X(ACCEPT_LANGUAGE, "accept-language", true)                  \
	X(REQUESTED_HEADERS, "access-control-request-headers", true) \
	X(REQUESTED_METHOD, "access-control-request-method", false)  \
	X(AUTHORIZATION, "authorization", false)                     \
	X(CONNECTION, "connection", true)                            \
	X(CONTENT_ENCODING, "content-encoding", false)               \
	X(CONTENT_LENGTH, "content-length", false)                   \
	X(CONTENT_TYPE, "content-type", false)                       \
	X(COOKIE, "cookie", true)                                    \
	X(EXPECT, "expect", false)                                   \
	X(HOST, "host", false)                                       \
	X(IDEMPOTENCY_KEY, "idempotency-key", false)                 \
	X(IF_NONE_MATCH, "if-none-match", true)                      \
	X(LAST_EVENT_ID, "last-event-id", false)                     \
	X(ORIGIN, "origin", false)                                   \
	X(REFERER, "referer", true)                                  \
	X(SEC_FETCH_DEST, "sec-fetch-dest", false)                   \
	X(SEC_FETCH_MODE, "sec-fetch-mode", false)                   \
	X(SEC_FETCH_SITE, "sec-fetch-site", false)                   \
	X(TRANSFER_ENCODING, "transfer-encoding", false)             \
	X(X_REQUESTED_WITH, "x-requested-with", false)

enum http_field {
#define HTTP_FIELD_CONSTANT(name, text, may_repeat) HTTP_FIELD_##name,
	HTTP_FIELDS(HTTP_FIELD_CONSTANT)
#undef HTTP_FIELD_CONSTANT
		HTTP_FIELD_COUNT,
};

struct http_request {
	enum http_method method;
	int minor;	     /* of the version: 0 for HTTP/1.0, 1 for HTTP/1.1 and above */
	bool keep_alive;     /* the client wants to send more requests on the connection */
	bool has_body;	     /* the head announces a body, which may be empty */
	bool wants_continue; /* the client sends the body after "100 Continue" */
	struct http_target target;
	/* The values of the fields, without the blanks around them. `ptr` is NULL if the request
	 * has no such field. */
	struct qless_str fields[HTTP_FIELD_COUNT];
	struct qless_str body; /* without the framing of a chunked body */

	size_t consumed; /* bytes of the request: the next one begins at base + consumed */

	/* For a request that the parser refuses. */
	int status;	   /* such as 400 */
	const char *error; /* one line */
};

/* Returns the name of a method, such as "GET". */
struct qless_str http_method_name(enum http_method method);

static inline bool http_has_field(const struct http_request *r, enum http_field field)
{
	return r->fields[field].ptr != NULL;
}

#endif
