/*
 * Scratch directories: one for each job, below one for each qless-run.
 *
 *	base/w-<hash>/lock       held as long as a process of this qless-run exists
 *	              worker     the server and the name of the worker
 *	              <slot>/    of the job that runs in this slot
 *
 * A qless-run that is killed leaves its directory. The next one with the same base finds that
 * nobody holds the lock, removes the directory, and learns which worker has died.
 */
#ifndef RUN_SCRATCH_H
#define RUN_SCRATCH_H

#include <stdbool.h>

#include "util/buf.h"
#include "util/str.h"

struct scratch {
	int base; /* the directories; -1 if it is not open */
	int own;
	int lock;
	char *base_path; /* absolute */
	char name[32];	 /* of the own directory */
};

/* The base if the user gives none: a directory of this user in TMPDIR or /tmp. */
void scratch_default_base(struct buf *out);

/* Creates the base if necessary. It must belong to this user, and be no symbolic link; and nobody
 * else may write to it. Returns 0, or -1 with a line in `error`. */
int scratch_open(struct scratch *s, const char *base, struct buf *error);

/* The directory of a worker whose processes are gone. As long as it is open, no worker of this name
 * starts here. */
struct scratch_dead {
	struct scratch_dead *next;
	struct buf worker;
	int directory, lock;
	char name[32];
};

/* Adds the dead workers of this server to the list at `head`. Removes the directories of those of
 * other servers. */
void scratch_sweep(struct scratch *s, struct qless_str server, struct scratch_dead **head);
/* Remove the first directory of the list, when the server knows that its worker is dead. */
void scratch_bury(struct scratch *s, struct scratch_dead **head);
/* Close all directories of the list. A later sweep finds them again. */
void scratch_spare(struct scratch_dead **head);

/* Make the own directory of a worker. Returns 0, -EWOULDBLOCK while processes with the same worker
 * exist, or another negative errno. */
int scratch_enter(struct scratch *s, struct qless_str server, struct qless_str worker);

/* Remove the own directory, when no other process uses it. */
void scratch_leave(struct scratch *s);
/* Closes what is open, and removes nothing. */
void scratch_close(struct scratch *s);

/* Make the directory of the job in a slot, and append its path. Returns 0 or a negative errno. */
int scratch_make(const struct scratch *s, unsigned slot, struct buf *ret_path);
/* Returns 0, also if there is none, or a negative errno if something is left. */
int scratch_remove(const struct scratch *s, unsigned slot);

#endif
