/*
 * ACL LOG: what users were recently refused, and failed logins. Equal events that follow each other
 * closely are one entry.
 */
#ifndef SERVER_ACL_LOG_H
#define SERVER_ACL_LOG_H

#include "server/client.h"

/* Bytes of a name that an entry keeps. */
#define ACL_LOG_NAME_BYTES 256

struct acl_log;

struct acl_log *acl_log_new(void);
void acl_log_free(struct acl_log *log);

/* A user lacked a permission; see struct command_env. `arg` is the server. */
void acl_log_note_denial(void *arg, const struct request *req, enum denial reason,
			 struct qless_str object);
/* A login as a user of that name failed, by the command that the client runs, or by HTTP. */
void acl_log_note_login(struct client *c, struct qless_str user);

/* Drop the oldest entries until at most `count` are left. */
void acl_log_trim(struct acl_log *log, size_t count);
size_t acl_log_count(const struct acl_log *log);

/* Handle ACL LOG. */
void acl_log_reply(struct request *req);

#endif
