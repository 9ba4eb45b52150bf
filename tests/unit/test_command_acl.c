#include "call.h"

#include <stdio.h>

#include "command/handlers.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* SHA-256 of "secret" and of "other". */
#define SECRET_HASH "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
#define OTHER_HASH  "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"

static void handle(struct request *req)
{
	reply_ok(req->reply);
}

static const struct command rows[] = {
	{ .name = "peek", .handler = handle, .max_args = 1, .flags = CMD_READ | CMD_FAST },
	{ .name = "stats", .handler = handle, .min_args = 1, .max_args = 1, .flags = CMD_READ },
	{ .name = "put", .handler = handle, .max_args = 3, .flags = CMD_WRITE | CMD_FAST },
	{ .name = "cancel", .handler = handle, .max_args = 1, .flags = CMD_WRITE },
	{ .name = "publish", .handler = handle, .min_args = 2, .max_args = 2 },
	{ .name = "auth", .handler = handle, .max_args = 2, .flags = CMD_NO_AUTH },
	{ .name = "client", .min_args = 1, .max_args = COMMAND_ANY_ARGS, .flags = CMD_CONTAINER },
	{ .name = "client|id", .handler = handle, .categories = CAT_CONNECTION },
	{ .name = "client|list",
	  .handler = handle,
	  .flags = CMD_ADMIN,
	  .categories = CAT_CONNECTION },
	{ .name = "client|reset", .handler = handle, .flags = CMD_NO_AUTH },
	{ .name = "acl", .min_args = 1, .max_args = COMMAND_ANY_ARGS, .flags = CMD_CONTAINER },
	{ .name = "acl|cat", .handler = cmd_acl_cat, .max_args = 1 },
	{ .name = "acl|deluser",
	  .handler = cmd_acl_deluser,
	  .min_args = 1,
	  .max_args = COMMAND_ANY_ARGS,
	  .flags = CMD_ADMIN },
	{ .name = "acl|dryrun",
	  .handler = cmd_acl_dryrun,
	  .min_args = 2,
	  .max_args = COMMAND_ANY_ARGS,
	  .flags = CMD_ADMIN },
	{ .name = "acl|getuser",
	  .handler = cmd_acl_getuser,
	  .min_args = 1,
	  .max_args = 1,
	  .flags = CMD_ADMIN },
	{ .name = "acl|list", .handler = cmd_acl_list, .flags = CMD_ADMIN },
	{ .name = "acl|load", .handler = cmd_acl_file, .flags = CMD_ADMIN },
	{ .name = "acl|setuser",
	  .handler = cmd_acl_setuser,
	  .min_args = 1,
	  .max_args = COMMAND_ANY_ARGS,
	  .flags = CMD_ADMIN },
	{ .name = "acl|users", .handler = cmd_acl_users, .flags = CMD_ADMIN },
	{ .name = "acl|whoami", .handler = cmd_acl_whoami },
};

static struct call_fixture f;
static struct buf text;

void setUp(void)
{
	call_setup(&f, command_table_new(&(struct command_rows){ rows, COUNT(rows) }, 1));
	buf_init(&text, BUF_NO_MAX);
}

void tearDown(void)
{
	call_teardown(&f);
	buf_done(&text);
}

/* Apply rules that are separated by blanks; "" or the error. */
static const char *set_user(const char *name, const char *rules)
{
	struct qless_str list[128];
	int count = 0;
	bool done;

	while (*rules != '\0') {
		size_t len = strcspn(rules, " ");

		TEST_ASSERT_TRUE(count < COUNT(list));
		list[count++] = str_make(rules, len);
		rules += len + (rules[len] == ' ');
	}
	buf_clear(&text);
	done = acl_set_user(f.env.acl, str_from(name), list, count, &text);
	TEST_ASSERT_EQUAL(done, text.len == 0);
	return buf_cstr(&text);
}

static const char *describe(const char *name)
{
	const struct user *user = acl_find(f.env.acl, str_from(name));

	TEST_ASSERT_NOT_NULL(user);
	buf_clear(&text);
	acl_describe(user, &text);
	return buf_cstr(&text);
}

static bool may_run(const char *name, const char *command)
{
	const struct command *cmd = command_table_find(f.table, str_from(command));

	TEST_ASSERT_NOT_NULL(cmd);
	return acl_may_run(acl_find(f.env.acl, str_from(name)), f.table, cmd);
}

static bool authenticates(const char *name, const char *password)
{
	const struct user *user = acl_authenticate(f.env.acl, str_from(name), str_from(password));

	if (user != NULL)
		TEST_ASSERT_EQUAL_PTR(acl_find(f.env.acl, str_from(name)), user);
	return user != NULL;
}

/* ---- rules ---- */

static void the_default_user_may_do_everything(void)
{
	const struct user *user = acl_default_user(f.env.acl);

	TEST_ASSERT_EQUAL_STRING("on nopass ~* &* +@all", describe("default"));
	TEST_ASSERT_TRUE(acl_user_needs_no_password(user));
	for (int i = 0; i < COUNT(rows); i++)
		TEST_ASSERT_TRUE(may_run("default", rows[i].name));
	TEST_ASSERT_EQUAL_INT(1, acl_count(f.env.acl));
	TEST_ASSERT_EQUAL_PTR(user, acl_user_at(f.env.acl, 0));
}

