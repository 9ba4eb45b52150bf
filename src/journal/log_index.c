/*
 * Arrays in the order of the log. A tail that is replaced is cut off from all of them.
 */
#include "journal/log_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"
#include "util/minmax.h"

/* Bytes of a segment between two places. Reading an entry passes over fewer bytes than that. */
#define PLACE_BYTES ((uint64_t)256 * 1024)

void log_index_init(struct log_index *ix)
{
	*ix = (struct log_index){ .base = { .members = BUF_INIT(BUF_NO_MAX) } };
}

static void drop_specials(struct log_index *ix, size_t left)
{
	while (ix->special_count > left)
		buf_done(&ix->specials[--ix->special_count].payload);
}

void log_index_done(struct log_index *ix)
{
	drop_specials(ix, 0);
	free(ix->specials);
	free(ix->segments);
	free(ix->places);
	terms_done(&ix->terms);
	buf_done(&ix->base.members);
	*ix = (struct log_index){ .base = { .members = BUF_INIT(BUF_NO_MAX) } };
}

void log_index_set_base(struct log_index *ix, uint64_t index, const struct record_group *group)
{
	struct buf members = BUF_INIT(BUF_NO_MAX);

	/* The members may be those of this index. */
	buf_append_str(&members, group->members);
	buf_done(&ix->base.members);
	ix->base = (struct log_base){ .index = index,
				      .term = group->term,
				      .members_index = group->members_index,
				      .members = members };
	ix->last = max_u64(ix->last, index);
}

static void cut_places(struct log_index *ix, uint64_t from)
{
	while (ix->place_count > 0 && ix->places[ix->place_count - 1].index >= from)
		ix->place_count--;
}

void log_index_cut(struct log_index *ix, uint64_t from)
{
	size_t left = ix->special_count;

	assert(from > 0 && from <= ix->last + 1);
	while (left > 0 && ix->specials[left - 1].index >= from)
		left--;
	drop_specials(ix, left);
	cut_places(ix, from);
	terms_cut(&ix->terms, from);
	ix->last = from - 1;
}

static void add_place(struct log_index *ix, uint64_t index, uint64_t offset)
{
	const struct log_segment *current = &ix->segments[ix->segment_count - 1];

	ix->places = mem_grow(ix->places, &ix->place_cap, ix->place_count + 1, sizeof *ix->places);
	ix->places[ix->place_count++] = (struct log_place){ index, current->number, offset };
}

void log_index_begin_segment(struct log_index *ix, uint64_t number, uint64_t salt, uint64_t first)
{
	cut_places(ix, first);
	for (size_t i = 0; i < ix->segment_count; i++)
		ix->segments[i].end = min_u64(ix->segments[i].end, first);
	ix->segments = mem_grow(ix->segments, &ix->segment_cap, ix->segment_count + 1,
				sizeof *ix->segments);
	ix->segments[ix->segment_count++] = (struct log_segment){
		.number = number, .salt = salt, .first = first, .last = first - 1, .end = UINT64_MAX
	};
	add_place(ix, first, RECORD_FILE_HEADER_BYTES);
}

void log_index_drop_segment(struct log_index *ix)
{
	const struct log_segment *dropped = &ix->segments[ix->segment_count - 1];

	while (ix->place_count > 0 && ix->places[ix->place_count - 1].segment == dropped->number)
		ix->place_count--;
	ix->segment_count--;
}

void log_index_end_segment(struct log_index *ix, uint64_t bytes)
{
	assert(ix->segment_count > 0);
	ix->segments[ix->segment_count - 1].bytes = bytes;
}

void log_index_add(struct log_index *ix, uint64_t term, enum record_type type,
		   struct qless_str payload)
{
	struct log_special *special;

	ix->last++;
	terms_add(&ix->terms, ix->last, term);
	if (type == RECORD_OPERATIONS)
		return;
	ix->specials = mem_grow(ix->specials, &ix->special_cap, ix->special_count + 1,
				sizeof *ix->specials);
	special = &ix->specials[ix->special_count++];
	*special = (struct log_special){ ix->last, type, BUF_INIT(BUF_NO_MAX) };
	if (type == RECORD_MEMBERS)
		buf_append_str(&special->payload, payload);
}

