/*
 * A user from the inside, for the files of the access list only.
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
 * A rule about commands that is still in force: `category` is the bit of one, or -1 for the command
 * in `row`.
 */
struct acl_choice {
	bool allow;
	int category;
	int row;
};

/*
 * What a user may run is known twice: as a bit for each row of the table, which is what is asked
 * before every command, and as the shortest list of rules that says the same, which is what
 * administrators read. The list is all or nothing (`base`) and the choices made since.
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

/* A user that is off, has no password and may do nothing. Copies the name, borrows the table. */
struct user *acl_user_new(const struct command_table *table, struct qless_str name);
void acl_user_free(struct user *user);
/* Make `to` all that `from` is, but for the name. */
void acl_user_copy(struct user *to, const struct user *from);

void acl_digest_password(struct qless_str password, struct acl_digest *ret_digest);

/* Apply one rule. NULL if that worked; else the user is as it was and the text says why. */
const char *acl_rule_apply(struct user *user, struct qless_str rule);

#endif
