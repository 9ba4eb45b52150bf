#include "run/worker_int.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/entropy.h"
#include "sys/log.h"

/* Seconds for which a worker waits until the processes of an earlier one with its name are gone. */
#define ENTER_SECONDS 10
/* Milliseconds between two attempts. */
#define ENTER_PAUSE_MS 20
/* Seconds after the start when a worker looks again for others that have died. */
#define SWEEP_SECONDS 1
/* Seconds for the last words to the server. */
#define LEAVE_SECONDS 5

/* ---- the life of a job ---- */

static void log_start(const struct task *t)
{
	log_write(LOG_LEVEL_VERBOSE,
		  LOG_FIELDS(LOG_STR("jid", buf_str(&t->job.jid)),
			     LOG_STR("class", buf_str(&t->job.klass)), LOG_INT("pid", t->pid)),
		  "job started");
}

static const char *name_outcome(enum outcome_kind kind)
{
	switch (kind) {
	case OUTCOME_COMPLETE:
		return "job complete";
	case OUTCOME_RETRY:
		return "job to be tried again";
	case OUTCOME_FAIL:
		return "job failed";
	case OUTCOME_NONE:
		break;
	}
	return "job ended, and is not reported";
}

static void log_end(const struct task *t)
{
	log_write(LOG_LEVEL_VERBOSE,
		  LOG_FIELDS(LOG_STR("jid", buf_str(&t->job.jid)),
			     LOG_STR("class", buf_str(&t->job.klass)),
			     LOG_STR("group", buf_str(&t->outcome.group)),
			     LOG_INT("ms", (clock_mono_us() - t->began_us) / 1000),
			     LOG_INT("processor_us", t->processor_us)),
		  "%s", name_outcome(t->outcome.kind));
}

static bool is_running(const struct task *t)
{
	return t->state == TASK_RUNNING;
}

/* An earlier run of the same job, whose processes are not gone yet. */
static struct task *find_earlier(struct worker *w, const struct task *t)
{
	for (struct task *other = w->tasks; other != NULL; other = other->next) {
		if (other != t && is_running(other) &&
		    str_equal(buf_str(&other->job.jid), buf_str(&t->job.jid)))
			return other;
	}
	return NULL;
}

unsigned worker_count_free(const struct worker *w)
{
	unsigned count = pool_count_free(w->pool), held = 0;

	for (const struct task *t = w->tasks; t != NULL; t = t->next)
		held += t->state == TASK_HELD;
	return count > held ? count - held : 0;
}

/* A job that comes back to this worker waits until its earlier run has ended. */
static void begin(struct worker *w, struct task *t)
{
	struct task *earlier = find_earlier(w, t);

	if (earlier != NULL) {
		t->state = TASK_HELD;
		earlier->is_lost = true;
		pool_kill(w->pool, earlier->slot);
		return;
	}
	t->state = TASK_RUNNING;
	t->slot = pool_run(w->pool, t->job.json);
}

static void begin_held(struct worker *w)
{
	struct task *next;

	for (struct task *t = w->tasks; t != NULL; t = next) {
		next = t->next;
		if (t->state != TASK_HELD)
			continue;
		if (t->is_lost)
			task_finish(t);
		else if (pool_count_free(w->pool) != 0)
			begin(w, t);
	}
}

/* A job that arrives when the worker does not wait for running jobs goes back to its queue with the
 * others, when the worker leaves. A job for which there is no slot is found again later. */
void worker_take(struct worker *w, struct job *job)
{
	if (w->is_ending || worker_count_free(w) == 0) {
		w->is_unsure = true;
		job_done(job);
	} else {
		begin(w, task_new(&w->tasks, job));
	}
}

void worker_lose(struct worker *w, struct task *t, const char *reason)
{
	if (t->is_lost)
		return;
	log_write(LOG_LEVEL_WARNING,
		  LOG_FIELDS(LOG_STR("jid", buf_str(&t->job.jid)), LOG_TEXT("error", reason)),
		  "a job is lost, and its program is ended");
	t->is_lost = true;
	if (is_running(t))
		pool_end(w->pool, t->slot);
}

void worker_forget(struct worker *w, struct task *t)
{
	task_finish(t);
	worker_go_on_ending(w);
}

/* ---- what happens in the slots ---- */

static void on_started(void *arg, unsigned slot, pid_t pid)
{
	struct worker *w = arg;
	struct task *t = task_find_slot(w->tasks, slot);

	assert(t != NULL);
	t->pid = pid;
	log_start(t);
	control_start(w, t);
	if (w->is_ending || t->is_lost)
		pool_end(w->pool, slot);
}

