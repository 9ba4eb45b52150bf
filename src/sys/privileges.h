/*
 * Who the process runs as, and what it may do.
 *
 * A daemon that is started as root becomes an ordinary user before it opens a file or a socket, and
 * keeps two rights for the start: to listen on ports below 1024, and to raise limits. When it has
 * used them it gives up all of them, for good:
 *
 *	privileges_become(run_as)	first of all
 *	(limits, directory, log, sockets)
 *	privileges_seal()		before there is a second thread
 */
#ifndef SYS_PRIVILEGES_H
#define SYS_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

#include "util/buf.h"

struct privileges_user {
	uid_t uid;
	gid_t gid;
	char name[64]; /* empty for a number that no user has */
};

/*
 * Find who is meant by `user` or `user:group`; names or numbers. Without a group it is that of the
 * user, who then has to be one that the system knows. Returns 0, or -1 with a reason.
 */
int privileges_find(const char *text, struct privileges_user *ret_user, struct buf *ret_error);

/*
 * Become the user, with its groups and no others. Does nothing if that is who we are; otherwise we
 * have to be root. Returns 0, or -1 with a reason; then the process should end, as it may have done
 * a part of it.
 */
int privileges_become(const struct privileges_user *user, struct buf *ret_error);

/* If we are root and the directory is another user's, become that user, so that what we write there
 * is its own. A directory that cannot be looked at is left to whoever opens it. Returns 0, or -1
 * with a reason. */
int privileges_become_owner(const char *dir, struct buf *ret_error);

/* Give up every capability, now and for programs we might run. Root stays root: whoever wants to
 * run as root wants its rights. Returns 0, or -1 with a reason. */
int privileges_seal(struct buf *ret_error);

/* Allow core dumps, as large as the hard limit permits, or prevent them. Call it when the process
 * is who it is going to be: a change of the user prevents them, too. */
void privileges_set_core_dumps(bool allowed);

#endif
