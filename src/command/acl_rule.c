/*
 * Applying rules to a user, and describing a user as rules.
 */
#include "command/acl_int.h"

#include <assert.h>
#include <string.h>

#include <openssl/sha.h>

#include "command/table.h"
#include "util/buf.h"
#include "util/hex.h"
#include "util/mem.h"

#define WORD_BITS 64

#define DIGEST_HEX ((size_t)2 * ACL_DIGEST_BYTES)

static const char error_syntax[] = "Syntax error";
static const char error_unknown[] = "Unknown command or category name in ACL";
static const char error_hash[] = "The password hash must be exactly 64 characters and contain only "
				 "lowercase hexadecimal characters";
static const char error_no_such_password[] =
	"The password you are trying to remove from the user does not exist";
static const char error_password_length[] = "The password is empty or longer than 4096 bytes";
static const char error_passwords[] = "The user has 64 passwords already";
static const char error_selector[] =
	"Selectors are not supported: give all rules to the user itself";

static_assert(ACL_MAX_PASSWORD_BYTES == 4096, "named in error_password_length");
static_assert(ACL_MAX_PASSWORDS == 64, "named in error_passwords");

/* ---- users ---- */

static size_t allowed_words(const struct command_table *table)
{
	return ((size_t)command_table_count(table) + WORD_BITS - 1) / WORD_BITS;
}

static void allow_row(struct user *u, int row, bool allow)
{
	uint64_t bit = UINT64_C(1) << (row % WORD_BITS);

	/* Everybody may run the commands that need no authentication. */
	if (allow || (command_table_row(u->table, row)->flags & CMD_NO_AUTH))
		u->allowed[row / WORD_BITS] |= bit;
	else
		u->allowed[row / WORD_BITS] &= ~bit;
}

static void set_base(struct user *u, bool allow)
{
	u->base = allow;
	u->choice_count = 0;
	for (int row = 0; row < command_table_count(u->table); row++)
		allow_row(u, row, allow);
}

struct user *acl_user_new(const struct command_table *table, struct qless_str name)
{
	struct user *u = mem_zalloc(sizeof(*u));

	u->table = table;
	u->name = mem_dup(name.ptr, name.len);
	u->name_len = name.len;
	u->allowed = mem_zalloc((allowed_words(table) + 1) * sizeof(*u->allowed));
	set_base(u, false);
	return u;
}

void acl_user_free(struct user *user)
{
	if (user == NULL)
		return;
	free(user->name);
	free(user->passwords);
	free(user->allowed);
	free(user->choices);
	acl_patterns_done(&user->keys);
	acl_patterns_done(&user->channels);
	free(user);
}

void acl_user_copy(struct user *to, const struct user *from)
{
	size_t passwords = (size_t)from->password_count;
	size_t choices = (size_t)from->choice_count;

	assert(to->table == from->table);
	to->enabled = from->enabled;
	to->no_password = from->no_password;
	to->password_count = from->password_count;
	to->passwords = mem_realloc_array(to->passwords, passwords + 1, sizeof(*to->passwords));
	if (passwords != 0)
		memcpy(to->passwords, from->passwords, passwords * sizeof(*to->passwords));
	memcpy(to->allowed, from->allowed, allowed_words(to->table) * sizeof(*to->allowed));
	to->base = from->base;
	to->choice_count = from->choice_count;
	to->choices = mem_realloc_array(to->choices, choices + 1, sizeof(*to->choices));
	if (choices != 0)
		memcpy(to->choices, from->choices, choices * sizeof(*to->choices));
	acl_patterns_copy(&to->keys, &from->keys);
	acl_patterns_copy(&to->channels, &from->channels);
	to->is_limited = from->is_limited;
}

void acl_user_settle(struct user *user)
{
	if (!user->keys.is_decided)
		acl_patterns_allow_all(&user->keys);
	if (!user->channels.is_decided && user->keys.all)
		acl_patterns_allow_all(&user->channels);
	if (!user->channels.is_decided)
		acl_patterns_allow_none(&user->channels);
	user->is_limited = !user->keys.all || !user->channels.all;
}

/* Inline, because acl_judge() is called for every command. */
static inline bool is_allowed(const struct user *user, unsigned row)
{
	return (user->allowed[row / WORD_BITS] >> (row % WORD_BITS) & 1) != 0;
}

bool acl_may_run(const struct user *user, const struct command_table *table,
		 const struct command *cmd)
{
	return is_allowed(user, (unsigned)command_table_index(table, cmd));
}

enum acl_answer acl_judge(const struct user *user, const struct command_table *table,
			  const struct command *cmd)
{
	if (!is_allowed(user, (unsigned)command_table_index(table, cmd)))
		return ACL_NO;
	return user->is_limited ? ACL_LIMITED : ACL_YES;
}

/* Returns the choice about a category, or NULL. */
static const struct acl_choice *find_category(const struct user *user, int category)
{
	for (int i = 0; i < user->choice_count; i++) {
		if (user->choices[i].category == category)
			return &user->choices[i];
	}
	return NULL;
}

