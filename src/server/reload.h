/*
 * Changing the configuration while the server runs: by SIGHUP, and the part of CONFIG SET and
 * CONFIG REWRITE that concerns the rest of the server.
 *
 * SIGHUP reads the file and the command line again. What they say differently than at the last
 * reading takes effect, so a value of CONFIG SET stays until the file changes.
 */
#ifndef SERVER_RELOAD_H
#define SERVER_RELOAD_H

#include <stdbool.h>

#include "config/config.h"

struct server;

struct reload {
	struct config_source source;
	struct config read; /* as it was read last */
	bool is_asked_for;  /* a signal came while the state was loaded */
};

/* Notes where the configuration of the server came from; NULL: from nowhere. */
void reload_init(struct server *s, const struct config_source *source);
void reload_done(struct server *s);

/* Reopen the log file, and load the configuration and the certificates again. */
void reload_run(struct server *s);
/* The state has been loaded: does what was asked for meanwhile. */
void reload_catch_up(struct server *s);
/* CONFIG REWRITE has written the file. */
void reload_note_rewrite(struct server *s);

/* A config_apply_fn; `arg` is the server. */
int reload_apply(const struct config *was, const struct config *now,
		 const struct config_changes *changes, struct buf *ret_error, void *arg);

#endif
