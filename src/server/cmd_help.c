/*
 * HELP: tells people where to begin, what a command expects, and what probably went wrong.
 */
#include "build_config.h"
#include "command/permit.h"
#include "command/table.h"
#include "server/commands.h"
#include "server/hints.h"
#include "server/server_int.h"

struct help {
	struct request *req;
	const struct command *about; /* NULL: everything */
	struct reply_deferred lines;
	size_t count;
};

static void write_line(struct help *help, struct qless_str line)
{
	reply_bulk(help->req->reply, line);
	help->count++;
}

static bool is_shown(const struct help *help, const struct hint *hint)
{
	const struct user *viewer = permit_viewer(help->req);

	return (help->about == NULL || help->about == hint->row) &&
	       hint->db == help->req->session->db &&
	       permit_shows_queue(viewer, hint_worker(hint)) &&
	       permit_shows_queue(viewer, hint_queue(hint));
}

static void write_hint(void *arg, const struct hint *hint)
{
	struct help *help = arg;
	struct buf line = BUF_INIT(BUF_NO_MAX);

	if (!is_shown(help, hint))
		return;
	buf_printf(&line, "Hint: %s named the queue '", hint->row->name);
	buf_append_str(&line, hint_queue(hint));
	buf_append_str(&line, STR("', which did not exist, and the worker '"));
	buf_append_str(&line, hint_worker(hint));
	buf_append_str(&line, STR("', which has the name of a queue. Are they swapped?"));
	command_append_expected(hint->row, &line);
	write_line(help, buf_str(&line));
	buf_done(&line);
}

static void write_overview(struct help *help)
{
	write_line(help, STR("qlessd " QLESSD_VERSION " is a server for job queues."));
	write_line(
		help,
		STR("PUT adds a job, POP and BPOP hand jobs out, and COMPLETE, FAIL and RETRY end "
		    "their runs."));
	write_line(help, STR("QUEUES counts the jobs of each queue, and GET shows a job."));
	write_line(
		help,
		STR("HELP with the name of a command shows its arguments, and COMMAND LIST lists "
		    "all commands. See also qlessd-tour(7) and qlessd-commands(7)."));
}

static void write_command(struct help *help)
{
	struct buf line = BUF_INIT(BUF_NO_MAX);

	buf_append_str(&line, str_from(help->about->summary));
	command_append_expected(help->about, &line);
	write_line(help, buf_str(&line));
	buf_done(&line);
}

void cmd_help(struct request *req)
{
	struct help help = { .req = req };
	struct buf error = BUF_INIT(BUF_NO_MAX);
	int name_args;

	if (req->nargs != 0) {
		help.about = command_table_lookup(req->env->table, req->args, (int)req->nargs,
						  &name_args);
		if (help.about == NULL) {
			command_table_describe_unknown(req->env->table, req->args, (int)req->nargs,
						       &error);
			reply_error_line(req->reply, buf_str(&error));
			buf_done(&error);
			return;
		}
	}
	reply_deferred_begin(req->reply, &help.lines, REPLY_ARRAY);
	if (help.about != NULL)
		write_command(&help);
	else
		write_overview(&help);
	hints_each(&server_of(req)->hints, write_hint, &help);
	reply_deferred_end(req->reply, &help.lines, help.count);
}
