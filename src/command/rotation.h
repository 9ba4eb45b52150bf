/*
 * Rotations: where pops from several queues in turn continue.
 *
 * A worker that pops from a list of queues in turn continues after the queue of its last job. The
 * place is no part of the state: the log does not have it, and after a restart each worker begins
 * with its first queue. The table has a fixed size and forgets the worker and list that were not
 * used for longest, among a few that share a slot.
 */
#ifndef COMMAND_ROTATION_H
#define COMMAND_ROTATION_H

#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

/* Number of places that the table keeps. With 10,000 workers, nearly all keep theirs. */
#define ROTATIONS_MAX 32768

struct rotations;

/* The hashes of names depend on the seed. */
struct rotations *rotations_new(uint64_t seed);
void rotations_free(struct rotations *r);

/* Returns what identifies a worker with a list of queues. */
uint64_t rotations_key(const struct rotations *r, unsigned db, struct qless_str worker,
		       const struct qless_str *queues, size_t count);

/* Returns the queue with which the next pop begins; 0 if the table has no place for that key. */
size_t rotations_get(const struct rotations *r, uint64_t key);
void rotations_set(struct rotations *r, uint64_t key, size_t next);

#endif
