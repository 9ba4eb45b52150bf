/*
 * The queue command that a request runs: its own, or the one that QLESS or a script names.
 *
 * The checks before a command runs need it: admission, and the limits of a transaction.
 */
#ifndef COMMAND_INNER_H
#define COMMAND_INNER_H

#include <stddef.h>

#include "command/request.h"

struct inner_command {
	const struct command *row;    /* NULL: QLESS or the script names no queue command */
	const struct qless_str *args; /* without the name and the time */
	size_t count;
};

/* A command that names no other is itself the result. Scripts that only read are such commands. */
struct inner_command inner_find(const struct request *req);

#endif
