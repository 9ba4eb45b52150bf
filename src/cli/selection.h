/*
 * The jobs that a command changes: those that are named, or those that match options.
 */
#ifndef CLI_SELECTION_H
#define CLI_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"

struct selection {
	struct qless_str *jids; /* with every byte as it is */
	size_t count;
	size_t cap;
	bool is_named; /* by arguments, not by options */
};

/*
 * Selects the first `named` arguments, or, without any, the jobs that the options --queue (with
 * --state and --class), --group or --tag select, up to --limit. `default_states` are the states
 * without --state; NULL: all. Returns false after a message.
 */
bool selection_make(struct cli *cli, struct selection *s, size_t named, const char *default_states);
void selection_done(struct selection *s);

/*
 * Sends a request for each job, many at a time. `make` adds the words of the request; it may add
 * none to leave the job out. `take` gets the reply, and returns whether the job was changed.
 * Returns the number of those jobs. Stops after a lost connection.
 */
typedef void selection_make_fn(void *arg, size_t index, struct query *q);
typedef bool selection_take_fn(void *arg, size_t index, const struct client_reply *reply);
size_t selection_run(struct cli *cli, const struct selection *s, selection_make_fn *make,
		     selection_take_fn *take, void *arg);

/* "3 jobs" or "1 job", in a buffer of the caller. */
#define SELECTION_TEXT_MAX 40
const char *selection_text(size_t count, char text[SELECTION_TEXT_MAX]);

#endif