bool acl_may_publish(const struct user *user, struct qless_str channel)
{
	/* Only a choice that allows @events is kept. */
	return !str_starts_with(channel, STR("ql:")) || find_category(user, CAT_EVENTS_BIT) != NULL;
}

bool acl_may_supervise(const struct user *user)
{
	const struct acl_choice *choice = find_category(user, CAT_SUPERVISE_BIT);

	return choice != NULL ? choice->allow : user->base;
}

/* ---- commands ---- */

/* Whether the later choice overrides all of the earlier one. */
static bool choice_covers(const struct user *u, const struct acl_choice *later,
			  const struct acl_choice *earlier)
{
	const struct command *parent;

	if (later->category >= 0 || earlier->category >= 0)
		return later->category == earlier->category;
	if (later->row == earlier->row)
		return true;
	parent = command_table_parent(u->table, command_table_row(u->table, earlier->row));
	return parent != NULL && command_table_index(u->table, parent) == later->row;
}

/*
 * Appends a choice and drops the choices that it overrides. The last rule about a command decides,
 * so a category or a command never has more than one choice. The list begins with a choice that
 * differs from the base, because one that agrees with it would change nothing. @events is denied
 * unless there is a choice that allows it, whatever the base is.
 */
static void keep_choice(struct user *u, struct acl_choice choice)
{
	bool differs = false; /* a kept choice other than @events differs from the base */
	int kept = 0;

	u->choices =
		mem_realloc_array(u->choices, (size_t)u->choice_count + 1, sizeof(*u->choices));
	u->choices[u->choice_count++] = choice;
	for (int i = 0; i < u->choice_count; i++) {
		bool last = i == u->choice_count - 1;

		if (!last && choice_covers(u, &choice, &u->choices[i]))
			continue;
		if (u->choices[i].category == CAT_EVENTS_BIT) {
			if (u->choices[i].allow)
				u->choices[kept++] = u->choices[i];
			continue;
		}
		if (!differs && u->choices[i].allow == u->base)
			continue;
		differs = true;
		u->choices[kept++] = u->choices[i];
	}
	u->choice_count = kept;
}

static const char *apply_category(struct user *u, struct qless_str name, bool allow)
{
	int bit;

	if (str_equal_nocase(name, STR("all"))) {
		set_base(u, allow);
		return NULL;
	}
	bit = command_category_find(name);
	if (bit < 0)
		return error_unknown;
	for (int row = 0; row < command_table_count(u->table); row++) {
		if (command_categories(command_table_row(u->table, row)) & 1U << bit)
			allow_row(u, row, allow);
	}
	keep_choice(u, (struct acl_choice){ .allow = allow, .category = bit });
	return NULL;
}

/* A container command means all of its subcommands. */
static const char *apply_command(struct user *u, struct qless_str name, bool allow)
{
	const struct command *cmd = command_table_find(u->table, name);
	int row, first, subcommands;

	if (cmd == NULL)
		return error_unknown;
	row = command_table_index(u->table, cmd);
	allow_row(u, row, allow);
	subcommands = command_table_subcommands(u->table, cmd, &first);
	for (int i = 0; i < subcommands; i++)
		allow_row(u, first + i, allow);
	keep_choice(u, (struct acl_choice){ .allow = allow, .category = -1, .row = row });
	return NULL;
}

/* ---- passwords ---- */

void acl_digest_password(struct qless_str password, struct acl_digest *ret_digest)
{
	SHA256((const unsigned char *)password.ptr, password.len, ret_digest->bytes);
}

static bool digest_parse(struct qless_str hex, struct acl_digest *ret_digest)
{
	return hex.len == DIGEST_HEX && hex_read(ret_digest->bytes, hex.ptr, ACL_DIGEST_BYTES);
}

static int find_password(const struct user *u, const struct acl_digest *digest)
{
	for (int i = 0; i < u->password_count; i++) {
		if (memcmp(&u->passwords[i], digest, sizeof(*digest)) == 0)
			return i;
	}
	return -1;
}

static const char *add_password(struct user *u, const struct acl_digest *digest)
{
	if (find_password(u, digest) < 0) {
		if (u->password_count == ACL_MAX_PASSWORDS)
			return error_passwords;
		u->passwords = mem_realloc_array(u->passwords, (size_t)u->password_count + 1,
						 sizeof(*u->passwords));
		u->passwords[u->password_count++] = *digest;
	}
	u->no_password = false;
	return NULL;
}

static const char *remove_password(struct user *u, const struct acl_digest *digest)
{
	int at = find_password(u, digest);

	if (at < 0)
		return error_no_such_password;
	u->password_count--;
	memmove(&u->passwords[at], &u->passwords[at + 1],
		(size_t)(u->password_count - at) * sizeof(*u->passwords));
	return NULL;
}

