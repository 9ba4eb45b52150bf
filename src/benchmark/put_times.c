#include "benchmark/put_times.h"

#include <assert.h>
#include <stdlib.h>

#include "util/mem.h"

#define CAP_MIN ((size_t)1024) /* a power of two, like every later size */

void put_times_done(struct put_times *t)
{
	free(t->ring);
	*t = (struct put_times){ 0 };
}

static int64_t *place_of(const struct put_times *t, uint64_t number)
{
	return &t->ring[number & (t->cap - 1)];
}

static void grow(struct put_times *t)
{
	struct put_times old = *t;

	t->cap = old.cap != 0 ? 2 * old.cap : CAP_MIN;
	t->ring = mem_zalloc(t->cap * sizeof(*t->ring));
	for (uint64_t i = old.oldest; i < old.next; i++)
		*place_of(t, i) = *place_of(&old, i);
	free(old.ring);
}

void put_times_add(struct put_times *t, uint64_t number, int64_t now_ns)
{
	if (t->count == 0)
		t->oldest = t->next = number;
	assert(number == t->next && now_ns != 0);
	if (t->next - t->oldest == t->cap)
		grow(t);
	*place_of(t, t->next++) = now_ns;
	t->count++;
}

int64_t put_times_take(struct put_times *t, uint64_t number)
{
	int64_t put_ns;

	if (number < t->oldest || number >= t->next)
		return 0;
	put_ns = *place_of(t, number);
	if (put_ns == 0)
		return 0;
	*place_of(t, number) = 0;
	t->count--;
	while (t->oldest < t->next && *place_of(t, t->oldest) == 0)
		t->oldest++;
	return put_ns;
}
