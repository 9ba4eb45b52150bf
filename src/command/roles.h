/*
 * Roles: categories of permissions by what a user is for, such as a worker.
 *
 * A role has everything that its user needs, also the commands that client libraries send by
 * themselves. So one line of qlessd.conf makes such a user: `user mail on #... +@worker`. Commands
 * inside QLESS and scripts are judged by their own rows.
 */
#ifndef COMMAND_ROLES_H
#define COMMAND_ROLES_H

/* Returns the roles that have the command, as bits of enum command_category. */
unsigned roles_of_command(const char *name);

#endif