/* Handles >text and <text, #hash and !hash. */
static const char *apply_password(struct user *u, char kind, struct qless_str text)
{
	bool add = kind == '>' || kind == '#';
	struct acl_digest digest;

	if (kind == '#' || kind == '!') {
		if (!digest_parse(text, &digest))
			return error_hash;
	} else {
		if (text.len == 0 || text.len > ACL_MAX_PASSWORD_BYTES)
			return error_password_length;
		acl_digest_password(text, &digest);
	}
	return add ? add_password(u, &digest) : remove_password(u, &digest);
}

/* ---- rules of one word ---- */

static void rule_on(struct user *u)
{
	u->enabled = true;
}

static void rule_off(struct user *u)
{
	u->enabled = false;
}

static void rule_nopass(struct user *u)
{
	u->no_password = true;
	u->password_count = 0;
}

static void rule_resetpass(struct user *u)
{
	u->no_password = false;
	u->password_count = 0;
}

static void rule_allcommands(struct user *u)
{
	set_base(u, true);
}

static void rule_nocommands(struct user *u)
{
	set_base(u, false);
}

static void rule_reset(struct user *u)
{
	rule_off(u);
	rule_resetpass(u);
	rule_nocommands(u);
	acl_patterns_forget(&u->keys);
	acl_patterns_forget(&u->channels);
}

static void rule_allkeys(struct user *u)
{
	acl_patterns_allow_all(&u->keys);
}

static void rule_resetkeys(struct user *u)
{
	acl_patterns_allow_none(&u->keys);
}

static void rule_allchannels(struct user *u)
{
	acl_patterns_allow_all(&u->channels);
}

static void rule_resetchannels(struct user *u)
{
	acl_patterns_allow_none(&u->channels);
}

/* Lists made for Redis contain these rules. There are no payloads to sanitize, and no selectors. */
static void rule_nothing(struct user *u)
{
	(void)u;
}

static const struct {
	const char *word;
	void (*apply)(struct user *u);
} word_rules[] = {
	{ "on", rule_on },
	{ "off", rule_off },
	{ "nopass", rule_nopass },
	{ "resetpass", rule_resetpass },
	{ "allcommands", rule_allcommands },
	{ "nocommands", rule_nocommands },
	{ "reset", rule_reset },
	{ "allkeys", rule_allkeys },
	{ "resetkeys", rule_resetkeys },
	{ "allchannels", rule_allchannels },
	{ "resetchannels", rule_resetchannels },
	{ "clearselectors", rule_nothing },
	{ "sanitize-payload", rule_nothing },
	{ "skip-sanitize-payload", rule_nothing },
};

const char *acl_rule_apply(struct user *user, struct qless_str rule)
{
	struct qless_str rest;

	for (size_t i = 0; i < sizeof(word_rules) / sizeof(word_rules[0]); i++) {
		if (str_equal_nocase(rule, str_from(word_rules[i].word))) {
			word_rules[i].apply(user);
			return NULL;
		}
	}
	if (rule.len == 0)
		return error_syntax;
	rest = str_make(rule.ptr + 1, rule.len - 1);
	switch (rule.ptr[0]) {
	case '+':
	case '-':
		if (str_starts_with(rest, STR("@")))
			return apply_category(user, str_make(rest.ptr + 1, rest.len - 1),
					      rule.ptr[0] == '+');
		return apply_command(user, rest, rule.ptr[0] == '+');
	case '>':
	case '<':
	case '#':
	case '!':
		return apply_password(user, rule.ptr[0], rest);
	case '~':
	case '%':
		return acl_rule_apply_key(user, rule);
	case '&':
		return acl_rule_apply_channel(user, rule);
	case '(':
		return error_selector;
	default:
		return error_syntax;
	}
}

/* ---- the user as rules ---- */

void acl_describe_commands(const struct user *user, struct buf *out)
{
	buf_printf(out, "%c@all", user->base ? '+' : '-');
	for (int i = 0; i < user->choice_count; i++) {
		const struct acl_choice *c = &user->choices[i];

		buf_printf(out, " %c%s%s", c->allow ? '+' : '-', c->category >= 0 ? "@" : "",
			   c->category >= 0 ? command_category_name(c->category)
					    : command_table_row(user->table, c->row)->name);
	}
}

void acl_describe_password(const struct user *user, int index, struct buf *out)
{
	char hex[DIGEST_HEX];

	hex_write(hex, user->passwords[index].bytes, ACL_DIGEST_BYTES);
	buf_append(out, hex, sizeof hex);
}

void acl_describe(const struct user *user, struct buf *out)
{
	buf_printf(out, "%s", user->enabled ? "on" : "off");
	if (user->no_password)
		buf_printf(out, " nopass");
	for (int i = 0; i < user->password_count; i++) {
		buf_printf(out, " #");
		acl_describe_password(user, i, out);
	}
	buf_append_char(out, ' ');
	if (user->keys.all || user->keys.count != 0)
		acl_describe_keys(user, out);
	else
		buf_printf(out, "resetkeys");
	buf_printf(out, user->channels.all ? " " : " resetchannels ");
	acl_describe_channels(user, out);
	if (user->channels.all || user->channels.count != 0)
		buf_append_char(out, ' ');
	acl_describe_commands(user, out);
}
