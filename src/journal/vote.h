/*
 * The vote of a node: its term, and which node it has voted for in that term. A node that forgets
 * its vote may vote twice, and then a term may have two leaders.
 *
 * The files "vote-1" and "vote-2" hold the same vote. One is written and synced after the other,
 * so one of them is whole whenever the power fails. The loss of a file later does no harm either.
 *
 *	 0   8	magic: "QLESSVOT"
 *	 8   8	version: 1
 *	16  16	identifier of the group
 *	32   8	number of the node
 *	40   8	counter: the file with the higher one counts
 *	48   8	term
 *	56   8	the node that got the vote; 0: none has
 *	64   8	checksum of the 64 bytes before: XXH3-64 with seed 0
 */
#ifndef JOURNAL_VOTE_H
#define JOURNAL_VOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/io.h"
#include "journal/journal_group.h"
#include "util/buf.h"

#define VOTE_BYTES ((size_t)72)

struct vote {
	struct journal_identity identity;
	struct journal_vote content;
	uint64_t counter;
};

void vote_encode(const struct vote *vote, unsigned char to[VOTE_BYTES]);
/* Decode the bytes of a file. Returns false if they are no vote. */
bool vote_decode(const unsigned char *from, size_t len, struct vote *ret_vote);

/* Read the vote of a directory, which is all zeros after a failure. -ENOENT if neither file is
 * there, -EBADMSG if neither is whole or they belong to different nodes, or another negative errno.
 * On failure `ret_error` gets a line. */
int vote_read(struct vote *ret_vote, const struct journal_io *io, const char *dir,
	      struct buf *ret_error);
/* Write both files and sync them. Makes the files if they are not there. 0 or a negative errno. */
int vote_write(const struct vote *vote, const struct journal_io *io, const char *dir);

#endif
