/*
 * Any words as rules for users. A list of rules is applied as a whole or leaves the user unchanged.
 * The description of a user makes an equal user of any other.
 *
 * An input is text. Each line is the name of a user and its rules, separated by blanks. A line that
 * begins with a blank deletes the user.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "command/acl.h"
#include "command/table.h"
#include "server/commands.h"
#include "util/buf.h"
#include "util/mem.h"

#define MAX_WORDS 64
#define PASSWORD  "secret"

static size_t split(struct qless_str line, struct qless_str *words, size_t max)
{
	size_t count = 0;

	while (line.len > 0 && count < max) {
		const char *end = memchr(line.ptr, ' ', line.len);
		size_t len = end != NULL ? (size_t)(end - line.ptr) : line.len;

		words[count++] = str_make(line.ptr, len);
		len += end != NULL;
		line.ptr += len;
		line.len -= len;
	}
	return count;
}

/* The two users have the same rights. */
static void check_same(const struct command_table *table, const struct user *a,
		       const struct user *b)
{
	char x[ACL_FINGERPRINT_BYTES + 1], y[ACL_FINGERPRINT_BYTES + 1];

	acl_fingerprint(a, x);
	acl_fingerprint(b, y);
	assert(strcmp(x, y) == 0);
	for (int row = 0; row < command_table_count(table); row++) {
		const struct command *command = command_table_row(table, row);

		assert(acl_may_run(a, table, command) == acl_may_run(b, table, command));
	}
	assert(acl_user_is_enabled(a) == acl_user_is_enabled(b));
	assert(acl_user_password_count(a) == acl_user_password_count(b));
	assert(acl_limits_keys(a) == acl_limits_keys(b));
	assert(acl_may_use_key(a, STR("mail"), ACL_READ) ==
	       acl_may_use_key(b, STR("mail"), ACL_READ));
	assert(acl_may_use_channel(a, STR("ql:log")) == acl_may_use_channel(b, STR("ql:log")));
}

/* Apply the description of a user to a new user, and to one with other rules. */
static void check_described(const struct command_table *table, const struct user *user)
{
	struct buf text = BUF_INIT(BUF_NO_MAX), again = BUF_INIT(BUF_NO_MAX);
	struct buf error = BUF_INIT(BUF_NO_MAX);
	struct acl *acl = acl_new(table);
	struct qless_str *words;
	size_t count;

	acl_describe(user, &text);
	words = mem_realloc_array(NULL, text.len + 2, sizeof *words);
	words[0] = STR("reset");
	count = split(buf_str(&text), words + 1, text.len + 1);
	assert(acl_set_user(acl, STR("copy"), words + 1, (int)count, &error));
	check_same(table, user, acl_find(acl, STR("copy")));
	assert(acl_set_user(acl, STR("default"), words, (int)count + 1, &error));
	check_same(table, user, acl_default_user(acl));
	acl_describe(acl_default_user(acl), &again);
	assert(str_equal(buf_str(&text), buf_str(&again)));
	free(words);
	acl_free(acl);
	buf_done(&text);
	buf_done(&again);
	buf_done(&error);
}

static void describe_all(const struct acl *acl, struct buf *out)
{
	for (int i = 0; i < acl_count(acl); i++) {
		buf_append_str(out, acl_user_name(acl_user_at(acl, i)));
		buf_append_char(out, ' ');
		acl_describe(acl_user_at(acl, i), out);
		buf_append_char(out, '\n');
	}
}

static void run_line(struct acl *acl, const struct command_table *table, struct qless_str line)
{
	struct buf before = BUF_INIT(BUF_NO_MAX), after = BUF_INIT(BUF_NO_MAX);
	struct buf error = BUF_INIT(64 * 1024);
	struct qless_str words[MAX_WORDS];
	size_t count = split(line, words, MAX_WORDS);

	if (count > 1 && words[0].len == 0) {
		acl_delete_user(acl, words[1]);
	} else if (count > 0) {
		describe_all(acl, &before);
		if (acl_set_user(acl, words[0], words + 1, (int)count - 1, &error)) {
			assert(error.len == 0);
			check_described(table, acl_find(acl, words[0]));
		} else {
			assert(error.len > 0);
			describe_all(acl, &after);
			assert(str_equal(buf_str(&before), buf_str(&after)));
		}
		if (acl_authenticate(acl, words[0], STR(PASSWORD)) != NULL)
			assert(acl_user_is_enabled(acl_find(acl, words[0])));
	}
	buf_done(&before);
	buf_done(&after);
	buf_done(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct command_table *table = commands_new(/* has_group= */ false);
	struct qless_str rest = str_make((const char *)data, size);
	struct acl *acl = acl_new(table);

	while (rest.len > 0) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		size_t len = end != NULL ? (size_t)(end - rest.ptr) : rest.len;

		run_line(acl, table, str_make(rest.ptr, len));
		len += end != NULL;
		rest.ptr += len;
		rest.len -= len;
	}
	acl_free(acl);
	command_table_free(table);
	return 0;
}
