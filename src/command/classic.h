/*
 * The classic qless API: 37 commands, decoded from their arguments and answered, and extensions to
 * it, which the script form does not know because the reference does not.
 *
 * Arguments are checked as the reference does, in its order, before the engine is called; each
 * command makes one change or none, and writes exactly one reply.
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

/* Whether scripts know the command. */
bool classic_is_command_of_scripts(struct qless_str name);
bool classic_is_put_option(struct qless_str name);

/* Run the queue command of the row. The request has its form, time, arguments, database and reply.
 * Returns 0 or an engine error, which has been written as the reply. */
int classic_run(struct request *req);

/* Take the words after QLESS or EVALSHA <sha> 0, which are command, now, arguments, into the
 * request. `row` is the queue command of that name, NULL if there is none. False, with nothing
 * changed but the time, if they are wrong: the arguments are left to the decoder. */
bool classic_parse_script(struct request *req, const struct command *row,
			  const struct qless_str *argv, size_t argc);
/* Write what is wrong with them. Returns the error of the engine that it is like. */
int classic_refuse_script(struct request *req, const struct command *row,
			  const struct qless_str *argv, size_t argc);

/* The jobs among the arguments of multiput: so many arguments each, jid, class and data. Returns
 * where they begin; `count` if they do not. */
#define CLASSIC_MULTIPUT_JOB_ARGS 3
size_t classic_multiput_jobs(const struct qless_str *args, size_t count);

/* Write an error in the envelope of the form that does not come from a command: one that the script
 * would raise, or one that the store would. */
void classic_write_error(struct request *req, struct qless_str message);
void classic_write_store_error(struct request *req, struct qless_str message);

/* Write an error that has a code of its own, which is the first word of the line, and stays the
 * first word of the reply where the envelope allows it. */
void classic_write_refusal(struct request *req, struct qless_str line);

#endif
