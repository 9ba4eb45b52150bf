/*
 * Checking the bytes of a snapshot as they arrive. Pure.
 */
#ifndef JOURNAL_BASE_CHECK_H
#define JOURNAL_BASE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/record.h"
#include "util/buf.h"
#include "util/str.h"

struct base_check {
	struct buf rest; /* bytes of a record that is not complete */
	struct record_file_header header;
	bool has_header;
	bool is_over;	   /* the last record was there */
	uint64_t sequence; /* of the last record */
	uint64_t term, members_index;
	struct buf members;
};

void base_check_init(struct base_check *c);
void base_check_done(struct base_check *c);
/* Check the next bytes. Returns false if they do not belong to the snapshot of a group. */
bool base_check_take(struct base_check *c, struct qless_str bytes);
/* Returns whether the snapshot is whole. */
bool base_check_is_whole(const struct base_check *c);

#endif
