/*
 * Foreign commands: those of Redis that people and libraries send to qlessd, which does not have
 * them. The error says in one sentence what qlessd is, and what to use.
 */
#ifndef COMMAND_FOREIGN_H
#define COMMAND_FOREIGN_H

#include "util/str.h"

/* The beginning of such a sentence. */
#define FOREIGN_IS "qlessd is a server for job queues, not a Redis database"

/* Returns what to do instead of a command, such as "use PUT to add a job". The case of the name
 * does not matter. NULL: the command is unknown here, too. */
const char *foreign_advice(struct qless_str name);

#endif
