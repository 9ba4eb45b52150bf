/*
 * Going into the background.
 */
#ifndef SYS_DAEMON_H
#define SYS_DAEMON_H

/*
 * Leave the terminal: fork twice, start a session. Returns 0 in the process that goes on, with
 * *ret_ready_fd set, or a negative errno in the first one if it cannot fork.
 *
 * The first process does not return otherwise. It waits for the daemon and exits with 0 when that
 * calls daemon_ready(), and with 1 if it ends before: whoever started it learns the truth. Standard
 * error stays open until then, for messages about a failing start.
 *
 * Call it before there are threads, an event loop or a pid file.
 */
int daemon_detach(int *ret_ready_fd);

/* The start succeeded: connect standard input, output and error with /dev/null and let the first
 * process go. Closes the descriptor. */
void daemon_ready(int ready_fd);

#endif