void log_index_note_written(struct log_index *ix, uint64_t last, uint64_t offset)
{
	struct log_segment *current = &ix->segments[ix->segment_count - 1];
	const struct log_place *place = &ix->places[ix->place_count - 1];

	if (last <= current->last)
		return;
	if (offset >= place->offset + PLACE_BYTES)
		add_place(ix, current->last + 1, offset);
	current->last = last;
}

/* Forget the first `count` segments. */
static void forget(struct log_index *ix, size_t count)
{
	uint64_t first;
	size_t left = 0;

	ix->segment_count -= count;
	memmove(ix->segments, ix->segments + count, ix->segment_count * sizeof *ix->segments);
	first = log_index_first(ix);
	for (size_t i = 0; i < ix->place_count; i++) {
		if (ix->places[i].index >= first)
			ix->places[left++] = ix->places[i];
	}
	ix->place_count = left;
	terms_forget(&ix->terms, first);
	left = 0;
	for (size_t i = 0; i < ix->special_count; i++) {
		if (ix->specials[i].index >= first)
			ix->specials[left++] = ix->specials[i];
		else
			buf_done(&ix->specials[i].payload);
	}
	ix->special_count = left;
}

void log_index_forget_segments(struct log_index *ix, uint64_t number)
{
	size_t count = 0;

	while (count + 1 < ix->segment_count && ix->segments[count].number < number)
		count++;
	if (count > 0)
		forget(ix, count);
}

void log_index_restart(struct log_index *ix)
{
	drop_specials(ix, 0);
	terms_cut(&ix->terms, 0);
	ix->segment_count = ix->place_count = 0;
	ix->last = ix->base.index;
}

uint64_t log_index_first(const struct log_index *ix)
{
	uint64_t first = ix->last + 1;

	for (size_t i = 0; i < ix->segment_count; i++)
		first = min_u64(first, ix->segments[i].first);
	return first;
}

uint64_t log_index_first_needed(const struct log_index *ix, uint64_t covered, uint64_t *ret_bytes)
{
	size_t i = 0;

	*ret_bytes = 0;
	for (; i + 1 < ix->segment_count && ix->segments[i].end <= covered + 1; i++)
		*ret_bytes += ix->segments[i].bytes;
	return ix->segments[i].number;
}

static enum record_type type_at(const struct log_index *ix, uint64_t index)
{
	size_t low = 0, high = ix->special_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ix->specials[middle].index == index)
			return ix->specials[middle].type;
		if (ix->specials[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return RECORD_OPERATIONS;
}

bool log_index_get(const struct log_index *ix, uint64_t index, uint64_t *ret_term,
		   enum record_type *ret_type)
{
	if (index >= log_index_first(ix) && index <= ix->last) {
		*ret_term = terms_at(&ix->terms, index);
		*ret_type = type_at(ix, index);
		return *ret_term != 0;
	}
	*ret_term = ix->base.term;
	*ret_type = RECORD_OPERATIONS;
	return index > 0 && index == ix->base.index;
}

const struct log_place *log_index_find(const struct log_index *ix, uint64_t index,
				       const struct log_segment **ret_segment)
{
	size_t low = 0, high = ix->place_count, i = 0;

	assert(index >= log_index_first(ix) && index <= ix->last);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ix->places[middle].index <= index)
			low = middle + 1;
		else
			high = middle;
	}
	assert(low > 0);
	while (ix->segments[i].number != ix->places[low - 1].segment)
		i++;
	*ret_segment = &ix->segments[i];
	return &ix->places[low - 1];
}

bool log_index_describe(const struct log_index *ix, uint64_t index, struct record_group *ret_group)
{
	enum record_type ignored;

	*ret_group = (struct record_group){ .members_index = ix->base.members_index,
					    .members = buf_str(&ix->base.members) };
	if (!log_index_get(ix, index, &ret_group->term, &ignored))
		return false;
	for (size_t i = 0; i < ix->special_count && ix->specials[i].index <= index; i++) {
		if (ix->specials[i].type != RECORD_MEMBERS ||
		    ix->specials[i].index < ret_group->members_index)
			continue;
		ret_group->members_index = ix->specials[i].index;
		ret_group->members = buf_str(&ix->specials[i].payload);
	}
	return ret_group->members_index > 0;
}
