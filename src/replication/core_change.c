#include "replication/core_int.h"

#include <assert.h>
#include <string.h>

#include "util/mem.h"

/* ---- lists ---- */

void core_add_list(struct core *core, uint64_t index, const struct members *members)
{
	struct core_list *list;

	core->lists =
		mem_grow(core->lists, &core->list_cap, core->list_count + 1, sizeof *core->lists);
	list = &core->lists[core->list_count++];
	list->index = index;
	list->members = mem_alloc(sizeof *list->members);
	*list->members = *members;
}

const struct members *core_members_at(const struct core *core, uint64_t index, uint64_t *ret_index)
{
	for (size_t i = core->list_count; i > 0; i--) {
		if (core->lists[i - 1].index > index)
			continue;
		*ret_index = core->lists[i - 1].index;
		return core->lists[i - 1].members;
	}
	*ret_index = 0;
	if (core->base.index == 0)
		return NULL;
	*ret_index = core->base.members_index;
	return &core->base.members;
}

const struct members *core_members(const struct core *core, uint64_t *ret_index,
				   bool *ret_is_committed)
{
	static const struct members none;
	const struct members *members = core_members_at(core, UINT64_MAX, ret_index);

	*ret_is_committed = *ret_index <= core_commit(core);
	return members != NULL ? members : &none;
}

/* A learner is a stand-by of the library: it gets entries, and has no vote. */
struct raft_configuration core_configuration(const struct members *members)
{
	struct raft_configuration conf;

	raft_configuration_init(&conf);
	for (unsigned i = 0; i < members->count; i++) {
		const struct member *one = &members->member[i];

		core_must(raft_configuration_add(&conf, one->id, one->address,
						 one->is_voter ? RAFT_VOTER : RAFT_STANDBY));
	}
	return conf;
}

/* ---- changes ---- */

const char *core_result_text(enum core_result result)
{
	switch (result) {
	case CORE_OK:
		return "done";
	case CORE_NOT_LEADER:
		return "this node does not lead";
	case CORE_NOT_READY:
		return "this node has become leader just now";
	case CORE_CHANGING:
		return "another change of the group is under way";
	case CORE_NO_MEMBER:
		return "there is no such member";
	case CORE_NOT_CAUGHT_UP:
		return "the member has not caught up with the log";
	case CORE_LEADING:
		return "the member leads, so another must take over first";
	case CORE_DEMOTING:
		return "a voter cannot become a learner: remove it";
	case CORE_NOT_ONE_CHANGE:
		return "a change concerns exactly one member, and leaves a voter";
	}
	return "unknown";
}

/* Find the member that differs. Returns false unless there is exactly one. `ret_old` is NULL if it
 * is new, and `ret_new` if it is removed. */
static bool find_difference(const struct members *old, const struct members *new,
			    const struct member **ret_old, const struct member **ret_new)
{
	unsigned differences = 0;

	*ret_old = NULL;
	*ret_new = NULL;
	for (unsigned i = 0; i < old->count; i++) {
		const struct member *one = &old->member[i];
		const struct member *other = members_find(new, one->id);

		if (other != NULL && other->is_voter == one->is_voter &&
		    strcmp(other->address, one->address) == 0)
			continue;
		differences++;
		*ret_old = one;
		*ret_new = other;
	}
	for (unsigned i = 0; i < new->count; i++) {
		if (members_find(old, new->member[i].id) != NULL)
			continue;
		differences++;
		*ret_old = NULL;
		*ret_new = &new->member[i];
	}
	return differences == 1;
}

/* Returns whether a new voter has not yet received the entry that makes it a voter. Until then it
 * does not stand for election, so another change waits. A change of this voter itself is allowed,
 * because it may be dead. */
static bool is_new_voter_waiting(const struct core *core, uint64_t changed)
{
	uint64_t index, earlier_index;
	const struct members *members = core_members_at(core, UINT64_MAX, &index);
	const struct members *earlier =
		index != 0 ? core_members_at(core, index - 1, &earlier_index) : NULL;

	if (members == NULL || earlier == NULL)
		return false;
	for (unsigned i = 0; i < members->count; i++) {
		const struct member *one = &members->member[i];
		const struct member *before = members_find(earlier, one->id);

		if (one->is_voter && (before == NULL || !before->is_voter) && one->id != changed &&
		    one->id != core->raft.id && core_match(core, one->id) < index)
			return true;
	}
	return false;
}

static bool is_changing(const struct core *core)
{
	return core->raft.configuration_uncommitted_index != 0 ||
	       core->raft.leader_state.promotee_id != 0 || core_is_transferring(core);
}

