/*
 * One node of a group of servers that keep the same state: the driver that joins the core (core.h),
 * the journal and the messages of other nodes.
 *
 * The core decides and does nothing itself. At the end of each turn, the driver gives it the events
 * of the turn one by one, and does what it asks for in order.
 *
 *	 server ── operations of the turn ──► group_log() ─┐
 *	 nodes  ── messages ──► group_receive() ───────────┼─► core ──► journal ──► synced ──► core
 *	 time   ───────────────────────────────────────────┘     │                              │
 *	                                                         ▼                           commit
 *	                                                    options.send                        │
 *	 leader:   log.committed advances, and the gate releases replies  ◄─────────────────────┤
 *	 follower: group_apply() gives the entries to the engine, in order  ◄───────────────────┘
 *
 * Term and vote are on the disk before anything that follows them is done.
 *
 * The engine of a leader runs commands before their entries are committed. So it may be ahead of
 * the commit when the node ceases to lead. If those very entries are committed later, the engine is
 * right. If another leader replaces one of them, the engine is wrong, and the owner makes a new one
 * from the journal: group_needs_rebuild().
 *
 * No thread, no clock, no socket. One thread makes all calls.
 */
#ifndef REPLICATION_GROUP_H
#define REPLICATION_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal/commit_log.h"
#include "journal/record.h"
#include "replication/core.h"
#include "replication/frame.h"
#include "replication/members.h"
#include "util/buf.h"
#include "util/str.h"

struct group;
struct journal;

/* Bytes of operations above which an entry ends, and the turn has another one. */
#define GROUP_ENTRY_BYTES ((size_t)256 * 1024)
/* Bytes of received entries that wait while term and vote are stored. More messages are dropped,
 * and their senders send them again. */
#define GROUP_INBOX_BYTES ((size_t)64 * 1024 * 1024)

struct group_options {
	uint64_t id; /* of this node */
	uint64_t seed;
	unsigned election_ms;
	unsigned heartbeat_ms;
	unsigned catch_up_ms;
	/* Send a message to a node, or drop it. The bytes of entries are in the journal. Borrows
	 * the message. */
	void (*send)(void *arg, uint64_t to, const struct core_message *message);
	/* Entries that stay in the log when a snapshot covers them, for nodes that lack some. 0:
	 * all. A node that lacks more gets the snapshot. */
	uint64_t keep_entries;
	/* Fetch a snapshot that the leader offers, give it to the journal, and call
	 * group_end_install(). NULL: no snapshot can be fetched. Borrows the base. */
	void (*install)(void *arg, uint64_t from, const struct core_base *base);
	/* Run the operations of a committed record. Returns a negative value, with a sentence in
	 * `ret_error`, if that is impossible: the node cannot go on. */
	int (*apply)(void *arg, const struct record *record, struct buf *ret_error);
	void *arg;
};

/* Begin as a node of a group, with a recovered journal, which it borrows. The engine has all
 * records up to journal_get_commit(). Returns NULL, with a line in `ret_error`, on failure. */
struct group *group_open(const struct group_options *options, struct journal *journal,
			 int64_t mono_us, struct buf *ret_error);
/* NULL is a no-op. */
void group_close(struct group *g);

/* Returns the commit log of the group. The flush of its turns drives everything: it also flushes
 * the journal.
 *
 *	HEALTHY	this node leads, its engine has all entries, and one of its term is committed
 *	FULL	the same, but its disk is full
 *	FAILED	another node leads, or none, or the disk has failed
 *
 * A node that ceases to lead is FAILED for at least one turn. */
struct commit_log *group_log(struct group *g);

/* Take a message of another node, with its encoded entries (frame_put_entry()), whose kinds are
 * types of records. Copies both. The end of the turn deals with it. */
void group_receive(struct group *g, uint64_t from, const struct core_message *message,
		   struct qless_str entries);

enum group_fetched {
	GROUP_FETCHED, /* at least one entry */
	GROUP_LARGE,   /* the first entry has more than `max` bytes: group_fetch_piece() */
	GROUP_GONE,    /* they are not in the log, or this node has ceased to lead in that term */
};

/* For a message that was sent in `term`: append encoded entries from `first` on, at most `count`
 * and at most `max` bytes. */
enum group_fetched group_fetch(struct group *g, uint64_t term, uint64_t first, uint64_t count,
			       size_t max, struct buf *out, uint64_t *ret_count);
/* Append `max` bytes, or as many as there are, of the payload of an entry from `offset` on.
 * *ret_entry gets its term, its kind and the length of the payload; not the bytes. */
enum group_fetched group_fetch_piece(struct group *g, uint64_t term, uint64_t index, size_t offset,
				     size_t max, struct buf *out, struct frame_entry *ret_entry);

/* Returns the time, by the monotonic clock, at which the next flush is due at the latest. */
int64_t group_deadline_us(const struct group *g);

/* Returns why the node has to end: its disk has failed, or its log is one that cannot be. NULL
 * otherwise. */
const char *group_failure(const struct group *g);

/*
 * The engine
 */

/* Returns whether committed records wait for the engine. */
bool group_can_apply(const struct group *g);
/* Give the engine the next committed records, of about `max_bytes` together. Returns a negative
 * value, with a sentence in `ret_error`, if the node cannot go on. */
int group_apply(struct group *g, size_t max_bytes, struct buf *ret_error);

/* Returns the index of the last entry that the engine has. For snapshots of the engine. */
uint64_t group_engine_index(const struct group *g);

/* Returns whether the engine has run operations that are no longer in the log. Until
 * group_rebuilt() nothing is applied, and the node does not stand for election. */
bool group_needs_rebuild(const struct group *g);
/* The engine is new, and has all records up to `index`. */
void group_rebuilt(struct group *g, uint64_t index);

/* The fetching of options.install has ended. If the snapshot is complete, one of the next turns
 * puts it in the place of the log, unless the log has caught up by itself. */
void group_end_install(struct group *g, bool is_complete);

/*
 * Members and roles
 */

enum core_result group_change_members(struct group *g, const struct members *members);
enum core_result group_catch_up(struct group *g, uint64_t id);
enum core_catch_up_state group_catch_up_state(const struct group *g, uint64_t id);
enum core_result group_transfer(struct group *g, uint64_t id);

struct group_info {
	enum core_role role;
	uint64_t term;
	uint64_t leader; /* 0: unknown */
	uint64_t last;
	uint64_t durable;
	uint64_t commit;
	uint64_t engine;
	bool is_ready;	    /* it leads and accepts changes */
	bool is_rebuilding; /* group_needs_rebuild() */
	uint64_t elections; /* number of times that it became leader */
	uint64_t replaced;  /* entries that another leader has replaced */
	uint64_t rebuilds;  /* engines that were wrong */
	uint64_t installs;  /* snapshots of other nodes that were put in force */
	uint64_t dropped;   /* messages that did not fit in the inbox */
};

void group_get_info(const struct group *g, struct group_info *ret_info);

/* Returns the members that count now, which may not be committed. */
const struct members *group_members(const struct group *g);
/* Returns the highest index that a member is known to have, for the leader; 0: it is not known. */
uint64_t group_match(const struct group *g, uint64_t id);

#endif
