#include "call.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>

#include "command/handlers.h"
#include "command/synopsis.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static void handle(struct request *req)
{
	reply_ok(req->reply);
}

/* The rows of the server, without their handlers. */
static const struct command all_rows[] = {
#define QUEUE(row_name, row_handler, row_run, row_decode, row_objects, row_forms, min, max, \
	      row_flags, row_group, row_arguments, row_summary, row_complexity)             \
	COMMAND_ROW(row_name, handle, min, max, row_flags, CAT_QLESS, row_group, "0.1.0",   \
		    row_arguments, row_summary, row_complexity)
#define COMMAND(row_name, row_handler, ...) COMMAND_ROW(row_name, handle, __VA_ARGS__)
#include "command/queue_commands.def"
#include "command/commands.def"
#include "server/commands.def"
#include "server/group_commands.def"
#undef COMMAND
#undef QUEUE
};

static const char *const all_handlers[] = {
#define QUEUE(row_name, row_handler, ...)   #row_handler,
#define COMMAND(row_name, row_handler, ...) #row_handler,
#include "command/queue_commands.def"
#include "command/commands.def"
#include "server/commands.def"
#include "server/group_commands.def"
#undef COMMAND
#undef QUEUE
};

/* A small table, so that expected replies can be written in full. */
static const struct command few_rows[] = {
	{ .name = "ping",
	  .handler = cmd_ping,
	  .max_args = 1,
	  .flags = CMD_FAST | CMD_LOADING | CMD_SUBSCRIBED,
	  .categories = CAT_CONNECTION,
	  .group = "connection",
	  .since = "0.1.0",
	  .arguments = "[message]",
	  .summary = "Answers.",
	  .complexity = "O(1)" },
	{ .name = "command",
	  .handler = cmd_command,
	  .max_args = COMMAND_ANY_ARGS,
	  .flags = CMD_CONTAINER,
	  .group = "server",
	  .since = "0.1.0",
	  .arguments = "",
	  .summary = "Describes.",
	  .complexity = "O(N)" },
	{ .name = "command|count",
	  .handler = cmd_command_count,
	  .group = "server",
	  .since = "0.1.0",
	  .arguments = "",
	  .summary = "Counts.",
	  .complexity = "O(1)" },
	{ .name = "command|docs",
	  .handler = cmd_command_docs,
	  .max_args = COMMAND_ANY_ARGS,
	  .group = "server",
	  .since = "0.1.0",
	  .arguments = "[command-name ...]",
	  .summary = "Documents.",
	  .complexity = "O(N)" },
	{ .name = "command|getkeys",
	  .handler = cmd_command_getkeys,
	  .min_args = 1,
	  .max_args = COMMAND_ANY_ARGS,
	  .arguments = "command [arg ...]",
	  .summary = "Extracts." },
	{ .name = "command|info",
	  .handler = cmd_command_info,
	  .max_args = COMMAND_ANY_ARGS,
	  .arguments = "[command-name ...]",
	  .summary = "Describes some." },
	{ .name = "command|list",
	  .handler = cmd_command_list,
	  .max_args = 3,
	  .arguments = "[FILTERBY <MODULE name | PATTERN pattern>]",
	  .summary = "Lists." },
	{ .name = "command|help",
	  .handler = command_help,
	  .arguments = "",
	  .summary = "Prints this help." },
	{ .name = "box",
	  .min_args = 1,
	  .max_args = COMMAND_ANY_ARGS,
	  .flags = CMD_CONTAINER,
	  .group = "server",
	  .since = "0.2.0",
	  .arguments = "",
	  .summary = "Boxes.",
	  .complexity = "Depends." },
	{ .name = "box|help",
	  .handler = command_help,
	  .group = "server",
	  .since = "0.2.0",
	  .arguments = "",
	  .summary = "Helps.",
	  .complexity = "O(1)" },
	{ .name = "box|put",
	  .handler = handle,
	  .min_args = 2,
	  .max_args = COMMAND_ANY_ARGS,
	  .flags = CMD_WRITE | CMD_ADMIN | CMD_SECRET,
	  .group = "server",
	  .since = "0.2.0",
	  .arguments = "ON|OFF name ... [LIMIT offset count]",
	  .summary = "Puts.",
	  .complexity = "O(1)" },
};

