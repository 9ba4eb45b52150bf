/*
 * The journal of a group of servers: entries with terms, votes, and snapshots that nodes send to
 * each other.
 *
 * The manifest says whether a directory belongs to a group. Then the calls below are allowed, and
 * commit_log_append() is not. An entry is a record, and its index is its sequence number. The
 * journal syncs as with JOURNAL_SYNC_ALWAYS. The field `committed` of its commit log says what is
 * synced on this node. Only the group knows what is committed.
 *
 * A log of a group that has failed stays so, because an entry that the leader was told of must not
 * be dropped. The node ends and starts again.
 */
#ifndef JOURNAL_JOURNAL_GROUP_H
#define JOURNAL_JOURNAL_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "journal/record.h"
#include "util/buf.h"
#include "util/str.h"

struct journal;
struct recovery_target;

#define JOURNAL_GROUP_ID_BYTES ((size_t)16)

struct journal_identity {
	unsigned char group[JOURNAL_GROUP_ID_BYTES];
	uint64_t node; /* from 1 */
};

struct journal_vote {
	uint64_t term;
	uint64_t node; /* 0: no vote in this term */
};

/* The snapshot that the log continues. */
struct journal_base {
	uint64_t index; /* of the last entry that it covers; 0: there is none */
	uint64_t term;	/* of that entry */
	uint64_t members_index;
	struct qless_str members; /* borrowed until the next call of the journal */
};

/* ---- beginning ---- */

/* Make the log of a directory the log of a group, right after journal_recover(). The log has no
 * group, and nothing was appended yet. Waits for the disk.
 *
 * A log with records becomes a snapshot with these members and term 1, and the node has term 1. An
 * empty log gets the members as its first entry, with term 1. An empty log without members is that
 * of a node that joins a group.
 *
 * Returns 0, or a negative errno with a line in `ret_error`. After a crash the directory is as
 * before, or belongs to the group. */
int journal_begin_group(struct journal *j, const struct journal_identity *identity,
			struct qless_str members, struct buf *ret_error);

/* Make the log of a group the log of another one, in which this node is the only member, right
 * after journal_recover() with the option `rescue`. All entries become a snapshot with these
 * members. Waits for the disk. Returns 0, or a negative errno with a line in `ret_error`. After a
 * failure or a crash it can be repeated. */
int journal_rescue_group(struct journal *j, const struct journal_identity *identity,
			 struct qless_str members, struct buf *ret_error);

/* Returns whether the recovered directory belongs to a group. */
bool journal_has_group(const struct journal *j);
const struct journal_identity *journal_get_identity(const struct journal *j);
/* Returns the vote that was stored last. */
struct journal_vote journal_get_vote(const struct journal *j);
struct journal_base journal_get_base(const struct journal *j);
/* Returns the highest index that was noted, or that a mark or the snapshot calls committed.
 * journal_recover() applies the entries up to here, and no others. */
uint64_t journal_get_commit(const struct journal *j);

/* ---- entries ---- */

/* Append an entry, and copy its payload. Returns its index, which is that of the last one plus 1.
 * The type is one of record_is_entry(). The term is at least that of the entry before it. */
uint64_t journal_append_entry(struct journal *j, uint64_t term, enum record_type type,
			      struct qless_str payload);

/* Drop the entries from `from` on, so that others can replace them. They exist and are not
 * committed. Waits for the disk: then the entries before are durable. After a crash the log has the
 * old tail or entries that were appended after this call, never both. Returns 0, or a negative
 * errno if nothing was dropped. */
int journal_replace_tail(struct journal *j, uint64_t from);

/* Returns the index of the oldest entry that can be read, or that of the next one if there is none.
 */
uint64_t journal_first_index(const struct journal *j);
uint64_t journal_last_index(const struct journal *j);
/* Entries up to here are synced. It changes in commit_log_flush() and in calls that wait for the
 * disk. */
uint64_t journal_durable_index(const struct journal *j);
/* All entries up to `index`, which exist, are committed. Cheap. */
void journal_note_commit(struct journal *j, uint64_t index);

