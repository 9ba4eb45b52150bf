/*
 * What commands need of the server: the databases, clocks, ids for new jobs, and answers to what
 * may run (struct command_env).
 */
#ifndef SERVER_ENVIRONMENT_H
#define SERVER_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "command/command.h"

struct server;

/* Random bytes for the ids of jobs, used from the end. Asking the kernel for each id alone would
 * cost more than the rest of a put. */
struct jids {
	size_t left;
	unsigned char entropy[COMMAND_JID_BYTES / 2 * 256];
};

/* Everything but the users, who come from the configuration. */
void environment_init(struct server *s);
void environment_done(struct server *s);

/* Make the limits of databases follow the configuration. */
void environment_apply_config(struct server *s);

/* Drop statistics that are too old, unless nothing may change for now. */
void environment_maintain(struct server *s);

#endif
