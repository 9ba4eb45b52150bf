#include "unit.h"

#include <stdio.h>
#include <strings.h>

#include "command/roles.h"
#include "command/table.h"
#include "util/buf.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static void handle(struct request *req)
{
	(void)req;
}

static const struct command rows[] = {
	{ .name = "get", .handler = handle, .min_args = 1, .max_args = 1, .flags = CMD_READ },
	{ .name = "client", .min_args = 1, .max_args = COMMAND_ANY_ARGS, .flags = CMD_CONTAINER },
	{ .name = "client|setname", .handler = handle, .min_args = 1, .max_args = 1 },
	{ .name = "client|list", .handler = handle, .max_args = COMMAND_ANY_ARGS },
	{ .name = "command",
	  .handler = handle,
	  .max_args = COMMAND_ANY_ARGS,
	  .flags = CMD_CONTAINER },
	{ .name = "command|info", .handler = handle, .max_args = COMMAND_ANY_ARGS },
	{ .name = "put",
	  .handler = handle,
	  .min_args = 2,
	  .max_args = 3,
	  .flags = CMD_WRITE | CMD_FAST },
};

static struct command_table *t;
static struct buf error;

void setUp(void)
{
	t = command_table_new(&(struct command_rows){ rows, COUNT(rows) }, 1);
	buf_init(&error, 4096);
}

void tearDown(void)
{
	command_table_free(t);
	buf_done(&error);
}

/* Finds the row of a request, whose words are separated by blanks. Returns its name, or an error.
 */
static const char *resolve(const char *request)
{
	struct qless_str argv[16];
	const struct command *cmd;
	int argc = 0, name_args = 0;

	while (*request != '\0') {
		size_t len = strcspn(request, " ");

		argv[argc++] = str_make(request, len);
		request += len + (request[len] == ' ');
	}
	buf_clear(&error);
	cmd = command_table_lookup(t, argv, argc, &name_args);
	if (cmd == NULL) {
		command_table_describe_unknown(t, argv, argc, &error);
		return buf_cstr(&error);
	}
	if (!command_takes(cmd, argc - name_args))
		return "wrong number";
	TEST_ASSERT_EQUAL_INT(strchr(cmd->name, '|') != NULL ? 2 : 1, name_args);
	TEST_ASSERT_EQUAL_size_t(0, error.len);
	return cmd->name;
}

static void a_command_is_found_in_any_case(void)
{
	TEST_ASSERT_EQUAL_STRING("get", resolve("get x"));
	TEST_ASSERT_EQUAL_STRING("get", resolve("GET x"));
	TEST_ASSERT_EQUAL_STRING("get", resolve("gEt x"));
	TEST_ASSERT_EQUAL_PTR(command_table_row(t, 3), command_table_find(t, STR("CLIENT|List")));
	TEST_ASSERT_EQUAL_INT(3, command_table_index(t, command_table_row(t, 3)));
	TEST_ASSERT_NULL(command_table_find(t, STR("")));
	TEST_ASSERT_NULL(command_table_find(t, STR("ge")));
	TEST_ASSERT_NULL(command_table_find(t, STR("get\0")));
	TEST_ASSERT_NULL(command_table_find(t, STR("gets")));
}

static void a_name_longer_than_any_is_not_found(void)
{
	char name[2 * COMMAND_NAME_MAX];

	memset(name, 'g', sizeof(name));
	for (size_t len = 4; len <= sizeof(name); len++)
		TEST_ASSERT_NULL(command_table_find(t, str_make(name, len)));
	memcpy(name, "client ", 7);
	TEST_ASSERT_EQUAL_size_t(2, sizeof(name) / COMMAND_NAME_MAX);
	for (size_t len = 8; len <= sizeof(name) - 7; len++) {
		struct qless_str argv[] = { str_make(name, 6), str_make(name + 7, len) };
		int name_args;

		TEST_ASSERT_NULL(command_table_lookup(t, argv, 2, &name_args));
		TEST_ASSERT_EQUAL_INT(2, name_args);
	}
}

static void an_unknown_command_is_quoted_with_its_arguments(void)
{
	TEST_ASSERT_EQUAL_STRING("ERR unknown command 'foo', with args beginning with: ",
				 resolve("foo"));
	TEST_ASSERT_EQUAL_STRING("ERR unknown command 'FOO', with args beginning with: 'a' 'B' ",
				 resolve("FOO a B"));
	TEST_ASSERT_EQUAL_STRING("ERR unknown command 'client|list', with args beginning with: ",
				 resolve("client|list"));
}

