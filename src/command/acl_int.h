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
};

/* Returns a user that is off, has no password and may run nothing. Copies the name, borrows the
 * table. */
struct user *acl_user_new(const struct command_table *table, struct qless_str name);
void acl_user_free(struct user *user);
/* Copies everything but the name. */
void acl_user_copy(struct user *to, const struct user *from);

void acl_digest_password(struct qless_str password, struct acl_digest *ret_digest);

/* Applies one rule. Returns NULL, or says what is wrong and leaves the user unchanged. */
const char *acl_rule_apply(struct user *user, struct qless_str rule);

#endif
