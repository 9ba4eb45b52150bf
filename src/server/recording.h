/*
 * Recording what is changed, and the rule for output:
 *
 * What a client was told in a turn, replies and events alike, leaves when everything that had been
 * recorded by the end of that turn is as durable as appendfsync asks for. So no client ever learns
 * of a state that a crash can undo, whoever has brought it about. The gate (gate.h) holds it back
 * until then.
 *
 * Without a log, and while the state is loaded, nothing is recorded and nothing waits.
 */
#ifndef SERVER_RECORDING_H
#define SERVER_RECORDING_H

#include <stdbool.h>

#include "command/scripts.h"
#include "journal/record.h"

struct server;

/* Record something that is not a change of a database. */
void recording_append(struct server *s, const struct record_command *command);

/* What is changed in between is recorded as one: after a crash it is all there or not at all. */
void recording_begin_group(struct server *s);
void recording_end_group(struct server *s);

/* Give what was changed so far its sequence number, for somebody who asks for the last one. */
void recording_number(struct server *s);

/* Returns whether the turn should end now, though there is more to do: what it has recorded could
 * become durable meanwhile. */
bool recording_wants_end_of_turn(const struct server *s);

/* Write what this turn has recorded, and tell the gate how far the log has come. */
void recording_end_turn(struct server *s);

/* To be told of scripts; `arg` is the server. */
extern const struct scripts_hooks recording_scripts_hooks;

#endif
