/*
 * Shared by the files of the driver. No other file includes this.
 *
 *	group.c		life, figures, members
 *	group_log.c	the commit log: operations of a turn, the end of a turn
 *	group_work.c	events for the core, and what it asks for
 *	group_engine.c	what the engine has, and what it is to get
 *	group_base.c	snapshots: own ones, and those of other nodes
 *	group_fetch.c	entries for other nodes
 *	group_inbox.c	received messages
 */
#ifndef REPLICATION_GROUP_INT_H
#define REPLICATION_GROUP_INT_H

#include "journal/journal.h"
#include "journal/journal_group.h"
#include "replication/group.h"
#include "replication/group_inbox.h"
#include "util/container.h"

#define GROUP_FAILURE_BYTES 256

/* The operations of the running turn: entries that are not submitted. */
struct group_turn {
	struct buf bytes;
	size_t *ends; /* of each entry, in `bytes` */
	size_t count, cap;
};

/* The engine has run all entries up to `index`, of a log in which that one has `term`. */
struct group_engine {
	uint64_t index;
	uint64_t term;
	bool is_wrong; /* it has run what is not in the log */
};

/* The snapshot that options.install fetches. */
enum group_install {
	GROUP_INSTALL_NONE, /* there is none, or it is on its way */
	GROUP_INSTALL_COMPLETE,
	GROUP_INSTALL_FAILED,
};

struct group {
	struct commit_log log;
	struct group_options options;
	struct journal *journal;
	struct commit_log *disk; /* the journal's */
	struct core *core;
	struct group_inbox inbox;
	struct group_letter *letter; /* whose actions are being done; NULL: another event */
	struct group_turn turn;
	struct group_engine engine;
	int64_t now_ms;
	enum core_role role;
	uint64_t term;
	uint64_t leader;
	uint64_t barrier;  /* index of the first entry of this leader; 0: not appended yet */
	uint64_t reported; /* the durable index as the core knows it */
	uint64_t commit;   /* what the core knows may be more, while the vote is not stored */
	enum group_install install;
	bool is_holding; /* the vote is not stored: nothing else may happen */
	bool is_ready;
	bool has_ceased;  /* it was ready, and is not: the next turn says so */
	bool has_written; /* the journal has something new */
	char failure[GROUP_FAILURE_BYTES];
	struct group_info info;
};

static inline struct group *group_of(struct commit_log *log)
{
	return container_of(log, struct group, log);
}

static inline bool group_has_failed(const struct group *g)
{
	return g->failure[0] != '\0';
}

/* The node has to end. */
void group_fail(struct group *g, const char *why);

/* ---- group_log.c ---- */

void group_log_init(struct group *g);
void group_log_done(struct group *g);

/* ---- group_work.c ---- */

/* Do what the core asks for, until the vote must be stored first. Call this after every event. */
void group_work(struct group *g);
/* Submit the operations of the turn. */
void group_submit(struct group *g);
/* Give the core the messages that have arrived. */
void group_read_inbox(struct group *g);
/* Tell the core what the journal has synced, and go on if the vote is stored. */
void group_take_news(struct group *g);
/* This node may not accept changes any more. */
void group_cease(struct group *g);

/* ---- group_base.c ---- */

/* Choose the entries that stay in the log. */
void group_keep_entries(struct group *g);
/* The journal may have made a snapshot. */
void group_note_base(struct group *g);
/* Deal with the end of a fetching. */
void group_install_fetched(struct group *g);

/* ---- group_engine.c ---- */

/* The leader has run the operations of this entry. */
void group_engine_ran(struct group *g, uint64_t index, uint64_t term);
/* Entries from `index` on have been replaced. */
void group_engine_cut(struct group *g, uint64_t index);
/* The engine is useless. */
void group_engine_spoil(struct group *g);

#endif
