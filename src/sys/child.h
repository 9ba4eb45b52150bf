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

/* Have the kernel kill this process first when memory runs out. */
void child_be_killed_first(void);

#endif
