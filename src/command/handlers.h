/*
 * The handlers of this layer, for the rows of the table.
 */
#ifndef COMMAND_HANDLERS_H
#define COMMAND_HANDLERS_H

#include "command/command.h"

/* Of "help" under any container: the synopses and summaries of the rows next to it. */
command_handler command_help;

command_handler cmd_ping;
command_handler cmd_echo;

command_handler cmd_command;
command_handler cmd_command_count;
command_handler cmd_command_docs;
command_handler cmd_command_getkeys;
command_handler cmd_command_info;
command_handler cmd_command_list;

command_handler cmd_acl_cat;
command_handler cmd_acl_deluser;
command_handler cmd_acl_dryrun;
command_handler cmd_acl_getuser;
command_handler cmd_acl_list;
command_handler cmd_acl_file;
command_handler cmd_acl_setuser;
command_handler cmd_acl_users;
command_handler cmd_acl_whoami;

/* What a command that changes something has to ask first. False if it may not, and that has been
 * replied. */
bool command_may_change(struct call *call);

/* Of every native queue command whose arguments need no change; the row's name says which. */
command_handler cmd_native;
command_handler cmd_native_put;
command_handler cmd_native_recur;
command_handler cmd_qless;

command_handler cmd_eval;
command_handler cmd_eval_ro;
command_handler cmd_evalsha;
command_handler cmd_evalsha_ro;
command_handler cmd_script_exists;
command_handler cmd_script_flush;
command_handler cmd_script_kill;
command_handler cmd_script_load;

#endif
