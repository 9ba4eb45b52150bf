#include "replication/core_int.h"

#include <assert.h>
#include <string.h>

#include "util/mem.h"

/* The default of core_options.inflight_entries. */
#define INFLIGHT_ENTRIES 4096

/* Stands for the bytes of entries, which the owner has. The library does not read them. */
static const char bytes_elsewhere[8];
#define NO_BYTES ((void *)(uintptr_t)bytes_elsewhere)

struct core *core_create(const struct core_options *options, const struct core_start *start)
{
	struct core *core = mem_zalloc(sizeof *core);

	assert(options->id >= 1 && options->id <= INT64_MAX);
	core->seed = options->seed;
	core->raft.id = options->id;
	core->election_ms = options->election_ms;
	core->heartbeat_ms = options->heartbeat_ms;
	core->catch_up_ms = options->catch_up_ms;
	core->inflight_entries =
		options->inflight_entries != 0 ? options->inflight_entries : INFLIGHT_ENTRIES;
	core->may_stand = true;
	core->told_term = start->term;
	core->told_vote = start->vote;
	if (start->base != NULL && start->base->index != 0) {
		core->base = *start->base;
		core->told_commit = core->base.index;
	}
	if (core->told_commit < start->commit)
		core->told_commit = start->commit;
	core->first = start->first_index != 0 ? start->first_index : core->base.index + 1;
	core->last = core->first - 1;
	return core;
}

void core_load(struct core *core, const struct core_head *head)
{
	struct raft_entry *entry;

	assert(!core->is_started && head->term != 0);
	core->last++;
	if (head->kind == CORE_MEMBERS && core->last > core->base.members_index)
		core_add_list(core, core->last, head->members);
	core->loaded = mem_grow(core->loaded, &core->loaded_cap, core->loaded_count + 1,
				sizeof *core->loaded);
	entry = &core->loaded[core->loaded_count++];
	memset(entry, 0, sizeof *entry);
	entry->term = head->term;
	entry->type = RAFT_COMMAND;
	if (head->kind == CORE_MEMBERS)
		entry->type = RAFT_CHANGE;
	entry->buf.base = NO_BYTES;
	entry->buf.len = sizeof bytes_elsewhere;
}

void core_start(struct core *core, int64_t now_ms)
{
	assert(!core->is_started && core->last >= core->base.index &&
	       core->last >= core->told_commit);
	core_set_time(core, now_ms);
	core->is_started = true;
	core_begin(core, core->told_term, core->told_vote);
	free(core->loaded);
	core->loaded = NULL;
	core->loaded_count = 0;
	core->loaded_cap = 0;
}

void core_free(struct core *core)
{
	if (core == NULL)
		return;
	if (core->is_started)
		core_end(core);
	core_drop_actions(core);
	for (size_t i = 0; i < core->list_count; i++)
		free(core->lists[i].members);
	free(core->lists);
	free(core->loaded);
	free(core);
}

/* Give the library the bytes of entries of members, which it reads while it starts. */
static void encode_loaded(struct core *core)
{
	for (size_t i = 0; i < core->list_count; i++) {
		struct core_list *list = &core->lists[i];
		struct raft_configuration conf;
		size_t at = list->index - core->first;

		if (list->index < core->first || at >= core->loaded_count)
			continue;
		conf = core_configuration(list->members);
		core_must(raft_configuration_encode(&conf, &core->loaded[at].buf));
		raft_configuration_close(&conf);
	}
}

static void free_encoded(struct core *core)
{
	for (size_t i = 0; i < core->loaded_count; i++)
		if (core->loaded[i].buf.base != NO_BYTES)
			raft_free(core->loaded[i].buf.base);
}

void core_begin(struct core *core, uint64_t term, uint64_t vote)
{
	struct raft *r = &core->raft;
	struct raft_snapshot_metadata base = { 0 };
	struct raft_event event = { .type = RAFT_START };
	uint64_t id = r->id;
	char address[24];

	memset(r, 0, sizeof *r);
	snprintf(address, sizeof address, "%llu", (unsigned long long)id);
	core_must(raft_init(r, NULL, NULL, id, address));
	r->tracer = NULL;
	raft_seed(r, (unsigned)(core->seed ^ core->seed >> 32));
	raft_set_election_timeout(r, core->election_ms);
	raft_set_heartbeat_timeout(r, core->heartbeat_ms);
	raft_set_pre_vote(r, true);
	raft_set_max_inflight_entries(r, core->inflight_entries);
	raft_set_max_catch_up_round_duration(r, core->catch_up_ms);
	raft_set_install_snapshot_timeout(r, CORE_OFFER_AGAIN * core->election_ms);

	encode_loaded(core);
	event.start.term = term;
	event.start.voted_for = vote;
	if (core->base.index != 0) {
		base.index = core->base.index;
		base.term = core->base.term;
		base.configuration_index = core->base.members_index;
		base.configuration = core_configuration(&core->base.members);
		event.start.metadata = &base;
	}
	event.start.start_index = core->first;
	event.start.entries = core->loaded_count != 0 ? core->loaded : NULL;
	event.start.n_entries = (unsigned)core->loaded_count;
	/* The only voter becomes leader at once. */
	if (core_is_only_voter(core)) {
		event.start.term++;
		event.start.voted_for = id;
	}
	core_step(core, &event);
	free_encoded(core);
	core_settle_lists(core, core->base.index);
}

void core_end(struct core *core)
{
	/* Draw other timeouts after the next start. */
	core->seed = core->seed * 6364136223846793005u + core->raft.random + 1;
	raft_close(&core->raft, NULL);
}

