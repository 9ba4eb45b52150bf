/*
 * Requests about jobs, and the attachment of the worker.
 *
 * Requests are answered in order. When the connection is lost, nobody knows which of them the
 * server has run. All that matters can be sent again: the number of the hand-out makes sure that a
 * report counts once.
 */
#include <string.h>
#include <unistd.h>

#include "run/answer.h"
#include "run/command.h"
#include "run/worker_int.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "util/json_read.h"

/* Seconds after which a job is tried again whose end the server does not accept. */
#define SUBSTITUTE_DELAY 60
/* Seconds until the next attempt after an error that passes. */
#define AGAIN_SECONDS 1

enum request_kind {
	REQUEST_BURY_OWN, /* release the jobs of an earlier worker of this name */
	REQUEST_BURY,	  /* release the jobs of another worker that has died */
	REQUEST_ATTACH,
	REQUEST_HEARTBEAT,
	REQUEST_START,
	REQUEST_PROGRESS,
	REQUEST_REPORT,
	REQUEST_LIST, /* the jobs of this worker */
	REQUEST_GET,  /* a job of the list that is unknown here */
	REQUEST_PING,
	REQUEST_RELEASE, /* what the server still has for this worker */
	REQUEST_LEAVE,
};

struct request {
	enum request_kind kind;
	struct task *task; /* or NULL */
};

static void send_request(struct worker *w, enum request_kind kind, struct task *t,
			 const struct command *c)
{
	struct request request = { .kind = kind, .task = t };

	if (t != NULL)
		task_hold(t);
	buf_append(&w->requests, &request, sizeof request);
	link_send(&w->control, c->args, c->count);
}

bool reply_is_passing(const struct client_reply *reply)
{
	static const char *const codes[] = { "MISCONF",	   "OOM",  "LOADING",  "READONLY",
					     "MASTERDOWN", "BUSY", "UNBLOCKED" };

	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		if (client_reply_has_code(reply, codes[i]))
			return true;
	}
	return false;
}

/* The worker does not hold the job any longer. */
static bool is_loss(const struct client_reply *reply)
{
	static const char *const codes[] = { "NOTRUNNING", "NOTOWNER", "WRONGQUEUE", "NOJOB" };

	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		if (client_reply_has_code(reply, codes[i]))
			return true;
	}
	return false;
}

static void add_lock(struct command *c, const struct task *t)
{
	command_add(c, STR("lock"));
	command_add_integer(c, (int64_t)t->job.lock);
}

static void send_again_later(struct worker *w)
{
	struct timeval delay = { .tv_sec = AGAIN_SECONDS };

	if (!evtimer_pending(w->again, NULL))
		evtimer_add(w->again, &delay);
}

/* ---- attaching ---- */

/* Release the jobs of a worker that has died. They use up a retry, because a job may be the cause.
 */
static void send_bury(struct worker *w, enum request_kind kind, struct qless_str name)
{
	struct command c;

	command_begin(&c, STR("WORKER.RELEASE"));
	command_add(&c, name);
	command_add(&c, STR("RETRY"));
	send_request(w, kind, NULL, &c);
}

void control_sweep(struct worker *w)
{
	if (!w->is_attached || w->dead != NULL)
		return;
	scratch_sweep(&w->scratch, buf_str(&w->server), &w->dead);
	for (const struct scratch_dead *dead = w->dead; dead != NULL; dead = dead->next)
		send_bury(w, REQUEST_BURY, buf_str(&dead->worker));
}

/* The requests have the order of the list. */
static void take_bury(struct worker *w, const struct client_reply *reply)
{
	if (w->dead == NULL)
		return;
	if (client_reply_is_error(reply)) {
		log_warning("cannot release the jobs of worker %s, which has died: %s",
			    buf_cstr(&w->dead->worker), reply->ptr);
	} else {
		log_notice("released the jobs of worker %s, which has died",
			   buf_cstr(&w->dead->worker));
	}
	scratch_bury(&w->scratch, &w->dead);
}

static void send_attach(struct worker *w)
{
	struct command c;

	command_begin(&c, STR("WORKER.ATTACH"));
	command_add(&c, buf_str(&w->name));
	command_add(&c, STR("GRACE"));
	command_add_number(&c, w->options->grace_s);
	command_add(&c, STR("NODE"));
	command_add(&c, str_from(w->node));
	command_add(&c, STR("PID"));
	command_add_integer(&c, getpid());
	if (w->options->exclusive != NULL) {
		command_add(&c, STR("EXCLUSIVE"));
		command_add(&c, str_from(w->options->exclusive));
	}
	send_request(w, REQUEST_ATTACH, NULL, &c);
}

static void on_ready(void *arg)
{
	struct worker *w = arg;

	w->replied_us = clock_mono_us();
	if (!w->was_attached)
		send_bury(w, REQUEST_BURY_OWN, buf_str(&w->name));
	send_attach(w);
}

