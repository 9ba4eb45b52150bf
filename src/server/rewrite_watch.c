/*
 * Rewrites of the log: when one begins automatically, and what is logged about them.
 */
#include "server/rewrite_watch.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "server/commands.h"
#include "server/persist_int.h"
#include "sys/log.h"

/* Microseconds without an automatic rewrite after one failed, doubled with each further failure.
 * Another attempt would probably fail as well, and fill a full disk. */
#define DELAY_US     (60 * PERSIST_SECOND_US)
#define DELAY_MAX_US (3600 * PERSIST_SECOND_US)
/* Milliseconds between two checks of the last snapshot, while the server waits for it. */
#define SAVE_CHECK_MS 100

void rewrite_watch_init(struct rewrite_watch *w)
{
	*w = (struct rewrite_watch){ .fd = -1 };
}

void rewrite_watch_done(struct rewrite_watch *w)
{
	if (w->event != NULL)
		event_free(w->event);
	w->event = NULL;
	w->fd = -1;
}

static void on_rewrite_news(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	server_read_clock(arg);
}

static void describe_rewrite(const struct journal_info *info)
{
	char how[64] = "from the log";

	if (!info->last_is_rebuilt && info->forks == 0)
		snprintf(how, sizeof how, "from memory");
	else if (!info->last_is_rebuilt)
		snprintf(how, sizeof how, "fork took %.3f ms", (double)info->fork_us / 1e3);
	log_notice("wrote a new snapshot: %" PRIu64 " MB in %.3f seconds, %s",
		   info->base_bytes >> 20, (double)info->last_rewrite_us / 1e6, how);
}

static void note_rewrites(struct server *s)
{
	struct rewrite_watch *w = &s->persist->rewrites;
	const struct journal *journal = s->persist->journal;
	struct journal_info info;

	journal_get_info(journal, &info);
	if (info.rebuild_failures != w->rebuild_failures)
		log_warning("cannot make a snapshot from the log: %s. It is made %s",
			    journal_rebuild_error(journal),
			    s->is_inside ? "from memory" : "by a fork");
	if (info.rewrites != w->done) {
		describe_rewrite(&info);
		w->delay_us = 0;
	}
	if (info.rewrite_failures != w->failures) {
		w->delay_us = w->delay_us == 0 ? DELAY_US : 2 * w->delay_us;
		if (w->delay_us > DELAY_MAX_US)
			w->delay_us = DELAY_MAX_US;
		w->after_us = s->clocks.mono_us + w->delay_us;
		log_warning(
			"cannot write a new snapshot: %s. The next automatic rewrite waits %" PRId64
			" seconds",
			info.last_rewrite_rc == -ECHILD ? "its process was killed"
							: strerror(-info.last_rewrite_rc),
			w->delay_us / PERSIST_SECOND_US);
	}
	w->done = info.rewrites;
	w->failures = info.rewrite_failures;
	w->rebuild_failures = info.rebuild_failures;
}

/* Listen to the process that writes a snapshot, if there is one. */
static void watch_process(struct server *s)
{
	struct rewrite_watch *w = &s->persist->rewrites;
	int fd = journal_rewrite_fd(s->persist->journal);

	if (fd == w->fd)
		return;
	rewrite_watch_done(w);
	if (fd < 0)
		return;
	w->fd = fd;
	w->event = event_new(s->base, fd, EV_READ | EV_PERSIST, on_rewrite_news, s);
	event_add(w->event, NULL);
}

void rewrite_watch_end_turn(struct server *s)
{
	struct rewrite_watch *w = &s->persist->rewrites;
	bool is_rewriting = journal_is_rewriting(s->persist->journal);

	if (is_rewriting || w->fd >= 0 || w->was_rewriting) {
		watch_process(s);
		note_rewrites(s);
	}
	w->was_rewriting = is_rewriting;
}

void rewrite_watch_save(struct server *s)
{
	struct persist *p = s->persist;
	bool is_asked_for = false;

	log_notice("writing a new snapshot before the end");
	p->patience_us = 0; /* the time granted for loading is over */
	journal_set_rewrite_rate(p->journal, 0);
	journal_set_fork_max(p->journal, UINT64_MAX); /* a fork delays no client any more */
	journal_give_up_rewrite(p->journal);
	do {
		struct pollfd news[] = { { .fd = p->wake_fd, .events = POLLIN },
					 { .fd = journal_rewrite_fd(p->journal),
					   .events = POLLIN } };

		if (!is_asked_for)
			is_asked_for = commit_log_snapshot(p->log);
		persist_ask_for_patience(s);
		poll(news, sizeof news / sizeof news[0], SAVE_CHECK_MS);
		persist_take_news(s);
		commit_log_flush(p->log, &(struct commit_log_turn){ .mono_us = clock_mono_us(),
								    .wall_us = clock_wall_us() });
	} while (!is_asked_for ||
		 (journal_is_rewriting(p->journal) && p->log->state == COMMIT_LOG_HEALTHY));
	journal_wait(p->journal);
}

void rewrite_watch_tick(struct server *s)
{
	const struct config *config = s->config;
	struct persist *p = s->persist;
	const struct rewrite_watch *w;

	if (!persist_is_loaded(s))
		return;
	w = &p->rewrites;
	/* A node of a group that follows makes snapshots, too. */
	if (journal_is_rewriting(p->journal) ||
	    journal_log(p->journal)->state != COMMIT_LOG_HEALTHY ||
	    (w->delay_us != 0 && s->clocks.mono_us < w->after_us) ||
	    !journal_is_overgrown(p->journal, (unsigned)config->auto_rewrite_percentage,
				  config->auto_rewrite_min_bytes))
		return;
	log_notice("the log has grown by %d percent, writing a new snapshot",
		   config->auto_rewrite_percentage);
	commit_log_snapshot(p->log);
}

void cmd_bgrewriteaof(struct request *req)
{
	struct persist *p = server_of(req)->persist;

	if (p == NULL)
		reply_error(req->reply, "ERR", STR("there is no log: appendonly is no"));
	else if (!commit_log_snapshot(p->log))
		reply_error(req->reply, "ERR",
			    STR("Background append only file rewriting already in progress"));
	else
		reply_status(req->reply, STR("Background append only file rewriting started"));
}
