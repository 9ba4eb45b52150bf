/*
 * Entries for other nodes: from the journal, as they travel.
 */
#include "replication/group_int.h"

/* A range that was queued in an earlier term may have other entries by now. */
static bool leads_in(const struct group *g, uint64_t term)
{
	return g->role == CORE_LEADER && g->term == term && !group_has_failed(g);
}

static void put(struct buf *out, const struct journal_entry *entry)
{
	struct frame_entry frame = { .term = entry->head.term,
				     .kind = (uint8_t)entry->head.type,
				     .payload = entry->payload };

	frame_put_entry(out, &frame);
}

enum group_fetched group_fetch(struct group *g, uint64_t term, uint64_t first, uint64_t count,
			       size_t max, struct buf *out, uint64_t *ret_count)
{
	struct journal_entries entries = { 0 };
	enum group_fetched result = GROUP_GONE;
	size_t bytes = 0;
	int found = 0;

	*ret_count = 0;
	if (leads_in(g, term) && count > 0)
		found = journal_read_entries(g->journal, first, first + count - 1, max, &entries);
	for (int i = 0; i < found; i++) {
		const struct journal_entry *entry = &entries.all[i];

		bytes += frame_entry_size(entry->head.term, entry->payload.len);
		if (bytes > max)
			break;
		put(out, entry);
		++*ret_count;
	}
	if (found > 0)
		result = *ret_count > 0 ? GROUP_FETCHED : GROUP_LARGE;
	journal_entries_done(&entries);
	return result;
}

enum group_fetched group_fetch_piece(struct group *g, uint64_t term, uint64_t index, size_t offset,
				     size_t max, struct buf *out, struct frame_entry *ret_entry)
{
	struct journal_entries entries = { 0 };
	int found = 0;

	if (leads_in(g, term))
		found = journal_read_entries(g->journal, index, index, 0, &entries);
	if (found == 1) {
		struct qless_str payload = entries.all[0].payload;
		size_t left = offset < payload.len ? payload.len - offset : 0;

		*ret_entry = (struct frame_entry){
			.term = entries.all[0].head.term,
			.kind = (uint8_t)entries.all[0].head.type,
			.payload = str_make(NULL, payload.len),
		};
		if (left > 0)
			buf_append(out, payload.ptr + offset, left < max ? left : max);
	}
	journal_entries_done(&entries);
	return found == 1 ? GROUP_FETCHED : GROUP_GONE;
}
