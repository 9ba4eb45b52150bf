/*
 * Snapshots: own ones, and those of other nodes.
 */
#include <assert.h>

#include "replication/group_int.h"
#include "util/minmax.h"

void group_keep_entries(struct group *g)
{
	uint64_t base = journal_get_base(g->journal).index, keep = g->options.keep_entries;

	if (keep != 0)
		journal_keep_from(g->journal, base > keep ? base - keep : 1);
	else
		journal_keep_from(g->journal, 1);
}

void group_note_base(struct group *g)
{
	uint64_t index = journal_get_base(g->journal).index;

	/* After a start, the log proves more than the core knows to be committed. */
	if (g->is_holding || group_has_failed(g) || index <= core_base(g->core)->index ||
	    index > core_commit(g->core))
		return;
	core_base_made(g->core, index, journal_first_index(g->journal));
	group_work(g);
	group_keep_entries(g);
}

void group_end_install(struct group *g, bool is_complete)
{
	g->install = is_complete ? GROUP_INSTALL_COMPLETE : GROUP_INSTALL_FAILED;
}

static void install(struct group *g)
{
	struct buf error = BUF_INIT(GROUP_FAILURE_BYTES);
	uint64_t index;

	if (journal_finish_install(g->journal, &error) < 0) {
		group_fail(g, error.len > 0 ? buf_cstr(&error)
					    : "the snapshot of the leader cannot be used");
	} else {
		index = journal_get_base(g->journal).index;
		g->reported = index;
		g->commit = max_u64(g->commit, index);
		g->info.installs++;
		core_base_installed(g->core);
		group_work(g);
		group_engine_spoil(g);
		group_keep_entries(g);
	}
	buf_done(&error);
}

void group_install_fetched(struct group *g)
{
	bool is_complete = g->install == GROUP_INSTALL_COMPLETE;

	if (g->install == GROUP_INSTALL_NONE || g->is_holding || group_has_failed(g))
		return;
	g->install = GROUP_INSTALL_NONE;
	if (is_complete && core_base_accept(g->core)) {
		group_work(g);
		install(g);
		return;
	}
	journal_give_up_install(g->journal);
	if (!is_complete)
		core_base_dropped(g->core);
	group_work(g);
}