/* ---- jobs ---- */

/* Asks whether the worker still holds the lock. During the grace period of a lock that has expired,
 * this also renews it. */
static void send_heartbeat(struct worker *w, struct task *t)
{
	struct command c;

	command_begin(&c, STR("HEARTBEAT"));
	command_add(&c, buf_str(&t->job.jid));
	command_add(&c, buf_str(&w->name));
	add_lock(&c, t);
	send_request(w, REQUEST_HEARTBEAT, t, &c);
}

void control_start(struct worker *w, struct task *t)
{
	struct command c;

	if (!w->is_attached || t->is_lost)
		return;
	command_begin(&c, STR("JOB.START"));
	command_add(&c, buf_str(&t->job.jid));
	command_add(&c, buf_str(&w->name));
	command_add(&c, STR("PID"));
	command_add_integer(&c, t->pid);
	command_add(&c, STR("NODE"));
	command_add(&c, str_from(w->node));
	add_lock(&c, t);
	send_request(w, REQUEST_START, t, &c);
}

void control_progress(struct worker *w, struct task *t, struct qless_str line)
{
	struct answer a;
	struct command c;

	if (!w->is_attached || t->is_lost || answer_init(&a, line, buf_str(&t->job.jid)) != NULL)
		return;
	command_begin(&c, STR("JOB.PROGRESS"));
	command_add(&c, buf_str(&t->job.jid));
	command_add(&c, buf_str(&w->name));
	command_add_number(&c, a.percent);
	if (a.note.len != 0)
		command_add(&c, buf_str(&a.note));
	add_lock(&c, t);
	send_request(w, REQUEST_PROGRESS, t, &c);
	answer_done(&a);
}

static void add_complete(struct worker *w, struct task *t, struct command *c)
{
	command_begin(c, STR("COMPLETE"));
	command_add(c, buf_str(&t->job.jid));
	command_add(c, buf_str(&w->name));
	command_add(c, buf_str(&t->job.queue));
	/* The job keeps its data. */
	if (t->outcome.result.len != 0) {
		command_add(c, STR("result"));
		command_add(c, buf_str(&t->outcome.result));
	}
}

static void add_retry(struct worker *w, struct task *t, struct command *c)
{
	command_begin(c, STR("RETRY"));
	command_add(c, buf_str(&t->job.jid));
	command_add(c, buf_str(&t->job.queue));
	command_add(c, buf_str(&w->name));
	/* A delay would replace the backoff of the job. */
	if (t->outcome.has_delay)
		command_add_number(c, t->outcome.delay_s);
	else
		command_add(c, STR("backoff"));
	command_add(c, buf_str(&t->outcome.group));
	command_add(c, buf_str(&t->outcome.message));
}

static void add_fail(struct worker *w, struct task *t, struct command *c)
{
	command_begin(c, STR("FAIL"));
	command_add(c, buf_str(&t->job.jid));
	command_add(c, buf_str(&w->name));
	command_add(c, buf_str(&t->outcome.group));
	command_add(c, buf_str(&t->outcome.message));
}

void control_report(struct worker *w, struct task *t)
{
	struct command c;

	if (!w->is_attached)
		return;
	switch (t->outcome.kind) {
	case OUTCOME_COMPLETE:
		add_complete(w, t, &c);
		break;
	case OUTCOME_RETRY:
		add_retry(w, t, &c);
		break;
	case OUTCOME_FAIL:
		add_fail(w, t, &c);
		break;
	case OUTCOME_NONE:
		return;
	}
	add_lock(&c, t);
	send_request(w, REQUEST_REPORT, t, &c);
}

/* The server does not accept the end of a job, for a reason that does not pass: perhaps its user
 * may not do this. The job should not stay locked, so it is tried again later. */
static void substitute(struct worker *w, struct task *t, const char *error)
{
	log_write(LOG_LEVEL_WARNING,
		  LOG_FIELDS(LOG_STR("jid", buf_str(&t->job.jid)), LOG_TEXT("error", error)),
		  "the server does not accept the end of a job");
	if (t->is_substitute) {
		worker_forget(w, t);
		return;
	}
	t->is_substitute = true;
	outcome_done(&t->outcome);
	outcome_init(&t->outcome);
	t->outcome.kind = OUTCOME_RETRY;
	t->outcome.has_delay = true;
	t->outcome.delay_s = SUBSTITUTE_DELAY;
	buf_append_str(&t->outcome.group, STR("not-accepted"));
	buf_append_str(&t->outcome.message, str_from(error));
	control_report(w, t);
}

