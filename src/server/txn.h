/*
 * MULTI and EXEC: queued commands that run together, with no other command in between.
 */
#ifndef SERVER_TXN_H
#define SERVER_TXN_H

#include "server/client.h"

/* Number of keys that a client may watch. */
#define TXN_WATCH_MAX 1024

/* NULL is a no-op. */
void txn_free(struct txn *txn);

/* Returns whether the client is between MULTI and EXEC. */
bool txn_is_open(const struct client *c);
/* Returns what the queued commands need, or NULL outside a transaction. */
const struct transaction *txn_state(const struct client *c);
/* Queue a command until EXEC, and answer QUEUED. Copies the arguments. */
void txn_queue(struct client *c, const struct request *req);
/* A command was refused, so EXEC will refuse all. Does nothing outside a transaction. */
void txn_fail(struct client *c);
/* Forget the transaction and the watched keys. */
void txn_discard(struct client *c);

/* Returns the number of queued commands, or -1 outside a transaction. */
int txn_length(const struct client *c);
/* Returns the number of watched keys. */
unsigned txn_watched(const struct client *c);
size_t txn_memory(const struct client *c);

#endif
