#include "server/http_history.h"

#include <math.h>
#include <stdlib.h>

#include "command/acl.h"
#include "command/classic.h"
#include "command/classic_viewer.h"
#include "command/databases.h"
#include "command/objects.h"
#include "command/table.h"
#include "engine/view.h"
#include "server/conn.h"
#include "server/environment.h"
#include "server/recording.h"
#include "server/server_int.h"
#include "util/mem.h"
#include "util/num.h"

/* Number of jobs that get their entries in one turn, which takes about a millisecond. */
#define PORTION_JOBS 500

/* Jobs that UNFAIL moves by default. */
#define UNFAIL_COUNT 25

/* The jobs of a command that get an entry. */
enum noted {
	NOTED_FIRST,	   /* the first one that the command names */
	NOTED_ALL,	   /* all that the command names */
	NOTED_COMPLETIONS, /* those of MULTICOMPLETE that have ended */
	NOTED_FAILED,	   /* those of the group of UNFAIL that have moved */
	NOTED_PUTS,	   /* those that were put, if the worker of the put has another name */
	NOTED_HELD,	   /* those that the worker has when the command begins */
};

/* Words for what a command did to its jobs. A command that deletes jobs leaves no history. The
 * history names the worker that puts a job, which is the user by default. */
static const struct verb {
	const char *command;
	const char *word; /* an argument, if the command has several meanings */
	const char *text;
	int word_at; /* which argument, from 1 on */
	enum noted noted;
} verbs[] = {
	{ "complete", NULL, "completed", 0, NOTED_FIRST },
	{ "depends", NULL, "dependencies changed", 0, NOTED_FIRST },
	{ "fail", NULL, "failed", 0, NOTED_FIRST },
	{ "job.abort", NULL, "aborted", 0, NOTED_FIRST },
	{ "job.meta", "set", "fields changed", 2, NOTED_FIRST },
	{ "job.meta", "del", "fields changed", 2, NOTED_FIRST },
	{ "multicomplete", NULL, "completed", 0, NOTED_COMPLETIONS },
	{ "multiput", NULL, "put", 0, NOTED_PUTS },
	{ "priority", NULL, "priority changed", 0, NOTED_FIRST },
	{ "put", NULL, "put", 0, NOTED_PUTS },
	{ "requeue", NULL, "requeued", 0, NOTED_FIRST },
	{ "retry", NULL, "retried", 0, NOTED_FIRST },
	{ "tag", "add", "tagged", 1, NOTED_FIRST },
	{ "tag", "remove", "untagged", 1, NOTED_FIRST },
	{ "timeout", NULL, "timed out", 0, NOTED_ALL },
	{ "track", "track", "tracked", 1, NOTED_FIRST },
	{ "track", "untrack", "untracked", 1, NOTED_FIRST },
	{ "unfail", NULL, "retried", 0, NOTED_FAILED },
	{ "worker.release", NULL, "worker released", 0, NOTED_HELD },
};

/* A job that may get an entry. */
struct job {
	size_t jid_bytes;
	enum qless_state state; /* before the command */
	bool is_left_out;	/* the command did nothing to it */
};

/* The jobs of the last command. While it runs, they are those that it may change. */
struct http_history {
	const struct verb *verb; /* of the command that runs; NULL: none runs that leaves entries */
	bool must_check;	 /* the command may leave out some of its jobs */
	unsigned db;
	struct buf text; /* of the entries */
	struct buf jids; /* one after the other */
	struct job *jobs;
	size_t count, cap;
	size_t next, next_at; /* the first job without its entry, and its jid */
};

struct http_history *http_history_new(void)
{
	struct http_history *h = mem_zalloc(sizeof *h);

	buf_init(&h->text, BUF_NO_MAX);
	buf_init(&h->jids, BUF_NO_MAX);
	return h;
}

/* Forgets the jobs, and frees the memory that many of them needed. */
static void forget(struct http_history *h)
{
	buf_done(&h->text);
	buf_done(&h->jids);
	free(h->jobs);
	h->jobs = NULL;
	h->count = h->cap = h->next = h->next_at = 0;
	h->verb = NULL;
}

void http_history_free(struct http_history *h)
{
	if (h == NULL)
		return;
	forget(h);
	free(h);
}

bool http_history_is_kept(const struct conn *c)
{
	return c->http->has_session;
}

/* ---- the jobs of a command ---- */

