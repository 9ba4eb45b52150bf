#include "embed/reply.h"

#include <assert.h>
#include <stdlib.h>

#include "util/mem.h"
#include "util/str.h"

static_assert(sizeof(struct qless_reply) == sizeof(struct client_reply),
	      "elements are seen as replies");

struct qless_reply *reply_take(struct client_reply *tree)
{
	struct qless_reply *reply = mem_alloc(sizeof *reply);

	reply->tree = *tree;
	*tree = (struct client_reply){ .type = CLIENT_REPLY_NULL };
	return reply;
}

void qless_reply_free(struct qless_reply *root)
{
	if (root == NULL)
		return;
	client_reply_done(&root->tree);
	free(root);
}

enum qless_reply_kind qless_reply_kind(const struct qless_reply *reply)
{
	switch (reply->tree.type) {
	case CLIENT_REPLY_NULL:
		return QLESS_REPLY_NULL;
	case CLIENT_REPLY_STRING:
		return QLESS_REPLY_TEXT;
	case CLIENT_REPLY_ERROR:
		return QLESS_REPLY_ERROR;
	case CLIENT_REPLY_INTEGER:
		return QLESS_REPLY_INTEGER;
	case CLIENT_REPLY_DOUBLE:
		return QLESS_REPLY_NUMBER;
	case CLIENT_REPLY_BOOL:
		return QLESS_REPLY_BOOLEAN;
	case CLIENT_REPLY_MAP:
		return QLESS_REPLY_MAP;
	case CLIENT_REPLY_ARRAY:
	case CLIENT_REPLY_PUSH:
		break;
	}
	return QLESS_REPLY_LIST;
}

struct qless_str qless_reply_text(const struct qless_reply *reply)
{
	return client_reply_str(&reply->tree);
}

int64_t qless_reply_integer(const struct qless_reply *reply)
{
	switch (reply->tree.type) {
	case CLIENT_REPLY_INTEGER:
	case CLIENT_REPLY_BOOL:
		return reply->tree.integer;
	default:
		return 0;
	}
}

double qless_reply_number(const struct qless_reply *reply)
{
	return reply->tree.type == CLIENT_REPLY_DOUBLE ? reply->tree.number
						       : (double)qless_reply_integer(reply);
}

static bool is_map(const struct qless_reply *reply)
{
	return reply->tree.type == CLIENT_REPLY_MAP;
}

static const struct qless_reply *element(const struct qless_reply *reply, size_t i)
{
	if (i >= reply->tree.count)
		return NULL;
	return (const struct qless_reply *)(const void *)&reply->tree.elements[i];
}

size_t qless_reply_count(const struct qless_reply *reply)
{
	return is_map(reply) ? reply->tree.count / 2 : reply->tree.count;
}

const struct qless_reply *qless_reply_at(const struct qless_reply *reply, size_t i)
{
	if (i >= qless_reply_count(reply))
		return NULL;
	return element(reply, is_map(reply) ? 2 * i + 1 : i);
}

const struct qless_reply *qless_reply_key(const struct qless_reply *reply, size_t i)
{
	return is_map(reply) && i < qless_reply_count(reply) ? element(reply, 2 * i) : NULL;
}

const struct qless_reply *qless_reply_find(const struct qless_reply *reply, const char *key)
{
	for (size_t i = 0; is_map(reply) && i < qless_reply_count(reply); i++) {
		if (str_equal(qless_reply_text(element(reply, 2 * i)), str_from(key)))
			return element(reply, 2 * i + 1);
	}
	return NULL;
}
