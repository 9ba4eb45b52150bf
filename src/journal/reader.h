/*
 * Reading one file of the log, record by record.
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
	struct buf window; /* what was read from there on */
	size_t taken;	   /* bytes of the record that was given last, at the window's front */
};

/* Open a file and check its head. On failure a line is in `ret_error`, and nothing is left to be
 * closed: an errno, or -EBADMSG if the head is not that of the file this should be. */
int reader_open(struct reader *r, const struct journal_io *io, const char *dir,
		enum record_file_kind kind, uint64_t number, struct buf *ret_error);
void reader_close(struct reader *r);

/* 1: the next record, good until the next call. 0: the end of the file. -EBADMSG: there is no
 * intact record at r->offset. -EPROTO: there is, but of a kind we do not know. Or another errno. */
int reader_next(struct reader *r, struct record *ret_record);

/* After -EBADMSG: what lies behind that place, where `sequence` was expected. 0 or an errno. */
int reader_examine(struct reader *r, uint64_t sequence, struct record_damage *ret_damage);

#endif