static void on_progress(void *arg, unsigned slot, struct qless_str line)
{
	struct worker *w = arg;
	struct task *t = task_find_slot(w->tasks, slot);

	assert(t != NULL);
	control_progress(w, t, line);
}

/* The slot is free, and the outcome of its job is decided. */
static void end_run(struct worker *w, struct task *t)
{
	if (t->is_lost)
		t->outcome.kind = OUTCOME_NONE;
	log_end(t);
	if (t->outcome.kind == OUTCOME_NONE) {
		task_finish(t);
	} else {
		t->state = TASK_REPORTING;
		control_report(w, t);
	}
	begin_held(w);
	waiting_update(w);
	worker_go_on_ending(w);
}

static void on_ended(void *arg, unsigned slot, struct qless_str body)
{
	struct worker *w = arg;
	struct task *t = task_find_slot(w->tasks, slot);
	struct outcome_run run;
	bool is_whole = message_read_ended(body, &run.ended, &run.result, &run.errors);

	assert(t != NULL && is_whole);
	if (run.ended.scratch_error != 0)
		log_write(LOG_LEVEL_WARNING,
			  LOG_FIELDS(LOG_STR("jid", buf_str(&t->job.jid)),
				     LOG_TEXT("error", strerror(run.ended.scratch_error))),
			  "a part of a scratch directory cannot be removed");
	t->processor_us = run.ended.processor_us;
	outcome_decide(&t->outcome, &w->rules, &t->job, &run);
	if (t->is_away && t->outcome.kind == OUTCOME_NONE)
		outcome_decide_away(&t->outcome);
	end_run(w, t);
}

static void on_died(void *arg, unsigned slot, int status)
{
	struct worker *w = arg;
	struct task *t = task_find_slot(w->tasks, slot);

	(void)status;
	assert(t != NULL);
	outcome_decide_died(&t->outcome, &w->rules, &t->job);
	if (w->is_ending)
		t->is_lost = true;
	end_run(w, t);
}

static const struct pool_events pool_events = {
	.started = on_started,
	.progress = on_progress,
	.ended = on_ended,
	.died = on_died,
};

/* ---- ending ---- */

bool worker_takes(const struct worker *w)
{
	return !w->is_quiet && !w->is_stopping;
}

static bool has_tasks(const struct worker *w)
{
	/* A report needs the server. Without one, only an orderly end waits for it. */
	for (const struct task *t = w->tasks; t != NULL; t = t->next) {
		if (t->state != TASK_REPORTING || !w->is_ending || w->is_attached)
			return true;
	}
	return false;
}

/* When no job is left, and none can arrive: tell the server, and then end the slots. */
void worker_go_on_ending(struct worker *w)
{
	struct timeval limit = { .tv_sec = LEAVE_SECONDS };

	if (!w->is_stopping || w->is_leaving || has_tasks(w) || link_is_open(&w->waiting))
		return;
	w->is_leaving = true;
	if (w->is_attached) {
		control_leave(w);
		evtimer_add(w->leave_timer, &limit);
	} else {
		pool_quit(w->pool);
	}
}

static void stop(struct worker *w)
{
	struct timeval limit = { .tv_sec = (time_t)w->options->stop_timeout_s };

	if (w->is_stopping)
		return;
	log_notice("the worker takes no more jobs, and stops when its jobs have ended");
	notify_stopping(&w->notify, "waits for the end of its jobs");
	w->is_stopping = true;
	if (w->options->stop_timeout_s > 0)
		evtimer_add(w->stop_timer, &limit);
	waiting_update(w);
	worker_go_on_ending(w);
}

/* The server gets the jobs back when all programs have ended. */
static void end_now(struct worker *w)
{
	struct task *next;

	stop(w);
	if (w->is_ending)
		return;
	w->is_ending = true;
	log_notice("the worker ends its programs, and returns their jobs");
	for (struct task *t = w->tasks; t != NULL; t = next) {
		next = t->next;
		if (is_running(t)) {
			t->is_lost = true;
			pool_end(w->pool, t->slot);
		} else if (t->state == TASK_HELD) {
			task_finish(t);
		}
	}
	worker_go_on_ending(w);
}

void worker_fail(struct worker *w, const char *what, const char *error)
{
	log_fatal("%s: %s", what, error);
	w->result = WORKER_FAILED;
	end_now(w);
}

