/*
 * Internals of the core, which adapts libraft.
 *
 * Only core_step() calls raft_step(). It copies the whole update to the queue of actions at once,
 * so the next event may come while actions wait.
 *
 * The core works around these defects of libraft 0.22.1. Each has a test in
 * tests/unit/test_replication_rules.c or test_replication_core.c:
 *
 * - The library notes a change of members at the index of the first entry of its message. It also
 *   ignores that a change is committed if the log has a later one. See receive_entries().
 * - The only voter becomes leader without a new term, while another node may lead in the term. See
 *   core_stand_alone().
 * - A refused trial vote does not tell the term, so two nodes may refuse each other for ever. See
 *   send_vote_result().
 * - The result of a vote makes a node that is not a candidate read bytes of another state. See
 *   receive_vote_result().
 * - A refusal of entries that arrives late makes a leader count wrongly what a member has. See
 *   receive_entries_result().
 * - A follower that cannot stand for election never forgets a silent leader, and refuses to vote
 *   for others. See forget_leader().
 * - A node does not vote if its latest list, which may not be committed, does not make it a voter.
 *   See vote_as_voter().
 * - A leader that transfers leadership does so with the first acknowledgement, which may not be
 *   the last. See core_hand_over().
 * - A snapshot that is being installed blocks the library, and cannot be given up. So the library
 *   does not hear of it: the core starts the library again with each installed snapshot. See
 *   core_base.c.
 */
#ifndef REPLICATION_CORE_INT_H
#define REPLICATION_CORE_INT_H

#include <raft.h>

#include "replication/core.h"

_Static_assert(RAFT_VERSION_NUMBER == 2201, "other releases of libraft free memory by other rules");

/* Election timeouts between two offers of a snapshot to a member. The member may be fetching one,
 * so this only says how long a lost offer, or one that has been overtaken by a newer snapshot,
 * delays it. */
#define CORE_OFFER_AGAIN 2

extern FILE *const raft_glue_stderr __attribute__((visibility("hidden")));
extern const char *const raft_glue_program __attribute__((visibility("hidden")));

/* An action, and the memory that its pointers refer to. */
struct core_queued {
	struct core_action action;
	struct core_head *heads;
	struct members *members; /* of the one head of kind CORE_MEMBERS */
	struct core_base *base;
};

/* An entry of kind CORE_MEMBERS in the log. */
struct core_list {
	uint64_t index;
	struct members *members;
};

/* The last offer of a snapshot to a member. */
struct core_offered {
	uint64_t to, index;
	raft_time at;
};

struct core {
	struct raft raft;
	struct raft_update update;
	uint64_t seed;
	unsigned election_ms, heartbeat_ms, catch_up_ms, inflight_entries;
	raft_time now, ticked;
	bool is_started;
	bool is_broken;
	bool is_deaf; /* between core_base_accept() and core_base_installed() */
	bool may_stand;

	/* The state as of the last actions. */
	uint64_t told_term, told_vote;
	enum core_role told_role;
	uint64_t told_role_term, told_leader;
	uint64_t told_commit;
	unsigned cuts; /* queued actions of kind CORE_CUT */

	/* Facts of the log that the library does not keep. */
	struct core_base base; /* the snapshot; index 0: none */
	uint64_t first, last;
	struct core_list *lists; /* in ascending order of indexes, all above the base */
	size_t list_count, list_cap;

	/* Entries from core_load(), until the start. */
	struct raft_entry *loaded;
	size_t loaded_count, loaded_cap;

	/* The heads of entries of the current event. */
	const struct core_head *given;
	uint64_t given_first;
	struct core_head list_head; /* given by core_change() */
	/* The current message has an old term: the library leaves a part of the reply undefined. */
	bool is_answer_short;
	bool has_taken;	      /* the library took entries of the current message */
	uint64_t kept_leader; /* while the library starts again */

	/* The member that leads next, as soon as it has all entries. */
	uint64_t heir;
	raft_time heir_since;

	struct core_base offer; /* of the last CORE_INSTALL; index 0: nothing is being fetched */
	struct core_offered offered[MEMBERS_MAX];

	struct core_queued *queue;
	size_t queue_first, queue_count, queue_cap;
	struct core_queued taken; /* by the last core_next() */
};

/* ---- core_actions.c ---- */

/* Give an event to the library, and queue the actions that follow. Returns false on an error. */
bool core_step(struct core *core, struct raft_event *event);
/* Queue CORE_STORE_VOTE and CORE_ROLE if term, vote, role or leader have changed. */
void core_tell_state(struct core *core);
struct core_queued *core_queue(struct core *core, enum core_action_kind kind);
void core_drop_actions(struct core *core);
/* Tell the library that lists of members in committed entries after `from` are committed. */
void core_settle_lists(struct core *core, uint64_t from);
void core_send(struct core *core, const struct raft_message *message);
/* End the process if a call of the library has failed: only memory can be missing. */
void core_must(int error);
/* Append a barrier. */
void core_add_barrier(struct core *core);

/* ---- core.c ---- */

/* Returns whether the core ignores events: it is not started, broken, or deaf. */
bool core_is_asleep(const struct core *core);
/* Start the library with the snapshot and the entries of `loaded`. */
void core_begin(struct core *core, uint64_t term, uint64_t vote);
void core_end(struct core *core);
/* Take the next term and vote for itself if this node is the only voter. Called before the
 * library makes it leader. */
void core_stand_alone(struct core *core);
bool core_is_only_voter(const struct core *core);
void core_add_list(struct core *core, uint64_t index, const struct members *members);

/* ---- core_change.c ---- */

/* Returns the list as of `index`, and the index of its entry. NULL if there is none. */
const struct members *core_members_at(const struct core *core, uint64_t index, uint64_t *ret_index);
/* Transfer leadership if the heir has all entries. Give up after an election timeout. */
void core_hand_over(struct core *core);
/* Returns a list for the library. The library frees it. */
struct raft_configuration core_configuration(const struct members *members);

#endif
