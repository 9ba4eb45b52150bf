/*
 * Going into the background.
 */
#ifndef SYS_DAEMON_H
#define SYS_DAEMON_H

/*
 * Detach from the terminal: fork twice and start a session. Returns 0 in the daemon, with
 * *ret_ready_fd set. Returns a negative errno in the first process if it cannot fork.
 *
 * Otherwise the first process does not return. It waits for the daemon, and exits with 0 when that
 * calls daemon_ready(), or with 1 if the daemon ends first. So the exit code tells whether the
 * start succeeded. Standard error stays open until then, for messages about a failed start.
 *
 * Call it before there are threads, an event loop or a pid file.
 */
int daemon_detach(int *ret_ready_fd);

/* The start succeeded: connect standard input, output and error to /dev/null, and let the first
 * process exit. Closes the descriptor. */
void daemon_ready(int ready_fd);

#endif
