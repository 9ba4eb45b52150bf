/*
 * The members of a group: who they are, where they listen, and whose votes count.
 *
 * The list is in ascending order of ids, which are unique, as are the addresses.
 */
#ifndef REPLICATION_MEMBERS_H
#define REPLICATION_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

#define MEMBERS_MAX 9
/* "host:port" with a name of 255 bytes, and NUL. */
#define MEMBERS_ADDRESS_SIZE 264

struct member {
	uint64_t id;   /* 1 to INT64_MAX */
	bool is_voter; /* otherwise a learner: it follows, and does not count */
	char address[MEMBERS_ADDRESS_SIZE];
};

struct members {
	unsigned count;
	struct member member[MEMBERS_MAX];
};

/* Returns whether the list is in order, and has a voter and an address for each. */
bool members_are_valid(const struct members *m);

/* Returns the member of this id, or NULL. */
const struct member *members_find(const struct members *m, uint64_t id);

unsigned members_voters(const struct members *m);

/* Add a member, or change the one of this id. Returns false, and changes nothing, if the list is
 * full, the address is too long, empty or another member's, or the id is 0 or above INT64_MAX. */
bool members_set(struct members *m, uint64_t id, const char *address, bool is_voter);

/* Returns false if there is no such member. */
bool members_remove(struct members *m, uint64_t id);

bool members_equal(const struct members *a, const struct members *b);

/* Append the bytes of a list, which are the payload of an entry of kind CORE_MEMBERS: a version,
 * the count, then for each the id, 1 for a voter, and the address with its length. Integers are
 * varints. */
void members_encode(const struct members *m, struct buf *out);

/* Returns false if the bytes are not exactly a valid list. `m` is undefined then. */
bool members_decode(struct members *m, const void *data, size_t size);

#endif
