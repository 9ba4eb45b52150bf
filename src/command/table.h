/*
 * The table of commands: it finds the row of a name or of a request.
 */
#ifndef COMMAND_TABLE_H
#define COMMAND_TABLE_H

#include <stdbool.h>

#include "command/command.h"

struct buf;

/* Longest name in the table, with parent and subcommand, in bytes. */
#define COMMAND_NAME_MAX 64

/* Copies the rows of all parts, and borrows their texts for as long as the table lives. Asserts
 * that each name is unique, and that a subcommand follows its container. */
struct command_table *command_table_new(const struct command_rows *parts, size_t count);
void command_table_free(struct command_table *t);

int command_table_count(const struct command_table *t);
const struct command *command_table_row(const struct command_table *t, int index);
/* Returns the index of a row of the table, from 0 to count - 1. */
static inline int command_table_index(const struct command_table *t, const struct command *cmd)
{
	(void)t;
	return cmd->index;
}

/* Finds a command by its name in any case, such as "client|list"; NULL if there is none. */
const struct command *command_table_find(const struct command_table *t, struct qless_str name);
/* Finds a queue command by its name in lower case; NULL if there is none. */
const struct command *command_table_find_queue(const struct command_table *t,
					       struct qless_str name);
/* Append what a request for the command looks like: ` (expected: PEEK queue count)`. */
void command_append_expected(const struct command *cmd, struct buf *out);
/* Returns the container of a subcommand; NULL for any other command. */
const struct command *command_table_parent(const struct command_table *t,
					   const struct command *cmd);
/* Returns the number of subcommands of a container. Their rows follow each other from *ret_first
 * on.
 */
int command_table_subcommands(const struct command_table *t, const struct command *container,
			      int *ret_first);

/* Returns whether a command with these arguments, its name not included, makes the state grow. Some
 * commands with CMD_DENYOOM do so only with a certain first or second argument. */
bool command_grows(const struct command *cmd, const struct qless_str *args, size_t count);

/* Returns whether nobody may be shown the arguments of a request: its command has CMD_SECRET, or it
 * names another request, as ACL DRYRUN and COMMAND GETKEYS do, whose arguments are secret. */
bool command_is_secret(const struct command_table *t, const struct qless_str *argv, int argc);

/* Returns whether this form of a command with CMD_WRITE changes nothing: TAG get, TAG top, and
 * TRACK without arguments only list. */
bool command_is_listing(const struct command *cmd, const struct qless_str *args, size_t count);

/* Returns whether a command with these arguments may change the state: its row has CMD_WRITE, and
 * this form of the command does not only list. */
bool command_changes(const struct command *cmd, const struct qless_str *args, size_t count);

/*
 * Finds the row of a request, which may name a subcommand. A container without further arguments is
 * found itself. *ret_name_args is the number of arguments that make up the name. If the result is
 * NULL it is 1 for an unknown command and 2 for an unknown subcommand.
 */
const struct command *command_table_lookup(const struct command_table *t,
					   const struct qless_str *argv, int argc,
					   int *ret_name_args);

/* Appends the error for a request without a row: its command or its subcommand is unknown. Quotes
 * at most COMMAND_QUOTED_MAX bytes of each argument. */
void command_table_describe_unknown(const struct command_table *t, const struct qless_str *argv,
				    int argc, struct buf *error);

/* Returns the categories of a command, with those that its flags imply. */
unsigned command_categories(const struct command *cmd);
const char *command_category_name(int bit);
/* Returns the bit of a category by its name without the @, in any case; -1 if there is none. */
int command_category_find(struct qless_str name);

#endif
