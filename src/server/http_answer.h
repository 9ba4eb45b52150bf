/*
 * Answers of HTTP.
 *
 * The body of an answer is collected before its head is written, which has the length. Handlers
 * append to http_reply(), or write by the client's writer, and then call http_reply_end(). A stream
 * is an answer that is sent in portions: a long page, or events.
 */
#ifndef SERVER_HTTP_ANSWER_H
#define SERVER_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "server/http_conn.h"
#include "util/chain.h"
#include "util/str.h"

#define HTTP_TYPE_JSON STR("application/json")
#define HTTP_TYPE_TEXT STR("text/plain; charset=utf-8")

struct http_stream_ops {
	/* The connection ends, or runs no more requests. The stream is not ended again. */
	void (*gone)(struct conn *c);
	/* The stream ends when the peer sends no more. */
	bool ends_with_input;
};

/* The body of the answer so far. It uses the pool of all output. */
struct chain *http_reply(struct conn *c);
/* Add a header field to the answer. A control character in the value becomes a blank. */
void http_reply_field(struct conn *c, struct qless_str name, struct qless_str value);
/* Send the answer. An empty `type` leaves Content-Type out. */
void http_reply_end(struct conn *c, int status, struct qless_str type);

/* Drop the body so far, and answer with an error: {"error": {"code": ..., "message": ...}}. */
void http_refuse(struct conn *c, int status, const char *code, const char *message);

/* Send the head of a stream. The body so far is its first portion. The request handler returns
 * DISPATCH_WAIT then, unless it ends the stream at once. */
void http_stream_begin(struct conn *c, int status, struct qless_str type,
		       const struct http_stream_ops *ops);
/* Send a portion. Empty ones do nothing. */
void http_stream_write(struct conn *c, struct qless_str bytes);
/* Returns how many bytes of output have not left. */
size_t http_stream_backlog(const struct conn *c);
/* End the stream. If the request handler has returned, the connection goes on with its next
 * request. */
void http_stream_end(struct conn *c);

/* For http_conn.c: let the connection go on after an answer, or close it. */
void http_conn_answered(struct conn *c);

#endif