static void a_new_user_may_do_nothing(void)
{
	TEST_ASSERT_EQUAL_STRING("", set_user("bob", ""));
	TEST_ASSERT_EQUAL_STRING("off ~* &* -@all", describe("bob"));
	TEST_ASSERT_FALSE(authenticates("bob", ""));
	for (int i = 0; i < COUNT(rows); i++)
		TEST_ASSERT_EQUAL((rows[i].flags & CMD_NO_AUTH) != 0, may_run("bob", rows[i].name));
}

static void rules_apply_from_left_to_right(void)
{
	static const struct {
		const char *rules;
		const char *description;
	} cases[] = {
		{ "on", "on ~* &* -@all" },
		{ "on off", "off ~* &* -@all" },
		{ "ON NoPass AllCommands", "on nopass ~* &* +@all" },
		{ "on nopass +@all reset", "off ~* &* -@all" },
		{ ">secret", "off #" SECRET_HASH " ~* &* -@all" },
		{ ">secret >secret #" SECRET_HASH, "off #" SECRET_HASH " ~* &* -@all" },
		{ ">secret #" OTHER_HASH, "off #" SECRET_HASH " #" OTHER_HASH " ~* &* -@all" },
		{ ">secret >other <secret", "off #" OTHER_HASH " ~* &* -@all" },
		{ ">secret >other !" OTHER_HASH, "off #" SECRET_HASH " ~* &* -@all" },
		{ ">secret nopass", "off nopass ~* &* -@all" },
		{ "nopass >secret", "off #" SECRET_HASH " ~* &* -@all" },
		{ "nopass resetpass", "off ~* &* -@all" },
		{ "skip-sanitize-payload sanitize-payload clearselectors", "off ~* &* -@all" },
		{ "~mail*", "off ~mail* resetchannels -@all" },
		{ "~mail* ~news ~mail*", "off ~mail* ~news resetchannels -@all" },
		{ "%R~a %w~b %RW~c %WR~d", "off %R~a %W~b ~c ~d resetchannels -@all" },
		{ "%R~a %W~a", "off ~a resetchannels -@all" },
		{ "%R~*", "off %R~* resetchannels -@all" },
		{ "%RW~*", "off ~* &* -@all" },
		{ "~mail* ~*", "off ~* &* -@all" },
		{ "~mail* AllKeys", "off ~* &* -@all" },
		{ "~* resetkeys ~mail*", "off ~mail* resetchannels -@all" },
		{ "~* &* +@all", "off ~* &* +@all" },
		{ "resetkeys", "off resetkeys resetchannels -@all" },
		{ "resetkeys &*", "off resetkeys &* -@all" },
		{ "&ql:* &x", "off ~* resetchannels &ql:* &x -@all" },
		{ "resetchannels", "off ~* resetchannels -@all" },
		{ "allkeys resetchannels allchannels", "off ~* &* -@all" },
		{ "~mail* &* &* &*", "off ~mail* &* -@all" },
		{ "~mail* &ql:w:* reset", "off ~* &* -@all" },
		{ "~", "off ~ resetchannels -@all" },
		{ "+peek", "off ~* &* -@all +peek" },
		{ "+PEEK -peek", "off ~* &* -@all" },
		{ "-peek", "off ~* &* -@all" },
		{ "+@READ -peek", "off ~* &* -@all +@read -peek" },
		{ "+@read -peek +peek", "off ~* &* -@all +@read +peek" },
		{ "+@read +@write -@read", "off ~* &* -@all +@write -@read" },
		{ "+@read -@read", "off ~* &* -@all" },
		{ "-peek +@read", "off ~* &* -@all +@read" },
		{ "allcommands -put +put", "off ~* &* +@all" },
		{ "+@all -@write +@all", "off ~* &* +@all" },
		{ "+@all -@all +peek", "off ~* &* -@all +peek" },
		{ "+peek nocommands", "off ~* &* -@all" },
		{ "+client", "off ~* &* -@all +client" },
		{ "+client|id +client", "off ~* &* -@all +client" },
		{ "+client -client|list", "off ~* &* -@all +client -client|list" },
		{ "+@all -client +client|ID", "off ~* &* +@all -client +client|id" },
		{ "+@all -@fast +put +peek -@slow +stats",
		  "off ~* &* +@all -@fast +put +peek -@slow +stats" },
	};

	for (int i = 0; i < COUNT(cases); i++) {
		acl_delete_user(f.env.acl, STR("bob"));
		TEST_ASSERT_EQUAL_STRING_MESSAGE("", set_user("bob", cases[i].rules),
						 cases[i].rules);
		TEST_ASSERT_EQUAL_STRING_MESSAGE(cases[i].description, describe("bob"),
						 cases[i].rules);
	}
}