static void on_leave_timer(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;

	(void)fd;
	(void)what;
	pool_quit(w->pool);
}

static void on_stop_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	end_now(arg);
}

/* The server has been away for too long: it may have given the jobs to others. If it has not, it
 * learns of their end when it is back. */
static void on_away_timer(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;

	(void)fd;
	(void)what;
	for (struct task *t = w->tasks; t != NULL; t = t->next) {
		if (is_running(t) && !t->is_lost) {
			t->is_away = true;
			pool_end(w->pool, t->slot);
		}
	}
}

/* ---- signals and timers ---- */

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	struct worker *w = arg;

	(void)what;
	switch (number) {
	case SIGCHLD:
		pool_bury(w->pool);
		if (w->is_leaving && pool_is_over(w->pool))
			event_base_loopbreak(w->base);
		break;
	case SIGTERM:
		if (w->is_stopping)
			end_now(w);
		else
			stop(w);
		break;
	case SIGINT:
	case SIGHUP:
		end_now(w);
		break;
	case SIGUSR1:
	case SIGTSTP:
		log_notice("the worker takes no more jobs, until SIGCONT");
		w->is_quiet = true;
		waiting_update(w);
		break;
	case SIGCONT:
		if (w->is_quiet)
			log_notice("the worker takes jobs again");
		w->is_quiet = false;
		waiting_update(w);
		break;
	default:
		break;
	}
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;

	(void)fd;
	(void)what;
	control_ping(w);
	control_sweep(w);
	waiting_check(w);
}

/* A worker that was killed shortly before this one started has ended by now. */
static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	control_sweep(arg);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	control_again(arg);
}

void worker_note_server(struct worker *w, const char *error)
{
	if (error != NULL && !w->is_out)
		log_warning("the server cannot be reached, and is tried again: %s", error);
	else if (error == NULL && w->is_out)
		log_notice("the server is reached again");
	w->is_out = error != NULL;
}

void worker_tell_ready(struct worker *w)
{
	notify_ready(&w->notify, "waits for jobs");
}

/* ---- beginning ---- */

/* After a kill, the slots of the earlier worker need a moment to end what runs. */
static int enter_scratch(struct worker *w)
{
	struct timespec pause = { .tv_nsec = ENTER_PAUSE_MS * 1000000L };
	int64_t until_us = clock_mono_us() + ENTER_SECONDS * INT64_C(1000000);
	int rc;

	for (;;) {
		rc = scratch_enter(&w->scratch, buf_str(&w->server), buf_str(&w->name));
		if (rc != -EWOULDBLOCK || clock_mono_us() > until_us)
			return rc;
		nanosleep(&pause, NULL);
	}
}

static bool open_scratch(struct worker *w)
{
	struct buf base = BUF_INIT(BUF_NO_MAX), error = BUF_INIT(BUF_NO_MAX);
	int rc;

	if (w->options->scratch != NULL)
		buf_append_str(&base, str_from(w->options->scratch));
	else
		scratch_default_base(&base);
	rc = scratch_open(&w->scratch, buf_cstr(&base), &error);
	if (rc < 0) {
		log_fatal("%s", buf_cstr(&error));
	} else {
		rc = enter_scratch(w);
		if (rc == -EWOULDBLOCK)
			log_fatal("another qless-run has the name %s: choose another --name",
				  buf_cstr(&w->name));
		else if (rc < 0)
			log_fatal("cannot make a directory in %s: %s", buf_cstr(&base),
				  strerror(-rc));
	}
	buf_done(&base);
	buf_done(&error);
	return rc == 0;
}

static void set_names(struct worker *w)
{
	char random[5];

	if (gethostname(w->node, sizeof w->node) < 0)
		w->node[0] = '\0';
	w->node[sizeof w->node - 1] = '\0';
	entropy_hex(random, 2);
	if (w->options->name != NULL)
		buf_append_str(&w->name, str_from(w->options->name));
	else
		buf_printf(&w->name, "%s-%d-%s", w->node, (int)getpid(), random);
	client_settings_print_address(&w->settings, &w->server);
	buf_printf(&w->server, " %u", w->settings.db);
}

