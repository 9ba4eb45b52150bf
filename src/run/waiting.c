/*
 * Waiting for jobs with BPOP, on a connection of its own.
 *
 * A BPOP asks for as many jobs as there are free slots. While it waits, more slots may become free:
 * the next one asks for those.
 */
#include <stdlib.h>
#include <string.h>

#include "run/command.h"
#include "run/worker_int.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "util/json_read.h"
#include "util/mem.h"

/* Seconds after which a server has usually noticed the end of a connection. */
#define FIRST_AUDIT_SECONDS 1
/* Seconds of the shortest wait. */
#define WAIT_MIN_SECONDS 0.05
/* Arguments of BPOP without the queues. */
#define ARGS_MAX 10

/* A wait ends in time for the next audit. */
static double find_timeout(const struct worker *w)
{
	double left;

	if (w->audit_at_us == INT64_MAX)
		return WAIT_SECONDS;
	left = clock_seconds(w->audit_at_us - clock_mono_us());
	return left < WAIT_MIN_SECONDS ? WAIT_MIN_SECONDS
	       : left < WAIT_SECONDS   ? left
				       : WAIT_SECONDS;
}

static void send_bpop(struct worker *w, unsigned count)
{
	const struct run_options *o = w->options;
	struct qless_str *args = mem_alloc((ARGS_MAX + o->queue_count) * sizeof *args);
	char timeout[NUM_MAX], queues[NUM_MAX], jobs[NUM_MAX];
	size_t n = 0;

	args[n++] = STR("BPOP");
	args[n++] = str_make(timeout, num_format_g17(timeout, find_timeout(w)));
	args[n++] = buf_str(&w->name);
	args[n++] = str_make(queues, num_format_u64(queues, o->queue_count));
	for (size_t i = 0; i < o->queue_count; i++)
		args[n++] = str_from(o->queues[i]);
	args[n++] = STR("COUNT");
	args[n++] = str_make(jobs, num_format_u64(jobs, count));
	if (o->round_robin) {
		args[n++] = STR("ORDER");
		args[n++] = STR("roundrobin");
	}
	if (o->klass != NULL) {
		args[n++] = STR("CLASS");
		args[n++] = str_from(o->klass);
	}
	w->is_waiting = true;
	w->waiting_us = clock_mono_us();
	link_send(&w->waiting, args, n);
	free(args);
}

void waiting_doubt(struct worker *w)
{
	int64_t now = clock_mono_us();

	w->is_unsure = true;
	w->audit_at_us = now + clock_from_seconds(FIRST_AUDIT_SECONDS);
	w->last_audit_us = now + clock_from_seconds(WAIT_SECONDS + SILENCE_SECONDS);
}

/* Until it is known what became of a hand-over, no new one may begin: its jobs would look as if
 * they were lost, too. Returns whether that is not known. */
static bool begin_audit(struct worker *w)
{
	int64_t now = clock_mono_us();
	bool is_due = now >= w->audit_at_us;

	if (is_due)
		w->audit_at_us = now < w->last_audit_us ? w->last_audit_us : INT64_MAX;
	if (!is_due && !w->is_unsure)
		return false;
	w->is_unsure = false;
	control_audit(w);
	return true;
}

void waiting_update(struct worker *w)
{
	unsigned count = worker_count_free(w);

	if (!worker_takes(w)) {
		if (link_is_open(&w->waiting))
			link_end(&w->waiting);
		return;
	}
	if (!w->is_attached)
		return;
	link_open(&w->waiting);
	if (w->is_waiting || w->is_auditing || count == 0 || !link_is_ready(&w->waiting) ||
	    evtimer_pending(w->again, NULL) || begin_audit(w))
		return;
	send_bpop(w, count);
}

/* The server should have answered by now. */
void waiting_check(struct worker *w)
{
	int64_t limit_us = (WAIT_SECONDS + SILENCE_SECONDS) * INT64_C(1000000);

	if (w->is_waiting && clock_mono_us() - w->waiting_us > limit_us)
		link_break(&w->waiting, "the server does not answer");
}

static void on_ready(void *arg)
{
	waiting_update(arg);
}

static void take_jobs(struct worker *w, struct qless_str text)
{
	struct qless_str json, ignored, item;
	struct json_items items;

	if (!json_read_check(text, &json) || !json_read_open(json, &items) || items.is_object) {
		log_warning("the server hands out what is no list of jobs");
		return;
	}
	while (json_read_next(&items, &ignored, &item)) {
		struct job job;

		if (job_init(&job, item))
			worker_take(w, &job);
		else
			log_warning("the server hands out what is no job");
	}
}

static void on_replied(void *arg, const struct client_reply *reply)
{
	struct worker *w = arg;

	if (reply->type == CLIENT_REPLY_PUSH || !w->is_waiting)
		return;
	w->is_waiting = false;
	if (reply->type == CLIENT_REPLY_STRING) {
		take_jobs(w, client_reply_str(reply));
	} else if (client_reply_is_error(reply) && !reply_is_passing(reply)) {
		worker_fail(w, "the server does not hand out jobs", reply->ptr);
		return;
	} else if (client_reply_is_error(reply)) {
		struct timeval delay = { .tv_sec = 1 };

		evtimer_add(w->again, &delay);
	}
	waiting_update(w);
}

static void on_lost(void *arg, const char *error, bool is_refused)
{
	struct worker *w = arg;

	(void)is_refused;
	if (w->is_waiting) {
		w->is_waiting = false;
		waiting_doubt(w);
	}
	if (worker_takes(w))
		log_verbose("the connection that waits for jobs is lost: %s", error);
	worker_go_on_ending(w);
}

const struct link_events waiting_events = {
	.ready = on_ready,
	.replied = on_replied,
	.lost = on_lost,
};
