/*
 * The queue commands: the 37 of the classic qless API, and extensions, which scripts do not know
 * because the reference does not have them.
 *
 * A command is decoded into an operation, the operation runs on the engine, and the outcome is the
 * reply. Arguments are checked in the order of the reference. Each command makes one change or
 * none, and writes exactly one reply.
 */
#ifndef COMMAND_CLASSIC_H
#define COMMAND_CLASSIC_H

#include <stdbool.h>
#include <stddef.h>

#include "command/request.h"
#include "qless.h"
#include "resp/reply.h"
#include "util/buf.h"
#include "util/str.h"

/* Returns whether scripts have the command. */
bool classic_is_command_of_scripts(struct qless_str name);
bool classic_is_put_option(struct qless_str name);

/* Run the queue command of the row. The request has its form, time, arguments, database and reply.
 * Returns 0 or an engine error, which has been written as the reply. */
int classic_run(struct request *req);

/* Take the words after QLESS or EVALSHA <sha> 0 into the request: command, now, arguments. `row` is
 * the queue command of that name, or NULL. Returns false, and changes at most the time of the
 * request, if command or time is invalid. The decoder checks the arguments. */
bool classic_parse_script(struct request *req, const struct command *row,
			  const struct qless_str *argv, size_t argc);
/* Write the error for words that classic_parse_script() has refused. Returns its code. */
int classic_refuse_script(struct request *req, const struct command *row,
			  const struct qless_str *argv, size_t argc);

/* Find the jobs among the arguments of multiput: for each job jid, class and data. Returns the
 * index of the first one; `count` if there is none. In the native form, the word before the jobs
 * may be in any case. */
#define CLASSIC_MULTIPUT_JOB_ARGS 3
size_t classic_multiput_jobs(const struct qless_str *args, size_t count, enum request_form form);

/* Write an error that does not come from a command, in the envelope of the form: one that the
 * script would raise, or one that Redis would. */
void classic_write_error(struct request *req, struct qless_str message);
void classic_write_store_error(struct request *req, struct qless_str message);

/* Write an error about a limit that the reply exceeds. Commands on keys have no limits of the
 * engine, so their code is ERR. */
void classic_write_limit(struct request *req, struct qless_str message);

/* Write an error whose first word is its code. It stays the first word of the reply if the envelope
 * allows that. */
void classic_write_refusal(struct request *req, struct qless_str line);

#endif
