#include "replication/core_int.h"

#include <assert.h>
#include <string.h>

#include "util/mem.h"

void core_must(int error)
{
	if (error == 0)
		return;
	assert(error == RAFT_NOMEM);
	abort();
}

/* ---- the queue ---- */

struct core_queued *core_queue(struct core *core, enum core_action_kind kind)
{
	struct core_queued *queued;

	if (core->queue_first != 0 && core->queue_first == core->queue_count) {
		core->queue_first = 0;
		core->queue_count = 0;
	}
	core->queue =
		mem_grow(core->queue, &core->queue_cap, core->queue_count + 1, sizeof *core->queue);
	queued = &core->queue[core->queue_count++];
	memset(queued, 0, sizeof *queued);
	queued->action.kind = kind;
	return queued;
}

static void free_queued(struct core_queued *queued)
{
	free(queued->heads);
	free(queued->members);
	free(queued->base);
	memset(queued, 0, sizeof *queued);
}

bool core_next(struct core *core, struct core_action *ret_action)
{
	free_queued(&core->taken);
	if (core->queue_first == core->queue_count)
		return false;
	core->taken = core->queue[core->queue_first++];
	if (core->taken.action.kind == CORE_CUT)
		core->cuts--;
	*ret_action = core->taken.action;
	return true;
}

void core_drop_actions(struct core *core)
{
	struct core_action action;

	while (core_next(core, &action))
		continue;
	free(core->queue);
	core->queue = NULL;
	core->queue_first = 0;
	core->queue_count = 0;
	core->queue_cap = 0;
}

/* ---- what follows from an update ---- */

void core_tell_state(struct core *core)
{
	const struct raft *r = &core->raft;
	enum core_role role = core_role(core);
	uint64_t leader = core_leader(core);
	struct core_action *action;

	if (r->current_term != core->told_term || r->voted_for != core->told_vote) {
		core->told_term = r->current_term;
		core->told_vote = r->voted_for;
		action = &core_queue(core, CORE_STORE_VOTE)->action;
		action->store_vote.term = r->current_term;
		action->store_vote.vote = r->voted_for;
	}
	if (role != core->told_role || r->current_term != core->told_role_term ||
	    leader != core->told_leader) {
		core->told_role = role;
		core->told_role_term = r->current_term;
		core->told_leader = leader;
		action = &core_queue(core, CORE_ROLE)->action;
		action->role.role = role;
		action->role.term = r->current_term;
		action->role.leader = leader;
	}
}

static void tell_cut(struct core *core, uint64_t index)
{
	core_queue(core, CORE_CUT)->action.cut.index = index;
	core->cuts++;
	core->last = index - 1;
	while (core->list_count != 0 && core->lists[core->list_count - 1].index >= index)
		free(core->lists[--core->list_count].members);
}

/* Returns the head of a new entry, which the caller has given or the library has made. */
static struct core_head head_of(const struct core *core, uint64_t index,
				const struct raft_entry *entry)
{
	struct core_head head = { .kind = CORE_BARRIER };

	if (core->given != NULL && index >= core->given_first)
		head = core->given[index - core->given_first];
	head.term = entry->term;
	return head;
}

static void tell_entries(struct core *core)
{
	struct raft_entry *barrier = &core->raft.barrier;
	uint64_t first = core->update.entries.index;
	unsigned count = core->update.entries.n;
	struct core_queued *queued;

	if (first <= core->last)
		tell_cut(core, first);
	assert(first == core->last + 1);
	queued = core_queue(core, CORE_APPEND);
	queued->heads = mem_alloc(count * sizeof *queued->heads);
	queued->action.append.first = first;
	queued->action.append.count = count;
	queued->action.append.heads = queued->heads;
	for (unsigned i = 0; i < count; i++) {
		struct core_head *head = &queued->heads[i];

		*head = head_of(core, first + i, &core->update.entries.batch[i]);
		if (head->kind == CORE_MEMBERS) {
			assert(queued->members == NULL);
			queued->members = mem_alloc(sizeof *queued->members);
			*queued->members = *head->members;
			head->members = queued->members;
			core_add_list(core, first + i, head->members);
		} else {
			head->members = NULL;
		}
	}
	core->last = first + count - 1;
	core->has_taken = true;
	if (core->update.entries.batch == barrier)
		raft_free(barrier->batch);
}

