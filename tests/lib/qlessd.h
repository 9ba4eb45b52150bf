/*
 * A qlessd of a test's own: started in a temporary directory, on a port that was free and on a Unix
 * socket, and stopped when the test is over. Where the executable is, the environment variable
 * QLESSD says.
 */
#ifndef TESTS_QLESSD_H
#define TESTS_QLESSD_H

#include <stdbool.h>
#include <sys/types.h>

#include "tempdir.h"

#define QLESSD_PATH_MAX 100 /* of the path of a Unix socket */

struct qlessd {
	pid_t pid; /* 0 when it does not run; -1 for one that is not ours */
	int port;
	struct tempdir dir;
	char socket_path[QLESSD_PATH_MAX]; /* in `dir`, unless set before the start */
	char log_path[QLESSD_PATH_MAX];	   /* its standard output and error */
	unsigned long max_files;	   /* the limit it is started with; 0 for what is usual */
	bool may_load; /* a start is over as soon as it answers, not when it has loaded its log */
};

/* Take `--addr host:port` out of the arguments of main(): tests that need no server of a certain
 * configuration then use the one that listens there. */
void qlessd_take_args(int *argc, char **argv);

/* Start one with further arguments, such as "--timeout", "1", and wait until it serves. Arguments
 * end with NULL. */
void qlessd_start_with(struct qlessd *q, const char *const *args);
#define QLESSD_START(q, ...) qlessd_start_with(q, (const char *const[]){ __VA_ARGS__, NULL })
/* With all defaults. */
void qlessd_start(struct qlessd *q);

/* Start one that has ended, and whose end has been waited for: with the same directory and port. */
void qlessd_start_again(struct qlessd *q, const char *const *args);

/* Stop it, and fail the test unless it ends well. Does nothing if it does not run. */
void qlessd_stop(struct qlessd *q);
/* Wait for its end; returns what waitpid() says of it. Files of the test stay until
 * qlessd_stop(). */
int qlessd_wait(struct qlessd *q);

/* Let it do nothing for a while, so that what is sent meanwhile is there when it goes on. */
void qlessd_halt(const struct qlessd *q);
void qlessd_go_on(const struct qlessd *q);

/* What it has logged so far has this text. */
bool qlessd_has_logged(const struct qlessd *q, const char *text);

/* Run qlessd to its end. Returns its exit status; *ret_output, to be freed, is all it wrote. */
int qlessd_run(const char *const *args, char **ret_output);
#define QLESSD_RUN(ret_output, ...) \
	qlessd_run((const char *const[]){ __VA_ARGS__, NULL }, ret_output)

/* A TCP port that nobody has at the moment. */
int qlessd_free_port(void);

/* It has been built with sanitizers, which take memory and time. */
bool qlessd_is_sanitized(void);

/* A number from a line "Name:  123 ..." of /proc/<pid>/status. */
long qlessd_proc_status(const struct qlessd *q, const char *name);

#endif
