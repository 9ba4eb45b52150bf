/*
 * Snapshots: the whole state of an engine as bytes.
 *
 * For the files of the log; programs that embed the engine do not need it. A loaded engine answers
 * every call, now and later, like the one that was saved. The bytes are compact, do not depend on
 * the machine, and come in an order that follows from the state alone, so equal states give equal
 * bytes.
 */
#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "qless.h"

/* The version of the rules and the format. A newer engine may read older versions. */
#define STATE_VERSION 3

/* Bytes of the longest piece. */
#define STATE_PIECE_BYTES ((size_t)256 * 1024)

/* Takes the next piece. Returns false to stop saving. */
typedef bool state_write_fn(void *arg, struct qless_str piece);

/* Save the engine, which does not change. Returns false if `write` stopped. */
bool state_save(const struct qless *q, state_write_fn *write, void *arg);

/* Returns the next bytes, of any length, valid until the next call; none at the end. */
typedef struct qless_str state_read_fn(void *arg);

/* Load a snapshot into a new engine, without publishing events. Returns 0, or QLESS_EBADARG if the
 * bytes are not a snapshot. qless_last_error() then describes the error, and the engine must only
 * be freed. */
QLESS_CHECK int state_load(struct qless *q, state_read_fn *read, void *arg);

#endif