static void add_jid(struct http_history *h, struct qless_str jid, enum qless_state state)
{
	if (h->count == h->cap)
		h->jobs = mem_grow(h->jobs, &h->cap, h->count + 1, sizeof *h->jobs);
	h->jobs[h->count++] = (struct job){ .jid_bytes = jid.len, .state = state };
	buf_append_str(&h->jids, jid);
}

static void add_job(struct http_history *h, const struct qless_job *job)
{
	struct qless_job_info info;

	if (job == NULL)
		return;
	qless_job_read(job, &info);
	add_jid(h, info.jid, info.state);
}

struct walk {
	struct http_history *history;
	const struct qless *engine;
	size_t max; /* number of jobs that a command may change */
};

static bool add_object(void *arg, const struct object *object)
{
	const struct walk *walk = arg;

	if (object->kind != OBJECT_JOB)
		return true;
	add_job(walk->history, qless_get(walk->engine, object->name));
	return walk->history->verb->noted == NOTED_ALL;
}

static void add_named(const struct walk *walk, const struct command *row,
		      const struct qless_str *argv, int argc)
{
	struct object_request request = {
		.row = row, .form = REQUEST_NATIVE, .args = argv + 1, .nargs = (size_t)argc - 1
	};

	objects_each(&request, add_object, (void *)(uintptr_t)walk);
}

static void add_completions(const struct walk *walk, const struct qless_str *argv, int argc)
{
	for (int i = 3; i < argc; i += 2)
		add_job(walk->history, qless_get(walk->engine, argv[i]));
}

/* UNFAIL moves the jobs that failed first. A user with limits moves those of them that it may
 * use. */
static void add_failed(const struct walk *walk, bool is_limited, const struct qless_str *argv,
		       int argc)
{
	const struct skiplist *jobs = argc > 2 ? view_group(walk->engine, argv[2]) : NULL;
	const struct skipnode *node = jobs != NULL ? skiplist_first(jobs) : NULL;
	double count = UNFAIL_COUNT;
	size_t left;

	if (argc > 3 && !num_parse_lua(argv[3], &count))
		return;
	left = count < (double)walk->max ? (size_t)fmax(count, 0) : walk->max;
	if (is_limited)
		left = VIEWER_UNFAIL_MAX;
	for (; left > 0 && node != NULL; left--, node = skiplist_next(node))
		add_jid(walk->history, jobs->member(node), QLESS_FAILED);
}

/* The jobs with locks that end first. Beyond `max`, jobs get no entry. */
static void add_held(const struct walk *walk, struct qless_str worker)
{
	const struct skiplist *jobs = view_worker_jobs(walk->engine, worker);
	const struct skipnode *node = jobs != NULL ? skiplist_first(jobs) : NULL;

	for (size_t left = walk->max; left > 0 && node != NULL; left--, node = skiplist_next(node))
		add_jid(walk->history, jobs->member(node), QLESS_RUNNING);
}

static const struct verb *find_verb(const struct qless_str *argv, int argc)
{
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		if (str_equal_nocase(argv[0], str_from(verbs[i].command)) &&
		    (verbs[i].word == NULL ||
		     (argc > verbs[i].word_at &&
		      str_equal_nocase(argv[verbs[i].word_at], str_from(verbs[i].word)))))
			return &verbs[i];
	}
	return NULL;
}

bool http_history_begin(struct conn *c, const struct qless_str *argv, int argc)
{
	const struct session *session = &c->client.session;
	struct server *s = c->client.server;
	struct http_history *h = s->http->history;
	struct walk walk = { .history = h, .max = s->config->max_jobs_per_call };

	recording_begin_group(s);
	/* While nothing may change, entries of an earlier command are still to be written. */
	if (h->count != 0 || session->user == NULL || s->loading)
		return false;
	h->verb = find_verb(argv, argc);
	if (h->verb == NULL)
		return false;
	walk.engine = databases_get(s->env.databases, session->db)->engine;
	h->must_check = h->verb->noted == NOTED_COMPLETIONS ||
			(h->verb->noted == NOTED_FAILED && acl_limits_keys(session->user));
	h->db = session->db;
	buf_printf(&h->text, "%s by ", h->verb->text);
	buf_append_str(&h->text, acl_user_name(session->user));
	buf_append_str(&h->text, STR(" in the console"));
	switch (h->verb->noted) {
	case NOTED_FIRST:
	case NOTED_ALL:
		add_named(&walk, command_table_find(s->table, argv[0]), argv, argc);
		break;
	case NOTED_COMPLETIONS:
		add_completions(&walk, argv, argc);
		break;
	case NOTED_FAILED:
		add_failed(&walk, h->must_check, argv, argc);
		break;
	case NOTED_PUTS:
		if (argc > 1 && str_equal(argv[1], acl_user_name(session->user)))
			forget(h);
		break;
	case NOTED_HELD:
		if (argc > 1)
			add_held(&walk, argv[1]);
		break;
	}
	return h->verb != NULL;
}

