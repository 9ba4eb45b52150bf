/*
 * The core of a node of a group: Raft without I/O, clock, threads and callbacks. It wraps libraft.
 *
 * Events are calls, and core_next() returns the actions that follow, in order. The bytes of entries
 * stay with the owner: the core sees a head of each. Only core_*.c knows libraft.
 *
 * The owner's part of the contract:
 *
 * - After each event, the owner takes all actions with core_next(). It performs them in order.
 * - After CORE_STORE_VOTE, the owner waits until term and vote are on the disk. Before that it
 *   performs no later action, and gives no event.
 * - The log gets CORE_CUT and CORE_APPEND before a later CORE_SEND leaves. They may reach the disk
 *   later: then the owner calls core_persisted().
 * - core_persisted() says up to which index the current log is on the disk. If a sync began before
 *   a cut, it says nothing about entries appended after the cut.
 * - The owner applies entries up to the index of CORE_COMMIT, and no others.
 * - Times are milliseconds of a steady clock. The core ignores a time that goes back.
 *
 * The log of a new group begins with a snapshot, or with an entry of kind CORE_MEMBERS at index 1
 * and term 1, equal on all first members. A node that joins a group has no log, and term 0.
 *
 * Debian builds libraft without assertions. The core refuses messages that no correct node sends,
 * and asserts the invariants that it relies on. A node with a broken log crashes; the others
 * continue.
 */
#ifndef REPLICATION_CORE_H
#define REPLICATION_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replication/members.h"
#include "replication/message.h"

struct core;

/* ---- actions ---- */

enum core_role { CORE_FOLLOWER, CORE_CANDIDATE, CORE_LEADER };

enum core_action_kind {
	CORE_STORE_VOTE, /* term and vote must be on the disk before anything that follows */
	CORE_ROLE,	 /* the role, the term or the leader has changed */
	CORE_CUT,	 /* drop the entries from `index` on. A CORE_APPEND at `index` follows; its
			  * entries may have lower terms than the dropped ones. */
	CORE_APPEND,	 /* append these entries to the log. One event may cause several. */
	CORE_SEND,
	CORE_COMMIT,  /* entries up to `index` are committed; it only rises */
	CORE_INSTALL, /* the leader offers its snapshot: fetch it, then call core_base_accept() */
	CORE_BROKEN,  /* the log contradicts the leader's: end the node. No action follows. */
};

/* Pointers are valid until the next call of any function that changes the core. */
struct core_action {
	enum core_action_kind kind;
	union {
		struct {
			uint64_t term;
			uint64_t vote; /* 0: none */
		} store_vote;
		struct {
			enum core_role role;
			uint64_t term;
			uint64_t leader; /* 0: unknown */
		} role;
		struct {
			uint64_t index;
		} cut;
		struct {
			uint64_t first;
			size_t count;
			const struct core_head *heads;
		} append;
		struct {
			uint64_t to;
			const char *address; /* NULL if the receiver is not in core_members() */
			struct core_message message;
		} send;
		struct {
			uint64_t index;
		} commit;
		struct {
			uint64_t from;
			const struct core_base *base;
		} install;
		struct {
			const char *why;
		} broken;
	};
};

/* Take the next action. Returns false if there is none. */
bool core_next(struct core *core, struct core_action *ret_action);

/* ---- life ---- */

struct core_options {
	uint64_t id;
	uint64_t seed; /* of random election timeouts; different on each node and at each start */
	/* A follower stands for election if it hears no leader for one to two times this. */
	unsigned election_ms;
	unsigned heartbeat_ms;
	unsigned catch_up_ms; /* limit of a round of core_catch_up() */
	/* Entries sent to a member that it has not acknowledged; 0: the default of 4096. */
	unsigned inflight_entries;
};

/* The state on the disk. A node that joins a group passes a zeroed struct. */
struct core_start {
	uint64_t term;
	uint64_t vote;
	const struct core_base *base; /* NULL: none */
	/* Entries up to this index were committed before the start, so CORE_COMMIT begins after it.
	 * 0: those in the snapshot. */
	uint64_t commit;
	/* The index of the first core_load(): at most base->index + 1, because the log may keep
	 * older entries for followers. 0: base->index + 1, or 1 without a snapshot. */
	uint64_t first_index;
};

/* Copies everything. Then the owner calls core_load() for each entry of the log in order, and
 * core_start(). */
struct core *core_create(const struct core_options *options, const struct core_start *start);
void core_load(struct core *core, const struct core_head *head);
/* The node starts as a follower. The only voter of a group becomes leader at once. */
void core_start(struct core *core, int64_t now_ms);
/* NULL is a no-op. */
void core_free(struct core *core);

/* ---- events ---- */

/* Set the time of the events that follow. A turn begins with this, before it gives received
 * messages: otherwise a long turn causes an election although heartbeats have arrived. */
void core_set_time(struct core *core, int64_t now_ms);
/* Run what is due: elections and heartbeats. A turn ends with this. */
void core_tick(struct core *core, int64_t now_ms);
/* Returns when core_tick() is due. INT64_MAX: never. */
int64_t core_deadline(const struct core *core);