/* The expected texts are those of Redis 7.0. */
static void an_error_quotes_at_most_128_bytes_of_an_argument(void)
{
	char a[200], request[600], expected[600];

	memset(a, 'a', sizeof(a));
	snprintf(request, sizeof(request), "%.135s bbb", a);
	snprintf(expected, sizeof(expected),
		 "ERR unknown command '%.128s', with args beginning with: 'bbb' ", a);
	TEST_ASSERT_EQUAL_STRING(expected, resolve(request));

	snprintf(request, sizeof(request), "foo %.135s bbb", a);
	snprintf(expected, sizeof(expected),
		 "ERR unknown command 'foo', with args beginning with: '%.128s' ", a);
	TEST_ASSERT_EQUAL_STRING(expected, resolve(request));

	snprintf(request, sizeof(request), "foo %.100s %.100s bbb", a, a);
	snprintf(expected, sizeof(expected),
		 "ERR unknown command 'foo', with args beginning with: '%.100s' '%.25s' ", a, a);
	TEST_ASSERT_EQUAL_STRING(expected, resolve(request));

	snprintf(request, sizeof(request), "client %.135s", a);
	snprintf(expected, sizeof(expected), "ERR unknown subcommand '%.128s'. Try CLIENT HELP.",
		 a);
	TEST_ASSERT_EQUAL_STRING(expected, resolve(request));
}

static void an_error_is_cut_at_the_end_of_its_buffer(void)
{
	struct qless_str argv[] = { STR("foo"), STR("a"), STR("b"), STR("c"), STR("d") };
	struct buf small = BUF_INIT(30);

	command_table_describe_unknown(t, argv, 5, &small);
	TEST_ASSERT_TRUE(small.len <= 30);
	TEST_ASSERT_TRUE(str_starts_with(buf_str(&small), STR("ERR unknown command 'foo'")));
	buf_done(&small);
}

static void the_number_of_arguments_is_checked(void)
{
	TEST_ASSERT_EQUAL_STRING("wrong number", resolve("GET"));
	TEST_ASSERT_EQUAL_STRING("wrong number", resolve("get a b"));
	TEST_ASSERT_EQUAL_STRING("put", resolve("put a b"));
	TEST_ASSERT_EQUAL_STRING("put", resolve("put a b c"));
	TEST_ASSERT_EQUAL_STRING("wrong number", resolve("put a b c d"));
	TEST_ASSERT_EQUAL_STRING("wrong number", resolve("put a"));
}

static void a_subcommand_is_part_of_the_name(void)
{
	TEST_ASSERT_EQUAL_STRING("client|setname", resolve("CLIENT SetName x"));
	TEST_ASSERT_EQUAL_STRING("client|list", resolve("client list a b c d"));
	TEST_ASSERT_EQUAL_STRING("wrong number", resolve("client SETNAME"));
	TEST_ASSERT_EQUAL_STRING("ERR unknown subcommand 'Foo'. Try CLIENT HELP.",
				 resolve("client Foo a b"));
	TEST_ASSERT_EQUAL_STRING("ERR unknown subcommand 'setname|x'. Try CLIENT HELP.",
				 resolve("client setname|x"));
	/* A subcommand belongs to one container only. */
	TEST_ASSERT_EQUAL_STRING("ERR unknown subcommand 'list'. Try COMMAND HELP.",
				 resolve("command list"));
}

static void a_container_runs_without_a_subcommand_only_if_it_has_a_handler(void)
{
	TEST_ASSERT_EQUAL_STRING("wrong number", resolve("client"));
	TEST_ASSERT_EQUAL_STRING("command", resolve("command"));
}

static void a_container_knows_its_subcommands(void)
{
	int first;

	TEST_ASSERT_EQUAL_INT(2, command_table_subcommands(t, command_table_row(t, 1), &first));
	TEST_ASSERT_EQUAL_INT(2, first);
	TEST_ASSERT_EQUAL_INT(1, command_table_subcommands(t, command_table_row(t, 4), &first));
	TEST_ASSERT_EQUAL_INT(5, first);
	TEST_ASSERT_EQUAL_INT(0, command_table_subcommands(t, command_table_row(t, 0), &first));
	TEST_ASSERT_EQUAL_PTR(command_table_row(t, 1),
			      command_table_parent(t, command_table_row(t, 3)));
	TEST_ASSERT_NULL(command_table_parent(t, command_table_row(t, 1)));
}

