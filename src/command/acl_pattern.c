/*
 * Patterns of keys and of channels: applying rules, matching names, describing.
 */
#include "command/acl_int.h"

#include <assert.h>
#include <string.h>

#include "keyspace/names.h"
#include "util/buf.h"
#include "util/glob.h"
#include "util/mem.h"

static const char error_syntax[] = "Syntax error";
static const char error_after_all_keys[] =
	"Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not "
	"have "
	"any effect. Try 'resetkeys' to start with an empty list of patterns";
static const char error_after_all_channels[] =
	"Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does "
	"not "
	"have any effect. Try 'resetchannels' to start with an empty list of channels";
static const char error_blank[] = "Patterns can't contain spaces or null characters";
static const char error_length[] = "The pattern is longer than 4096 bytes";
static const char error_count[] = "The user has 256 patterns of this kind already";

static_assert(GLOB_MAX_BYTES == 4096, "named in error_length");
static_assert(ACL_MAX_PATTERNS == 256, "named in error_count");

#define ACCESS_ALL ((unsigned)(ACL_READ | ACL_WRITE))

/* ---- lists ---- */

static void clear(struct acl_patterns *patterns)
{
	for (int i = 0; i < patterns->count; i++)
		free(patterns->items[i].text);
	patterns->count = 0;
}

static void add(struct acl_patterns *patterns, struct qless_str text, unsigned access)
{
	patterns->items = mem_realloc_array(patterns->items, (size_t)patterns->count + 1,
					    sizeof(*patterns->items));
	patterns->items[patterns->count++] =
		(struct acl_pattern){ access, text.len, mem_dup(text.ptr, text.len) };
}

static struct qless_str text_of(const struct acl_pattern *pattern)
{
	return str_make(pattern->text, pattern->len);
}

void acl_patterns_copy(struct acl_patterns *to, const struct acl_patterns *from)
{
	assert(to != from);
	clear(to);
	to->is_decided = from->is_decided;
	to->all = from->all;
	for (int i = 0; i < from->count; i++)
		add(to, text_of(&from->items[i]), from->items[i].access);
}

void acl_patterns_done(struct acl_patterns *patterns)
{
	clear(patterns);
	free(patterns->items);
}

void acl_patterns_forget(struct acl_patterns *patterns)
{
	clear(patterns);
	patterns->is_decided = false;
	patterns->all = false;
}

void acl_patterns_allow_all(struct acl_patterns *patterns)
{
	clear(patterns);
	patterns->is_decided = true;
	patterns->all = true;
}

void acl_patterns_allow_none(struct acl_patterns *patterns)
{
	clear(patterns);
	patterns->is_decided = true;
	patterns->all = false;
}

/* ---- rules ---- */

/* The configuration file and lists separate rules by blanks. */
static const char *check_pattern(struct qless_str pattern)
{
	if (pattern.len > GLOB_MAX_BYTES)
		return error_length;
	for (size_t i = 0; i < pattern.len; i++) {
		if ((unsigned char)pattern.ptr[i] <= ' ' || pattern.ptr[i] == 127)
			return error_blank;
	}
	return NULL;
}

/* A list has each text once. */
static const char *allow_pattern(struct acl_patterns *patterns, struct qless_str text,
				 unsigned access)
{
	const char *error = check_pattern(text);

	if (error != NULL)
		return error;
	for (int i = 0; i < patterns->count; i++) {
		if (str_equal(text_of(&patterns->items[i]), text)) {
			patterns->items[i].access |= access;
			return NULL;
		}
	}
	if (patterns->count == ACL_MAX_PATTERNS)
		return error_count;
	add(patterns, text, access);
	patterns->is_decided = true;
	return NULL;
}

/* Reads the letters between % and ~. Returns the length of what precedes the pattern, or 0. */
static size_t read_access(struct qless_str rule, unsigned *ret_access)
{
	*ret_access = 0;
	for (size_t i = 1; i < rule.len; i++) {
		unsigned access;

		if (rule.ptr[i] == '~')
			return *ret_access != 0 ? i + 1 : 0;
		if (rule.ptr[i] == 'R' || rule.ptr[i] == 'r')
			access = ACL_READ;
		else if (rule.ptr[i] == 'W' || rule.ptr[i] == 'w')
			access = ACL_WRITE;
		else
			return 0;
		if ((*ret_access & access) != 0)
			return 0;
		*ret_access |= access;
	}
	return 0;
}

