/*
 * Running a command of the classic API whose time is an argument: for QLESS and for scripts.
 */
#ifndef COMMAND_CMD_QLESS_H
#define COMMAND_CMD_QLESS_H

#include <stddef.h>

#include "command/classic.h"
#include "command/command.h"

/* Run what `argv` says, which is a command, now and arguments, and write the reply. `allowed` are
 * the enum classic_flag that the command may have. */
void qless_run(struct call *call, struct classic *c, enum classic_form form, unsigned allowed,
	       const struct qless_str *argv, size_t argc);

#endif