static struct call_fixture f;

void setUp(void)
{
	call_setup(&f, command_table_new(&(struct command_rows){ few_rows, COUNT(few_rows) }, 1));
}

void tearDown(void)
{
	call_teardown(&f);
}

/* ---- the rows of the server ---- */

static void the_table_finds_every_row(void)
{
	struct command_table *t =
		command_table_new(&(struct command_rows){ all_rows, COUNT(all_rows) }, 1);

	for (int i = 0; i < COUNT(all_rows); i++)
		TEST_ASSERT_EQUAL_PTR(command_table_row(t, i),
				      command_table_find(t, str_from(all_rows[i].name)));
	command_table_free(t);
}

static bool is_version(const char *text)
{
	int major, minor, patch, end = 0;

	return sscanf(text, "%d.%d.%d%n", &major, &minor, &patch, &end) == 3 && text[end] == '\0';
}

static void every_row_has_documentation(void)
{
	for (int i = 0; i < COUNT(all_rows); i++) {
		const struct command *cmd = &all_rows[i];
		size_t summary = strlen(cmd->summary);

		TEST_ASSERT_TRUE_MESSAGE(summary > 0, cmd->name);
		TEST_ASSERT_TRUE_MESSAGE(isupper(cmd->summary[0]), cmd->name);
		TEST_ASSERT_TRUE_MESSAGE(cmd->summary[summary - 1] == '.', cmd->name);
		TEST_ASSERT_TRUE_MESSAGE(cmd->group[0] != '\0', cmd->name);
		TEST_ASSERT_TRUE_MESSAGE(is_version(cmd->since), cmd->name);
		TEST_ASSERT_TRUE_MESSAGE(cmd->complexity[0] != '\0', cmd->name);
	}
}

struct bounds {
	long min, max; /* LONG_MAX: any number */
};

static struct bounds count_run(const struct synopsis *s, int first);

static struct bounds count_arg(const struct synopsis *s, const struct synopsis_arg *arg)
{
	struct bounds sum = { 1, 1 };

	if (arg->type == SYNOPSIS_BLOCK) {
		sum = count_run(s, arg->child);
	} else if (arg->type == SYNOPSIS_ONEOF) {
		sum = (struct bounds){ LONG_MAX, 0 };
		for (int i = arg->child; i >= 0; i = s->args[i].next) {
			struct bounds one = count_arg(s, &s->args[i]);

			one.min = one.min > 0 ? one.min : 1; /* nothing is no choice */
			sum.min = one.min < sum.min ? one.min : sum.min;
			sum.max = one.max > sum.max ? one.max : sum.max;
		}
	}
	if (arg->token.len != 0 && arg->type != SYNOPSIS_TOKEN) {
		sum.min++;
		sum.max += sum.max != LONG_MAX;
	}
	if (arg->optional)
		sum.min = 0;
	if (arg->multiple)
		sum.max = LONG_MAX;
	return sum;
}

static struct bounds count_run(const struct synopsis *s, int first)
{
	struct bounds sum = { 0, 0 };

	for (int i = first; i >= 0; i = s->args[i].next) {
		struct bounds one = count_arg(s, &s->args[i]);

		sum.min += one.min;
		if (sum.max == LONG_MAX || one.max == LONG_MAX)
			sum.max = LONG_MAX;
		else
			sum.max += one.max;
	}
	return sum;
}

