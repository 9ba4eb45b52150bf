#include "server/sync_watch.h"

#include <inttypes.h>

#include "server/persist_int.h"
#include "sys/log.h"

/* Milliseconds from a change to a turn in which its sync is due: a little more than the second
 * that the journal leaves between two syncs. */
#define SYNC_IS_DUE_MS 1010
/* Microseconds between two lines about a slow disk. */
#define LOG_DISTANCE_US (60 * PERSIST_SECOND_US)

/* The turn does the work. */
static void on_due(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	s->sync_watch.is_armed = false;
	server_read_clock(s);
}

void sync_watch_init(struct server *s)
{
	s->sync_watch = (struct sync_watch){
		.late_us = INT64_MAX,
		.hold_us = INT64_MAX,
		.timer = evtimer_new(s->base, on_due, s),
	};
}

void sync_watch_done(struct server *s)
{
	if (s->sync_watch.timer != NULL)
		event_free(s->sync_watch.timer);
}

int64_t sync_watch_age_us(const struct server *s)
{
	int64_t since_us;

	if (!persist_is_loaded(s))
		return 0;
	since_us = journal_unsynced_since_us(s->persist->journal);
	return since_us < s->clocks.mono_us ? s->clocks.mono_us - since_us : 0;
}

bool sync_watch_is_late(const struct server *s)
{
	return s->clocks.mono_us > s->sync_watch.late_us;
}

bool sync_watch_must_hold(const struct server *s)
{
	return s->clocks.mono_us > s->sync_watch.hold_us;
}

void sync_watch_note_hold(struct server *s)
{
	s->stats.delayed_writes++;
	s->sync_watch.has_held = true;
}

static void release(struct server *s)
{
	struct conn *c;

	s->sync_watch.has_held = false;
	TAILQ_FOREACH(c, &s->conns.all, all) {
		if (c->client.hold == HOLD_SYNC)
			conn_release(c);
	}
	submissions_release(s);
}

/*
 * The operator
 */

static bool take_line(struct sync_watch *w, int64_t mono_us)
{
	if (w->logged_us != 0 && mono_us - w->logged_us < LOG_DISTANCE_US) {
		w->left_out++;
		return false;
	}
	w->logged_us = mono_us;
	return true;
}

static void tell_begin(struct server *s)
{
	struct sync_watch *w = &s->sync_watch;
	bool holds = w->hold_us != INT64_MAX;
	uint64_t left_out = w->left_out;

	notify_status(&s->notify,
		      holds ? "The disk is slow, changes wait" : "The disk is slow, replies wait");
	w->is_logged = take_line(w, s->clocks.mono_us);
	if (!w->is_logged)
		return;
	w->left_out = 0;
	log_write(LOG_LEVEL_WARNING,
		  LOG_FIELDS(LOG_INT("unsynced_ms", sync_watch_age_us(s) / 1000),
			     LOG_INT("others_not_logged", left_out)),
		  "the disk is slow: the oldest unsynced record is older than max-unsynced-age. %s "
		  "until it is synced",
		  holds ? "Commands that change something wait" : "Replies wait");
}

static void tell_end(struct server *s)
{
	bool is_logged = s->sync_watch.is_logged;

	s->sync_watch.is_logged = false;
	/* note_state() in recording.c tells of a log that has failed. */
	if (s->persist->log->state != COMMIT_LOG_HEALTHY)
		return;
	notify_status(&s->notify, SERVER_STATUS_READY);
	if (is_logged)
		log_notice("nothing waits for the disk any more");
}

/*
 * The end of a turn
 */

static void note_times(struct server *s, int64_t since_us)
{
	struct sync_watch *w = &s->sync_watch;
	int64_t limit_us = s->config->max_unsynced_age_s * PERSIST_SECOND_US;
	int policy = s->config->appendfsync;

	w->late_us = w->hold_us = INT64_MAX;
	if (since_us == INT64_MAX || limit_us == 0 || policy == CONFIG_APPENDFSYNC_NO ||
	    s->persist->log->state != COMMIT_LOG_HEALTHY)
		return;
	w->late_us = since_us + limit_us;
	if (policy == CONFIG_APPENDFSYNC_EVERYSEC)
		w->hold_us = w->late_us;
}

/* Without other events, a sync would begin when cron makes a turn, up to a second late. */
static void arm(struct sync_watch *w)
{
	struct timeval delay = { .tv_sec = SYNC_IS_DUE_MS / 1000,
				 .tv_usec = SYNC_IS_DUE_MS % 1000 * 1000 };

	w->is_armed = true;
	event_add(w->timer, &delay);
}

void sync_watch_end_turn(struct server *s)
{
	struct sync_watch *w = &s->sync_watch;
	int64_t since_us = journal_unsynced_since_us(s->persist->journal);
	bool is_late;

	note_times(s, since_us);
	is_late = sync_watch_is_late(s);
	if (is_late && !w->is_late)
		tell_begin(s);
	else if (!is_late && w->is_late)
		tell_end(s);
	w->is_late = is_late;
	if (w->has_held && !sync_watch_must_hold(s))
		release(s);
	if (since_us != INT64_MAX && !w->is_armed)
		arm(w);
}
