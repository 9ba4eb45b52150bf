/*
 * A password that a person types, without showing it.
 */
#ifndef CLIENT_ASKPASS_H
#define CLIENT_ASKPASS_H

#include "util/buf.h"

/* Bytes of the longest password. */
#define ASKPASS_MAX 1024

/* Shows the prompt on the terminal of the process, and reads a line from there. The caller frees
 * the password. Returns NULL, and appends the reason to `error`, if there is no terminal or the
 * person gives up. */
char *askpass_read(const char *prompt, struct buf *error);

#endif
