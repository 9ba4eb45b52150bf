/*
 * Life of a node, members, and figures.
 */
#include "replication/group.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replication/group_int.h"
#include "util/mem.h"

void group_fail(struct group *g, const char *why)
{
	if (group_has_failed(g))
		return;
	group_cease(g);
	snprintf(g->failure, sizeof g->failure, "%s", why);
}

const char *group_failure(const struct group *g)
{
	return group_has_failed(g) ? g->failure : NULL;
}

/*
 * The beginning
 */

/* Gives the core the head of an entry that the journal has. */
static int load_entry(struct group *g, uint64_t index, struct buf *ret_error)
{
	struct journal_entries entries = { 0 };
	struct core_head head = { .kind = CORE_OPERATIONS };
	struct journal_head from;
	struct members members;
	int rc = 0;

	if (!journal_get_head(g->journal, index, &from)) {
		buf_printf(ret_error, "entry %llu is not in the log", (unsigned long long)index);
		return -1;
	}
	head.term = from.term;
	if (from.type == RECORD_BARRIER)
		head.kind = CORE_BARRIER;
	if (from.type == RECORD_MEMBERS) {
		head.kind = CORE_MEMBERS;
		head.members = &members;
		if (journal_read_entries(g->journal, index, index, 0, &entries) != 1 ||
		    !members_decode(&members, entries.all[0].payload.ptr,
				    entries.all[0].payload.len)) {
			buf_printf(ret_error, "the members in entry %llu cannot be read",
				   (unsigned long long)index);
			rc = -1;
		}
		journal_entries_done(&entries);
	}
	if (rc == 0)
		core_load(g->core, &head);
	return rc;
}

static int read_base(const struct journal *journal, struct core_base *ret, struct buf *ret_error)
{
	struct journal_base base = journal_get_base(journal);

	*ret = (struct core_base){ .index = base.index };
	if (base.index == 0)
		return 0;
	ret->term = base.term;
	ret->members_index = base.members_index;
	if (members_decode(&ret->members, base.members.ptr, base.members.len))
		return 0;
	buf_printf(ret_error, "the members in the snapshot cannot be read");
	return -1;
}

static int load(struct group *g, struct buf *ret_error)
{
	const struct group_options *o = &g->options;
	struct journal_vote vote = journal_get_vote(g->journal);
	uint64_t first = journal_first_index(g->journal), index;
	struct core_base base;

	if (read_base(g->journal, &base, ret_error) < 0)
		return -1;
	g->core = core_create(&(struct core_options){ .id = o->id,
						      .seed = o->seed,
						      .election_ms = o->election_ms,
						      .heartbeat_ms = o->heartbeat_ms,
						      .catch_up_ms = o->catch_up_ms },
			      &(struct core_start){ .term = vote.term,
						    .vote = vote.node,
						    .base = base.index != 0 ? &base : NULL,
						    .commit = journal_get_commit(g->journal),
						    .first_index = first });
	for (index = first; index <= journal_last_index(g->journal); index++) {
		if (load_entry(g, index, ret_error) < 0)
			return -1;
	}
	return 0;
}

struct group *group_open(const struct group_options *options, struct journal *journal,
			 int64_t mono_us, struct buf *ret_error)
{
	struct group *g = mem_zalloc(sizeof *g);

	g->options = *options;
	g->journal = journal;
	g->disk = journal_log(journal);
	group_inbox_init(&g->inbox);
	buf_init(&g->turn.bytes, BUF_NO_MAX);
	if (load(g, ret_error) < 0) {
		core_free(g->core);
		free(g);
		return NULL;
	}
	group_keep_entries(g);
	g->now_ms = mono_us / 1000;
	g->term = core_term(g->core);
	g->reported = journal_durable_index(journal);
	g->commit = g->engine.index = journal_get_commit(journal);
	g->engine.term = core_term_at(g->core, g->engine.index);
	core_start(g->core, g->now_ms);
	group_work(g);
	group_log_init(g);
	return g;
}

void group_close(struct group *g)
{
	if (g == NULL)
		return;
	group_log_done(g);
	group_letter_free(g->letter);
	group_inbox_done(&g->inbox);
	core_free(g->core);
	free(g);
}

struct commit_log *group_log(struct group *g)
{
	return &g->log;
}

void group_receive(struct group *g, uint64_t from, const struct core_message *message,
		   struct qless_str entries)
{
	group_inbox_put(&g->inbox, from, message, entries);
}

int64_t group_deadline_us(const struct group *g)
{
	if (group_has_failed(g) || g->is_holding)
		return INT64_MAX;
	return core_deadline(g->core) * 1000;
}

/*
 * Members
 */

/* The operations of the turn so far have their indexes, which must not be taken by another entry.
 */
static bool begin_change(struct group *g)
{
	if (!g->is_ready)
		return false;
	group_submit(g);
	return g->is_ready;
}

static enum core_result end_change(struct group *g, enum core_result result)
{
	group_work(g);
	g->log.last = journal_last_index(g->journal);
	return result;
}

enum core_result group_change_members(struct group *g, const struct members *members)
{
	if (!begin_change(g))
		return CORE_NOT_LEADER;
	return end_change(g, core_change(g->core, members));
}

enum core_result group_catch_up(struct group *g, uint64_t id)
{
	if (!begin_change(g))
		return CORE_NOT_LEADER;
	return end_change(g, core_catch_up(g->core, id));
}

enum core_catch_up_state group_catch_up_state(const struct group *g, uint64_t id)
{
	return core_catch_up_state(g->core, id);
}

enum core_result group_transfer(struct group *g, uint64_t id)
{
	enum core_result result;

	if (!begin_change(g))
		return CORE_NOT_LEADER;
	result = core_transfer(g->core, id);
	if (result == CORE_OK)
		group_cease(g);
	return end_change(g, result);
}

const struct members *group_members(const struct group *g)
{
	bool is_committed;
	uint64_t index;

	return core_members(g->core, &index, &is_committed);
}

uint64_t group_match(const struct group *g, uint64_t id)
{
	return core_match(g->core, id);
}

/*
 * Figures
 */

void group_get_info(const struct group *g, struct group_info *ret)
{
	*ret = g->info;
	ret->role = g->role;
	ret->term = g->term;
	ret->leader = g->leader;
	ret->last = journal_last_index(g->journal);
	ret->durable = journal_durable_index(g->journal);
	ret->commit = g->commit;
	ret->engine = g->engine.index;
	ret->is_ready = g->is_ready;
	ret->is_rebuilding = g->engine.is_wrong;
	ret->dropped = g->inbox.dropped;
}
