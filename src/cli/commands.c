#include "cli/commands.h"

#include <string.h>

#define OPTION(member) offsetof(struct cli_options, member)

/* Rows of the tables of options. */
#define TEXT(name, letter, member, value, help)                                  \
	{                                                                        \
		name, letter, FLAG_TEXT, OPTION(member), 0, 0, value, help, NULL \
	}
#define SWITCH(name, letter, member, help)                                     \
	{                                                                      \
		name, letter, FLAG_SET, OPTION(member), 0, 0, NULL, help, NULL \
	}
#define COUNT(name, letter, member, value, help)                                           \
	{                                                                                  \
		name, letter, FLAG_COUNT, OPTION(member), 0, UINT32_MAX, value, help, NULL \
	}
#define SECONDS(name, letter, member, value, help)                                      \
	{                                                                               \
		name, letter, FLAG_SECONDS, OPTION(member), 0, 86400, value, help, NULL \
	}
#define END_OF_FLAGS                                         \
	{                                                    \
		NULL, 0, FLAG_SET, 0, 0, 0, NULL, NULL, NULL \
	}

#define LIMIT  COUNT("limit", 0, limit, "n", "at most this number")
#define STATES TEXT("state", 0, states, "states", "only jobs in these states, separated by commas")
#define CLASS  TEXT("class", 0, klass, "class", "only jobs of this class")
#define SELECTING                                                                      \
	TEXT("queue", 0, queue, "queue", "select the jobs of a queue"), STATES, CLASS, \
		TEXT("group", 0, group, "group", "select the failed jobs of a group"), \
		TEXT("tag", 0, tag, "tag", "select the jobs with a tag"), LIMIT

const struct flag cli_common_flags[] = {
	SWITCH("json", 0, json, "print JSON, for programs"),
	SWITCH("quiet", 'q', quiet, "print only names, or nothing about changes"),
	SWITCH("yes", 'y', yes, "do not ask before many jobs change"),
	TEXT("color", 0, colour, "when", "auto, always or never"),
	COUNT("width", 0, width, "columns", "width of tables (that of the terminal)"),
	SWITCH("help", 0, help, "show this help, or that of a command"),
	SWITCH("version", 0, version, "show the version"),
	END_OF_FLAGS,
};

static const struct flag no_flags[] = { END_OF_FLAGS };

static const struct flag failures_flags[] = { LIMIT, END_OF_FLAGS };

static const struct flag jobs_flags[] = {
	STATES,
	CLASS,
	LIMIT,
	TEXT("count-by", 0, count_by, "field[,field]",
	     "count the jobs by state, klass, priority, remaining, worker or group"),
	END_OF_FLAGS,
};

static const struct flag limit_flags[] = {
	TEXT("concurrency", 0, concurrency, "n", "jobs that run at the same time"),
	TEXT("rate", 0, rate, "n", "jobs that are handed out in a period"),
	TEXT("per", 0, per, "duration", "the period (1s)"),
	TEXT("burst", 0, burst, "n", "jobs that may be handed out at once"),
	TEXT("weight", 0, weight, "n", "turns in fair queues"),
	TEXT("ttl", 0, ttl, "duration", "how long the rule lasts"),
	TEXT("hold", 0, hold, "duration", "hand out no job for this time"),
	SWITCH("delete", 0, remove, "delete the rule"),
	END_OF_FLAGS,
};

static const struct flag put_flags[] = {
	TEXT("jid", 0, jid, "jid", "name of the job; * and + let the server choose (*)"),
	TEXT("delay", 0, delay, "duration", "not before this time has passed"),
	TEXT("at", 0, at, "time", "not before this time"),
	TEXT("priority", 0, priority, "n", "higher ones come first"),
	TEXT("retries", 0, retries, "n", "how often the job may be lost"),
	TEXT("tags", 0, tags, "tags", "separated by commas"),
	TEXT("depends", 0, depends, "jids", "jobs that must complete before, separated by commas"),
	TEXT("limits", 0, limits, "limits", "limits that hold the job, separated by commas"),
	SWITCH("nx", 0, nx, "only if there is no job of this name"),
	TEXT("unique", 0, unique, "key", "only if no job has this key; args: class and data"),
	TEXT("until", 0, until, "when", "how long the key is taken: popped, finished or seconds"),
	SWITCH("replace", 0, replace, "replace the data of the job that has the key"),
	TEXT("backoff", 0, backoff, "'kind base max'", "delay of retries, as for PUT"),
	TEXT("runtime", 0, runtime, "duration", "maximum of one attempt"),
	TEXT("retain", 0, retain, "duration", "how long the finished job is kept, or ack"),
	SWITCH("raw", 0, raw, "the data are bytes, not JSON"),
	END_OF_FLAGS,
};

