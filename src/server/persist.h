/*
 * The log of the server: what is recorded, when replies may leave, and what is said about it.
 *
 * With `appendonly no` there is none, and everything here does nothing.
 *
 * The rule for output: what a connection was told in a turn, replies and events alike, leaves when
 * everything that had been recorded by the end of that turn is as durable as appendfsync asks for.
 * So no client ever learns of a state that a crash can undo, whoever has brought it about.
 */
#ifndef SERVER_PERSIST_H
#define SERVER_PERSIST_H

#include <stdbool.h>
#include <stdint.h>

#include "command/scripts.h"
#include "journal/journal.h"
#include "journal/record.h"
#include "journal/recover.h"
#include "util/buf.h"

struct server;

/* Where the state comes from, if not from the server's own directory. */
struct persist_origin {
	char *dir;	   /* of the log to be read, which is left as it is; NULL: our own */
	uint64_t sequence; /* how far to go in it */
	int64_t wall_us;
};

/* Understand the argument of --recover-to: a sequence number, @seconds since 1970, or a time such
 * as 2026-11-18T14:00:00 (UTC). */
bool persist_parse_limit(const char *text, struct persist_origin *origin);

/* Before the server runs: take the directory. -1 with a line in `ret_error`. */
int persist_open(struct server *s, struct buf *ret_error);

/* Load the state. Clients are served meanwhile, but not with it. -1 if that failed, and it is in
 * the log why. */
int persist_load(struct server *s, const struct persist_origin *origin);

/* Bring the log to its end, with a new base first if `save`. */
void persist_close(struct server *s, bool save);

/* Make the log follow the configuration. */
void persist_apply_config(struct server *s);

/* The turn should end now, though there is more to do: what it has recorded could become durable
 * meanwhile. */
bool persist_wants_end_of_turn(const struct server *s);

/* Write what this turn has recorded, and tell the gate how far the log has come. */
void persist_end_turn(struct server *s);

/* Once a second. */
void persist_cron(struct server *s);

/* Record something that is not a change of a database. Nothing is done while loading. */
void persist_record(struct server *s, const struct record_command *command);

/* What is changed in between is recorded as one: after a crash it is all there or not at all. */
void persist_begin_group(struct server *s);
void persist_end_group(struct server *s);

/* What is changed in between may be recorded together, which takes less room and time. */
void persist_begin_batch(struct server *s);
void persist_end_batch(struct server *s);
/* What was changed so far has its number, and what follows gets another. */
void persist_split_batch(struct server *s);

/* Why a command that changes something cannot be run now, or NULL. `bytes` is the size of its
 * arguments. For struct command_env; `arg` is the server. */
const char *persist_refusal(void *arg, size_t bytes);

/* To be told of scripts; `arg` is the server. */
extern const struct scripts_hooks persist_scripts_hooks;

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
