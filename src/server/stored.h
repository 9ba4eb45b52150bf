/*
 * The state that the log keeps, except users: the databases and the scripts.
 *
 * The server has one such state. A process that makes a snapshot from the log has another.
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

/* Make the records for a script that was loaded, and for SCRIPT FLUSH. `args` is room for the
 * arguments; the result borrows it and the script. */
#define STORED_SCRIPT_ARGS_MAX (2 + SCRIPT_OPTIONS_MAX)
struct record_command stored_describe_script(const struct script *script,
					     struct qless_str args[STORED_SCRIPT_ARGS_MAX]);
struct record_command stored_describe_scripts_clear(void);

/* Returns the engine of a database, or NULL if `db` is too large. */
struct qless *stored_engine(const struct stored *stored, unsigned db);

/* Apply a record. Returns a negative value, with a sentence in `ret_error`, if that is
 * impossible. */
int stored_apply(const struct stored *stored, const struct record_command *command,
		 struct buf *ret_error);

/* Add the whole state to a snapshot. */
void stored_save(const struct stored *stored, struct base_writer *w);

/* How to make a snapshot from the log, with the configured number of databases. Borrows the
 * configuration. Records of users are skipped: only the server knows the users of the
 * configuration. */
struct rebuild_options stored_rebuild(struct config *config);

#endif
