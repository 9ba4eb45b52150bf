/*
 * The databases that SELECT chooses from. Each is an engine, created when a command first needs it,
 * and the endpoints that the server posts jobs to, see endpoints.h.
 */
#ifndef COMMAND_DATABASES_H
#define COMMAND_DATABASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operation/operation.h"
#include "qless.h"
#include "util/buf.h"
#include "util/str.h"

struct databases;
struct endpoints;

/* One database and its settings. */
struct database {
	struct qless *engine;
	unsigned index;
	const struct operation_recorder *recorder; /* NULL: nothing is recorded */
	size_t max_json_depth; /* JSON_DEPTH_MAX unless max-json-depth sets it lower */
	uint64_t flushes;
};

/* Copies the hooks. All databases publish their events to them. */
struct databases *databases_new(unsigned count, const struct qless_hooks *hooks);
void databases_free(struct databases *d);

unsigned databases_count(const struct databases *d);

/* Get a database. Creates its engine if it has none. */
struct database *databases_get(struct databases *d, unsigned index);

/* Get the engine of a database; NULL if it has none yet, and so is empty. */
struct qless *databases_peek(const struct databases *d, unsigned index);

/* Get the endpoints of a database; NULL if it has none. */
const struct endpoints *databases_endpoints(const struct databases *d, unsigned index);

/* Record from now on each operation that changes a database, flushes included. Copies. */
void databases_set_recorder(struct databases *d, const struct operation_recorder *recorder);

/* Run an operation on its database or on an endpoint, or flush the database. Operations of other
 * kinds are not allowed. Records nothing itself. Returns a negative code, with a sentence in
 * `ret_error`, if it fails. */
int databases_apply(struct databases *d, const struct operation *op, struct buf *ret_error);
/* Run an operation of the server itself on its database, and record it if it changed something.
 * Returns what operation_run() returns. */
int databases_run(struct databases *d, const struct operation *op,
		  struct operation_outcome *ret_outcome);
/* Run an operation about an endpoint, and record it if it changed something. Returns whether it
 * did. */
bool databases_run_endpoint(struct databases *d, const struct operation *op);
/* Append the sentence about a database that does not exist. */
void databases_complain(unsigned index, struct buf *ret_error);

/* Limits of what clients may send; see qless_set_limits(). */
struct databases_limits {
	struct qless_limits engine;
	size_t max_json_depth;	/* up to JSON_DEPTH_MAX */
	size_t metered_classes; /* see meter_set_max_classes() */
};

/* Set the limits of all databases. NULL means the widest limits. Replay of a log needs these,
 * because earlier limits may have been wider. */
void databases_set_limits(struct databases *d, const struct databases_limits *limits);

/* Delete everything in a database. The results of databases_get() and databases_peek() for it
 * become invalid. databases_free_some() frees its memory. */
void databases_flush(struct databases *d, unsigned index);

/* Free up to `things` objects of flushed databases. Returns true if there are more. */
bool databases_free_some(struct databases *d, size_t things);

/* If two versions of a database are equal, nothing in it has changed in between. */
struct database_version {
	uint64_t flushes;
	uint64_t changes;
};

struct database_version databases_version(const struct databases *d, unsigned index);

/* The number of keys in the ql:* view of a database, and the fingerprint of the value of one key;
 * see keyspace_count() and keyspace_fingerprint(). */
size_t databases_count_keys(const struct databases *d, unsigned index);
uint64_t databases_fingerprint(const struct databases *d, unsigned index, struct qless_str key);

/* Drop statistics that are too old, in all databases. */
void databases_maintain(struct databases *d);

/* Tell all databases that the server's clock steps; see qless_step_clock(). */
void databases_step_clock(struct databases *d, double now, double from);

#endif
