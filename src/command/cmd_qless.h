/*
 * Running a command of the classic API whose time is an argument: for QLESS and for scripts.
 */
#ifndef COMMAND_CMD_QLESS_H
#define COMMAND_CMD_QLESS_H

#include <stddef.h>

#include "command/classic.h"
#include "command/request.h"

/* Run the command that `argv` names, which is its name, now and arguments, and write the reply. The
 * request has its form and its database. */
void qless_run(struct request *req, const struct qless_str *argv, size_t argc);

#endif
