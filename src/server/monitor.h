/*
 * MONITOR: shows the commands that run.
 */
#ifndef SERVER_MONITOR_H
#define SERVER_MONITOR_H

#include "server/client.h"

struct buf;

/* Show a command to all monitors before it runs. Callers leave out commands with secret
 * arguments. */
void monitor_feed(const struct client *c, const struct qless_str *argv, int argc);

/* Append text in double quotes, with non-printable bytes escaped. For monitors and log lines. */
void monitor_quote(struct buf *out, struct qless_str s);

#endif
