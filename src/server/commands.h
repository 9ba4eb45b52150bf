/*
 * The command handlers of this layer, and the table of all commands.
 */
#ifndef SERVER_COMMANDS_H
#define SERVER_COMMANDS_H

#include "command/command.h"

struct command_table;

/* Makes the table of the commands of all layers. `has_group` adds those that only nodes of a group
 * have. command_table_free() frees it. */
struct command_table *commands_new(bool has_group);

/* Returns whether this server is a node of a group. Otherwise writes an error: a server with a
 * replication-port may have no group yet. */
bool commands_check_group(struct request *req);

command_handler client_getname;
command_handler client_id;
command_handler client_info;
command_handler client_kill;
command_handler client_list;
command_handler client_no_evict;
command_handler client_no_touch;
command_handler client_pause;
command_handler client_reply;
command_handler client_setinfo;
command_handler client_setname;
command_handler client_unblock;
command_handler client_unpause;
command_handler cmd_auth;
command_handler cmd_bgrewriteaof;
command_handler cmd_discard;
command_handler cmd_exec;
command_handler cmd_failover;
command_handler cmd_flushall;
command_handler cmd_flushdb;
command_handler cmd_hello;
command_handler cmd_info;
command_handler cmd_help;
command_handler cmd_lastsave;
command_handler cmd_monitor;
command_handler cmd_multi;
command_handler cmd_psubscribe;
command_handler cmd_publish;
command_handler cmd_punsubscribe;
command_handler cmd_quit;
command_handler cmd_readonly;
command_handler cmd_readwrite;
command_handler cmd_reset;
command_handler cmd_role;
command_handler cmd_select;
command_handler cmd_shutdown;
command_handler cmd_subscribe;
command_handler cmd_swapdb;
command_handler cmd_time;
command_handler cmd_unsubscribe;
command_handler cmd_unwatch;
command_handler cmd_wait;
command_handler cmd_watch;
command_handler config_cmd_get;
command_handler config_cmd_resetstat;
command_handler config_cmd_rewrite;
command_handler config_cmd_set;
command_handler debug_cmd_segfault;
command_handler debug_cmd_sleep;
command_handler latency_cmd_doctor;
command_handler latency_cmd_histogram;
command_handler latency_cmd_history;
command_handler latency_cmd_latest;
command_handler latency_cmd_reset;
command_handler memory_cmd_doctor;
command_handler memory_cmd_malloc_stats;
command_handler memory_cmd_purge;
command_handler memory_cmd_queues;
command_handler memory_cmd_stats;
command_handler module_cmd_list;
command_handler pubsub_cmd_channels;
command_handler pubsub_cmd_numpat;
command_handler pubsub_cmd_numsub;
command_handler replica_cmd_add;
command_handler replica_cmd_list;
command_handler replica_cmd_remove;
command_handler replica_cmd_replace;
command_handler sentinel_cmd_address;
command_handler sentinel_cmd_ckquorum;
command_handler sentinel_cmd_master;
command_handler sentinel_cmd_masters;
command_handler sentinel_cmd_myid;
command_handler sentinel_cmd_replicas;
command_handler sentinel_cmd_sentinels;
command_handler slowlog_cmd_get;
command_handler slowlog_cmd_len;
command_handler slowlog_cmd_reset;

#endif