static void a_pattern_after_the_star_is_refused(void)
{
	TEST_ASSERT_EQUAL_STRING("", set_user("bob", "on"));
	TEST_ASSERT_EQUAL_STRING(
		"Error in ACL SETUSER modifier '~mail*': Adding a pattern after the * pattern (or "
		"the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to "
		"start with an empty list of patterns",
		set_user("bob", "~mail*"));
	TEST_ASSERT_EQUAL_STRING("Error in ACL SETUSER modifier '&ql:*': Adding a pattern after "
				 "the * pattern (or the "
				 "'allchannels' flag) is not valid and does not have any effect. "
				 "Try 'resetchannels' "
				 "to start with an empty list of channels",
				 set_user("bob", "&ql:*"));
	TEST_ASSERT_EQUAL_STRING("on ~* &* -@all", describe("bob"));
	TEST_ASSERT_EQUAL_STRING("", set_user("bob", "resetkeys ~mail* resetchannels &ql:*"));
	TEST_ASSERT_EQUAL_STRING("", set_user("bob", "~news"));
	TEST_ASSERT_EQUAL_STRING("on ~mail* ~news resetchannels &ql:* -@all", describe("bob"));
}

static void the_number_and_the_length_of_patterns_are_limited(void)
{
	char rule[4096 + 3];

	for (int i = 0; i < ACL_MAX_PATTERNS; i++) {
		snprintf(rule, sizeof rule, "~%d", i);
		TEST_ASSERT_EQUAL_STRING("", set_user("bob", rule));
		if (i == 0)
			continue;
		rule[0] = '&';
		TEST_ASSERT_EQUAL_STRING("", set_user("bob", rule));
	}
	TEST_ASSERT_EQUAL_STRING("", set_user("bob", "~7 &7 &last"));
	TEST_ASSERT_EQUAL_STRING("Error in ACL SETUSER modifier '~x': The user has 256 patterns of "
				 "this kind already",
				 set_user("bob", "~x"));
	TEST_ASSERT_EQUAL_STRING("Error in ACL SETUSER modifier '&x': The user has 256 patterns of "
				 "this kind already",
				 set_user("bob", "&x"));
	memset(rule, 'x', sizeof rule);
	rule[0] = '~';
	rule[sizeof rule - 1] = '\0';
	TEST_ASSERT_NOT_NULL(
		strstr(set_user("ann", rule), "The pattern is longer than 4096 bytes"));
	rule[sizeof rule - 2] = '\0';
	TEST_ASSERT_EQUAL_STRING("", set_user("ann", rule));
}

static bool may_use(const char *name, const char *key, unsigned access)
{
	return acl_may_use_key(acl_find(f.env.acl, str_from(name)), str_from(key), access);
}

static void patterns_decide_about_keys_and_channels(void)
{
	const struct user *bob;

	set_user("bob", "~mail* %R~news %W~in &ql:w:* &chat");
	bob = acl_find(f.env.acl, STR("bob"));
	TEST_ASSERT_TRUE(acl_limits_keys(bob));
	TEST_ASSERT_TRUE(may_use("bob", "mail", ACL_READ | ACL_WRITE));
	TEST_ASSERT_TRUE(may_use("bob", "mail-2", ACL_WRITE));
	TEST_ASSERT_FALSE(may_use("bob", "Mail", ACL_READ));
	TEST_ASSERT_FALSE(may_use("bob", "", ACL_READ));
	TEST_ASSERT_TRUE(may_use("bob", "news", ACL_READ));
	TEST_ASSERT_FALSE(may_use("bob", "news", ACL_WRITE));
	TEST_ASSERT_FALSE(may_use("bob", "news", ACL_READ | ACL_WRITE));
	TEST_ASSERT_TRUE(may_use("bob", "in", ACL_WRITE));
	TEST_ASSERT_FALSE(may_use("bob", "in", ACL_READ));
	TEST_ASSERT_TRUE(acl_may_use_channel(bob, STR("ql:w:1")));
	TEST_ASSERT_FALSE(acl_may_use_channel(bob, STR("ql:log")));
	TEST_ASSERT_TRUE(acl_may_use_pattern(bob, STR("ql:w:*")));
	TEST_ASSERT_TRUE(acl_may_use_pattern(bob, STR("chat")));
	TEST_ASSERT_FALSE(acl_may_use_pattern(bob, STR("ql:w:1*")));
	set_user("ann", "on");
	TEST_ASSERT_FALSE(acl_limits_keys(acl_find(f.env.acl, STR("ann"))));
	TEST_ASSERT_TRUE(may_use("ann", "anything", ACL_READ | ACL_WRITE));
	TEST_ASSERT_TRUE(acl_may_use_pattern(acl_find(f.env.acl, STR("ann")), STR("*")));
}

static void only_a_user_with_limits_is_looked_at_closely(void)
{
	const struct command *put = command_table_find(f.table, STR("put"));

	set_user("all", "+put");
	set_user("keys", "+put ~x &*");
	set_user("channels", "+put resetchannels");
	TEST_ASSERT_EQUAL_INT(ACL_YES, acl_judge(acl_find(f.env.acl, STR("all")), f.table, put));
	TEST_ASSERT_EQUAL_INT(ACL_LIMITED,
			      acl_judge(acl_find(f.env.acl, STR("keys")), f.table, put));
	TEST_ASSERT_EQUAL_INT(ACL_LIMITED,
			      acl_judge(acl_find(f.env.acl, STR("channels")), f.table, put));
	set_user("keys", "-put");
	TEST_ASSERT_EQUAL_INT(ACL_NO, acl_judge(acl_find(f.env.acl, STR("keys")), f.table, put));
}

