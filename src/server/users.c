#include "server/users.h"

#include "command/acl.h"
#include "util/mem.h"

static bool load_line(struct acl *acl, const struct config_list *line, struct buf *ret_error)
{
	struct qless_str *words = mem_realloc_array(NULL, line->count, sizeof *words);
	bool ok;

	/* A line defines its user completely, also the default one. */
	words[0] = STR("reset");
	for (size_t i = 1; i < line->count; i++)
		words[i] = str_from(line->words[i]);
	buf_printf(ret_error, "user %s: ", line->words[0]);
	ok = acl_set_user(acl, str_from(line->words[0]), words, (int)line->count, ret_error);
	if (ok)
		buf_clear(ret_error);
	free(words);
	return ok;
}

struct acl *users_load(const struct config *config, const struct command_table *table,
		       struct buf *ret_error)
{
	struct acl *acl = acl_new(table);

	acl_set_default_password(acl, str_from(config->requirepass));
	for (size_t i = 0; i < config->users.count; i++) {
		if (!load_line(acl, &config->users.of[i], ret_error)) {
			acl_free(acl);
			return NULL;
		}
	}
	return acl;
}

/* Returns whether the default user is exactly as requirepass makes it. */
static bool is_plain_default(const struct config *config, const struct user *user,
			     const struct command_table *table)
{
	struct acl *plain = acl_new(table);
	struct buf is = BUF_INIT(BUF_NO_MAX), would_be = BUF_INIT(BUF_NO_MAX);
	bool same;

	acl_set_default_password(plain, str_from(config->requirepass));
	acl_describe(user, &is);
	acl_describe(acl_default_user(plain), &would_be);
	same = str_equal(buf_str(&is), buf_str(&would_be));
	buf_done(&is);
	buf_done(&would_be);
	acl_free(plain);
	return same;
}

static void add_word(struct config_list *line, struct qless_str word)
{
	line->words = mem_realloc_array(line->words, line->count + 1, sizeof *line->words);
	line->words[line->count++] = mem_dup(word.ptr, word.len);
}

static void add_user(struct config_lines *lines, const struct user *user)
{
	struct buf rules = BUF_INIT(BUF_NO_MAX);
	struct config_list line = { .count = 0 };
	struct qless_str rest;

	acl_describe(user, &rules);
	add_word(&line, acl_user_name(user));
	rest = buf_str(&rules);
	while (rest.len != 0) {
		const char *blank = memchr(rest.ptr, ' ', rest.len);
		size_t len = blank != NULL ? (size_t)(blank - rest.ptr) : rest.len;

		if (len != 0)
			add_word(&line, str_make(rest.ptr, len));
		len += blank != NULL;
		rest = str_make(rest.ptr + len, rest.len - len);
	}
	buf_done(&rules);
	lines->of = mem_realloc_array(lines->of, lines->count + 1, sizeof *lines->of);
	lines->of[lines->count++] = line;
}

void users_store(struct config *config, const struct acl *acl, const struct command_table *table)
{
	struct config_lines lines = { .count = 0 };

	for (int i = 0; i < acl_count(acl); i++) {
		const struct user *user = acl_user_at(acl, i);

		if (user != acl_default_user(acl) || !is_plain_default(config, user, table))
			add_user(&lines, user);
	}
	config_set_users(config, &lines);
	for (size_t i = 0; i < lines.count; i++) {
		for (size_t k = 0; k < lines.of[i].count; k++)
			free(lines.of[i].words[k]);
		free(lines.of[i].words);
	}
	free(lines.of);
}
