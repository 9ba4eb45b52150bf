/*
 * A deterministic simulation of a group: five nodes with the core in one process. Time, network and
 * disks follow from a seed.
 *
 * A run has a wild part and a quiet part. In the wild part, nodes crash and pause, disks become
 * slow, links are cut both ways or one way, and messages are delayed, and in every second run also
 * lost, repeated and reordered. The members change, snapshots are made and installed, and
 * leadership is transferred. In the quiet part all nodes run and all links work, so the group must
 * have a leader and equal logs at the end.
 */
#ifndef SIM_CORE_WORLD_H
#define SIM_CORE_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "replication/core.h"

#define WORLD_NODES	   5
#define WORLD_ENTRIES	   30000 /* indexes of the log of a run */
#define WORLD_LISTS	   2000
#define WORLD_TERMS	   20000
#define WORLD_WILD_MS	   14000
#define WORLD_QUIET_MS	   7000
#define WORLD_ELECTION_MS  300
#define WORLD_HEARTBEAT_MS 60

/* An error in the node that the simulation must find. */
enum world_fault {
	FAULT_NONE,
	FAULT_EARLY_REPLY, /* a node acknowledges entries before they are on its disk */
	FAULT_LOST_VOTE,   /* a node votes before its vote is on the disk */
};

struct world_entry {
	uint64_t term;
	uint64_t id; /* unique; of kind CORE_MEMBERS: the number of the list */
	enum core_kind kind;
};

/* The files of a node, as they are after a crash. */
struct world_image {
	uint64_t term, vote;
	struct core_base base;
	uint64_t first, last;
	struct world_entry entry[WORLD_ENTRIES];
};

/* A write that is not yet synced: a cut, or one entry. */
struct world_write {
	bool is_cut;
	uint64_t index;
	struct world_entry entry;
};

struct world_node {
	uint64_t id;
	struct core *core; /* NULL: down */
	int64_t up_at;	   /* while it is down */
	int64_t crash_at;  /* 0: by chance only */
	bool is_synced;	   /* a sync has ended, of which the core has not heard */
	int64_t paused_until;
	/* The vote being stored: the node waits until then. 0: none. */
	int64_t vote_at;
	uint64_t vote_term, vote;

	struct world_image *disk;
	uint64_t last; /* of the log with the writes */
	struct world_entry entry[WORLD_ENTRIES];
	struct world_write *writes; /* not synced */
	size_t write_count, write_cap;
	size_t syncing; /* writes that the sync under way covers; 0: there is none */
	int64_t sync_at;
	int64_t slow_until;

	enum core_role role;
	uint64_t commit;  /* all up to here is applied */
	uint64_t marked;  /* the commit index that a mark in the log has after a crash */
	int64_t stand_at; /* it may stand from then on; 0: it may */

	uint64_t fetch_from; /* a snapshot is being fetched; 0: none */
	struct core_base fetch;
	int64_t fetch_at;
	int64_t install_at; /* the fetched snapshot becomes current; 0: none */
};

struct world_message {
	int64_t at;
	uint64_t order;
	uint64_t from, to;
	struct core_message message;
	struct core_base base;
	struct core_head *heads;
};

struct world {
	uint64_t seed, random;
	enum world_fault fault;
	bool is_rough;	  /* messages are lost, repeated and reordered */
	bool is_stormy;	  /* links and nodes fail more often, so there are many elections */
	bool is_churning; /* the members change all the time */
	bool is_talkative;
	int64_t now;
	struct world_node node[WORLD_NODES + 1]; /* by id */

	struct world_message **heap; /* by time and order */
	size_t heap_count, heap_cap;
	uint64_t order;
	bool cut[WORLD_NODES + 1][WORLD_NODES + 1];
	int64_t last_at[WORLD_NODES + 1][WORLD_NODES + 1];

	struct members list[WORLD_LISTS]; /* by number */
	unsigned lists;
	uint64_t next_id;

	/* Facts, for the invariants. */
	struct world_entry committed[WORLD_ENTRIES];
	uint64_t commit;		   /* the highest of all nodes */
	uint64_t leader_of[WORLD_TERMS];   /* by term */
	uint64_t submitted[WORLD_ENTRIES]; /* unused slots are 0 */
	uint64_t digest;		   /* of all actions */

	struct world_counts {
		uint64_t commits, leaders, installs, changes, cuts, crashes, bases, transfers;
	} counts;
};

/* Run the whole simulation. Ends the process with a message if an invariant does not hold. */
void world_run(struct world *w);

/* ---- core_world.c ---- */

/* Returns a number below `limit`. */
uint64_t world_below(struct world *w, uint64_t limit);
bool world_is_quiet(const struct world *w);
__attribute__((noreturn, format(printf, 2, 3))) void world_fail(const struct world *w,
								const char *format, ...);
__attribute__((format(printf, 2, 3))) void world_say(const struct world *w, const char *format,
						     ...);

/* ---- core_disk.c ---- */

/* Write a cut or an entry; it is on the disk after a sync. */
void disk_cut(struct world_node *n, uint64_t index);
void disk_append(struct world_node *n, const struct world_entry *entry);
/* Returns up to which index the log, as it is now, is on the disk. */
uint64_t disk_durable(const struct world_node *n);
/* Begin or end a sync. Returns whether one has ended. */
bool disk_work(struct world *w, struct world_node *n);
void disk_store_vote(struct world *w, struct world_node *n, uint64_t term, uint64_t vote);
/* Keep any prefix of the writes that were not synced. */
void disk_crash(struct world *w, struct world_node *n);
/* A snapshot becomes current, and the log begins at `first`. */
void disk_set_base(struct world_node *n, const struct core_base *base, uint64_t first);
/* A snapshot replaces the log. */
void disk_install(struct world_node *n, const struct core_base *base);

/* ---- core_net.c ---- */

void net_send(struct world *w, struct world_node *from, const struct core_action *action);
/* Take the next message that is due. NULL: there is none. Free it with net_free(). */
struct world_message *net_take(struct world *w);
/* Deliver a message later. */
void net_delay(struct world *w, struct world_message *m, int64_t at);
void net_free(struct world_message *m);
/* Cut links, or heal all. */
void net_partition(struct world *w);
void net_heal(struct world *w);
/* Free all messages. */
void net_end(struct world *w);
/* The connections of a node break. */
void net_drop(struct world *w, uint64_t id);

/* ---- core_facts.c ---- */

void facts_leader(struct world *w, const struct world_node *n, uint64_t term);
/* A node applies its entries up to `commit`. */
void facts_commit(struct world *w, struct world_node *n, uint64_t commit);
void facts_base(struct world *w, const struct world_node *n, const struct core_base *base);
/* After the quiet part. */
void facts_end(struct world *w);

#endif
