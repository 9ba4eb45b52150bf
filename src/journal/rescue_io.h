/*
 * File calls for rescue.c that read on past what a disk cannot read.
 */
#ifndef JOURNAL_RESCUE_IO_H
#define JOURNAL_RESCUE_IO_H

#include <stdint.h>

#include "journal/io.h"

struct rescue_io {
	struct journal_io io; /* calls to use in place of the real ones */
	const struct journal_io *real;
	uint64_t unreadable; /* number of reads that the disk has failed */
};

/* Wrap file calls. A part of a file that fails with EIO reads as bytes that are no record. The
 * object does not move while `io` is in use. Only calls that read work. */
void rescue_io_init(struct rescue_io *r, const struct journal_io *real);

#endif
