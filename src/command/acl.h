/*
 * Users and what they may do.
 *
 * This is a subset of Redis's access lists. A user is on or off, has passwords (only their SHA-256
 * is kept), and may run some commands. Rules are applied from left to right, each to the result of
 * the rules before it.
 *
 * Patterns of keys limit a user to queues with certain names, and to the jobs in them. They also
 * match the names of the ql:* keys. Patterns of channels limit what a user may publish and
 * subscribe to. A user without any rule about keys may use all of them, unlike in Redis: users of
 * older versions have no such rules. This module knows only names; permit.h decides about requests.
 */
#ifndef COMMAND_ACL_H
#define COMMAND_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/command.h"

struct buf;
struct acl;
struct command_table;
struct user;

#define ACL_MAX_USERS	       1024
#define ACL_MAX_PASSWORDS      64 /* of one user */
#define ACL_MAX_NAME_BYTES     256
#define ACL_MAX_PASSWORD_BYTES 4096
#define ACL_MAX_PATTERNS       256 /* of keys, and of channels, of one user */

/* Returns a list with one user, `default`, which is on, needs no password and may run everything.
 * Borrows the table. */
struct acl *acl_new(const struct command_table *table);
void acl_free(struct acl *acl);

/*
 * Creates or changes a user. If a rule is wrong, no rule is applied, the function returns false,
 * and `error` says which rule is wrong and why, as a sentence without a code word. The sentence
 * never contains a password.
 *
 * A new user is off, has no password and may run nothing. If the rules of a new user say nothing
 * about keys, it may use all of them. If they say nothing about channels, either, it may use all
 * channels; with patterns of keys alone, none. Pointers to a user stay valid until it is
 * deleted.
 */
bool acl_set_user(struct acl *acl, struct qless_str name, const struct qless_str *rules, int count,
		  struct buf *error);
/* Returns false if there is no such user, and for `default`, which cannot be deleted. The caller
 * must end the user's sessions first. */
bool acl_delete_user(struct acl *acl, struct qless_str name);
const struct user *acl_find(const struct acl *acl, struct qless_str name);
const struct user *acl_default_user(const struct acl *acl);
int acl_count(const struct acl *acl);
/* Users are in the order of their names. */
const struct user *acl_user_at(const struct acl *acl, int index);

/* Gives the user of that name all rules and passwords of `like`, a user of another list. */
void acl_set_like(struct acl *acl, const struct user *like);

/* Sets the only password of `default`, as requirepass does. With an empty text it needs none. */
void acl_set_default_password(struct acl *acl, struct qless_str password);

/* Returns the user of that name if it is on and has this password (or needs none), otherwise NULL.
 * The time this takes depends neither on the password nor on whether the user exists. */
const struct user *acl_authenticate(const struct acl *acl, struct qless_str name,
				    struct qless_str password);
/* Returns the only user that is on and has this password, or NULL if there is none or another one.
 */
const struct user *acl_find_by_password(const struct acl *acl, struct qless_str password);
/* A number that changes whenever a user does, or is deleted. */
uint64_t acl_generation(const struct acl *acl);
/* Whether a connection gets this user without AUTH: the user is on and needs no password. */
bool acl_user_needs_no_password(const struct user *user);

bool acl_user_is_enabled(const struct user *user);
struct qless_str acl_user_name(const struct user *user);
/* Every user may run the commands that a connection may send before it has authenticated. */
bool acl_may_run(const struct user *user, const struct command_table *table,
		 const struct command *cmd);

/* The answer to whether a user may run a command. */
enum acl_answer {
	ACL_NO,
	ACL_YES,
	ACL_LIMITED, /* on some keys and channels only; see permit.h */
};

enum acl_answer acl_judge(const struct user *user, const struct command_table *table,
			  const struct command *cmd);

/* The kinds of access to a key. */
enum acl_access {
	ACL_READ = 1 << 0,
	ACL_WRITE = 1 << 1,
};

/* A user that may do nothing. It is in no list and has no name. */
const struct user *acl_nobody(void);

/* Whether the user may only use keys that match its patterns. */
bool acl_limits_keys(const struct user *user);
/* Whether the user may use a queue or a key of that name in these ways. A pattern allows names that
 * begin with "ql:" only if it begins so, too, or is "*". */
bool acl_may_use_key(const struct user *user, struct qless_str name, unsigned access);
/* Whether the user may use some key in these ways, or some channel. */
bool acl_may_use_some_key(const struct user *user, unsigned access);
bool acl_may_use_some_channel(const struct user *user);

/* Whether the user may publish on a channel, or subscribe to it. */
bool acl_may_use_channel(const struct user *user, struct qless_str channel);
/* Whether the user may subscribe to a pattern. As in Redis, the user needs this very pattern. */
bool acl_may_use_pattern(const struct user *user, struct qless_str pattern);

/* Whether the user may publish events. The server publishes its events on channels that begin
 * with "ql:". A user may publish there only after the rule +@events, which +@all does not include:
 * subscribers take such messages for events. */
bool acl_may_publish(const struct user *user, struct qless_str channel);

/* Whether the user may abort any job it can change, see JOB.ABORT: after the rule +@all or
 * +@supervise. */
bool acl_may_supervise(const struct user *user);

/* Whether the user needs no password, on or off. */
bool acl_user_has_nopass(const struct user *user);
int acl_user_password_count(const struct user *user);

/* Appends the rules that turn a new user, or any user after `reset`, into this one. ACL LIST shows
 * them and acl_set_user() takes them, without "user" and the name. Equal users give equal text. */
void acl_describe(const struct user *user, struct buf *out);
/* Append the parts of acl_describe() that are about commands, keys and channels. The parts about
 * keys and channels are empty if the user may use none. */
void acl_describe_commands(const struct user *user, struct buf *out);
void acl_describe_keys(const struct user *user, struct buf *out);
void acl_describe_channels(const struct user *user, struct buf *out);
/* Appends the SHA-256 of one of the passwords, in hexadecimal. */
void acl_describe_password(const struct user *user, int index, struct buf *out);

/* Writes a text with a NUL at its end. Two users have the same text if and only if they differ in
 * nothing but their names; the text reveals nothing else. NULL, no user, has a fingerprint, too. */
#define ACL_FINGERPRINT_BYTES 16
void acl_fingerprint(const struct user *user, char to[ACL_FINGERPRINT_BYTES + 1]);

#endif
