/*
 * The rows of this layer.
 */
#ifndef COMMAND_ROWS_H
#define COMMAND_ROWS_H

#include "command/command.h"

/* The queue commands, by name. */
extern const struct command_rows queue_command_rows;
/* All others of this layer. */
extern const struct command_rows layer_command_rows;

/* The queue command of that name, in which upper and lower case differ; NULL if there is none. For
 * those who have no table: a table finds it faster. */
const struct command *queue_command_find(struct qless_str name);

#endif
