/*
 * The rows of this layer, from queue_commands.def and commands.def.
 */
#ifndef COMMAND_ROWS_H
#define COMMAND_ROWS_H

#include "command/command.h"

/* The queue commands, in the order of their names. */
extern const struct command_rows queue_command_rows;
/* All other commands of this layer. */
extern const struct command_rows layer_command_rows;

/* Finds a queue command by its name in lower case; NULL if there is none. Works without a table,
 * which is faster. */
const struct command *queue_command_find(struct qless_str name);

#endif
