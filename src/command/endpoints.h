/*
 * The endpoints of a database: the URLs to which the server posts the jobs of some queues.
 *
 * Endpoints are a part of the state. The log has an operation for each change, and a snapshot has
 * the operations that make them again. This module keeps them and knows no HTTP; server/push.h does
 * the work.
 */
#ifndef COMMAND_ENDPOINTS_H
#define COMMAND_ENDPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operation/operation.h"
#include "util/hash.h"
#include "util/str.h"

struct buf;
struct endpoints;

struct endpoint_header {
	struct qless_str name;
	struct qless_str value;
};

/* Texts that were not given have a NULL pointer. */
struct endpoint {
	struct hash_node node;
	struct qless_str name;
	struct qless_str url;
	struct qless_str klass;
	struct qless_str secret;
	int64_t concurrency;
	double timeout_s;
	bool is_paused;
	size_t queue_count;
	size_t header_count;
	struct qless_str *queues;
	struct endpoint_header *headers;
};

struct endpoints *endpoints_new(uint64_t hash_seed);
void endpoints_free(struct endpoints *e);

/* Apply an operation about an endpoint. Copies its texts. Returns whether it changed something.
 * A pause outlasts new settings. */
bool endpoints_apply(struct endpoints *e, const struct operation *op);

/* Get an endpoint, which is valid until the next change; NULL if there is none of that name. `e`
 * may be NULL in these functions. */
const struct endpoint *endpoints_find(const struct endpoints *e, struct qless_str name);
size_t endpoints_count(const struct endpoints *e);

/* Visit all endpoints in the order of their names. Nothing may change meanwhile. */
void endpoints_each(const struct endpoints *e,
		    void (*visit)(void *arg, const struct endpoint *endpoint), void *arg);

/* For a snapshot: append the operations that make the endpoints of database `db`. */
void endpoints_save(const struct endpoints *e, unsigned db, struct buf *out);

#endif
