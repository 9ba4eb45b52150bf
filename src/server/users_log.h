/*
 * Users that are set at run time: in the log, and back from there.
 *
 * There are two places that say what a user is, the configuration and the log, and the later change
 * counts. So what is recorded of a user says also what the configuration had made of it: if that is
 * the same at the next start, the log goes over the configuration; if somebody has edited it since,
 * the configuration goes over the log. CONFIG REWRITE makes both say the same.
 */
#ifndef SERVER_USERS_LOG_H
#define SERVER_USERS_LOG_H

#include <stdbool.h>

#include "journal/record.h"
#include "util/str.h"

struct acl;
struct buf;
struct server;
struct users_log;

/* Takes the users that the configuration makes. */
struct users_log *users_log_new(struct acl *configured);
void users_log_free(struct users_log *u);

/* A user was set or deleted. For struct command_env; `arg` is the server. */
void users_log_note_change(void *arg, struct qless_str name);
/* CONFIG SET requirepass. */
void users_log_note_password(struct server *s, struct qless_str password);
/* The configuration says now what users there are. Takes what it makes. */
void users_log_note_rewrite(struct server *s, struct acl *configured);

/* For a base: call `record` for whoever is not as the configuration makes it. */
void users_log_save(struct server *s,
		    void (*record)(void *arg, const struct record_command *command), void *arg);

/* While loading. Whether a record is about a user; apply it, negative with a sentence in
 * `ret_error` if that cannot be done. */
bool users_log_is_record(struct qless_str name);
int users_log_apply(struct server *s, const struct record_command *command, struct buf *ret_error);
/* The log has been read, and can be written to. */
void users_log_loaded(struct server *s);

#endif