/* Append entries, which are not of kind CORE_MEMBERS, as leader. Returns the index of the first.
 * Returns 0 if this node does not lead, or is handing over leadership. A new leader appends a
 * barrier of its term before this is possible. */
uint64_t core_submit(struct core *core, const struct core_head *heads, size_t count);

/* Returns false, and changes nothing, if no correct node sends such a message. */
bool core_receive(struct core *core, uint64_t from, const struct core_message *message);

/* The log is on the disk up to `index`. */
void core_persisted(struct core *core, uint64_t index);

/* Allow or forbid that this node stands for election, for example while its engine is rebuilt.
 * It votes and follows in either case. Allowed at the start. */
void core_set_may_stand(struct core *core, bool may_stand);

/* ---- snapshots ---- */

/* Describe a snapshot of the entries up to `index`, for its header. Returns false if `index` is not
 * committed, or below that of the current snapshot. */
bool core_base_at(const struct core *core, uint64_t index, struct core_base *ret_base);

/* A snapshot of the entries up to `index` is current, and the log begins at `first`, which is at
 * most index + 1. Ignored unless it is newer than the last one.
 *
 * While a member fetches an older snapshot, the log keeps the last entry that this one covers, and
 * all after it. Otherwise the member could not continue from there. */
void core_base_made(struct core *core, uint64_t index, uint64_t first);

/* The snapshot of CORE_INSTALL is complete and verified. Returns true if the owner must now replace
 * its log and state by it: the core ignores all events until core_base_installed(), when the
 * snapshot is current on the disk and the log is empty. Returns false if the node no longer needs
 * it, because it leads or its log has caught up. The next offer causes another CORE_INSTALL. */
bool core_base_accept(struct core *core);
void core_base_installed(struct core *core);
/* The snapshot of CORE_INSTALL could not be fetched. The next offer causes another CORE_INSTALL. */
void core_base_dropped(struct core *core);

/* ---- members ---- */

enum core_result {
	CORE_OK,
	CORE_NOT_LEADER,
	CORE_NOT_READY, /* this leader has not committed an entry of its term yet */
	/* Another change, a catch-up or a transfer is under way, or a new voter has not yet
	 * received the entry that makes it a voter. */
	CORE_CHANGING,
	CORE_NO_MEMBER, /* there is no member of this id, or none of the role that the call needs */
	/* A leader cannot remove itself: if it crashed then, nobody might be able to lead. Call
	 * core_transfer() first. */
	CORE_LEADING,
	/* A voter can be removed, but not become a learner. A removed voter does not receive the
	 * entry that removes it. A learner would, and if its log is the longest then, it neither
	 * stands for election nor votes for others. */
	CORE_DEMOTING,
	CORE_NOT_CAUGHT_UP,  /* the learner must catch up before it becomes a voter */
	CORE_NOT_ONE_CHANGE, /* the new list is invalid, or does not differ by exactly one member */
};

/* Returns a text for a line of a log or an error reply. */
const char *core_result_text(enum core_result result);

/* Propose a list that differs by one member: a new learner, a learner that becomes a voter, a
 * removed member, or another address. CORE_APPEND has the entry, and the new list applies from then
 * on. */
enum core_result core_change(struct core *core, const struct members *members);

/* Measure whether a learner catches up with the log, in rounds of at most `catch_up_ms`. It has
 * caught up when a round takes less than an election timeout. Useful when core_match() is close to
 * the last index. */
enum core_result core_catch_up(struct core *core, uint64_t id);

enum core_catch_up_state {
	CORE_CATCH_UP_NONE,
	CORE_CATCH_UP_RUNNING,
	CORE_CATCH_UP_FAILED,
	CORE_CATCH_UP_DONE
};
enum core_catch_up_state core_catch_up_state(const struct core *core, uint64_t id);

/* Transfer leadership to a voter; 0: to the one with the longest log. core_submit() refuses entries
 * until another node leads, or an election timeout has passed. */
enum core_result core_transfer(struct core *core, uint64_t id);
bool core_is_transferring(const struct core *core);

/* ---- queries ---- */

enum core_role core_role(const struct core *core);
uint64_t core_term(const struct core *core);
/* Returns the id of the leader, or 0 if it is unknown. */
uint64_t core_leader(const struct core *core);
uint64_t core_commit(const struct core *core);
/* Indexes of the log. If the log is empty, the first is the last + 1. */
uint64_t core_first_index(const struct core *core);
uint64_t core_last_index(const struct core *core);
/* Returns up to which index the log is on the disk. */
uint64_t core_stored_index(const struct core *core);
/* Returns the term of an entry in the log, or of the last entry in the snapshot. 0: unknown. */
uint64_t core_term_at(const struct core *core, uint64_t index);
/* Returns the current snapshot; its index is 0 if there is none. */
const struct core_base *core_base(const struct core *core);
/* Returns the latest list, and the index of its entry. The list is empty on a node that joins. */
const struct members *core_members(const struct core *core, uint64_t *ret_index,
				   bool *ret_is_committed);
/* Returns the highest index that a member has acknowledged to this leader. 0: unknown. */
uint64_t core_match(const struct core *core, uint64_t id);

#endif
