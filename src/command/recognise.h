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

#include "util/str.h"

enum script_kind {
	SCRIPT_UNKNOWN, /* not a script of a queue system we know */
	SCRIPT_ANCIENT, /* qless when `put` did not take a worker: same names, other arguments */
	SCRIPT_CLASSIC, /* qless: put, pop, complete ... */
	SCRIPT_REQLESS, /* its successor: queue.put, queue.pop, job.complete ... */
};

/* Takes time in proportion to the text. */
enum script_kind recognise_script(struct qless_str script);

/* What to tell a client whose script is not run; NULL for one that is. */
const char *recognise_refusal(enum script_kind kind);

#endif
