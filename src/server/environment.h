/*
 * The server's side of struct command_env: databases, clocks, ids for new jobs, and whether
 * commands may run.
 */
#ifndef SERVER_ENVIRONMENT_H
#define SERVER_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "command/command.h"

struct server;

/* Random bytes for job ids, used from the end. One system call for each id would cost more than
 * the rest of a put. */
struct jids {
	size_t left;
	unsigned char entropy[COMMAND_JID_BYTES / 2 * 256];
};

/* Make everything except the users, which come from the configuration. */
void environment_init(struct server *s);
void environment_done(struct server *s);

/* Apply the configured limits to the databases. */
void environment_apply_config(struct server *s);

/* Returns whether the server may change something of its own accord. Nothing may change, not even
 * by time, during CLIENT PAUSE and while the log cannot be written or synced, because the state
 * must not get ahead of the log. */
bool environment_may_change(const struct server *s);
/* Drop old statistics, unless nothing may change at the moment. */
void environment_maintain(struct server *s);

#endif
