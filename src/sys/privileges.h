/*
 * The user that the process runs as, and its rights.
 *
 * A daemon that is started as root becomes an ordinary user before it opens a file or a socket. It
 * keeps two rights for the start: to listen on ports below 1024, and to raise limits. After using
 * them it gives up all rights permanently:
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
	char name[64]; /* empty for a number without a user */
};

/*
 * Look up `user` or `user:group`, by name or number. Without a group it is the group of the user,
 * which the system must then know. Returns 0, or -1 with a reason.
 */
int privileges_find(const char *text, struct privileges_user *ret_user, struct buf *ret_error);

/*
 * Become the user, with its groups and no others. Does nothing if the process already is this user;
 * otherwise it must be root. Returns 0, or -1 with a reason. After a failure the process should
 * end, because a part of the change may have happened.
 */
int privileges_become(const struct privileges_user *user, struct buf *ret_error);

/* If the process is root and the directory belongs to another user, become that user, so that new
 * files belong to it. Ignores a directory that cannot be read; opening it will report the error.
 * Returns 0, or -1 with a reason. */
int privileges_become_owner(const char *dir, struct buf *ret_error);

/* Give up every capability, also for programs that are run later. Root stays root, because an
 * operator who runs the daemon as root wants its rights. Returns 0, or -1 with a reason. */
int privileges_seal(struct buf *ret_error);

/* Allow core dumps, as large as the hard limit permits, or prevent them. Call it after the last
 * change of user, because that also prevents core dumps. */
void privileges_set_core_dumps(bool allowed);

#endif