bool core_is_only_voter(const struct core *core)
{
	uint64_t index;
	const struct members *members = core_members_at(core, UINT64_MAX, &index);
	const struct member *self = members != NULL ? members_find(members, core->raft.id) : NULL;

	return self != NULL && self->is_voter && members_voters(members) == 1;
}

void core_stand_alone(struct core *core)
{
	struct raft *r = &core->raft;

	if (core_is_only_voter(core) && r->last_stored == core->last) {
		r->current_term++;
		r->voted_for = r->id;
		r->follower_state.match = 0;
	}
}

/* ---- events ---- */

void core_set_time(struct core *core, int64_t now_ms)
{
	if (now_ms > 0 && (raft_time)now_ms > core->now)
		core->now = (raft_time)now_ms;
}

bool core_is_asleep(const struct core *core)
{
	return !core->is_started || core->is_deaf || core->is_broken;
}

/* Forget a silent leader, so that this node votes for another. The library does so only when this
 * node stands for election, which it may be unable to. */
static void forget_leader(struct core *core)
{
	struct raft *r = &core->raft;

	raft_free(r->follower_state.current_leader.address);
	r->follower_state.current_leader.address = NULL;
	r->follower_state.current_leader.id = 0;
}

void core_tick(struct core *core, int64_t now_ms)
{
	struct raft *r = &core->raft;
	struct raft_event event = { .type = RAFT_TIMEOUT };

	core_set_time(core, now_ms);
	core->ticked = core->now;
	if (core_is_asleep(core) || core->now < raft_timeout(r))
		return;
	if (r->state == RAFT_FOLLOWER)
		forget_leader(core);
	if (r->state != RAFT_LEADER && !core->may_stand) {
		r->election_timer_start = core->now;
		core_tell_state(core);
		return;
	}
	if (r->state == RAFT_FOLLOWER)
		core_stand_alone(core);
	core_step(core, &event);
	core_hand_over(core);
}

int64_t core_deadline(const struct core *core)
{
	raft_time at;

	if (core_is_asleep(core))
		return INT64_MAX;
	at = raft_timeout(&core->raft);
	return (int64_t)(at > core->ticked ? at : core->ticked + 1);
}

uint64_t core_submit(struct core *core, const struct core_head *heads, size_t count)
{
	struct raft_event event = { .type = RAFT_SUBMIT };
	struct raft_entry *entries;
	uint64_t first = core->last + 1;
	bool is_taken;

	assert(count > 0 && count <= UINT32_MAX);
	if (core_is_asleep(core) || core->raft.state != RAFT_LEADER || core_is_transferring(core))
		return 0;
	entries = mem_zalloc(count * sizeof *entries);
	for (size_t i = 0; i < count; i++) {
		assert(heads[i].kind != CORE_MEMBERS);
		entries[i].term = core->raft.current_term;
		entries[i].type = heads[i].kind == CORE_BARRIER ? RAFT_BARRIER : RAFT_COMMAND;
		entries[i].buf.base = NO_BYTES;
		entries[i].buf.len = sizeof bytes_elsewhere;
		entries[i].batch = NO_BYTES;
	}
	event.submit.entries = entries;
	event.submit.n = (unsigned)count;
	core->given = heads;
	core->given_first = first;
	is_taken = core_step(core, &event);
	free(entries);
	return is_taken ? first : 0;
}

void core_persisted(struct core *core, uint64_t index)
{
	struct raft_event event = { .type = RAFT_PERSISTED_ENTRIES };

	/* If a cut still waits in the queue, the owner reports about the log before it. The entry
	 * that follows the cut will be reported later, and covers those before it. */
	if (core_is_asleep(core) || core->cuts != 0 || index <= core->raft.last_stored)
		return;
	/* A node stands for election only if its log is on the disk. */
	assert(index <= core->last && core->raft.state != RAFT_CANDIDATE);
	event.persisted_entries.index = index;
	core_step(core, &event);
}

void core_set_may_stand(struct core *core, bool may_stand)
{
	core->may_stand = may_stand;
}

/* ---- queries ---- */

enum core_role core_role(const struct core *core)
{
	switch (core->raft.state) {
	case RAFT_CANDIDATE:
		return CORE_CANDIDATE;
	case RAFT_LEADER:
		return CORE_LEADER;
	default:
		return CORE_FOLLOWER;
	}
}

uint64_t core_term(const struct core *core)
{
	return core->is_started ? core->raft.current_term : core->told_term;
}

uint64_t core_leader(const struct core *core)
{
	switch (core->raft.state) {
	case RAFT_LEADER:
		return core->raft.id;
	case RAFT_FOLLOWER:
		return core->raft.follower_state.current_leader.id;
	default:
		return 0;
	}
}

uint64_t core_commit(const struct core *core)
{
	return core->told_commit;
}

uint64_t core_first_index(const struct core *core)
{
	return core->first;
}

uint64_t core_last_index(const struct core *core)
{
	return core->last;
}

uint64_t core_stored_index(const struct core *core)
{
	return core->raft.last_stored;
}

uint64_t core_term_at(const struct core *core, uint64_t index)
{
	const struct raft_trail *t = &core->raft.trail;

	if (index > t->offset && index <= core->last)
		for (unsigned i = t->front; i != t->back; i = (i + 1) % t->size)
			if (index <= t->records[i].index)
				return t->records[i].term;
	return index != 0 && index == core->base.index ? core->base.term : 0;
}

const struct core_base *core_base(const struct core *core)
{
	return &core->base;
}

bool core_is_transferring(const struct core *core)
{
	return core->heir != 0 || raft_transferee(&core->raft) != 0;
}

uint64_t core_match(const struct core *core, uint64_t id)
{
	raft_index match;

	return raft_match_index(&core->raft, id, &match) == 0 ? match : 0;
}
