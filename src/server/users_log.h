/*
 * Users that are set at run time: they are part of the state, so the log keeps them.
 *
 * The configuration makes users at the start. If ACL SETUSER or ACL DELUSER changes a user, that
 * change takes precedence over the configuration, also after a restart. CONFIG REWRITE writes all
 * users to the configuration. From then on a user is as configured, until it is changed at run time
 * again.
 *
 * An operator who cannot log in any more adds a user with a new name to the configuration, and
 * restarts.
 */
#ifndef SERVER_USERS_LOG_H
#define SERVER_USERS_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "operation/operation.h"
#include "util/str.h"

struct acl;
struct buf;
struct server;
struct users_log;

/* Takes the users that the configuration makes. */
struct users_log *users_log_new(struct acl *configured, uint64_t hash_seed);
void users_log_free(struct users_log *u);

/* A user was set or deleted at run time. For struct command_env; `arg` is the server. */
void users_log_note_change(void *arg, struct qless_str name);
/* CONFIG SET requirepass has set the password of the default user. */
void users_log_note_password(struct server *s, struct qless_str password);
/* CONFIG REWRITE has written the users to the configuration. Takes the users that it makes, or
 * NULL. */
void users_log_note_rewrite(struct server *s, struct acl *configured);

/* The configuration was read again. Takes the users that it makes now. Those that were changed at
 * run time stay as they are. */
void users_log_reconfigure(struct server *s, struct acl *configured);

/* For a snapshot: append an operation for each user that was changed at run time. */
void users_log_save(struct server *s, struct buf *out);

/* All users are as configured again, because the state is loaded anew. */
void users_log_forget(struct server *s);
/* While loading: apply an operation about a user. Negative, with a sentence in `ret_error`, if that
 * cannot be done. */
int users_log_apply(struct server *s, const struct operation *op, struct buf *ret_error);
/* The log has been read, and can be written to. */
void users_log_loaded(struct server *s);

#endif
