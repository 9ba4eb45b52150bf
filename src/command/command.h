/*
 * Commands as data.
 *
 * A command is a row: its name, its handler, how many arguments it takes, what it may do. Dispatch,
 * COMMAND and its documentation, permissions, HELP texts and statistics are all derived from the
 * rows. Each layer declares its own: the queue commands are in queue_commands.def, others of this
 * layer in commands.def, and those that need connections or the configuration in
 * server/commands.def. table.h makes one table of them.
 *
 * A handler runs one command: it decodes its arguments and writes exactly one reply.
 */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

struct object_walk;
struct operation;
struct request;

typedef void command_handler(struct request *req);

/* Properties of a command that the server looks at before or after it runs. */
enum command_flag {
	CMD_WRITE = 1 << 0,	  /* may change the state of the engine */
	CMD_READ = 1 << 1,	  /* reads the state of the engine */
	CMD_FAST = 1 << 2,	  /* takes constant or logarithmic time */
	CMD_ADMIN = 1 << 3,	  /* for operators, not for clients */
	CMD_PUBSUB = 1 << 4,	  /* about channels */
	CMD_NO_AUTH = 1 << 5,	  /* runs before the connection has authenticated */
	CMD_NO_MULTI = 1 << 6,	  /* refused between MULTI and EXEC */
	CMD_TXN = 1 << 7,	  /* runs immediately between MULTI and EXEC, too */
	CMD_SUBSCRIBED = 1 << 8,  /* allowed to a RESP2 connection that is subscribed */
	CMD_LOADING = 1 << 9,	  /* runs while the state is loaded */
	CMD_MOVES_DUE = 1 << 10,  /* reads, and moves jobs that have come due first */
	CMD_NO_MONITOR = 1 << 11, /* not shown to MONITOR */
	CMD_SECRET = 1 << 12,	  /* its arguments are not written to the slow log */
	CMD_BLOCKING = 1 << 13,	  /* may wait */
	CMD_CONTAINER = 1 << 14,  /* has subcommands; callable by itself if it has a handler */
	CMD_NO_PAUSE = 1 << 15,	  /* runs during CLIENT PAUSE ALL */
	CMD_KEY_FIRST = 1 << 16,  /* its first argument is a key */
	CMD_KEYS_ALL = 1 << 17,	  /* all its arguments are keys */
	CMD_DENYOOM = 1 << 18,	  /* makes the state grow: refused beyond maxmemory */
	CMD_EXEC = 1 << 19,	  /* runs the transaction; a refusal discards it */
	CMD_LOGGED = 1 << 20,	  /* changes what the log records, and has no decoder */
	CMD_NAMES = 1 << 21,	  /* its arguments are names; max-names-per-call limits them */
	CMD_CHANNEL = 1 << 22,	  /* its first argument is a channel */
	CMD_CHANNELS = 1 << 23,	  /* all its arguments are channels */
	CMD_PATTERNS = 1 << 24,	  /* all its arguments are patterns of channels */
	CMD_EVERYTHING = 1 << 25, /* about all queues: not for a user with patterns of keys */
	CMD_LATER = 1 << 26,	  /* changes nothing itself, but lets the server do so later */
};

/* Categories of permissions: the bit, and the name after the @. No command is in `events`, which
 * allows a user to publish where the server publishes its events. The last four are roles, see
 * roles.h. */