static void the_synopsis_of_every_row_agrees_with_its_arity(void)
{
	for (int i = 0; i < COUNT(all_rows); i++) {
		const struct command *cmd = &all_rows[i];
		struct synopsis synopsis;
		struct bounds bounds;

		TEST_ASSERT_TRUE_MESSAGE(synopsis_parse(cmd->arguments, &synopsis), cmd->name);
		if (cmd->flags & CMD_CONTAINER)
			continue;
		bounds = count_run(&synopsis, synopsis.first);
		TEST_ASSERT_EQUAL_INT_MESSAGE(bounds.min, cmd->min_args, cmd->name);
		/* Some handlers take any number of arguments, because their errors are more
		 * precise. */
		if (cmd->max_args != COMMAND_ANY_ARGS)
			TEST_ASSERT_EQUAL_INT_MESSAGE(bounds.max, cmd->max_args, cmd->name);
	}
}

static void every_container_has_help_and_every_other_row_has_a_handler(void)
{
	struct command_table *t =
		command_table_new(&(struct command_rows){ all_rows, COUNT(all_rows) }, 1);
	char help[COMMAND_NAME_MAX];

	for (int i = 0; i < COUNT(all_rows); i++) {
		const struct command *cmd;

		if ((all_rows[i].flags & CMD_CONTAINER) == 0) {
			TEST_ASSERT_TRUE_MESSAGE(strcmp(all_handlers[i], "NULL") != 0,
						 all_rows[i].name);
			continue;
		}
		snprintf(help, sizeof(help), "%s|help", all_rows[i].name);
		cmd = command_table_find(t, str_from(help));
		TEST_ASSERT_NOT_NULL_MESSAGE(cmd, help);
		TEST_ASSERT_EQUAL_STRING_MESSAGE("command_help",
						 all_handlers[command_table_index(t, cmd)], help);
	}
	command_table_free(t);
}

/* ---- COMMAND ---- */

#define PING_ROLES "+@producer\r\n+@worker\r\n+@operator\r\n+@dashboard\r\n"
#define PING_INFO_2                                                         \
	"*10\r\n$4\r\nping\r\n:-1\r\n*3\r\n+loading\r\n+stale\r\n+fast\r\n" \
	":0\r\n:0\r\n:0\r\n*6\r\n+@fast\r\n+@connection\r\n" PING_ROLES "*0\r\n*0\r\n*0\r\n"
#define PING_INFO_3                                                         \
	"*10\r\n$4\r\nping\r\n:-1\r\n~3\r\n+loading\r\n+stale\r\n+fast\r\n" \
	":0\r\n:0\r\n:0\r\n~6\r\n+@fast\r\n+@connection\r\n" PING_ROLES "~0\r\n~0\r\n~0\r\n"
#define PUT_INFO_3                                                                   \
	"*10\r\n$7\r\nbox|put\r\n:-4\r\n~3\r\n+write\r\n+admin\r\n+skip_slowlog\r\n" \
	":0\r\n:0\r\n:0\r\n"                                                         \
	"~4\r\n+@write\r\n+@admin\r\n+@slow\r\n+@dangerous\r\n~0\r\n~0\r\n~0\r\n"
#define BOX_HELP_INFO_3                                                                            \
	"*10\r\n$8\r\nbox|help\r\n:2\r\n~1\r\n+stale\r\n:0\r\n:0\r\n:0\r\n~1\r\n+@slow\r\n~0\r\n~" \
	"0\r\n~"                                                                                   \
	"0\r\n"

static void info_describes_the_named_commands(void)
{
	ASSERT_REPLY("*1\r\n" PING_INFO_2, &f, "command", "info", "PING");
	ASSERT_REPLY("*2\r\n$-1\r\n$-1\r\n", &f, "command", "info", "foo", "box|foo");
	call_use_proto(&f, 3);
	ASSERT_REPLY("*2\r\n_\r\n" PING_INFO_3, &f, "command", "info", "foo", "ping");
	ASSERT_REPLY("*1\r\n" PUT_INFO_3, &f, "command", "info", "box|put");
}

