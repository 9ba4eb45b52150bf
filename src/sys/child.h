/*
 * A forked child that does some work and runs no other program.
 */
#ifndef SYS_CHILD_H
#define SYS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Call this first. The child gets a name of its own, ignores signals meant for its parent, and is
 * killed when the thread that forked it ends. Returns false if the parent is gone already. */
bool child_begin(const char *name, pid_t parent);

/* Close all descriptors except the standard ones and `fd`, which becomes CHILD_FD. */
#define CHILD_FD 3
void child_keep_fd(int fd);

/* Give other processes priority: the child gets about a tenth of a busy processor, and idle time.
 * The kernel kills it first when memory runs out. */
void child_step_back(void);

/* child_step_back() with idle time only, which may be none for long. Unlike with the lowest
 * priority, a process that wakes up never waits for the child to use up its time slice. */
void child_take_leftovers(void);

#endif