static void a_container_stands_for_its_subcommands(void)
{
	set_user("bob", "+client -client|list");
	TEST_ASSERT_TRUE(may_run("bob", "client|id"));
	TEST_ASSERT_FALSE(may_run("bob", "client|list"));
	set_user("bob", "-client");
	TEST_ASSERT_FALSE(may_run("bob", "client|id"));
}

static void a_category_is_all_its_commands(void)
{
	set_user("bob", "+@connection -@dangerous");
	TEST_ASSERT_TRUE(may_run("bob", "client|id"));
	TEST_ASSERT_FALSE(may_run("bob", "client|list"));
	TEST_ASSERT_FALSE(may_run("bob", "peek"));
	set_user("bob", "+@fast");
	TEST_ASSERT_TRUE(may_run("bob", "peek"));
	TEST_ASSERT_TRUE(may_run("bob", "put"));
	TEST_ASSERT_FALSE(may_run("bob", "cancel"));
}

static void commands_before_authentication_are_for_everyone(void)
{
	set_user("bob", "+@all -auth -client -@slow nocommands");
	TEST_ASSERT_TRUE(may_run("bob", "auth"));
	TEST_ASSERT_TRUE(may_run("bob", "client|reset"));
}

static void a_wrong_rule_is_named(void)
{
	static const struct {
		const char *rule;
		const char *error;
	} cases[] = {
		{ "+foo", "'+foo': Unknown command or category name in ACL" },
		{ "-foo", "'-foo': Unknown command or category name in ACL" },
		{ "+", "'+': Unknown command or category name in ACL" },
		{ "+@foo", "'+@foo': Unknown command or category name in ACL" },
		{ "+@", "'+@': Unknown command or category name in ACL" },
		{ "+client|foo", "'+client|foo': Unknown command or category name in ACL" },
		{ "+client|", "'+client|': Unknown command or category name in ACL" },
		{ "+put|foo", "'+put|foo': Unknown command or category name in ACL" },
		{ "foo", "'foo': Syntax error" },
		{ "onn", "'onn': Syntax error" },
		{ "#12", "'#12': The password hash must be exactly 64 characters and contain only "
			 "lowercase hexadecimal characters" },
		{ "<secret", "'<***': The password you are trying to remove from the user does not "
			     "exist" },
		{ "!" SECRET_HASH, "'!" SECRET_HASH "': The password you are trying to remove from "
				   "the user does not exist" },
		{ ">", "'>***': The password is empty or longer than 4096 bytes" },
		{ "%", "'%': Syntax error" },
		{ "%R", "'%R': Syntax error" },
		{ "%~foo", "'%~foo': Syntax error" },
		{ "%X~foo", "'%X~foo': Syntax error" },
		{ "%RR~foo", "'%RR~foo': Syntax error" },
		{ "~a\tb", "'~a\tb': Patterns can't contain spaces or null characters" },
		{ "&a\tb", "'&a\tb': Patterns can't contain spaces or null characters" },
		{ "(+put", "'(+put': Selectors are not supported: give all rules to the user "
			   "itself" },
	};
	char expected[512];

	for (int i = 0; i < COUNT(cases); i++) {
		snprintf(expected, sizeof(expected), "Error in ACL SETUSER modifier %s",
			 cases[i].error);
		TEST_ASSERT_EQUAL_STRING(expected, set_user("bob", cases[i].rule));
		TEST_ASSERT_NULL(acl_find(f.env.acl, STR("bob")));
	}
}

static void an_empty_rule_and_a_long_one_are_refused(void)
{
	static char rule[ACL_MAX_PASSWORD_BYTES + 3];
	struct qless_str list[] = { STR("") };

	TEST_ASSERT_FALSE(acl_set_user(f.env.acl, STR("bob"), list, 1, &text));
	TEST_ASSERT_EQUAL_STRING("Error in ACL SETUSER modifier '': Syntax error", buf_cstr(&text));

	memset(rule, 'x', sizeof(rule) - 1);
	set_user("bob", rule);
	TEST_ASSERT_EQUAL_size_t(strlen("Error in ACL SETUSER modifier '': Syntax error") + 128,
				 text.len);
	rule[0] = '>';
	TEST_ASSERT_EQUAL_STRING("Error in ACL SETUSER modifier '>***': The password is empty or "
				 "longer than 4096 bytes",
				 set_user("bob", rule));
	rule[sizeof(rule) - 2] = '\0';
	TEST_ASSERT_EQUAL_STRING("", set_user("bob", rule));
}

static void a_hash_has_64_lower_case_digits(void)
{
	char rule[] = "#" SECRET_HASH;

	rule[64] = 'B';
	TEST_ASSERT_TRUE(strlen(set_user("bob", rule)) > 0);
	rule[64] = 'g';
	TEST_ASSERT_TRUE(strlen(set_user("bob", rule)) > 0);
	rule[64] = '\0';
	TEST_ASSERT_TRUE(strlen(set_user("bob", rule)) > 0);
}

