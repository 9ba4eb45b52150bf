/*
 * JOB.WHY: why a job does not run, or since when it runs.
 *
 * The reply is a map. `reason` is a word for programs, and `explanation` a sentence for people. The
 * other members depend on the reason. A user that may not read all queues does not see the jobs of
 * other queues.
 */
#include "command/classic_int.h"

#include <math.h>

#include "command/attach.h"
#include "command/limit_names.h"
#include "command/limit_reply.h"
#include "command/permit.h"

/* Dependencies that a reply shows. */
#define DEPENDENCIES_SHOWN 10

struct why {
	struct request *req;
	const struct qless_job *job;
	struct qless_job_info info;
	struct qless_why engine;
	struct qless_account account; /* of a running job; zeroed if it has none */
	bool is_watched;	      /* the server knows the listeners of queues */
	uint64_t listeners;	      /* of the queue of the job */
	/* The limit that holds the job, and opens last; ptr is NULL if none does. */
	struct qless_str limit;
	enum qless_held held;
	double opens;
	struct buf queue_limit; /* the name of the limit of the queue */
	struct qless_str explanation;
	size_t pairs; /* of the map, so far */
};

/* ---- members ---- */

static struct reply *begin_member(struct why *why, const char *name)
{
	why->pairs++;
	reply_bulk(why->req->reply, str_from(name));
	return why->req->reply;
}

static void add_text(struct why *why, const char *name, struct qless_str text)
{
	reply_bulk(begin_member(why, name), text);
}

static void add_integer(struct why *why, const char *name, uint64_t number)
{
	reply_integer(begin_member(why, name), (int64_t)number);
}

static void add_time(struct why *why, const char *name, double seconds)
{
	begin_member(why, name);
	limit_reply_time(why->req, seconds);
}

/* Words the explanation, with the formats of request_word(). */
#define EXPLAIN(why, ...) ((why)->explanation = request_word((why)->req, __VA_ARGS__))

/* Adds the reason, and the explanation that was worded last. */
static void add_reason(struct why *why, const char *reason)
{
	add_text(why, "reason", str_from(reason));
	add_text(why, "explanation", why->explanation);
}

/* Returns the seconds from now to a time, in milliseconds. */
static double seconds_until(const struct why *why, double time)
{
	double left = time - why->req->now;

	return left > 0 ? ceil(left * 1000) / 1000 : 0;
}

/* ---- running ---- */

/* Seconds that have passed since a time, in milliseconds. */
static double seconds_since(const struct why *why, double time)
{
	return fmax(floor((why->req->now - time) * 1000) / 1000, 0);
}

static void explain_started(struct why *why)
{
	const struct qless_account *account = &why->account;
	double left = seconds_until(why, why->info.expires);

	if (account->node.ptr != NULL)
		EXPLAIN(why,
			"Worker %S started the job %g seconds ago on node %S. Its lock expires in "
			"%g seconds unless the worker renews it",
			why->info.worker, seconds_since(why, account->started), account->node,
			left);
	else
		EXPLAIN(why,
			"Worker %S started the job %g seconds ago. Its lock expires in %g seconds "
			"unless the worker renews it",
			why->info.worker, seconds_since(why, account->started), left);
}

static void explain_reserved(struct why *why)
{
	double left = seconds_until(why, why->info.expires);

	if (why->engine.start_by < INFINITY)
		EXPLAIN(why,
			"Worker %S popped the job, and must start it within %g seconds. Otherwise "
			"it goes to the next worker",
			why->info.worker, seconds_until(why, why->engine.start_by));
	else
		EXPLAIN(why,
			"Worker %S popped the job, and has not reported a start. Its lock expires "
			"in %g seconds unless the worker renews it",
			why->info.worker, left);
}

/* The start of the job, or the time by which it must come. */
static void add_start(struct why *why)
{
	const struct qless_account *account = &why->account;

	if (!account->is_started) {
		if (why->engine.start_by == INFINITY)
			return;
		reply_short_double(begin_member(why, "start-timeout"), why->engine.start_timeout);
		add_time(why, "start-by", why->engine.start_by);
		return;
	}
	add_time(why, "started", account->started);
	if (account->pid != 0)
		add_integer(why, "pid", (uint64_t)account->pid);
	if (account->node.ptr != NULL)
		add_text(why, "node", account->node);
}

static void explain_running(struct why *why)
{
	const struct qless_job_info *info = &why->info;
	bool is_valid = info->expires > why->req->now;

	if (!qless_job_account(why->job, &why->account))
		why->account = (struct qless_account){ .is_started = false };
	if (is_valid && why->account.is_started)
		explain_started(why);
	else if (is_valid)
		explain_reserved(why);
	else
		EXPLAIN(why,
			"The lock of worker %S has expired. After the grace period, the job goes "
			"to the next worker that pops from queue %S",
			info->worker, info->queue);
	add_reason(why, is_valid ? "running" : "expired");
	add_text(why, "worker", info->worker);
	add_time(why, "since", info->time);
	add_time(why, "expires", info->expires);
	if (info->lock != 0)
		add_integer(why, "lock", info->lock);
	add_text(why, "run", why->account.is_started ? STR("started") : STR("reserved"));
	add_start(why);
}

