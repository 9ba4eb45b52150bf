/*
 * The databases that SELECT chooses from: each is a queue engine of its own, made when a command
 * first needs it.
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

/* One of them, and what is set for it. */
struct database {
	struct qless *engine;
	unsigned index;
	const struct operation_recorder *recorder; /* NULL: nobody is told */
	size_t max_json_depth; /* JSON_DEPTH_MAX unless max-json-depth sets it lower */
	uint64_t flushes;
};

/* Copies the hooks; events of all databases go to the same place. */
struct databases *databases_new(unsigned count, const struct qless_hooks *hooks);
void databases_free(struct databases *d);

unsigned databases_count(const struct databases *d);

/* A database, which has an engine from now on. */
struct database *databases_get(struct databases *d, unsigned index);

/* NULL if no command has needed it so far: it is empty. */
struct qless *databases_peek(const struct databases *d, unsigned index);

/* Have somebody told from now on of all that changes a database, flushing included. Copies. */
void databases_set_recorder(struct databases *d, const struct operation_recorder *recorder);

/* Run an operation on the database that it is about, or flush that database. Other kinds must not
 * be given. Records nothing. Negative, with a sentence in `ret_error`, if that cannot be done. */
int databases_apply(struct databases *d, const struct operation *op, struct buf *ret_error);
/* Append the sentence about a database that does not exist. */
void databases_complain(unsigned index, struct buf *ret_error);

/* What the commands of clients may bring; see qless_set_limits(). */
struct databases_limits {
	struct qless_limits engine;
	size_t max_json_depth; /* up to JSON_DEPTH_MAX */
};

/* From now on, in all databases. NULL means the widest, as a log is to be replayed with: what is in
 * it was within the limits of its time. */
void databases_set_limits(struct databases *d, const struct databases_limits *limits);

/* Delete all there is in a database. What databases_get() and databases_peek() returned for it is
 * no longer good. Its memory is left to databases_free_some(). */
void databases_flush(struct databases *d, unsigned index);

/* Free some of what has been flushed, up to so many things. True if there is more: to be called
 * until it is not, with other things done in between. */
bool databases_free_some(struct databases *d, size_t things);

/* Two versions of a database that are equal mean that nothing in it has changed meanwhile. */
struct database_version {
	uint64_t flushes;
	uint64_t changes;
};

struct database_version databases_version(const struct databases *d, unsigned index);

/* How many keys the ql:* view of a database has, and what one of them holds, in a number: see
 * keyspace_count() and keyspace_fingerprint(). */
size_t databases_count_keys(const struct databases *d, unsigned index);
uint64_t databases_fingerprint(const struct databases *d, unsigned index, struct qless_str key);

/* Let all engines drop the statistics that are too old. */
void databases_maintain(struct databases *d);

#endif