/* ---- messages ---- */

static void send_vote_result(const struct core *core, const struct raft_request_vote_result *result,
			     struct core_message *m)
{
	m->kind = CORE_VOTE_RESULT;
	m->term = result->term;
	m->vote_result.is_granted = result->vote_granted;
	m->vote_result.is_trial = result->pre_vote;
	/* The library repeats the term of the request, which tells the candidate nothing. If its
	 * log is longer but its term lower than that of others, nobody could win. */
	if (result->pre_vote && !result->vote_granted && m->term < core->raft.current_term)
		m->term = core->raft.current_term;
}

/* Returns up to which index the leader may assume that the logs are equal. After a refusal the
 * library goes back one entry for each message, which takes seconds for a long tail. All that is
 * committed is equal, so the leader begins there. */
static uint64_t last_index_to_tell(const struct core *core,
				   const struct raft_append_entries_result *result)
{
	if (result->rejected != 0 && result->rejected <= core->last &&
	    core->told_commit < result->rejected)
		return core->told_commit;
	return result->last_log_index;
}

/* Returns false if the member got this offer a short time ago. The library repeats it with each
 * heartbeat that the member refuses. */
static bool may_offer(struct core *core, uint64_t to)
{
	struct core_offered *slot = &core->offered[0];

	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		if (core->offered[i].to == to) {
			slot = &core->offered[i];
			break;
		}
		if (core->offered[i].at < slot->at)
			slot = &core->offered[i];
	}
	if (slot->to == to && slot->index == core->base.index &&
	    core->now - slot->at < CORE_OFFER_AGAIN * core->election_ms)
		return false;
	slot->to = to;
	slot->index = core->base.index;
	slot->at = core->now;
	return true;
}

static void fill_message(struct core *core, const struct raft_message *from,
			 struct core_queued *queued)
{
	struct core_message *m = &queued->action.send.message;

	switch (from->type) {
	case RAFT_REQUEST_VOTE:
		m->kind = CORE_VOTE;
		m->term = from->request_vote.term;
		m->vote.last_index = from->request_vote.last_log_index;
		m->vote.last_term = from->request_vote.last_log_term;
		m->vote.is_trial = from->request_vote.pre_vote;
		m->vote.is_forced = from->request_vote.disrupt_leader;
		break;
	case RAFT_REQUEST_VOTE_RESULT:
		send_vote_result(core, &from->request_vote_result, m);
		break;
	case RAFT_APPEND_ENTRIES:
		m->kind = CORE_ENTRIES;
		m->term = from->append_entries.term;
		m->entries.previous_index = from->append_entries.prev_log_index;
		m->entries.previous_term = from->append_entries.prev_log_term;
		m->entries.commit = from->append_entries.leader_commit;
		m->entries.count = from->append_entries.n_entries;
		break;
	case RAFT_APPEND_ENTRIES_RESULT:
		m->kind = CORE_ENTRIES_RESULT;
		m->term = from->append_entries_result.term;
		m->entries_result.rejected = from->append_entries_result.rejected;
		if (!core->is_answer_short)
			m->entries_result.last_index =
				last_index_to_tell(core, &from->append_entries_result);
		break;
	case RAFT_INSTALL_SNAPSHOT:
		queued->base = mem_alloc(sizeof *queued->base);
		*queued->base = core->base;
		m->kind = CORE_BASE_OFFER;
		m->term = from->install_snapshot.term;
		m->offer = queued->base;
		break;
	case RAFT_TIMEOUT_NOW:
		m->kind = CORE_TIMEOUT_NOW;
		m->term = from->timeout_now.term;
		m->timeout_now.last_index = from->timeout_now.last_log_index;
		m->timeout_now.last_term = from->timeout_now.last_log_term;
		break;
	}
}

