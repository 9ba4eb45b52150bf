/*
 * The current segment: the log file that records are written to.
 *
 *	0       header        size                  zeroed       allocated
 *	+---------+-------------+---------------------+--------------+
 *	| header  | records     | zeros written ahead | reserved     |
 *	+---------+-------------+---------------------+--------------+
 *
 * A sync of bytes that replace others costs half as much as a sync that also changes the length of
 * the file, and a write costs less where memory and disk space are there already. So zeros are
 * written ahead. After the zeros, disk space is reserved without changing the length of the file.
 */
#ifndef JOURNAL_SEGMENT_H
#define JOURNAL_SEGMENT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "journal/io.h"
#include "journal/record.h"
#include "util/minmax.h"

struct segment {
	int fd; /* -1: there is no current segment */
	struct record_file_header header;
	uint64_t size;	      /* bytes of the header and of whole records */
	uint64_t synced_size; /* `size` when the last sync began */
	uint64_t zeroed;      /* the zeros end here; less than `size` if there are none */
	uint64_t allocated;   /* reserved up to here; less than `size` if nothing is */
	bool cannot_allocate; /* the file system does not support reserving space */
	/* A mark was written that no record follows, and it is not synced. Only records count in
	 * the positions of the journal, so those do not tell. */
	bool has_unsynced_mark;
};

void segment_init(struct segment *s);

/* Make a file the current segment, and close the previous one. The file has that header, `size`
 * bytes of header and records, and zeros up to `zeroed`. No other function makes a file current.
 * Takes `fd`. */
void segment_enter(struct segment *s, const struct journal_io *io, int fd,
		   const struct record_file_header *header, uint64_t size, uint64_t zeroed);
/* The file is synced, and nothing more will be written: say so in its header, and sync that. 0 or a
 * negative errno. */
int segment_seal(struct segment *s, const struct journal_io *io);
/* Close the current segment, if there is one. */
void segment_leave(struct segment *s, const struct journal_io *io);

/* Returns the offset up to which the file has space: records, zeros or reserved. */
static inline uint64_t segment_room(const struct segment *s)
{
	return max_u64(max_u64(s->allocated, s->zeroed), s->size);
}

/* Write the header of a file again with another `closed_size`. Later writes to the file wait for a
 * sync. No-op if the format of the file has none. 0 or a negative errno. */
int segment_set_closed_size(const struct journal_io *io, int fd,
			    const struct record_file_header *header, uint64_t closed_size);

/* Reserve disk space up to `end`, and more for later. Fails only if the disk is full: -ENOSPC or
 * -EDQUOT. */
int segment_reserve(struct segment *s, const struct journal_io *io, uint64_t end);

/* Whole records of that many bytes were written at the end. */
static inline void segment_note_records(struct segment *s, uint64_t bytes)
{
	assert(s->fd >= 0);
	s->size += bytes;
}

/* Zeros were written ahead, up to the offset `zeroed`. */
static inline void segment_note_zeros(struct segment *s, uint64_t zeroed)
{
	assert(s->fd >= 0);
	s->zeroed = max_u64(s->zeroed, zeroed);
}

/* A sync begins that covers all records. */
static inline void segment_note_sync(struct segment *s)
{
	assert(s->fd >= 0 && s->synced_size <= s->size);
	s->synced_size = s->size;
}

/* A write failed, or the file is being cut: no space after the records counts any more. */
void segment_forget_room(struct segment *s);

#endif
