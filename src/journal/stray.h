/*
 * Stray files: snapshots and log segments that no manifest names.
 *
 * A crash leaves them before they become current, or after they were replaced. Then they hold
 * nothing that the log does not have. But if the manifest is an old one, from a copy or from a disk
 * that lost a write, a stray file may hold what is missing in the log.
 */
#ifndef JOURNAL_STRAY_H
#define JOURNAL_STRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/io.h"

enum stray_kind {
	STRAY_OLD,     /* it holds nothing that comes after the end of the log */
	STRAY_NEWER,   /* it holds records after the end of the log, or a whole snapshot of them */
	STRAY_UNKNOWN, /* it cannot be read, or not all of it */
};

struct stray {
	bool is_base;
	uint64_t number;
	enum stray_kind kind;
	uint64_t first, last; /* NEWER: sequence numbers of its records */
};

/* The end of the log. */
struct stray_log {
	uint64_t sequence; /* of its last record */
	uint64_t number;   /* of its last segment */
};

/* Find out what a file holds. A snapshot that is not complete counts as old, because nobody can
 * load it. In a group, segments that were removed may have replaced records with high numbers. So a
 * segment of a group is newer if it was made after the last one of the log. */
void stray_examine(struct stray *ret_stray, const struct journal_io *io, const char *dir,
		   bool is_base, uint64_t number, const struct stray_log *log);

#endif
