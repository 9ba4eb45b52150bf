#include "replication/core_int.h"

#include <assert.h>
#include <string.h>

#include "util/mem.h"
#include "util/minmax.h"

/* ---- messages that no correct node sends ---- */

static bool are_plausible_entries(const struct core_message *m)
{
	const struct core_head *heads = m->entries.heads;
	uint64_t term = m->entries.previous_term;

	if ((m->entries.previous_index == 0) != (term == 0) || term > m->term)
		return false;
	if (m->entries.count != 0 && heads == NULL)
		return false;
	for (uint32_t i = 0; i < m->entries.count; i++) {
		if (heads[i].term < term || heads[i].term == 0 || heads[i].term > m->term)
			return false;
		if ((heads[i].kind == CORE_MEMBERS) != (heads[i].members != NULL))
			return false;
		if (heads[i].members != NULL && !members_are_valid(heads[i].members))
			return false;
		term = heads[i].term;
	}
	return m->entries.previous_index <= INT64_MAX;
}

static bool is_plausible(const struct core *core, uint64_t from, const struct core_message *m)
{
	if (from == 0 || from == core->raft.id || m->term == 0 || m->term > INT64_MAX)
		return false;
	switch (m->kind) {
	case CORE_VOTE:
		return (m->vote.last_index == 0) == (m->vote.last_term == 0) &&
		       m->vote.last_term <= m->term;
	case CORE_VOTE_RESULT:
		return true;
	case CORE_ENTRIES:
		/* A term has one leader, which may be this node. */
		return are_plausible_entries(m) &&
		       (m->term != core->raft.current_term || core_role(core) != CORE_LEADER);
	case CORE_ENTRIES_RESULT:
		return m->entries_result.rejected == 0 ||
		       m->entries_result.last_index < m->entries_result.rejected;
	case CORE_BASE_OFFER:
		return m->offer != NULL && m->offer->index != 0 && m->offer->index <= INT64_MAX &&
		       m->offer->term != 0 && m->offer->term <= m->term &&
		       m->offer->members_index != 0 && m->offer->members_index <= m->offer->index &&
		       members_are_valid(&m->offer->members) &&
		       (m->term != core->raft.current_term || core_role(core) != CORE_LEADER);
	case CORE_TIMEOUT_NOW:
		return m->timeout_now.last_index != 0 && m->timeout_now.last_term != 0;
	}
	return false;
}

/* ---- votes ---- */

static void give(struct core *core, uint64_t from, struct raft_message *message)
{
	struct raft_event event = { .type = RAFT_RECEIVE };
	static const char nowhere[] = "";

	message->server_id = from;
	message->server_address = nowhere; /* core_send() finds addresses */
	event.receive.message = message;
	core_step(core, &event);
}

/* Vote even if the latest list of this node does not make it a voter. The candidate's list counts:
 * it may have an entry that this node lacks, or lack one that is not committed. The library denies
 * such votes, so it sees a list in which this node is a voter. */
static void vote_as_voter(struct core *core, uint64_t from, struct raft_message *message)
{
	struct raft *r = &core->raft;
	struct raft_configuration list = r->configuration;
	struct raft_server self = { .id = r->id, .address = r->address, .role = RAFT_VOTER };
	unsigned i = 0;

	while (i < list.n && (list.servers[i].id != r->id || list.servers[i].role != RAFT_VOTER))
		i++;
	if (i == list.n && r->state == RAFT_FOLLOWER) {
		r->configuration.servers = &self;
		r->configuration.n = 1;
		give(core, from, message);
		r->configuration = list;
	} else {
		give(core, from, message);
	}
}

static void receive_vote(struct core *core, uint64_t from, const struct core_message *m)
{
	struct raft_message message = { .type = RAFT_REQUEST_VOTE };

	message.request_vote.version = 2;
	message.request_vote.term = m->term;
	message.request_vote.candidate_id = from;
	message.request_vote.last_log_index = m->vote.last_index;
	message.request_vote.last_log_term = m->vote.last_term;
	message.request_vote.disrupt_leader = m->vote.is_forced;
	message.request_vote.pre_vote = m->vote.is_trial;
	vote_as_voter(core, from, &message);
}

/* The library reads whether this node's vote is a trial before it checks that this node is a
 * candidate. In other states these bytes mean something else, and it could adopt the term of a
 * trial vote. */
