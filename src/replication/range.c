#include "replication/range.h"

#include <assert.h>

#include "util/minmax.h"

void range_clear(struct range *r)
{
	*r = (struct range){ .term = 0 };
}

/* Send the entries of the message next. An entry that is under way in pieces goes on. */
static void replace(struct range *r, const struct core_message *m)
{
	uint64_t first = m->entries.previous_index + 1;
	bool is_same = r->term == m->term && r->next == first;

	if (!is_same) {
		r->begin = first;
		r->offset = 0;
	}
	r->term = m->term;
	r->next = first;
	r->end = m->entries.previous_index + m->entries.count;
	r->previous_term = m->entries.previous_term;
	r->commit = m->entries.commit;
	r->is_refused = false;
	r->wants_beat = r->offset != 0;
}

/* Returns whether the entries begin among those that were sent or wait. */
static bool continues(const struct range *r, const struct core_message *m)
{
	uint64_t first = m->entries.previous_index + 1;

	if (first < r->begin || first > r->end + 1)
		return false;
	return first >= r->next || !r->is_refused;
}

bool range_add(struct range *r, const struct core_message *m)
{
	assert(m->kind == CORE_ENTRIES);
	if (!range_is_waiting(r) || m->term > r->term) {
		if (m->entries.count == 0) {
			if (m->term > r->term)
				range_drop(r);
			return false;
		}
		replace(r, m);
		return true;
	}
	/* A message of an earlier term comes from nobody any more. */
	if (m->term < r->term)
		return true;
	if (m->entries.count != 0 && !continues(r, m)) {
		replace(r, m);
		return true;
	}
	if (m->entries.count != 0)
		r->end = max_u64(r->end, m->entries.previous_index + m->entries.count);
	r->commit = max_u64(r->commit, m->entries.commit);
	r->wants_beat = r->offset != 0;
	return true;
}

void range_refuse(struct range *r, uint64_t term)
{
	if (term == r->term)
		r->is_refused = true;
}

struct core_message range_message(const struct range *r, uint32_t count)
{
	uint64_t previous = r->next - 1;

	return (struct core_message){
		.kind = CORE_ENTRIES,
		.term = r->term,
		.entries = { .previous_index = previous,
			     .previous_term = r->previous_term,
			     .commit = min_u64(r->commit, previous + count),
			     .count = count },
	};
}

void range_advance(struct range *r, uint64_t count, uint64_t last_term)
{
	assert(r->offset == 0 && count != 0 && count <= r->end - r->next + 1);
	r->next += count;
	r->previous_term = last_term;
}

void range_advance_piece(struct range *r, uint32_t len, uint32_t size, uint64_t term)
{
	assert(range_is_waiting(r) && len != 0 && len <= size - r->offset);
	r->offset += len;
	if (r->offset != size)
		return;
	r->offset = 0;
	r->wants_beat = false;
	range_advance(r, 1, term);
}

void range_note_beat(struct range *r)
{
	r->wants_beat = false;
}

void range_drop(struct range *r)
{
	r->end = r->next - 1;
	r->offset = 0;
	r->wants_beat = false;
}
