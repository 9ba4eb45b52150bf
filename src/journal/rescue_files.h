/*
 * The files of a damaged log, for rescue.c: what can be told of each, even if its header is
 * damaged.
 */
#ifndef JOURNAL_RESCUE_FILES_H
#define JOURNAL_RESCUE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal/io.h"
#include "journal/manifest.h"
#include "journal/record.h"
#include "util/buf.h"

enum rescue_header {
	RESCUE_HEADER_WHOLE,
	/* It is damaged. The salt is known from elsewhere, and fits; `sequence` is 0. */
	RESCUE_HEADER_GUESSED,
	RESCUE_HEADER_LOST, /* no record of the file can be checked */
	RESCUE_NO_FILE,	    /* the manifest names the file, but it is gone */
};

struct rescue_file {
	uint64_t number;
	enum rescue_header state;
	struct record_file_header header; /* WHOLE, GUESSED */
	bool is_cut; /* GUESSED: the header seems to say that the file had another size */
	uint64_t size;
};

struct rescue_list {
	struct rescue_file *all; /* ascending by number */
	size_t count, cap;
};

struct rescue_files {
	struct manifest manifest; /* empty if it cannot be read */
	struct rescue_list bases; /* only WHOLE */
	struct rescue_list logs;
};

/* Look at all files of a directory. `ret_notes` gets a line about each that is damaged. 0, or a
 * negative errno with a line in `ret_error`. The caller calls rescue_files_done() in either case.
 */
int rescue_files_read(struct rescue_files *files, const struct journal_io *io, const char *dir,
		      struct buf *ret_notes, struct buf *ret_error);
void rescue_files_done(struct rescue_files *files);

/* Returns the sequence number that the next log segment with a whole header begins with, from the
 * i-th on; UINT64_MAX if there is none. In a group it is the lowest number that any of them begins
 * with. */
uint64_t rescue_files_bound(const struct rescue_files *files, size_t i);

#endif
