#include "server/http_history.h"

#include "command/acl.h"
#include "command/databases.h"
#include "command/objects.h"
#include "command/table.h"
#include "server/recording.h"
#include "server/server_int.h"

/* Words for what a command did to its jobs. A command that deletes jobs leaves no history. */
static const struct verb {
	const char *command;
	const char *word; /* the first argument, if the command has several meanings */
	const char *text;
	bool is_of_many; /* all jobs that the command names, and not just the first one */
} verbs[] = {
	{ "complete", NULL, "completed", false },
	{ "depends", NULL, "dependencies changed", false },
	{ "fail", NULL, "failed", false },
	{ "job.abort", NULL, "aborted", false },
	{ "job.meta", NULL, "fields changed", false },
	{ "priority", NULL, "priority changed", false },
	{ "requeue", NULL, "requeued", false },
	{ "retry", NULL, "retried", false },
	{ "tag", "add", "tagged", false },
	{ "tag", "remove", "untagged", false },
	{ "timeout", NULL, "timed out", true },
	{ "track", "track", "tracked", false },
	{ "track", "untrack", "untracked", false },
};

static const struct verb *find_verb(const struct qless_str *argv, int argc)
{
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		if (str_equal_nocase(argv[0], str_from(verbs[i].command)) &&
		    (verbs[i].word == NULL ||
		     (argc > 1 && str_equal_nocase(argv[1], str_from(verbs[i].word)))))
			return &verbs[i];
	}
	return NULL;
}

bool http_history_is_kept(const struct conn *c)
{
	return c->http->has_session;
}

void http_history_begin(struct conn *c)
{
	recording_begin_group(c->client.server);
}

struct note {
	struct conn *conn;
	const struct verb *verb;
	struct qless_str text;
};

/* Nothing is noted for a job that is gone, or whose history is full. */
static bool note_job(void *arg, const struct object *object)
{
	const struct note *note = arg;
	struct server *s = note->conn->client.server;
	struct operation op = { .kind = OPERATION_LOG, .db = note->conn->client.session.db };
	struct operation_outcome outcome;

	if (object->kind != OBJECT_JOB)
		return true;
	op.now = s->env.now(s->env.arg);
	op.log.jid = object->name;
	op.log.message = note->text;
	return databases_run(s->env.databases, &op, &outcome) == 0 && note->verb->is_of_many;
}

static void note_jobs(struct conn *c, const struct qless_str *argv, int argc)
{
	const struct verb *verb = find_verb(argv, argc);
	struct qless_str user = acl_user_name(c->client.session.user);
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct note note = { .conn = c, .verb = verb };
	struct object_request request = { .row = command_table_find(c->client.server->table,
								    argv[0]),
					  .form = REQUEST_NATIVE,
					  .args = argv + 1,
					  .nargs = (size_t)argc - 1 };

	if (verb == NULL || request.row == NULL)
		return;
	buf_printf(&text, "%s by ", verb->text);
	buf_append_str(&text, user);
	buf_append_str(&text, STR(" in the console"));
	note.text = buf_str(&text);
	objects_each(&request, note_job, &note);
	buf_done(&text);
}

void http_history_end(struct conn *c, const struct qless_str *argv, int argc, bool has_run)
{
	/* The command may have ended the client, or taken its user. */
	if (has_run && c->state != CONN_DEAD && c->client.session.user != NULL)
		note_jobs(c, argv, argc);
	recording_end_group(c->client.server);
}