static void receive_vote_result(struct core *core, uint64_t from, const struct core_message *m)
{
	struct raft_message message = { .type = RAFT_REQUEST_VOTE_RESULT };
	const struct raft *r = &core->raft;

	if (r->state != RAFT_CANDIDATE || !core->may_stand)
		return;
	/* The library takes for granted that a vote has the term of the request. */
	if (m->vote_result.is_granted && m->term > r->current_term + m->vote_result.is_trial)
		return;
	message.request_vote_result.version = 2;
	message.request_vote_result.term = m->term;
	message.request_vote_result.vote_granted = m->vote_result.is_granted;
	message.request_vote_result.pre_vote = m->vote_result.is_trial;
	give(core, from, &message);
}

/* The only voter becomes leader without votes, but in a new term: see core_stand_alone(). */
static void receive_timeout_now(struct core *core, uint64_t from, const struct core_message *m)
{
	struct raft_message message = { .type = RAFT_TIMEOUT_NOW };

	if (!core->may_stand || core_is_only_voter(core))
		return;
	message.timeout_now.term = m->term;
	message.timeout_now.last_log_index = m->timeout_now.last_index;
	message.timeout_now.last_log_term = m->timeout_now.last_term;
	give(core, from, &message);
}

/* ---- entries ---- */

/* A part of the entries of a message. At most its first entry is of kind CORE_MEMBERS. */
struct part {
	uint64_t previous_index, previous_term;
	const struct core_head *heads;
	uint32_t count;
};

/* Returns the bytes of all entries of a part, which the library may free. */
static struct raft_buffer bytes_of(const struct part *part)
{
	struct raft_buffer bytes = { .len = 8 };
	struct raft_configuration conf;

	if (part->heads[0].kind == CORE_MEMBERS) {
		conf = core_configuration(part->heads[0].members);
		core_must(raft_configuration_encode(&conf, &bytes));
		raft_configuration_close(&conf);
		return bytes;
	}
	bytes.base = raft_calloc(1, bytes.len);
	if (bytes.base == NULL)
		core_must(RAFT_NOMEM);
	return bytes;
}

static enum raft_entry_type type_of(enum core_kind kind)
{
	switch (kind) {
	case CORE_BARRIER:
		return RAFT_BARRIER;
	case CORE_MEMBERS:
		return RAFT_CHANGE;
	default:
		return RAFT_COMMAND;
	}
}

/* Tell the library that a change of members is committed when a later one arrives. A leader makes
 * no change before the last one is committed, but a new leader may not know that yet. The library
 * can undo only one change. */
static void settle_earlier_change(struct core *core, uint64_t previous_index)
{
	uint64_t index = core->raft.configuration_uncommitted_index;
	struct raft_event event = { .type = RAFT_CONFIGURATION };

	if (index == 0 || index > previous_index)
		return;
	for (size_t i = 0; i < core->list_count; i++) {
		if (core->lists[i].index != index)
			continue;
		event.configuration.index = index;
		event.configuration.conf = core_configuration(core->lists[i].members);
		core_step(core, &event);
		return;
	}
}

static void give_part(struct core *core, uint64_t from, const struct core_message *m,
		      const struct part *part)
{
	struct raft_message message = { .type = RAFT_APPEND_ENTRIES };
	struct raft_buffer bytes = { 0 };
	struct raft_entry *entries = NULL;

	message.append_entries.term = m->term;
	message.append_entries.prev_log_index = part->previous_index;
	message.append_entries.prev_log_term = part->previous_term;
	message.append_entries.leader_commit = m->entries.commit;
	if (part->count != 0) {
		bytes = bytes_of(part);
		entries = mem_zalloc(part->count * sizeof *entries);
		for (uint32_t i = 0; i < part->count; i++) {
			entries[i].term = part->heads[i].term;
			entries[i].type = type_of(part->heads[i].kind);
			entries[i].buf = bytes;
			entries[i].batch = bytes.base;
		}
		message.append_entries.entries = entries;
		message.append_entries.n_entries = part->count;
		core->given = part->heads;
		core->given_first = part->previous_index + 1;
	}
	core->has_taken = false;
	give(core, from, &message);
	/* If the library takes no entry, it has freed the bytes. */
	if (core->has_taken && part->count != 0)
		raft_free(bytes.base);
	free(entries);
}

/* Skip entries that the snapshot covers: they are committed, so they are equal. The library would
 * refuse entries before the first that this node still has. */
