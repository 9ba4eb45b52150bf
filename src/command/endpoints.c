#include "command/endpoints.h"

#include <stdlib.h>
#include <string.h>

#include "util/container.h"
#include "util/mem.h"

struct endpoints {
	struct hash by_name;
};

static struct endpoint *endpoint_of(const struct hash_node *node)
{
	return container_of((struct hash_node *)(uintptr_t)node, struct endpoint, node);
}

static struct qless_str endpoint_key(const struct hash_node *node)
{
	return endpoint_of(node)->name;
}

struct endpoints *endpoints_new(uint64_t hash_seed)
{
	struct endpoints *e = mem_zalloc(sizeof *e);

	hash_init(&e->by_name, endpoint_key, hash_seed);
	return e;
}

void endpoints_free(struct endpoints *e)
{
	struct hash_node *node;

	if (e == NULL)
		return;
	while ((node = hash_take(&e->by_name)) != NULL)
		free(endpoint_of(node));
	hash_done(&e->by_name);
	free(e);
}

/* ---- an endpoint ---- */

static size_t texts_bytes(struct operation_names texts)
{
	size_t bytes = 0;

	for (size_t i = 0; i < texts.count; i++)
		bytes += texts.items[i].len;
	return bytes;
}

static struct qless_str keep(char **at, struct qless_str text)
{
	struct qless_str copy = str_make(*at, text.len);

	if (text.len != 0)
		memcpy(*at, text.ptr, text.len);
	*at += text.len;
	return copy;
}

static struct qless_str keep_optional(char **at, const struct qless_str *text)
{
	return text != NULL ? keep(at, *text) : str_make(NULL, 0);
}

/* One block of memory has the endpoint, its lists, and all of its texts. */
static struct endpoint *endpoint_new(const struct operation *op)
{
	size_t headers = op->endpoint.headers.count / 2;
	size_t lists = op->endpoint.queues.count * sizeof(struct qless_str) +
		       headers * sizeof(struct endpoint_header);
	size_t bytes = op->endpoint.name.len + op->endpoint.url.len +
		       texts_bytes(op->endpoint.queues) + texts_bytes(op->endpoint.headers);
	struct endpoint *endpoint;
	char *at;

	bytes += op->endpoint.klass != NULL ? op->endpoint.klass->len : 0;
	bytes += op->endpoint.secret != NULL ? op->endpoint.secret->len : 0;
	endpoint = mem_zalloc(sizeof *endpoint + lists + bytes);
	endpoint->queues = (struct qless_str *)(endpoint + 1);
	endpoint->headers =
		(struct endpoint_header *)(endpoint->queues + op->endpoint.queues.count);
	at = (char *)(endpoint->headers + headers);
	endpoint->name = keep(&at, op->endpoint.name);
	endpoint->url = keep(&at, op->endpoint.url);
	endpoint->klass = keep_optional(&at, op->endpoint.klass);
	endpoint->secret = keep_optional(&at, op->endpoint.secret);
	endpoint->concurrency = op->endpoint.concurrency;
	endpoint->timeout_s = op->endpoint.timeout_s;
	endpoint->queue_count = op->endpoint.queues.count;
	endpoint->header_count = headers;
	for (size_t i = 0; i < endpoint->queue_count; i++)
		endpoint->queues[i] = keep(&at, op->endpoint.queues.items[i]);
	for (size_t i = 0; i < headers; i++) {
		endpoint->headers[i].name = keep(&at, op->endpoint.headers.items[2 * i]);
		endpoint->headers[i].value = keep(&at, op->endpoint.headers.items[2 * i + 1]);
	}
	return endpoint;
}

/* ---- all endpoints ---- */

static struct endpoint *find(const struct endpoints *e, struct qless_str name)
{
	struct hash_node *node = e != NULL ? hash_find(&e->by_name, name) : NULL;

	return node != NULL ? endpoint_of(node) : NULL;
}

static void forget(struct endpoints *e, struct endpoint *endpoint)
{
	hash_remove(&e->by_name, &endpoint->node);
	free(endpoint);
}

bool endpoints_apply(struct endpoints *e, const struct operation *op)
{
	struct endpoint *old = find(e, op->endpoint.name), *new;

	if (op->kind == OPERATION_ENDPOINT_SET) {
		new = endpoint_new(op);
		if (old != NULL) {
			new->is_paused = old->is_paused;
			forget(e, old);
		}
		hash_insert(&e->by_name, &new->node);
		return true;
	}
	if (old == NULL)
		return false;
	if (op->kind == OPERATION_ENDPOINT_DELETE) {
		forget(e, old);
		return true;
	}
	if (old->is_paused == op->endpoint.is_paused)
		return false;
	old->is_paused = op->endpoint.is_paused;
	return true;
}

const struct endpoint *endpoints_find(const struct endpoints *e, struct qless_str name)
{
	return find(e, name);
}

size_t endpoints_count(const struct endpoints *e)
{
	return e != NULL ? hash_count(&e->by_name) : 0;
}

static int compare(const void *a, const void *b)
{
	return str_compare((*(const struct endpoint *const *)a)->name,
			   (*(const struct endpoint *const *)b)->name);
}

void endpoints_each(const struct endpoints *e,
		    void (*visit)(void *arg, const struct endpoint *endpoint), void *arg)
{
	size_t count = endpoints_count(e), i = 0;
	struct endpoint **sorted;
	struct hash_iter it;
	struct hash_node *node;

	if (count == 0)
		return;
	sorted = mem_realloc_array(NULL, count, sizeof(struct endpoint *));
	HASH_FOREACH(node, &it, &e->by_name)
		sorted[i++] = endpoint_of(node);
	qsort(sorted, count, sizeof(struct endpoint *), compare);
	for (i = 0; i < count; i++)
		visit(arg, sorted[i]);
	free(sorted);
}

/* ---- snapshots ---- */

struct save {
	unsigned db;
	struct buf *out;
};

static void save_endpoint(void *arg, const struct endpoint *endpoint)
{
	const struct save *save = arg;
	struct operation op = { .kind = OPERATION_ENDPOINT_SET, .db = save->db };

	op.endpoint.name = endpoint->name;
	op.endpoint.url = endpoint->url;
	op.endpoint.queues = (struct operation_names){ endpoint->queues, endpoint->queue_count };
	op.endpoint.klass = endpoint->klass.ptr != NULL ? &endpoint->klass : NULL;
	op.endpoint.concurrency = endpoint->concurrency;
	op.endpoint.timeout_s = endpoint->timeout_s;
	/* A header is a name and a value, one after the other. */
	op.endpoint.headers = (struct operation_names){ (struct qless_str *)endpoint->headers,
							2 * endpoint->header_count };
	op.endpoint.secret = endpoint->secret.ptr != NULL ? &endpoint->secret : NULL;
	operation_encode(&op, save->out);
	if (!endpoint->is_paused)
		return;
	op = (struct operation){ .kind = OPERATION_ENDPOINT_PAUSE, .db = save->db };
	op.endpoint.name = endpoint->name;
	op.endpoint.is_paused = true;
	operation_encode(&op, save->out);
}

void endpoints_save(const struct endpoints *e, unsigned db, struct buf *out)
{
	struct save save = { db, out };

	endpoints_each(e, save_endpoint, &save);
}
