/*
 * The whole state of a log, in order to write it to another one: databases, scripts, and the users
 * that were changed at run time.
 *
 * Only a server can say what a user may do, because the configuration has a part in that. So the
 * last operation of each user is kept as it is.
 *
 * In logs before format 4 such an operation may depend on the configuration; here it always counts.
 */
#ifndef CHECK_WHOLE_H
#define CHECK_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "command/replay.h"
#include "journal/base.h"
#include "journal/recover.h"
#include "journal/rescue.h"
#include "stored/stored.h"
#include "util/buf.h"

/* The last operation of a user. */
struct whole_user {
	struct buf name;
	struct buf operation; /* as operation_encode() writes it */
};

struct whole {
	struct stored stored;
	struct replay replay;
	struct whole_user *users;
	size_t user_count, user_cap;
	/* Operations that cannot be applied are counted, and loading goes on. */
	bool is_tolerant;
	struct rescue_tally tally;
};

void whole_init(struct whole *w, bool is_tolerant);
void whole_done(struct whole *w);
/* Make the state empty again. For struct rescue_owner. */
void whole_clear(void *whole);

/* Recovery fills the state through this target. */
struct recovery_target whole_target(struct whole *w);

/* Add the state to a snapshot. For struct journal_options. */
void whole_save(void *whole, struct base_writer *writer);

#endif
