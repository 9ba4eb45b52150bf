/*
 * The resident: a server in a thread of this process, for the log in a directory.
 *
 *	STARTING --> SERVING --> ENDED
 *	    |                      ^
 *	    +--- it cannot start --+
 *
 * The thread makes the server and serves. The thread that stops the resident frees the server.
 */
#ifndef EMBED_RESIDENT_H
#define EMBED_RESIDENT_H

#include <stddef.h>

#include "qless_store.h"

struct resident;

/* Open a directory and load its log. Returns 0, QLESS_STORE_EARGUMENT, QLESS_STORE_EINUSE or
 * QLESS_STORE_EOPEN. */
int resident_start(const char *dir, const struct qless_store_options *options,
		   struct resident **ret_resident, struct qless_store_error *error);

/* Stop the server, close the log, and free the resident. Its connections are closed before. Returns
 * 0, or QLESS_STORE_EOPEN if the log could not be closed cleanly. */
int resident_stop(struct resident *r, struct qless_store_error *error);

/* In a child of the process: give up the copies of the lock and of the log, and touch nothing
 * else. The memory of the server stays, because its thread is gone. */
void resident_abandon(struct resident *r);

/* Returns one end of a new connection, which does not block, or -1 if the server has ended. */
int resident_connect(struct resident *r);

/* Copies the last warning of the server: why answers were lost. Empty if there was none. */
void resident_read_warning(struct resident *r, char *text, size_t size);

#endif
