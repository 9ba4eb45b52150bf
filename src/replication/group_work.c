/*
 * Events for the core, and what it asks for.
 *
 * The core gets one event at a time, and everything that it asks for is done before the next one.
 * While term and vote are on their way to the disk, nothing happens: messages wait in the inbox,
 * and a leader accepts no operations, because it is about to cease.
 */
#include "replication/group_int.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/mem.h"
#include "util/minmax.h"

void group_cease(struct group *g)
{
	if (g->is_ready)
		g->has_ceased = true;
	g->is_ready = false;
	g->info.is_ready = false;
}

/*
 * Actions
 */

static void store_vote(struct group *g, const struct core_action *action)
{
	group_cease(g);
	journal_store_vote(g->journal, (struct journal_vote){ action->store_vote.term,
							      action->store_vote.vote });
	g->is_holding = g->has_written = true;
}

static void change_role(struct group *g, const struct core_action *action)
{
	bool begins = action->role.role == CORE_LEADER &&
		      (g->role != CORE_LEADER || g->term != action->role.term);

	if (begins || action->role.role != CORE_LEADER) {
		group_cease(g);
		g->barrier = 0;
	}
	if (begins)
		g->info.elections++;
	g->role = action->role.role;
	g->term = action->role.term;
	g->leader = action->role.leader;
}

static void cut(struct group *g, uint64_t index)
{
	uint64_t last = journal_last_index(g->journal);
	int rc;

	group_engine_cut(g, index);
	if (index > last)
		return;
	g->info.replaced += last - index + 1;
	rc = journal_replace_tail(g->journal, index);
	if (rc < 0)
		group_fail(g, "the end of the log cannot be replaced");
	g->reported = min_u64(g->reported, index - 1);
}

/* Appends an entry that the core has made itself. */
static uint64_t append_own(struct group *g, const struct core_head *head)
{
	struct buf payload = BUF_INIT(BUF_NO_MAX);
	uint64_t index;

	if (head->kind == CORE_MEMBERS)
		members_encode(head->members, &payload);
	index = journal_append_entry(g->journal, head->term,
				     head->kind == CORE_MEMBERS ? RECORD_MEMBERS : RECORD_BARRIER,
				     buf_str(&payload));
	buf_done(&payload);
	if (g->role == CORE_LEADER && head->kind == CORE_BARRIER && g->barrier == 0)
		g->barrier = index;
	return index;
}

static void append(struct group *g, const struct core_action *action)
{
	for (size_t i = 0; i < action->append.count; i++) {
		const struct core_head *head = &action->append.heads[i];
		const struct group_entry *entry = head->data;
		uint64_t index;

		if (entry != NULL)
			index = journal_append_entry(g->journal, head->term, entry->type,
						     entry->payload);
		else
			index = append_own(g, head);
		assert(index == action->append.first + i);
		/* A leader has run its operations already, and nothing else needs running. */
		if (g->is_ready && g->engine.index + 1 == index)
			group_engine_ran(g, index, head->term);
		(void)index;
	}
	g->has_written = true;
}

static void do_action(struct group *g, const struct core_action *action)
{
	switch (action->kind) {
	case CORE_STORE_VOTE:
		store_vote(g, action);
		break;
	case CORE_ROLE:
		change_role(g, action);
		break;
	case CORE_CUT:
		cut(g, action->cut.index);
		break;
	case CORE_APPEND:
		append(g, action);
		break;
	case CORE_SEND:
		g->options.send(g->options.arg, action->send.to, &action->send.message);
		break;
	case CORE_COMMIT:
		g->commit = action->commit.index;
		journal_note_commit(g->journal, g->commit);
		break;
	case CORE_INSTALL:
		if (g->options.install != NULL)
			g->options.install(g->options.arg, action->install.from,
					   action->install.base);
		else
			group_end_install(g, /* is_complete= */ false);
		break;
	case CORE_BROKEN:
		group_fail(g, action->broken.why);
		break;
	}
}

void group_work(struct group *g)
{
	struct core_action action;

	while (!g->is_holding && !group_has_failed(g) && core_next(g->core, &action))
		do_action(g, &action);
	if (!g->is_holding) {
		group_letter_free(g->letter);
		g->letter = NULL;
	}
}

/*
 * Events
 */

void group_submit(struct group *g)
{
	struct group_turn *turn = &g->turn;
	struct core_head *heads;
	struct group_entry *entries;
	size_t begin = 0;
	uint64_t first;

	if (turn->count == 0 || group_has_failed(g))
		return;
	heads = mem_realloc_array(NULL, turn->count, sizeof *heads);
	entries = mem_realloc_array(NULL, turn->count, sizeof *entries);
	for (size_t i = 0; i < turn->count; i++) {
		entries[i] = (struct group_entry){
			RECORD_OPERATIONS,
			str_make(buf_data(&turn->bytes) + begin, turn->ends[i] - begin),
		};
		heads[i] = (struct core_head){ .kind = CORE_OPERATIONS, .data = &entries[i] };
		begin = turn->ends[i];
	}
	assert(!g->is_holding);
	first = core_submit(g->core, heads, turn->count);
	group_work(g);
	if (first == 0)
		group_engine_spoil(g);
	free(entries);
	free(heads);
	turn->count = 0;
	buf_clear(&turn->bytes);
	buf_shrink(&turn->bytes, 4 * GROUP_ENTRY_BYTES);
}

void group_read_inbox(struct group *g)
{
	while (!g->is_holding && !group_has_failed(g)) {
		g->letter = group_inbox_take(&g->inbox);
		if (g->letter == NULL)
			return;
		core_receive(g->core, g->letter->from, &g->letter->message);
		group_work(g);
	}
}

void group_take_news(struct group *g)
{
	uint64_t durable;

	if (g->disk->state == COMMIT_LOG_FAILED) {
		group_fail(g, commit_log_complaint(g->disk));
		return;
	}
	if (g->is_holding && journal_is_vote_stored(g->journal)) {
		g->is_holding = false;
		group_work(g);
	}
	group_note_base(g);
	durable = journal_durable_index(g->journal);
	if (g->is_holding || group_has_failed(g) || durable <= g->reported)
		return;
	g->reported = durable;
	core_persisted(g->core, durable);
	group_work(g);
}
