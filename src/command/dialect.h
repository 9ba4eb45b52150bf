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
#ifndef COMMAND_DIALECT_H
#define COMMAND_DIALECT_H

#include "util/str.h"

enum dialect {
	DIALECT_NONE,	 /* not a script of a queue system we know */
	DIALECT_ANCIENT, /* qless when `put` did not take a worker: same names, other arguments */
	DIALECT_CLASSIC, /* qless: put, pop, complete ... */
	DIALECT_REQLESS, /* its successor: queue.put, queue.pop, job.complete ... */
};

/* Takes time in proportion to the text. */
enum dialect dialect_recognise(struct qless_str script);

/* What to tell a client whose script is not run; NULL for a dialect that is. */
const char *dialect_refusal(enum dialect dialect);

#endif
