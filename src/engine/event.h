/*
 * Events: what is published, and on which channel.
 */
#ifndef ENGINE_EVENT_H
#define ENGINE_EVENT_H

#include "qless.h"

void event_put(struct qless *q, struct qless_str jid, struct qless_str queue);
void event_lock_lost(struct qless *q, struct qless_str jid, struct qless_str queue,
		     struct qless_str worker);
/* How far a running job is. `note` may be NULL. */
void event_progress(struct qless *q, struct qless_str jid, struct qless_str queue, double percent,
		    const struct qless_str *note);
/* `queue` is NULL if the job is complete. */
void event_deleted(struct qless *q, struct qless_str jid, const struct qless_str *queue);
void event_completed(struct qless *q, struct qless_str jid, struct qless_str queue);
void event_advanced(struct qless *q, struct qless_str jid, struct qless_str from,
		    struct qless_str to);
void event_failed(struct qless *q, struct qless_str jid, struct qless_str queue,
		  struct qless_str group, struct qless_str message, struct qless_str worker);
/* `queue` and `worker` are NULL if there is no such job. */
void event_canceled(struct qless *q, struct qless_str jid, const struct qless_str *queue,
		    const struct qless_str *worker);
void event_config_set(struct qless *q, struct qless_str option, struct qless_str value);
void event_config_unset(struct qless *q, struct qless_str option);
/* Publish a jid on its own channel: "ql:track", or for tracked jobs "ql:popped" and so on. */
void event_jid(struct qless *q, const char *channel, struct qless_str jid);
void event_tracked(struct qless *q, const struct qless_job *job, const char *channel);

#endif
