/*
 * Which API a script brings.
 *
 * Clients of qless carry the Lua text of the whole queue system with them and have the server run
 * it. Here the text is only looked at, to know what the client is going to ask for. There are
 * hundreds of versions of it, with comments and without, joined from parts in many ways, and forks
 * that add commands; so a text is known by what it defines, never by its hash:
 *
 *	API.put = function(now, me, queue, jid, klass, data, delay, ...)
 *	function API.pop(now, queue, worker, count)
 *	API['complete'] = function ...
 *	... API[command_name] ...
 *
 * a table, whatever its name, to which the commands of a job's life are assigned and from which one
 * is taken by a variable; and the prefix `ql:` somewhere in a string.
 */
#ifndef COMMAND_RECOGNISE_H
#define COMMAND_RECOGNISE_H

#include <stddef.h>

#include "util/str.h"

enum script_kind {
	SCRIPT_UNKNOWN, /* not a script of a queue system we know */
	/* qless before 0.10: a table whose `put` takes no worker, or a file for each command */
	SCRIPT_ANCIENT,
	SCRIPT_CLASSIC, /* qless: put, pop, complete ... */
	SCRIPT_REQLESS, /* its successor: queue.put, queue.pop, job.complete ... */
};

/* Takes time in proportion to the text. */
enum script_kind recognise_script(struct qless_str script);

/* Names longer than this, and more of them, go unnoticed. */
#define SCRIPT_NAME_BYTES_MAX 64
#define SCRIPT_NAMES_MAX      128

struct script_names {
	struct qless_str items[SCRIPT_NAMES_MAX]; /* slices of the script */
	size_t count;
};

/* What a script has, by the names of it. */
struct script_parts {
	struct script_names commands; /* functions in the table that commands are taken from */
	/* What its `put` looks for among its last arguments: the names by which a variable is
	 * indexed or with which it is compared, if at least two are options known to all. */
	struct script_names put_options;
};

void recognise_parts(struct qless_str script, struct script_parts *ret_parts);

/* What to tell a client whose script is not run; NULL for one that is. */
const char *recognise_refusal(enum script_kind kind);

#endif
