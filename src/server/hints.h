/*
 * Hints about commands that did what they were asked, but probably not what was meant: HELP shows
 * the latest ones, and the log has a line for some of them.
 *
 * So far there is one kind: worker and queue have probably changed places.
 */
#ifndef SERVER_HINTS_H
#define SERVER_HINTS_H

#include <stddef.h>
#include <stdint.h>

#include "command/command.h"
#include "util/str.h"

struct request;

/* Number of hints that are kept. */
#define HINTS_MAX 8
/* Bytes of a name that are kept. A hint about a longer name is not kept. */
#define HINTS_NAME_BYTES 64
/* Microseconds between two lines of the log. */
#define HINTS_LOG_DISTANCE_US (INT64_C(60) * 1000000)

struct hint {
	const struct command *row;
	unsigned db;
	size_t worker_len, queue_len;
	char worker[HINTS_NAME_BYTES], queue[HINTS_NAME_BYTES];
};

struct hints {
	struct hint
		kept[HINTS_MAX]; /* number `count` modulo HINTS_MAX is the next to be replaced */
	uint64_t count;
	int64_t logged_us; /* when a hint was logged last; 0: never */
};

/* Keeps a hint, unless it is kept already. `arg` is the server. This is a function of struct
 * command_env. */
void hints_note_swapped(void *arg, const struct request *req, struct qless_str worker,
			struct qless_str queue);

/* Visits the hints, the latest first. */
typedef void hint_fn(void *arg, const struct hint *hint);
void hints_each(const struct hints *hints, hint_fn *fn, void *arg);

static inline struct qless_str hint_worker(const struct hint *hint)
{
	return str_make(hint->worker, hint->worker_len);
}

static inline struct qless_str hint_queue(const struct hint *hint)
{
	return str_make(hint->queue, hint->queue_len);
}

#endif
