/*
 * What the log keeps of the server, but for its users: the databases and the scripts.
 *
 * The server has one such state, and a process that makes a base from the log has another.
 */
#ifndef SERVER_STORED_H
#define SERVER_STORED_H

#include "command/databases.h"
#include "command/scripts.h"
#include "journal/base.h"
#include "journal/rebuild.h"
#include "journal/record.h"

struct config;

struct stored {
	struct databases *databases;
	struct scripts *scripts;
};

/* What is recorded when a script is loaded, and when all are forgotten. `args` is room for the
 * arguments; the result borrows it and the script. */
#define STORED_SCRIPT_ARGS_MAX (2 + SCRIPT_OPTIONS_MAX)
struct record_command stored_describe_script(const struct script *script,
					     struct qless_str args[STORED_SCRIPT_ARGS_MAX]);
struct record_command stored_describe_scripts_clear(void);

/* The engine of a database; NULL if there are not so many. */
struct qless *stored_engine(const struct stored *stored, unsigned db);

/* Run what was recorded. Negative, with a sentence in `ret_error`, if that cannot be done. */
int stored_apply(const struct stored *stored, const struct record_command *command,
		 struct buf *ret_error);

/* Add all of it to a base. */
void stored_save(const struct stored *stored, struct base_writer *w);

/* How a base is made from the log, with as many databases as the configuration says, which is
 * borrowed. What is recorded of users is passed over: it depends on the configuration as it is when
 * the base is read, and to tell that is up to the server. */
struct rebuild_options stored_rebuild(struct config *config);

#endif
