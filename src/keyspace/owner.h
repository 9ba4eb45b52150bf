/*
 * The owner of a ql:* key: the queue or the job that the key is about. Pure and read-only.
 */
#ifndef KEYSPACE_OWNER_H
#define KEYSPACE_OWNER_H

#include <stdbool.h>

#include "engine/view.h"
#include "util/str.h"

struct keyspace_owner {
	const struct qless_job *job; /* NULL: none */
	bool has_queue;
	struct qless_str queue;
};

/* Finds the owner of a key, whether the key has content or not. A recurring job is owned by its
 * queue. Other keys, such as ql:workers, are about no queue or about many, and have no owner. */
void keyspace_find_owner(const struct qless *q, struct qless_str key,
			 struct keyspace_owner *ret_owner);

#endif
