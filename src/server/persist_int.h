/*
 * What the modules of the log share: persist.c opens and closes it, recording.c writes to it,
 * loading.c reads it at the start, rewrite_watch.c has it rewritten. Nobody else sees this.
 */
#ifndef SERVER_PERSIST_INT_H
#define SERVER_PERSIST_INT_H

#include "journal/journal.h"
#include "journal/recover.h"
#include "server/persist.h"
#include "server/server_int.h"
#include "server/stored.h"

#define PERSIST_SECOND_US   INT64_C(1000000)
#define PERSIST_REFUSAL_MAX 512

/* How far the log has been loaded. */
struct loading {
	struct recovery_progress progress;
	int64_t begin_us;  /* when it began; monotonic, as those that follow */
	int64_t turn_us;   /* when clients were served last */
	int64_t report_us; /* when to log next how far it is */
	int64_t mark_us;   /* the wall clock of the last mark that was read */
	int64_t newest_us; /* of commands that may have got their time from a server */
};

/* What is known about rewrites of the log. */
struct rewrite_watch {
	struct event *event; /* the process that writes a base has news */
	int fd;
	bool was_rewriting;
	uint64_t done;
	uint64_t failures;
	uint64_t rebuild_failures;
	int64_t delay_us; /* after failures, longer each time; 0: the last one succeeded */
	int64_t after_us; /* none begins automatically before this time */
};

struct persist {
	struct journal *journal;
	struct commit_log *log; /* the journal's */
	struct rebuild_options rebuild;
	struct event *wake; /* the helper thread has news */
	int wake_fd;
	bool is_loaded;
	enum commit_log_state state; /* as the log of the server said last */
	uint64_t noted_syncs;
	uint64_t noted_forks;
	int64_t patience_us; /* when we asked the service manager for it */
	char refusal[PERSIST_REFUSAL_MAX];
	struct loading loading;
	struct rewrite_watch rewrites;
};

static inline struct stored persist_stored(const struct server *s)
{
	return (struct stored){ s->env.databases, s->env.scripts };
}

/* Tell the service manager that start or stop takes longer; once a second is enough. Otherwise the
 * manager would set a limit to what takes as long as it takes. */
void persist_ask_for_patience(struct server *s);

/* The helper thread has news; reads them from the descriptor. */
void persist_take_news(struct server *s);

/* The state is loaded: record changes from now on. */
void recording_begin(struct server *s);
/* What was changed so far gets its number; of what follows, a new record. */
void recording_end_batch(struct server *s);

/* If loading goes on as it has gone so far. */
double loading_seconds_left(const struct loading *l, int64_t mono_us);

void rewrite_watch_init(struct rewrite_watch *w);
void rewrite_watch_done(struct rewrite_watch *w);
/* At the end of a turn: log what has become of rewrites, and listen to the process of one. */
void rewrite_watch_end_turn(struct server *s);
/* Write a base before the end, however long that takes. */
void rewrite_watch_save(struct server *s);

#endif
