/*
 * The commands of qless. Each handler reads cli->args and cli->options, prints, and sets
 * cli->result.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/cli.h"

cli_command_fn command_call, command_cancel, command_complete, command_delete, command_failures,
	command_help, command_info, command_jobs, command_jobs_count, command_limit, command_limits,
	command_move, command_pause, command_put, command_queues, command_recurring, command_retry,
	command_show, command_tail, command_top, command_unpause, command_wait, command_why,
	command_workers;

#endif