static void append_list(struct core *core, const struct members *members)
{
	struct raft_configuration conf = core_configuration(members);
	struct raft_entry entry = { .term = core->raft.current_term, .type = RAFT_CHANGE };
	struct raft_event event = { .type = RAFT_SUBMIT };
	bool is_taken;

	core_must(raft_configuration_encode(&conf, &entry.buf));
	raft_configuration_close(&conf);
	entry.batch = entry.buf.base;
	event.submit.entries = &entry;
	event.submit.n = 1;
	core->list_head = (struct core_head){ .kind = CORE_MEMBERS, .members = members };
	core->given = &core->list_head;
	core->given_first = core->last + 1;
	is_taken = core_step(core, &event);
	assert(is_taken);
	(void)is_taken;
	raft_free(entry.batch);
}

enum core_result core_change(struct core *core, const struct members *members)
{
	uint64_t index;
	const struct members *present = core_members_at(core, UINT64_MAX, &index);
	const struct member *old, *new;

	if (core_is_asleep(core) || core_role(core) != CORE_LEADER)
		return CORE_NOT_LEADER;
	if (core_term_at(core, core_commit(core)) != core->raft.current_term)
		return CORE_NOT_READY;
	if (!members_are_valid(members) || !find_difference(present, members, &old, &new))
		return CORE_NOT_ONE_CHANGE;
	if (old != NULL && old->id == core->raft.id && (new == NULL || !new->is_voter))
		return CORE_LEADING;
	if (old != NULL && new != NULL && old->is_voter && !new->is_voter)
		return CORE_DEMOTING;
	if (is_changing(core) || is_new_voter_waiting(core, old != NULL ? old->id : 0))
		return CORE_CHANGING;
	if (new != NULL &&new->is_voter && (old == NULL || !old->is_voter) &&
	    core_catch_up_state(core, new->id) != CORE_CATCH_UP_DONE)
		return CORE_NOT_CAUGHT_UP;
	append_list(core, members);
	return CORE_OK;
}

enum core_result core_catch_up(struct core *core, uint64_t id)
{
	uint64_t index;
	const struct members *members = core_members_at(core, UINT64_MAX, &index);
	const struct member *member = members != NULL ? members_find(members, id) : NULL;
	struct raft_event event = { .type = RAFT_CATCH_UP };

	if (core_is_asleep(core) || core_role(core) != CORE_LEADER)
		return CORE_NOT_LEADER;
	if (member == NULL || member->is_voter || id == core->raft.id)
		return CORE_NO_MEMBER;
	if (is_changing(core))
		return CORE_CHANGING;
	event.catch_up.server_id = id;
	core_step(core, &event);
	/* The library checks a member when it acknowledges an entry, so give it one. */
	if (core_match(core, id) == core->last)
		core_add_barrier(core);
	return CORE_OK;
}

enum core_catch_up_state core_catch_up_state(const struct core *core, uint64_t id)
{
	int state;

	if (raft_catch_up(&core->raft, id, &state) != 0)
		return CORE_CATCH_UP_NONE;
	switch (state) {
	case RAFT_CATCH_UP_RUNNING:
		return CORE_CATCH_UP_RUNNING;
	case RAFT_CATCH_UP_ABORTED:
		return CORE_CATCH_UP_FAILED;
	case RAFT_CATCH_UP_FINISHED:
		return CORE_CATCH_UP_DONE;
	default:
		return CORE_CATCH_UP_NONE;
	}
}

/* ---- transfer of leadership ---- */

static uint64_t most_advanced_voter(const struct core *core, const struct members *members)
{
	uint64_t best = 0;

	for (unsigned i = 0; i < members->count; i++) {
		const struct member *one = &members->member[i];

		if (one->is_voter && one->id != core->raft.id &&
		    (best == 0 || core_match(core, one->id) > core_match(core, best)))
			best = one->id;
	}
	return best;
}

enum core_result core_transfer(struct core *core, uint64_t id)
{
	uint64_t index;
	const struct members *members = core_members_at(core, UINT64_MAX, &index);
	const struct member *member;

	if (core_is_asleep(core) || core_role(core) != CORE_LEADER)
		return CORE_NOT_LEADER;
	if (core_is_transferring(core))
		return CORE_CHANGING;
	if (id == 0)
		id = most_advanced_voter(core, members);
	member = members_find(members, id);
	if (member == NULL || !member->is_voter || id == core->raft.id)
		return CORE_NO_MEMBER;
	core->heir = id;
	core->heir_since = core->now;
	core_hand_over(core);
	return CORE_OK;
}

/* The library tells the heir to stand when it acknowledges any entry, and does not repeat it. An
 * heir that lacks entries ignores it, so wait for the last one. */
void core_hand_over(struct core *core)
{
	struct raft_event event = { .type = RAFT_TRANSFER };

	if (core->heir == 0)
		return;
	if (core_role(core) != CORE_LEADER || core->now - core->heir_since >= core->election_ms) {
		core->heir = 0;
		return;
	}
	if (core_match(core, core->heir) != core->last)
		return;
	event.transfer.server_id = core->heir;
	core->heir = 0;
	core_step(core, &event);
}
