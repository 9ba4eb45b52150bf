#include "server/awaited.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/acl.h"
#include "command/databases.h"
#include "command/job_wait.h"
#include "command/permit.h"
#include "server/server_int.h"
#include "sys/clock.h"
#include "util/container.h"
#include "util/mem.h"

/* Number of clients that are answered after one command, and in one turn. An answer takes a few
 * microseconds. */
#define ANSWERED_PER_COMMAND 64
#define ANSWERED_PER_TURN    512

/* A client that waits for a job. */
struct end_place {
	struct awaited_job *job; /* NULL: it had ended when the wait began */
	struct end_wait *wait;
	TAILQ_ENTRY(end_place) link;
};

TAILQ_HEAD(end_place_list, end_place);

struct awaited_job {
	struct hash_node by_jid;
	unsigned db;
	struct end_place_list places;
	size_t len;
	char jid[];
};

struct end_wait {
	struct waiting *waiting;
	struct job_wait *jobs;
	struct heap_node timeout;
	bool is_over; /* on awaited.over */
	TAILQ_ENTRY(end_wait) over;
	struct end_place places[]; /* one for each job of `jobs` */
};

static struct qless_str awaited_key(const struct hash_node *node)
{
	const struct awaited_job *job = container_of(node, const struct awaited_job, by_jid);

	return str_make(job->jid, job->len);
}

/*
 * Entries
 */

static struct awaited_job *need_job(struct server *s, unsigned db, struct qless_str jid)
{
	struct hash_node *node = hash_find(&s->awaited.by_jid[db], jid);
	struct awaited_job *job;

	if (node != NULL)
		return container_of(node, struct awaited_job, by_jid);
	job = mem_zalloc(sizeof *job + jid.len);
	job->db = db;
	job->len = jid.len;
	if (jid.len != 0)
		memcpy(job->jid, jid.ptr, jid.len);
	TAILQ_INIT(&job->places);
	hash_insert(&s->awaited.by_jid[db], &job->by_jid);
	return job;
}

/* Tells the engine of a database whether anybody waits for its jobs. */
static void watch(struct server *s, unsigned db)
{
	struct qless *engine = databases_peek(s->env.databases, db);

	if (engine != NULL)
		qless_watch_ends(engine, hash_count(&s->awaited.by_jid[db]) != 0);
}

static void leave_place(struct server *s, struct end_place *place)
{
	struct awaited_job *job = place->job;

	if (job == NULL)
		return;
	place->job = NULL;
	TAILQ_REMOVE(&job->places, place, link);
	if (!TAILQ_EMPTY(&job->places))
		return;
	hash_remove(&s->awaited.by_jid[job->db], &job->by_jid);
	if (hash_count(&s->awaited.by_jid[job->db]) == 0)
		watch(s, job->db);
	free(job);
}

size_t awaited_count(const struct awaited *awaited)
{
	size_t count = 0;

	for (unsigned db = 0; db < awaited->databases; db++)
		count += hash_count(&awaited->by_jid[db]);
	return count;
}

/*
 * Waiting
 */

void awaited_begin(void *arg, const struct request *req, struct job_wait *jobs)
{
	struct server *s = arg;
	struct end_wait *wait = mem_zalloc(sizeof *wait + jobs->count * sizeof wait->places[0]);
	unsigned db = req->database->index;

	wait->waiting = waiting_sleep_for_ends(s, wait);
	wait->jobs = jobs;
	heap_node_init(&wait->timeout);
	if (jobs->timeout_s > 0)
		heap_insert(&s->awaited.timeouts, &wait->timeout,
			    (double)s->clocks.lap_ns / 1e3 + jobs->timeout_s * 1e6);
	if (hash_count(&s->awaited.by_jid[db]) == 0)
		s->awaited.flushes[db] = databases_version(s->env.databases, db).flushes;
	for (size_t i = 0; i < jobs->count; i++) {
		struct end_place *place = &wait->places[i];

		place->wait = wait;
		if (jobs->jobs[i].has_ended)
			continue;
		place->job = need_job(s, db, req->args[JOB_WAIT_JIDS_AT + i]);
		TAILQ_INSERT_TAIL(&place->job->places, place, link);
	}
	watch(s, db);
	s->awaited.clients++;
}

void awaited_leave(struct server *s, struct end_wait *wait)
{
	for (size_t i = 0; i < wait->jobs->count; i++)
		leave_place(s, &wait->places[i]);
	if (heap_has(&wait->timeout))
		heap_remove(&s->awaited.timeouts, &wait->timeout);
	if (wait->is_over)
		TAILQ_REMOVE(&s->awaited.over, wait, over);
	s->awaited.clients--;
	free(wait);
}

size_t awaited_memory(const struct end_wait *wait)
{
	if (wait == NULL)
		return 0;
	return sizeof *wait + wait->jobs->count * sizeof wait->places[0] +
	       job_wait_memory(wait->jobs);
}

/*
 * Ends
 */