static void info_of_a_container_has_its_subcommands(void)
{
	call_use_proto(&f, 3);
	ASSERT_REPLY("*1\r\n*10\r\n$3\r\nbox\r\n:-2\r\n~1\r\n+stale\r\n:0\r\n:0\r\n:0\r\n~1\r\n+@"
		     "slow\r\n"
		     "~0\r\n~0\r\n*2\r\n" BOX_HELP_INFO_3 PUT_INFO_3,
		     &f, "command", "info", "box");
}

static void command_describes_all(void)
{
	const char *reply = CALL(&f, "COMMAND");
	char *whole = mem_dup(reply, strlen(reply));

	TEST_ASSERT_EQUAL_INT(0, strncmp(whole, "*3\r\n" PING_INFO_2, 4 + strlen(PING_INFO_2)));
	TEST_ASSERT_EQUAL_STRING(whole, CALL(&f, "command", "info"));
	free(whole);
}

static void count_leaves_out_subcommands(void)
{
	ASSERT_REPLY(":3\r\n", &f, "command", "count");
}

static void list_names_all_commands_and_subcommands(void)
{
	call_use_proto(&f, 3);
	ASSERT_REPLY("*11\r\n$4\r\nping\r\n$7\r\ncommand\r\n$13\r\ncommand|count\r\n"
		     "$12\r\ncommand|docs\r\n$15\r\ncommand|getkeys\r\n$12\r\ncommand|info\r\n"
		     "$12\r\ncommand|list\r\n$12\r\ncommand|help\r\n$3\r\nbox\r\n$8\r\nbox|help\r\n"
		     "$7\r\nbox|put\r\n",
		     &f, "command", "list");
}

static void list_can_be_filtered(void)
{
	ASSERT_REPLY("*2\r\n$8\r\nbox|help\r\n$7\r\nbox|put\r\n", &f, "command", "list", "FILTERBY",
		     "PATTERN", "BOX|*");
	ASSERT_REPLY("*1\r\n$7\r\nbox|put\r\n", &f, "command", "list", "filterby", "aclcat",
		     "Dangerous");
	ASSERT_REPLY("*0\r\n", &f, "command", "list", "filterby", "aclcat", "foo");
	ASSERT_REPLY("*0\r\n", &f, "command", "list", "filterby", "aclcat", "@admin");
	ASSERT_REPLY("*0\r\n", &f, "command", "list", "filterby", "module", "foo");
	ASSERT_REPLY("-ERR syntax error\r\n", &f, "command", "list", "filterby", "foo", "x");
	ASSERT_REPLY("-ERR syntax error\r\n", &f, "command", "list", "filterby", "aclcat");
	ASSERT_REPLY("-ERR syntax error\r\n", &f, "command", "list", "foo", "aclcat", "admin");
}

static void getkeys_finds_no_keys(void)
{
	ASSERT_REPLY("-ERR The command has no key arguments\r\n", &f, "command", "getkeys", "ping",
		     "x");
	ASSERT_REPLY("-ERR The command has no key arguments\r\n", &f, "command", "getkeys", "box",
		     "put", "x");
	ASSERT_REPLY("-ERR Invalid command specified\r\n", &f, "command", "getkeys", "foo", "x");
	ASSERT_REPLY("-ERR Invalid command specified\r\n", &f, "command", "getkeys", "box", "foo");
}

/* ---- COMMAND DOCS ---- */