struct journal_head {
	uint64_t term;
	enum record_type type;
};

/* Get the head of an entry that can be read, or the term of the last entry that the snapshot
 * covers. Returns false for other indexes. */
bool journal_get_head(const struct journal *j, uint64_t index, struct journal_head *ret_head);

struct journal_entry {
	struct journal_head head;
	struct qless_str payload; /* of the bytes of the list */
};

/* Entries that were read. Zero bytes are an empty list. */
struct journal_entries {
	uint64_t first; /* index of the first one */
	struct journal_entry *all;
	size_t count, cap;
	struct buf bytes;
};

/* Read the entries from `first` to `last`, as many as have payloads of `max_bytes` together, and at
 * least one. They come from memory or from the files. Returns their number, 0 if there is no entry
 * `first` yet, -ENOENT if it is no longer there, or another negative errno. */
int journal_read_entries(struct journal *j, uint64_t first, uint64_t last, size_t max_bytes,
			 struct journal_entries *to);
/* Append the bytes of a payload from `offset` on, up to `max_bytes`. *ret_size is the size of all
 * of it. Returns 0, or a negative errno as above. */
int journal_read_payload(struct journal *j, uint64_t index, size_t offset, size_t max_bytes,
			 struct buf *out, size_t *ret_size);
void journal_entries_done(struct journal_entries *entries);

/* ---- the vote ---- */

/* Store a term and a vote. One of the next flushes writes them, before it writes records, and a
 * later one notices that they are stored. The owner is woken as after a sync. */
void journal_store_vote(struct journal *j, struct journal_vote vote);
/* Returns whether the vote that was passed last is on the disk. */
bool journal_is_vote_stored(const struct journal *j);

/* ---- snapshots ---- */

/* The next snapshots leave the entries from `index` on in the log. UINT64_MAX, as at the start:
 * those that the snapshot covers are not needed. */
void journal_keep_from(struct journal *j, uint64_t index);

/* The current snapshot, for another node. The file can be read until it is closed, whatever becomes
 * current meanwhile. */
struct journal_base_file {
	int fd; /* -1: it is closed */
	uint64_t size;
	uint64_t salt; /* no other snapshot has it */
	uint64_t index, term, members_index;
	struct buf members;
};

/* Open the current snapshot. Returns 0, -ENOENT if there is none, or another negative errno. The
 * caller closes it in either case. */
int journal_open_base(struct journal *j, struct journal_base_file *ret_file);
/* Read bytes of it. Returns their number, or a negative errno. */
ssize_t journal_read_base(struct journal *j, const struct journal_base_file *file, void *to,
			  size_t len, uint64_t offset);
void journal_close_base(struct journal *j, struct journal_base_file *file);

/* Receive a snapshot from another node: begin, pass its bytes in order, and finish.
 *
 * Beginning gives up an earlier snapshot, unless it has the same size and salt. Then it goes on at
 * *ret_offset. A failure of a piece means that the snapshot should be given up; -EBADMSG says that
 * it is damaged. All calls wait for the disk now and then.
 *
 * Finishing puts the snapshot in the place of the log, which has no entries after that. The last
 * index, the durable one and the commit index become that of the snapshot. The owner drops its
 * state and calls journal_load_state(). Returns 0, or a negative errno with a line in `ret_error`,
 * and the log is as before. -EALREADY without a line: the log has what the snapshot covers. */
int journal_begin_install(struct journal *j, uint64_t size, uint64_t salt, uint64_t *ret_offset);
int journal_install_piece(struct journal *j, struct qless_str bytes);
int journal_finish_install(struct journal *j, struct buf *ret_error);
/* No-op if no snapshot is being received. */
void journal_give_up_install(struct journal *j);

/* Load the state as of an entry that is durable and committed, or of the snapshot, into an empty
 * state. Returns 0, or a negative errno with a line in `ret_error`. */
int journal_load_state(struct journal *j, uint64_t index, const struct recovery_target *target,
		       struct buf *ret_error);

#endif