static void take_report(struct worker *w, struct task *t, const struct client_reply *reply)
{
	if (!client_reply_is_error(reply)) {
		worker_forget(w, t);
	} else if (is_loss(reply)) {
		/* After a lost connection, the first report may have arrived. */
		if (!t->is_repeated)
			log_write(LOG_LEVEL_WARNING,
				  LOG_FIELDS(LOG_STR("jid", buf_str(&t->job.jid)),
					     LOG_TEXT("error", reply->ptr)),
				  "a job was lost before its end was reported");
		worker_forget(w, t);
	} else if (reply_is_passing(reply)) {
		send_again_later(w);
	} else {
		substitute(w, t, reply->ptr);
	}
}

static void take_heartbeat(struct worker *w, struct task *t, const struct client_reply *reply)
{
	if (t->state != TASK_REPORTING && t->state != TASK_DONE && client_reply_is_error(reply) &&
	    is_loss(reply))
		worker_lose(w, t, reply->ptr);
}

/* ---- lost hand-overs ---- */

void control_audit(struct worker *w)
{
	struct command c;

	w->is_auditing = true;
	w->audit_requests = 1;
	command_begin(&c, STR("WORKERS"));
	command_add(&c, buf_str(&w->name));
	send_request(w, REQUEST_LIST, NULL, &c);
}

/* A job that waits for the end of its former run does not count as known: it has an older lock. */
static bool is_known(const struct worker *w, struct qless_str jid)
{
	for (const struct task *t = w->tasks; t != NULL; t = t->next) {
		if (!t->is_lost && str_equal(buf_str(&t->job.jid), jid))
			return true;
	}
	return false;
}

static void ask_for(struct worker *w, struct qless_str jid)
{
	struct command c;

	command_begin(&c, STR("GET"));
	command_add(&c, jid);
	w->audit_requests++;
	send_request(w, REQUEST_GET, NULL, &c);
}

static void take_list(struct worker *w, const struct client_reply *reply)
{
	struct qless_str json, jobs, ignored, item;
	struct buf jid = BUF_INIT(BUF_NO_MAX);
	struct json_items items;

	if (client_reply_is_error(reply)) {
		w->is_unsure = reply_is_passing(reply);
		log_warning("cannot look for lost hand-overs: %s", reply->ptr);
	}
	if (json_read_check(client_reply_str(reply), &json) &&
	    json_read_find(json, "jobs", &jobs) && json_read_open(jobs, &items)) {
		while (json_read_next(&items, &ignored, &item)) {
			buf_clear(&jid);
			if (json_read_string(item, JSON_ESCAPES_BYTES, &jid) &&
			    !is_known(w, buf_str(&jid)))
				ask_for(w, buf_str(&jid));
		}
	}
	buf_done(&jid);
}

static void take_found(struct worker *w, const struct client_reply *reply)
{
	struct qless_str json;
	struct job job;

	if (!json_read_check(client_reply_str(reply), &json) || !job_init(&job, json))
		return;
	if (!str_equal(buf_str(&job.state), STR("running")) ||
	    !str_equal(buf_str(&job.worker), buf_str(&w->name)) ||
	    task_find(w->tasks, buf_str(&job.jid), job.lock) != NULL) {
		job_done(&job);
	} else if (worker_count_free(w) == 0) {
		w->is_unsure = true; /* later */
		job_done(&job);
	} else {
		log_write(LOG_LEVEL_NOTICE, LOG_FIELDS(LOG_STR("jid", buf_str(&job.jid))),
			  "found a job whose hand-over was lost");
		worker_take(w, &job);
	}
}

static void end_audit_request(struct worker *w)
{
	w->audit_requests--;
	if (w->audit_requests != 0)
		return;
	w->is_auditing = false;
	if (w->is_unsure)
		send_again_later(w);
	else
		waiting_update(w);
}

/* ---- replies ---- */

/* Attaching again keeps the jobs. Those that the server has given away are ended. */
static void take_attach(struct worker *w, const struct client_reply *reply)
{
	if (client_reply_is_error(reply)) {
		if (reply_is_passing(reply)) {
			worker_note_server(w, reply->ptr);
			send_again_later(w);
		} else {
			worker_fail(w, "the server does not attach the worker", reply->ptr);
		}
		return;
	}
	/* The server may not have noticed yet that an earlier worker of this name is dead, and hand
	 * out a job to its connection. */
	if (!w->was_attached)
		waiting_doubt(w);
	w->is_attached = true;
	w->was_attached = true;
	worker_note_server(w, NULL);
	evtimer_del(w->away_timer);
	for (struct task *t = w->tasks; t != NULL; t = t->next) {
		if (t->state == TASK_REPORTING)
			control_report(w, t);
		else if (!t->is_lost)
			send_heartbeat(w, t);
	}
	worker_tell_ready(w);
	control_sweep(w);
	waiting_update(w);
	worker_go_on_ending(w);
}