static void a_wrong_rule_leaves_the_user_as_it_was(void)
{
	char before[512];

	set_user("bob", "on >secret +@read -peek");
	snprintf(before, sizeof(before), "%s", describe("bob"));
	TEST_ASSERT_TRUE(strlen(set_user("bob", "off resetpass +@all +foo")) > 0);
	TEST_ASSERT_EQUAL_STRING(before, describe("bob"));
	TEST_ASSERT_FALSE(may_run("bob", "put"));
	TEST_ASSERT_TRUE(authenticates("bob", "secret"));
}

static void names_are_checked(void)
{
	char name[ACL_MAX_NAME_BYTES + 2];

	memset(name, 'n', sizeof(name));
	name[ACL_MAX_NAME_BYTES + 1] = '\0';
	TEST_ASSERT_EQUAL_STRING("Usernames have from 1 to 256 bytes", set_user(name, "on"));
	name[ACL_MAX_NAME_BYTES] = '\0';
	TEST_ASSERT_EQUAL_STRING("", set_user(name, "on"));
	TEST_ASSERT_EQUAL_STRING("Usernames have from 1 to 256 bytes", set_user("", "on"));
	TEST_ASSERT_EQUAL_STRING("Usernames can't contain spaces or null characters",
				 set_user("a b", "on"));
	TEST_ASSERT_EQUAL_STRING("Usernames can't contain spaces or null characters",
				 set_user("a\nb", "on"));
	TEST_ASSERT_FALSE(acl_set_user(f.env.acl, STR("a\0b"), NULL, 0, &text));
	TEST_ASSERT_EQUAL_STRING("", set_user("B\xc3\xb6rn", "on"));
}

static void users_are_kept_in_the_order_of_their_names(void)
{
	static const char *const sorted[] = { "Zoe", "a", "aa", "b", "default", "e" };

	set_user("b", "on");
	set_user("e", "on");
	set_user("aa", "on");
	set_user("Zoe", "on");
	set_user("a", "on");
	TEST_ASSERT_EQUAL_INT(COUNT(sorted), acl_count(f.env.acl));
	for (int i = 0; i < COUNT(sorted); i++)
		TEST_ASSERT_TRUE(
			str_equal(str_from(sorted[i]), acl_user_name(acl_user_at(f.env.acl, i))));
}

static void there_is_a_limit_to_users_and_to_passwords(void)
{
	char name[32];

	for (int i = 1; i < ACL_MAX_USERS; i++) {
		snprintf(name, sizeof(name), "user%d", i);
		TEST_ASSERT_EQUAL_STRING("", set_user(name, "on"));
	}
	TEST_ASSERT_EQUAL_STRING("Too many users", set_user("more", "on"));
	TEST_ASSERT_EQUAL_STRING("", set_user("user7", "off"));

	for (int i = 0; i < ACL_MAX_PASSWORDS; i++) {
		snprintf(name, sizeof(name), "on >%d", i);
		TEST_ASSERT_EQUAL_STRING("", set_user("user8", name));
	}
	TEST_ASSERT_EQUAL_STRING("", set_user("user8", ">0"));
	TEST_ASSERT_EQUAL_STRING("Error in ACL SETUSER modifier '>***': The user has 64 passwords "
				 "already",
				 set_user("user8", ">more"));
	TEST_ASSERT_TRUE(authenticates("user8", "0"));
	TEST_ASSERT_TRUE(authenticates("user8", "63"));
}

static void a_user_stays_where_it_is_while_it_changes(void)
{
	const struct user *user;

	set_user("bob", "on");
	user = acl_find(f.env.acl, STR("bob"));
	set_user("alice", "on");
	set_user("bob", "reset +@all");
	TEST_ASSERT_EQUAL_PTR(user, acl_find(f.env.acl, STR("bob")));
}

static void a_deleted_user_is_gone_and_default_stays(void)
{
	set_user("bob", "on");
	TEST_ASSERT_TRUE(acl_delete_user(f.env.acl, STR("bob")));
	TEST_ASSERT_FALSE(acl_delete_user(f.env.acl, STR("bob")));
	TEST_ASSERT_NULL(acl_find(f.env.acl, STR("bob")));
	TEST_ASSERT_FALSE(acl_delete_user(f.env.acl, STR("default")));
	TEST_ASSERT_EQUAL_INT(1, acl_count(f.env.acl));
}

/* Random rules, against a bit for each command that is set and cleared by hand; and what describes
 * the user makes the same user again. */
