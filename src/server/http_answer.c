#include "server/http_answer.h"

#include <assert.h>

#include "http/response.h"
#include "server/conn_int.h"
#include "server/server_int.h"
#include "util/buf.h"
#include "util/json.h"

struct chain *http_reply(struct conn *c)
{
	return &c->http->reply;
}

void http_reply_field(struct conn *c, struct qless_str name, struct qless_str value)
{
	http_write_field(&c->http->fields, name, value);
}

/* The text changes once a second. */
static struct qless_str date_now(struct server *s)
{
	int64_t now_s = s->clocks.wall_us / 1000000;

	if (s->http->date_s != now_s) {
		s->http->date_s = now_s;
		http_format_date(s->http->date_text, now_s);
	}
	return str_make(s->http->date_text, HTTP_DATE_SIZE - 1);
}

/* Write what all heads have, up to the fields about the length of the body. */
static void write_head(struct conn *c, int status, struct qless_str type)
{
	struct http_conn *h = c->http;
	struct chain *out = &c->client.out;

	http_write_status(out, status);
	http_write_field(out, STR("Date"), date_now(c->client.server));
	if (type.len != 0)
		http_write_field(out, STR("Content-Type"), type);
	chain_append_str(out, STR("X-Content-Type-Options: nosniff\r\n"
				  "Referrer-Policy: no-referrer\r\n"));
	if (h->is_private)
		chain_append_str(out, STR("Cache-Control: no-store\r\n"));
	if (h->fields.len != 0)
		chain_move(out, &h->fields);
	if (!h->keeps_alive)
		chain_append_str(out, STR("Connection: close\r\n"));
	else if (h->is_old)
		chain_append_str(out, STR("Connection: keep-alive\r\n"));
}

void http_reply_end(struct conn *c, int status, struct qless_str type)
{
	struct http_conn *h = c->http;
	struct chain *out = &c->client.out;

	http_conn_set_phase(h, HTTP_ANSWERED);
	write_head(c, status, type);
	if (status != 204 && status != 304)
		http_write_length(out, h->reply.len);
	http_write_head_end(out);
	if (h->is_head || status == 204 || status == 304)
		chain_done(&h->reply);
	else if (h->reply.len != 0)
		chain_move(out, &h->reply);
	client_output_grew(&c->client);
}

void http_refuse(struct conn *c, int status, const char *code, const char *message)
{
	struct buf body = BUF_INIT(BUF_NO_MAX);

	chain_done(&c->http->reply);
	buf_append_str(&body, STR("{\"error\":{\"code\":"));
	json_append_plain_string(&body, str_from(code));
	buf_append_str(&body, STR(",\"message\":"));
	json_append_plain_string(&body, str_from(message));
	buf_append_str(&body, STR("}}\n"));
	chain_append_str(&c->http->reply, buf_str(&body));
	buf_done(&body);
	http_reply_end(c, status, HTTP_TYPE_JSON);
}

/*
 * Streams
 */

/* HTTP/1.0 has no chunks, so the end of the connection is the end of the body. */
void http_stream_begin(struct conn *c, int status, struct qless_str type,
		       const struct http_stream_ops *ops)
{
	struct http_conn *h = c->http;
	struct chain *out = &c->client.out;

	http_conn_set_phase(h, HTTP_STREAMING);
	h->stream = ops;
	h->is_chunked = !h->is_old;
	h->keeps_alive = h->keeps_alive && h->is_chunked;
	write_head(c, status, type);
	if (h->is_chunked)
		chain_append_str(out, STR("Transfer-Encoding: chunked\r\n"));
	http_write_head_end(out);
	if (h->is_head)
		chain_done(&h->reply);
	if (h->reply.len != 0) {
		if (h->is_chunked)
			http_write_chunk_begin(out, h->reply.len);
		chain_move(out, &h->reply);
		if (h->is_chunked)
			http_write_chunk_end(out);
	}
	client_output_grew(&c->client);
}

void http_stream_write(struct conn *c, struct qless_str bytes)
{
	struct http_conn *h = c->http;
	struct chain *out = &c->client.out;

	assert(h->phase == HTTP_STREAMING);
	if (bytes.len == 0 || h->is_head)
		return;
	if (h->is_chunked)
		http_write_chunk_begin(out, bytes.len);
	chain_append_str(out, bytes);
	if (h->is_chunked)
		http_write_chunk_end(out);
	client_output_grew(&c->client);
}

size_t http_stream_backlog(const struct conn *c)
{
	return c->client.out.len;
}

void http_stream_end(struct conn *c)
{
	struct http_conn *h = c->http;

	http_conn_set_phase(h, HTTP_ANSWERED);
	h->stream = NULL;
	if (h->is_chunked && !h->is_head)
		http_write_last_chunk(&c->client.out);
	client_output_grew(&c->client);
	if (c->state == CONN_HELD)
		http_conn_answered(c);
}
