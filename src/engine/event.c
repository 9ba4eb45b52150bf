/*
 * Events: what is published, and on which channel.
 *
 * The members of their JSON are in the order that clients expect.
 */
#include "engine/event.h"

#include <assert.h>

#include "engine/engine_int.h"
#include "engine/job.h"
#include "util/json.h"
#include "util/num.h"

#define CHANNEL_LOG	      "ql:log"
#define CHANNEL_WORKER_PREFIX "ql:w:"

static bool is_heard(const struct qless *q)
{
	const struct qless_hooks *hooks = &q->hooks;

	return hooks->publish != NULL && (hooks->listens == NULL || hooks->listens(hooks->arg));
}

static void publish(struct qless *q, struct qless_str channel, struct qless_str payload)
{
	assert(q->hooks.publish != NULL);
	q->hooks.publish(q->hooks.arg, channel, payload);
}

static void publish_log(struct qless *q)
{
	publish(q, STR(CHANNEL_LOG), buf_str(&q->event));
}

/* Not inlined, so that its callers keep nothing for it where nobody follows queues. */
static __attribute__((noinline)) void publish_to_queue(struct qless *q, struct qless_str queue)
{
	publish_log(q);
	q->hooks.publish_to_queue(q->hooks.arg, queue, buf_str(&q->event));
}

/* Publish the event to those who follow the log, and to those who follow the queue. */
static inline void publish_both(struct qless *q, struct qless_str queue)
{
	if (q->hooks.publish_to_queue != NULL)
		publish_to_queue(q, queue);
	else
		publish_log(q);
}

static void publish_worker(struct qless *q, struct qless_str worker)
{
	buf_clear(&q->channel);
	buf_append_str(&q->channel, STR(CHANNEL_WORKER_PREFIX));
	buf_append_str(&q->channel, worker);
	publish(q, buf_str(&q->channel), buf_str(&q->event));
}

/* Append a member. `before` is everything before its value: brace or comma, name, colon. */
static void add(struct qless *q, struct qless_str before, struct qless_str value)
{
	buf_append_str(&q->event, before);
	json_append_string(&q->event, value);
}

static void add_or_false(struct qless *q, struct qless_str before, const struct qless_str *value)
{
	if (value != NULL) {
		add(q, before, *value);
		return;
	}
	buf_append_str(&q->event, before);
	json_append_bool(&q->event, false);
}

static bool begin(struct qless *q)
{
	if (!is_heard(q))
		return false;
	buf_clear(&q->event);
	return true;
}

void event_put(struct qless *q, struct qless_str jid, struct qless_str queue)
{
	if (!begin(q))
		return;
	add(q, STR("{\"jid\":"), jid);
	add(q, STR(",\"event\":\"put\",\"queue\":"), queue);
	buf_append_char(&q->event, '}');
	publish_both(q, queue);
}

static void tell_worker(struct qless *q, struct qless_str worker, struct qless_str event,
			struct qless_str jid)
{
	if (q->hooks.tell_worker != NULL && worker.len > 0)
		q->hooks.tell_worker(q->hooks.arg, q, worker, event, jid);
}

void event_lock_lost(struct qless *q, struct qless_str jid, struct qless_str queue,
		     struct qless_str worker)
{
	tell_worker(q, worker, STR("lock_lost"), jid);
	if (!begin(q))
		return;
	add(q, STR("{\"jid\":"), jid);
	add(q, STR(",\"event\":\"lock_lost\",\"worker\":"), worker);
	buf_append_char(&q->event, '}');
	publish_worker(q, worker);
	publish_both(q, queue);
}

void event_progress(struct qless *q, struct qless_str jid, struct qless_str queue, double percent,
		    const struct qless_str *note)
{
	char number[NUM_MAX];

	if (!begin(q))
		return;
	add(q, STR("{\"jid\":"), jid);
	add(q, STR(",\"event\":\"progress\",\"queue\":"), queue);
	buf_append_str(&q->event, STR(",\"progress\":"));
	buf_append(&q->event, number, num_format_g14(number, percent));
	if (note != NULL)
		add(q, STR(",\"note\":"), *note);
	buf_append_char(&q->event, '}');
	publish_both(q, queue);
}

void event_deleted(struct qless *q, struct qless_str jid, const struct qless_str *queue)
{
	if (!begin(q))
		return;
	add(q, STR("{\"jid\":"), jid);
	add_or_false(q, STR(",\"event\":\"deleted\",\"queue\":"), queue);
	buf_append_char(&q->event, '}');
	if (queue != NULL)
		publish_both(q, *queue);
	else
		publish_log(q);
}

void event_completed(struct qless *q, struct qless_str jid, struct qless_str queue)
{
	if (!begin(q))
		return;
	add(q, STR("{\"jid\":"), jid);
	add(q, STR(",\"event\":\"completed\",\"queue\":"), queue);
	buf_append_char(&q->event, '}');
	publish_both(q, queue);
}

void event_advanced(struct qless *q, struct qless_str jid, struct qless_str from,
		    struct qless_str to)
{
	if (!begin(q))
		return;
	add(q, STR("{\"jid\":"), jid);
	add(q, STR(",\"to\":"), to);
	add(q, STR(",\"event\":\"advanced\",\"queue\":"), from);
	buf_append_char(&q->event, '}');
	publish_both(q, from);
	if (q->hooks.publish_to_queue != NULL && !str_equal(from, to))
		q->hooks.publish_to_queue(q->hooks.arg, to, buf_str(&q->event));
}

void event_failed(struct qless *q, struct qless_str jid, struct qless_str queue,
		  struct qless_str group, struct qless_str message, struct qless_str worker)
{
	if (!begin(q))
		return;
	add(q, STR("{\"message\":"), message);
	add(q, STR(",\"jid\":"), jid);
	add(q, STR(",\"group\":"), group);
	add(q, STR(",\"event\":\"failed\",\"worker\":"), worker);
	buf_append_char(&q->event, '}');
	publish_both(q, queue);
}

void event_canceled(struct qless *q, struct qless_str jid, const struct qless_str *queue,
		    const struct qless_str *worker)
{
	if (worker != NULL)
		tell_worker(q, *worker, STR("canceled"), jid);
	if (!begin(q))
		return;
	add(q, STR("{\"jid\":"), jid);
	add_or_false(q, STR(",\"queue\":"), queue);
	add_or_false(q, STR(",\"event\":\"canceled\",\"worker\":"), worker);
	buf_append_char(&q->event, '}');
	if (queue != NULL)
		publish_both(q, *queue);
	else
		publish_log(q);
	if (worker != NULL && worker->len > 0)
		publish_worker(q, *worker);
}

void event_config_set(struct qless *q, struct qless_str option, struct qless_str value)
{
	if (!begin(q))
		return;
	add(q, STR("{\"option\":"), option);
	add(q, STR(",\"event\":\"config_set\",\"value\":"), value);
	buf_append_char(&q->event, '}');
	publish_log(q);
}

void event_config_unset(struct qless *q, struct qless_str option)
{
	if (!begin(q))
		return;
	add(q, STR("{\"event\":\"config_unset\",\"option\":"), option);
	buf_append_char(&q->event, '}');
	publish_log(q);
}

void event_jid(struct qless *q, const char *channel, struct qless_str jid)
{
	if (is_heard(q))
		publish(q, str_from(channel), jid);
}

void event_tracked(struct qless *q, const struct qless_job *job, const char *channel)
{
	if (job->flags & JOB_TRACKED)
		event_jid(q, channel, job_jid(job));
}
