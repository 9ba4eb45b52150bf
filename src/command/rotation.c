#include "command/rotation.h"

#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/mem.h"

/* Number of places that share a slot. */
#define WAYS  8
#define SLOTS (ROTATIONS_MAX / WAYS)

struct place {
	uint64_t key;
	uint64_t next; /* 0 for a free place, too: a place of 0 is the same as none */
};

/* The places of a slot are in the order of their last use, the latest first. */
struct slot {
	struct place places[WAYS];
};

struct rotations {
	uint64_t seed;
	struct slot *slots; /* NULL until a place is set */
};

struct rotations *rotations_new(uint64_t seed)
{
	struct rotations *r = mem_zalloc(sizeof *r);

	r->seed = seed;
	return r;
}

void rotations_free(struct rotations *r)
{
	if (r == NULL)
		return;
	free(r->slots);
	free(r);
}

uint64_t rotations_key(const struct rotations *r, unsigned db, struct qless_str worker,
		       const struct qless_str *queues, size_t count)
{
	uint64_t key = hash_bytes(r->seed, str_make((const char *)&db, sizeof db));

	key = hash_bytes(key, worker);
	for (size_t i = 0; i < count; i++)
		key = hash_bytes(key, queues[i]);
	return key;
}

size_t rotations_get(const struct rotations *r, uint64_t key)
{
	if (r->slots == NULL)
		return 0;
	for (size_t i = 0; i < WAYS; i++) {
		const struct place *place = &r->slots[key % SLOTS].places[i];

		if (place->key == key)
			return (size_t)place->next;
	}
	return 0;
}

void rotations_set(struct rotations *r, uint64_t key, size_t next)
{
	struct place *places;
	size_t i = 0;

	if (r->slots == NULL)
		r->slots = mem_zalloc(SLOTS * sizeof *r->slots);
	places = r->slots[key % SLOTS].places;
	while (i < WAYS - 1 && places[i].key != key)
		i++;
	memmove(places + 1, places, i * sizeof *places);
	places[0] = (struct place){ key, next };
}
