/*
 * The command handlers of this layer.
 */
#ifndef COMMAND_HANDLERS_H
#define COMMAND_HANDLERS_H

#include "command/request.h"

/* HELP of any container: replies with the synopses and summaries of the subcommands. */
command_handler command_help;

command_handler cmd_ping;
command_handler cmd_echo;

command_handler cmd_command;
command_handler cmd_command_count;
command_handler cmd_command_docs;
command_handler cmd_command_getkeys;
command_handler cmd_command_getkeysandflags;
command_handler cmd_command_info;
command_handler cmd_command_list;

command_handler cmd_acl_cat;
command_handler cmd_acl_deluser;
command_handler cmd_acl_dryrun;
command_handler cmd_acl_getuser;
command_handler cmd_acl_list;
command_handler cmd_acl_genpass;
command_handler cmd_acl_log;
command_handler cmd_acl_file;
command_handler cmd_acl_setuser;
command_handler cmd_acl_users;
command_handler cmd_acl_whoami;

/* Native queue commands; the row tells which. The others replace `*` by a new jid. */
command_handler cmd_native;
command_handler cmd_native_complete;
command_handler cmd_native_progress;
command_handler cmd_native_start;
command_handler cmd_native_fail;
command_handler cmd_native_heartbeat;
command_handler cmd_native_retry;
command_handler cmd_native_multiput;
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

/* Keys: the ql:* view. */
command_handler cmd_dbsize;
command_handler cmd_exists;
command_handler cmd_keys;
command_handler cmd_randomkey;
command_handler cmd_scan;
command_handler cmd_ttl;
command_handler cmd_type;
command_handler memory_cmd_usage;
command_handler object_cmd_encoding;
command_handler object_cmd_freq;
command_handler object_cmd_idletime;
command_handler object_cmd_refcount;

command_handler cmd_hexists;
command_handler cmd_hget;
command_handler cmd_hgetall;
command_handler cmd_hkeys;
command_handler cmd_hlen;
command_handler cmd_hmget;
command_handler cmd_hscan;
command_handler cmd_hstrlen;
command_handler cmd_hvals;

command_handler cmd_lindex;
command_handler cmd_llen;
command_handler cmd_lrange;

command_handler cmd_scard;
command_handler cmd_sismember;
command_handler cmd_smembers;
command_handler cmd_smismember;
command_handler cmd_sscan;

command_handler cmd_zcard;
command_handler cmd_zcount;
command_handler cmd_zlexcount;
command_handler cmd_zmscore;
command_handler cmd_zrange;
command_handler cmd_zrangebylex;
command_handler cmd_zrangebyscore;
command_handler cmd_zrank;
command_handler cmd_zrevrange;
command_handler cmd_zrevrangebylex;
command_handler cmd_zrevrangebyscore;
command_handler cmd_zrevrank;
command_handler cmd_zscan;
command_handler cmd_zscore;

/* Commands that would write to keys: the error names the commands to use instead. */
command_handler cmd_refuse_change;
command_handler cmd_refuse_delete;

#endif