static void a_description_recreates_the_user(void)
{
	unsigned long long seed = 11;
	bool allowed[COUNT(rows)] = { false };
	char rule[COMMAND_NAME_MAX + 2], first[1024], rules[sizeof(first) + 6];

	set_user("bob", "on >secret");
	for (int round = 0; round < 20000; round++) {
		bool allow = unit_random(&seed) % 2 != 0;
		int kind = (int)(unit_random(&seed) % 20);
		int bit = (int)(unit_random(&seed) % COMMAND_CATEGORY_COUNT);
		const char *name = rows[unit_random(&seed) % COUNT(rows)].name;

		if (kind == 0)
			snprintf(rule, sizeof(rule), "%c@all", "-+"[allow]);
		else if (kind < 5)
			snprintf(rule, sizeof(rule), "%c@%s", "-+"[allow],
				 command_category_name(bit));
		else
			snprintf(rule, sizeof(rule), "%c%s", "-+"[allow], name);
		TEST_ASSERT_EQUAL_STRING("", set_user("bob", rule));

		for (int i = 0; i < COUNT(rows); i++) {
			size_t len = strlen(name);
			bool named = strncmp(rows[i].name, name, len) == 0 &&
				     (rows[i].name[len] == '\0' || rows[i].name[len] == '|');
			const struct command *row = command_table_row(f.env.table, i);
			bool in = (command_categories(row) & 1U << bit) != 0;

			if (kind == 0 || (kind < 5 && in) || (kind >= 5 && named))
				allowed[i] = allow;
			TEST_ASSERT_EQUAL(allowed[i] || (rows[i].flags & CMD_NO_AUTH) != 0,
					  may_run("bob", rows[i].name));
		}

		snprintf(first, sizeof(first), "%s", describe("bob"));
		snprintf(rules, sizeof(rules), "reset %s", first);
		TEST_ASSERT_EQUAL_STRING("", set_user("twin", rules));
		TEST_ASSERT_EQUAL_STRING(first, describe("twin"));
		for (int i = 0; i < COUNT(rows); i++)
			TEST_ASSERT_EQUAL(may_run("bob", rows[i].name),
					  may_run("twin", rows[i].name));
	}
}

/* ---- authentication ---- */

static void each_password_authenticates(void)
{
	set_user("bob", "on >secret >other #" SECRET_HASH);
	TEST_ASSERT_TRUE(authenticates("bob", "secret"));
	TEST_ASSERT_TRUE(authenticates("bob", "other"));
	TEST_ASSERT_FALSE(authenticates("bob", "Secret"));
	TEST_ASSERT_FALSE(authenticates("bob", "secre"));
	TEST_ASSERT_FALSE(authenticates("bob", ""));
	TEST_ASSERT_FALSE(authenticates("bob", SECRET_HASH));
	TEST_ASSERT_FALSE(authenticates("alice", "secret"));
	TEST_ASSERT_FALSE(acl_user_needs_no_password(acl_find(f.env.acl, STR("bob"))));
}

static void a_user_that_is_off_cannot_authenticate(void)
{
	set_user("bob", "off >secret");
	TEST_ASSERT_FALSE(authenticates("bob", "secret"));
	set_user("bob", "nopass");
	TEST_ASSERT_FALSE(authenticates("bob", "secret"));
	TEST_ASSERT_FALSE(acl_user_needs_no_password(acl_find(f.env.acl, STR("bob"))));
	set_user("bob", "on");
	TEST_ASSERT_TRUE(authenticates("bob", "anything"));
	TEST_ASSERT_TRUE(acl_user_needs_no_password(acl_find(f.env.acl, STR("bob"))));
}

static void a_user_without_any_password_cannot_authenticate(void)
{
	set_user("bob", "on");
	TEST_ASSERT_FALSE(authenticates("bob", ""));
	/* Nor with what the places of missing passwords are compared with. */
	set_user("bob", ">secret");
	TEST_ASSERT_FALSE(authenticates("bob", ""));
}

static void an_overlong_password_does_not_authenticate(void)
{
	static char password[ACL_MAX_PASSWORD_BYTES + 1];

	set_user("bob", "on nopass");
	TEST_ASSERT_NOT_NULL(acl_authenticate(f.env.acl, STR("bob"),
					      str_make(password, ACL_MAX_PASSWORD_BYTES)));
	TEST_ASSERT_NULL(acl_authenticate(f.env.acl, STR("bob"),
					  str_make(password, ACL_MAX_PASSWORD_BYTES + 1)));
}

static void the_default_password_can_be_set_and_removed(void)
{
	acl_set_default_password(f.env.acl, STR("other"));
	acl_set_default_password(f.env.acl, STR("secret"));
	TEST_ASSERT_FALSE(acl_user_needs_no_password(acl_default_user(f.env.acl)));
	TEST_ASSERT_TRUE(authenticates("default", "secret"));
	TEST_ASSERT_FALSE(authenticates("default", "other"));
	TEST_ASSERT_EQUAL_STRING("on #" SECRET_HASH " ~* &* +@all", describe("default"));
	acl_set_default_password(f.env.acl, STR(""));
	TEST_ASSERT_TRUE(acl_user_needs_no_password(acl_default_user(f.env.acl)));
	TEST_ASSERT_EQUAL_STRING("on nopass ~* &* +@all", describe("default"));
}

/* ---- replies ---- */

static void whoami_names_the_user(void)
{
	ASSERT_REPLY("$7\r\ndefault\r\n", &f, "acl", "whoami");
	set_user("bob", "on +acl");
	f.session.user = acl_find(f.env.acl, STR("bob"));
	ASSERT_REPLY("$3\r\nbob\r\n", &f, "acl", "whoami");
}

static void users_are_listed(void)
{
	ASSERT_REPLY("+OK\r\n", &f, "acl", "setuser", "bob", "on", "+peek");
	ASSERT_REPLY("*2\r\n$3\r\nbob\r\n$7\r\ndefault\r\n", &f, "acl", "users");
	ASSERT_REPLY("*2\r\n$29\r\nuser bob on ~* &* -@all +peek\r\n"
		     "$34\r\nuser default on nopass ~* &* +@all\r\n",
		     &f, "acl", "list");
}