/* Whether the client of a wait may see how the job ended. It may have moved to another queue. */
static bool may_see(struct server *s, const struct end_wait *wait, const struct qless *engine,
		    const struct qless_job *job)
{
	const struct session *session = &waiting_client(wait->waiting)->session;

	(void)s;
	if (session->user == NULL)
		return false;
	return !acl_limits_keys(session->user) || permit_job(session->user, engine, job, ACL_READ);
}

/* Notes the end in a wait. `job` is NULL if the job is gone. */
static void note_end(struct server *s, struct end_place *place, const struct qless *engine,
		     const struct qless_job *job)
{
	struct end_wait *wait = place->wait;
	bool is_seen = job != NULL && may_see(s, wait, engine, job);

	job_wait_note_end(wait->jobs, (size_t)(place - wait->places), is_seen ? job : NULL);
	leave_place(s, place);
	if (wait->is_over || !job_wait_is_over(wait->jobs))
		return;
	wait->is_over = true;
	TAILQ_INSERT_TAIL(&s->awaited.over, wait, over);
}

static void end_job(struct server *s, struct awaited_job *entry, const struct qless *engine,
		    const struct qless_job *job)
{
	struct end_place *place, *next;

	/* The last place frees the entry. */
	for (place = TAILQ_FIRST(&entry->places); place != NULL; place = next) {
		next = TAILQ_NEXT(place, link);
		note_end(s, place, engine, job);
	}
}

/* Finds the database of an engine. */
static unsigned find_database(const struct server *s, const struct qless *engine)
{
	unsigned db = 0;

	while (databases_peek(s->env.databases, db) != engine)
		db++;
	return db;
}

/* Called during a call of the engine. */
void awaited_note_end(void *arg, const struct qless *q, const struct qless_job *job,
		      bool is_deleted)
{
	struct server *s = arg;
	unsigned db = find_database(s, q);
	struct qless_job_info info;
	struct hash_node *node;

	qless_job_read(job, &info);
	node = hash_find(&s->awaited.by_jid[db], info.jid);
	if (node != NULL)
		end_job(s, container_of(node, struct awaited_job, by_jid), q,
			is_deleted ? NULL : job);
}

/* All jobs of a database are gone. */
static void end_all(struct server *s, unsigned db)
{
	struct hash *jobs = &s->awaited.by_jid[db];
	struct hash_iter it;
	struct hash_node *node;

	while ((node = hash_first(&it, jobs)) != NULL)
		end_job(s, container_of(node, struct awaited_job, by_jid), NULL, NULL);
}

static void look_for_flushes(struct server *s)
{
	for (unsigned db = 0; db < s->awaited.databases; db++) {
		if (hash_count(&s->awaited.by_jid[db]) != 0 &&
		    databases_version(s->env.databases, db).flushes != s->awaited.flushes[db])
			end_all(s, db);
	}
}

/*
 * Answering
 */

/* Answers the client at once, before the server writes to others. */
static void answer(struct end_wait *wait)
{
	struct waiting *w = wait->waiting;
	struct client *c = waiting_client(w);
	bool has_ended = waiting_try(w);

	assert(has_ended);
	if (has_ended && c->kind != CLIENT_INTERNAL)
		conn_send_first(conn_of(c));
}

static void answer_some(struct server *s, unsigned count)
{
	struct end_wait *wait;

	for (; count != 0 && (wait = TAILQ_FIRST(&s->awaited.over)) != NULL; count--)
		answer(wait);
}

void awaited_serve(struct server *s)
{
	answer_some(s, ANSWERED_PER_COMMAND);
}

static void end_timeouts(struct server *s)
{
	double now_us = (double)clock_mono_us();
	struct heap_node *first;

	while ((first = heap_first(&s->awaited.timeouts)) != NULL && first->key <= now_us)
		waiting_end_with_null(container_of(first, struct end_wait, timeout)->waiting);
}

void awaited_run(struct server *s)
{
	struct heap_node *first;

	look_for_flushes(s);
	answer_some(s, ANSWERED_PER_TURN);
	end_timeouts(s);
	first = heap_first(&s->awaited.timeouts);
	if (first != NULL)
		alarm_ring_in(s, first->key - (double)clock_mono_us());
}

/*
 * Birth and death
 */

void awaited_init(struct server *s)
{
	struct awaited *awaited = &s->awaited;

	awaited->databases = databases_count(s->env.databases);
	awaited->by_jid = mem_zalloc(awaited->databases * sizeof *awaited->by_jid);
	awaited->flushes = mem_zalloc(awaited->databases * sizeof *awaited->flushes);
	for (unsigned db = 0; db < awaited->databases; db++)
		hash_init(&awaited->by_jid[db], awaited_key, s->hash_seed);
	TAILQ_INIT(&awaited->over);
}

void awaited_done(struct server *s)
{
	struct awaited *awaited = &s->awaited;

	assert(awaited->clients == 0 && TAILQ_EMPTY(&awaited->over));
	for (unsigned db = 0; db < awaited->databases; db++)
		hash_done(&awaited->by_jid[db]);
	free(awaited->by_jid);
	free(awaited->flushes);
	heap_done(&awaited->timeouts);
}
