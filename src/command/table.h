/*
 * The table of commands: finding a row by name, and checking a request against it.
 */
#ifndef COMMAND_TABLE_H
#define COMMAND_TABLE_H

#include <stdbool.h>

#include "command/command.h"

struct buf;

/* No name in the table may be longer, parent and subcommand together. */
#define COMMAND_NAME_MAX 64

/* Copies the rows of all parts, and borrows their texts for as long as the table lives. A name that
 * stands twice, or a subcommand without its container, is a defect of the rows and ends the
 * process.
 */
struct command_table *command_table_new(const struct command_rows *parts, size_t count);
void command_table_free(struct command_table *t);

int command_table_count(const struct command_table *t);
const struct command *command_table_row(const struct command_table *t, int index);
/* The position of a row: 0 .. count-1. */
int command_table_index(const struct command_table *t, const struct command *cmd);

/* Find a command by name, "parent|sub" included; upper and lower case are the same. NULL if there
 * is none. */
const struct command *command_table_find(const struct command_table *t, struct qless_str name);
/* Find a queue command by its name, in which upper and lower case differ. NULL if there is none. */
const struct command *command_table_find_queue(const struct command_table *t,
					       struct qless_str name);
/* The container of a subcommand; NULL for a command that is none. */
const struct command *command_table_parent(const struct command_table *t,
					   const struct command *cmd);
/* The subcommands of a container are consecutive rows: from *ret_first, as many as returned. */
int command_table_subcommands(const struct command_table *t, const struct command *container,
			      int *ret_first);

/* Whether a command with these arguments, those behind its name, makes the state grow: its row has
 * CMD_DENYOOM, and of its forms this is one that does. */
bool command_grows(const struct command *cmd, const struct qless_str *args, size_t count);

/*
 * Find the row that a request names, its subcommand included. A container with nothing behind it is
 * itself what is named. NULL if there is no such command; *ret_name_args, which says how many of
 * argv are the name, then is 1 if the command is unknown and 2 if it is the subcommand.
 */
const struct command *command_table_lookup(const struct command_table *t,
					   const struct qless_str *argv, int argc,
					   int *ret_name_args);

/* Append the error for a request that command_table_lookup() found no row for: there is no such
 * command, or no such subcommand. Quotes COMMAND_QUOTED_MAX bytes of each argument at most. */
void command_table_describe_unknown(const struct command_table *t, const struct qless_str *argv,
				    int argc, struct buf *error);

/* Categories of a command, those that follow from its flags included. */
unsigned command_categories(const struct command *cmd);
const char *command_category_name(int bit);
/* The bit of a category from its name without the @, in any case; -1 if there is none. */
int command_category_find(struct qless_str name);

#endif
