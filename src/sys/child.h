/*
 * Life as a child that was forked off to do some work and runs no other program.
 */
#ifndef SYS_CHILD_H
#define SYS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* To be called first. The child has a name of its own, is killed when the thread that forked it
 * ends, and minds no signal that is meant for its parent. False if the parent is gone already. */
bool child_begin(const char *name, pid_t parent);

/* Close all descriptors but the standard ones and `fd`, which becomes CHILD_FD. */
#define CHILD_FD 3
void child_keep_fd(int fd);

/* Let others go first: a tenth of a processor is ours, and what nobody else needs. If memory is
 * short it is us that the system kills. */
void child_step_back(void);

/* The same, but what nobody else needs is all, and may be nothing for long. Who wakes up does not
 * have to wait until we have had our time, as even with the lowest priority. */
void child_take_leftovers(void);

#endif
