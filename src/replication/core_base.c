#include "replication/core_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool core_base_at(const struct core *core, uint64_t index, struct core_base *ret_base)
{
	const struct members *members;

	memset(ret_base, 0, sizeof *ret_base);
	if (index == 0 || index < core->base.index || index > core_commit(core))
		return false;
	ret_base->index = index;
	ret_base->term = core_term_at(core, index);
	members = core_members_at(core, index, &ret_base->members_index);
	if (members == NULL || ret_base->term == 0)
		return false;
	ret_base->members = *members;
	return true;
}

/* Drop the lists up to this index. */
static void drop_lists(struct core *core, uint64_t up_to)
{
	size_t kept = 0;

	for (size_t i = 0; i < core->list_count; i++) {
		if (core->lists[i].index <= up_to)
			free(core->lists[i].members);
		else
			core->lists[kept++] = core->lists[i];
	}
	core->list_count = kept;
}

void core_base_made(struct core *core, uint64_t index, uint64_t first)
{
	struct raft_event event = { .type = RAFT_SNAPSHOT };
	struct core_base base;
	bool is_known;

	if (core_is_asleep(core) || index <= core->base.index)
		return;
	is_known = core_base_at(core, index, &base);
	assert(is_known && first <= index + 1);
	(void)is_known;
	if (first < core->first)
		first = core->first;
	event.snapshot.metadata.index = index;
	event.snapshot.metadata.term = base.term;
	event.snapshot.metadata.configuration_index = base.members_index;
	event.snapshot.metadata.configuration = core_configuration(&base.members);
	event.snapshot.trailing = (unsigned)(index + 1 - first);
	core->base = base;
	core->first = first;
	drop_lists(core, index);
	core_step(core, &event);
}

bool core_base_accept(struct core *core)
{
	uint64_t index = core->offer.index;

	assert(core->queue_first == core->queue_count && !core->is_deaf);
	if (core_is_asleep(core) || core_role(core) == CORE_LEADER || index <= core_commit(core) ||
	    core_term_at(core, index) == core->offer.term) {
		core->offer.index = 0;
		return false;
	}
	core->is_deaf = true;
	return true;
}

void core_base_dropped(struct core *core)
{
	assert(!core->is_deaf);
	core->offer.index = 0;
}

/* Acknowledge the entries of the snapshot. A leader ignores the last index in a refusal, so it
 * would offer its next snapshot instead of the entries that follow. */
static void tell_leader(struct core *core)
{
	struct raft_message message = { .type = RAFT_APPEND_ENTRIES_RESULT };

	message.server_id = core_leader(core);
	if (message.server_id == 0 || core_role(core) != CORE_FOLLOWER)
		return;
	message.append_entries_result.term = core->raft.current_term;
	message.append_entries_result.last_log_index = core->base.index;
	core_send(core, &message);
}

void core_base_installed(struct core *core)
{
	uint64_t term = core->raft.current_term;
	uint64_t vote = core->raft.voted_for;

	assert(core->is_deaf);
	core->kept_leader = core_leader(core);
	core_end(core);
	core->base = core->offer;
	core->offer.index = 0;
	core->is_deaf = false;
	core->first = core->base.index + 1;
	core->last = core->base.index;
	core->told_commit = core->base.index;
	drop_lists(core, UINT64_MAX);
	core_begin(core, term, vote);
	tell_leader(core);
}
