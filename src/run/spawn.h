/*
 * Starting a program: in a session of its own, with its streams, and tied to this process.
 */
#ifndef RUN_SPAWN_H
#define RUN_SPAWN_H

#include <sys/types.h>

struct spawn {
	const char *path;
	char *const *argv;
	char *const *environment;
	int streams[3]; /* standard input, output and error of the program; none of them is below 3
			 */
};

/* Starts the program without copying this process. The kernel kills the program when this process
 * dies. Returns 0, or a negative errno if the program cannot be started. */
int spawn_program(const struct spawn *spawn, pid_t *ret_pid);

/* The path of a program, found as execvp(3) does. The caller frees it. NULL if there is none that
 * this user may execute; errno says why. */
char *spawn_find(const char *name);

#endif
