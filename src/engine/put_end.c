#include "engine/put_end.h"

#include <assert.h>

#include "engine/engine_int.h"
#include "util/mem.h"

void put_refuse(struct qless *q, size_t index, struct qless_str holder)
{
	assert(q->refused_count == 0 || q->refused[q->refused_count - 1].index < index);
	q->refused =
		mem_grow(q->refused, &q->refused_cap, q->refused_count + 1, sizeof *q->refused);
	q->refused[q->refused_count++] = (struct refused_put){ index, holder };
}

enum qless_put_end qless_read_put_end(const struct qless *q, size_t index,
				      struct qless_str *ret_holder)
{
	size_t low = 0, high = q->refused_count;

	*ret_holder = STR("");
	if (high == 0)
		return QLESS_PUT_DONE;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (q->refused[mid].index < index)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == q->refused_count || q->refused[low].index != index)
		return QLESS_PUT_DONE;
	if (q->refused[low].holder.ptr == NULL)
		return QLESS_PUT_EXISTS;
	*ret_holder = q->refused[low].holder;
	return QLESS_PUT_HELD;
}