static void setuser_names_the_wrong_rule(void)
{
	ASSERT_REPLY("-ERR Error in ACL SETUSER modifier '+foo': Unknown command or category name "
		     "in ACL\r\n",
		     &f, "acl", "setuser", "bob", "on", "+foo");
	ASSERT_REPLY("-ERR Usernames can't contain spaces or null characters\r\n", &f, "acl",
		     "setuser", "a b");
}

static void getuser_describes_a_user(void)
{
	ASSERT_REPLY("*12\r\n$5\r\nflags\r\n*2\r\n$2\r\non\r\n$6\r\nnopass\r\n"
		     "$9\r\npasswords\r\n*0\r\n$8\r\ncommands\r\n$5\r\n+@all\r\n"
		     "$4\r\nkeys\r\n$2\r\n~*\r\n$8\r\nchannels\r\n$2\r\n&*\r\n"
		     "$9\r\nselectors\r\n*0\r\n",
		     &f, "acl", "getuser", "default");
	ASSERT_REPLY("$-1\r\n", &f, "acl", "getuser", "bob");
	set_user("bob", ">secret +@read -peek");
	call_use_proto(&f, 3);
	ASSERT_REPLY("%6\r\n$5\r\nflags\r\n~1\r\n$3\r\noff\r\n"
		     "$9\r\npasswords\r\n*1\r\n$64\r\n" SECRET_HASH "\r\n"
		     "$8\r\ncommands\r\n$18\r\n-@all +@read -peek\r\n"
		     "$4\r\nkeys\r\n$2\r\n~*\r\n$8\r\nchannels\r\n$2\r\n&*\r\n"
		     "$9\r\nselectors\r\n*0\r\n",
		     &f, "acl", "getuser", "bob");
	ASSERT_REPLY("_\r\n", &f, "acl", "getuser", "alice");
}

static int gone;

static void count_gone(void *arg, const struct user *user)
{
	TEST_ASSERT_EQUAL_PTR(&gone, arg);
	TEST_ASSERT_EQUAL_PTR(acl_find(f.env.acl, acl_user_name(user)), user);
	gone++;
}

static void deluser_counts_users_and_calls_the_hook_first(void)
{
	gone = 0;
	f.env.user_gone = count_gone;
	f.env.user_gone_arg = &gone;
	set_user("bob", "on");
	set_user("alice", "on");
	ASSERT_REPLY(":2\r\n", &f, "acl", "deluser", "bob", "nobody", "alice", "bob");
	TEST_ASSERT_EQUAL_INT(2, gone);
	TEST_ASSERT_EQUAL_INT(1, acl_count(f.env.acl));
	ASSERT_REPLY(":0\r\n", &f, "acl", "deluser", "bob");
}

static void deluser_with_default_deletes_nobody(void)
{
	set_user("bob", "on");
	ASSERT_REPLY("-ERR The 'default' user cannot be removed\r\n", &f, "acl", "deluser", "bob",
		     "default");
	TEST_ASSERT_NOT_NULL(acl_find(f.env.acl, STR("bob")));
}

static void cat_lists_categories_and_their_commands(void)
{
	ASSERT_REPLY("*23\r\n$8\r\nkeyspace\r\n$4\r\nread\r\n$5\r\nwrite\r\n$5\r\nqless\r\n"
		     "$6\r\npubsub\r\n$5\r\nadmin\r\n$4\r\nfast\r\n$4\r\nslow\r\n"
		     "$8\r\nblocking\r\n$9\r\ndangerous\r\n$10\r\nconnection\r\n"
		     "$11\r\ntransaction\r\n$9\r\nscripting\r\n$4\r\nhash\r\n$4\r\nlist\r\n"
		     "$3\r\nset\r\n$9\r\nsortedset\r\n$6\r\nevents\r\n$9\r\nsupervise\r\n"
		     "$8\r\nproducer\r\n$6\r\nworker\r\n$8\r\noperator\r\n"
		     "$9\r\ndashboard\r\n",
		     &f, "acl", "cat");
	ASSERT_REPLY("*2\r\n$3\r\nput\r\n$6\r\ncancel\r\n", &f, "acl", "cat", "WRITE");
	ASSERT_REPLY("*0\r\n", &f, "acl", "cat", "scripting");
	ASSERT_REPLY("-ERR Unknown category 'foo'\r\n", &f, "acl", "cat", "foo");
}

