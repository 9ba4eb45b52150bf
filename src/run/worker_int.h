/*
 * The parts of a worker, for the files that make it up:
 *
 *	worker.c   its life: signals, and what happens in the slots
 *	control.c  the connection for everything but waiting
 *	waiting.c  the connection that waits for jobs
 */
#ifndef RUN_WORKER_INT_H
#define RUN_WORKER_INT_H

#include <event2/event.h>

#include "run/link.h"
#include "run/pool.h"
#include "run/run_options.h"
#include "run/task.h"
#include "run/worker.h"
#include "sys/notify.h"

/* Seconds for which BPOP waits. A longer wait saves requests, and a shorter one notices sooner that
 * the server's machine is gone. */
#define WAIT_SECONDS 30
/* Seconds between two PINGs. */
#define PING_SECONDS 10
/* Seconds without a reply after which a connection counts as lost. */
#define SILENCE_SECONDS 10
/* Bytes of a message about a job that failed. */
#define MESSAGE_MAX ((size_t)8 * 1024)

struct worker {
	const struct run_options *options;
	struct event_base *base;
	struct scratch scratch;
	struct slot_settings slot_settings;
	struct outcome_rules rules;
	struct pool *pool;
	struct buf name, server; /* of the worker; the address of the server and the database */
	char node[256];
	struct notify notify;
	struct task *tasks;

	struct client_settings settings;
	struct link control, waiting;
	struct buf
		requests;   /* struct request: those that the control connection has not answered */
	int64_t replied_us; /* when the control connection was heard last */
	/* Workers of this machine that have died, until the server has released their jobs. */
	struct scratch_dead *dead;

	bool is_attached;
	bool was_attached;  /* once */
	bool is_quiet;	    /* takes no jobs until SIGCONT */
	bool is_stopping;   /* takes no jobs, and ends */
	bool is_ending;	    /* does not wait for running jobs */
	bool is_leaving;    /* all jobs have ended */
	bool is_waiting;    /* a BPOP is under way */
	int64_t waiting_us; /* since when */
	/* A BPOP got no reply, and its jobs may be locked for this worker. */
	bool is_unsure;
	bool is_auditing;
	unsigned audit_requests;
	/* When to look once more, and for the last time: a server that has not noticed the end of a
	 * connection hands out jobs to it. INT64_MAX for never. */
	int64_t audit_at_us, last_audit_us;
	bool is_out; /* the log says that the server cannot be reached */

	struct event *signals[7];
	struct event *tick, *again, *sweep, *stop_timer, *away_timer, *leave_timer;
	enum worker_result result;
};

/* ---- worker.c ---- */

/* Run a job that was handed out. Takes the job. */
void worker_take(struct worker *w, struct job *job);
/* Slots that no job has or is going to get. */
unsigned worker_count_free(const struct worker *w);
/* The server has taken the job away: end it. */
void worker_lose(struct worker *w, struct task *t, const char *reason);
/* The server knows the end of the job. */
void worker_forget(struct worker *w, struct task *t);
/* Whether the worker takes jobs at present. */
bool worker_takes(const struct worker *w);
/* The worker is attached: say so to the service manager. */
void worker_tell_ready(struct worker *w);
/* End with a failure that does not pass. */
void worker_fail(struct worker *w, const char *what, const char *error);
/* Go on ending, if that is asked for and nothing is left to wait for. */
void worker_go_on_ending(struct worker *w);
/* Log once that the server cannot be reached, or that it can again. */
void worker_note_server(struct worker *w, const char *error);

/* ---- control.c ---- */

extern const struct link_events control_events;

void control_start(struct worker *w, struct task *t);
void control_progress(struct worker *w, struct task *t, struct qless_str line);
/* Report the end of a task, now or when the worker is attached again. */
void control_report(struct worker *w, struct task *t);
/* Look for jobs that the server has handed out in a reply that never arrived. */
void control_audit(struct worker *w);
/* Return what the server still has for this worker, and detach. */
void control_leave(struct worker *w);
void control_ping(struct worker *w);
/* Look for workers of this machine that have died, and release their jobs. */
void control_sweep(struct worker *w);
/* Repeat the requests that the server refused with an error that passes. */
void control_again(struct worker *w);
/* The requests that are under way get no replies. */
void control_drop_requests(struct worker *w);

/* ---- waiting.c ---- */

extern const struct link_events waiting_events;

/* Wait for jobs if there are free slots, or stop waiting. */
void waiting_update(struct worker *w);
/* Jobs may have been handed out in a reply that never arrives. */
void waiting_doubt(struct worker *w);
/* Break the connection if the server is silent. */
void waiting_check(struct worker *w);

/* ---- both ---- */

/* Whether the error says that the server cannot do this now, and has changed nothing. */
bool reply_is_passing(const struct client_reply *reply);

#endif
