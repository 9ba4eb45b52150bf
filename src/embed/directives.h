/*
 * The configuration of a server inside a program.
 */
#ifndef EMBED_DIRECTIVES_H
#define EMBED_DIRECTIVES_H

#include "config/config.h"
#include "qless_store.h"

/* Fill in `config`, which config_init() has prepared, for a log in that directory. Returns 0, or
 * QLESS_STORE_EARGUMENT. */
int directives_read(struct config *config, const char *dir,
		    const struct qless_store_options *options, struct qless_store_error *error);

#endif
