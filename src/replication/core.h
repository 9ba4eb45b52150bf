/*
 * The core of a node of a group: Raft without I/O, clock, threads and callbacks, around libraft.
 *
 * Events go in by calls; what is to be done comes out of core_next() as actions, in order. The
 * bytes of entries stay outside: the core sees a head of each. Nothing but core_*.c knows libraft.
 *
 * The owner's part of the contract:
 *
 * - It takes all actions with core_next() after each event, before the next one. It does them in
 * order. After CORE_STORE_VOTE it does nothing of what follows until term and vote are on the disk;
 * in the meantime it gives no event and calls core_next() no more.
 * - CORE_CUT and CORE_APPEND are handed to the log before any later CORE_SEND leaves. They need not
 * be on the disk for that: core_persisted() tells when they are.
 * - core_persisted() says up to which index the log *as it is now* is on the disk. A sync that
 * began before a cut says nothing of entries appended after it.
 * - Entries up to the index of CORE_COMMIT may be applied; nothing else may.
 * - Times are milliseconds of a steady clock. The core ignores a time that goes back.
 *
 * A group's first log is a base (see core_options) or begins with an entry of kind CORE_MEMBERS,
 * index 1, term 1, which is the same on all first members. A node that joins starts with nothing:
 * term 0.
 *
 * The library asserts its invariants, so a node with a broken log ends. That is right for a node of
 * a group: the others go on.
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
	CORE_ROLE,	 /* the role, the term or the leader is another */
	CORE_CUT, /* entries from `index` on are void; a CORE_APPEND at `index` follows. The terms
		   * of the entries that follow may be lower than those of the void ones. */
	CORE_APPEND, /* put these entries at the end of the log; then core_persisted(). One event
		      * can lead to several of these. */
	CORE_SEND,
	CORE_COMMIT,  /* entries up to `index` are committed; it only rises */
	CORE_INSTALL, /* the leader offers its base: fetch it, then see core_base_accept() */
	CORE_BROKEN,  /* the library reports a log that cannot be: the node has to end. Nothing
			 follows. */
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
	const char *address;  /* of this node */
	uint64_t seed;	      /* of election timeouts; different on each node and at each start */
	unsigned election_ms; /* a follower stands after one to two times this without a leader */
	unsigned heartbeat_ms;
	/* How long a round of catching up may take; see core_catch_up(). */
	unsigned catch_up_ms;
	/* Entries that may be under way to a member; 0: the default of 4096. */
	unsigned inflight_entries;
};

/* The state on the disk. A zeroed struct is that of a node that joins a group. */
struct core_start {
	uint64_t term;
	uint64_t vote;
	const struct core_base *base; /* NULL: none */
	/* Of the first of the heads given to core_load(): at most base->index + 1, or 1 without a
	 * base. (Entries before the base may still be in the log, for followers.) */
	uint64_t first_index;
};

/* Copies everything. Then come core_load() for each entry of the log in order, and core_start(). */
struct core *core_create(const struct core_options *options, const struct core_start *start);
void core_load(struct core *core, const struct core_head *head);
/* The node begins as follower. The only voter of a group becomes leader at once. */
void core_start(struct core *core, int64_t now_ms);
/* NULL is a no-op. */
void core_free(struct core *core);

/* ---- events ---- */

/* Set the time for the events that follow. Once at the beginning of a turn, before received
 * messages. */
void core_set_time(struct core *core, int64_t now_ms);
/* Elections and heartbeats. At the end of a turn, and no later than core_deadline(). */
void core_tick(struct core *core, int64_t now_ms);

/* As leader: append these entries, not of kind CORE_MEMBERS. Returns the index of the first, or 0
 * if this node does not lead, or is handing over. A new leader has appended a barrier already. */
uint64_t core_submit(struct core *core, const struct core_head *heads, size_t count);

/* Returns false, and does nothing, if no node could have sent this message. */
bool core_receive(struct core *core, uint64_t from, const struct core_message *message);

void core_persisted(struct core *core, uint64_t index);

/* While a node may not stand it never becomes candidate, because its engine is being rebuilt, for
 * example. It votes and follows. At first it may stand. */
