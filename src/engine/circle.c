/*
 * Circles of dependencies: jobs that wait for each other can never become waiting.
 *
 * A call with new dependencies makes a circle if one of the jobs that it names as a dependency
 * waits for the job that is to depend on it, directly or over others. Two searches look for such a
 * way: one from the dependencies towards the jobs that they wait for, and one from the job towards
 * the jobs that wait for it. They take turns, step by step, because the shorter of the two is often
 * very short. Nothing waits for a new job, and a new dependency seldom waits for anything.
 */
#include <assert.h>
#include <stdlib.h>

#include "engine/depends.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/job.h"
#include "util/container.h"
#include "util/json.h"
#include "util/mem.h"

/* Jids of a circle that an error or a finding names. */
#define NAMED_MAX 10

/* The index of a job that was not reached from another one. */
#define NO_STEP SIZE_MAX

/* A job that a search has reached, and the place of the job before it. */
struct step {
	struct qless_job *job;
	size_t from;
};

struct search {
	struct step *steps;
	size_t count;
	size_t cap;
	size_t at;		     /* the step whose edges are next */
	const struct skipnode *node; /* its next edge; NULL before the first */
	bool is_down;		     /* towards dependencies, not dependents */
	uint8_t mark;		     /* flag of the jobs that it has reached */
};

/* ---- the text of a circle ---- */

struct circle_text {
	struct buf *out;
	size_t count;	/* jobs so far */
	bool is_quoted; /* the jids are JSON */
};

static void append_jid(struct circle_text *text, struct qless_str jid)
{
	if (text->is_quoted)
		json_append_string(text->out, jid);
	else
		buf_append_str(text->out, jid);
}

static void add_jid(struct circle_text *text, struct qless_str jid)
{
	if (text->count++ >= NAMED_MAX)
		return;
	if (text->count > 1)
		buf_append_str(text->out, STR(" -> "));
	append_jid(text, jid);
}

/* The circle ends where it began. */
static void end_circle(struct circle_text *text, struct qless_str first)
{
	if (text->count > NAMED_MAX)
		buf_printf(text->out, " -> (%zu more)", text->count - NAMED_MAX);
	buf_append_str(text->out, STR(" -> "));
	append_jid(text, first);
}

/* ---- searching ---- */

static const struct skiplist *edges_of(const struct qless_job *job, bool is_down)
{
	if (job_extra(job) == NULL)
		return NULL;
	return is_down ? job_extra(job)->dependencies : job_extra(job)->dependents;
}

static void reach(struct search *s, struct qless_job *job, size_t from)
{
	if (job->flags & s->mark)
		return;
	job->flags |= s->mark;
	s->steps = mem_grow(s->steps, &s->cap, s->count + 1, sizeof(*s->steps));
	s->steps[s->count++] = (struct step){ job, from };
}

static void search_done(struct search *s)
{
	for (size_t i = 0; i < s->count; i++)
		s->steps[i].job->flags &= (uint8_t)~s->mark;
	free(s->steps);
}

/* Take the next edge of the search. Returns the job that it leads to, and the place of the job that
 * it comes from; NULL if there are no more edges. */
static struct qless_job *next_edge(struct search *s, size_t *ret_from)
{
	const struct skiplist *list;

	for (; s->at < s->count; s->at++) {
		list = edges_of(s->steps[s->at].job, s->is_down);
		if (s->node == NULL)
			s->node = list != NULL ? skiplist_first(list) : NULL;
		else
			s->node = skiplist_next(s->node);
		if (s->node != NULL) {
			*ret_from = s->at;
			return container_of(s->node, const struct edge, node)->job;
		}
	}
	return NULL;
}

static size_t find_step(const struct search *s, const struct qless_job *job)
{
	size_t i = 0;

	while (s->steps[i].job != job)
		i++;
	assert(i < s->count);
	return i;
}

