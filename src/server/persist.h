/*
 * The log of the server: opening and closing it, what it refuses, and what is told about it.
 *
 * recording.h writes to it, loading.h reads it at the start, rewrite_watch.h has it rewritten. With
 * `appendonly no` there is none, and all of them do nothing.
 */
#ifndef SERVER_PERSIST_H
#define SERVER_PERSIST_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/journal.h"
#include "journal/recover.h"
#include "util/buf.h"

struct server;

/* Before the server runs: take the directory. Returns -1 with a line in `ret_error`. */
int persist_open(struct server *s, struct buf *ret_error);

/* Bring the log to its end, with a new base first if `save`. */
void persist_close(struct server *s, bool save);

/* Make the log follow the configuration. */
void persist_apply_config(struct server *s);

/* Why a command that changes something cannot be run now, or NULL. `bytes` is the size of its
 * arguments. For struct command_env; `arg` is the server. */
const char *persist_refusal(void *arg, size_t bytes);

/* What there is to tell about the log and its loading; all 0 where it does not apply. */
struct persist_info {
	struct journal_info log;
	struct recovery_progress progress;
	enum commit_log_state state;
	/* While it is being loaded: since when, and how much longer if it goes on like this. */
	int64_t load_start_s;
	double load_left_s;
};

void persist_get_info(const struct server *s, struct persist_info *ret_info);
/* There is a log, and the state has been loaded from it. */
bool persist_is_loaded(const struct server *s);
/* What INFO says of it in words. */
void persist_append_words(const struct server *s, struct buf *out);
/* Why changes are refused, or NULL. */
const char *persist_complaint(const struct server *s);
int64_t persist_last_save_s(const struct server *s);

#endif
