/*
 * Shared by the modules of the log: persist.c opens and closes it, recording.c writes to it,
 * loading.c reads it at the start, rewrite_watch.c follows its rewrites, and sync_watch.c its
 * syncs. No other file includes this.
 */
#ifndef SERVER_PERSIST_INT_H
#define SERVER_PERSIST_INT_H

#include "journal/journal.h"
#include "journal/recover.h"
#include "server/persist.h"
#include "server/server_int.h"
#include "stored/stored.h"

#define PERSIST_SECOND_US   INT64_C(1000000)
#define PERSIST_REFUSAL_MAX 512

/* How far the log has been loaded. */
struct loading {
	struct replay replay;
	struct recovery_progress progress;
	int64_t begin_us;  /* when loading began; monotonic, like the next two */
	int64_t turn_us;   /* when clients were served last */
	int64_t report_us; /* when to log the progress next */
	int64_t mark_us;   /* the wall clock of the last mark that was read */
	int64_t newest_us; /* the newest time in a record that came from a server's clock */
};

/* The state of rewrites as it was last logged. */
struct rewrite_watch {
	struct event *event; /* the event for news of the process that writes a snapshot */
	int fd;
	bool was_rewriting;
	uint64_t done;
	uint64_t failures;
	uint64_t rebuild_failures;
	int64_t delay_us; /* grows with each failure; 0: the last rewrite succeeded */
	int64_t after_us; /* monotonic: no rewrite begins automatically before this time */
};

struct persist {
	struct journal *journal;
	struct commit_log *log; /* the journal's */
	struct rebuild_options rebuild;
	struct event *wake; /* the event for news of the helper thread */
	int wake_fd;
	bool is_loaded;
	enum commit_log_state state; /* as it was last logged */
	uint64_t noted_syncs;
	uint64_t noted_forks;
	int64_t patience_us; /* monotonic: when the server last asked the service manager for time
			      */
	char refusal[PERSIST_REFUSAL_MAX];
	struct loading loading;
	struct rewrite_watch rewrites;
};

static inline struct stored persist_stored(const struct server *s)
{
	return (struct stored){ s->env.databases, s->env.scripts };
}

/* Ask the service manager for more time to start or stop. Does nothing if the last call was less
 * than a second ago. */
void persist_ask_for_patience(struct server *s);

/* Read the news of the helper thread from its descriptor. */
void persist_take_news(struct server *s);

/* The state is loaded. From now on changes are recorded. */
void recording_begin(struct server *s);
/* End the batch of this turn, so that all its changes have sequence numbers. */
void recording_end_batch(struct server *s);

/* Returns how many more seconds loading will take at the same speed, or 0 if that is unknown. */
double loading_seconds_left(const struct loading *l, int64_t mono_us);

void rewrite_watch_init(struct rewrite_watch *w);
void rewrite_watch_done(struct rewrite_watch *w);
/* Call this at the end of a turn: logs the results of rewrites, and listens to the process of
 * one. */
void rewrite_watch_end_turn(struct server *s);
/* Write a snapshot before the server ends. Takes as long as it needs. */
void rewrite_watch_save(struct server *s);

#endif