static void docs_name_the_arguments(void)
{
	ASSERT_REPLY("*2\r\n$4\r\nping\r\n*10\r\n$7\r\nsummary\r\n$8\r\nAnswers.\r\n"
		     "$5\r\nsince\r\n$5\r\n0.1.0\r\n$5\r\ngroup\r\n$10\r\nconnection\r\n"
		     "$10\r\ncomplexity\r\n$4\r\nO(1)\r\n$9\r\narguments\r\n*1\r\n"
		     "*8\r\n$4\r\nname\r\n$7\r\nmessage\r\n$4\r\ntype\r\n$6\r\nstring\r\n"
		     "$12\r\ndisplay_text\r\n$7\r\nmessage\r\n$5\r\nflags\r\n*1\r\n+optional\r\n",
		     &f, "command", "docs", "PING");
	ASSERT_REPLY("*0\r\n", &f, "command", "docs", "foo");
	call_use_proto(&f, 3);
	ASSERT_REPLY("%0\r\n", &f, "command", "docs", "foo", "box|foo");
	ASSERT_REPLY("%1\r\n$4\r\nping\r\n%5\r\n$7\r\nsummary\r\n$8\r\nAnswers.\r\n"
		     "$5\r\nsince\r\n$5\r\n0.1.0\r\n$5\r\ngroup\r\n$10\r\nconnection\r\n"
		     "$10\r\ncomplexity\r\n$4\r\nO(1)\r\n$9\r\narguments\r\n*1\r\n"
		     "%4\r\n$4\r\nname\r\n$7\r\nmessage\r\n$4\r\ntype\r\n$6\r\nstring\r\n"
		     "$12\r\ndisplay_text\r\n$7\r\nmessage\r\n$5\r\nflags\r\n~1\r\n+optional\r\n",
		     &f, "command", "docs", "foo", "ping");
}

#define BOX_HELP_DOCS_3                                                 \
	"$8\r\nbox|help\r\n%4\r\n$7\r\nsummary\r\n$6\r\nHelps.\r\n"     \
	"$5\r\nsince\r\n$5\r\n0.2.0\r\n$5\r\ngroup\r\n$6\r\nserver\r\n" \
	"$10\r\ncomplexity\r\n$4\r\nO(1)\r\n"
#define TOKEN_3(name, token)                                              \
	"%4\r\n$4\r\nname\r\n" name "$4\r\ntype\r\n$10\r\npure-token\r\n" \
	"$12\r\ndisplay_text\r\n" name "$5\r\ntoken\r\n" token
#define PUT_DOCS_3                                                                             \
	"$7\r\nbox|put\r\n%5\r\n$7\r\nsummary\r\n$5\r\nPuts.\r\n"                              \
	"$5\r\nsince\r\n$5\r\n0.2.0\r\n$5\r\ngroup\r\n$6\r\nserver\r\n"                        \
	"$10\r\ncomplexity\r\n$4\r\nO(1)\r\n$9\r\narguments\r\n*3\r\n"                         \
	"%3\r\n$4\r\nname\r\n$6\r\non_off\r\n$4\r\ntype\r\n$5\r\noneof\r\n$9\r\narguments\r\n" \
	"*2\r\n" TOKEN_3("$2\r\non\r\n", "$2\r\nON\r\n") TOKEN_3(                              \
		"$3\r\noff\r\n",                                                               \
		"$3\r\nOFF\r\n") "%4\r\n$4\r\nname\r\n$4\r\nname\r\n$4\r\ntype\r\n$"           \
				 "6\r\nstring\r\n"                                             \
				 "$12\r\ndisplay_text\r\n$4\r\nname\r\n$5\r\nflags\r\n~1\r\n+" \
				 "multiple\r\n"                                                \
				 "%4\r\n$4\r\nname\r\n$12\r\noffset_count\r\n$4\r\ntype\r\n$"  \
				 "5\r\nblock\r\n"                                              \
				 "$5\r\nflags\r\n~1\r\n+optional\r\n$9\r\narguments\r\n*2\r\n" \
				 "%4\r\n$4\r\nname\r\n$6\r\noffset\r\n$4\r\ntype\r\n$"         \
				 "7\r\ninteger\r\n"                                            \
				 "$12\r\ndisplay_text\r\n$6\r\noffset\r\n$5\r\ntoken\r\n$"     \
				 "5\r\nLIMIT\r\n"                                              \
				 "%3\r\n$4\r\nname\r\n$5\r\ncount\r\n$4\r\ntype\r\n$"          \
				 "7\r\ninteger\r\n"                                            \
				 "$12\r\ndisplay_text\r\n$5\r\ncount\r\n"

