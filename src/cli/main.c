/*
 * qless: the command line of qlessd.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "build_config.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "util/mem.h"

static bool has_value(const char *text)
{
	return text != NULL && text[0] != '\0';
}

/* The locale that programs use for characters, without setting it. */
static bool is_utf8_locale(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const char *value = getenv(names[i]);

		if (has_value(value))
			return strcasestr(value, "utf-8") != NULL ||
			       strcasestr(value, "utf8") != NULL;
	}
	return false;
}

static bool wants_colour(struct cli *cli)
{
	const char *when = cli->options.colour != NULL ? cli->options.colour : "auto";
	const char *term = getenv("TERM");

	if (strcmp(when, "always") == 0)
		return true;
	if (strcmp(when, "never") == 0)
		return false;
	if (strcmp(when, "auto") != 0)
		cli_complain(cli, CLI_USAGE, "--color must be auto, always or never, not '%s'",
			     when);
	return cli->is_terminal && !has_value(getenv("NO_COLOR")) && has_value(term) &&
	       strcmp(term, "dumb") != 0;
}

static size_t terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 0;
}

static void look_around(struct cli *cli)
{
	cli->is_terminal = isatty(STDOUT_FILENO);
	cli->look.is_utf8 = is_utf8_locale();
	cli->look.has_colour = wants_colour(cli);
	cli->look.width = (size_t)cli->options.width;
	if (cli->options.width == 0 && cli->is_terminal)
		cli->look.width = terminal_width();
}

/* ---- arguments ---- */

static bool complain_about_option(struct cli *cli, const char *option, const struct buf *error)
{
	struct buf safe = BUF_INIT(BUF_NO_MAX);

	text_append(&safe, error->len > 0 ? buf_str(error) : str_from(option), cli->look.is_utf8);
	if (error->len > 0)
		cli_complain(cli, CLI_USAGE, "%s", buf_cstr(&safe));
	else
		cli_complain(cli, CLI_USAGE, "unknown option %s; 'qless help%s%s' lists them",
			     buf_cstr(&safe), cli->command != NULL ? " " : "",
			     cli->command != NULL ? cli->command->name : "");
	buf_done(&safe);
	return false;
}

static int take_option(struct cli *cli, int argc, char **argv, int *at, struct buf *error)
{
	int taken = 0;

	if (cli->command != NULL)
		taken = flags_take(cli->command->flags, &cli->options, argc, argv, at, error);
	if (taken == 0)
		taken = flags_take(cli_common_flags, &cli->options, argc, argv, at, error);
	if (taken == 0)
		taken = client_options_take(&cli->server, argc, argv, at, error);
	return taken;
}

static bool take_word(struct cli *cli, char *word)
{
	if (cli->command != NULL) {
		cli->args[cli->arg_count++] = word;
		return true;
	}
	cli->command = cli_find_command(word);
	if (cli->command != NULL)
		return true;
	cli_complain(cli, CLI_USAGE, "there is no command '%s'; 'qless help' lists them", word);
	return false;
}

/* The words of these commands are theirs, also if they look like options. */
static bool takes_all_words(const struct cli *cli)
{
	return cli->command != NULL && ((cli->command->run == command_call && cli->arg_count > 0) ||
					cli->command->run == command_complete);
}

static bool parse(struct cli *cli, int argc, char **argv)
{
	struct buf error = BUF_INIT(BUF_NO_MAX);
	bool only_words = false, ok = true;
	int at = 1;

	cli->args = mem_realloc_array(NULL, (size_t)argc + 1, sizeof(char *));
	while (ok && at < argc) {
		char *word = argv[at];
		int taken = 0;

		if (!only_words && strcmp(word, "--") == 0) {
			only_words = true;
			at++;
			continue;
		}
		if (!only_words && !takes_all_words(cli))
			taken = take_option(cli, argc, argv, &at, &error);
		if (taken > 0)
			continue;
		if (taken < 0 ||
		    (!only_words && !takes_all_words(cli) && word[0] == '-' && word[1] != '\0')) {
			ok = complain_about_option(cli, word, &error);
		} else {
			ok = take_word(cli, word);
			at++;
		}
	}
	buf_done(&error);
	return ok;
}

static bool check_arguments(struct cli *cli)
{
	const struct cli_command *c = cli->command;
	int count = (int)cli->arg_count;

	if (count >= c->min && (c->max < 0 || count <= c->max))
		return true;
	cli_complain(cli, CLI_USAGE, "usage: qless %s%s%s", c->name,
		     c->arguments[0] != '\0' ? " " : "", c->arguments);
	return false;
}

/* Returns whether the help or the version was all that was wanted, or is all that can be given. */
static bool answer_at_once(struct cli *cli)
{
	if (cli->options.version) {
		printf("qless %s\n", QLESSD_VERSION);
		return true;
	}
	if (!cli->options.help && cli->command != NULL)
		return false;
	command_help(cli);
	if (!cli->options.help)
		cli->result = CLI_USAGE;
	return true;
}

/* Returns false if there is no command to run. */
static bool prepare(struct cli *cli, int argc, char **argv)
{
	struct buf error = BUF_INIT(BUF_NO_MAX);
	bool ok = client_options_init(&cli->server, &error);

	cli->look.is_utf8 = is_utf8_locale();
	if (!ok)
		complain_about_option(cli, "", &error);
	ok = ok && parse(cli, argc, argv);
	if (ok)
		look_around(cli);
	ok = ok && cli->result == CLI_DONE && !answer_at_once(cli) && check_arguments(cli);
	if (ok && !client_options_finish(&cli->server, "qless", &error))
		ok = complain_about_option(cli, "", &error);
	buf_done(&error);
	return ok;
}

int main(int argc, char **argv)
{
	struct cli cli = { .result = CLI_DONE };

	tzset();
	if (prepare(&cli, argc, argv)) {
		cli.server.settings.proto = 3;
		client_settings_set_text(&cli.server.settings.name, "qless");
		cli.client = client_new(&cli.server.settings);
		cli.command->run(&cli);
	}
	if ((fflush(stdout) != 0 || cli_output_is_gone()) && cli.result == CLI_DONE)
		cli_complain(&cli, CLI_FAILED, "cannot write the output: %s", strerror(errno));
	client_free(cli.client);
	client_options_done(&cli.server);
	free(cli.args);
	return (int)cli.result;
}