/* Where two searches meet: the job at `down` waits for the job at `up`. */
struct meeting {
	size_t down;
	size_t up;
};

/* Returns 1 if the searches meet, 0 if they cannot, and -1 if there are more edges than `max`. */
static int meet(struct search *down, struct search *up, size_t max, struct meeting *ret_meeting)
{
	struct qless_job *job;
	size_t from = 0, taken;

	for (taken = 0; taken < max; taken++) {
		struct search *s = taken % 2 == 0 ? up : down;
		const struct search *other = s == up ? down : up;

		job = next_edge(s, &from);
		if (job == NULL)
			return 0;
		if (job->flags & other->mark) {
			size_t to = find_step(other, job);

			*ret_meeting = s == down ? (struct meeting){ from, to }
						 : (struct meeting){ to, from };
			return 1;
		}
		reach(s, job, from);
	}
	return -1;
}

/* Write the jobs from the beginning of the downward search to where they met. */
static void add_way_down(struct circle_text *text, const struct search *down, size_t to)
{
	size_t *places = NULL, count = 0, cap = 0;

	for (size_t i = to; i != NO_STEP; i = down->steps[i].from) {
		places = mem_grow(places, &cap, count + 1, sizeof(*places));
		places[count++] = i;
	}
	while (count > 0)
		add_jid(text, job_jid(down->steps[places[--count]].job));
	free(places);
}

static int fail_circle(struct qless *q, const struct search *down, const struct search *up,
		       struct meeting meeting)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);
	struct circle_text text = { .out = &out };
	size_t first = meeting.up;
	struct qless_str jid;
	int rc;

	while (up->steps[first].from != NO_STEP)
		first = up->steps[first].from;
	jid = job_jid(up->steps[first].job);
	add_jid(&text, jid);
	add_way_down(&text, down, meeting.down);
	for (size_t i = meeting.up; i != first; i = up->steps[i].from)
		add_jid(&text, job_jid(up->steps[i].job));
	end_circle(&text, jid);
	rc = engine_fail_job(q, QLESS_OP_ANY, QLESS_WHY_CIRCLE, jid, buf_str(&out));
	buf_done(&out);
	return rc;
}

static int fail_self(struct qless *q, struct qless_str jid)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);
	struct circle_text text = { .out = &out };
	int rc;

	add_jid(&text, jid);
	end_circle(&text, jid);
	rc = engine_fail_job(q, QLESS_OP_ANY, QLESS_WHY_CIRCLE, jid, buf_str(&out));
	buf_done(&out);
	return rc;
}

/* Check that no job depends on itself, whether it exists yet or not. */
static int check_self(struct qless *q, const struct qless_circle *c)
{
	struct intern_table names;
	int rc = 0;

	if (c->count == 1) {
		for (size_t i = 0; i < c->depend_count; i++) {
			if (str_equal(c->jids[0], c->depends[i]))
				return fail_self(q, c->jids[0]);
		}
		return 0;
	}
	intern_init(&names, q->hooks.hash_seed);
	for (size_t i = 0; i < c->depend_count; i++)
		intern_get(&names, c->depends[i]);
	for (size_t i = 0; rc == 0 && i < c->count; i++) {
		if (intern_find(&names, c->jids[i * c->stride]) != NULL)
			rc = fail_self(q, c->jids[i * c->stride]);
	}
	intern_done(&names);
	return rc;
}