static void note_put(struct http_history *h, const struct qless *engine, size_t index,
		     struct qless_str jid)
{
	struct qless_str holder;

	if (qless_read_put_end(engine, index, &holder) == QLESS_PUT_DONE)
		add_jid(h, jid, QLESS_WAITING);
}

void http_history_note_change(struct server *s, const struct operation *op)
{
	struct http_history *h = s->http->history;
	const struct qless *engine;

	if (h->verb == NULL || h->verb->noted != NOTED_PUTS || op->db != h->db)
		return;
	engine = databases_get(s->env.databases, op->db)->engine;
	if (op->kind == OPERATION_PUT) {
		note_put(h, engine, 0, op->put.jid);
	} else if (op->kind == OPERATION_PUT_MANY) {
		for (size_t i = 0; i < op->put_many.jobs.count; i += CLASSIC_MULTIPUT_JOB_ARGS)
			note_put(h, engine, i / CLASSIC_MULTIPUT_JOB_ARGS,
				 op->put_many.jobs.items[i]);
	}
}

static enum qless_state state_of(const struct qless_job *job)
{
	struct qless_job_info info;

	qless_job_read(job, &info);
	return info.state;
}

/* A command about several jobs does not say which of them it changed, but their states do. */
static void leave_out_unchanged(const struct server *s, struct http_history *h)
{
	const struct qless *engine = databases_get(s->env.databases, h->db)->engine;
	const char *at = buf_data(&h->jids);

	for (size_t i = 0; i < h->count; i++) {
		const struct qless_job *job = qless_get(engine, str_make(at, h->jobs[i].jid_bytes));

		at += h->jobs[i].jid_bytes;
		h->jobs[i].is_left_out = job == NULL || state_of(job) == h->jobs[i].state;
	}
}

/* ---- entries ---- */

/* Nothing is noted for a job that is gone, or whose history is full. */
static void note_next(struct server *s, struct http_history *h)
{
	const struct job *job = &h->jobs[h->next++];
	struct operation op = { .kind = OPERATION_LOG, .db = h->db };
	struct operation_outcome outcome;

	op.log.jid = str_make(buf_data(&h->jids) + h->next_at, job->jid_bytes);
	h->next_at += job->jid_bytes;
	if (job->is_left_out)
		return;
	op.now = s->env.now(s->env.arg);
	op.log.message = buf_str(&h->text);
	(void)databases_run(s->env.databases, &op, &outcome);
}

static void note_some(struct server *s, size_t max)
{
	struct http_history *h = s->http->history;

	for (; max != 0 && h->next < h->count; max--)
		note_next(s, h);
	if (h->next == h->count)
		forget(h);
}

void http_history_end(struct conn *c, bool has_run)
{
	struct server *s = c->client.server;
	struct http_history *h = s->http->history;

	if (h->verb != NULL && !has_run)
		forget(h);
	if (h->verb != NULL) {
		if (h->must_check)
			leave_out_unchanged(s, h);
		h->verb = NULL;
		note_some(s, PORTION_JOBS);
	}
	recording_end_group(s);
}

/* A release has changed something by the end of its first turn, and the jobs may go to other
 * workers before it ends. */
void http_history_put_off(struct conn *c)
{
	const struct verb *verb = c->client.server->http->history->verb;
	bool has_run = verb != NULL && verb->noted == NOTED_HELD;

	if (has_run)
		c->http->leaves_entries = false;
	http_history_end(c, has_run);
}

bool http_history_is_put_off(const struct client *client)
{
	const struct conn *c;

	if (client->kind == CLIENT_INTERNAL)
		return false;
	c = conn_of(client);
	return c->http != NULL && c->http->leaves_entries;
}

bool http_history_is_busy(const struct server *s)
{
	return s->http->history->count != 0;
}

bool http_history_can_run(const struct server *s)
{
	return s->http->history->count != 0 && environment_may_change(s);
}

void http_history_go_on(struct server *s)
{
	if (http_history_can_run(s))
		note_some(s, PORTION_JOBS);
}

void http_history_finish(struct server *s)
{
	if (http_history_can_run(s))
		note_some(s, SIZE_MAX);
}
