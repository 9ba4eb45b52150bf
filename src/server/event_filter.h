/*
 * The events that a client follows: those of some queues, some jobs and some kinds. An event must
 * match each condition that there is, by one of its values.
 */
#ifndef SERVER_EVENT_FILTER_H
#define SERVER_EVENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "http/target.h"
#include "server/event_ring.h"
#include "util/buf.h"
#include "util/str.h"

struct user;

/* Values of a list; all of them are in one text. */
struct event_names {
	size_t count;
	struct buf text; /* the length of each, as a size_t, and then its bytes */
};

struct event_filter {
	struct event_names queues;
	struct event_names jids; /* as strings of JSON */
	struct event_names kinds;
};

/* Reads the parameters `queue`, `jid` and `event` of a request, each of which may be repeated.
 * Returns false, with a sentence in `error` and nothing to free, if there is another parameter or a
 * kind that does not exist. */
bool event_filter_parse(const struct http_target *target, struct event_filter *ret_filter,
			struct buf *error);
void event_filter_done(struct event_filter *filter);

/* Whether it lets every event pass. */
bool event_filter_is_open(const struct event_filter *filter);
bool event_filter_matches(const struct event_filter *filter, const struct ring_event *event);

/* Returns the queue after `*at`, which is 0 for the first one, and moves `*at`. Returns false if
 * there are no more. */
bool event_filter_next_queue(const struct event_filter *filter, size_t *at,
			     struct qless_str *ret_queue);

/*
 * Permissions. A user that may subscribe to `ql:log` follows all queues that it may read. Otherwise
 * it follows those of them to whose channels `ql:q:<queue>:events` it may subscribe.
 */

bool event_filter_may_follow(const struct user *user, struct qless_str queue);
/* Whether the user may follow every event. */
bool event_filter_may_follow_all(const struct user *user);
bool event_filter_may_see(const struct user *user, const struct ring_event *event);

#endif