static void flags_imply_categories(void)
{
	struct command cmd = { .flags = CMD_ADMIN | CMD_PUBSUB | CMD_BLOCKING,
			       .categories = CAT_CONNECTION };

	TEST_ASSERT_EQUAL_HEX32(CAT_READ | CAT_SLOW | roles_of_command("get"),
				command_categories(command_table_row(t, 0)));
	TEST_ASSERT_EQUAL_HEX32(CAT_WRITE | CAT_FAST | roles_of_command("put"),
				command_categories(command_table_row(t, 6)));
	TEST_ASSERT_EQUAL_HEX32(CAT_ADMIN | CAT_DANGEROUS | CAT_PUBSUB | CAT_BLOCKING | CAT_SLOW |
					CAT_CONNECTION,
				command_categories(&cmd));
}

static void a_category_is_found_in_any_case(void)
{
	for (int bit = 0; bit < COMMAND_CATEGORY_COUNT; bit++)
		TEST_ASSERT_EQUAL_INT(bit,
				      command_category_find(str_from(command_category_name(bit))));
	TEST_ASSERT_EQUAL_INT(CAT_ADMIN_BIT, command_category_find(STR("AdMin")));
	TEST_ASSERT_EQUAL_INT(-1, command_category_find(STR("@admin")));
	TEST_ASSERT_EQUAL_INT(-1, command_category_find(STR("")));
}

/* Compares lookups of many similar names with a linear search. */
static void lookups_agree_with_a_linear_search(void)
{
	enum { NAMES = 500, LOOKUPS = 20000, LONGEST = 20 };
	static char names[NAMES][LONGEST + 1];
	static struct command many[NAMES];
	struct command_table *table;
	unsigned long long seed = 7;
	int count = 0;

	while (count < NAMES) {
		int len = 1 + (int)(unit_random(&seed) % LONGEST);
		bool known = false;

		for (int i = 0; i < len; i++)
			names[count][i] = "ab."[unit_random(&seed) % 3];
		names[count][len] = '\0';
		for (int i = 0; i < count; i++)
			known |= strcmp(names[i], names[count]) == 0;
		many[count] = (struct command){ .name = names[count], .handler = handle };
		count += !known;
	}
	table = command_table_new(&(struct command_rows){ many, NAMES }, 1);
	for (int i = 0; i < LOOKUPS; i++) {
		const struct command *expected = NULL;
		char name[LONGEST + 2];
		int len = 1 + (int)(unit_random(&seed) % 9);

		for (int j = 0; j < len; j++)
			name[j] = "aAbB."[unit_random(&seed) % 5];
		name[len] = '\0';
		for (int j = 0; j < NAMES; j++)
			expected = strcasecmp(names[j], name) == 0 ? command_table_row(table, j)
								   : expected;
		TEST_ASSERT_EQUAL_PTR(expected, command_table_find(table, str_from(name)));
	}
	command_table_free(table);
}

static void a_table_without_rows_finds_nothing(void)
{
	struct command_table *empty = command_table_new(NULL, 0);

	TEST_ASSERT_NULL(command_table_find(empty, STR("get")));
	TEST_ASSERT_EQUAL_INT(0, command_table_count(empty));
	command_table_free(empty);
	command_table_free(NULL);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_command_is_found_in_any_case);
	RUN(a_name_longer_than_any_is_not_found);
	RUN(an_unknown_command_is_quoted_with_its_arguments);
	RUN(an_error_quotes_at_most_128_bytes_of_an_argument);
	RUN(an_error_is_cut_at_the_end_of_its_buffer);
	RUN(the_number_of_arguments_is_checked);
	RUN(a_subcommand_is_part_of_the_name);
	RUN(a_container_runs_without_a_subcommand_only_if_it_has_a_handler);
	RUN(a_container_knows_its_subcommands);
	RUN(flags_imply_categories);
	RUN(a_category_is_found_in_any_case);
	RUN(lookups_agree_with_a_linear_search);
	RUN(a_table_without_rows_finds_nothing);
	return UNIT_RESULT();
}