static void make_settings(struct worker *w, const char *path)
{
	const struct run_options *o = w->options;

	client_settings_copy(&w->settings, &o->server.settings);
	w->settings.proto = 3;
	w->settings.timeout_s = 0; /* BPOP waits, and PING finds a silent server */
	client_settings_set_text(&w->settings.name, "qless-run");
	set_names(w);
	w->slot_settings = (struct slot_settings){
		.path = path,
		.argv = o->program,
		.environment = environ,
		.scratch = &w->scratch,
		.worker = buf_str(&w->name),
		.is_by_lines = o->lines,
		.copies_errors = o->copy_errors,
		.kill_after_us = clock_from_seconds(o->kill_after_s),
		.timeout_us = clock_from_seconds(o->timeout_s),
		.result_max = o->result_max,
		.errors_max = MESSAGE_MAX,
	};
	w->rules = (struct outcome_rules){
		.is_by_lines = o->lines,
		.backoff_base_s = o->backoff_base_s,
		.backoff_max_s = o->backoff_max_s,
		.result_max = o->result_max,
		.message_max = MESSAGE_MAX,
	};
}

static struct event *make_timer(struct worker *w, event_callback_fn fn)
{
	struct event *timer = evtimer_new(w->base, fn, w);

	if (timer == NULL)
		abort();
	return timer;
}

static void open_loop(struct worker *w)
{
	static const int numbers[] = {
		SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGTSTP, SIGCONT
	};
	struct timeval tick = { .tv_sec = PING_SECONDS }, sweep = { .tv_sec = SWEEP_SECONDS };

	static_assert(sizeof numbers / sizeof numbers[0] ==
			      sizeof w->signals / sizeof w->signals[0],
		      "each signal has an event");
	w->base = event_base_new();
	if (w->base == NULL)
		abort();
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		/* nohup(1) asks to be spared. */
		if (numbers[i] == SIGHUP && signal(SIGHUP, SIG_IGN) == SIG_IGN)
			continue;
		w->signals[i] = evsignal_new(w->base, numbers[i], on_signal, w);
		if (w->signals[i] == NULL || event_add(w->signals[i], NULL) < 0)
			abort();
	}
	w->tick = event_new(w->base, -1, EV_PERSIST, on_tick, w);
	if (w->tick == NULL)
		abort();
	event_add(w->tick, &tick);
	w->again = make_timer(w, on_again);
	w->sweep = make_timer(w, on_sweep);
	evtimer_add(w->sweep, &sweep);
	w->stop_timer = make_timer(w, on_stop_timer);
	w->away_timer = make_timer(w, on_away_timer);
	w->leave_timer = make_timer(w, on_leave_timer);
	link_init(&w->control, w->base, &w->settings, &control_events, w);
	link_init(&w->waiting, w->base, &w->settings, &waiting_events, w);
}

static void close_loop(struct worker *w)
{
	struct event *timers[] = { w->tick,	  w->again,	 w->sweep,
				   w->stop_timer, w->away_timer, w->leave_timer };

	link_done(&w->control);
	link_done(&w->waiting);
	for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++)
		event_free(timers[i]);
	for (size_t i = 0; i < sizeof w->signals / sizeof w->signals[0]; i++) {
		if (w->signals[i] != NULL)
			event_free(w->signals[i]);
	}
	control_drop_requests(w);
	while (w->tasks != NULL)
		task_finish(w->tasks);
	pool_free(w->pool);
	event_base_free(w->base);
}

enum worker_result worker_run(const struct run_options *options, const char *path)
{
	struct worker w = { .options = options, .audit_at_us = INT64_MAX };

	buf_init(&w.name, BUF_NO_MAX);
	buf_init(&w.server, BUF_NO_MAX);
	buf_init(&w.requests, BUF_NO_MAX);
	notify_init(&w.notify, getenv("NOTIFY_SOCKET"));
	make_settings(&w, path);
	signal(SIGPIPE, SIG_IGN);
	w.result = WORKER_FAILED;
	if (open_scratch(&w)) {
		w.result = WORKER_DONE;
		w.pool = pool_new(&w.slot_settings, (unsigned)options->concurrency, &pool_events,
				  &w);
		open_loop(&w);
		pool_attach(w.pool, w.base);
		log_notice("worker %s starts", buf_cstr(&w.name));
		link_open(&w.control);
		event_base_dispatch(w.base);
		close_loop(&w);
		log_notice("worker %s has stopped", buf_cstr(&w.name));
		scratch_leave(&w.scratch);
	}
	scratch_close(&w.scratch);
	notify_done(&w.notify);
	client_settings_done(&w.settings);
	buf_done(&w.requests);
	buf_done(&w.server);
	buf_done(&w.name);
	return w.result;
}
