/*
 * Names of this server, and names that clients give themselves.
 */
#ifndef SERVER_NAMES_H
#define SERVER_NAMES_H

#include <stdbool.h>

#include "build_config.h"
#include "resp/reply.h"
#include "util/str.h"

/* The version of Redis that clients may take the server for. */
#define REDIS_COMPATIBLE_VERSION "7.0.0"

#define CLIENT_NAME_MAX_BYTES 1024

/* Returns whether `name` is valid for a client. Writes an error if not. */
bool client_name_is_valid(struct reply *reply, struct qless_str name);

/* Replace a text of a client by a copy of `value`. An empty value becomes NULL. */
void client_set_text(char **text, struct qless_str value);

#endif
