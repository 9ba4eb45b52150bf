/*
 * Runs a queue command whose time is an argument, for QLESS and for scripts.
 */
#ifndef COMMAND_CMD_QLESS_H
#define COMMAND_CMD_QLESS_H

#include <stddef.h>

#include "command/classic.h"
#include "command/request.h"

/* Admits and runs the command in `argv`: its name, now, and its arguments. Writes the reply. The
 * request has its form and its database. */
void qless_run(struct request *req, const struct qless_str *argv, size_t argc);

#endif
