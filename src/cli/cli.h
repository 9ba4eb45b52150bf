/*
 * Shared by the commands of qless: options, the connection, and messages.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/answer.h"
#include "cli/query.h"
#include "cli/table.h"
#include "client/client.h"
#include "client/options.h"

/* Exit codes; the manual page lists them. */
enum cli_result {
	CLI_DONE = 0,
	CLI_FAILED = 1,	    /* the server refused something, or there is no such job */
	CLI_USAGE = 2,	    /* wrong arguments, or a question that was not answered with yes */
	CLI_NO_SERVER = 3,  /* no connection, or no answer in time */
	CLI_TIMED_OUT = 4,  /* of qless wait */
	CLI_UNFINISHED = 5, /* qless wait: a job failed, or does not exist */
};

/* The options of all commands. Each command accepts some of them. */
struct cli_options {
	bool json;
	bool quiet;
	bool yes;
	bool help;
	bool version;
	bool nx;
	bool replace;
	bool raw;
	bool any;
	bool remove;
	const char *colour;
	const char *queue;
	const char *to;
	const char *group;
	const char *states;
	const char *klass;
	const char *tag;
	const char *jid;
	const char *kinds;
	const char *tags;
	const char *depends;
	const char *limits;
	const char *at;
	const char *delay;
	const char *timeout;
	const char *unique;
	const char *until;
	const char *backoff;
	const char *runtime;
	const char *retain;
	const char *priority;
	const char *retries;
	const char *concurrency;
	const char *rate;
	const char *per;
	const char *burst;
	const char *weight;
	const char *hold;
	const char *ttl;
	const char *sort;
	const char *count_by;
	uint64_t width;
	uint64_t limit;
	uint64_t count;
	double interval_s;
	double wait_s;
};

struct cli_command;

struct cli {
	struct client_options server;
	struct cli_options options;
	const struct cli_command *command;
	char **args; /* those that are not options */
	size_t arg_count;
	struct client *client;
	struct table_look look;
	bool is_terminal; /* standard output */
	enum cli_result result;
};

typedef void cli_command_fn(struct cli *cli);

/* A kind of argument, for completion. */
enum cli_kind {
	CLI_NOTHING,
	CLI_QUEUES,
	CLI_JIDS,
	CLI_GROUPS,
	CLI_WORKERS,
	CLI_LIMITS,
	CLI_COMMANDS,
};

struct cli_command {
	const char *name;
	cli_command_fn *run;
	int min, max; /* arguments; max < 0: any number */
	enum cli_kind kind;
	const struct flag *flags; /* besides those of all commands */
	const char *arguments;
	const char *summary;
};

/* The commands, and a row without a name. */
extern const struct cli_command cli_commands[];
const struct cli_command *cli_find_command(const char *name);

/* Options that every command has. */
extern const struct flag cli_common_flags[];

/* Prints "qless: " and a message to standard error. A text of the server must be safe to show. */
void cli_complain(struct cli *cli, enum cli_result result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Prints an error of the server. */
void cli_complain_reply(struct cli *cli, const struct client_reply *reply);

/* Prints why the connection is lost. */
void cli_complain_lost(struct cli *cli);

/* Send a request and wait for the reply. On failure prints the reason, sets the result, and returns
 * NULL. The reply is valid until the next request. */
const struct client_reply *cli_call(struct cli *cli, const struct qless_str *argv, size_t argc);
#define CLI_CALL(cli, ...)                                         \
	cli_call((cli), (const struct qless_str[]){ __VA_ARGS__ }, \
		 sizeof((const struct qless_str[]){ __VA_ARGS__ }) / sizeof(struct qless_str))
const struct client_reply *cli_call_query(struct cli *cli, const struct query *q);

/* cli_call() for a command that replies with a text of JSON, or with values, which become JSON. The
 * caller frees the answer, also after a failure. */
bool cli_ask_json(struct cli *cli, struct answer *ret, const struct query *q);
bool cli_ask_values(struct cli *cli, struct answer *ret, const struct query *q);
/* cli_ask_json() with the words of a text. */
bool cli_ask_json_words(struct cli *cli, struct answer *ret, const char *words);

/* The time of the server, in seconds. That of this machine if the server does not tell. */
double cli_now(struct cli *cli);

/* Prints a line of JSON. */
void cli_print_json(const struct cli *cli, struct qless_str json);
/* Prints a line with a text of the server. */
void cli_print_text(const struct cli *cli, struct qless_str text);

/* Asks whether to go on, unless --yes was given. Standard input has the answer. */
bool cli_confirm(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Parses seconds with an optional unit: 90, 1.5, 500ms, 3s, 5m, 2h, 1d. On failure complains about
 * the option, and returns false. */
bool cli_parse_duration(struct cli *cli, const char *option, const char *text, double *ret_s);

/* Appends " name=value", where the value is a text or JSON. */
void cli_append_pair(const struct cli *cli, struct buf *out, struct qless_str name,
		     yyjson_val *value);

/* The name under which qless changes jobs. */
#define CLI_WORKER "qless"

/* The colour of a state of jobs. */
enum table_style cli_state_style(struct qless_str state);

/* Add a cell with an age or the time that is left; empty if `when` is 0. */
void cli_add_age(struct table *t, double now, double when);
void cli_add_left(struct table *t, double now, double when);

/* Adds a cell with the workers of a queue, or with what keeps its jobs from them. */
void cli_add_listeners(struct table *t, double listeners, bool has_jobs, bool is_paused);

/* Whether a write to standard output has failed. */
bool cli_output_is_gone(void);

#endif
