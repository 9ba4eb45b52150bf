/*
 * Errors of the library as data, see include/qless_store.h.
 *
 * The functions return the code, so that a call can return their result. `error` may be NULL.
 */
#ifndef EMBED_FAILURE_H
#define EMBED_FAILURE_H

#include "client/client_reply.h"
#include "qless_store.h"

int failure_set(struct qless_store_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* An error answer of the server. */
int failure_refused(struct qless_store_error *error, const struct client_reply *reply);

/* There is no error. Returns `result`, which is at least 0. */
int failure_none(struct qless_store_error *error, int result);

#endif
