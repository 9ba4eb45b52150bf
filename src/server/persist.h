/*
 * The log: opening and closing it, refusing changes, and reporting its condition.
 *
 * recording.h writes to the log, loading.h reads it at the start, and rewrite_watch.h follows its
 * rewrites. With `appendonly no` there is no log, and all of them do nothing.
 */
#ifndef SERVER_PERSIST_H
#define SERVER_PERSIST_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/journal.h"
#include "journal/recover.h"
#include "util/buf.h"

struct server;

/* Take the directory of the log. Returns -1 with a line in `ret_error`. */
int persist_open(struct server *s, struct buf *ret_error);

/* Close the log, after writing a new snapshot if `save`. */
void persist_close(struct server *s, bool save);

/* In a child of the process: see journal_abandon(). */
void persist_abandon(struct server *s);

/* Apply the configuration to the log. */
void persist_apply_config(struct server *s);

/* Returns why a command that changes something cannot run now, as an error line, or NULL if it
 * can. `bytes` is the size of its arguments. For struct command_env; `arg` is the server. */
const char *persist_refusal(void *arg, size_t bytes);

/* Figures about the log and its loading; all 0 where they do not apply. */
struct persist_info {
	struct journal_info log;
	struct recovery_progress progress;
	enum commit_log_state state;
	int64_t unsynced_age_us; /* of the oldest record that is not synced */
	/* While the log is loaded: when that began, and how many more seconds it will take at
	 * the same speed. */
	int64_t load_start_s;
	double load_left_s;
};

void persist_get_info(const struct server *s, struct persist_info *ret_info);
/* Returns whether there is a log, and the state has been loaded from it. */
bool persist_is_loaded(const struct server *s);
/* Append the lines of INFO that are words. */
void persist_append_words(const struct server *s, struct buf *out);
/* Returns why changes are refused, or NULL. */
const char *persist_complaint(const struct server *s);
int64_t persist_last_save_s(const struct server *s);

#endif