#define COMMAND_CATEGORIES(X)             \
	X(CAT_KEYSPACE, "keyspace")       \
	X(CAT_READ, "read")               \
	X(CAT_WRITE, "write")             \
	X(CAT_QLESS, "qless")             \
	X(CAT_PUBSUB, "pubsub")           \
	X(CAT_ADMIN, "admin")             \
	X(CAT_FAST, "fast")               \
	X(CAT_SLOW, "slow")               \
	X(CAT_BLOCKING, "blocking")       \
	X(CAT_DANGEROUS, "dangerous")     \
	X(CAT_CONNECTION, "connection")   \
	X(CAT_TRANSACTION, "transaction") \
	X(CAT_SCRIPTING, "scripting")     \
	X(CAT_HASH, "hash")               \
	X(CAT_LIST, "list")               \
	X(CAT_SET, "set")                 \
	X(CAT_SORTEDSET, "sortedset")     \
	X(CAT_EVENTS, "events")           \
	X(CAT_SUPERVISE, "supervise")     \
	X(CAT_PRODUCER, "producer")       \
	X(CAT_WORKER, "worker")           \
	X(CAT_OPERATOR, "operator")       \
	X(CAT_DASHBOARD, "dashboard")

enum command_category_bit {
#define X(bit, name) bit##_BIT,
	COMMAND_CATEGORIES(X)
#undef X
		COMMAND_CATEGORY_COUNT
};

enum command_category {
#define X(bit, name) bit = 1 << bit##_BIT,
	COMMAND_CATEGORIES(X)
#undef X
};

#define COMMAND_ANY_ARGS (-1)
/* Length of a jid that the server makes, in hexadecimal digits. */
#define COMMAND_JID_BYTES 32

/* Longest part of an argument that an error repeats, in bytes. */
#define COMMAND_QUOTED_MAX 128

static inline struct qless_str command_quote(struct qless_str sent)
{
	return str_make(sent.ptr, sent.len < COMMAND_QUOTED_MAX ? sent.len : COMMAND_QUOTED_MAX);
}

struct command {
	const char *name;	  /* lower case; a subcommand is "parent|name" */
	command_handler *handler; /* NULL for a container that needs a subcommand */
	int index;		  /* position in the table, which sets it */

	/* The fields of queue commands; others have zeros. */
	unsigned forms; /* bits by enum request_form */
	/* Writes one reply and returns 0, or returns a negative code and writes none: that of
	 * request_fail(), or the engine's. */
	int (*run)(struct request *req);
	/* Make an operation of the arguments, without a reply; NULL for a command that only reads,
	 * and for one with CMD_LOGGED, which makes any number of operations. */
	int (*decode)(struct request *req, struct operation *op);
	/* Visits what the arguments name; see objects.h. NULL: the flags tell. */
	bool (*objects)(const struct object_walk *walk);

	int min_args;	     /* arguments after the name, and after that of the subcommand */
	int max_args;	     /* or COMMAND_ANY_ARGS */
	unsigned flags;	     /* enum command_flag */
	unsigned categories; /* enum command_category, without those that the flags imply */
	const char *group;   /* as in the documentation: "connection", "server", "pubsub" ... */
	const char *since;
	const char *arguments; /* a synopsis, as synopsis.h describes it */
	const char *summary;
	const char *complexity;
};

/* Returns whether the command takes that many arguments, its name not counted. */
static inline bool command_takes(const struct command *cmd, int nargs)
{
	return nargs >= cmd->min_args &&
	       (cmd->max_args == COMMAND_ANY_ARGS || nargs <= cmd->max_args);
}

/* Returns whether the log records what the command changes. */
static inline bool command_is_logged(const struct command *cmd)
{
	return cmd->decode != NULL || (cmd->flags & CMD_LOGGED) != 0;
}

/* A row of a commands.def, which describes the columns. */
#define COMMAND_ROW(name_, handler_, min_, max_, flags_, categories_, group_, since_, arguments_, \
		    summary_, complexity_)                                                        \
	{ .name = name_,                                                                          \
	  .handler = handler_,                                                                    \
	  .min_args = min_,                                                                       \
	  .max_args = max_,                                                                       \
	  .flags = flags_,                                                                        \
	  .categories = categories_,                                                              \
	  .group = group_,                                                                        \
	  .since = since_,                                                                        \
	  .arguments = arguments_,                                                                \
	  .summary = summary_,                                                                    \
	  .complexity = complexity_ },

/* The rows of a layer. */
struct command_rows {
	const struct command *rows;
	size_t count;
};

#endif
