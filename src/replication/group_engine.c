/*
 * The engine of a follower runs entries when they are committed. That of a leader has run them
 * before, so its index may be above the commit.
 */
#include "replication/group_int.h"

#include <assert.h>

#include "util/minmax.h"

void group_engine_ran(struct group *g, uint64_t index, uint64_t term)
{
	assert(index >= g->engine.index);
	g->engine.index = index;
	g->engine.term = term;
}

void group_engine_spoil(struct group *g)
{
	if (g->engine.is_wrong)
		return;
	g->engine.is_wrong = true;
	g->info.rebuilds++;
	group_cease(g);
	core_set_may_stand(g->core, false);
}

void group_engine_cut(struct group *g, uint64_t index)
{
	if (index <= g->engine.index)
		group_engine_spoil(g);
}

uint64_t group_engine_index(const struct group *g)
{
	return g->engine.index;
}

bool group_needs_rebuild(const struct group *g)
{
	return g->engine.is_wrong;
}

void group_rebuilt(struct group *g, uint64_t index)
{
	assert(g->engine.is_wrong && index <= g->commit);
	g->engine = (struct group_engine){ .index = index, .term = core_term_at(g->core, index) };
	core_set_may_stand(g->core, true);
}

bool group_can_apply(const struct group *g)
{
	return !g->engine.is_wrong && !group_has_failed(g) && g->engine.index < g->commit;
}

static int apply_entry(struct group *g, uint64_t index, const struct journal_entry *entry,
		       struct buf *ret_error)
{
	struct record record = { .type = entry->head.type,
				 .sequence = index,
				 .payload = entry->payload };
	int rc = 0;

	if (entry->head.type == RECORD_OPERATIONS)
		rc = g->options.apply(g->options.arg, &record, ret_error);
	if (rc == 0)
		group_engine_ran(g, index, entry->head.term);
	return rc;
}

int group_apply(struct group *g, size_t max_bytes, struct buf *ret_error)
{
	struct journal_entries entries = { 0 };
	int count, rc = 0;

	if (!group_can_apply(g))
		return 0;
	count = journal_read_entries(g->journal, g->engine.index + 1, g->commit, max_bytes,
				     &entries);
	if (count <= 0) {
		buf_printf(ret_error, "entry %llu cannot be read: error %d",
			   (unsigned long long)g->engine.index + 1, count);
		rc = count < 0 ? count : -1;
	}
	for (int i = 0; i < count && rc == 0; i++)
		rc = apply_entry(g, entries.first + (uint64_t)i, &entries.all[i], ret_error);
	journal_entries_done(&entries);
	return rc < 0 ? rc : 0;
}
