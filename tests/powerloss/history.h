/*
 * The history: every record that the daemon ever wrote to its log, and every snapshot. It is read
 * from the files as programs see them, as if there had been no power failure.
 *
 * An image that recovers up to sequence number N must have the state that the first N records lead
 * to. A record may be missing because the daemon dropped it after a failed sync. Then the snapshot
 * that made the log healthy again has its effect.
 */
#ifndef POWERLOSS_HISTORY_H
#define POWERLOSS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "medium.h"
#include "replica.h"
#include "util/buf.h"

struct history;

/* Read the files of a medium after the last event. `initial` is the directory that the daemon found
 * at its first start, or NULL. `scratch` is an empty directory for the replica. Returns NULL, with
 * a sentence in `ret_error`, if the log contradicts itself. */
struct history *history_new(const struct medium *m, const char *initial, const char *scratch,
			    struct buf *ret_error);
void history_free(struct history *h);

/* The sequence number of the first and of the last record with a token; 0: there is none. */
uint64_t history_first_with(const struct history *h, size_t token);
uint64_t history_last_with(const struct history *h, size_t token);

/* Whether the state at the first start had the token. Then no record is said to have it. */
bool history_is_old(const struct history *h, size_t token);

/* The last sequence number of the first start, and of all. */
uint64_t history_begin(const struct history *h);
uint64_t history_end(const struct history *h);

/* Get the digest of the state after the records up to `sequence`. Numbers of later calls must not
 * be smaller. Returns false, with a sentence in `ret_error`, if no state belongs to this number. */
bool history_digest(struct history *h, uint64_t sequence, uint64_t *ret_digest,
		    struct buf *ret_error);

#endif
