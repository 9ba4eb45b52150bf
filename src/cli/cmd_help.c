/*
 * qless help: all commands, or one.
 */
#include "cli/commands.h"

static void print_all(void)
{
	puts("Usage: qless [option ...] command [argument ...]\n"
	     "\n"
	     "Shows what a qlessd does, and changes its jobs and queues.\n");
	for (const struct cli_command *c = cli_commands; c->name != NULL; c++) {
		if (c->summary != NULL)
			printf("  %-10s %s\n", c->name, c->summary);
	}
	puts("\nOptions of all commands:\n");
	flags_print(cli_common_flags, stdout);
	puts("\nThe server:\n");
	flags_print(client_options_rows, stdout);
	puts("\n'qless help command' shows the options of a command. qless(1) describes all of "
	     "it.");
}

static void print_one(const struct cli_command *c)
{
	printf("Usage: qless %s%s%s%s\n\n%s\n", c->name,
	       c->flags->name != NULL ? " [option ...]" : "", c->arguments[0] != '\0' ? " " : "",
	       c->arguments, c->summary);
	if (c->flags->name != NULL)
		fputc('\n', stdout);
	flags_print(c->flags, stdout);
	puts("\nOptions of all commands:\n");
	flags_print(cli_common_flags, stdout);
}

void command_help(struct cli *cli)
{
	const struct cli_command *c = cli->command;

	if (cli->arg_count > 0 && c->run == command_help)
		c = cli_find_command(cli->args[0]);
	else if (c != NULL && c->run == command_help)
		c = NULL;
	if (c == NULL && cli->arg_count > 0)
		cli_complain(cli, CLI_USAGE, "there is no command '%s'", cli->args[0]);
	else if (c == NULL || c->summary == NULL)
		print_all();
	else
		print_one(c);
}
