/*
 * Users and what they may do.
 *
 * A subset of Redis's access lists: a user is on or off, has passwords of which only the SHA-256 is
 * kept, and may run some commands. Rules are applied from left to right, each to what the ones
 * before it left. There are no patterns for keys and channels: `~*`, `&*` and their names are
 * accepted and say what is the case anyway; other patterns are refused. `resetkeys` and
 * `resetchannels`, with which most lists made for Redis begin, are accepted and change nothing.
 */
#ifndef COMMAND_ACL_H
#define COMMAND_ACL_H

#include <stdbool.h>
#include <stddef.h>

#include "command/command.h"

struct buf;
struct user;

#define ACL_MAX_USERS	       1024
#define ACL_MAX_PASSWORDS      64 /* of one user */
#define ACL_MAX_NAME_BYTES     256
#define ACL_MAX_PASSWORD_BYTES 4096

/* A list of users with one, `default`, who is on, needs no password and may do everything. Borrows
 * the table. */
struct acl *acl_new(const struct command_table *table);
void acl_free(struct acl *acl);

/*
 * Create or change a user. All rules are applied or, if one is wrong, none: then false, and `error`
 * says which and why, as a sentence without a code word. The text of a password is not in it.
 *
 * A new user is off, has no password and may run nothing. Pointers to a user stay good until it is
 * deleted.
 */
bool acl_set_user(struct acl *acl, struct qless_str name, const struct qless_str *rules, int count,
		  struct buf *error);
/* False if there is no such user, or it is `default`, which cannot be deleted. Sessions of the user
 * must be ended by the caller first. */
bool acl_delete_user(struct acl *acl, struct qless_str name);
const struct user *acl_find(const struct acl *acl, struct qless_str name);
const struct user *acl_default_user(const struct acl *acl);
int acl_count(const struct acl *acl);
/* In the order of names. */
const struct user *acl_user_at(const struct acl *acl, int index);

/* Make the user of that name all that `like` is, which is of another list. */
void acl_set_like(struct acl *acl, const struct user *like);

/* What requirepass sets: the one password of `default`; an empty text means that none is needed. */
void acl_set_default_password(struct acl *acl, struct qless_str password);

/* The user of that name if it is on and the password is one of its own (or it needs none), else
 * NULL. Takes the same time whatever the password, and whether or not the user exists. */
const struct user *acl_authenticate(const struct acl *acl, struct qless_str name,
				    struct qless_str password);
/* True if a connection is taken for this user without AUTH: it is on and needs no password. */
bool acl_user_needs_no_password(const struct user *user);

bool acl_user_is_enabled(const struct user *user);
struct qless_str acl_user_name(const struct user *user);
/* Commands that run before a connection has authenticated are allowed to everyone. */
bool acl_may_run(const struct user *user, const struct command_table *table,
		 const struct command *cmd);

/* Whether or not the user is on. */
bool acl_user_has_nopass(const struct user *user);
int acl_user_password_count(const struct user *user);

/* The rules that make this user of a new one, or of any other behind `reset`, as ACL LIST shows
 * them and acl_set_user() takes them, without "user" and the name. Always the same text for the
 * same user. */
void acl_describe(const struct user *user, struct buf *out);
/* The part of acl_describe() that is about commands. */
void acl_describe_commands(const struct user *user, struct buf *out);
/* The SHA-256 of one of the passwords, in hexadecimal. */
void acl_describe_password(const struct user *user, int index, struct buf *out);

/* A text, with a NUL behind it, that is the same for two users if and only if they are the same but
 * for their names, and says no more about them. NULL, no user, has one as well. */
#define ACL_FINGERPRINT_BYTES 16
void acl_fingerprint(const struct user *user, char to[ACL_FINGERPRINT_BYTES + 1]);

#endif
