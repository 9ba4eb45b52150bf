/*
 * Recording changes, and the rule for output:
 *
 * Output of a turn, replies and events alike, leaves when everything that was recorded by the end
 * of that turn is as durable as appendfsync demands. So no client learns of a state that a crash
 * can undo, whoever caused that state. The gate (gate.h) holds the output back until then.
 *
 * Without a log, and while the state is loaded, nothing is recorded and nothing waits.
 */
#ifndef SERVER_RECORDING_H
#define SERVER_RECORDING_H

#include <stdbool.h>

#include "command/scripts.h"
#include "operation/operation.h"

struct server;

/* Record something that is not a change of a database. */
void recording_append(struct server *s, const struct operation *op);

/* Changes between these two calls share one record: after a crash, all of them are there or
 * none. */
void recording_begin_group(struct server *s);
void recording_end_group(struct server *s);

/* Give the changes so far their sequence numbers, for a client that asks for the last one. */
void recording_number(struct server *s);

/* Returns whether the turn should end now, so that its records can become durable while the next
 * turn runs. */
bool recording_wants_end_of_turn(const struct server *s);

/* Write what this turn has recorded, and tell the gate how far the log has come. */
void recording_end_turn(struct server *s);

/* Hooks that record scripts. `arg` is the server. */
extern const struct scripts_hooks recording_scripts_hooks;

#endif
