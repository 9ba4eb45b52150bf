/*
 * The inside of a user, for acl*.c only.
 */
#ifndef COMMAND_ACL_INT_H
#define COMMAND_ACL_INT_H

#include <stdint.h>

#include "command/acl.h"

#define ACL_DIGEST_BYTES 32 /* SHA-256 */

struct acl_digest {
	unsigned char bytes[ACL_DIGEST_BYTES];
};

/*
 * A current rule about commands: `category` is the bit of a category, or -1 if the rule is about
 * the command in `row`.
 */
struct acl_choice {
	bool allow;
	int category;
	int row;
};

/* A pattern of names, and the kinds of access that it allows. Patterns of channels have none. */
struct acl_pattern {
	unsigned access; /* enum acl_access */
	size_t len;
	char *text;
};

/*
 * The names that a user may use: all of them, or those that match a pattern.
 *
 * If no rule since the user was new decided about it, `is_decided` is false. Only while rules are
 * applied does that happen; then acl_user_settle() decides.
 */
struct acl_patterns {
	bool is_decided;
	bool all;
	int count;
	struct acl_pattern *items;
};

/*
 * A user has its permissions twice: as a bit for each row of the command table, which is tested
 * before every command, and as the shortest list of rules with the same meaning, which
 * administrators read. The list begins with everything or nothing (`base`); choices follow.
 */
struct user {
	const struct command_table *table; /* borrowed */
	char *name;
	size_t name_len;
	bool enabled;
	bool no_password;
	struct acl_digest *passwords;
	int password_count;
	uint64_t *allowed;
	bool base;
	struct acl_choice *choices;
	int choice_count;
	struct acl_patterns keys;     /* of queues, and of the ql:* keys */
	struct acl_patterns channels; /* of channels and of patterns of channels */
	bool is_limited;	      /* to some keys or to some channels */
};

/* Returns a user that is off, has no password and may run nothing. Copies the name, borrows the
 * table. */
struct user *acl_user_new(const struct command_table *table, struct qless_str name);
void acl_user_free(struct user *user);
/* Copies everything but the name. */
void acl_user_copy(struct user *to, const struct user *from);

/* Ends a list of rules. Without a rule about keys, the user may use all of them. Without a rule
 * about channels, the user may use all of them if it may use all keys, and none otherwise. */
void acl_user_settle(struct user *user);

void acl_digest_password(struct qless_str password, struct acl_digest *ret_digest);

/* Applies one rule. Returns NULL, or says what is wrong and leaves the user unchanged. */
const char *acl_rule_apply(struct user *user, struct qless_str rule);

/* ---- patterns (acl_pattern.c) ---- */

void acl_patterns_copy(struct acl_patterns *to, const struct acl_patterns *from);
void acl_patterns_done(struct acl_patterns *patterns);

/* Back to a state in which no rule has decided. */
void acl_patterns_forget(struct acl_patterns *patterns);
void acl_patterns_allow_all(struct acl_patterns *patterns);
void acl_patterns_allow_none(struct acl_patterns *patterns);

/* Apply the rule `~pattern` or `%RW~pattern`, and `&pattern`. Each returns NULL, or says what is
 * wrong. */
const char *acl_rule_apply_key(struct user *user, struct qless_str rule);
const char *acl_rule_apply_channel(struct user *user, struct qless_str rule);

#endif
