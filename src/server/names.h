/*
 * Names: of ourselves, and those that clients give themselves.
 */
#ifndef SERVER_NAMES_H
#define SERVER_NAMES_H

#include <stdbool.h>

#include "build_config.h"
#include "resp/reply.h"
#include "util/str.h"

/* The version of Redis whose behaviour a client may expect of us. */
#define REDIS_COMPATIBLE_VERSION "7.0.0"

#define CLIENT_NAME_MAX_BYTES 1024

/* Whether it may be the name of a client; if not, says so in an error. */
bool client_name_is_valid(struct reply *reply, struct qless_str name);

/* Replace a text that belongs to a connection. Empty becomes NULL. Copies. */
void client_set_text(char **text, struct qless_str value);

#endif
