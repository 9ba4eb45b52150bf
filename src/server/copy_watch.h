/*
 * When the log was last copied, for INFO and /metrics. qlessd-check --copy-to leaves a marker in
 * the directory of the log, and its time is the answer.
 */
#ifndef SERVER_COPY_WATCH_H
#define SERVER_COPY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct copy_watch {
	bool is_read;	  /* the marker has been looked at */
	int64_t read_us;  /* when; monotonic */
	int64_t copied_s; /* when the log was last copied, in seconds since 1970; 0: never */
};

/* Look at the marker in a directory, but at most once a minute. Call this every second. */
void copy_watch_tick(struct copy_watch *w, const char *dir, int64_t mono_us);

#endif
