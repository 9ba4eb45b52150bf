/*
 * A running program and its streams.
 */
#ifndef RUN_PROGRAM_H
#define RUN_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "util/buf.h"

struct program {
	pid_t pid;     /* 0 if none was started */
	bool is_alive; /* its end was not noticed yet */
	int status;    /* of waitpid(), when it has ended */
	/* Ends of pipes that do not block; -1 if closed. */
	int input, output, errors;
	struct buf unsent;   /* input that the pipe has not taken yet */
	bool is_input_whole; /* nothing follows, so the input is closed when all is sent */
};

void program_init(struct program *p);
/* Closes the streams. The process is left alone. */
void program_done(struct program *p);

/* Starts a program after the one before has ended. `input` is the beginning of its standard input,
 * and all of it if `is_whole`. Returns 0 or a negative errno; then there is no program. */
int program_start(struct program *p, const char *path, char *const *argv, char *const *environment,
		  struct qless_str input, bool is_whole);

/* More input. */
void program_give(struct program *p, struct qless_str input);
/* Send more of the input that waits. */
void program_feed(struct program *p);
void program_end_input(struct program *p);

/* Read what a stream has now, up to `max` bytes. Returns 0 if it has nothing, or has ended; then it
 * is closed. */
size_t program_read(int *stream, char *to, size_t max);

/* Send a signal to the program and the processes of its group. */
void program_signal(const struct program *p, int number);

#endif