const char *acl_rule_apply_key(struct user *user, struct qless_str rule)
{
	unsigned access = ACCESS_ALL;
	size_t begin = rule.ptr[0] == '~' ? 1 : read_access(rule, &access);
	struct qless_str pattern = str_make(rule.ptr + begin, rule.len - begin);

	if (begin == 0)
		return error_syntax;
	if (access == ACCESS_ALL && str_equal(pattern, STR("*"))) {
		acl_patterns_allow_all(&user->keys);
		return NULL;
	}
	if (user->keys.all)
		return error_after_all_keys;
	return allow_pattern(&user->keys, pattern, access);
}

const char *acl_rule_apply_channel(struct user *user, struct qless_str rule)
{
	struct qless_str pattern = str_make(rule.ptr + 1, rule.len - 1);

	assert(rule.ptr[0] == '&');
	if (str_equal(pattern, STR("*"))) {
		acl_patterns_allow_all(&user->channels);
		return NULL;
	}
	if (user->channels.all)
		return error_after_all_channels;
	return allow_pattern(&user->channels, pattern, 0);
}

/* ---- names ---- */

const struct user *acl_nobody(void)
{
	static const struct user nobody = { .is_limited = true };

	return &nobody;
}

bool acl_limits_keys(const struct user *user)
{
	return !user->keys.all;
}

/* A pattern that is meant for queues, such as q*, must not match all keys. */
static bool is_for_name(struct qless_str pattern, struct qless_str name)
{
	return !str_starts_with(name, STR(NAMES_ALL)) || str_starts_with(pattern, STR(NAMES_ALL)) ||
	       str_equal(pattern, STR("*"));
}

/* As in Redis, one pattern has to allow all of the access. */
bool acl_may_use_key(const struct user *user, struct qless_str name, unsigned access)
{
	const struct acl_patterns *keys = &user->keys;

	for (int i = 0; i < keys->count; i++) {
		struct qless_str pattern = text_of(&keys->items[i]);

		if ((keys->items[i].access & access) == access && is_for_name(pattern, name) &&
		    glob_match(pattern, name, false))
			return true;
	}
	return keys->all;
}

bool acl_may_use_some_key(const struct user *user, unsigned access)
{
	const struct acl_patterns *keys = &user->keys;

	for (int i = 0; i < keys->count; i++) {
		if ((keys->items[i].access & access) == access)
			return true;
	}
	return keys->all;
}

bool acl_may_use_some_channel(const struct user *user)
{
	return user->channels.all || user->channels.count != 0;
}

bool acl_may_use_channel(const struct user *user, struct qless_str channel)
{
	const struct acl_patterns *channels = &user->channels;

	for (int i = 0; i < channels->count; i++) {
		if (glob_match(text_of(&channels->items[i]), channel, false))
			return true;
	}
	return channels->all;
}

bool acl_may_use_pattern(const struct user *user, struct qless_str pattern)
{
	const struct acl_patterns *channels = &user->channels;

	for (int i = 0; i < channels->count; i++) {
		if (str_equal(text_of(&channels->items[i]), pattern))
			return true;
	}
	return channels->all;
}

/* ---- the patterns as rules ---- */

static void describe(const struct acl_patterns *patterns, char sigil, struct buf *out)
{
	if (patterns->all)
		buf_printf(out, "%c*", sigil);
	for (int i = 0; i < patterns->count; i++) {
		const struct acl_pattern *pattern = &patterns->items[i];

		if (i > 0)
			buf_append_char(out, ' ');
		if (pattern->access == ACL_READ)
			buf_printf(out, "%%R");
		else if (pattern->access == ACL_WRITE)
			buf_printf(out, "%%W");
		buf_append_char(out, sigil);
		buf_append_str(out, text_of(pattern));
	}
}

void acl_describe_keys(const struct user *user, struct buf *out)
{
	describe(&user->keys, '~', out);
}

void acl_describe_channels(const struct user *user, struct buf *out)
{
	describe(&user->channels, '&', out);
}