static void docs_describe_a_command_once(void)
{
	call_use_proto(&f, 3);
	ASSERT_REPLY("%1\r\n" PUT_DOCS_3, &f, "command", "docs", "box|put", "BOX|PUT", "box|put");
}

static void docs_of_a_container_have_its_subcommands(void)
{
	call_use_proto(&f, 3);
	ASSERT_REPLY("%1\r\n$3\r\nbox\r\n%5\r\n$7\r\nsummary\r\n$6\r\nBoxes.\r\n"
		     "$5\r\nsince\r\n$5\r\n0.2.0\r\n$5\r\ngroup\r\n$6\r\nserver\r\n"
		     "$10\r\ncomplexity\r\n$8\r\nDepends.\r\n"
		     "$11\r\nsubcommands\r\n%2\r\n" BOX_HELP_DOCS_3 PUT_DOCS_3,
		     &f, "command", "docs", "box");
	ASSERT_REPLY("%1\r\n" PUT_DOCS_3, &f, "command", "docs", "box|put");
}

static void docs_without_names_describe_all_commands(void)
{
	call_teardown(&f);
	call_setup(&f, command_table_new(&(struct command_rows){ all_rows, COUNT(all_rows) }, 1));
	for (int proto = 2; proto <= 3; proto++) {
		struct qless_str argv[] = { STR("command"), STR("docs") };
		struct request req = { .row = command_table_find(f.table, STR("command|docs")),
				       .argv = argv,
				       .argc = 2,
				       .args = argv + 2,
				       .reply = &f.writer,
				       .session = &f.session,
				       .env = &f.env };

		call_use_proto(&f, proto);
		cmd_command_docs(&req);
		TEST_ASSERT_TRUE(f.out.len > 1000);
		chain_consume(&f.out, f.out.len);
	}
}

/* ---- HELP ---- */

static void help_lists_the_subcommands_and_ends_with_itself(void)
{
	ASSERT_REPLY("*5\r\n"
		     "+BOX <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n"
		     "+PUT ON|OFF name ... [LIMIT offset count]\r\n"
		     "+    Puts.\r\n"
		     "+HELP\r\n"
		     "+    Prints this help.\r\n",
		     &f, "box", "HELP");
}

static void help_describes_a_container_that_runs_without_a_subcommand(void)
{
	static const char start[] =
		"*15\r\n"
		"+COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n"
		"+(no subcommand)\r\n"
		"+    Describes.\r\n"
		"+COUNT\r\n"
		"+    Counts.\r\n"
		"+DOCS [command-name ...]\r\n";

	TEST_ASSERT_EQUAL_STRING_LEN(start, CALL(&f, "command", "help"), sizeof(start) - 1);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_table_finds_every_row);
	RUN(every_row_has_documentation);
	RUN(the_synopsis_of_every_row_agrees_with_its_arity);
	RUN(every_container_has_help_and_every_other_row_has_a_handler);
	RUN(info_describes_the_named_commands);
	RUN(info_of_a_container_has_its_subcommands);
	RUN(command_describes_all);
	RUN(count_leaves_out_subcommands);
	RUN(list_names_all_commands_and_subcommands);
	RUN(list_can_be_filtered);
	RUN(getkeys_finds_no_keys);
	RUN(docs_name_the_arguments);
	RUN(docs_describe_a_command_once);
	RUN(docs_of_a_container_have_its_subcommands);
	RUN(docs_without_names_describe_all_commands);
	RUN(help_lists_the_subcommands_and_ends_with_itself);
	RUN(help_describes_a_container_that_runs_without_a_subcommand);
	return UNIT_RESULT();
}
