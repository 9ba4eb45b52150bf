/*
 * MULTI and EXEC: commands that are kept until they all run, with nothing in between.
 */
#ifndef SERVER_TXN_H
#define SERVER_TXN_H

#include "server/client.h"

/* So many keys may be watched by a connection. */
#define TXN_WATCH_MAX 1024

/* NULL is a no-op. */
void txn_free(struct txn *txn);

/* Between MULTI and EXEC. */
bool txn_is_open(const struct client *c);
/* Keep a command until EXEC, and answer QUEUED. Copies the arguments. */
void txn_queue(struct client *c, const struct command *cmd, const struct qless_str *argv, int argc,
	       int name_args);
/* A command was refused: EXEC will refuse all. Does nothing outside a transaction. */
void txn_fail(struct client *c);
/* Forget the transaction and the watched keys. */
void txn_discard(struct client *c);

/* How many commands wait, -1 outside a transaction. */
int txn_length(const struct client *c);
/* How many keys are watched. */
unsigned txn_watched(const struct client *c);
size_t txn_memory(const struct client *c);
/* One of the commands that wait may write. */
bool txn_writes(const struct client *c);
/* Whether a command among them makes the state grow, so that EXEC does. */
bool txn_grows(const struct client *c);

#endif