void core_set_may_stand(struct core *core, bool may_stand);

/* ---- bases ---- */

/* Fill in what belongs in the head of a base of the entries up to `index`, which is committed and
 * not below the present base. Returns false otherwise. */
bool core_base_at(const struct core *core, uint64_t index, struct core_base *ret_base);

/* A base up to `index` (see core_base_at()) is in force. Entries below `first` are gone from the
 * log; `first` is at most index + 1. Ignored if it is not newer than the present one. */
void core_base_made(struct core *core, uint64_t index, uint64_t first);

/* The base of CORE_INSTALL is here, complete and checked. Returns true if it shall replace the log
 * and the state: then the node is deaf until core_base_installed(), which comes when the base is in
 * force on the disk and the log is empty behind it. Returns false if the log has caught up by
 * itself, or the node leads: the file can be deleted. Either way, the next offer leads to the next
 * CORE_INSTALL. */
bool core_base_accept(struct core *core);
void core_base_installed(struct core *core);
/* The base of CORE_INSTALL cannot be had. The leader offers again. */
void core_base_dropped(struct core *core);

/* ---- members ---- */

enum core_result {
	CORE_OK,
	CORE_NOT_LEADER,
	CORE_NOT_READY, /* no entry of this leader's term is committed yet */
	CORE_CHANGING,	/* a change, a catching up or a hand-over is under way, or a new voter has
			 * not  yet got the entry that makes it one */
	CORE_NO_MEMBER, /* not a member, or not one that this can be asked of */
	CORE_NOT_CAUGHT_UP,  /* a learner becomes a voter only after it has caught up */
	CORE_NOT_ONE_CHANGE, /* the lists differ by not exactly one member, or the new one is not
				valid */
};

/* A text in lower case for a log line or an error reply. */
const char *core_result_text(enum core_result result);

/* Ask for new members, which differ by one: a new learner, a learner who becomes a voter, a voter
 * who becomes a learner, a member removed, or another address. The entry comes as CORE_APPEND; the
 * new list counts from then on, and is certain when it is committed. A leader that removes itself
 * steps down then. */
enum core_result core_change(struct core *core, const struct members *members);

/* Watch whether a learner catches up with the log: rounds of at most `catch_up_ms`, and the last
 * one faster than an election timeout. Begin this when core_match() is near the end of the log. */
enum core_result core_catch_up(struct core *core, uint64_t id);

enum core_catch_up_state {
	CORE_CATCH_UP_NONE,
	CORE_CATCH_UP_RUNNING,
	CORE_CATCH_UP_FAILED,
	CORE_CATCH_UP_DONE
};
enum core_catch_up_state core_catch_up_state(const struct core *core, uint64_t id);

/* Hand leadership over to a voter, or to the most advanced one if `id` is 0. Submits are refused
 * until another leads, or an election timeout is over. */
enum core_result core_transfer(struct core *core, uint64_t id);

/* ---- queries ---- */

enum core_role core_role(const struct core *core);
uint64_t core_term(const struct core *core);
uint64_t core_leader(
	const struct core *core); /* its id, 0 if unknown; this node's own if it leads */
uint64_t core_commit(const struct core *core);
uint64_t core_first_index(const struct core *core); /* of the log; last index + 1 if it is empty */
uint64_t core_last_index(const struct core *core);
uint64_t core_stored_index(
	const struct core *core); /* up to which the log is known to be on the disk */
/* The term of an entry of the log, or of the last one of the base; 0 of any other. */
uint64_t core_term_at(const struct core *core, uint64_t index);
const struct core_base *core_base(const struct core *core); /* index 0: none */
bool core_is_transferring(const struct core *core);
/* The members that count now, which may not be committed. Empty on a node that has just joined. */
const struct members *core_members(const struct core *core, uint64_t *ret_index,
				   bool *ret_is_committed);
/* As leader: the highest index that a member is known to have; 0 if it is not known. */
uint64_t core_match(const struct core *core, uint64_t id);
/* When core_tick() has something to do. */
int64_t core_deadline(const struct core *core);

#endif