static void take_reply(struct worker *w, const struct request *request,
		       const struct client_reply *reply)
{
	struct task *t = request->task;

	switch (request->kind) {
	case REQUEST_BURY:
		take_bury(w, reply);
		break;
	case REQUEST_ATTACH:
		take_attach(w, reply);
		break;
	case REQUEST_HEARTBEAT:
	case REQUEST_START:
		take_heartbeat(w, t, reply);
		break;
	case REQUEST_REPORT:
		take_report(w, t, reply);
		break;
	case REQUEST_LIST:
		take_list(w, reply);
		end_audit_request(w);
		break;
	case REQUEST_GET:
		take_found(w, reply);
		end_audit_request(w);
		break;
	case REQUEST_LEAVE:
		pool_quit(w->pool);
		break;
	case REQUEST_BURY_OWN:
	case REQUEST_PROGRESS:
	case REQUEST_PING:
	case REQUEST_RELEASE:
		break;
	}
}

/* The events lock_lost and canceled are hints: the job may have been handed out again, even to this
 * worker. So the server is asked. */
static void take_push(struct worker *w, const struct client_reply *push)
{
	struct qless_str jid;

	if (push->count != 4 || !w->is_attached ||
	    !str_equal(client_reply_str(&push->elements[0]), STR("worker")))
		return;
	jid = client_reply_str(&push->elements[3]);
	for (struct task *t = w->tasks; t != NULL; t = t->next) {
		if (t->state != TASK_REPORTING && !t->is_lost &&
		    str_equal(buf_str(&t->job.jid), jid))
			send_heartbeat(w, t);
	}
}

static void on_replied(void *arg, const struct client_reply *reply)
{
	struct worker *w = arg;
	struct request request;

	w->replied_us = clock_mono_us();
	if (reply->type == CLIENT_REPLY_PUSH) {
		take_push(w, reply);
		return;
	}
	if (w->requests.len == 0)
		return; /* the server says something unasked */
	memcpy(&request, buf_data(&w->requests), sizeof request);
	buf_consume(&w->requests, sizeof request);
	take_reply(w, &request, reply);
	if (request.task != NULL)
		task_release(request.task);
}

void control_drop_requests(struct worker *w)
{
	scratch_spare(&w->dead);
	while (w->requests.len != 0) {
		struct request request;

		memcpy(&request, buf_data(&w->requests), sizeof request);
		buf_consume(&w->requests, sizeof request);
		w->is_unsure |= request.kind == REQUEST_LIST || request.kind == REQUEST_GET;
		if (request.task != NULL) {
			request.task->is_repeated |= request.kind == REQUEST_REPORT;
			task_release(request.task);
		}
	}
}

static void on_lost(void *arg, const char *error, bool is_refused)
{
	struct worker *w = arg;
	struct timeval away = { .tv_sec = (time_t)w->options->away_s };

	w->is_attached = false;
	w->is_auditing = false;
	control_drop_requests(w);
	if (is_refused && !w->was_attached) {
		worker_fail(w, "cannot connect", error);
		return;
	}
	worker_note_server(w, error);
	if (w->options->away_s > 0 && !evtimer_pending(w->away_timer, NULL))
		evtimer_add(w->away_timer, &away);
	if (w->is_leaving)
		pool_quit(w->pool);
	waiting_update(w);
	worker_go_on_ending(w);
}

const struct link_events control_events = {
	.ready = on_ready,
	.replied = on_replied,
	.lost = on_lost,
};

void control_ping(struct worker *w)
{
	struct command c;

	if (!link_is_ready(&w->control))
		return;
	if (w->requests.len != 0 &&
	    clock_mono_us() - w->replied_us > SILENCE_SECONDS * INT64_C(1000000)) {
		link_break(&w->control, "the server does not answer");
		return;
	}
	if (w->requests.len == 0)
		w->replied_us = clock_mono_us();
	command_begin(&c, STR("PING"));
	send_request(w, REQUEST_PING, NULL, &c);
}

/* The timer `again`: repeat what was refused with an error that passes. */
void control_again(struct worker *w)
{
	if (!link_is_ready(&w->control))
		return;
	if (!w->is_attached) {
		send_attach(w);
		return;
	}
	for (struct task *t = w->tasks; t != NULL; t = t->next) {
		if (t->state == TASK_REPORTING && t->requests == 0)
			control_report(w, t);
	}
	waiting_update(w);
}

void control_leave(struct worker *w)
{
	struct command c;

	command_begin(&c, STR("WORKER.RELEASE"));
	command_add(&c, buf_str(&w->name));
	send_request(w, REQUEST_RELEASE, NULL, &c);
	command_begin(&c, STR("WORKER.DETACH"));
	command_add(&c, buf_str(&w->name));
	send_request(w, REQUEST_LEAVE, NULL, &c);
}