int qless_check_circle(struct qless *q, const struct qless_circle *c)
{
	struct search down = { .is_down = true, .mark = JOB_SEEN_BELOW };
	struct search up = { .is_down = false, .mark = JOB_SEEN_ABOVE };
	size_t max = q->limits.max_dependency_steps;
	struct meeting meeting = { 0, 0 };
	int rc = check_self(q, c);
	int met = 0;

	if (rc < 0 || c->depend_count == 0)
		return rc;
	for (size_t i = 0; i < c->count; i++) {
		struct qless_job *job = job_find(q, c->jids[i * c->stride]);

		/* No circle leads over a job that nothing waits for. */
		if (job != NULL && edges_of(job, false) != NULL)
			reach(&up, job, NO_STEP);
	}
	for (size_t i = 0; up.count > 0 && i < c->depend_count; i++) {
		struct qless_job *job = job_find(q, c->depends[i]);

		if (job != NULL && edges_of(job, true) != NULL)
			reach(&down, job, NO_STEP);
	}
	if (up.count > 0 && down.count > 0)
		met = meet(&down, &up, max, &meeting);
	if (met > 0)
		rc = fail_circle(q, &down, &up, meeting);
	else if (met < 0)
		rc = engine_fail_number(q, QLESS_OP_ANY, QLESS_WHY_CIRCLE_STEPS, NULL, (double)max);
	search_done(&down);
	search_done(&up);
	return rc;
}

/* ---- circles that exist ---- */

/* A job on the way from the first one, and its next dependency. */
struct place {
	struct qless_job *job;
	const struct skipnode *node;
};

struct walk {
	struct place *places;
	size_t count;
	size_t cap;
	size_t found;
	void (*report)(void *arg, struct qless_str finding);
	void *arg;
};

static void enter(struct walk *w, struct qless_job *job)
{
	const struct skiplist *list = edges_of(job, true);

	job->flags |= JOB_SEEN_BELOW;
	w->places = mem_grow(w->places, &w->cap, w->count + 1, sizeof(*w->places));
	w->places[w->count++] = (struct place){ job, list != NULL ? skiplist_first(list) : NULL };
}

/* The last job on the way depends on `job`, which is on the way, too. */
static void report_circle(struct walk *w, const struct qless_job *job)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);
	struct circle_text text = { .out = &out, .is_quoted = true };
	size_t i = w->count;

	w->found++;
	while (w->places[i - 1].job != job)
		i--;
	buf_append_str(&out, STR("job "));
	json_append_string(&out, job_jid(job));
	buf_append_str(&out, STR(" waits for itself: "));
	for (i--; i < w->count; i++)
		add_jid(&text, job_jid(w->places[i].job));
	end_circle(&text, job_jid(job));
	if (w->report != NULL)
		w->report(w->arg, buf_str(&out));
	buf_done(&out);
}

/* Visit all jobs that wait for a chain of others. Each job is entered once. */
static void walk_from(struct walk *w, struct qless_job *first)
{
	enter(w, first);
	while (w->count > 0) {
		struct place *place = &w->places[w->count - 1];
		struct qless_job *next;

		if (place->node == NULL) {
			place->job->flags |= JOB_SEEN_ABOVE; /* it is done */
			w->count--;
			continue;
		}
		next = container_of(place->node, const struct edge, node)->job;
		place->node = skiplist_next(place->node);
		if (!(next->flags & JOB_SEEN_BELOW)) {
			enter(w, next);
		} else if (!(next->flags & JOB_SEEN_ABOVE)) {
			report_circle(w, next);
			/* One circle for each job is enough. */
			place->node = NULL;
		}
	}
}

size_t qless_find_circles(struct qless *q, void (*report)(void *arg, struct qless_str finding),
			  void *arg)
{
	struct walk w = { .report = report, .arg = arg };
	struct hash_iter it;
	struct hash_node *node;

	if (q->depending_count == 0)
		return 0;
	HASH_FOREACH(node, &it, &q->jobs) {
		struct qless_job *job = container_of(node, struct qless_job, hash);

		if (edges_of(job, true) != NULL && !(job->flags & JOB_SEEN_BELOW))
			walk_from(&w, job);
	}
	HASH_FOREACH(node, &it, &q->jobs)
		container_of(node, struct qless_job, hash)->flags &=
			(uint8_t) ~(JOB_SEEN_BELOW | JOB_SEEN_ABOVE);
	free(w.places);
	return w.found;
}
