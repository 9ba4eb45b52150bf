/*
 * Converts between the access list and the `user` lines of the configuration.
 */
#ifndef SERVER_USERS_H
#define SERVER_USERS_H

#include "server/server_int.h"

/* Make the users that requirepass and the `user` lines define. Returns NULL with a reason in
 * `ret_error` if a line is invalid. */
struct acl *users_load(const struct config *config, const struct command_table *table,
		       struct buf *ret_error);

/* Replace the `user` lines by the current users. A default user that is as requirepass makes it
 * gets no line. */
void users_store(struct config *config, const struct acl *acl, const struct command_table *table);

#endif
