/*
 * The state that the journal keeps for the log of a group. For this folder only.
 *
 *	entries.c		appending, replacing and reading entries
 *	install.c		snapshots from other nodes
 *	journal_group.c		the beginning of a group, its vote, and figures
 *	recover_group.c		what recovery does first
 */
#ifndef JOURNAL_GROUP_INT_H
#define JOURNAL_GROUP_INT_H

#include "journal/entry_cache.h"
#include "journal/install.h"
#include "journal/journal_group.h"
#include "journal/log_index.h"
#include "journal/vote.h"

struct journal;
struct disk_task;
struct manifest;

struct group_log {
	struct vote vote;	 /* stored, or to be stored */
	uint64_t stored_counter; /* of the vote that is on the disk */
	struct log_index index;
	struct entry_cache cache;
	uint64_t commit;
	uint64_t keep_from;
	/* The term of the last entry of the current segment. 0: the next entry needs a record of
	 * its term, because a new segment may begin before it. */
	uint64_t term;
	struct install install;
	uint64_t replaces; /* the segment that is being made replaces entries from here; 0: none */
};

/* ---- journal_group.c ---- */

/* Make the group of a journal from what was recovered. Takes the content of `index`. Returns 0, or
 * a negative errno with a line in `ret_error`. */
int group_log_open(struct journal *j, const unsigned char group[JOURNAL_GROUP_ID_BYTES],
		   struct log_index *index, uint64_t commit, struct buf *ret_error);
void group_log_free(struct group_log *g);
void group_start_vote(struct journal *j);
void group_finish_vote(struct journal *j, const struct disk_task *task);
/* Make a manifest current that has no segment yet, with a new one after `sequence`, and remove all
 * other files. Waits for the disk. *ret_unclear is set if the new manifest may be current although
 * that failed. */
int group_begin_log(struct journal *j, struct manifest *fresh, uint64_t sequence,
		    bool *ret_unclear);
/* A new segment is current. */
void group_begin_segment(struct journal *j);
/* Choose the segments that stay when the snapshot of the rewrite becomes current. */
void group_prepare_switch(struct journal *j, unsigned char group[JOURNAL_GROUP_ID_BYTES]);
/* It is current. */
void group_finish_switch(struct journal *j);
/* Records up to `last` were written from that offset on. */
void group_note_written(struct journal *j, uint64_t last, uint64_t offset);

#endif
