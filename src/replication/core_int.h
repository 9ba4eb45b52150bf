/*
 * The inside of the core: how the adapter keeps what libraft leaves to its user.
 *
 * raft_step() is called by core_step() alone. It copies all of an update to the queue of actions at
 * once, so further calls are allowed while actions wait to be taken.
 *
 * Workarounds for release 0.22.1, each with a test of its own in
 * tests/unit/test_replication_rules.c:
 *
 * - A change of members must be the first entry of a message: the library notes it at the index of
 * the first one. And it forgets that an earlier change is committed when a later one is in the log.
 *   See receive_entries().
 * - The only voter becomes leader without a new term, in which another may lead. See
 * core_stand_alone().
 * - A refused trial vote does not tell the term, so two nodes may refuse each other for ever. See
 *   send_vote_result().
 * - The result of a vote that comes too late makes a follower read memory of another state. See
 *   receive_vote_result().
 * - A late refusal of entries ends a leader. See receive_entries_result().
 * - A snapshot being installed cannot be given up, and everything is void meanwhile. So the library
 *   does not learn of snapshots that come from others: it is started anew with each. See
 * core_base.c.
 */
#ifndef REPLICATION_CORE_INT_H
#define REPLICATION_CORE_INT_H

#include <raft.h>

#include "replication/core.h"

#if RAFT_VERSION_NUMBER != 2201
#error "the adapter fits libraft 0.22.1 only: other releases free memory by other rules"
#endif

extern FILE *const raft_glue_stderr __attribute__((visibility("hidden")));
extern const char *const raft_glue_program __attribute__((visibility("hidden")));

/* An action, and what its pointers point to. */
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

/* When a member was offered a snapshot. */
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

	/* What the owner has been told. */
	uint64_t told_term, told_vote;
	enum core_role told_role;
	uint64_t told_role_term, told_leader;
	uint64_t told_commit;
	unsigned cuts; /* queued actions of kind CORE_CUT */

	/* The log, as far as the library does not know it. */
	struct core_base base; /* index 0: none */
	uint64_t first, last;
	struct core_list *lists; /* in ascending order of indexes, all above the base */
	size_t list_count, list_cap;

	/* The entries that core_load() has got. */
	struct raft_entry *loaded;
	size_t loaded_count, loaded_cap;

	/* Of the event that is being handled: the heads of its entries. */
	const struct core_head *given;
	uint64_t given_first;
	/* It is a message of an older term, so the library leaves parts of its answer undefined. */
	bool is_answer_short;
	/* It is an offer of a snapshot up to this index: the member does not refuse what it does
	 * not have. */
	uint64_t unrefused;
	bool has_taken;	      /* the library has taken entries of it */
	uint64_t kept_leader; /* known before the library was started anew */

	/* Leadership is to be handed over to this member as soon as it has all entries. */
	uint64_t heir;
	raft_time heir_since;

	struct core_base offer; /* of the last CORE_INSTALL; index 0: nothing is being fetched */
	struct core_offered offered[MEMBERS_MAX];

	struct core_queued *queue;
	size_t queue_first, queue_count, queue_cap;
	struct core_queued taken; /* by the last core_next() */
};

/* ---- core_actions.c ---- */

/* Give an event to the library, and queue what follows from it. Returns false if it was refused. */
bool core_step(struct core *core, struct raft_event *event);
/* Queue CORE_STORE_VOTE and CORE_ROLE if term, vote, role or leader are others than before. */
void core_tell_state(struct core *core);
struct core_queued *core_queue(struct core *core, enum core_action_kind kind);
void core_drop_actions(struct core *core);
void core_send(struct core *core, const struct raft_message *message);
/* Ends the process if memory is used up. Other errors are impossible here. */
void core_must(int error);
/* Append a barrier. */
void core_add_barrier(struct core *core);

/* ---- core.c ---- */

/* Nothing is to be done: not started, broken, or deaf. */
bool core_is_asleep(const struct core *core);
/* Begin with the base, and the entries of `loaded`. */
void core_begin(struct core *core, uint64_t term, uint64_t vote);
void core_end(struct core *core);
/* If this node is the only voter, it takes the next term and votes for itself. To be called before
 * it becomes leader. */
void core_stand_alone(struct core *core);
bool core_is_only_voter(const struct core *core);
void core_add_list(struct core *core, uint64_t index, const struct members *members);

/* ---- core_change.c ---- */

/* The list that counts for entries up to `index`, and the index of its entry; NULL if there is
 * none. */
const struct members *core_members_at(const struct core *core, uint64_t index, uint64_t *ret_index);
/* Give up handing over if it takes too long, and hand over if the heir has all entries. */
void core_hand_over(struct core *core);
/* A list for the library, which it then owns. */
struct raft_configuration core_configuration(const struct members *members);

#endif
