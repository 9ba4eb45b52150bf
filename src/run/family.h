/*
 * The processes below this one, which are the program of a job and all that it started.
 *
 * A process whose parent dies becomes a child of this one, however it has detached itself. So there
 * are no such processes any longer when this process has no children.
 */
#ifndef RUN_FAMILY_H
#define RUN_FAMILY_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Become the parent of processes below this one whose parent dies. Returns 0 or a negative errno.
 */
int family_adopt(void);

struct family_death {
	pid_t pid; /* 0 if no child has died */
	int status;
	bool has_children; /* there are more */
};

/* Wait for a child that has died, without blocking. */
struct family_death family_bury(void);

/* Send KILL to all children except those that `is_spared` accepts, which may be NULL. Those that
 * they leave become children when they are dead, so the caller repeats this until there are none.
 * Returns the number of children that got the signal. */
size_t family_kill(bool (*is_spared)(void *arg, pid_t pid), void *arg);

#endif