static const struct flag retry_flags[] = {
	SELECTING,
	TEXT("to", 0, to, "queue", "queue to put the jobs into (their own)"),
	END_OF_FLAGS,
};

static const struct flag selecting_flags[] = { SELECTING, END_OF_FLAGS };

static const struct flag tail_flags[] = {
	TEXT("kind", 0, kinds, "events", "only these events, separated by commas"),
	TEXT("jid", 0, jid, "jids", "only events of these jobs, separated by commas"),
	LIMIT,
	END_OF_FLAGS,
};

static const struct flag top_flags[] = {
	SECONDS("interval", 'i', interval_s, "seconds", "time between two updates (2)"),
	COUNT("count", 'c', count, "n", "end after n updates (1 unless on a terminal)"),
	TEXT("sort", 0, sort, "key", "waiting, running, failed or name"),
	END_OF_FLAGS,
};

static const struct flag wait_flags[] = {
	TEXT("timeout", 0, timeout, "duration", "wait no longer than this"),
	SWITCH("any", 0, any, "wait for one of the jobs, not for all"),
	END_OF_FLAGS,
};

const struct cli_command cli_commands[] = {
	{ "queues", command_queues, 0, -1, CLI_QUEUES, no_flags, "[queue ...]",
	  "List queues and count their jobs." },
	{ "top", command_top, 0, 0, CLI_NOTHING, top_flags, "",
	  "Watch the server and its queues." },
	{ "jobs", command_jobs, 1, 1, CLI_QUEUES, jobs_flags, "queue",
	  "List the jobs of a queue." },
	{ "show", command_show, 1, -1, CLI_JIDS, no_flags, "job ...",
	  "Show jobs with their data and history." },
	{ "why", command_why, 1, -1, CLI_JIDS, no_flags, "job ...", "Tell why jobs do not run." },
	{ "failures", command_failures, 0, 1, CLI_GROUPS, failures_flags, "[group]",
	  "Count failed jobs by group, or list those of a group." },
	{ "workers", command_workers, 0, 1, CLI_WORKERS, no_flags, "[worker]",
	  "List workers, or the jobs of one." },
	{ "limits", command_limits, 0, 1, CLI_LIMITS, no_flags, "[pattern]",
	  "List limits and what they hold." },
	{ "recurring", command_recurring, 1, 1, CLI_QUEUES, no_flags, "queue",
	  "List the recurring jobs of a queue." },
	{ "tail", command_tail, 0, -1, CLI_QUEUES, tail_flags, "[queue ...]",
	  "Show events as they happen." },
	{ "info", command_info, 0, 0, CLI_NOTHING, no_flags, "", "Show the server at a glance." },
	{ "put", command_put, 2, 3, CLI_QUEUES, put_flags, "queue class [data | -]",
	  "Put a job into a queue. The data are JSON; - reads them from standard input." },
	{ "retry", command_retry, 0, -1, CLI_JIDS, retry_flags, "[job ...]",
	  "Put failed jobs back into their queues." },
	{ "move", command_move, 1, -1, CLI_QUEUES, selecting_flags, "[job ...] queue",
	  "Put jobs into another queue, to run at once." },
	{ "cancel", command_cancel, 0, -1, CLI_JIDS, selecting_flags, "[job ...]",
	  "Delete jobs that have not completed." },
	{ "delete", command_delete, 0, -1, CLI_JIDS, selecting_flags, "[job ...]",
	  "Delete failed and complete jobs." },
	{ "wait", command_wait, 1, -1, CLI_JIDS, wait_flags, "job ...", "Wait until jobs finish." },
	{ "pause", command_pause, 1, -1, CLI_QUEUES, no_flags, "queue ...",
	  "Hand out no more jobs of queues." },
	{ "unpause", command_unpause, 1, -1, CLI_QUEUES, no_flags, "queue ...",
	  "Hand out jobs of queues again." },
	{ "limit", command_limit, 1, 1, CLI_LIMITS, limit_flags, "limit",
	  "Show a limit, or set, hold or delete it." },
	{ "call", command_call, 1, -1, CLI_NOTHING, no_flags, "command [argument ...]",
	  "Send any command, and print its reply." },
	{ "help", command_help, 0, 1, CLI_COMMANDS, no_flags, "[command]", "Show this help." },
	/* For the completion of shells. Its words are not options of qless itself. */
	{ "__complete", command_complete, 0, -1, CLI_NOTHING, no_flags, NULL, NULL },
	{ NULL, NULL, 0, 0, CLI_NOTHING, NULL, NULL, NULL },
};

const struct cli_command *cli_find_command(const char *name)
{
	for (const struct cli_command *c = cli_commands; c->name != NULL; c++) {
		if (strcmp(c->name, name) == 0)
			return c;
	}
	return NULL;
}
