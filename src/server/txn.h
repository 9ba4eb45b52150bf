/*
 * MULTI and EXEC: commands that are kept until they all run, with nothing in between.
 */
#ifndef SERVER_TXN_H
#define SERVER_TXN_H

#include "server/server_int.h"

/* So many keys may be watched by a connection. */
#define TXN_WATCH_MAX 1024

/* NULL is a no-op. */
void txn_free(struct txn *txn);

/* Between MULTI and EXEC. */
bool txn_is_open(const struct conn *c);
/* Keep a command until EXEC, and answer QUEUED. Copies the arguments. */
void txn_queue(struct conn *c, const struct command *cmd, const struct qless_str *argv, int argc,
	       int name_args);
/* A command was refused: EXEC will refuse all. Does nothing outside a transaction. */
void txn_fail(struct conn *c);
/* Forget the transaction and the watched keys. */
void txn_discard(struct conn *c);

/* How many commands wait, -1 outside a transaction. */
int txn_length(const struct conn *c);
/* How many keys are watched. */
unsigned txn_watched(const struct conn *c);
size_t txn_memory(const struct conn *c);
/* One of the commands that wait may write. */
bool txn_writes(const struct conn *c);
/* Whether a command among them makes the state grow, so that EXEC does. */
bool txn_grows(const struct conn *c);

#endif
