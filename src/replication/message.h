/*
 * Messages between the cores of the nodes of a group, and what they are about: entries and
 * snapshots. frame.h turns them into bytes.
 */
#ifndef REPLICATION_MESSAGE_H
#define REPLICATION_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "replication/members.h"

enum core_kind {
	CORE_OPERATIONS, /* whatever the owner submits; the core does not look at it */
	CORE_BARRIER,	 /* without payload: the first entry of each leader */
	CORE_MEMBERS,	 /* payload: members_encode() */
};

/* The part of an entry that the core knows. */
struct core_head {
	uint64_t term; /* of a submitted entry: set by the core */
	enum core_kind kind;
	const struct members *members; /* of kind CORE_MEMBERS; NULL otherwise */
	/* The owner's: comes back unchanged in CORE_APPEND. NULL in entries that the core makes. */
	void *data;
};

/* A snapshot, as the core sees it: all entries up to `index` are in it. */
struct core_base {
	uint64_t index;		/* 0: there is none, and all else is undefined */
	uint64_t term;		/* of the entry `index` */
	uint64_t members_index; /* at most `index`: of the entry with these members */
	struct members members;
};

enum core_message_kind {
	CORE_VOTE = 1,
	CORE_VOTE_RESULT,
	CORE_ENTRIES, /* also the heartbeat */
	CORE_ENTRIES_RESULT,
	CORE_BASE_OFFER,
	CORE_TIMEOUT_NOW,
};

struct core_message {
	enum core_message_kind kind;
	/* The term of the sender. In a trial vote and its result, the term that the candidate would
	 * have. */
	uint64_t term;
	union {
		struct {
			uint64_t last_index;
			uint64_t last_term;
			bool is_trial;	/* nothing is stored for it: it only asks */
			bool is_forced; /* the leader has told the candidate to stand */
		} vote;
		struct {
			bool is_granted;
			bool is_trial;
		} vote_result;
		struct {
			uint64_t previous_index; /* the entries follow this one */
			uint64_t previous_term;	 /* 0 for index 0 */
			uint64_t commit;
			uint32_t count;
			/* One for each entry. NULL in CORE_SEND: the owner reads entries
			 * previous_index + 1 and following from its log. */
			const struct core_head *heads;
		} entries;
		struct {
			uint64_t rejected; /* 0, or the previous_index that did not match */
			uint64_t last_index;
		} entries_result;
		/* Valid until the next call that changes the core. */
		const struct core_base *offer;
		struct {
			uint64_t last_index;
			uint64_t last_term;
		} timeout_now;
	};
};

/* Returns the name of a kind, such as "vote result", for a line of a log. */
const char *core_message_name(enum core_message_kind kind);

#endif
