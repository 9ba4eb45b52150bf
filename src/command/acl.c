#include "command/acl.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>

#include "command/acl_int.h"
#include "util/buf.h"
#include "util/hex.h"
#include "util/mem.h"

static const struct qless_str default_name = STR_INIT("default");

struct acl {
	const struct command_table *table;
	struct user *default_user;
	struct user *users[ACL_MAX_USERS]; /* in the order of names */
	int count;
	uint64_t generation;
};

/* Returns the first user whose name does not sort before this one. The number of steps does not
 * depend on whether the name exists. */
static int lower_bound(const struct acl *acl, struct qless_str name)
{
	int low = 0, high = acl->count;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (str_compare(acl_user_name(acl->users[middle]), name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct user *find_user(const struct acl *acl, struct qless_str name)
{
	int at = lower_bound(acl, name);

	return at < acl->count && str_equal(acl_user_name(acl->users[at]), name) ? acl->users[at]
										 : NULL;
}

static void insert_user(struct acl *acl, struct user *user)
{
	int at = lower_bound(acl, acl_user_name(user));

	assert(acl->count < ACL_MAX_USERS);
	memmove(&acl->users[at + 1], &acl->users[at],
		(size_t)(acl->count - at) * sizeof(acl->users[0]));
	acl->users[at] = user;
	acl->count++;
}

struct acl *acl_new(const struct command_table *table)
{
	static const struct qless_str rules[] = { STR_INIT("on"), STR_INIT("nopass"),
						  STR_INIT("allcommands") };
	struct acl *acl = mem_zalloc(sizeof(*acl));

	acl->table = table;
	acl->default_user = acl_user_new(table, default_name);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		acl_rule_apply(acl->default_user, rules[i]);
	acl_user_settle(acl->default_user);
	insert_user(acl, acl->default_user);
	return acl;
}

void acl_free(struct acl *acl)
{
	if (acl == NULL)
		return;
	for (int i = 0; i < acl->count; i++)
		acl_user_free(acl->users[i]);
	free(acl);
}

/* The configuration file and lists separate names by blanks. */
static const char *check_name(struct qless_str name)
{
	if (name.len == 0 || name.len > ACL_MAX_NAME_BYTES)
		return "Usernames have from 1 to 256 bytes";
	for (size_t i = 0; i < name.len; i++) {
		if ((unsigned char)name.ptr[i] <= ' ' || name.ptr[i] == 127)
			return "Usernames can't contain spaces or null characters";
	}
	return NULL;
}

static_assert(ACL_MAX_NAME_BYTES == 256, "named in check_name()");

static void describe_bad_rule(struct qless_str rule, const char *reason, struct buf *error)
{
	bool secret = rule.len > 0 && (rule.ptr[0] == '>' || rule.ptr[0] == '<');
	struct qless_str shown = secret ? str_make(rule.ptr, 1) : command_quote(rule);

	buf_printf(error, "Error in ACL SETUSER modifier '");
	buf_append_str(error, shown);
	buf_printf(error, "%s': %s", secret ? "***" : "", reason);
}

bool acl_set_user(struct acl *acl, struct qless_str name, const struct qless_str *rules, int count,
		  struct buf *error)
{
	struct user *user = find_user(acl, name);
	const char *reason = user == NULL ? check_name(name) : NULL;
	struct user *draft;

	if (reason == NULL && user == NULL && acl->count == ACL_MAX_USERS)
		reason = "Too many users";
	if (reason != NULL) {
		buf_printf(error, "%s", reason);
		return false;
	}
	draft = acl_user_new(acl->table, name);
	if (user != NULL)
		acl_user_copy(draft, user);
	for (int i = 0; i < count; i++) {
		reason = acl_rule_apply(draft, rules[i]);
		if (reason != NULL) {
			describe_bad_rule(rules[i], reason, error);
			acl_user_free(draft);
			return false;
		}
	}
	acl_user_settle(draft);
	acl->generation++;
	if (user == NULL) {
		insert_user(acl, draft);
	} else {
		acl_user_copy(user, draft);
		acl_user_free(draft);
	}
	return true;
}

bool acl_delete_user(struct acl *acl, struct qless_str name)
{
	struct user *user = find_user(acl, name);
	int at = lower_bound(acl, name);

	if (user == NULL || user == acl->default_user)
		return false;
	acl->generation++;
	acl->count--;
	memmove(&acl->users[at], &acl->users[at + 1],
		(size_t)(acl->count - at) * sizeof(acl->users[0]));
	acl_user_free(user);
	return true;
}

void acl_set_like(struct acl *acl, const struct user *like)
{
	struct user *user = find_user(acl, acl_user_name(like));

	if (user == NULL) {
		assert(acl->count < ACL_MAX_USERS);
		user = acl_user_new(acl->table, acl_user_name(like));
		insert_user(acl, user);
	}
	acl_user_copy(user, like);
	acl->generation++;
}

const struct user *acl_find(const struct acl *acl, struct qless_str name)
{
	return find_user(acl, name);
}

const struct user *acl_default_user(const struct acl *acl)
{
	return acl->default_user;
}

int acl_count(const struct acl *acl)
{
	return acl->count;
}

const struct user *acl_user_at(const struct acl *acl, int index)
{
	assert(index >= 0 && index < acl->count);
	return acl->users[index];
}

void acl_set_default_password(struct acl *acl, struct qless_str password)
{
	struct user *user = acl->default_user;

	acl->generation++;
	user->password_count = 0;
	user->no_password = password.len == 0;
	if (password.len == 0)
		return;
	user->passwords = mem_realloc_array(user->passwords, 1, sizeof(*user->passwords));
	acl_digest_password(password, &user->passwords[0]);
	user->password_count = 1;
}

/* Compares all bytes of the same number of passwords for every user, so that the time reveals
 * nothing about the passwords. */
static bool has_password(const struct user *user, const struct acl_digest *digest)
{
	static const struct acl_digest none;
	int count = user != NULL ? user->password_count : 0;
	bool found = false;

	for (int i = 0; i < ACL_MAX_PASSWORDS; i++) {
		bool real = i < count;
		const struct acl_digest *own = real ? &user->passwords[i] : &none;

		found |= real & (CRYPTO_memcmp(own, digest, sizeof(*digest)) == 0);
	}
	return found;
}

const struct user *acl_authenticate(const struct acl *acl, struct qless_str name,
				    struct qless_str password)
{
	const struct user *user = find_user(acl, name);
	struct acl_digest digest;
	bool matches;

	/* No password is that long. The shorter time reveals only what the client itself sent. */
	if (password.len > ACL_MAX_PASSWORD_BYTES)
		return NULL;
	acl_digest_password(password, &digest);
	matches = has_password(user, &digest);
	if (user == NULL || !user->enabled)
		return NULL;
	return matches || user->no_password ? user : NULL;
}

/* The time tells how many passwords there are, and nothing about them. */
const struct user *acl_find_by_password(const struct acl *acl, struct qless_str password)
{
	const struct user *found = NULL;
	struct acl_digest digest;
	int owners = 0;

	if (password.len > ACL_MAX_PASSWORD_BYTES)
		return NULL;
	acl_digest_password(password, &digest);
	for (int i = 0; i < acl->count; i++) {
		const struct user *user = acl->users[i];
		bool matches = false;

		for (int k = 0; k < user->password_count; k++)
			matches |= CRYPTO_memcmp(&user->passwords[k], &digest, sizeof digest) == 0;
		if (!matches || !user->enabled)
			continue;
		found = user;
		owners++;
	}
	return owners == 1 ? found : NULL;
}

uint64_t acl_generation(const struct acl *acl)
{
	return acl->generation;
}

bool acl_user_needs_no_password(const struct user *user)
{
	return user->enabled && user->no_password;
}

bool acl_user_is_enabled(const struct user *user)
{
	return user->enabled;
}

struct qless_str acl_user_name(const struct user *user)
{
	return str_make(user->name, user->name_len);
}

bool acl_user_has_nopass(const struct user *user)
{
	return user->no_password;
}

void acl_fingerprint(const struct user *user, char to[ACL_FINGERPRINT_BYTES + 1])
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct acl_digest digest;

	static_assert(ACL_FINGERPRINT_BYTES <= 2 * ACL_DIGEST_BYTES, "more than there is");
	if (user != NULL)
		acl_describe(user, &text);
	acl_digest_password(buf_str(&text), &digest);
	hex_write(to, digest.bytes, ACL_FINGERPRINT_BYTES / 2);
	to[ACL_FINGERPRINT_BYTES] = '\0';
	buf_done(&text);
}

int acl_user_password_count(const struct user *user)
{
	return user->password_count;
}
