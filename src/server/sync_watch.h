/*
 * Syncs of the log that take too long.
 *
 * With `appendfsync everysec` a change is acknowledged before it is synced. If the disk is slow,
 * the oldest unsynced record grows old, and a crash of the machine would lose everything since
 * then. So commands that change something wait while that record is older than max-unsynced-age.
 * Reads go on. With `always` replies wait for their sync in any case. For both, the operator is
 * told.
 */
#ifndef SERVER_SYNC_WATCH_H
#define SERVER_SYNC_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct server;

struct sync_watch {
	/* Monotonic times, of this turn: the oldest unsynced record is too old after `late_us`, and
	 * changes wait after `hold_us`. INT64_MAX: never. */
	int64_t late_us;
	int64_t hold_us;
	bool is_late;	     /* at the end of the last turn */
	bool has_held;	     /* a command waits */
	bool is_logged;	     /* that the disk is slow, which has not ended */
	int64_t logged_us;   /* when that was logged last; 0 for never */
	uint64_t left_out;   /* times since then that it was not logged */
	struct event *timer; /* makes a turn when the next sync is due */
	bool is_armed;
};

void sync_watch_init(struct server *s);
void sync_watch_done(struct server *s);

/* Returns whether commands that change something have to wait now. */
bool sync_watch_must_hold(const struct server *s);
/* Note that such a command waits. */
void sync_watch_note_hold(struct server *s);

/* Returns how old the oldest unsynced record is, in microseconds. 0 if there is none. */
int64_t sync_watch_age_us(const struct server *s);
/* Returns whether that is more than max-unsynced-age allows. */
bool sync_watch_is_late(const struct server *s);

/* Call this at the end of a turn, after the flush: releases the commands that need not wait any
 * more, and logs when the disk becomes slow. */
void sync_watch_end_turn(struct server *s);

#endif
