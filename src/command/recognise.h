/*
 * Recognises the API that a script defines.
 *
 * Clients of qless carry the Lua text of the whole queue system and have the server run it. qlessd
 * only looks at the text, to know which commands the client will send. There are hundreds of
 * versions, with and without comments, joined from parts in many ways, and forks that add commands.
 * So the definitions identify a text, never its hash:
 *
 *	API.put = function(now, me, queue, jid, klass, data, delay, ...)
 *	function API.pop(now, queue, worker, count)
 *	API['complete'] = function ...
 *	... API[command_name] ...
 *
 * The script assigns the commands of a job's life to a table of any name, takes one of them by a
 * variable, and has the prefix `ql:` in a string.
 */
#ifndef COMMAND_RECOGNISE_H
#define COMMAND_RECOGNISE_H

#include <stddef.h>

#include "util/str.h"

enum script_kind {
	SCRIPT_UNKNOWN, /* not a script of a known queue system */
	/* qless before 0.10: a table whose `put` takes no worker, or a file for each command */
	SCRIPT_ANCIENT,
	SCRIPT_CLASSIC, /* qless: put, pop, complete ... */
	SCRIPT_REQLESS, /* its successor: queue.put, queue.pop, job.complete ... */
};

/* Takes time proportional to the length of the text. */
enum script_kind recognise_script(struct qless_str script);

/* Bytes of a name, and number of names. The functions below ignore what exceeds them. */
#define SCRIPT_NAME_BYTES_MAX 64
#define SCRIPT_NAMES_MAX      128

struct script_names {
	struct qless_str items[SCRIPT_NAMES_MAX]; /* slices of the script */
	size_t count;
};

/* The names of what a script defines. */
struct script_parts {
	struct script_names commands; /* functions in the table of commands */
	/* The options of its `put`: the names that index a variable, or are compared with one, if
	 * at least two of them are options of every version. */
	struct script_names put_options;
};

void recognise_parts(struct qless_str script, struct script_parts *ret_parts);

/* Returns the text for a client whose script is refused; NULL for a kind that qlessd runs. */
const char *recognise_refusal(enum script_kind kind);

#endif
