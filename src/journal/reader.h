/*
 * Reading a log segment or a snapshot, record by record.
 */
#ifndef JOURNAL_READER_H
#define JOURNAL_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/io.h"
#include "journal/manifest.h"
#include "journal/record.h"
#include "util/buf.h"

struct reader {
	const struct journal_io *io;
	int fd;
	char path[JOURNAL_PATH_MAX];
	struct record_file_header header;
	uint64_t size;	   /* of the file, when it was opened */
	uint64_t offset;   /* of the next record */
	struct buf window; /* the bytes of the file from there on, as far as they were read */
	size_t taken;	   /* bytes of the last record returned, at the front of the window */
};

/* Open a file and check its header. On failure `ret_error` gets a line, and there is nothing to
 * close. Returns -EBADMSG if the header is damaged or belongs to another file, or another errno. */
int reader_open(struct reader *r, const struct journal_io *io, const char *dir,
		enum record_file_kind kind, uint64_t number, struct buf *ret_error);
/* Open a log segment that has that header, which is not read again. */
int reader_open_known(struct reader *r, const struct journal_io *io, const char *dir,
		      uint64_t number, const struct record_file_header *header,
		      struct buf *ret_error);
void reader_close(struct reader *r);

/* Returns 1 with the next record, which is valid until the next call, or 0 at the end of the file.
 * -EBADMSG: there is no intact record at r->offset. -EPROTO: the record there is intact, but its
 * type is unknown. Or another errno. */
int reader_next(struct reader *r, struct record *ret_record);

/* After -EBADMSG: examine the bytes from that place on, where the record with number `sequence` was
 * expected. 0 or an errno. */
int reader_examine(struct reader *r, uint64_t sequence, struct record_damage *ret_damage);

/* After -EBADMSG, or a record that does not count: pass over the bytes from r->offset up to the
 * next intact record with a number from `low` to `high`, or up to the end of the file. *ret_bytes
 * is their number, without zeros at the end of the file. 0 or an errno. */
int reader_skip(struct reader *r, uint64_t low, uint64_t high, uint64_t *ret_bytes);

#endif