/* ---- waiting ---- */

/* Finds the limit that holds the job. The number of jobs that may run in a queue is the concurrency
 * of the limit of the queue. */
static void find_limit(struct why *why)
{
	struct qless_limit_info info;

	why->limit = why->engine.limit;
	why->held = why->engine.held;
	why->opens = why->engine.opens;
	if (!why->engine.is_full)
		return;
	buf_append_str(&why->queue_limit, STR(LIMIT_QUEUE_PREFIX));
	buf_append_str(&why->queue_limit, why->info.queue);
	if (!qless_limit_get(why->req->engine, why->req->now, buf_str(&why->queue_limit), &info) ||
	    (why->limit.ptr != NULL && why->opens >= info.opens))
		return;
	why->limit = buf_str(&why->queue_limit);
	why->held = QLESS_HELD_CONCURRENCY;
	why->opens = info.opens;
}

static void explain_full(struct why *why)
{
	struct qless_limit_info limit = { .concurrency = 0 };

	qless_limit_get(why->req->engine, why->req->now, why->limit, &limit);
	EXPLAIN(why,
		"The concurrency of limit %S is %g, and all of it is in use. The first lock "
		"expires in %g seconds",
		why->limit, (double)limit.concurrency, seconds_until(why, why->opens));
}

static void explain_limit(struct why *why)
{
	double left = seconds_until(why, why->opens);

	switch (why->held) {
	case QLESS_HELD_CONCURRENCY:
		explain_full(why);
		break;
	case QLESS_HELD_RATE:
		EXPLAIN(why,
			"Limit %S has handed out as many jobs as its rate allows. It opens in %g "
			"seconds",
			why->limit, left);
		break;
	case QLESS_HELD_HOLD:
		EXPLAIN(why, "LIMIT.HOLD holds limit %S for another %g seconds", why->limit, left);
		break;
	case QLESS_HELD_CLOSED:
	case QLESS_HELD_NOT:
		EXPLAIN(why, "Limit %S is closed until its rule changes", why->limit);
		break;
	}
}

static const char *word_of(enum qless_held held)
{
	switch (held) {
	case QLESS_HELD_CONCURRENCY:
		return "concurrency";
	case QLESS_HELD_RATE:
		return "rate";
	case QLESS_HELD_HOLD:
		return "hold";
	case QLESS_HELD_CLOSED:
	case QLESS_HELD_NOT:
		break;
	}
	return "closed";
}

static void add_limit(struct why *why)
{
	add_text(why, "limit", why->limit);
	add_text(why, "held-by", str_from(word_of(why->held)));
	add_time(why, "opens", why->opens);
	if (why->held != QLESS_HELD_CONCURRENCY)
		return;
	begin_member(why, "holders");
	limit_reply_holders(why->req, why->limit);
}

static void explain_waiting(struct why *why)
{
	const struct qless_why *engine = &why->engine;
	const char *reason = "next";

	find_limit(why);
	if (engine->is_paused) {
		reason = "paused";
		EXPLAIN(why, "Queue %S is paused. UNPAUSE ends the pause", why->info.queue);
	} else if (why->limit.ptr != NULL) {
		reason = "limit";
		explain_limit(why);
	} else if (engine->place != 0) {
		reason = "in-line";
		EXPLAIN(why, "Waiting jobs that come before it in queue %S: %g", why->info.queue,
			(double)engine->place);
	} else if (why->is_watched && why->listeners == 0) {
		reason = "no-listener";
		EXPLAIN(why,
			"No worker waits for queue %S, and no attached worker takes jobs from it. "
			"Workers that poll may get the job",
			why->info.queue);
	} else {
		EXPLAIN(why, "The next worker that pops from queue %S gets the job",
			why->info.queue);
	}
	add_reason(why, reason);
	if (why->limit.ptr != NULL)
		add_limit(why);
	add_integer(why, "place", engine->place);
}

/* ---- later ---- */

static void explain_scheduled(struct why *why)
{
	double due = why->engine.due;

	if (due > why->req->now)
		EXPLAIN(why, "The job is due in %g seconds", seconds_until(why, due));
	else if (why->engine.is_paused)
		EXPLAIN(why, "The job is due, but queue %S is paused. UNPAUSE ends the pause",
			why->info.queue);
	else
		EXPLAIN(why,
			"The job is due. The next POP or listing of queue %S moves it to the "
			"waiting jobs",
			why->info.queue);
	add_reason(why, due > why->req->now ? "scheduled" : "due");
	add_time(why, "due", due);
}

/* ---- dependencies ---- */

