/*
 * The endpoints of a database as text. Equal endpoints give equal texts, and other endpoints other
 * ones.
 */
#ifndef TESTS_ENDPOINT_DUMP_H
#define TESTS_ENDPOINT_DUMP_H

#include "command/endpoints.h"
#include "util/buf.h"
#include "util/json.h"

static inline void endpoint_dump_text(struct buf *out, const char *word, struct qless_str text)
{
	if (text.ptr == NULL)
		return;
	buf_printf(out, " %s ", word);
	json_append_string(out, text);
}

static inline void endpoint_dump_one(void *arg, const struct endpoint *endpoint)
{
	struct buf *out = arg;

	buf_append_str(out, STR("endpoint"));
	endpoint_dump_text(out, "name", endpoint->name);
	endpoint_dump_text(out, "url", endpoint->url);
	for (size_t i = 0; i < endpoint->queue_count; i++)
		endpoint_dump_text(out, "queue", endpoint->queues[i]);
	endpoint_dump_text(out, "class", endpoint->klass);
	buf_printf(out, " concurrency %lld timeout %.17g", (long long)endpoint->concurrency,
		   endpoint->timeout_s);
	for (size_t i = 0; i < endpoint->header_count; i++) {
		endpoint_dump_text(out, "header", endpoint->headers[i].name);
		endpoint_dump_text(out, "value", endpoint->headers[i].value);
	}
	endpoint_dump_text(out, "secret", endpoint->secret);
	if (endpoint->is_paused)
		buf_append_str(out, STR(" paused"));
	buf_append_char(out, '\n');
}

/* Appends a line for each endpoint. `e` may be NULL. */
static inline void endpoint_dump(const struct endpoints *e, struct buf *out)
{
	endpoints_each(e, endpoint_dump_one, out);
}

#endif
