/*
 * A qlessd for a test, started in a temporary directory on a free port and on a Unix socket, and
 * stopped at the end of the test. The environment variable QLESSD is the path of its executable.
 */
#ifndef TESTS_QLESSD_H
#define TESTS_QLESSD_H

#include <stdbool.h>
#include <sys/types.h>

#include "tempdir.h"

#define QLESSD_PATH_MAX 100 /* of the path of a Unix socket */

struct qlessd {
	pid_t pid; /* 0 if it does not run; -1 if the test did not start it */
	int port;
	struct tempdir dir;
	char socket_path[QLESSD_PATH_MAX]; /* in `dir`, unless set before the start */
	char log_path[QLESSD_PATH_MAX];	   /* its standard output and error */
	unsigned long max_files;	   /* limit of open files; 0 for the usual one */
	bool may_load;			   /* the start does not wait until the log is loaded */
};

/* Remove `--addr host:port` from the arguments of main(). Tests without special configuration then
 * use the server at that address. */
void qlessd_take_args(int *argc, char **argv);

/* Start with additional arguments, such as "--timeout", "1", and wait until it is ready. NULL ends
 * the arguments. */
void qlessd_start_with(struct qlessd *q, const char *const *args);
#define QLESSD_START(q, ...) qlessd_start_with(q, (const char *const[]){ __VA_ARGS__, NULL })
/* Start with all defaults. */
void qlessd_start(struct qlessd *q);

/* Start again with the same directory and port, after its end was waited for. */
void qlessd_start_again(struct qlessd *q, const char *const *args);

/* Stop it, and fail the test unless its exit code is 0. Does nothing if it does not run. */
void qlessd_stop(struct qlessd *q);
/* Wait for its end, and return the status of waitpid(). The files stay until qlessd_stop(). */
int qlessd_wait(struct qlessd *q);

/* Pause it, so that everything sent in the meantime has arrived when it continues. */
void qlessd_halt(const struct qlessd *q);
void qlessd_go_on(const struct qlessd *q);

/* Whether its log so far contains this text. */
bool qlessd_has_logged(const struct qlessd *q, const char *text);

/* Run qlessd to its end. Returns its exit code. *ret_output is all its output, which the caller
 * frees. */
int qlessd_run(const char *const *args, char **ret_output);
#define QLESSD_RUN(ret_output, ...) \
	qlessd_run((const char *const[]){ __VA_ARGS__, NULL }, ret_output)

/* A TCP port that is free, and that no other test gets while this one runs. tests/lib/ports.py does
 * the same. */
int qlessd_free_port(void);

/* Whether it was built with sanitizers, which take memory and time. */
bool qlessd_is_sanitized(void);

/* A number from a line "Name: 123 ..." of /proc/<pid>/status. */
long qlessd_proc_status(const struct qlessd *q, const char *name);

#endif