void core_send(struct core *core, const struct raft_message *from)
{
	struct core_queued *queued;
	uint64_t index;
	const struct members *members;
	const struct member *to;

	if (from->type == RAFT_INSTALL_SNAPSHOT && !may_offer(core, from->server_id))
		return;
	queued = core_queue(core, CORE_SEND);
	queued->action.send.to = from->server_id;
	members = core_members_at(core, UINT64_MAX, &index);
	to = members != NULL ? members_find(members, from->server_id) : NULL;
	if (to != NULL) {
		queued->members = mem_alloc(sizeof *queued->members);
		*queued->members = *members;
		queued->action.send.address = members_find(queued->members, to->id)->address;
	}
	fill_message(core, from, queued);
}

/* ---- commits ---- */

void core_settle_lists(struct core *core, uint64_t from)
{
	for (size_t i = 0; i < core->list_count && core->lists[i].index <= core->told_commit; i++) {
		struct raft_event event = { .type = RAFT_CONFIGURATION };

		if (core->lists[i].index <= from)
			continue;
		event.configuration.index = core->lists[i].index;
		event.configuration.conf = core_configuration(core->lists[i].members);
		core_step(core, &event);
	}
}

static void tell_commit(struct core *core)
{
	uint64_t before = core->told_commit;
	uint64_t commit = raft_commit_index(&core->raft);

	if (commit <= before)
		return;
	core->told_commit = commit;
	core_queue(core, CORE_COMMIT)->action.commit.index = commit;
	core_settle_lists(core, before);
}

static void break_down(struct core *core, int error)
{
	core->is_broken = true;
	core_queue(core, CORE_BROKEN)->action.broken.why = raft_strerror(error);
}

/* Let a new leader append a barrier. With it, entries of earlier terms become committed. The
 * library does so only if it knows of such entries. */
static void begin_term(struct core *core)
{
	if (core->raft.state == RAFT_LEADER &&
	    core_term_at(core, core->last) != core->raft.current_term)
		core_add_barrier(core);
}

void core_add_barrier(struct core *core)
{
	static const struct core_head barrier = { .kind = CORE_BARRIER };

	core_submit(core, &barrier, 1);
}

/* Tell the library the leader that was known before it started again. */
static void keep_leader(struct core *core)
{
	struct raft *r = &core->raft;

	if (core->kept_leader != 0 && r->state == RAFT_FOLLOWER) {
		r->follower_state.current_leader.id = core->kept_leader;
		r->follower_state.current_leader.address = raft_calloc(1, 1);
		if (r->follower_state.current_leader.address == NULL)
			core_must(RAFT_NOMEM);
	}
	core->kept_leader = 0;
}

static void check_state(const struct core *core)
{
	assert(raft_last_index((struct raft *)(uintptr_t)&core->raft) == core->last);
	assert(core->raft.last_stored <= core->last);
	assert(core->told_commit <= core->last);
	assert(core->first <= core->last + 1 && core->base.index <= core->last);
}

bool core_step(struct core *core, struct raft_event *event)
{
	struct raft_update *update = &core->update;
	int error;

	event->time = core->now;
	error = raft_step(&core->raft, event, update);
	if (error == RAFT_NOMEM)
		core_must(error);
	if (error != 0 && (event->type == RAFT_SUBMIT || event->type == RAFT_TRANSFER)) {
		core->given = NULL;
		return false;
	}
	keep_leader(core);
	/* At the start, the library knows only of entries in the snapshot that they are committed.
	 */
	if (core->raft.commit_index < core->told_commit)
		core->raft.commit_index = core->told_commit;
	core_tell_state(core);
	if (error != 0) {
		core->given = NULL;
		break_down(core, error);
		return false;
	}
	if (update->flags & (RAFT_UPDATE_ENTRIES))
		tell_entries(core);
	core->given = NULL;
	if (update->flags & (RAFT_UPDATE_MESSAGES))
		for (unsigned i = 0; i < update->messages.n; i++)
			core_send(core, &update->messages.batch[i]);
	tell_commit(core);
	check_state(core);
	begin_term(core);
	return true;
}