static void skip_base(const struct core *core, struct part *part)
{
	uint64_t skipped = core->base.index - part->previous_index;
	bool is_there = part->previous_index == 0 ? core->first == 1
						  : core_term_at(core, part->previous_index) != 0;

	if (part->previous_index >= core->base.index || is_there)
		return;
	if (skipped > part->count)
		skipped = part->count;
	part->heads += skipped;
	part->count -= (uint32_t)skipped;
	part->previous_index = core->base.index;
	part->previous_term = core->base.term;
}

static void receive_entries(struct core *core, uint64_t from, const struct core_message *m)
{
	struct part rest = { m->entries.previous_index, m->entries.previous_term, m->entries.heads,
			     m->entries.count };

	if (m->term < core->raft.current_term) {
		rest.count = 0;
		core->is_answer_short = true;
		give_part(core, from, m, &rest);
		core->is_answer_short = false;
		return;
	}
	skip_base(core, &rest);
	for (;;) {
		struct part part = rest;
		bool has_previous = part.previous_index == 0 ||
				    core_term_at(core, part.previous_index) == part.previous_term;

		if (part.count > 1)
			for (part.count = 1; part.count < rest.count; part.count++)
				if (rest.heads[part.count].kind == CORE_MEMBERS)
					break;
		if (has_previous && part.count != 0 && part.heads[0].kind == CORE_MEMBERS)
			settle_earlier_change(core, part.previous_index);
		give_part(core, from, m, &part);
		rest.count -= part.count;
		if (rest.count == 0 || !has_previous || core->is_broken)
			break;
		rest.previous_index += part.count;
		rest.previous_term = part.heads[part.count - 1].term;
		rest.heads += part.count;
	}
}

/* Correct a refusal that arrives after an acknowledgement, because a member keeps what it has
 * acknowledged. The library relies on this order, and otherwise counts wrongly what a member has.
 */
static void receive_entries_result(struct core *core, uint64_t from, const struct core_message *m)
{
	struct raft_message message = { .type = RAFT_APPEND_ENTRIES_RESULT };
	uint64_t rejected = m->entries_result.rejected;
	uint64_t last_index = m->entries_result.last_index;
	uint64_t match = core_match(core, from);

	if (rejected != 0 && m->term == core->raft.current_term) {
		if (rejected <= match)
			return;
		last_index = max_u64(last_index, match);
	}
	message.append_entries_result.version = 2;
	message.append_entries_result.term = m->term;
	message.append_entries_result.rejected = rejected;
	message.append_entries_result.last_log_index = last_index;
	give(core, from, &message);
}

/* ---- snapshots ---- */

/* The library gets a heartbeat after the last entry of the snapshot. A node that has this entry
 * acknowledges it. Otherwise it fetches the snapshot. */
static void receive_offer(struct core *core, uint64_t from, const struct core_message *m)
{
	struct core_message heartbeat = { .kind = CORE_ENTRIES, .term = m->term };
	const struct core_base *base = m->offer;
	struct core_queued *queued;

	heartbeat.entries.previous_index = base->index;
	heartbeat.entries.previous_term = base->term;
	receive_entries(core, from, &heartbeat);
	if (core->is_broken || core->raft.current_term != m->term || core_leader(core) != from)
		return;
	if (core->offer.index != 0 || base->index <= core_commit(core) ||
	    core_term_at(core, base->index) == base->term)
		return;
	core->offer = *base;
	queued = core_queue(core, CORE_INSTALL);
	queued->base = mem_alloc(sizeof *queued->base);
	*queued->base = *base;
	queued->action.install.from = from;
	queued->action.install.base = queued->base;
}

bool core_receive(struct core *core, uint64_t from, const struct core_message *message)
{
	if (!is_plausible(core, from, message))
		return false;
	if (core_is_asleep(core))
		return true;
	switch (message->kind) {
	case CORE_VOTE:
		receive_vote(core, from, message);
		break;
	case CORE_VOTE_RESULT:
		receive_vote_result(core, from, message);
		break;
	case CORE_ENTRIES:
		receive_entries(core, from, message);
		break;
	case CORE_ENTRIES_RESULT:
		receive_entries_result(core, from, message);
		break;
	case CORE_BASE_OFFER:
		receive_offer(core, from, message);
		break;
	case CORE_TIMEOUT_NOW:
		receive_timeout_now(core, from, message);
		break;
	}
	core_hand_over(core);
	return true;
}