static void dryrun_says_what_would_happen(void)
{
	set_user("bob", "+peek +client|id +stats");
	ASSERT_REPLY("+OK\r\n", &f, "acl", "dryrun", "bob", "PEEK");
	ASSERT_REPLY("+OK\r\n", &f, "acl", "dryrun", "bob", "client", "id");
	ASSERT_REPLY("$53\r\nThis user has no permissions to run the 'put' command\r\n", &f, "acl",
		     "dryrun", "bob", "put", "x");
	ASSERT_REPLY("$61\r\nThis user has no permissions to run the 'client|list' command\r\n", &f,
		     "acl", "dryrun", "bob", "client", "list");
	ASSERT_REPLY("-ERR wrong number of arguments for 'stats' command\r\n", &f, "acl", "dryrun",
		     "bob", "stats");
	ASSERT_REPLY("-ERR wrong number of arguments for 'client' command\r\n", &f, "acl", "dryrun",
		     "bob", "client");
	ASSERT_REPLY("-ERR Command 'foo' not found\r\n", &f, "acl", "dryrun", "bob", "foo");
	ASSERT_REPLY("-ERR Command 'client' not found\r\n", &f, "acl", "dryrun", "bob", "client",
		     "foo");
	ASSERT_REPLY("-ERR User 'alice' not found\r\n", &f, "acl", "dryrun", "alice", "peek");
}

static bool may_publish(const char *name, const char *channel)
{
	return acl_may_publish(acl_find(f.env.acl, str_from(name)), str_from(channel));
}

static void only_the_category_events_allows_to_publish_events(void)
{
	TEST_ASSERT_TRUE(may_publish("default", "news"));
	TEST_ASSERT_TRUE(may_publish("default", "ql"));
	TEST_ASSERT_FALSE(may_publish("default", "ql:log"));
	set_user("bob", "+@all +@events -peek");
	TEST_ASSERT_TRUE(may_publish("bob", "ql:log"));
	TEST_ASSERT_EQUAL_STRING("off ~* &* +@all +@events -peek", describe("bob"));
	set_user("bob", "-@events");
	TEST_ASSERT_FALSE(may_publish("bob", "ql:log"));
	TEST_ASSERT_EQUAL_STRING("off ~* &* +@all -peek", describe("bob"));
	set_user("bob", "+@events -@all +publish");
	TEST_ASSERT_FALSE(may_publish("bob", "ql:log"));
	TEST_ASSERT_EQUAL_STRING("off ~* &* -@all +publish", describe("bob"));
	ASSERT_REPLY("$59\r\nThis user has no permissions to access the 'ql:log' channel\r\n", &f,
		     "acl", "dryrun", "bob", "publish", "ql:log", "m");
	ASSERT_REPLY("+OK\r\n", &f, "acl", "dryrun", "bob", "publish", "news", "m");
	set_user("bob", "+@events");
	ASSERT_REPLY("+OK\r\n", &f, "acl", "dryrun", "bob", "publish", "ql:log", "m");
}

static void setuser_without_a_name_makes_no_user(void)
{
	static const char *const rules[] = { ">secret", "<secret", ("#" SECRET_HASH) };

	for (int i = 0; i < COUNT(rules); i++) {
		ASSERT_REPLY("-ERR The first argument is a rule about a password, and a name was "
			     "expected: ACL SETUSER username [rule ...]\r\n",
			     &f, "acl", "setuser", rules[i], "on");
		TEST_ASSERT_NULL(acl_find(f.env.acl, str_from(rules[i])));
	}
	TEST_ASSERT_EQUAL_INT(1, acl_count(f.env.acl));
}

static void there_is_no_acl_file(void)
{
	ASSERT_REPLY("-ERR There is no ACL file: users are lines of qlessd.conf. CONFIG REWRITE "
		     "saves them there\r\n",
		     &f, "acl", "load");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_default_user_may_do_everything);
	RUN(a_new_user_may_do_nothing);
	RUN(rules_apply_from_left_to_right);
	RUN(a_pattern_after_the_star_is_refused);
	RUN(the_number_and_the_length_of_patterns_are_limited);
	RUN(patterns_decide_about_keys_and_channels);
	RUN(only_a_user_with_limits_is_looked_at_closely);
	RUN(a_container_stands_for_its_subcommands);
	RUN(a_category_is_all_its_commands);
	RUN(commands_before_authentication_are_for_everyone);
	RUN(a_wrong_rule_is_named);
	RUN(an_empty_rule_and_a_long_one_are_refused);
	RUN(a_hash_has_64_lower_case_digits);
	RUN(a_wrong_rule_leaves_the_user_as_it_was);
	RUN(names_are_checked);
	RUN(users_are_kept_in_the_order_of_their_names);
	RUN(there_is_a_limit_to_users_and_to_passwords);
	RUN(a_user_stays_where_it_is_while_it_changes);
	RUN(a_deleted_user_is_gone_and_default_stays);
	RUN(a_description_recreates_the_user);
	RUN(each_password_authenticates);
	RUN(a_user_that_is_off_cannot_authenticate);
	RUN(a_user_without_any_password_cannot_authenticate);
	RUN(an_overlong_password_does_not_authenticate);
	RUN(the_default_password_can_be_set_and_removed);
	RUN(whoami_names_the_user);
	RUN(users_are_listed);
	RUN(setuser_names_the_wrong_rule);
	RUN(getuser_describes_a_user);
	RUN(deluser_counts_users_and_calls_the_hook_first);
	RUN(deluser_with_default_deletes_nobody);
	RUN(cat_lists_categories_and_their_commands);
	RUN(dryrun_says_what_would_happen);
	RUN(only_the_category_events_allows_to_publish_events);
	RUN(setuser_without_a_name_makes_no_user);
	RUN(there_is_no_acl_file);
	return UNIT_RESULT();
}