static void write_dependency(struct why *why, struct qless_str jid)
{
	struct request *req = why->req;
	const struct user *viewer = permit_viewer(req);
	const struct qless_job *job = qless_get(req->engine, jid);
	bool is_shown = job != NULL && permit_shows_job(viewer, req->engine, job);
	struct qless_job_info info;

	reply_map(req->reply, is_shown ? 3 : 1);
	reply_bulk(req->reply, STR("jid"));
	reply_bulk(req->reply, jid);
	if (!is_shown)
		return;
	qless_job_read(job, &info);
	reply_bulk(req->reply, STR("state"));
	reply_bulk(req->reply, qless_state_text(info.state));
	reply_bulk(req->reply, STR("queue"));
	reply_bulk(req->reply, info.queue);
}

static void explain_dependencies(struct why *why)
{
	struct reply_deferred list;
	const void *cursor = NULL;
	struct qless_str jid;
	size_t count = 0;

	EXPLAIN(why, "The job waits until other jobs complete. Their number is %g",
		(double)why->engine.dependencies);
	add_reason(why, "dependencies");
	add_integer(why, "dependencies-left", why->engine.dependencies);
	reply_deferred_begin(begin_member(why, "dependencies"), &list, REPLY_ARRAY);
	for (; count < DEPENDENCIES_SHOWN && qless_job_next_dependency(why->job, &cursor, &jid);
	     count++)
		write_dependency(why, jid);
	reply_deferred_end(why->req->reply, &list, count);
	if (why->engine.due != 0)
		add_time(why, "due", why->engine.due);
}

/* ---- the end ---- */

static void explain_failed(struct why *why)
{
	const struct qless_failure *failure = &why->info.failure;
	struct qless_str queue;

	if (str_strip_prefix(failure->group, STR("failed-retries-"), &queue))
		EXPLAIN(why, "The job has used up its retries. UNFAIL, REQUEUE or PUT lets it run "
			     "again");
	else
		EXPLAIN(why,
			"The job has failed in group %S. UNFAIL, REQUEUE or PUT lets it run "
			"again",
			failure->group);
	add_reason(why, "failed");
	add_text(why, "group", failure->group);
	add_text(why, "message", failure->message);
	add_text(why, "worker", failure->worker);
	add_time(why, "failed-at", failure->when);
	reply_short_double(begin_member(why, "retries-left"), why->info.remaining);
}

static void explain_complete(struct why *why)
{
	EXPLAIN(why, "The job is complete");
	add_reason(why, "complete");
	add_time(why, "completed-at", why->info.time);
}

/* ---- the reply ---- */

static void explain(struct why *why)
{
	switch (why->engine.state) {
	case QLESS_RUNNING:
		explain_running(why);
		return;
	case QLESS_WAITING:
	case QLESS_STALLED:
		explain_waiting(why);
		return;
	case QLESS_SCHEDULED:
		explain_scheduled(why);
		return;
	case QLESS_DEPENDS:
		explain_dependencies(why);
		return;
	case QLESS_FAILED:
		explain_failed(why);
		return;
	case QLESS_COMPLETE:
		explain_complete(why);
		return;
	}
}

static void count_listeners(struct why *why)
{
	const struct command_env *env = why->req->env;

	why->is_watched = env->presence != NULL;
	if (why->is_watched)
		why->listeners = env->presence->count_listeners(env->arg, why->req->database->index,
								why->info.queue);
}

/* About the queue, which a complete job does not have. */
static void add_queue(struct why *why)
{
	if (why->engine.state == QLESS_COMPLETE)
		return;
	add_text(why, "queue", why->info.queue);
	reply_boolean(begin_member(why, "paused"), why->engine.is_paused);
	if (why->is_watched)
		add_integer(why, "listeners", why->listeners);
}

/* The unique key that the job claims, and the job that holds it if this one does not. */
static void add_unique(struct why *why)
{
	struct request *req = why->req;
	const struct user *viewer = permit_viewer(req);
	char room[TERM_ARGS_TEXT_BYTES];
	struct qless_terms terms;
	struct qless_str holder;

	if (!qless_job_terms(why->job, &terms) || !terms.has_unique)
		return;
	add_text(why, "unique", term_unique_text(terms.unique.key, room));
	if (qless_unique_holder(req->engine, terms.unique.key, req->now, &holder) &&
	    (viewer == NULL || permit_jid(viewer, req->engine, holder, ACL_READ)))
		add_text(why, "unique-holder", holder);
}

int native_job_why(struct request *req)
{
	struct why why = { .req = req,
			   .job = qless_get(req->engine, req->args[0]),
			   .queue_limit = BUF_INIT(BUF_NO_MAX) };
	struct reply_deferred map;

	if (why.job == NULL || !qless_why(req->engine, req->now, req->args[0], &why.engine))
		return answer_null(req);
	qless_job_read(why.job, &why.info);
	count_listeners(&why);
	reply_deferred_begin(req->reply, &map, REPLY_MAP);
	add_text(&why, "jid", why.info.jid);
	add_text(&why, "state", qless_state_text(why.engine.state));
	explain(&why);
	add_queue(&why);
	add_unique(&why);
	reply_deferred_end(req->reply, &map, why.pairs);
	buf_done(&why.queue_limit);
	return 0;
}
