/*
 * The whole state of an engine as bytes, and back.
 *
 * For the files of the log; programs that embed the engine have no use for it. Loading gives an
 * engine that cannot be told from the one that was saved: it answers every call alike, now and
 * later. The bytes are compact, do not depend on the machine, and come in an order that follows
 * from the state alone, so equal states give equal bytes.
 */
#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "qless.h"

/* Of the rules and of the format together. A newer engine may read older ones. */
#define STATE_VERSION 1

/* No piece is longer. */
#define STATE_PIECE_BYTES ((size_t)256 * 1024)

/* Takes the next piece; false ends the saving. */
typedef bool state_write_fn(void *arg, struct qless_str piece);

/* Save the engine. Changes nothing. False if `write` ended it. */
bool state_save(const struct qless *q, state_write_fn *write, void *arg);

/* Gives the next bytes, as many as it likes, good until the next call; none at the end. */
typedef struct qless_str state_read_fn(void *arg);

/* Load what was saved into an engine that is new. Returns 0, or QLESS_EBADARG if the bytes are not
 * what state_save() writes; qless_last_error() then says what is wrong, and the engine is good for
 * nothing but qless_free(). Publishes no events. */
QLESS_CHECK int state_load(struct qless *q, state_read_fn *read, void *arg);

#endif
