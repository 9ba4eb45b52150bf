/*
 * Between the users of the access list and the `user` lines of the configuration.
 */
#ifndef SERVER_USERS_H
#define SERVER_USERS_H

#include "server/server_int.h"

/* The users that requirepass and the `user` lines make. NULL, and the reason in `ret_error`, if a
 * line is wrong. */
struct acl *users_load(const struct config *config, const struct command_table *table,
		       struct buf *ret_error);

/* Make the `user` lines say what users there are now. A default user who is as requirepass makes
 * it needs none. */
void users_store(struct config *config, const struct acl *acl, const struct command_table *table);

#endif
