/*
 * MONITOR: showing what runs to whoever wants to see it.
 */
#ifndef SERVER_MONITOR_H
#define SERVER_MONITOR_H

#include "server/client.h"

struct buf;

/* Tell all monitors that `c` is about to run this. The arguments of secret commands never come
 * here. */
void monitor_feed(const struct client *c, const struct qless_str *argv, int argc);

/* Text between double quotes, with what is not printable escaped: as monitors and logs show
 * arguments. */
void monitor_quote(struct buf *out, struct qless_str s);

#endif
